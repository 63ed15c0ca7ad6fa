"""Squared loss, on the Gram matrix: the data are read once for all, and twice to certify a point.

By columns (d <= n), see `_quadratic`: every point costs d x d work, with l2 alone by a tridiagonal
form of G (`_shifted`), with l1 by coordinate descent on G from the point before.

By rows (n < d, l2 alone). With p the weights of the penalty and K = A diag(1/p) A', what must
hold, y = A x + c - b with x = -diag(1/p) A'Qy/l2 and sum_i q_i y_i = 0, is a system in
w = Q^(1/2) y:

    (l2 I + Q^(1/2) K Q^(1/2)) w = l2 Q^(1/2) (c - b)

solved for 1 and for b; their combination of mean 0 gives c. Then x is one product with A'.

By sets of columns (n < d, with l1), see `_sets`.

Nothing rests on this but speed: points are certified from the data, many in one go (`_estimates`).
One whose gap is not what was asked for (G, known to rounding, has the square of A's condition) is
left to a solve of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.second_order.tuning import GRAMS
from dualgap.certificate import Estimate, estimated_pair
from dualgap.designs.contract import BLAS3_GAIN
from dualgap.limits import passes_at_most
from dualgap.linalg.hessian_factor import symmetric_gram
from dualgap.linalg.penalised import Penalty, descend
from dualgap.paths._estimates import estimates, points_at_once
from dualgap.paths._quadratic import Centred, is_close, targets, value_and_gap
from dualgap.paths._sets import Sets
from dualgap.paths._shifted import REDUCTION, Shifted
from dualgap.problem import Problem

FEWEST = 4
"""A path with fewer points than this is left to solves."""
SPARED = 2.0
"""A point is taken to cost so many passes over the data less than by a solve of its own."""
CALLS = 2e6
"""A point is taken to spare so many multiplications beside the passes, for calls of a solve."""
SWEEPS = 20.0
"""A point with l1 is taken to cost so many sweeps over G."""
SET = 1.5
"""A set of columns is taken to have this many times as many as there are rows."""


def pays(problem: Problem, strengths: Sequence[tuple[float, float]]) -> bool:
    """Whether the path is one for this, and shorter so."""
    n, d = problem.base.shape
    count, side = len(strengths), min(n, d)
    if not (problem.loss.is_quadratic and side <= GRAMS.largest_side and count >= FEWEST):
        return False
    if not (problem.penalty_weights.all() and all(l1 + l2 > 0 for l1, l2 in strengths)):
        return False
    if any(l1 > 0 for l1, _ in strengths):
        side = min(int(SET * n), d)
        work = problem.base.gram_multiplications(d <= n) * (side / d if n < d else 1.0)
        return work + count * SWEEPS * side * side <= count * spared(problem)
    work = problem.base.gram_multiplications(d <= n)
    work += min(count, REDUCTION) * side**3 / 3.0 / (2.0 * BLAS3_GAIN)
    return work <= count * spared(problem)


def spared(problem: Problem) -> float:
    """Multiplications that a point is taken to cost less than by a solve of its own."""
    return SPARED * 2.0 * problem.design.nonzeros + CALLS


class Found(NamedTuple):
    """A point of the path as it was found, and the passes over the data that it took."""

    x: Array
    """With the intercept last."""
    y: Array
    certificate: Estimate
    passes: float


def points(
    problem: Problem, strengths: Sequence[tuple[float, float]], tol: float, most: float
) -> Iterator[Found]:
    """The points, in order; their gaps are found together, many at a time.

    For work on G of as much as ``most`` passes a point is given up. The last points are missing
    where the rest of the path is left to others.
    """
    model, passes, many = _model(problem, strengths), 2.0, points_at_once(problem)
    for start in range(0, len(strengths), many):
        some = strengths[start : start + many]
        X, spent = np.empty((len(some), problem.size)), []
        for k, pair in enumerate(some):
            quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
            with quiet, passes_at_most(problem, most):
                X[k] = model.solve(problem, *pair, tol)
            if model.gives_up:
                some, X = some[:k], X[:k]
                break
            spent.append(passes + model.passes)
            passes = 1.0
        found = estimates(problem, some, X)
        for pair, x, certificate, y, p in zip(some, X, *found, spent, strict=True):
            if not is_good(problem, certificate, tol):
                certificate, y = estimated_pair(problem.with_strengths(*pair), x, None)
            yield Found(x, y, certificate, p)
        if model.gives_up:
            return


def is_good(problem: Problem, certificate: Estimate, tol: float) -> bool:
    """Whether the gap is what is asked for."""
    small = certificate.gap <= tol * problem.scale(certificate.primal)
    return certificate.certified and small


class _Model(Protocol):
    """What finds points one after the other; the passes that the last took, if it was found."""

    passes: float
    gives_up: bool

    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x at these strengths, the intercept last."""


def _model(problem: Problem, strengths: Sequence[tuple[float, float]]) -> _Model:
    n, d = problem.base.shape
    if d <= n:
        return _Columns(problem, len(strengths))
    if any(l1 > 0 for l1, _ in strengths):
        return Sets(problem)
    return _Rows(problem, len(strengths))


class _Columns(Centred):
    """P in terms of G, v and e."""

    passes, gives_up = 0.0, False

    def __init__(self, problem: Problem, count: int) -> None:
        super().__init__(problem)
        self.G = symmetric_gram(problem.base, problem.q)
        if problem.fit_intercept:
            self.G -= np.outer(self.m, self.m)
        self.x = np.zeros(problem.d)
        self.count = count
        self.shifted: Shifted | None = None

    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x, the intercept last."""
        if l1 > 0.0:
            p = problem.penalty_weights
            self.x = self._descend(problem, l1 * p, l2 * p, tol)
        else:
            self.x = self._ridge(problem, l2)
        return self.joined(problem, self.x)

    def _ridge(self, problem: Problem, l2: float) -> Array:
        """(G + l2 diag(p))^(-1) v, in the units in which p is 1."""
        unit = 1.0 / np.sqrt(problem.penalty_weights)
        if self.shifted is None:
            self.shifted = Shifted(unit[:, None] * self.G * unit, self.count)
        return unit * self.shifted.solve(l2, unit * self.v)

    def _descend(self, problem: Problem, l1: Array, l2: Array, tol: float) -> Array:
        def enough(x: Array, u: Array) -> bool:
            square = max(0.0, self.e + float(x @ (u - self.v)))  # |Ax - b|^2
            return is_close(problem, *value_and_gap(square, x, u, l1, l2), tol)

        u = self.G @ self.x - self.v
        if enough(self.x, u):
            return self.x
        return descend(self.G, u, self.x, Penalty(l1, l2), 0.0, enough)[0]


class _Rows:
    """The system in w."""

    passes, gives_up = 0.0, False

    def __init__(self, problem: Problem, count: int) -> None:
        self.inverse = 1.0 / problem.penalty_weights
        self.root = np.sqrt(problem.q)
        K = self.root[:, None] * problem.base.outer(self.inverse) * self.root
        self.shifted = Shifted(K, count)
        self.right = np.column_stack((self.root, self.root * targets(problem)))

    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x, the intercept last."""
        one, b = self.shifted.solve(l2, self.right).T  # and l2 cancels in x
        c = float(self.root @ b) / float(self.root @ one) if problem.fit_intercept else 0.0
        return problem.joined(self.inverse * problem.base.rmatvec(self.root * (b - c * one)), c)
