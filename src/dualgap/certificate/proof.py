"""The proof: an upper bound on P(x) - P* in real arithmetic, from floats.

For every real y in the domains of the phi_i*, with S_j = sum_i w_i y_i a_ij = 0 on free coordinates
and s = -S/W where every g_j* is finite,

    P(x) - P* <= (1/W) sum_i w_i h_i(z_i, y_i) + sum_j G_j(x_j, s_j),
    h = phi(z) + phi*(y) - y z >= 0,    G = g(x) + g*(s) - s x >= 0.

The y of the theorem need not be a float: it must exist near the floats y. So z and S are enclosed
(`enclosures.products`), a real y beside the float one is proved to be feasible, and the terms are
bounded from above over intervals by methods of the loss and of the regulariser. Three lemmas make y
feasible:

- *Scaling.* h(z, t y) <= t h(z, y) + (1 - t) phi(z) for 0 <= t <= 1, since phi*(0) = 0.
- *Intercept.* The sign of y that weighs more is multiplied by 1 - tau with tau = |sum_i w_i y_i|
  over its weight: that is a scaling of some rows by at most tau, and moves S_j by at most
  tau sum_i |a_ij w_i y_i|.
- *Projection* on free columns: see `spans`. Row i moves by at most nu sqrt(omega_i)/w_i; h is
  convex in y, so that it is largest at an end of that interval.

y = 0 is feasible whatever the data, because no phi is negative: P(x) itself is a bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._arrays import pieces
from dualgap._types import Array, Mask
from dualgap.certificate.feasibility import Moved, real_point, with_more_digits
from dualgap.certificate.quadratic import LossSums, quadratic_sums
from dualgap.certificate.rows import DualRows, Enclosed, dual_rows, enclosed
from dualgap.dual_points.feasible import DualPoint, needs_factorisation
from dualgap.enclosures.directed import (
    UNIT,
    add_up,
    divide_up,
    down,
    multiply_up,
    sum_down,
    sum_up,
    up,
    weighted_sum_down,
    weighted_sum_up,
)
from dualgap.losses import Loss
from dualgap.problem import Problem

LEAST_NORMAL = 2.0**-1022
"""Products of strengths below this have lost digits, and nothing is claimed of them."""


class Weight(NamedTuple):
    """W = sum_i w_i, enclosed."""

    low: float
    high: float


class Bounds(NamedTuple):
    """What is proved of one x, and of it with one y."""

    primal_low: float
    """At most P(x)."""
    primal_high: float
    """At least P(x)."""
    at_zero: float
    """At least the gap at y = 0, which is feasible whatever the data."""
    at: Enclosed
    """Predictions and sums."""
    rows: DualRows
    """The dual point."""
    weight: Weight
    loss: float = math.inf
    """At least (1/W) sum_i w_i h_i at the real dual point y'; inf where there is none."""
    penalty: float = math.inf
    """At least sum_j G_j(x_j, s_j)."""
    s: tuple[Array, Array] | None = None
    """Intervals that contain s = -A'Qy' of the coefficients."""
    moved: Moved | None = None
    """How the real dual point differs from the float one, before it is scaled."""
    scaled: float = 0.0
    """The factor by which it is scaled then."""
    blur: float = 0.0
    """The share of themselves to which the strengths are known."""

    @property
    def gap(self) -> float:
        """At least P(x) - P*; that of y = 0 where no dual point says more."""
        both = add_up(self.loss, self.penalty)
        return both if both < self.at_zero else self.at_zero

    @property
    def is_trivial(self) -> bool:
        """Whether the bound is that of y = 0, which no dual point has improved."""
        return not add_up(self.loss, self.penalty) < self.at_zero


