"""phi'' for Newton's methods: at a point, how far to raise it, and H by products with the data."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dualgap._arrays import by_pieces, per_row
from dualgap._types import Array
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.base import LocalModel
from dualgap.algorithms.tasks import curved
from dualgap.designs.tasks import product_pair, weigh
from dualgap.problem import Problem
from dualgap.state import State


def curvature(problem: Problem, z: Array, slope: Array) -> Array:
    """phi''(z), from z and phi'(z); with several predictions what it is made of, softmax(z)."""
    if problem.loss.is_quadratic:
        return np.broadcast_to(1.0, z.shape)
    if not problem.loss.is_vector:
        hess = problem.loss.hess_beside
        return by_pieces(lambda z, b, y: hess(z, b, y), z, problem.b, slope)
    p = slope.copy()  # the gradient of the multinomial loss is softmax(z) less e_b
    p[np.arange(problem.n), problem.b.astype(np.intp)] += 1.0
    return p


def mean_curvature(problem: Problem, z: Array, slope: Array) -> float:
    """The mean of phi''(z), of its diagonal if it is a matrix."""
    if problem.loss.is_vector:
        p = curvature(problem, z, slope)
        return problem.mean((p * (1.0 - p)).mean(axis=1))
    hess = problem.loss.hess_beside
    return problem.mean_of(lambda z, b, y: hess(z, b, y), z, problem.b, slope)


def least_curvature(problem: Problem, damping: float, z: Array, slope: Array) -> float | Array:
    """What phi'' is raised by: m/gamma; without gamma m times the curvature of `Loss.secant`."""
    gamma = problem.loss.gamma
    if gamma is not None:
        return damping / gamma
    return damping * problem.loss.secant(z, problem.b, slope) if damping > 0.0 else 0.0


def first_share(problem: Problem, kinks: float, x0: Array | None) -> float:
    """The m to begin with: all of it where nothing is known and phi'' has no bound."""
    if problem.loss.gamma is None:
        return 1.0 if x0 is None else tuning.DAMPING.first
    return 0.0 if is_smooth(problem) else kinks


def is_smooth(problem: Problem) -> bool:
    """Whether phi'' is continuous."""
    loss = problem.loss
    return loss.is_quadratic or loss.is_self_concordant or loss.is_vector or loss.delta > 0.0


def next_damping(
    problem: Problem, damping: float, gain: float, t: float, fallen: float, level: float
) -> float:
    """The share m of 1/gamma for the next system: P fell at t, where the model gains ``gain``."""
    gamma = problem.loss.gamma
    share = 1.0 if gamma is None else level * gamma  # of phi'' in what it is raised by
    least = tuning.DAMPING.least * max(share, tuning.DAMPING.least)
    if not gain > 0.0:  # flat: nothing to solve with
        t = 0.0
    if t < 1.0:
        return float(min(max(damping, least) / max(t, 1.0 / tuning.DAMPING.most_growth), 1.0))
    if fallen < 0.25 * gain:
        return damping
    if damping > least:
        return 0.1 * damping
    return 0.0 if is_smooth(problem) else least


class DataModel(LocalModel):
    """H = A' diag(q (phi'' + least)) A at the point of a state, of which nothing is formed.

    There y = phi'(z), and the state's own part has ``mean_hess`` and ``damping``. What is as long
    as the data is made of z and y when it is asked for.
    """

    sweep = 1.0

    def __init__(self, problem: Problem, s: State) -> None:
        self.problem, self.s = problem, s
        self.own: Any = s.own
        self.l2 = problem.elastic_net.l2

    @cached_property
    def least(self) -> float | Array:
        """What phi'' is raised by."""
        return least_curvature(self.problem, self.own.damping, self.s.z, self.s.y)

    @cached_property
    def classes(self) -> Array:
        """What phi'' is made of, where there are several predictions a row."""
        return curvature(self.problem, self.s.z, self.s.y)

    @cached_property
    def weights(self) -> Array:
        """The diagonal of W, where there is one prediction a row."""
        problem, least = self.problem, self.least
        if problem.loss.is_quadratic:
            return np.asarray(problem.q * (1.0 + least))
        hess, rows = problem.loss.hess_beside, (self.s.z, problem.b, self.s.y, problem.q)
        if isinstance(least, float):
            return by_pieces(lambda z, b, y, q: q * (hess(z, b, y) + least), *rows)
        return by_pieces(lambda z, b, y, q, more: q * (hess(z, b, y) + more), *rows, least)

    def forget_rows(self) -> None:
        """What is as long as the data, and found again if it is asked for."""
        for name in ("weights", "classes"):
            self.__dict__.pop(name, None)

    def image_and_product(self, p: Array) -> tuple[Array, Array]:
        """A p and H p, for one reading of the data."""
        problem = self.problem
        if problem.loss.is_vector:
            return product_pair(problem.design, (self.classes, problem.q), p, curved, self.least)
        return product_pair(problem.design, (self.weights,), p, weigh)

    def product(self, p: Array) -> Array:
        """H p."""
        return self.image_and_product(p)[1]

    def diagonal(self) -> Array:
        """The diagonal of H, or near it: phi'' is replaced by its mean."""
        squares = self.problem.column_norms**2
        return np.asarray(per_row(squares, self.s.x) * self.own.mean_hess)

    @cached_property
    def units(self) -> Array:
        """The diagonal of H + diag(l2), or 1 where it is 0."""
        diagonal = self.diagonal() + self.l2
        return np.where(diagonal > 0.0, diagonal, 1.0)
