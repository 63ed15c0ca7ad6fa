"""A bound on the gap to every point in a box, where dual feasibility on free columns has no proof.

THEOREM. Let every y_i be in the domain of phi_i*, S_j = sum_i a_ij w_i y_i, and F be the
coordinates without penalty. For every x' with |x'_j - x_j| <= R_j on F, whatever its other
coordinates are,

    P(x) - P(x') <= (1/W) sum_i w_i h_i(z_i, y_i) + sum_{j not in F} G_j(x_j, -S_j/W)
                    + sum_{j in F} |S_j| R_j/W,

h = phi(z) + phi*(y) - y z and G = g(x) + g*(s) - s x. Proof: phi_i(z'_i) >= y_i z'_i - phi_i*(y_i)
and g_j(x'_j) >= s_j x'_j - g_j*(s_j) with s_j = -S_j/W. Sum them up: P(x') is at least the negative
of all conjugates plus sum_{j in F} S_j x'_j/W, and P(x) is the sum of h and G less the same
conjugates, plus sum_{j in F} S_j x_j/W. The difference is sum_{j in F} S_j (x_j - x'_j)/W. QED

No column has to be independent of another, and nothing is solved. Where a solution is known to be
in the box, the bound is one on P(x) - P*.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import sum_up, up

GENEROUS = 1000.0
"""How many times the size of the coefficients the box is wide by default."""


def gap_in_box(H_over_W: float, G: float, S_size: Array, R: Array, W_low: float) -> float:
    """At least the right side of the theorem.

    Parameters
    ----------
    H_over_W : float
        At least (1/W) sum_i w_i h_i.
    G : float
        At least the sum of the G_j over the coordinates with a penalty.
    S_size : array of shape (m,)
        At least |S_j| on the free coordinates; S_j = 0 exactly allows any R_j, infinity too.
    R : array of shape (m,)
        Radii >= 0.
    W_low : float
        At most W, > 0.
    """
    S, radii = np.ravel(S_size), np.ravel(R)
    counts = (S > 0.0) & (radii > 0.0)
    with np.errstate(over="ignore"):
        off = sum_up(up(S[counts] * radii[counts])) if counts.any() else 0.0
        off = float(up(off / W_low)) if off else 0.0
        bound = float(up(up(float(H_over_W) + float(G)) + off))
    return bound if bound == bound else np.inf


def default_radius(x: Array, z_length: float | Array, column_lengths: Array) -> Array:
    """R_j = 1000 max(|x_j|, |z|_Q/|a_j|_Q) for free coordinates x_j; inf for a column of zeros.

    The second term is the coefficient at which column j alone has predictions as large as all of
    them together, so that the box does not depend on units, and is there at x = 0, too. The theorem
    holds for any radii; these are a choice and need no directed rounding.

    Parameters
    ----------
    x : array of shape (m,)
    z_length : float
        |z|_Q, the root of sum_i q_i z_i^2.
    column_lengths : array of shape (m,)
        |a_j|_Q.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        alone = np.where(column_lengths > 0.0, z_length / column_lengths, np.inf)
    return np.asarray(GENEROUS * np.maximum(np.abs(x), alone))
