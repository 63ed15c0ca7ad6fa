"""One step of `working_set`: the choice of S, and P minimised over x_S."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dualgap._types import Array, Places
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.column_gradients import finish
from dualgap.algorithms.second_order.curvature import least_curvature
from dualgap.algorithms.second_order.gram_descent import descend, largest_gain, moved_alone
from dualgap.designs import Columns
from dualgap.designs.columns import DenseColumns
from dualgap.limits import current
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls
from dualgap.problem import Problem
from dualgap.regularizers import Box
from dualgap.state import State, replace

if TYPE_CHECKING:
    from dualgap.algorithms.second_order.working_set import WorkingSetState

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Model:
    """A Gram matrix H = A_S' diag(w) A_S that goes on to the next step."""

    at: Places
    """The coordinates S, in the order of the rows and columns of H."""
    w: Array
    """The weight of each row of the data: q_i phi''(z_i) where H was formed."""
    H: Array
    """The matrix itself."""


def gains(problem: Problem, x: Array, u: Array, z: Array | None = None) -> Array:
    """(c_j + l2_j) step_j^2 for the step of each coordinate alone, c_j = |a_j|_Q^2/gamma.

    Without gamma the mean of phi'' at z stands in for its bound: only their order counts.
    """
    g = problem.bounded_net
    c = column_curvature(problem, problem.column_norms, z)
    step = moved_alone(c, u, x, g.l1, g.l2, (g.lower, g.upper) if isinstance(g, Box) else None) - x
    curvature = c + g.l2
    # A column of zeros lowers P by l1 |x|, with no curvature to measure a step by.
    return np.where(curvature > 0, curvature * step * step, g.l1 * np.abs(step))


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
    if not problem.design.is_sparse:  # new ones last: their columns are put behind the others
        chosen[before] = False
        return np.concatenate((before, np.flatnonzero(chosen)))
    if 4 * np.count_nonzero(chosen) >= x.size <= tuning.SETS.all_of:
        return np.arange(x.size)  # which need not be gathered
    return np.flatnonzero(chosen)


