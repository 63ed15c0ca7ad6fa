"""Lines 2 to 4 of `prox_newton`: Newton steps within the orthant of the present signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dualgap._arrays import dot, per_row
from dualgap._types import Array, Mask
from dualgap.algorithms.second_order import class_blocks as blocks
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.curvature import least_curvature
from dualgap.algorithms.tasks import curved
from dualgap.designs.tasks import product_pair
from dualgap.limits import current
from dualgap.linalg.conjugate_gradients import ConjugateGradients
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.algorithms.second_order.prox_newton import ProxNewtonState


class Orthant:
    """The orthant of line 2: P is smooth on it."""

    def __init__(self, problem: Problem, s: State) -> None:
        self.problem, self.s = problem, s
        self.own: ProxNewtonState = s.own
        g = problem.elastic_net
        self.l1, self.l2 = np.broadcast_to(g.l1, s.x.shape), g.l2
        self.grad = s.u + self.l2 * s.x
        diagonal = per_row(problem.column_norms**2, s.x) * self.own.mean_hess + self.l2
        self.diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        # What each coordinate would gain by moving alone, as a square root.
        promises = np.maximum(np.abs(self.grad) - self.l1, 0.0) / np.sqrt(self.diagonal)
        promises = np.where(s.x == 0.0, promises, 0.0)
        enter = (promises > 0.0) & (promises >= _threshold(promises, s.x))
        inward = np.where(enter, -np.sign(self.grad), 0.0)
        self.signs = np.where(s.x != 0.0, np.sign(s.x), inward)
        self.free: Mask = (self.signs != 0.0) | (self.l1 == 0.0)
        self.slope = np.where(self.free, self.grad + self.l1 * self.signs, 0.0)
        self.precondition: Callable[[Array], Array] = lambda r: np.asarray(r / self.diagonal)
        if self.own.blocks is not None:
            l2 = np.broadcast_to(self.l2, s.x.shape)
            self.precondition = blocks.inverse_on(self.own.blocks, l2, self.free)

    def newton_direction(self) -> tuple[Array, float, float]:
        """Line 3: d, what the model gains by it, and the products it took."""
        s, design, hess = self.s, self.problem.design, self.own.hess
        least = least_curvature(self.problem, self.own.damping, s.z, s.y)
        if hess.ndim == 1:  # may be another for each row
            hess, least = hess + least, 0.0
        rows = (hess, self.problem.q)
        run = ConjugateGradients.begun(-self.slope)
        run.turn(self.precondition(run.r))
        count, limits = 0, current()
        one = 2.0 * design.nonzeros * (1 if s.x.ndim == 1 else s.x.shape[1])
        most, enough = tuning.SYSTEMS.most_products, tuning.SYSTEMS.solved * run.rho
        while run.rho > enough and count < most and not limits.ends(one):
            assert run.p is not None
            Hp = product_pair(design, rows, run.p, curved, least)[1]
            count += 1
            if not run.advance(np.where(self.free, Hp + self.l2 * run.p, 0.0)):
                break
            run.turn(self.precondition(run.r))
        d = run.d
        if d.ndim == 2:  # what moves all classes alike and is not penalised is nothing but rounding
            d -= np.where((self.l1 == 0.0) & (self.l2 == 0.0), d.mean(axis=1, keepdims=True), 0.0)
        return d, run.gain, float(count)

    def search(self, d: Array) -> tuple[float, Array, Array, float, int, float]:
        """Line 4: t (0 if none will do), x+, A x+, P there, products it took, the first zero."""
        s, problem = self.s, self.problem
        crossing = (self.l1 > 0.0) & (s.x * (s.x + d) < 0.0)
        first = float(np.min(-s.x[crossing] / d[crossing], initial=1.0))
        lengths = [1.0, 0.5, 0.25, *(min(first, 0.25) * 0.25**k for k in range(4))]
        tried = 0

        def look(t: float) -> Trial:
            nonlocal tried
            tried += 1
            x = s.x + t * d
            x = np.where((self.l1 > 0.0) & (np.sign(x) != self.signs), 0.0, x)
            if t == first:  # to 0, whatever the rounding
                x[crossing & (np.abs(x) <= 1e-15 * np.abs(s.x))] = 0.0
            z = problem.predict(x)
            promised = dot(self.slope, x - s.x)
            return Trial(problem.primal(x, z), promised if promised <= 0.0 else np.nan, (x, z))

        found = first_that_falls(look, lengths, s.primal)
        if found is None:
            return 0.0, s.x, s.z, s.primal, tried, first
        t, end = found
        return t, *end.point, end.value, tried, first

    def gradient_step(self, bound: float) -> tuple[Array, Array, float, float, int]:
        """x+ = prox of g in the metric L diag(H), with an L that majorises."""
        s, problem, metric = self.s, self.problem, self.diagonal

        def look(L: float) -> Trial:
            v = s.x - self.grad / (L * metric)
            x = np.sign(v) * np.maximum(np.abs(v) - self.l1 / (L * metric), 0.0)
            z, dx = problem.predict(x), x - s.x
            model = dot(self.grad, dx) + 0.5 * L * dot(metric * dx, dx)
            model += float(np.sum(self.l1 * (np.abs(x) - np.abs(s.x))))
            return Trial(problem.primal(x, z), model, (x, z))

        least = max(0.5 * bound, 1e-3)
        found = first_that_falls(lambda t: look(least / t), HALVINGS, s.primal, decrease=1.0)
        if found is None:  # the end of precision
            return s.x, s.z, s.primal, bound, len(HALVINGS)
        t, end = found
        return *end.point, end.value, least / t, HALVINGS.index(t) + 1


def _threshold(promises: Array, x: Array) -> float:
    """What a coordinate at 0 must promise to be let in: columns that are alike come in turn."""
    most = max(1, int(tuning.CLASSES.growth * np.count_nonzero(x)))
    ranked = np.sort(promises, axis=None)
    last = float(ranked[-most]) if most < ranked.size else 0.0
    return max(tuning.CLASSES.enters * float(ranked[-1]), last)
