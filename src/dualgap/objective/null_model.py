"""The null model: the intercept alone, P0 = min_c sum_i q_i phi_i(c + offset_i)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dualgap._arrays import weighted_sum
from dualgap._types import Array
from dualgap.losses import Loss, MarginLoss, RegressionLoss

if TYPE_CHECKING:
    from dualgap.problem import Problem

STEPS = 60
"""More than Newton's method needs, or halvings of an interval."""
DIGITS = 1e-3
"""The share of P0 to which it is found: it is a unit, and two digits of it are enough."""


def null_model(problem: Problem) -> tuple[float | Array, float]:
    """The best c, and P0 to a thousandth: the value of that c, so never less than the minimum.

    Where the minimum is not attained (one class only), c has run off and P0 is near 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a loss may grow like an exponential
        return _null_model(problem, *_distinct_rows(problem))


def _null_model(problem: Problem, b: Array, q: Array, offset: Array) -> tuple[float | Array, float]:
    loss = problem.loss
    known = loss.null_point(b, q, offset)
    if known is not None:
        return known, float(q @ loss.value(offset + known, b))
    c = _guess(problem, b, q, offset)
    best = float(q @ loss.value(offset + c, b))
    for other in (1.0, -1.0) if isinstance(loss, MarginLoss) else ():  # where hinges have a kink
        value = float(q @ loss.value(offset + other, b))
        if value < best:
            best, c = value, other
    for _ in range(0 if loss.is_quadratic else STEPS):
        z = offset + c
        step = -(q @ loss.grad(z, b)) / _curvature(loss, z, b, q)
        t, value = 1.0, float(q @ loss.value(offset + (c + step), b))
        while not value < best and t > 1e-6:
            t *= 0.25
            value = float(q @ loss.value(offset + (c + t * step), b))
        if not value < best:
            break
        gained, best, c = best - value, value, c + t * step
        if gained <= DIGITS * best:
            break
    if isinstance(c, float) and not loss.is_quadratic:
        c, best = _narrowed_down(loss, offset, b, q, float(c), best)
    return c, best


def null_model_may_fit(problem: Problem) -> bool:
    """Whether P0 may be 0: only if every row with weight wants the same c, or has an offset.

    A quick look: the targets of regression losses are alike, or all labels are.
    """
    if problem.loss.is_vector:
        return False
    counts = problem.q > 0.0
    b = problem.b[counts]
    if problem.offset is None:
        return bool((b == b[0]).all())
    if isinstance(problem.loss, RegressionLoss):
        wanted = b - problem.offset[counts]
        return bool((wanted == wanted[0]).all())
    return True


def _narrowed_down(
    loss: Loss, offset: Array, b: Array, q: Array, c: float, best: float
) -> tuple[float, float]:
    """The c between two slopes of unlike signs, proved to have P0 to a thousandth.

    P0(c) is convex, so that its minimum is at least best - |slope| times the distance to the point
    on the other side. One look is enough where Newton's steps have arrived; where they were led
    astray, as by kinks with nothing but straight lines around them, the interval is halved.
    """

    def slope(at: float) -> float:
        return float(q @ loss.grad(offset + at, b))

    g = slope(c)
    if g == 0.0 or best == 0.0:
        return c, best
    width = DIGITS * best / abs(g)
    inner, outer = c, c - math.copysign(width, g)
    for _ in range(STEPS):
        if slope(outer) * g <= 0.0:
            break
        inner, width = outer, 4.0 * width
        outer = inner - math.copysign(width, g)
        if not math.isfinite(outer):
            return c, best
    for _ in range(STEPS):
        middle = 0.5 * (inner + outer)
        here = slope(middle)
        value = float(q @ loss.value(offset + middle, b))
        if value < best:
            best, c = value, middle
        if abs(here * (outer - inner)) <= DIGITS * best or middle in (inner, outer):
            break
        inner, outer = (middle, outer) if here * g > 0.0 else (inner, middle)
    return c, best


def _guess(problem: Problem, b: Array, q: Array, offset: Array) -> float | Array:
    """The constant itself where targets are constant, so that P0 = 0 exactly."""
    if problem.loss.is_vector:
        return np.zeros(offset.shape[1])
    if not isinstance(problem.loss, MarginLoss | RegressionLoss):
        return _best_of_some(problem.loss, b, q, offset)
    wanted = b - offset
    if isinstance(problem.loss, MarginLoss) and (b == b[0]).all():  # far on the right side
        return float(b[0]) * (2.0 + 2.0 * float(np.abs(offset).max()))
    if (wanted == wanted[0]).all():
        return float(wanted[0])
    if problem.loss.is_quadratic:
        return weighted_sum(q, wanted)
    return float(np.median(wanted))


def _best_of_some(loss: Loss, b: Array, q: Array, offset: Array) -> float:
    """What all rows want for themselves, or the best of 0 and what some of them want."""
    wanted = loss.conj_grad(np.zeros_like(b), b) - offset
    if (wanted == wanted[0]).all():
        return float(wanted[0])
    trials = [0.0, *np.quantile(wanted, (0.5, 0.0, 0.25, 0.75, 1.0)).tolist()]
    values = [float(q @ loss.value(offset + c, b)) for c in trials]
    finite = [value if math.isfinite(value) else math.inf for value in values]
    return float(trials[int(np.argmin(finite))])


def _distinct_rows(problem: Problem) -> tuple[Array, Array, Array]:
    """b, q and offset; rows of one label are one row where no offset tells them apart."""
    counts = problem.q > 0.0
    b, q = problem.b[counts], problem.q[counts]
    if problem.offset is not None:
        return b, q, problem.offset[counts]
    if isinstance(problem.loss, RegressionLoss):
        return b, q, np.zeros_like(b)
    if isinstance(problem.loss, MarginLoss):
        labels, each = np.array([1.0, -1.0]), np.array([q[b > 0.0].sum(), q[b < 0.0].sum()])
        seen = each > 0.0
        return labels[seen], each[seen], np.zeros(int(seen.sum()))
    labels, at = np.unique(b, return_inverse=True)
    return (
        labels,
        np.asarray(np.bincount(at, q), dtype=np.float64),
        np.zeros((labels.size, *problem.shape[1:])),
    )


def _curvature(loss: Loss, z: Array, b: Array, q: Array) -> Array | float:
    """Of each intercept, kept away from 0; with K classes the diagonal, doubled, majorises."""
    least = 1e-300 if loss.gamma is None else 1e-6 / loss.gamma
    if not loss.is_vector:
        return max(float(q @ loss.hess(z, b)), least)
    slope = loss.grad(z, b)
    p = np.where(slope < 0.0, 1.0 + slope, slope)
    return np.maximum(2.0 * (q @ (p * (1.0 - p))), least)
