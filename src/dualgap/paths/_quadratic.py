"""The squared loss in a few numbers: what walks on Gram matrices share.

With m = A'q, all centred where there is an intercept c = mean(b) - m'x,

    P(x) = (1/2)(x'Gx - 2 v'x + e) + g(x),   G = A'QA - mm',  v = A'Q(b - mean(b)),  e = |b|_Q^2

and strengths change neither G nor v nor e.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.linalg.hessian_factor import symmetric_gram
from dualgap.problem import Problem

MARGIN = 0.3
"""A walk aims at this share of the gap that is asked for; the rest is left for rounding."""


class Centred:
    """The numbers that need one reading of the data: mean(b), b less that, m, v and e."""

    def __init__(self, problem: Problem) -> None:
        b = problem.b if problem.offset is None else problem.b - problem.offset
        self.mean = problem.mean(b) if problem.fit_intercept else 0.0
        self.b = b - self.mean
        self.v = problem.base.rmatvec(problem.q * self.b)
        self.e = problem.mean(self.b * self.b)
        self.m = problem.base.rmatvec(problem.q) if problem.fit_intercept else np.zeros(problem.d)

    def gram(self, problem: Problem) -> Array:
        """G."""
        G = symmetric_gram(problem.base, problem.q)
        if problem.fit_intercept:
            G -= np.outer(self.m, self.m)
        return G

    def joined(self, problem: Problem, x: Array) -> Array:
        """x with the best intercept last, if there is one."""
        if not problem.fit_intercept:
            return x
        out = np.empty(problem.size)
        out[:-1], out[-1] = x, (self.mean - self.m @ x) / problem.intercept_scale
        return out


def value_and_gap(square: float, x: Array, u: Array, l1: Array, l2: Array) -> tuple[float, float]:
    """P and the gap at y = t r: (1 - t)^2 |r|^2/2 + g(x) + g*(-tu) + t u'x.

    Here r = A x - b with |r|^2 = ``square``, and u = A'Qr. Either all l2_j are positive or none is.
    """
    size, value, slope = np.abs(u), float(l1 @ np.abs(x)), float(u @ x)
    if l2.size and l2[0] > 0.0:
        over = np.maximum(size - l1, 0.0)
        value += 0.5 * float((l2 * x) @ x)
        gap = value + 0.5 * float(over @ (over / l2)) + slope
    else:
        outside = float((size / l1).max(initial=1.0))
        gap = value + slope / outside + 0.5 * (1.0 - 1.0 / outside) ** 2 * square
    return 0.5 * square + value, gap


def is_close(problem: Problem, primal: float, gap: float, tol: float) -> bool:
    """Whether the gap is small enough for a tolerance, with room for rounding."""
    return gap <= MARGIN * tol * problem.scale(primal)
