"""Poisson loss with a log link: counts b whose mean is exp(z)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import weighted_sum
from dualgap._types import Array
from dualgap.enclosures.exponential import exp_bounds
from dualgap.enclosures.relative_entropy import (
    apart,
    divergence_above,
    divergence_below,
    sum_of_two,
)
from dualgap.losses.contract import Loss

LARGEST = 1e300
"""Values of phi' and phi'' that are larger are cut off here, so that their sums stay finite."""
LOWEST = -690.0
"""This stands for log m where m has underflowed to 0."""


def divergence(m: Array, log_mu: Array) -> Array:
    """mu - m - m log(mu/m) >= 0 for m >= 0 and mu = exp(log_mu), without cancellation.

    With t = log(mu/m) it is m (e^t - 1 - t), where roundings of t are like those of log_mu; where t
    is large mu itself is known better than m e^t.
    """
    empty = m <= 0.0
    t = log_mu - np.log(np.where(empty, 1.0, m))
    far = (t > 1.0) | empty
    near = np.where(far, 0.0, t)
    out = m * (np.expm1(near) - near)
    if far.any():
        with np.errstate(over="ignore"):
            out = np.where(far, np.exp(log_mu) - np.where(empty, 0.0, m * (1.0 + t)), out)
    return np.asarray(out)


def log_of(m: Array) -> Array:
    """log m, and LOWEST where m = 0."""
    return np.asarray(np.maximum(np.log(np.maximum(m, 1e-300)), LOWEST))


@dataclass(frozen=True)
class Poisson(Loss):
    """phi(z) = e^z - b z + (b log b - b) for a count b >= 0 with the mean e^z.

    Half the deviance of one row, which is 0 where e^z = b; the mean of it is what scikit-learn's
    PoissonRegressor minimises, with ``alpha`` for l2. An offset is the log of the exposure.

    With m = y + b: phi*(y) = m log m - m - (b log b - b) on y >= -b. phi'' = e^z has no bound, so
    gamma is None; delta = 0. |phi'''| = phi''. Where nothing penalises x, no minimiser exists if
    some direction lowers z on rows with b = 0 and leaves it where it is on all others.
    """

    name: ClassVar[str] = "poisson"
    is_accurate: ClassVar[bool] = True
    gamma: ClassVar[float | None] = None
    is_self_concordant: ClassVar[bool] = True
    has_exact_gap: ClassVar[bool] = True

    def targets(self, b: Any, n: int) -> Array:
        """Counts, which need not be integers: finite, b >= 0."""
        counts = check.vector("b", b, n, what="row of A")
        if (counts < 0.0).any():
            at = int(np.flatnonzero(counts < 0.0)[0])
            raise ValueError(
                f"b[{at}] = {counts[at]:g} is negative: loss={self.name!r} takes counts, b >= 0. "
                "Drop that row, or use loss='squared'."
            )
        return counts

    def null_point(self, b: Array, q: Array, offset: Array) -> float | None:
        """log(sum_i q_i b_i / sum_i q_i e^offset_i)."""
        wanted = log_of(b) - offset
        if b[0] > 0.0 and (wanted == wanted[0]).all():
            return float(wanted[0])
        most = float(offset.max())
        count, exposure = weighted_sum(q, b), weighted_sum(q, np.exp(offset - most))
        return float(np.log(count) - np.log(exposure)) - most if count > 0.0 else None

    def mean(self, z: Array) -> Array:
        """e^z."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z))

    def value(self, z: Array, b: Array) -> Array:
        """b (e^t - 1 - t) with t = z - log b."""
        return divergence(b, z)

    def grad(self, z: Array, b: Array) -> Array:
        """e^z - b."""
        return np.asarray(self.hess(z, b) - b)

    def hess(self, z: Array, b: Array) -> Array:
        """e^z, as long as that is a number."""
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(z), LARGEST)

    def hess_bound(self, low: Array, high: Array, b: Array) -> Array:
        """e^high."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(high))

    def conj(self, y: Array, b: Array) -> Array:
        """[m log(m/b) - m + b] + y log b; m log m - m where b = 0."""
        m = np.maximum(y + b, 0.0)
        some = b > 0.0
        log_b = np.log(np.where(some, b, 1.0))
        return np.where(some, divergence(m, log_b) + y * log_b, m * log_of(m) - m)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """log m."""
        return log_of(y + b)

    def domain(self, b: Array) -> tuple[Array, Array]:
        """y >= -b."""
        return -b, np.full(b.shape, np.inf)

    def margins(self, z: Array, b: Array) -> Array:
        """-z where b = 0; a row with b > 0 must not move at all."""
        return np.where(b > 0.0, -np.abs(z), -z)

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """mu - m - m log(mu/m) with mu = e^z."""
        return divergence(np.maximum(y + b, 0.0), z)

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """mu - m - m log(mu/m) with mu = e^z, rounded up."""
        m, mu = sum_of_two(y, b), exp_bounds(z_lo, z_hi)
        return divergence_above(m, mu, apart(m, mu), z_lo)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """mu - b - b log(mu/b), rounded down; 0 where b is between the ends of mu."""
        return divergence_below(b, exp_bounds(z_lo, z_hi), z_hi)
