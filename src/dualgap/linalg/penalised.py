"""min over t of a quadratic with a dense H, plus l1 and l2, maybe between bounds.

    m(t) = u'(t - x) + (1/2)(t - x)'H(t - x) + g(t)

Coordinate descent finds the support, a factorisation of H on it finishes what would take many
sweeps. Between bounds, where low <= t <= high, sweeps clip each coordinate, and what is factorised
is strictly inside its piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dualgap._arrays import within
from dualgap._types import Array, Mask, Places
from dualgap.designs.columns import PIECE, Bounds
from dualgap.limits import current
from dualgap.linalg.cholesky import solved_once
from dualgap.linalg.rounding import EPS

ROUNDS = 50
"""Sweeps and factorisations take turns at most so often."""
FACTOR_ENTRIES = 100_000
"""Sweeps read so many entries of H in the time of the smallest factorisation."""
VISIT = 16
"""A visit of a coordinate costs as much as so many multiplications, beside those with H."""
RIDGE = 1e-11
"""This share of its diagonal is added to H before it is factorised.

Where columns are equal the step is long then, along what H does not see, and ends at a zero.
"""


class Penalty(NamedTuple):
    """g on some coordinates: the sum of l1_j |x_j| + (l2_j/2) x_j^2, maybe between two ends."""

    l1: Array
    """The strengths of the absolute values."""
    l2: Array
    """The strengths of the squares."""
    ends: Bounds | None = None
    """The least and the greatest value of each coordinate; None if there are no such bounds."""

    def at(self, some: Places) -> Penalty:
        """That of some of these coordinates."""
        ends = self.ends
        ends = None if ends is None else (ends[0][some], ends[1][some])
        return Penalty(self.l1[some], self.l2[some], ends)

    def value(self, x: Array) -> float:
        """g(x), where x is between the ends."""
        return float(self.l1 @ np.abs(x) + 0.5 * (self.l2 @ (x * x)))

    def change(self, x: Array, new: Array) -> float:
        """g(new) - g(x), which loses fewer digits than the two values."""
        squares = float(self.l2 @ (new * new - x * x))
        return float(self.l1 @ (np.abs(new) - np.abs(x))) + 0.5 * squares

    def between(self, x: Array) -> Array:
        """The nearest point that is between the ends."""
        return x if self.ends is None else np.minimum(np.maximum(x, self.ends[0]), self.ends[1])

    def downhill(self, u: Array, x: Array) -> Array:
        """-(u + g'(x)), where l1 and x_j = 0 do not come together."""
        return np.asarray(-(u + self.l1 * np.sign(x) + self.l2 * x))

    def has_slope(self, x: Array) -> Mask:
        """Where g has a derivative: strictly between the ends, and off the kink of l1."""
        smooth = (x != 0.0) | (self.l1 == 0.0)
        if self.ends is not None:
            smooth &= (x > self.ends[0]) & (x < self.ends[1])
        return np.asarray(smooth)

    def moved_alone(self, h: Array, u: Array, x: Array) -> Array:
        """Where each coordinate goes if the others stay, H having the diagonal h."""
        total, v = h + self.l2, h * x - u
        v -= within(v, self.l1)
        still = np.where(self.l1 > 0.0, 0.0, x)
        return self.between(np.divide(v, total, out=still, where=total > 0.0))

    def largest_gain(self, h: Array, u: Array, x: Array) -> float:
        """The largest (h_j + l2_j) step_j^2, each coordinate moving alone from x."""
        step = self.moved_alone(h, u, x) - x
        return float(np.max((h + self.l2) * step * step, initial=0.0))


def descend(
    H: Array,
    u: Array,
    x: Array,
    penalty: Penalty,
    goal: float,
    enough: Callable[[Array, Array], bool] | None = None,
) -> tuple[Array, int]:
    """The minimiser of m, and the sweeps that it took.

    Until a sweep moves no coordinate by more than ``goal``, in (H_jj + l2_j) step^2, or until
    ``enough(t, gradient of the quadratic)``, or until the limits of the call end it.
    """
    from dualgap.linalg.compiled_descent import EVERYWHERE, gram_sweeps

    l1, l2, bounds = penalty
    ends = EVERYWHERE if bounds is None else np.array(bounds)
    t, g, count, limits = x.copy(), u.copy(), 0, current()
    goal = max(goal, float(np.max(H.diagonal() * (EPS * x) ** 2, initial=0.0)))  # rounding of x
    for _ in range(ROUNDS):
        support = max(1, int(np.count_nonzero(t)))
        most = 10 + support // 20 + FACTOR_ENTRIES // (H.shape[0] * support)
        sweeps, left = 0, np.inf
        work = float(H.shape[0] * (support + VISIT))
        piece = max(1, int(PIECE // work))
        while sweeps < most and left > goal:
            done, left = gram_sweeps(H, g, t, l1, l2, ends, min(piece, most - sweeps), goal)
            sweeps += done
            if limits.ends_beside(done * work):
                return t, count + sweeps
        count += sweeps
        if left <= goal or (enough is not None and enough(t, g)):
            break
        polish(H, g, t, penalty)
        g = u + H @ (t - x)
        if enough is not None and enough(t, g):
            break
    return t, count


def polish(H: Array, g: Array, x: Array, penalty: Penalty) -> bool:
    """Move x to the minimiser on the support, or as far as signs and bounds allow; in place.

    Returns whether x has moved. Where H is singular on the support (equal columns) a trace of its
    diagonal makes the step long along what H does not see: until a coordinate is 0, which is right.
    """
    from dualgap.linalg.compiled_gram import symmetric_part

    on = np.flatnonzero(penalty.has_slope(x) & (H.diagonal() + penalty.l2 > 0.0))
    if on.size == 0:
        return False
    M = np.empty((on.size, on.size))
    symmetric_part(H, on, M)
    here, there = x[on], penalty.at(on)
    M.flat[:: on.size + 1] += there.l2 + RIDGE * M.diagonal()
    r = there.downhill(g[on], here)
    solved = solved_once(M, r)
    if solved is None:
        return False

    def gains(new: Array) -> bool:
        move = new - here
        return float(r @ move) - 0.5 * float(move @ (M @ move)) > 0.0

    if there.ends is None:
        new = _with_signs(*solved, here, there.l1)
    else:
        new = _between(solved[1], here, there, gains)
    if not gains(new):
        return False
    x[on] = new
    return True


def _with_signs(factor: Array, step: Array, x: Array, l1: Array) -> Array:
    """x + step; what would change its sign stops at 0, and the others take note."""
    from dualgap.linalg.compiled_descent import step_with_signs

    new = x + step
    if ((l1 > 0) & (x * new <= 0.0) & (step != 0)).any():
        new = x.copy()
        step_with_signs(factor.T, new, step, l1)
    return np.asarray(new)


def _between(step: Array, x: Array, penalty: Penalty, gains: Callable[[Array], bool]) -> Array:
    """x + step, each coordinate within its piece; where m does not fall, to the first end."""
    assert penalty.ends is not None
    (low, high), kinked = penalty.ends, penalty.l1 > 0.0
    floor = np.where(kinked & (x > 0.0), np.maximum(low, 0.0), low)
    roof = np.where(kinked & (x < 0.0), np.minimum(high, 0.0), high)
    new = np.minimum(np.maximum(x + step, floor), roof)
    if gains(new):
        return new
    ends = np.where(step > 0.0, roof, floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(step != 0.0, (ends - x) / step, np.inf)
    first = int(np.argmin(shares))
    new = np.minimum(np.maximum(x + shares[first] * step, floor), roof)
    new[first] = ends[first]
    return np.asarray(new)
