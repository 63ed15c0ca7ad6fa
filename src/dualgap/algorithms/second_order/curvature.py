"""phi'' for Newton's methods: at a point, as a map, and how far to raise it."""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.second_order import tuning
from dualgap.problem import Problem


def curvature(problem: Problem, z: Array, slope: Array) -> Array:
    """phi''(z), from z and phi'(z); with several predictions what it is made of, softmax(z)."""
    if not problem.loss.is_vector:
        return problem.loss.hess_beside(z, problem.b, slope)
    p = slope.copy()  # the gradient of the multinomial loss is softmax(z) less e_b
    p[np.arange(problem.n), problem.b.astype(np.intp)] += 1.0
    return p


def mean_curvature(problem: Problem, hess: Array) -> float:
    """The mean of phi''(z), of its diagonal if it is a matrix."""
    return problem.mean(hess if hess.ndim == 1 else (hess * (1.0 - hess)).mean(axis=1))


def least_curvature(problem: Problem, damping: float, z: Array, slope: Array) -> float | Array:
    """What phi'' is raised by: m/gamma; without gamma m times the curvature of `Loss.secant`."""
    gamma = problem.loss.gamma
    if gamma is not None:
        return damping / gamma
    return damping * problem.loss.secant(z, problem.b, slope) if damping > 0.0 else 0.0


def first_x(problem: Problem) -> Array:
    """x = 0; without gamma, the intercept at its best, for losses that grow like an exponential."""
    x = problem.zeros()
    if problem.loss.gamma is not None or not problem.fit_intercept:
        return x
    return problem.joined(x[: problem.d], problem.null_model[0])


def first_share(problem: Problem, kinks: float, x0: Array | None) -> float:
    """The m to begin with: all of it where nothing is known and phi'' has no bound."""
    if problem.loss.gamma is None:
        return 1.0 if x0 is None else tuning.DAMPING.first
    return 0.0 if is_smooth(problem) else kinks


def is_smooth(problem: Problem) -> bool:
    """Whether phi'' is continuous."""
    loss = problem.loss
    return loss.is_quadratic or loss.is_self_concordant or loss.is_vector or loss.delta > 0.0


def next_damping(
    problem: Problem, damping: float, gain: float, t: float, fallen: float, level: float
) -> float:
    """The share m of 1/gamma for the next system: P fell at t, where the model gains ``gain``."""
    gamma = problem.loss.gamma
    share = 1.0 if gamma is None else level * gamma  # of phi'' in what it is raised by
    least = tuning.DAMPING.least * max(share, tuning.DAMPING.least)
    if not gain > 0.0:  # flat: nothing to solve with
        t = 0.0
    if t < 1.0:
        return float(min(max(damping, least) / max(t, 1.0 / tuning.DAMPING.most_growth), 1.0))
    if fallen < 0.25 * gain:
        return damping
    if damping > least:
        return 0.1 * damping
    return 0.0 if is_smooth(problem) else least