def bounds(
    problem: Problem,
    x: Array,
    point: DualPoint | None,
    *,
    sharp: bool = False,
    sharp_predictions: bool = False,
    blur: float = 0.0,
) -> Bounds:
    """Enclose everything at x and the dual point; without one, P(x) alone.

    Parameters
    ----------
    problem : Problem
        The user's.
    x : array
        With the intercept in it.
    point : DualPoint, optional
        Of `make_feasible`: feasible but for rounding.
    sharp, sharp_predictions : bool
        Sums S, and predictions z, with twice the digits.
    blur : float
        Strengths stand for real numbers that are within this share of them.
    """
    rows = dual_rows(problem, None if point is None else point.y)
    # Sums over free columns have to be 0: they get all digits that there are.
    full = sharp or needs_factorisation(problem)
    at = enclosed(problem, x, rows, sharp=full, predictions=sharp_predictions)
    if sharp and point is not None:
        better = with_more_digits(problem, rows, at)
        if better is not None:
            rows, at = better, enclosed(problem, x, better, sharp=True, known=at)
    weight, penalty = total_weight(problem), Penalty(problem, problem.split(x)[0], blur)
    moved = None if point is None else real_point(problem, point, rows, at)
    sums = loss_sums(problem, at, rows, moved)
    primal_low = down(down(sums.below / weight.high) + penalty.value_below())
    most = penalty.value_above()
    known = Bounds(
        max(primal_low, 0.0),
        add_up(divide_up(sums.above, weight.low), most),
        add_up(divide_up(sums.at_zero, weight.low), most),
        at,
        rows,
        weight,
        blur=penalty.blur,
    )
    if moved is None:
        return known
    loss = sums.gap
    if moved.tau:
        loss = add_up(loss, multiply_up(moved.tau, sums.at_zero))
    s = penalty.dual_interval_of(at.S, _error(at, moved), weight)
    t = penalty.scale_into(*s)
    if t < 1.0:
        loss = add_up(multiply_up(t, loss), multiply_up(up(1.0 - t), sums.at_zero))
        s = down(t * s[0]), up(t * s[1])
    return known._replace(
        loss=divide_up(loss, weight.low),
        penalty=penalty.gap_above(*s),
        s=s,
        moved=moved,
        scaled=t,
    )


def loss_sums(problem: Problem, at: Enclosed, rows: DualRows, moved: Moved | None) -> LossSums:
    """The sums over rows, of so few at a time that nothing made of them is as long as the data."""
    loss, b, w = problem.loss, problem.b, problem.sample_weight
    if loss.is_quadratic:
        return quadratic_sums(problem, at, rows, moved)
    parts = []
    for some in pieces(problem.n):
        low, high = at.ends(some)
        weights, y, gap = None if w is None else w[some], rows.y[some], math.inf
        if moved is not None and moved.move is None and y.ndim == 1:
            gaps, values, least = loss.row_bounds(low, high, y, b[some])
            gap = weighted_sum_up(weights, gaps)
        else:
            values = loss.value_above(low, high, b[some])
            least = loss.value_below(low, high, b[some])
            if moved is not None:
                move = None if moved.move is None else moved.move[some]
                gap = weighted_sum_up(weights, _gaps(loss, low, high, y, b[some], move))
        above = zero = weighted_sum_up(weights, values)
        if not loss.infimum_is_zero:
            nothing = np.zeros_like(low)
            zero = weighted_sum_up(weights, loss.gap_above(low, high, nothing, b[some]))
        parts.append((gap, zero, above, weighted_sum_down(weights, least)))
    if len(parts) == 1:
        return LossSums(*parts[0])
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    gap, zero, above = (sum_up(column) for column in columns[:3])
    return LossSums(gap, zero, above, sum_down(columns[3]))


def total_weight(problem: Problem) -> Weight:
    """W: n, or the sum of the weights, which `math.fsum` rounds correctly."""
    w = problem.sample_weight
    if w is None:
        return Weight(float(problem.n), float(problem.n))
    total = math.fsum(w)
    return Weight(down(total), up(total))


def _gaps(loss: Loss, low: Array, high: Array, y: Array, b: Array, move: Array | None) -> Array:
    """At least h_i at every y' within ``move`` of y."""
    if y.ndim == 2:
        return loss.gap_above(low, high, y, b, move)  # type: ignore[call-arg]
    if move is None:
        return loss.gap_above(low, high, y, b)
    ends = (np.where(move > 0.0, end, y) for end in (down(y - move), up(y + move)))
    return np.maximum(*(loss.gap_above(low, high, end, b) for end in ends))


