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

from dualgap._types import Array
from dualgap.certificate import Estimate, estimated_pair
from dualgap.designs import Design
from dualgap.designs.tasks import product_pair, weigh
from dualgap.linalg.lanczos import Lanczos
from dualgap.paths._gram import FEWEST
from dualgap.paths._quadratic import MARGIN, targets
from dualgap.problem import Problem

LARGEST = 2.0
"""V has at most this many times the entries of the data."""
ALWAYS = 20
"""A V of up to so many vectors is never too large, whatever the data."""
LONGEST = 300
"""More vectors than this would take longer than what they spare."""


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
    space = krylov_space(base, q, m, unit, unit * base.rmatvec(q * b))
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


def krylov_space(
    base: Design, w: Array, m: Array, unit: Array, v: Array, most: int | None = None
) -> Lanczos:
    """That of diag(unit) (A' diag(w) A - mm') diag(unit) and v.

    Orthogonalised in full, for it is short.
    """
    n, d = base.shape
    limit = min(max(ALWAYS, int(LARGEST * base.nonzeros / d)), LONGEST, n, d)

    def product(t: Array) -> Array:
        x = unit * t
        image = product_pair(base, (w,), x, weigh)[1]
        return np.asarray(unit * (image - float(m @ x) * m))

    return Lanczos(product, v, limit if most is None else min(limit, most))
