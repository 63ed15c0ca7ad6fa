"""The squared loss in a few numbers; with l1, Gram matrices of the columns that matter.

With m = A'q, all centred where there is an intercept c = mean(b) - m'x,

    P(x) = (1/2)(x'Gx - 2 v'x + e) + g(x),   G = A'QA - mm',  v = A'Q(b - mean(b)),  e = |b|_Q^2

and strengths change neither G nor v nor e. With l1 each point of the path is found by

    S   <- the support, and the columns whose gradients are near l1
    x_S <- the minimiser of P over x_S, by descent on G_SS from the point before
    r   <- A x - b,   u <- A'Qr,   until the gap at y = t r is small enough

G_SS serves all points until a column is needed that S has not. The gap rests on products with the
data, so that nothing outside of S is forgotten. With no more columns than rows S has them all, and
u = G x - v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.second_order.tuning import GRAMS
from dualgap.designs import Columns
from dualgap.driver.light import MOST_STEPS
from dualgap.linalg.hessian_factor import symmetric_gram
from dualgap.linalg.penalised import Penalty, descend
from dualgap.problem import Problem

NEEDED = 0.95
"""S must have every column whose gradient is larger than this share of its l1."""
CLOSE = 0.8
"""A new S has every column whose gradient is larger than this share of its l1."""
TOO_MANY = 2
"""S is chosen anew once it has more than this many times the columns that a new one would have."""
COLUMNS_PER_ROW = 4
"""With more columns in S than this many times the rows, sweeps over columns would be shorter."""
GAP_ON_SET = 0.5
"""On S descent goes on until the gap there is this share of what is aimed at for all columns."""
MARGIN = 0.3
"""Points are aimed at this share of the gap that is asked for; the rest is left for rounding."""


class Centred(ABC):
    """What finds points one after the other from numbers that need one reading of the data.

    These are ``mean`` = mean(b), ``b`` less that, and the ``m``, ``v`` and ``e`` of this module.
    """

    passes = 0.0
    """The passes over the data that the last point took, if it was found."""
    gives_up = False
    """Whether this point and later ones are left to solves of their own."""

    def __init__(self, problem: Problem) -> None:
        b = problem.b if problem.offset is None else problem.b - problem.offset
        self.mean = problem.mean(b) if problem.fit_intercept else 0.0
        self.b = b - self.mean
        self.v = problem.base.rmatvec(problem.q * self.b)
        self.e = problem.mean(self.b * self.b)
        self.m = problem.base.rmatvec(problem.q) if problem.fit_intercept else np.zeros(problem.d)

    @abstractmethod
    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x at these strengths, the intercept last."""

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


class Sets(Centred):
    """P by its values on growing sets of columns."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.x, self.u = np.zeros(problem.d), -self.v
        n, d = problem.base.shape
        self.has_all = d <= n
        self.at = np.arange(d if self.has_all else 0)
        self.inside = np.full(d, self.has_all)
        self.G = self.gram(problem) if self.has_all else np.empty((0, 0))
        self.columns: Columns | None = None

    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x at these strengths, the intercept last."""
        self.passes = 0.0
        p = problem.penalty_weights
        self._find(problem, l1 * p, l2 * p, tol)
        return self.joined(problem, self.x)

    def _find(self, problem: Problem, l1: Array, l2: Array, tol: float) -> None:
        if self.has_all:
            self._descend(problem, l1, l2, tol)
            self.u = self.G @ self.x - self.v
            return
        for _ in range(MOST_STEPS):
            self._choose(problem, l1)
            # With so many columns that matter sweeps over the columns themselves are shorter.
            self.gives_up = self.at.size > max(COLUMNS_PER_ROW * problem.n, GRAMS.small_side)
            if self.gives_up:
                break
            if self.at.size:
                self._descend(problem, l1[self.at], l2[self.at], tol)
            r = problem.base.matvec(self.x) - self.b
            if problem.fit_intercept:
                r -= problem.mean(r)
            self.u = problem.base.rmatvec(problem.q * r)
            self.passes += 1.0
            primal, gap = value_and_gap(problem.mean(r * r), self.x, self.u, l1, l2)
            if is_close(problem, primal, gap, tol):
                break

    def _choose(self, problem: Problem, l1: Array) -> None:
        """S and its Gram matrix, if columns are missing, or most of them matter no longer."""
        size, on = np.abs(self.u), self.x != 0.0
        wanted = on | (size >= CLOSE * l1)
        missing = ((on | (size >= NEEDED * l1)) & ~self.inside).any()
        if self.at.size > TOO_MANY * np.count_nonzero(wanted):
            self.at, self.G = np.empty(0, dtype=np.intp), np.empty((0, 0))
            self.columns, self.inside = None, np.zeros(problem.d, dtype=bool)
        elif not missing:
            return
        new, known = np.flatnonzero(wanted & ~self.inside), self.at.size
        self.at = np.concatenate((self.at, new))
        self.inside[new] = True
        self.columns = problem.base.columns(self.at, known=self.columns)
        rows = self.columns.cross_gram(
            problem.q, np.arange(known, self.at.size), np.arange(self.at.size)
        )
        rows -= np.multiply.outer(self.m[new], self.m[self.at])
        G = np.empty((self.at.size, self.at.size))
        G[:known, :known] = self.G
        G[known:], G[:known, known:] = rows, rows[:, :known].T
        self.G = G

    def _descend(self, problem: Problem, l1: Array, l2: Array, tol: float) -> None:
        at = slice(None) if self.has_all else self.at
        v, share = self.v[at], 1.0 if self.has_all else GAP_ON_SET

        def enough(x: Array, u: Array) -> bool:
            square = max(0.0, self.e + float(x @ (u - v)))  # |Ax - b|^2
            return is_close(problem, *value_and_gap(square, x, u, l1, l2), share * tol)

        penalty = Penalty(l1, l2)
        self.x[at] = descend(self.G, self.u[at], self.x[at], penalty, 0.0, enough)[0]