def _error(at: Enclosed, moved: Moved) -> Array:
    """At least the error of S at the real dual point, entry by entry."""
    error = at.S_error
    if moved.tau:
        error = up(error + up(at.size * moved.tau))
    return error if moved.reach is None else up(error + moved.reach)


class Penalty:
    """The regulariser of the coefficients at one x, its strengths as real numbers.

    Parameters
    ----------
    problem : Problem
    x : array of shape (d,) or (d, K)
        The coefficients.
    blur : float
        What is not known of the strengths besides the rounding of l1 p_j and l2 p_j.
    """

    def __init__(self, problem: Problem, x: Array, blur: float = 0.0) -> None:
        self.g, self.x = problem.penalty, x
        self.blur = blur if strengths_are_exact(problem) else up(blur + 2.0 * UNIT)
        free = problem.regularizer.free.reshape(-1)[: problem.d]
        self.free: Mask | None = free if free.any() else None

    def _by_class(self, x: Array) -> list[Array]:
        return [x] if x.ndim == 1 else [np.ascontiguousarray(column) for column in x.T]

    def value_above(self) -> float:
        """At least g(x)."""
        parts = [self.g.value_above(column, self.blur) for column in self._by_class(self.x)]
        return parts[0] if len(parts) == 1 else sum_up(np.array(parts))

    def value_below(self) -> float:
        """At most g(x)."""
        parts = [self.g.value_below(column, self.blur) for column in self._by_class(self.x)]
        return parts[0] if len(parts) == 1 else max(0.0, down(math.fsum(parts)))

    def gap_above(self, low: Array, high: Array) -> float:
        """At least sum_j G_j(x_j, s_j) for all s in these intervals; free coordinates have none."""
        columns = zip(*(self._by_class(values) for values in (self.x, low, high)), strict=True)
        parts = [self.g.gap_above(x, least, most, self.blur) for x, least, most in columns]
        if self.free is not None:
            parts = [np.where(self.free, 0.0, part) for part in parts]
        return sum_up(np.concatenate(parts))

    def dual_interval_of(self, S: Array, error: Array, weight: Weight) -> tuple[Array, Array]:
        """Where s = -S/W is; it is 0 on free coordinates."""
        high, low = up(error - S), down(-error - S)
        high = up(high / np.where(high > 0.0, weight.low, weight.high))
        low = down(low / np.where(low < 0.0, weight.low, weight.high))
        if self.free is None:
            return low, high
        free = self.free if S.ndim == 1 else self.free[:, None]
        return np.where(free, 0.0, low), np.where(free, 0.0, high)

    def scale_into(self, low: Array, high: Array) -> float:
        """The largest float t <= 1 for which t s is where every g_j* is finite; 0 if there is none.

        t = 0 is right: 0 is in every dual interval.
        """
        least, most = self.g.inner_interval(self.blur)
        if low.ndim == 2:
            least, most = np.reshape(least, (-1, 1)), np.reshape(most, (-1, 1))
        above, below = high > most, low < least
        if self.free is not None:
            free = self.free if low.ndim == 1 else self.free[:, None]
            above, below = above & ~free, below & ~free
        if not (above.any() or below.any()):
            return 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            t = min(
                float(np.min(np.where(above, most / high, 1.0))),
                float(np.min(np.where(below, least / low, 1.0))),
            )
        t = down(down(t))
        return t if 0.0 < t <= 1.0 else 0.0


def strengths_are_exact(problem: Problem) -> bool:
    """Whether l1 p_j and l2 p_j were not rounded."""
    return problem.given is not None or bool((problem.penalty_weights == 1.0).all())


def strengths_have_underflowed(problem: Problem) -> bool:
    """Whether a product of a strength and a weight has lost digits, or is 0 where it should not."""
    if strengths_are_exact(problem):
        return False
    p = problem.penalty_weights
    lost = [
        ((p > 0.0) & (strength * p < LEAST_NORMAL)).any()
        for strength in (problem.l1, problem.l2)
        if strength > 0.0
    ]
    return bool(any(lost))
