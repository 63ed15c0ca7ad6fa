"""Of the equally good points without a penalty, the one of least norm, as scikit-learn has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from dualgap._arrays import precise_dot
from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.moved import moved
from dualgap.estimators._base import Solution

LARGEST_SIDE = 1000
"""No matrix with a larger side than this has its eigenvectors computed, which cost the cube of the
side."""
ROUNDING = 1e-13
"""A relative gap up to this may come from rounding alone."""


def least_norm(solution: Solution) -> Solution:
    """w without its part in the kernel of B = Q^(1/2) (A - 1 m'); m = A'q, 0 without intercept.

    Predictions, and with them P, stay as they are: the intercept takes up what the means lose.
    """
    problem = solution.problem
    if (
        problem.regularizer.has_l1
        or problem.elastic_net.has_l2
        or min(problem.n, problem.d) > LARGEST_SIDE
    ):
        return solution
    shifts = problem.constants.column_shifts if problem.fit_intercept else None
    if shifts is None:
        A, shifts = problem.base, np.zeros(problem.d)
    else:  # B is that of the moved columns, whose means are not large next to them
        A = moved(problem.base, shifts, np.ones(problem.d))
    means = A.rmatvec(problem.q) if problem.fit_intercept else np.zeros(problem.d)
    x = solution.x
    new = _in_row_space(A, problem.q, x, means)
    if new is None:
        return solution
    intercept: Any = 0.0
    if problem.fit_intercept:
        left = x - new
        intercept = precise_dot(shifts, left, solution.intercept, float(means @ left))
    certificate, before = (
        problem.certify(new, solution.y, intercept=intercept),
        solution.certificate,
    )
    if certificate.relative_gap > max(2.0 * before.relative_gap, ROUNDING):
        return solution  # an almost singular B, not a singular one
    if not before.certified and certificate.primal > (1.0 + ROUNDING) * before.primal:
        return solution
    return replace(solution, x=new, intercept=intercept, certificate=certificate)


def _in_row_space(A: Design, q: Array, x: Array, means: Array) -> Array | None:
    """B^+ B x; None if B has no kernel."""
    n, d = A.shape
    if d <= n:
        values, V = scipy.linalg.eigh(A.gram(q) - np.outer(means, means))
        V = V[:, _counting(values, n)]
        return None if V.shape[1] == d else np.asarray(V @ (V.T @ x))
    root, cross = np.sqrt(q), A.matvec(means)
    outer = A.outer(np.ones(d)) - cross[:, None] - cross + means @ means
    values, U = scipy.linalg.eigh(root[:, None] * outer * root)
    on = _counting(values, d)
    v = root * (U[:, on] @ ((U[:, on].T @ (root * (A.matvec(x) - means @ x))) / values[on]))
    return np.asarray(A.rmatvec(v) - means * v.sum())


def _counting(values: Array, most: int) -> Any:
    """Which eigenvalues are not 0 but for rounding."""
    return values > np.finfo(float).eps * most * values[-1]
