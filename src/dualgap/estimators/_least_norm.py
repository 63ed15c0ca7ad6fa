"""Of the equally good points without a penalty, the one of least norm, as scikit-learn has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from dualgap._types import Array
from dualgap.estimators._base import Solution
from dualgap.problem import Problem

LARGEST_SIDE = 1000
"""Of a matrix whose eigenvectors are computed."""
ROUNDING = 1e-13
"""A relative gap that may come from rounding."""


def least_norm(solution: Solution) -> Solution:
    """w without its part in the kernel of B = Q^(1/2) (A - 1 m'); m = A'q, 0 without intercept.

    Predictions, and with them P, stay as they are: the intercept takes up what the means lose.
    """
    problem = solution.problem
    g = problem.regularizer
    if g.has_l1 or g.has_l2 or min(problem.n, problem.d) > LARGEST_SIDE:
        return solution
    means = problem.column_means[: problem.d] if problem.fit_intercept else np.zeros(problem.d)
    x = solution.x
    new = _in_row_space(problem, x, means)
    if new is None:
        return solution
    intercept: Any = 0.0
    if problem.fit_intercept:
        intercept = solution.intercept + float(means @ (x - new))
    certificate = problem.certify(new, solution.y, intercept=intercept)
    if certificate.relative_gap > max(2.0 * solution.certificate.relative_gap, ROUNDING):
        return solution  # an almost singular B, not a singular one
    return replace(solution, x=new, intercept=intercept, certificate=certificate)


def _in_row_space(problem: Problem, x: Array, means: Array) -> Array | None:
    """B^+ B x; None if B has no kernel."""
    A, q = problem.base, problem.q
    if problem.d <= problem.n:
        values, V = scipy.linalg.eigh(A.gram(q) - np.outer(means, means))
        V = V[:, _counting(values, problem)]
        return None if V.shape[1] == problem.d else np.asarray(V @ (V.T @ x))
    root, cross = np.sqrt(q), A.matvec(means)
    outer = A.outer(np.ones(problem.d)) - cross[:, None] - cross + means @ means
    values, U = scipy.linalg.eigh(root[:, None] * outer * root)
    on = _counting(values, problem)
    v = root * (U[:, on] @ ((U[:, on].T @ (root * (A.matvec(x) - means @ x))) / values[on]))
    return np.asarray(A.rmatvec(v) - means * v.sum())


def _counting(values: Array, problem: Problem) -> Any:
    """Which eigenvalues are not 0 but for rounding."""
    return values > np.finfo(float).eps * max(problem.n, problem.d) * values[-1]
