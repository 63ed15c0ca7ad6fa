"""Squared loss with l2 alone, where no Gram matrix can be had: one Krylov space for all strengths.

With p the weights of the penalty, t = diag(p)^(1/2) x, and all centred where there is an intercept
c = mean(b) - m'x, m = A'q, the points of the path solve

    (M + l2 I) t = v,   M = diag(p)^(-1/2) (A'QA - mm') diag(p)^(-1/2)
                        v = diag(p)^(-1/2) A'Q(b - mean(b))

for one M and one v, and the spaces of v, Mv, M^2 v, ... are the same for every l2. With V an
orthonormal basis of one of them (Lanczos, orthogonalised in full, for it is short) and T = V'MV,
tridiagonal, each point is t = V s, (T + l2 I) s = |v| e_1, and what is left of the system there is
as long as the next off-diagonal entry of T times the last of s. So the space grows, by one product
with A'QA, until the gap |r|^2/(2 l2) is small enough. A point costs the reading of the data that
certifies it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dualgap._types import Array
from dualgap.certificate import Certificate, certified_pair
from dualgap.paths._gram import FEWEST, MARGIN, targets
from dualgap.problem import Problem

LARGEST = 2.0
"""Entries of V, at most, over those of the data;"""
ALWAYS = 20
"""but so many vectors are never too many."""
NOTHING = 1e-14
"""Of M: an off-diagonal entry of T that small ends the space."""


def pays(problem: Problem, strengths: Sequence[tuple[float, float]]) -> bool:
    """Whether the path is one for this."""
    if not (problem.loss.is_quadratic and len(strengths) >= FEWEST):
        return False
    return bool(problem.penalty_weights.all()) and all(l1 == 0 < l2 for l1, l2 in strengths)


def points(
    problem: Problem, strengths: Sequence[tuple[float, float]], tol: float
) -> Iterator[tuple[Problem, Array, Array, Certificate, float]]:
    """The problem at each l2, x with the intercept, y, their certificate, and passes it took."""
    space = _Space(problem)
    for _, l2 in strengths:
        problem = problem.replace(l1=0.0, l2=l2)
        before = space.products
        x = space.solve(problem, tol)
        certificate, y = certified_pair(problem, x, None)
        yield problem, x, y, certificate, 1.0 + space.products - before


class _Space:
    """V and T, as far as they are known."""

    def __init__(self, problem: Problem) -> None:
        self.base, self.q = problem.base, problem.q
        n, d = self.base.shape
        b = targets(problem)
        self.mean, self.m = 0.0, np.zeros(d)
        if problem.fit_intercept:
            self.mean, self.m = problem.mean(b), self.base.rmatvec(self.q)
        b = b - self.mean
        self.e = problem.mean(b * b)
        self.unit = 1.0 / np.sqrt(problem.penalty_weights)
        v = self.unit * self.base.rmatvec(self.q * b)
        self.length = float(np.linalg.norm(v))
        most = max(ALWAYS, int(LARGEST * self.base.nonzeros / d))
        self.V = np.empty((min(most, n, d) + 1, d))
        self.diagonal: list[float] = []
        self.beside: list[float] = []
        """Off-diagonal entries; the last one leads to the next vector."""
        self.products = 1.0
        self.V[0] = v / self.length if self.length > 0.0 else 0.0

    def solve(self, problem: Problem, tol: float) -> Array:
        """x, the intercept last, as good as the largest space allows."""
        s = np.zeros(0)
        while self.length > 0.0:
            if self.diagonal:
                s = self._in_space(problem.l2)
                primal = 0.5 * (self.e - self.length * s[0])
                left = 0.5 * (self.beside[-1] * s[-1]) ** 2 / problem.l2
                if left <= MARGIN * tol * problem.scale(primal):
                    break
            if len(self.diagonal) + 1 == len(self.V) or (self.beside and self.beside[-1] == 0.0):
                break
            self._grow()
        x = self.unit * (s @ self.V[: s.size])
        return problem.joined(x, self.mean - float(self.m @ x))

    def _in_space(self, l2: float) -> Array:
        """(T + l2 I)^(-1) |v| e_1."""
        k = len(self.diagonal)
        T = np.diag(self.diagonal) + np.diag(self.beside[:-1], 1) + np.diag(self.beside[:-1], -1)
        return np.asarray(np.linalg.solve(T + l2 * np.eye(k), self.length * np.eye(k)[0]))

    def _grow(self) -> None:
        """One more vector."""
        k = len(self.diagonal)
        x = self.unit * self.V[k]
        w = self.unit * (self.base.weighted_sweep(x, self.q)[1] - float(self.m @ x) * self.m)
        self.diagonal.append(float(self.V[k] @ w))
        for _ in range(2):
            w -= (self.V[: k + 1] @ w) @ self.V[: k + 1]
        length = float(np.linalg.norm(w))
        if length <= NOTHING * max(self.diagonal):
            length = 0.0
        else:
            self.V[k + 1] = w / length
        self.beside.append(length)
        self.products += 1.0
