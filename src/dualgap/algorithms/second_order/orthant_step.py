"""Lines 2 to 4 of `prox_newton`: Newton steps within the orthant of the present signs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualgap._arrays import dot, total, within
from dualgap._types import Array
from dualgap.algorithms.second_order import class_blocks as blocks
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.curvature import DataModel
from dualgap.limits import one_pass
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls
from dualgap.linalg.orthant import Inverse, Ray, solve_on_orthant
from dualgap.problem import Problem
from dualgap.state import State


class End(NamedTuple):
    """Where a step ends."""

    x: Array
    """The coefficients."""
    z: Array
    """The predictions A x + offset."""
    primal: float
    """The value P(x)."""


class OrthantStep(DataModel):
    """P on the orthant of line 2, where it is smooth."""

    def __init__(self, problem: Problem, s: State) -> None:
        super().__init__(problem, s)
        self.l1 = np.broadcast_to(problem.elastic_net.l1, s.x.shape)
        self.grad = s.u + self.l2 * s.x
        # What each coordinate would gain by moving alone, as a square root.
        promises = np.maximum(np.abs(self.grad) - self.l1, 0.0) / np.sqrt(self.units)
        promises = np.where(s.x == 0.0, promises, 0.0)
        most = max(1, int(tuning.CLASSES.growth * np.count_nonzero(s.x)))
        ranked = np.sort(promises, axis=None)  # columns that are alike come in turn
        least = max(tuning.CLASSES.enters * ranked[-1], ranked[-min(most, ranked.size)])
        enter = (promises > 0.0) & (promises >= least)
        inward = np.where(enter, -np.sign(self.grad), 0.0)
        self.signs = np.where(s.x != 0.0, np.sign(s.x), inward)
        self.free = (self.signs != 0.0) | (self.l1 == 0.0)
        self.orthant_slope = np.where(self.free, self.grad + self.l1 * self.signs, 0.0)

    def _inverse(self) -> Inverse:
        """The preconditioner: G where it is at hand, else the diagonal."""
        G = self.s.own.blocks
        if G is None:
            return lambda r: np.asarray(r / self.units)
        return blocks.inverse_on(G, np.broadcast_to(self.l2, self.s.x.shape), self.free)

    def minimise(self, goal: float) -> tuple[Array, float]:
        """Line 3: x + d; the system is solved when r'M^(-1)r is this share of what it was."""
        run, products = solve_on_orthant(
            lambda p: self.product(p) + self.l2 * p, -self.orthant_slope, self.free,
            self._inverse(), lambda run, first: run.rho <= goal * first,
            tuning.SYSTEMS.most_products, one_pass(self.problem),
        )  # fmt: skip
        d = run.d
        if d.ndim == 2:  # what moves all classes alike and is not penalised is nothing but rounding
            d -= np.where((self.l1 == 0.0) & (self.l2 == 0.0), d.mean(axis=1, keepdims=True), 0.0)
        self.d, self.gain = d, run.gain
        return self.s.x + d, float(products)

    def search(self) -> tuple[float, End, int]:
        """Line 4: t (0 if none will do), x+, and the products it took."""
        s, ray = self.s, Ray(self.s.x, self.d, self.signs, self.l1)
        self.first_zero = ray.first

        def look(t: float) -> Trial:
            x = ray.at(t)
            end, promised = self._end(x), dot(self.orthant_slope, x - s.x)
            return Trial(end.primal, promised if promised <= 0.0 else np.nan, end)

        found = first_that_falls(look, ray.lengths, s.primal)
        if found is None:
            return 0.0, End(s.x, s.z, s.primal), len(ray.lengths)
        return found[0], found[1].point, ray.lengths.index(found[0]) + 1

    def gradient_step(self, bound: float) -> tuple[End, float, int]:
        """x+ = prox of g in the metric L diag(H), with an L that majorises; L; the products."""
        s, metric = self.s, self.units

        def look(t: float) -> Trial:
            L = least / t
            v, limit = s.x - self.grad / (L * metric), self.l1 / (L * metric)
            x = v - within(v, limit)
            dx, end = x - s.x, self._end(x)
            model = dot(self.grad, dx) + 0.5 * L * dot(metric * dx, dx)
            return Trial(end.primal, model + total(self.l1 * (np.abs(x) - np.abs(s.x))), end)

        least = max(0.5 * bound, 1e-3)
        found = first_that_falls(look, HALVINGS, s.primal, decrease=1.0)
        if found is None:  # the end of precision
            return End(s.x, s.z, s.primal), bound, len(HALVINGS)
        return found[1].point, least / found[0], HALVINGS.index(found[0]) + 1

    def _end(self, x: Array) -> End:
        z = self.problem.predict(x)
        return End(x, z, self.problem.primal(x, z))