class Restricted:
    """P over the coordinates of a working set."""

    def __init__(self, problem: Problem, s: State, tol: float) -> None:
        self.problem = problem
        gap = s.primal - s.dual
        aim = tuning.SETS.gap_share * tol * problem.scale(s.primal)
        self.needed = aim / gap if gap > 0.0 else 0.0
        """Share of what its coordinates gain now that may be left, for the gap asked for."""
        self.own: WorkingSetState = s.own
        own, u = self.own, self.own.gradient
        gain = gains(problem, s.x, u, s.z)
        self.touched = 0.0
        """Entries of the data touched, where a product with A and one with A' count once each."""
        self.at = at = working_set(problem, s.x, gain, own.coordinates, tuning.SETS.growth)
        inside = np.zeros(problem.size, dtype=bool)
        inside[at] = True
        self.outside = float(np.max(gain, where=~inside, initial=0.0))
        self.complete = self.outside <= tuning.SETS.negligible * float(gain.max())
        """Nothing outside is worth a place now."""
        g = problem.bounded_net
        self.l1, self.l2 = g.l1[at], g.l2[at]
        self.ends = (g.lower[at], g.upper[at]) if isinstance(g, Box) else None
        self.x, self.z, self.u, self.primal = s.x[at], s.z, u[at], s.primal
        self.y, self.model, self.stale = own.slope, own.model, own.stale
        self.sweeps, self.last_gain, self.floor = own.sweeps, own.last_gain, own.floor

    @cached_property
    def columns(self) -> Columns:
        """A_S, gathered."""
        return self.problem.columns(self.at)

    def predictions(self) -> Array:
        """A_S x_S + offset."""
        z = self.columns.matvec(self.x)
        return z if self.problem.offset is None else z + self.problem.offset

    def remembered(self) -> WorkingSetState:
        """What the next step needs to know."""
        return replace(
            self.own, coordinates=self.at, model=self.model, stale=self.stale, sweeps=self.sweeps,
            last_gain=self.last_gain, floor=self.floor,
        )  # fmt: skip

    def run(self) -> None:
        """Newton steps while they cost less than the product with A' that follows."""
        budget = 0.5 * self.problem.design.nonzeros
        for _ in range(tuning.SETS.rounds):
            moved = self._newton_step()
            if not moved or self.problem.loss.is_quadratic or self.touched > budget:
                break
            if current().cut:
                break
            self.u = self.columns.rmatvec(self.problem.q * self.y)
            self.touched += 0.5 * self.columns.nonzeros
            if self._own_gain(self._curvature()) <= tuning.SETS.enough * self.outside:
                break

    def _curvature(self) -> Array:
        return column_curvature(self.problem, self.problem.column_norms[self.at], self.z)

    def _own_gain(self, h: Array) -> float:
        """The largest (h_j + l2_j) step_j^2 on the set."""
        return largest_gain(h, self.u, self.x, self.l1, self.l2, self.ends)

    # ---- one step ----

    def _newton_step(self) -> bool:
        problem, loss = self.problem, self.problem.loss
        if self.at.size == 0:
            return False
        quadratic = loss.is_quadratic
        if quadratic:
            w = problem.q
        else:
            hess = loss.hess_beside(self.z, problem.b, self.y)
            w = problem.q * np.maximum(hess, least_curvature(problem, self.floor, self.z, self.y))
        start = self._own_gain(self._curvature())
        if start > tuning.GRAMS.worth_keeping**2 * self.last_gain:
            self.stale = True
        self.last_gain = start
        spared = max(self.sweeps, tuning.GRAMS.cheap)
        if may_form(problem, self.columns) and self._gram_cost() <= spared:
            fresh = self._update_model(w)
            x = self._by_gram(1e-6 if quadratic else 1e-4)
        else:
            fresh, self.model = True, None
            x = self._by_columns(w, min(max(1e-2, self.needed), 0.2))
        step = x - self.x
        if not step.any():
            self.stale = not fresh
            return not fresh
        if quadratic:  # the model is P
            self.x = x
            return True
        return self._line_search(x, step, fresh)

    def _line_search(self, x: Array, step: Array, fresh: bool) -> bool:
        """Shorten the step until P falls enough; the floor under phi'' follows its success."""
        problem = self.problem
        dz = self.columns.matvec(step)
        self.touched += 0.5 * self.columns.nonzeros
        g = self._penalty
        slope = float(self.u @ step) + g(x) - g(self.x)
        loss_now, start = self.primal - g(self.x), self.x

        def look(alpha: float) -> Trial:
            trial = start + alpha * step if alpha < 1.0 else x
            z = self.z + alpha * dz
            phi, y = problem.mean_loss_grad(z)
            return Trial(phi - loss_now + g(trial) - g(start), alpha * slope, (trial, z, y))

        # Changes of P, which lose fewer digits than its values.
        rise = 2.0 * EPS * self.primal
        found = first_that_falls(look, HALVINGS, rise, rounding=0.0)
        if found is None:
            if fresh:
                self.floor = min(16.0 * self.floor, 1.0)
            self.stale = True
            return not fresh
        alpha, end = found
        self.x, self.z, self.y = end.point
        if self.ends is not None:  # sums round
            self.x = np.minimum(np.maximum(self.x, self.ends[0]), self.ends[1])
        self.primal += end.value
        self.stale = alpha < 1.0
        if fresh:
            self.floor = self.floor * (0.25 if alpha == 1.0 else 4.0)
            self.floor = min(max(self.floor, tuning.DAMPING.least_floor), 1.0)
        return True

    def _penalty(self, x: Array) -> float:
        return float(self.l1 @ np.abs(x) + 0.5 * (self.l2 @ (x * x)))

    # ---- the model by its Gram matrix ----

    def _gram_cost(self) -> float:
        """What it takes to bring H up to date, in sweeps over the columns."""
        cost = self.columns.gram_sweeps
        if self.model is not None and self._may_grow():
            cost *= 1.0 - (self.model.at.size / self.at.size) ** 2
        return cost

    def _may_grow(self) -> bool:
        """The weights of the known H still do."""
        return self.problem.loss.is_quadratic or not self.stale

    def _update_model(self, w: Array) -> bool:
        """Form H, or let the known one grow; whether it is that of the present weights."""
        columns, known = self.columns, self.model
        quadratic = self.problem.loss.is_quadratic
        if known is not None and self._may_grow():
            if np.array_equal(known.at, columns.at):
                return quadratic
            if isinstance(columns, DenseColumns) and np.isin(known.at, columns.at).all():
                self.touched += 0.5 * columns.nonzeros
                self.model = _grown(columns, known)
                return quadratic
            if quadratic:
                w = known.w
        self.touched += 0.5 * columns.nonzeros
        self.model = Model(columns.at, w, columns.gram(w))
        self.stale = False
        return True

    def _by_gram(self, accuracy: float) -> Array:
        """Minimise the model: sweeps, and now and then a factorisation on the support."""
        assert self.model is not None
        H, enough = self.model.H, tuning.SETS.enough * self.outside
        small = self.problem.loss.is_quadratic and self.at.size <= tuning.GRAMS.small_side
        if small and self.complete:  # the model is P, and a sweep costs next to nothing
            accuracy, enough = tuning.SETS.exact, 0.0
        goal = max(accuracy * self._own_gain(np.diag(H)), enough)
        x, self.sweeps = descend(H, self.u, self.x, self.l1, self.l2, goal, ends=self.ends)
        return x

    # ---- the model by the columns ----

    def _column_squares(self, w: Array) -> Array:
        """The diagonal of H, which costs a reading where the loss is not quadratic."""
        if self.problem.loss.is_quadratic:
            return self._curvature()
        self.touched += 0.5 * self.columns.nonzeros
        return self.columns.norms_sq(w)

    def _by_columns(self, w: Array, accuracy: float) -> Array:
        columns, h = self.columns, self._column_squares(w)
        x, r = self.x.copy(), self.problem.q * self.y
        goal = max(accuracy * self._own_gain(h), tuning.SETS.enough_by_columns * self.outside)
        later = may_form(self.problem, columns)  # by its Gram matrix, if this takes long
        few = tuning.GRAMS.columns_sweeps
        most = few if self.ends is None else 4.0 * few  # for nothing takes over between bounds
        if later:
            most = max(columns.gram_sweeps, few)
        before = np.sign(x)
        self.sweeps, worst = columns.sweeps(
            w, r, x, h, self.l1, self.l2, most, goal, bounds=self.ends
        )
        self.touched += self.sweeps * columns.nonzeros
        if self.ends is not None:
            return x
        settled = np.count_nonzero(np.sign(x) != before) <= tuning.GRAMS.sign_changes * x.size
        if worst > goal and settled and not later and not current().cut:
            x, products = finish(columns, w, r, x, h, self.l1, self.l2, goal)
            self.touched += products * columns.nonzeros
        return x


