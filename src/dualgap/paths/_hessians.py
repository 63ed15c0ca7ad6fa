"""H = A' diag(q phi'') A along a path, in what suits: d = argmin u'd + (1/2) d'Hd + g(x + d).

Without l1 by a factor of H + diag(l2), or, where that cannot be had, by the part of H that a Krylov
space knows. With l1: `_descent`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.designs.contract import BLAS3_GAIN
from dualgap.designs.intercept import InterceptDesign
from dualgap.linalg import hessian_factor
from dualgap.linalg.lanczos import Lanczos
from dualgap.paths._gram import CALLS, spared
from dualgap.paths._krylov import krylov_space
from dualgap.problem import Problem

POINTS = 5.0
"""One H is taken to serve at least so many points of a path."""
KNOWN = 1e-3
"""A Krylov space is large enough once it leaves this share of the system it is made for."""
FEW, MOST = 2, 40
"""A Krylov space has so many vectors at least, and so many at most."""


class Step(NamedTuple):
    """d, A d if it has been found on the way, and passes over the data."""

    d: Array
    Ad: Array | None
    passes: float


class Hessian(ABC):
    """H of one point, for this and others near it."""

    price: float = 0.0
    """Of a new H, in steps."""

    def begin(self, problem: Problem) -> None:  # noqa: B027 - most have nothing to do
        """Strengths have changed."""

    @abstractmethod
    def serves(self, problem: Problem, x: Array, u: Array) -> bool:
        """Whether H is known, where it must be."""

    @abstractmethod
    def renew(self, problem: Problem, x: Array, u: Array, hess: Array) -> float | None:
        """H at this point: the passes it took, or None if it cannot be had."""

    @abstractmethod
    def step(self, problem: Problem, x: Array, z: Array, y: Array, u: Array, share: float) -> Step:
        """From x, where z = A x + offset, y = phi'(z) and u = A'Qy.

        Of the gap there this share is to be left, if H has to be followed with iterations.
        """


def may_factorise(problem: Problem) -> bool:
    """Whether a factor pays."""
    design, side = problem.design, min(problem.design.shape)
    work = side**3 / 3.0 / (2.0 * BLAS3_GAIN)  # with each strength
    work += design.gram_multiplications(hessian_factor.by_columns(design)) / POINTS
    return side <= hessian_factor.LARGEST_SIDE and work <= spared(problem)


def in_steps(problem: Problem, multiplications: float) -> float:
    """What so much work is, next to the products of a step."""
    return multiplications / (2.0 * problem.design.nonzeros + CALLS)


class Factor(Hessian):
    """Without l1: d = -(H + diag(l2))^(-1) (u + l2 x)."""

    def __init__(self) -> None:
        self.factor: hessian_factor.HessianFactor | None = None

    def serves(self, problem: Problem, x: Array, u: Array) -> bool:
        """Whether there is a factor."""
        return self.factor is not None

    def begin(self, problem: Problem) -> None:
        """The factor at other strengths."""
        if self.factor is not None:
            self.factor = self.factor.with_strengths(problem.elastic_net.l2)

    def renew(self, problem: Problem, x: Array, u: Array, hess: Array) -> float:
        """The factor of H at this point."""
        outer, last = (None, None) if self.factor is None else (self.factor.outer, self.factor.last)
        self.factor = hessian_factor.HessianFactor(
            problem.design, problem.q * hess, problem.elastic_net.l2, outer=outer, last=last
        )
        work = min(problem.design.shape) ** 3 / 3.0 / (2.0 * BLAS3_GAIN)
        if self.factor.outer is None:
            work += problem.design.gram_multiplications(True)
        self.price = in_steps(problem, work)
        return 1.0

    def step(self, problem: Problem, x: Array, z: Array, y: Array, u: Array, share: float) -> Step:
        """By the factor."""
        assert self.factor is not None
        r = -u - problem.elastic_net.l2 * x
        Ax = z if problem.offset is None else z - problem.offset
        step = self.factor.newton_step(r, problem.q * y, x, Ax)
        if step is not None:
            return Step(*step, 0.5)
        return Step(self.factor.solve(r), None, self.factor.passes)


class Subspace(Hessian):
    """Without l1: d = -(H + diag(l2))^(-1) (u + l2 x), with H as a Krylov space knows it.

    The intercept is eliminated: with h and k the last column of H and its corner,
    C = H - hh'/k. In the variables of `_krylov`, C is taken to be V'TV on the space of V, and
    the smallest eigenvalue of T outside of it. The space is that of the gradient where it is made:
    the step from there is Newton's but for `KNOWN`, those from other points are nearly.
    """

    def __init__(self) -> None:
        self.lanczos: Lanczos | None = None

    def serves(self, problem: Problem, x: Array, u: Array) -> bool:
        """Whether there is a space."""
        return self.lanczos is not None

    def renew(self, problem: Problem, x: Array, u: Array, hess: Array) -> float | None:
        """V and T at this point, as large as this strength asks for."""
        base, w, passes = problem.base, problem.q * hess, 1.0
        self.unit = 1.0 / np.sqrt(problem.penalty_weights)
        self.h, self.corner = np.zeros(problem.d), 0.0
        if problem.fit_intercept:
            self.h, self.corner = base.rmatvec(w), float(w.sum())
        m = self.h / (math.sqrt(self.corner) or 1.0)
        space = krylov_space(base, w, m, self.unit, self._reduced(problem, x, u)[0], MOST)
        while space.may_grow:
            space.grow()
            if space.size >= FEW and space.left(space.solve(problem.l2)) <= KNOWN * space.length:
                break
        self.lanczos = space
        self.outside = max(0.0, float(np.linalg.eigvalsh(space.T)[0])) if space.size else 0.0
        self.price = in_steps(
            problem, 2.0 * space.size * (base.nonzeros + space.size * base.shape[1])
        )
        return passes + space.size

    def step(self, problem: Problem, x: Array, z: Array, y: Array, u: Array, share: float) -> Step:
        """By the space."""
        assert self.lanczos is not None
        r, last = self._reduced(problem, x, u)
        l2 = problem.l2
        move = self.unit * self.lanczos.inverse(r, l2, l2 + self.outside)
        return Step(
            problem.joined(move, last - float(self.h @ move) / (self.corner or 1.0)), None, 0.0
        )

    def _reduced(self, problem: Problem, x: Array, u: Array) -> tuple[Array, float]:
        """-(u + l2 x) without the intercept, in the variables t; and what moves the intercept."""
        r, last = -u - problem.elastic_net.l2 * x, 0.0
        if isinstance(problem.design, InterceptDesign):  # in terms of c, not of x's last entry
            last = float(r[-1]) / (problem.design.scale * (self.corner or 1.0))
        return self.unit * (r[: problem.d] - last * self.h), last
