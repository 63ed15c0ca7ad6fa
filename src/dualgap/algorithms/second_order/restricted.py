"""One step of `working_set`: the choice of S (line 1), and P minimised over x_S (line 2)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dualgap._types import Array, Places
from dualgap.algorithms.second_order import set_models, tuning
from dualgap.algorithms.second_order.curvature import curvature, least_curvature
from dualgap.algorithms.second_order.set_models import ColumnModel, GramOfSet, penalty_of
from dualgap.designs import Columns
from dualgap.limits import current
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls
from dualgap.linalg.rounding import EPS
from dualgap.problem import Problem
from dualgap.state import State, replace

if TYPE_CHECKING:
    from dualgap.algorithms.second_order.working_set import WorkingSetState


def gains(problem: Problem, x: Array, u: Array, z: Array | None = None) -> Array:
    """(c_j + l2_j) step_j^2 for the step of each coordinate alone, c_j = |a_j|_Q^2/gamma.

    Without gamma the mean of phi'' at z stands in for its bound: only their order counts.
    """
    penalty = penalty_of(problem)
    c = column_curvature(problem, problem.column_norms, z)
    step = penalty.moved_alone(c, u, x) - x
    curvature = c + penalty.l2
    # A column of zeros lowers P by l1 |x|, with no curvature to measure a step by.
    return np.where(curvature > 0, curvature * step * step, penalty.l1 * np.abs(step))


def column_curvature(problem: Problem, norms: Array, z: Array | None) -> Array:
    """Norms^2/gamma, or norms^2 times the mean of phi'' at z."""
    if z is None or problem.loss.gamma is not None:
        return np.asarray(norms**2 / problem.loss.known_gamma)
    return np.asarray(norms**2 * problem.mean(problem.loss.hess(z, problem.b)))


def working_set(problem: Problem, x: Array, gain: Array, before: Places, first: int) -> Places:
    """The last set and the support, and as many again of those outside that gain most."""
    chosen = x != 0
    # At first as many as coordinate descent visits in about the time of one product.
    typical = problem.design.nonzeros // (16 * problem.n)
    few = max(first, typical, int(chosen.sum()))
    chosen[before] = True
    outside = np.where(chosen, 0.0, gain)
    worthwhile = np.flatnonzero(outside > tuning.SETS.negligible * float(gain.max()))
    if worthwhile.size > few:
        order = np.argsort(-outside[worthwhile], kind="stable")
        worthwhile = worthwhile[order[:few]]
    chosen[worthwhile] = True
    if problem.design.is_sparse and 4 * np.count_nonzero(chosen) >= x.size <= tuning.SETS.all_of:
        chosen[:] = True  # these need not be gathered
    if not problem.design.is_sparse:  # new ones last: their columns are put behind the others
        chosen[before] = False
        return np.concatenate((before, np.flatnonzero(chosen)))
    return np.flatnonzero(chosen)


class Restricted:
    """P over the coordinates of a working set, from the state where a step begins.

    Sweeps over columns do not go beyond the relative gap ``tol``.
    """

    def __init__(self, problem: Problem, s: State, tol: float) -> None:
        self.problem, own, u = problem, s.own, s.own.gradient
        gain = gains(problem, s.x, u, s.z)
        self.at = at = working_set(problem, s.x, gain, own.coordinates, tuning.SETS.growth)
        self.own: WorkingSetState = replace(own, coordinates=at)
        """What the next step needs to know."""
        self.x, self.z, self.y, self.u, self.primal = s.x[at], s.z, own.slope, u[at], s.primal
        self.penalty = penalty_of(problem).at(at)
        most = float(gain.max())
        gain[at] = 0.0
        self.outside = float(gain.max())
        """What the best coordinate outside gains by moving alone."""
        self.complete = self.outside <= tuning.SETS.negligible * most
        """Nothing outside is worth a place now."""
        gap = s.primal - s.dual
        aim = tuning.SETS.gap_share * tol * problem.scale(s.primal)
        self.needed = aim / gap if gap > 0.0 else 0.0
        """Share of what its coordinates gain now that may be left, for the gap asked for."""
        self.passes = 0.0
        """What the step has cost."""

    @cached_property
    def columns(self) -> Columns:
        """A_S, gathered."""
        return self.problem.columns(self.at)

    @cached_property
    def sweep(self) -> float:
        """The passes over the data that a sweep over the columns amounts to."""
        return self.columns.nonzeros / self.problem.design.nonzeros

    def predictions(self) -> Array:
        """A_S x_S + offset."""
        z = self.columns.matvec(self.x)
        return z if self.problem.offset is None else z + self.problem.offset

    def minimise(self) -> None:
        """Newton steps while they cost less than the product with A' that follows."""
        is_quadratic = self.problem.loss.is_quadratic
        for _ in range(tuning.SETS.rounds if self.at.size else 0):
            if not self._newton_step() or is_quadratic or self.passes > 0.5 or current().cut:
                break
            self.u = self.columns.rmatvec(self.problem.q * self.y)
            self.passes += 0.5 * self.sweep
            if self._largest_gain(self._bound()) <= tuning.SETS.enough * self.outside:
                break

    def _newton_step(self) -> bool:
        """To the minimiser of the model; False if P is as low there as it gets."""
        h, own, is_quadratic = self._bound(), self.own, self.problem.loss.is_quadratic
        gain = self._largest_gain(h)
        stale = own.stale or gain > tuning.GRAMS.worth_keeping**2 * own.last_gain
        self.own = replace(own, stale=stale, last_gain=gain)
        x, is_new = self._by_gram() or self._by_columns(h if is_quadratic else None)
        if (x == self.x).all():
            self.own = replace(self.own, stale=not is_new)
            return not is_new
        if is_quadratic:  # the model is P
            self.x = x
            return True
        return self._line_search(x, is_new)

    def _bound(self) -> Array:
        """A bound of the diagonal of H: the diagonal itself, if the loss is quadratic."""
        return column_curvature(self.problem, self.problem.column_norms[self.at], self.z)

    def _largest_gain(self, h: Array) -> float:
        return self.penalty.largest_gain(h, self.u, self.x)

    @property
    def _weights(self) -> Array:
        """The diagonal of W."""
        problem, loss = self.problem, self.problem.loss
        if loss.is_quadratic:
            return problem.q
        weights = curvature(problem, self.z, self.y)
        least = least_curvature(problem, self.own.floor, self.z, self.y)
        if not weights.flags.owndata:
            weights = weights.copy()
        np.maximum(weights, least, out=weights)
        weights *= problem.q
        return weights

    def _by_gram(self) -> tuple[Array, bool] | None:
        """The minimiser by H as a matrix, and whether H is that of here; None if it is too dear."""
        own, is_quadratic, rules = self.own, self.problem.loss.is_quadratic, tuning.GRAMS
        known = own.model if is_quadratic or not own.stale else None
        point = self.u, self.x, self.penalty
        gram = GramOfSet(self.columns, self._weights, *point, known, self.sweep)
        spared = max(own.sweeps, rules.cheap) * self.sweep
        if gram.price > spared or not set_models.may_form(self.problem, self.columns):
            return None
        self.passes += gram.renew()
        accuracy, share = 1e-6 if is_quadratic else 1e-4, tuning.SETS.enough
        if is_quadratic and self.complete and self.at.size <= rules.small_side:
            accuracy, share = tuning.SETS.exact, 0.0  # the model is P, and a sweep costs nothing
        goal = max(accuracy * self._largest_gain(gram.diagonal()), share * self.outside)
        x, sweeps = gram.minimise(goal)
        self.own = replace(own, model=gram.known, stale=False, sweeps=sweeps)
        return x, is_quadratic or gram.is_new

    def _by_columns(self, h: Array | None) -> tuple[Array, bool]:
        """The minimiser by the columns, nearly: no further than the gap that is wanted asks for."""
        v, w = self.problem.q * self.y, self._weights
        model = ColumnModel(self.columns, w, v, self.x, self.penalty, h, self.sweep)
        self.passes += model.renew()
        if set_models.may_form(self.problem, self.columns):  # which is next, if this takes long
            model.waits_for(self.columns.gram_sweeps)
        accuracy, share = min(max(1e-2, self.needed), 0.2), tuning.SETS.enough_by_columns
        goal = max(accuracy * self._largest_gain(model.diagonal()), share * self.outside)
        x, sweeps = model.minimise(goal)
        self.passes += sweeps * model.sweep
        self.own = replace(self.own, model=None, sweeps=sweeps)
        return x, True

    def _line_search(self, x: Array, is_new: bool) -> bool:
        """Shorten the step until P falls enough; the floor under phi'' follows its success."""
        problem, own, g, start, step = self.problem, self.own, self.penalty, self.x, x - self.x
        dz = self.columns.matvec(step)
        self.passes += 0.5 * self.sweep
        slope = float(self.u @ step) + g.change(start, x)
        loss_now = self.primal - g.value(start)

        def look(t: float) -> Trial:
            trial = g.between(start + t * step) if t < 1.0 else x  # sums round
            z = self.z + t * dz
            phi, y = problem.mean_loss_grad(z)
            return Trial(phi - loss_now + g.change(start, trial), t * slope, (trial, z, y))

        # Changes of P, which lose fewer digits than its values.
        found = first_that_falls(look, HALVINGS, 2.0 * EPS * self.primal, rounding=0.0)
        t, floor = 0.0 if found is None else found[0], own.floor
        if is_new:
            floor *= 16.0 if found is None else 4.0 if t < 1.0 else 0.25
            floor = min(max(floor, tuning.DAMPING.least), 1.0)
        self.own = replace(own, stale=t < 1.0, floor=floor)
        if found is None:
            return not is_new
        self.x, self.z, self.y = found[1].point
        self.primal += found[1].value
        return True
