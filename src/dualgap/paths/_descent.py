"""min over x of a quadratic with a dense H, plus l1 and l2: descent, and factorisations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.working_set import polish

ROUNDS = 30
"""Of descent and factorisation."""
FIRST_SWEEPS = 5
MOST_SWEEPS = 1000


def descend(
    H: Array,
    u: Array,
    x: Array,
    l1: Array,
    l2: Array,
    goal: float,
    enough: Callable[[Array, Array], bool] | None = None,
) -> Array:
    """The minimiser of u'(t - x) + (1/2)(t - x)'H(t - x) + sum_j l1_j|t_j| + (l2_j/2)t_j^2.

    Until a sweep moves no coordinate by more than ``goal``, in (H_jj + l2_j) step^2, or until
    ``enough(t, gradient)`` of the quadratic.
    """
    from dualgap.kernels.coordinate import gram_sweeps

    t, g, sweeps = x.copy(), u.copy(), FIRST_SWEEPS
    for _ in range(ROUNDS):
        _, left = gram_sweeps(H, g, t, l1, l2, sweeps, goal)
        if left <= goal or (enough is not None and enough(t, g)):
            break
        polish(H, g, t, l1, l2)
        g = u + H @ (t - x)
        if enough is not None and enough(t, g):
            break
        sweeps = min(4 * sweeps, MOST_SWEEPS)
    return t


def largest_gain(h: Array, u: Array, x: Array, l1: Array, l2: Array) -> float:
    """The largest (h_j + l2_j) step_j^2, each coordinate moving alone from x."""
    total = h + l2
    v = h * x - u
    v -= np.clip(v, -l1, l1)
    step = np.divide(v, total, out=x.copy(), where=total > 0) - x
    return float(np.max(total * step * step, initial=0.0))