def may_form(problem: Problem, columns: Columns) -> bool:
    """Whether factorisations of H cost less than conjugate gradients with the columns."""
    rules, side = tuning.GRAMS, columns.at.size
    if side > rules.largest_side * (1.0 if problem.loss.is_quadratic else rules.newton_side):
        return False
    support = min(side, problem.n)  # about, at most: that of l1 is no larger than the rows are many
    return support <= rules.small_side or support**3 <= rules.factor_price * columns.nonzeros


def cut(known: Model, at: Places) -> Model:
    """The part of the known H on these coordinates."""
    both, _, here = np.intersect1d(at, known.at, assume_unique=True, return_indices=True)
    return Model(both, known.w, known.H[np.ix_(here, here)])


def _grown(columns: DenseColumns, known: Model) -> Model:
    """The known H with the rows and columns of the new coordinates."""
    side = columns.at.size
    _, here, there = np.intersect1d(columns.at, known.at, assume_unique=True, return_indices=True)
    H = np.empty((side, side))
    H[np.ix_(here, here)] = known.H[np.ix_(there, there)]
    new = np.setdiff1d(np.arange(side), here, assume_unique=True)
    rows = columns.cross_gram(known.w, new, np.arange(side))
    H[new] = rows
    H[:, new] = rows.T
    return Model(columns.at, known.w, H)
