"""Squared loss with l2 alone, where no Gram matrix can be had: one Krylov space for all strengths.

With p the weights of the penalty, t = diag(p)^(1/2) x, and all centred where there is an intercept
c = mean(b) - m'x, m = A'q, the points of the path solve

    (M + l2 I) t = v,   M = diag(p)^(-1/2) (A'QA - mm') diag(p)^(-1/2)
                        v = diag(p)^(-1/2) A'Q(b - mean(b))

for one M and one v, and the spaces of v, Mv, M^2 v, ... are the same for every l2. With V an
orthonormal basis of one of them and T = V M V', each point is t = V's, (T + l2 I) s = |v| e_1. So
the space grows, by one product with A'QA, until the gap |r|^2/(2 l2) is small enough. A point costs
the reading of the data that certifies it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg

from dualgap._types import Array
from dualgap.certificate import Estimate, estimated_pair
from dualgap.designs import Design
from dualgap.designs.tasks import product_pair, weigh
from dualgap.paths._gram import FEWEST
from dualgap.paths._quadratic import MARGIN, targets
from dualgap.problem import Problem

LARGEST = 2.0
"""Entries of V, at most, over those of the data;"""
ALWAYS = 20
"""but so many vectors are never too many."""
LONGEST = 300
"""More vectors than this would take longer than what they spare."""
NOTHING = 1e-14
"""Of M: an off-diagonal entry of T that small ends the space."""


def pays(problem: Problem, strengths: Sequence[tuple[float, float]]) -> bool:
    """Whether the path is one for this."""
    if not (problem.loss.is_quadratic and len(strengths) >= FEWEST):
        return False
    return bool(problem.penalty_weights.all()) and all(l1 == 0 < l2 for l1, l2 in strengths)


def points(
    problem: Problem, strengths: Sequence[tuple[float, float]], tol: float, most: float
) -> Iterator[tuple[Problem, Array, Array, Estimate, float]]:
    """The problem at each l2, x with the intercept, y, their certificate, and passes (<= most)."""
    base, q, b = problem.base, problem.q, targets(problem)
    mean, m = 0.0, np.zeros(problem.d)
    if problem.fit_intercept:
        mean, m = problem.mean(b), base.rmatvec(q)
    b = b - mean
    unit = 1.0 / np.sqrt(problem.penalty_weights)
    space = Lanczos(base, q, m, unit, unit * base.rmatvec(q * b))
    square, passes = problem.mean(b * b), 2.0
    for _, l2 in strengths:
        problem = problem.replace(l1=0.0, l2=l2)
        room, passes = most - passes, passes - space.size
        t = _point(problem, space, square, tol, room)
        x = problem.joined(unit * t, mean - float(m @ (unit * t)))
        certificate, y = estimated_pair(problem, x, None)
        yield problem, x, y, certificate, passes + space.size
        passes = 1.0


def _point(problem: Problem, space: Lanczos, square: float, tol: float, room: float) -> Array:
    """t, as good as the largest space allows, and ``room`` products."""
    s, limit = np.zeros(0), space.size + room
    while True:
        if space.size:
            s = space.solve(problem.l2)
            primal = 0.5 * (square - space.length * float(s[0]))
            gap = 0.5 * space.left(s) ** 2 / problem.l2
            if gap <= MARGIN * tol * problem.scale(primal):
                break
        if not space.may_grow or space.size + 1 > limit:
            break
        space.grow()
    return s @ space.V[: space.size]


class Lanczos:
    """Of M = diag(unit) (A' diag(w) A - mm') diag(unit), from v.

    Orthogonalised in full, for it is short.

    Attributes
    ----------
    V : array
        Its rows are the basis, as far as it is known; the next vector is behind them.
    length : float
        |v|.
    size : int
        Rows of T.
    """

    def __init__(
        self, base: Design, w: Array, m: Array, unit: Array, v: Array, most: int | None = None
    ) -> None:
        self.base, self.w, self.m, self.unit = base, w, m, unit
        n, d = base.shape
        limit = min(max(ALWAYS, int(LARGEST * base.nonzeros / d)), LONGEST, n, d)
        self.V = np.empty(((limit if most is None else min(limit, most)) + 1, d))
        self.length = float(np.linalg.norm(v))
        self.V[0] = v / self.length if self.length > 0.0 else 0.0
        self.diagonal: list[float] = []
        self.beside: list[float] = []
        """Off-diagonal entries; the last one leads to the next vector."""

    @property
    def size(self) -> int:
        """How far T is known."""
        return len(self.diagonal)

    @property
    def may_grow(self) -> bool:
        """Whether there is more to know, and room for it."""
        ended = self.length == 0.0 or (self.size > 0 and self.beside[-1] == 0.0)
        return not ended and self.size + 1 < len(self.V)

    @property
    def T(self) -> Array:
        """V M V'."""
        beside = self.beside[:-1]
        return np.asarray(np.diag(self.diagonal) + np.diag(beside, 1) + np.diag(beside, -1))

    def solve(self, l2: float) -> Array:
        """(T + l2 I)^(-1) |v| e_1."""
        right = np.zeros(self.size)
        right[0] = self.length
        return self._solve(l2, right)

    def _solve(self, l2: float, right: Array) -> Array:
        """(T + l2 I)^(-1) right, from its two bands."""
        if self.size == 1:
            return np.asarray(right / (self.diagonal[0] + l2))
        bands = np.array([self.diagonal, self.beside])
        bands[0] += l2
        return np.asarray(scipy.linalg.solveh_banded(bands, right, lower=True))

    def left(self, s: Array) -> float:
        """|v - (M + l2 I) V's| where (T + l2 I) s = |v| e_1."""
        return abs(self.beside[-1] * float(s[-1]))

    def inverse(self, r: Array, l2: float, outside: float) -> Array:
        """(M + l2 I)^(-1) r, if M is known on the space of V; ``outside`` is M + l2 I elsewhere."""
        V = self.V[: self.size]
        c = V @ r
        inside = self._solve(l2, c) - c / outside if self.size else c
        return np.asarray(r / outside + inside @ V)

    def grow(self) -> None:
        """One more product."""
        k = self.size
        x = self.unit * self.V[k]
        product = product_pair(self.base, (self.w,), x, weigh)[1]
        y = self.unit * (product - float(self.m @ x) * self.m)
        self.diagonal.append(float(self.V[k] @ y))
        for _ in range(2):
            y -= (self.V[: k + 1] @ y) @ self.V[: k + 1]
        length = float(np.linalg.norm(y))
        if length <= NOTHING * max(self.diagonal):
            length = 0.0
        else:
            self.V[k + 1] = y / length
        self.beside.append(length)
