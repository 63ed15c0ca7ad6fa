"""The strengths of a path, where the user gives none: down from the smallest at which x = 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from dualgap import _validation as check
from dualgap._arrays import per_row
from dualgap._types import Array
from dualgap.preconditioners import asked
from dualgap.problem import Problem
from dualgap.streamed.null_model import class_shares, slope_at
from dualgap.streamed.reading import read
from dualgap.streamed.sums import Ask

MOST_POINTS = 100_000
"""A path has at most so many points, for each keeps a primal and a dual point in memory."""


def check_grid(count: Any, eps: Any) -> tuple[int, float]:
    """How many strengths, and the smallest over the largest, if they are possible."""
    eps = check.real("eps", eps, low=0.0, strict=True)
    if eps >= 1.0:
        raise ValueError(
            f"eps must be less than 1, got {eps:g}: it is the smallest lambda over the largest."
        )
    count = check.integer("lambdas", count)
    if count > MOST_POINTS:
        raise ValueError(
            f"lambdas must be at most {MOST_POINTS} points, got an integer beyond that. Give the "
            "strengths themselves if there should be more."
        )
    return count, eps


def lambda_grid(problem: Problem, l1_ratio: float, count: int, eps: float) -> Array:
    """``count`` strengths from `largest_lambda` down to ``eps`` times it."""
    count, eps = check_grid(count, eps)
    if l1_ratio == 0.0:
        raise ValueError(
            "without l1 no lambda is large enough for x = 0, so a grid cannot be made up "
            "(l1_ratio=0); give the lambdas."
        )
    top = largest_lambda(problem) / l1_ratio
    tiny = float(np.finfo(np.float64).resolution)
    if top <= tiny:
        return np.full(count, tiny)
    return np.geomspace(top, top * eps, num=count)


def largest_lambda(problem: Problem) -> float:
    """The smallest l1 for which x = 0: max_j |A'Q phi'(c + offset)|_j / p_j at the best c."""
    weights, given = problem.penalty_weights, problem
    if not weights.all():
        raise ValueError(
            "penalty_weights leave a column free, so that x = 0 at no strength; give the lambdas."
        )
    factors = np.ones(problem.d)
    if problem.streamed is not None:
        c = _null_intercept(problem) if problem.fit_intercept else 0.0
        x = problem.joined(np.zeros((problem.d, *problem.shape[1:])), c)
        u = read(problem, Ask(x)).u[: problem.d]
        return float(np.max(_pull(given, u) / weights.reshape(-1, *[1] * (u.ndim - 1))))
    if (units := asked(problem)) is not None:  # where A'Qy is not lost in rounding
        change = units.begin(problem)
        factors, problem = change.factors, change.inner(problem)
    z = problem.predict_zero()
    if problem.fit_intercept:
        z = z + _null_intercept(problem)
    u = problem.adjoint(problem.loss.grad(z, problem.b))[: problem.d]
    u = u / per_row(factors, u)
    return float(np.max(_pull(given, u) / weights.reshape(-1, *[1] * (u.ndim - 1))))


def _pull(problem: Problem, u: Array) -> Array:
    """With what force each coefficient is drawn away from 0, to where it may go."""
    if problem.regularizer.has_strengths:
        return np.abs(u)
    form = problem.penalty.compiled_form()
    if form is None or np.any(form.lower > 0.0) or np.any(form.upper < 0.0):
        raise ValueError(
            f"it is not known at which strength of {problem.given!r} x = 0 is the solution; give "
            "the lambdas."
        )
    shape = (-1, *[1] * (u.ndim - 1))
    lower, upper = (np.broadcast_to(end, (problem.d,)).reshape(shape) for end in form[2:])
    return np.maximum(np.where(upper > 0.0, -u, 0.0), np.where(lower < 0.0, u, 0.0))


def _null_intercept(problem: Problem) -> Any:
    """The best intercept where x = 0."""
    loss = problem.loss
    if problem.outputs is not None:
        if problem.offset is not None:
            raise ValueError("with an offset and several classes, give the lambdas.")
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(_shares(problem, problem.outputs)), -700.0)

    def slope(c: float) -> float:
        if problem.streamed is not None:
            return slope_at(problem.streamed, loss, c)
        z = c + (np.zeros(problem.n) if problem.offset is None else problem.offset)
        return problem.mean(loss.grad(z, problem.b))

    if loss.is_quadratic:
        return -slope(0.0)
    low, high = -1.0, 1.0
    while slope(low) > 0 and low > -1e12:
        low *= 2.0
    while slope(high) < 0 and high < 1e12:
        high *= 2.0
    if slope(low) * slope(high) >= 0:  # flat: one class only, or a tie
        return low if abs(slope(low)) < abs(slope(high)) else high
    return float(brentq(slope, low, high, xtol=1e-14, rtol=1e-15))


def _shares(problem: Problem, classes: int) -> Array:
    """What share of the weight each class has."""
    if problem.streamed is not None:
        return class_shares(problem.streamed, classes)
    codes = problem.b.astype(np.intp)
    return np.asarray(np.bincount(codes, weights=problem.q, minlength=classes), np.float64)
