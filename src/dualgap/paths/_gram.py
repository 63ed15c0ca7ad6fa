"""Squared loss, on the Gram matrix: the data are read once for all, and twice to certify a point.

By columns (d <= n). With m = A'q, all centred where there is an intercept c = mean(b) - m'x,

    P(x) = (1/2)(x'Gx - 2 v'x + e) + g(x),   G = A'QA - mm',  v = A'Q(b - mean(b)),  e = |b|_Q^2

and strengths change neither G nor v nor e. So every point costs d x d work: with l2 alone by a
tridiagonal form of G (`_shifted`), with l1 by coordinate descent on G from the point before.

By rows (n < d, l2 alone). With p the weights of the penalty and K = A diag(1/p) A', what must
hold, y = A x + c - b with x = -diag(1/p) A'Qy/l2 and sum_i q_i y_i = 0, is a system in
w = Q^(1/2) y:

    (l2 I + Q^(1/2) K Q^(1/2)) w = l2 Q^(1/2) (c - b)

solved for 1 and for b; their combination of mean 0 gives c. Then x is one product with A'.

Nothing rests on this but speed: points are certified from the data. One whose certificate is not
what was asked for (G, known to rounding, has the square of A's condition) is left to a solve of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.second_order.gram_descent import descend
from dualgap.algorithms.second_order.tuning import GRAMS
from dualgap.certificate import Estimate, estimated_pair
from dualgap.designs.contract import BLAS3_GAIN
from dualgap.limits import passes_at_most
from dualgap.linalg.hessian_factor import symmetric_gram
from dualgap.paths._shifted import REDUCTION, Shifted
from dualgap.problem import Problem

FEWEST = 4
"""Points that a path must have."""
SPARED = 2.0
"""Passes that a point is taken to cost less than by a solve of its own;"""
CALLS = 2e6
"""and multiplications, for all that is not a product."""
SWEEPS = 20.0
"""Over G, that a point with l1 is taken to cost."""
MARGIN = 0.3
"""Of the gap that is asked for, what is aimed at: the rest is for rounding."""


def pays(problem: Problem, strengths: Sequence[tuple[float, float]]) -> bool:
    """Whether the path is one for this, and shorter so."""
    n, d = problem.base.shape
    count, side = len(strengths), min(n, d)
    if not (problem.loss.is_quadratic and side <= GRAMS.largest_side and count >= FEWEST):
        return False
    if not (problem.penalty_weights.all() and all(l1 + l2 > 0 for l1, l2 in strengths)):
        return False
    descends = any(l1 > 0 for l1, _ in strengths)
    if descends and n < d:
        return False
    work = problem.base.gram_multiplications(d <= n)
    if descends:
        work += count * SWEEPS * d * d
    else:
        work += min(count, REDUCTION) * side**3 / 3.0 / (2.0 * BLAS3_GAIN)
    return work <= count * spared(problem)


def spared(problem: Problem) -> float:
    """Multiplications that a point is taken to cost less than by a solve of its own."""
    return SPARED * 2.0 * problem.design.nonzeros + CALLS


def points(
    problem: Problem, strengths: Sequence[tuple[float, float]], tol: float, most: float
) -> Iterator[tuple[Problem, Array, Array, Estimate]]:
    """The problem at each (l1, l2), x with the intercept, y, and their certificate.

    For work on G of as much as ``most`` passes a point is given up.
    """
    n, d = problem.base.shape
    model = (_Columns if d <= n else _Rows)(problem, len(strengths))
    for l1, l2 in strengths:
        problem = problem.replace(l1=l1, l2=l2)
        quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
        with quiet, passes_at_most(problem, most):
            x = model.solve(problem, tol)
        certificate, y = estimated_pair(problem, x, None)
        yield problem, x, y, certificate


class _Columns:
    """P in terms of G, v and e."""

    def __init__(self, problem: Problem, count: int) -> None:
        b = targets(problem)
        self.mean = problem.mean(b) if problem.fit_intercept else 0.0
        b = b - self.mean
        self.G = symmetric_gram(problem.base, problem.q)
        self.v = problem.base.rmatvec(problem.q * b)
        self.e = problem.mean(b * b)
        self.m = np.zeros(problem.d)
        if problem.fit_intercept:
            self.m = problem.base.rmatvec(problem.q)
            self.G -= np.outer(self.m, self.m)
        self.x = np.zeros(problem.d)
        self.count = count
        self.shifted: Shifted | None = None

    def solve(self, problem: Problem, tol: float) -> Array:
        """x, the intercept last."""
        d = problem.d
        l1, l2 = problem.elastic_net.l1[:d], problem.elastic_net.l2[:d]
        self.x = self._descend(problem, l1, l2, tol) if problem.l1 > 0 else self._ridge(problem)
        return problem.joined(self.x, self.mean - float(self.m @ self.x))

    def _ridge(self, problem: Problem) -> Array:
        """(G + l2 diag(p))^(-1) v, in the units in which p is 1."""
        unit = 1.0 / np.sqrt(problem.penalty_weights)
        if self.shifted is None:
            self.shifted = Shifted(unit[:, None] * self.G * unit, self.count)
        return unit * self.shifted.solve(problem.l2, unit * self.v)

    def _descend(self, problem: Problem, l1: Array, l2: Array, tol: float) -> Array:
        def enough(x: Array, u: Array) -> bool:
            primal, gap = self._values(x, u, l1, l2)
            return gap <= MARGIN * tol * problem.scale(primal)

        u = self.G @ self.x - self.v
        if enough(self.x, u):
            return self.x
        return descend(self.G, u, self.x, l1, l2, 0.0, enough)[0]

    def _values(self, x: Array, u: Array, l1: Array, l2: Array) -> tuple[float, float]:
        """P, and the gap at y = t (Ax - b): (1 - t)^2 |Ax - b|^2/2 + g(x) + g*(-tu) + t u'x."""
        square = max(0.0, self.e + float(x @ (u - self.v)))  # |Ax - b|^2
        size, t = np.abs(u), 1.0
        outside = (l2 == 0.0) & (size > l1)
        if outside.any():
            t = float((l1[outside] / size[outside]).min())
        over = np.maximum(t * size - l1, 0.0)
        conj = np.divide(over * over, 2.0 * l2, out=np.zeros_like(over), where=l2 > 0)
        terms = l1 * np.abs(x) + 0.5 * l2 * x * x
        gap = 0.5 * (1.0 - t) ** 2 * square + float((terms + conj + t * u * x).sum())
        return 0.5 * square + float(terms.sum()), gap


class _Rows:
    """The system in w."""

    def __init__(self, problem: Problem, count: int) -> None:
        self.inverse = 1.0 / problem.penalty_weights
        self.root = np.sqrt(problem.q)
        K = self.root[:, None] * problem.base.outer(self.inverse) * self.root
        self.shifted = Shifted(K, count)
        self.right = np.column_stack((self.root, self.root * targets(problem)))

    def solve(self, problem: Problem, tol: float) -> Array:
        """x, the intercept last."""
        one, b = self.shifted.solve(problem.l2, self.right).T  # and l2 cancels in x
        c = float(self.root @ b) / float(self.root @ one) if problem.fit_intercept else 0.0
        return problem.joined(self.inverse * problem.base.rmatvec(self.root * (b - c * one)), c)


def targets(problem: Problem) -> Array:
    """b less the offset."""
    return problem.b if problem.offset is None else problem.b - problem.offset
