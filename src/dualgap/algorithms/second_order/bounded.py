"""Working sets between bounds: what differs from `restricted` and `gram_descent` where g is a box.

    m(t) = u'(t - x) + (1/2)(t - x)'H(t - x) + sum_j l1_j |t_j| + (l2_j/2) t_j^2,   low <= t <= high

Coordinate descent clips each coordinate; a factorisation of H on what is strictly inside its piece
(between bounds, and on one side of 0 where there is l1) finishes what would take many sweeps.
"""

from __future__ import annotations

import numpy as np

from dualgap._arrays import within
from dualgap._types import Array, Mask
from dualgap.algorithms.second_order.gram_descent import RIDGE, in_turns
from dualgap.algorithms.second_order.restricted import (
    ENOUGH_BY_COLUMNS,
    MOST_SWEEPS,
    Restricted,
    column_curvature,
    may_form,
)
from dualgap.linalg.cholesky import solved_once
from dualgap.problem import Problem
from dualgap.regularizers import Box
from dualgap.state import State

STOPS = 20
"""One polish factorises so often at most; what has come to the end of its piece stays there."""


class Between(Restricted):
    """P over the coordinates of a working set, between their bounds."""

    def __init__(self, problem: Problem, s: State, tol: float) -> None:
        super().__init__(problem, s, tol)
        g = problem.regularizer
        assert isinstance(g, Box)
        self.low, self.high = g.lower[self.at], g.upper[self.at]

    def _gains(self, x: Array, u: Array, z: Array) -> Array:
        return gains(self.problem, x, u, z)

    def _own_gain(self, h: Array) -> float:
        total = h + self.l2
        new = stepped(h, self.u, self.x, self.l1, self.l2, self.low, self.high)
        return float(np.max(total * (new - self.x) ** 2, initial=0.0))

    def _line_search(self, x: Array, step: Array, fresh: bool) -> bool:
        moved = super()._line_search(x, step, fresh)
        self.x = np.minimum(np.maximum(self.x, self.low), self.high)  # sums round
        return moved

    def _descend(self, H: Array, goal: float) -> tuple[Array, float]:
        return descend(H, self.u, self.x, self.l1, self.l2, self.low, self.high, goal)

    def _by_columns(self, w: Array, accuracy: float) -> Array:
        columns, h = self.columns, self._column_squares(w)
        x, r = self.x.copy(), self.problem.q * self.y
        goal = max(accuracy * self._own_gain(h), ENOUGH_BY_COLUMNS * self.outside)
        later = may_form(self.problem, columns)
        most = max(columns.gram_sweeps, 5.0) if later else 4.0 * MOST_SWEEPS
        ends = (self.low, self.high)
        self.sweeps, _ = columns.sweeps(w, r, x, h, self.l1, self.l2, most, goal, ends)
        self.touched += self.sweeps * columns.nonzeros
        return x


def gains(problem: Problem, x: Array, u: Array, z: Array) -> Array:
    """(c_j + l2_j) step_j^2 for the step of each coordinate alone, c_j = |a_j|_Q^2/gamma."""
    g = problem.regularizer
    assert isinstance(g, Box)
    c = column_curvature(problem, problem.column_norms, z)
    step = stepped(c, u, x, g.l1, g.l2, g.lower, g.upper) - x
    return np.asarray(np.where(c + g.l2 > 0.0, (c + g.l2) * step * step, g.l1 * np.abs(step)))


def stepped(h: Array, u: Array, x: Array, l1: Array, l2: Array, low: Array, high: Array) -> Array:
    """The minimiser of each coordinate, the others staying where they are."""
    total, v = h + l2, h * x - u
    v -= within(v, l1)
    new = np.divide(v, total, out=np.where(l1 > 0.0, 0.0, x), where=total > 0.0)
    return np.minimum(np.maximum(new, low), high)


def descend(
    H: Array,
    u: Array,
    x: Array,
    l1: Array,
    l2: Array,
    low: Array,
    high: Array,
    goal: float,
) -> tuple[Array, float]:
    """The minimiser of m, and the sweeps that it took; as `gram_descent.descend`."""
    from dualgap.kernels.bounded import bounded_gram_sweeps

    def sweep(g: Array, t: Array, most: int, goal: float) -> tuple[int, float]:
        return bounded_gram_sweeps(H, g, t, l1, l2, low, high, most, goal)

    def finish(g: Array, t: Array) -> None:
        polish(H, g, t, l1, l2, low, high)

    return in_turns(H, u, x, goal, sweep, finish)


def polish(H: Array, g: Array, x: Array, l1: Array, l2: Array, low: Array, high: Array) -> None:
    """Towards the minimiser on what is strictly inside its piece; x and g in place.

    What would leave its piece is put at the end of it where that lowers m, else the first that
    would ends the step; then the others go on.
    """
    start, before = x.copy(), g.copy()
    for _ in range(STOPS):
        on = np.flatnonzero(_inside(x, l1, low, high) & (H.diagonal() + l2 > 0.0))
        if on.size == 0:
            return
        M = H[np.ix_(on, on)]
        M.flat[:: on.size + 1] += l2[on] + RIDGE * M.diagonal()
        here = x[on]
        r = -(g[on] + l1[on] * np.sign(here) + l2[on] * here)
        solved = solved_once(M, r)
        if solved is None:
            return
        step = solved[1]
        kinked = l1[on] > 0.0
        floor = np.where(kinked & (here > 0.0), np.maximum(low[on], 0.0), low[on])
        roof = np.where(kinked & (here < 0.0), np.minimum(high[on], 0.0), high[on])
        new = np.minimum(np.maximum(here + step, floor), roof)
        whole = (new == here + step).all()
        move = new - here
        if not float(r @ move) - 0.5 * float(move @ (M @ move)) > 0.0:
            ends = np.where(step > 0.0, roof, floor)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(step != 0.0, (ends - here) / step, np.inf)
            first = int(np.argmin(shares))
            new = np.minimum(np.maximum(here + shares[first] * step, floor), roof)
            new[first] = ends[first]
            if not np.isfinite(new).all():
                return
        x[on] = new
        g[:] = before + H @ (x - start)
        if whole:
            return


def _inside(x: Array, l1: Array, low: Array, high: Array) -> Mask:
    """Strictly inside the bounds, and off the kink of l1."""
    return np.asarray((x > low) & (x < high) & ((x != 0.0) | (l1 == 0.0)))
