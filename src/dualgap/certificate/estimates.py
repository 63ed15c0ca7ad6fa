"""Float gaps of many points of a path at once, for the squared loss.

`certificate.estimate_at` judges one point with two products with the data and some forty calls for
vectors; on small data the calls take the time. Here the points are the rows of a matrix X, and the
same formulas hold for all of them: two products of matrices, and every call serves all points.

    Z = X A' + c,   Y = Z - b,   V = Y less its mean,   U = V Q A,   (v_k, u_k) <- t_k (v_k, u_k)

with the t_k of `feasible.l1_scales`. Every bound on rounding is that of `certificate.estimate` and
of `products.Plain`. What is left out could only make a gap smaller (the dual point of a Newton
step, y = 0, products with twice the digits): a point that misses its tolerance is judged again,
alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dualgap._types import Array
from dualgap.certificate import Estimate
from dualgap.certificate.estimate import SUMS
from dualgap.dual_points.products import PAIRWISE
from dualgap.linalg.rounding import UNIT, sum_error
from dualgap.problem import Problem

ENTRIES = 2**20
"""The coefficients and predictions of points that are judged together are at most so many (8 MB).
"""
CACHED = 2**14
"""The coefficients are at most so many: a dozen matrices of that size stay in a core's cache."""


def points_at_once(problem: Problem) -> int:
    """How many points are to be judged in one call."""
    size = problem.size
    return max(1, min(ENTRIES // (problem.n + size), CACHED // size))


def estimates(
    problem: Problem, strengths: Sequence[tuple[float, float]], X: Array
) -> tuple[list[Estimate], Array]:
    """What `estimate_at` says of each point, or a little more, and the dual points as rows.

    Parameters
    ----------
    problem : Problem
        With the squared loss, and no coefficient without penalty but for an intercept. Its own
        strengths do not matter.
    strengths : sequence of (l1, l2)
        Those of each point.
    X : array of shape (points, size)
        The points, each with the intercept as the problem keeps it.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return _estimates(problem, np.asarray(strengths, dtype=np.float64), X)


def _estimates(problem: Problem, strengths: Array, X: Array) -> tuple[list[Estimate], Array]:
    q, x = problem.q, np.ascontiguousarray(X[:, : problem.d])
    Z = np.ascontiguousarray(problem.design.matvec(np.ascontiguousarray(X.T)).T)
    error = _error_of_predictions(problem, x)
    if problem.offset is not None:
        Z += problem.offset
        error += 2.0 * UNIT * _lengths(q, Z)
    Y = _counted(problem, Z - problem.b)
    phi = 0.5 * (Y * Y) @ q
    error += 4.0 * UNIT * np.sqrt(2.0 * phi)  # what z - b makes of a float z

    V, shift = Y, np.zeros(len(X))
    if problem.fit_intercept:
        mean = Y @ q
        V = _counted(problem, Y - mean[:, None])
        shift = PAIRWISE * UNIT * (_lengths(q, V) + np.abs(mean))
    length = _lengths(q, V)
    U = np.ascontiguousarray(problem.design.rmatvec((V * q).T)[: problem.d].T)
    l1, l2 = (column[:, None] * problem.penalty_weights for column in strengths.T)
    rounded = sum_error(problem.design.column_terms + 8) * length + shift
    blur = np.multiply.outer(rounded, problem.column_norms[: problem.d])  # of U
    boxed = (strengths[:, 1] == 0.0)[:, None]
    if boxed.any():
        t = np.where(boxed[:, 0], _scales(problem, V, length, U, blur, l1), 1.0)
        V, U, blur = t[:, None] * V, t[:, None] * U, np.abs(t)[:, None] * blur
        shift = np.abs(t) * shift
        box = np.where(boxed, l1, np.inf)
        U = np.clip(U, -box, box)

    off = Y - V
    mismatch = 0.5 * (off * off) @ q
    loss = (np.sqrt(mismatch) + (error + shift) / math.sqrt(2.0)) ** 2
    bare, penalty = _penalties(x, -U, blur, l1, l2, boxed)
    gap = (loss + penalty) * (1.0 + SUMS)
    size = np.abs(x)
    primal = phi + (l1 * size + 0.5 * l2 * size * size).sum(axis=1)
    doubt = (np.sqrt(primal) + error / math.sqrt(2.0)) ** 2 - primal + SUMS * primal
    rounding = np.maximum(gap - mismatch - bare, 0.0) + doubt
    columns = (column.tolist() for column in (primal, gap, rounding, doubt))
    return [_estimate(problem, *row) for row in zip(*columns, strict=True)], V


def _counted(problem: Problem, Y: Array) -> Array:
    """Y, and 0 in rows of the data that have no weight."""
    if problem.idle is not None:
        Y[:, problem.idle] = 0.0
    return Y


def _lengths(q: Array, Y: Array) -> Array:
    """The norm |y|_Q of each row."""
    return np.sqrt((Y * Y) @ q)


def _error_of_predictions(problem: Problem, x: Array) -> Array:
    """What rounding does to each row of X A', in the norm |.|_Q."""
    terms = np.minimum(np.count_nonzero(x, axis=1), problem.design.row_terms)
    shares = [sum_error(k + 3) if k else 0.0 for k in terms.tolist()]
    return np.array(shares) * (np.abs(x) @ problem.column_norms[: problem.d])


def _scales(problem: Problem, V: Array, length: Array, U: Array, blur: Array, l1: Array) -> Array:
    """The factor of `feasible.l1_scales` for each point without l2."""
    b = problem.b if problem.offset is None else problem.b - problem.offset
    if problem.idle is not None:
        b = np.where(problem.idle, 0.0, b)
    limit = 1.0 / ((np.abs(U) + blur) / l1).max(axis=1)
    best = -(V @ (problem.q * b)) / (length * length)
    t = np.minimum(np.maximum(best, -limit), limit)
    return np.where(np.isfinite(t), t, 1.0)  # y = 0 needs no scaling


def _penalties(
    x: Array, s: Array, blur: Array, l1: Array, l2: Array, boxed: Array
) -> tuple[Array, Array]:
    """The regulariser's part of each gap without rounding, and from above."""
    size = np.abs(x)
    divisors = np.where(l2 > 0.0, l2, np.inf)
    kept = np.minimum(np.maximum(s, -l1), l1)
    off = x - (s - kept) / divisors
    bare = (0.5 * l2 * off * off + np.maximum(l1 * size - kept * x, 0.0)).sum(axis=1)
    blurred = blur + 4.0 * UNIT * (l2 * size + np.abs(s))
    slack = 0.5 * (blurred * blurred / divisors).sum(axis=1)
    penalty = bare + 2.0 * np.sqrt(bare) * np.sqrt(slack) + slack
    return bare, penalty + ((blur * boxed + 4.0 * UNIT * l1) * size).sum(axis=1)


def _estimate(
    problem: Problem, primal: float, gap: float, rounding: float, doubt: float
) -> Estimate:
    """The figures of one point."""
    if not (math.isfinite(primal) and math.isfinite(gap)):
        return Estimate(primal, -math.inf, math.inf, math.inf, False, "none", math.inf)
    scale = problem.scale(primal)
    relative = gap / scale if 0.0 < scale < math.inf else (0.0 if gap == 0.0 else math.inf)
    return Estimate(primal, primal - doubt - gap, gap, relative, True, "gap_scaled_dual", rounding)
