"""Squared loss: what the points share is found once, and they are certified many in one go.

l2 alone: every point is one solution of (M + l2 I) t = diag(p)^(-1/2) v for one matrix
M = diag(p)^(-1/2) G diag(p)^(-1/2), with t = diag(p)^(1/2) x, p the weights of the penalty, and G
and v as in `_sets`. If G is small it is formed, for d <= n, and brought to tridiagonal form
(`linalg.shifted`). If not, the spaces of v, Mv, M^2 v, ... are the same for every l2: with V an
orthonormal basis of one of them and T = V M V', each point is t = V's, (T + l2 I) s = |v| e_1. The
space grows, by one product with A'QA, until the gap |r|^2/(2 l2) is small enough.

With l1: coordinate descent on G from the point before, or on the part of it that matters (`_sets`).

Nothing rests on this but speed: points are certified from the data (`certificate.estimates`). One
whose gap is not what was asked for (G, known to rounding, has the square of A's condition) is left
to a solve of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.second_order.tuning import GRAMS
from dualgap.certificate import Estimate, estimated_pair
from dualgap.certificate.estimates import estimates, points_at_once
from dualgap.designs.contract import BLAS3_GAIN
from dualgap.driver.light import Found
from dualgap.limits import passes_at_most
from dualgap.linalg.krylov_factor import krylov_space
from dualgap.linalg.shifted import REDUCTION, Shifted
from dualgap.paths._ahead import CONTINUED
from dualgap.paths._sets import Centred, Sets, is_close
from dualgap.problem import Problem

SPARED = 2.0
"""A solve of its own is taken to cost a point so many passes over the data more than this way."""
CALLS = 2e6
"""A solve calls many functions, which is taken to cost as much as so many multiplications."""
SWEEPS = 20.0
"""A point with l1 is taken to cost so many sweeps over G."""
Strengths = Sequence[tuple[float, float]]


def pays(problem: Problem, strengths: Strengths) -> bool:
    """Whether the path is one for this, and shorter so: on a Gram matrix or in one Krylov space."""
    in_one_space = _is_one(problem, strengths) and all(l1 == 0 for l1, _ in strengths)
    return in_one_space or on_gram_matrix(problem, strengths)


def on_gram_matrix(problem: Problem, strengths: Strengths) -> bool:
    """Whether a Gram matrix can be had, and pays."""
    n, d = problem.base.shape
    count, side = len(strengths), min(n, d)
    if not (_is_one(problem, strengths) and side <= GRAMS.largest_side):
        return False
    work = problem.base.gram_multiplications(d <= n)
    with_l1 = sum(l1 > 0 for l1, _ in strengths)
    if with_l1 == count:
        work = work * (side / d if n < d else 1.0) + count * SWEEPS * side * side
    elif with_l1 or d > n:
        return False
    else:
        work += min(count, REDUCTION) * side**3 / 3.0 / (2.0 * BLAS3_GAIN)
    return work <= count * (SPARED * 2.0 * problem.design.nonzeros + CALLS)


def _is_one(problem: Problem, strengths: Strengths) -> bool:
    """Whether the points share what there is to know."""
    if not (problem.loss.is_quadratic and len(strengths) > CONTINUED):
        return False
    return bool(problem.penalty_weights.all()) and all(l1 + l2 > 0 for l1, l2 in strengths)


def points(problem: Problem, strengths: Strengths, tol: float, most: float) -> Iterator[Found]:
    """The points, in order; their gaps are found together, many at a time.

    For work on G of as much as ``most`` passes a point is given up. The last points are missing
    where the rest of the path is left to others.
    """
    model, passes, many = _model(problem, strengths, most), 2.0, points_at_once(problem)
    for start in range(0, len(strengths), many):
        some = strengths[start : start + many]
        X, spent = np.empty((len(some), problem.size)), []
        quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
        with quiet, passes_at_most(problem, most * len(some)):
            for k, pair in enumerate(some):
                X[k] = model.solve(problem, *pair, tol)
                if model.gives_up:
                    some, X = some[:k], X[:k]
                    break
                spent.append(passes + model.passes)
                passes = 1.0
        found = estimates(problem, some, X) if some else ([], X)
        for pair, x, certificate, y, p in zip(some, X, *found, spent, strict=True):
            if not is_good(problem, certificate, tol):
                certificate, y = estimated_pair(problem.with_strengths(*pair), x, None)
            yield Found(x, y, None, certificate, p)
        if model.gives_up:
            return


def is_good(problem: Problem, certificate: Estimate, tol: float) -> bool:
    """Whether the gap is what is asked for."""
    small = certificate.gap <= tol * problem.scale(certificate.primal)
    return certificate.certified and small


def _model(problem: Problem, strengths: Strengths, most: float) -> Centred:
    if not on_gram_matrix(problem, strengths):
        return _Space(problem, most)
    if strengths[0][0] > 0:
        return Sets(problem)
    return _Matrix(problem, len(strengths))


class _Matrix(Centred):
    """M, in tridiagonal form."""

    def __init__(self, problem: Problem, count: int) -> None:
        super().__init__(problem)
        self.unit = 1.0 / np.sqrt(problem.penalty_weights)
        self.shifted = Shifted(self.unit[:, None] * self.gram(problem) * self.unit, count)

    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x, the intercept last."""
        return self.joined(problem, self.unit * self.shifted.solve(l2, self.unit * self.v))


class _Space(Centred):
    """One Krylov space for all strengths."""

    def __init__(self, problem: Problem, most: float) -> None:
        super().__init__(problem)
        self.unit = 1.0 / np.sqrt(problem.penalty_weights)
        v = self.unit * self.v
        self.space = krylov_space(problem.base, problem.q, self.m, self.unit, v)
        self.most, self.passes = most, 1.0

    def solve(self, problem: Problem, l1: float, l2: float, tol: float) -> Array:
        """x, the intercept last; the path is given up where it would take too many products."""
        space, s, limit = self.space, np.zeros(0), self.space.size + self.most - 2.0
        known = space.size
        while True:
            square, gap = self.e, 0.5 * space.length**2 / l2
            if space.size:
                s = space.solve(l2)
                square, gap = self.e - space.length * float(s[0]), 0.5 * space.left(s) ** 2 / l2
            if is_close(problem, 0.5 * square, gap, tol):
                break
            self.gives_up = not space.may_grow or space.size + 1 > limit
            if self.gives_up:
                break
            space.grow()
        self.passes = float(space.size - known)
        return self.joined(problem, self.unit * (s @ space.V[: space.size]))
