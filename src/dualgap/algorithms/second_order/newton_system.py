"""Line 2 of Newton's method: H d = -g by preconditioned conjugate gradients.

A system is picked up where the last step of the driver left it, and its iterates do not depend on
where that was. The products are made with a float32 copy of the data where there is one; then A d
and what is left of the system are looked at with the data themselves before anything rests on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array, Mask
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.curvature import least_curvature
from dualgap.algorithms.tasks import curved
from dualgap.designs.intercept import InterceptDesign
from dualgap.designs.tasks import product_pair, weigh
from dualgap.limits import current
from dualgap.linalg import hessian_factor
from dualgap.linalg.conjugate_gradients import ConjugateGradients
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.algorithms.second_order.newton import NewtonState


class Smoothed(NamedTuple):
    """A mix of the answers so far, whose coefficients add up to 1."""

    d: Array
    """The mix itself."""
    Ad: Array
    """The product A d."""
    left: Array
    """What is left of the system there, -g - H d."""


class Base(NamedTuple):
    """The point at which a system was set up; its answer d is a step from there."""

    x: Array
    """The coefficients."""
    z: Array
    """The predictions A x + offset."""
    primal: float
    """The value P(x)."""


@dataclass(frozen=True, eq=False)
class SystemState:
    """A system H d = -g that is not solved yet, as the state of the run keeps it."""

    base: Base
    """The point at which H and g were taken."""
    rows: Mask | None
    """The rows of the data that H is summed over; None means all of them."""
    run: ConjugateGradients
    """The conjugate gradients: the answer d so far, what is left of the system, and the way on."""
    Ad: Array
    """The product A d; it stays 0 while H is summed over some of the rows only."""
    rho0: float
    """The value of ``run.rho`` when the system was begun, which it is compared with."""
    factorised_at: int | None
    """The ``run.count`` at which this H was factorised.

    None means that there is no factor, or one of another system's H.
    """
    rho_from_data: float
    """The value of ``run.rho`` when r was last computed from the data; infinity before that.

    Between such times r comes from products with the float32 copy of the data.
    """
    intercept_column: Array | None
    """The column of H that belongs to the intercept; None if it was not asked for yet."""
    smoothed: Smoothed | None
    """The mix of answers that the dual point is made of; None if there is none."""


class System:
    """H d = -g at the point of a state.

    Attributes
    ----------
    run : ConjugateGradients
        The answer d so far, and what it gains by the quadratic model.
    Ad : array
    left : array or None
        r = -g - H d; None if nobody has looked.
    solved : bool
    passes : float
        What `iterate` has cost.
    """

    def __init__(self, problem: Problem, s: State, tol: float) -> None:
        self.problem, self.s, self.tol = problem, s, tol
        own: NewtonState = s.own
        self.own, self.damping = own, own.damping
        kept = _begun(problem, s) if own.system is None else own.system
        self.base, self.rows = kept.base, kept.rows
        self.run, self.Ad, self.rho0 = kept.run, kept.Ad, kept.rho0
        self.factorised_at, self.rho_from_data = kept.factorised_at, kept.rho_from_data
        self.intercept_column, self.smoothed = kept.intercept_column, kept.smoothed
        self.factor: Any = own.factor
        self.paid, self.products = own.paid, own.products
        self.may_narrow = own.may_narrow
        self.left: Array | None = None
        self.known_adjoint: list[Array] = []
        """The phi' at the end of the step and A'Q times it, where they came with A d."""
        self.passes, self.solved = 0.0, False
        self.l2 = strengths(problem)
        # Of tol, for |r|^2/(2 l2): all that the gap has, where phi'' does not change.
        self.slack = 0.9 if problem.loss.is_quadratic else 0.2

    def unfinished(self) -> SystemState | None:
        """What the state keeps of it; None if it is solved."""
        if self.solved:
            return None
        return SystemState(
            base=self.base, rows=self.rows, run=self.run, Ad=self.Ad, rho0=self.rho0,
            factorised_at=self.factorised_at, rho_from_data=self.rho_from_data,
            intercept_column=self.intercept_column, smoothed=self.smoothed,
        )  # fmt: skip

    def iterate(self) -> None:
        """Conjugate gradients, until it is solved or a chunk of products is made."""
        problem = self.problem
        share, product = self._hessian()
        self._consider_factorising()
        Ap, self.run = None, self.run.copy()  # the state that this began at keeps its own
        if self.run.p is None:
            Ap = self._first_direction()
            self.rho0 = self.rho0 or self.run.rho
        # Nothing to gain but rounding, which a singular H would blow up. (With l2 there may be:
        # for D, which divides by it.)
        nothing = tuning.SYSTEMS.nothing * problem.scale(self.base.primal)
        if not self.run.rho > (0.0 if problem.elastic_net.has_l2 else nothing):
            self.solved = True
        elif self._is_newton_step():
            self._accept_first_direction(Ap)
            return
        chunk = tuning.SYSTEMS.chunk
        most = min(chunk - self.run.count % chunk, max(1.0, self.s.budget - self.s.passes - 1.0))
        done, rough = 0, False
        if not self.solved:
            self.Ad = self.Ad.copy()
            if self.smoothed is not None:
                self.smoothed = Smoothed(*(part.copy() for part in self.smoothed))
        limits, run = current(), self.run
        while not self.solved and done < most and not (done and limits.time_is_up):
            assert run.p is not None
            if self._may_use_float32():
                rough, self.smoothed = True, None
                Ap, Hp = self._float32_product(run.p)
            else:
                Ap, Hp = product(run.p)
            Hp += self.l2 * run.p
            self._charge(share)
            self.products += 1
            done += 1
            if not run.advance(Hp, tuning.SYSTEMS.flat * dot(self.units * run.p, run.p)):
                self.solved = True  # a flat direction, or the end of precision
                self.may_narrow = self.may_narrow and not rough
                break
            if self.rows is None:
                self.Ad += run.length * Ap
            gained = 0.5 * run.length * run.rho
            search = self._precondition(run.r)
            if not rough:
                self._smooth()
            run.turn(search)
            self.solved = self._enough(gained, run.rho, 0.5 * self.slack if rough else self.slack)
            if not self.solved and self._consider_factorising():
                self._first_direction()
        self.left = self.run.r
        if self.rows is not None:
            if self.solved:
                self._product_with_data()
        elif rough:
            self._residual_from_data(product)

    # ---- products ----

    def _hessian(self) -> tuple[float, Callable[[Array], tuple[Array, Array]]]:
        """The share of the rows in H, and the map p -> A p, A'Q phi'' A p."""
        problem, design = self.problem, self.problem.design
        if problem.loss.is_vector:
            rows, least = (self.own.hess, problem.q), self.least
            return 1.0, lambda p: product_pair(design, rows, p, curved, least)
        w = self.weights
        if self.rows is None:
            return 1.0, lambda p: product_pair(design, (w,), p, weigh)
        some, w = design.take(self.rows), w[self.rows]
        share = some.shape[0] / problem.n
        self.passes += share
        return share, lambda p: product_pair(some, (w,), p, weigh)

    @cached_property
    def least(self) -> float | Array:
        """What phi'' is raised by."""
        return least_curvature(self.problem, self.damping, self.s.z, self.own.slope)

    @cached_property
    def weights(self) -> Array:
        """The diagonal of Q (phi'' + m/gamma)."""
        return np.asarray(self.problem.q * (self.own.hess + self.least))

    def _may_use_float32(self) -> bool:
        """Whether the next product is made with the float32 copy."""
        if not self.may_narrow or self.rows is not None:
            return False
        if self.products < tuning.FACTORS.narrow_after:
            return False
        return not self.problem.loss.is_vector and self.problem.constants.narrow is not None

    def _float32_product(self, p: Array) -> tuple[Array, Array]:
        narrow = self.problem.constants.narrow
        assert narrow is not None
        return narrow.weighted_sweep(p, self.weights)

    def _charge(self, passes: float) -> None:
        self.passes += passes
        self.paid += passes

    # ---- preconditioning ----

    def _consider_factorising(self) -> bool:
        """Factorise H here if conjugate gradients have cost as much by now."""
        problem = self.problem
        if problem.loss.is_vector:
            return False
        at, narrow, rules = self.factorised_at, None, tuning.FACTORS
        if at is not None:  # again, if the float32 copy has not been good enough
            if self.factor.is_exact or not self.factor.is_narrow:
                return False
            if self.run.count < at + rules.narrow_products:
                return False
            self.may_narrow = False
        elif self.factor is not None and problem.loss.is_quadratic:  # it is H's already
            return False
        l2, by_columns = problem.elastic_net.l2, hessian_factor.by_columns(problem.design)
        outer, price = None if self.factor is None else self.factor.outer, self._price
        at_once = (2.0 if problem.loss.is_quadratic else 1.0) * rules.at_once  # for it is the last
        if self.factor is not None and self._is_near():
            at_once = 0.0
        if price > rules.at_once and self.may_narrow and by_columns:
            if self.products >= rules.narrow_after:
                narrow = problem.constants.narrow
                price *= rules.narrow_price if narrow is not None else 1.0
        if self.paid < price and price > at_once and at is None:
            return False
        norms, w = None, self.weights
        if by_columns and not problem.constants.is_uneven:
            count = np.count_nonzero(w >= hessian_factor.LITTLE * w.mean())
            norms = problem.constants.row_norms_sq if count < problem.n else None
        self.factor = hessian_factor.HessianFactor(
            problem.design, self.weights, l2, outer=outer, norms=norms, narrow=narrow
        )
        self.factorised_at, self.paid = self.run.count, 0.0
        self.smoothed = None  # what comes now is better than any mix with what was
        self.passes += 1.0
        return True

    def is_followed_by_factor(self, primal: float) -> bool:
        """Whether the next system, from a point with this P, will form its Gram matrix at once."""
        if self.problem.loss.is_vector or not hessian_factor.by_columns(self.problem.design):
            return False
        rules = tuning.FACTORS
        return self._price <= rules.at_once and not self.run.gain <= rules.near * primal

    def _is_near(self) -> bool:
        """Whether H has hardly changed since the last system."""
        gain = self.own.last_gain
        return gain is not None and bool(gain <= tuning.FACTORS.near * self.s.primal)

    @cached_property
    def _price(self) -> float:
        """The price of a factorisation, in passes."""
        known = self.factor is not None and self.factor.outer is not None
        problem = self.problem
        return hessian_factor.cost(problem.design, problem.elastic_net.l2, outer_known=known)

    def _first_direction(self) -> Array | None:
        """The first direction p, or the first after a change of preconditioner; A p if known."""
        problem, s, run, step = self.problem, self.s, self.run, None
        if self.factorised_at == run.count == 0:
            z = s.z if problem.offset is None else s.z - problem.offset
            step = self.factor.newton_step(run.r, problem.q * self.own.slope, s.x, z)
        if step is None:
            run.restart(self._precondition(run.r))
            return None
        self._charge(0.5)
        run.restart(step[0])
        return np.asarray(step[1])

    def _precondition(self, r: Array) -> Array:
        if self.factor is not None:
            self._charge(self.factor.passes)
            return np.asarray(self.factor.solve(r))
        if self.border is None:
            return self._diagonal(r)
        # In variables in which H has no off-diagonal entries beside the intercept.
        column, corner = self.border
        last = r[-1] / corner
        out = self._diagonal(r - last * column)
        out[-1] = 0.0  # but for rounding it is
        out[-1] = last - dot(column, out) / corner
        return out

    def _diagonal(self, r: Array) -> Array:
        # The diagonal serves where columns come in units of their own. With columns of one unit
        # (words, pixels) it would blow up the rare ones; beside an intercept, which is in units of
        # its own, they get its mean.
        if self.problem.constants.is_uneven:
            return np.asarray(r / self.units)
        return r if self.border is None else r / float(self.units[:-1].mean())

    @cached_property
    def border(self) -> tuple[Array, float] | None:
        """The column of H that belongs to the intercept and its last entry, where there is one.

        All predictions feel the intercept, so that its column is long: conjugate gradients, which
        would take long over it, see what is left of H when the intercept is at its best.
        """
        problem = self.problem
        design = problem.design
        if not isinstance(design, InterceptDesign) or problem.loss.is_vector:
            return None
        if self.rows is not None:
            return None
        if self.intercept_column is None:
            self.intercept_column = design.rmatvec(design.scale * self.weights)
            self._charge(0.5)
        corner = float(self.intercept_column[-1])
        return (self.intercept_column, corner) if corner > 0.0 else None

    @cached_property
    def units(self) -> Array:
        """The diagonal of H, or near it: phi'' is replaced by its mean."""
        squares = self.problem.column_norms**2
        squares = squares if self.s.x.ndim == 1 else squares[:, None]
        diagonal = squares * self.own.mean_hess + self.l2
        return np.where(diagonal > 0.0, diagonal, 1.0)

    # ---- when to end ----

    def _is_newton_step(self) -> bool:
        """Whether the first direction is H^(-1) r already, and what is left of r does not matter.

        Near the end it does: the dual point is made of it.
        """
        if self.run.count or self.factorised_at is None or self.problem.loss.is_quadratic:
            return False
        target = min(self.tol, tuning.SYSTEMS.coarsest_goal) * self.problem.scale(self.base.primal)
        return bool(self.factor.is_exact and self.run.rho > tuning.SYSTEMS.without_dual * target)

    def _accept_first_direction(self, Ap: Array | None) -> None:
        """The first direction as the answer."""
        assert self.run.p is not None
        self.run.d, self.run.gain, self.solved = self.run.p, 0.5 * self.run.rho, True
        if Ap is None:
            self._product_with_data()
        else:
            self.Ad = Ap

    def _is_last(self) -> bool:
        """Whether d is wanted for the dual point that comes with it, too."""
        if self.problem.loss.is_quadratic:
            return True
        return self.rows is None and self.run.gain <= self._target()

    def _target(self) -> float:
        return self.tol * self.problem.scale(self.base.primal - self.run.gain)

    def _enough(self, gained: float, rho: float, slack: float) -> bool:
        """Whether d is good enough: as a step, or, where it is the last step, as a dual point."""
        if not rho > 1e-26 * self.rho0 or self.run.count >= self.run.r.size + tuning.SYSTEMS.chunk:
            return True
        if self._is_last():
            return self._gives_dual(rho, slack)
        rules = tuning.SYSTEMS
        stalled = gained * self.run.count <= rules.stalled * self.run.gain
        stalled = stalled and rho <= rules.forcing * self.rho0
        return bool(stalled or rho <= rules.solved * self.rho0)

    def _gives_dual(self, rho: float, slack: float) -> bool:
        """Whether the gap at the dual point, which has |r|^2/(2 l2) in it, is within tol."""
        r = self.run.r if self.smoothed is None else self.smoothed.left
        left = 0.5 * dot(self.inverse * r, r)
        if self.problem.free_intercept_only:  # y is shifted until r is 0 there
            left += float(np.sum(r[-1] ** 2 / self.units[-1]))
        elif self.problem.regularizer.strong_convexity == 0.0:
            left = max(left, rho)
        # At the end of float64's range P says little of x any more, but r does.
        least = min(1e-2, 1e10 * self.tol)
        return bool(left <= slack * self._target() and rho <= least * self.rho0)

    @property
    def dual_end(self) -> Smoothed:
        """The d that the dual point is made of, for squared loss."""
        assert self.left is not None  # it is carried along
        return self.smoothed or Smoothed(self.run.d, self.Ad, self.left)

    def _smooth(self) -> None:
        """Squared loss: mix d with those before it so that |r|^2/(2 l2), the gap, is least.

        The d of conjugate gradients have the lowest P, but their residuals go up and down. On the
        line to the next one the best point is known (Schoenauer; Zhou and Walker, 1994), and the
        squared residuals of the mix are the harmonic sum of all since it began, so that the last
        few are all that counts.
        """
        if self.factor is not None or not self.problem.loss.is_quadratic:
            return
        if self.smoothed is None:
            if self._gives_dual(self.run.rho, tuning.SYSTEMS.smooth_from * self.slack):
                self.smoothed = Smoothed(self.run.d.copy(), self.Ad.copy(), self.run.r.copy())
            return
        mix = self.smoothed
        way = self.run.r - mix.left
        length = dot(self.inverse * way, way)
        share = -dot(self.inverse * mix.left, way) / length if length > 0.0 else 1.0
        share = min(max(share, 0.0), 1.0)
        mix.left[:] += share * way
        mix.d[:] += share * (self.run.d - mix.d)
        mix.Ad[:] += share * (self.Ad - mix.Ad)

    @cached_property
    def inverse(self) -> Array:
        """1/l2, or 0."""
        l2 = self.problem.elastic_net.l2
        return np.divide(1.0, l2, out=np.zeros_like(l2), where=l2 > 0)

    # ---- after rough products ----

    def _product_with_data(self) -> None:
        if self.problem.design.streams:
            self.Ad, *self.known_adjoint = self.problem.slope_after(self.run.d, self.s.z)
        else:
            self.Ad = self.problem.design.matvec(self.run.d)
        self.left = None
        self._charge(0.5)

    def adjoint(self, y: Array) -> Array:
        """A'Qy, which may have come with A d if y = phi'(z + A d)."""
        if self.known_adjoint and np.array_equal(self.known_adjoint[0], y):
            return self.known_adjoint[1]
        return self.problem.adjoint(y)

    def _residual_from_data(self, product: Callable[[Array], tuple[Array, Array]]) -> None:
        """A d and what is left, from the data themselves, if d is to be used now."""
        if not self.problem.loss.is_quadratic:
            if not self.solved:
                return
            if not self._is_last():
                self._product_with_data()
                return
        self.Ad, Hd = product(self.run.d)
        self.passes += 1.0
        self.left = -self.own.gradient - Hd - self.l2 * self.run.d
        if not self.solved and self.run.count % tuning.SYSTEMS.chunk:
            return  # the end of a budget, which changes nothing
        self.paid += 1.0
        self.run.r = self.left
        self.run.restart(self._precondition(self.run.r))
        self.solved = self._gives_dual(self.run.rho, self.slack)
        self.solved = self.solved or self.run.count >= self.run.r.size + tuning.SYSTEMS.chunk
        if not self.solved and self.run.rho > 0.1 * self.rho_from_data:
            self.may_narrow = False
        self.rho_from_data = self.run.rho


def _begun(problem: Problem, s: State) -> SystemState:
    """The system at the point of s, of which nothing is solved: d = 0."""
    return SystemState(
        base=Base(s.x, s.z, s.primal), rows=_rows_that_count(problem, s),
        run=ConjugateGradients.begun(-s.own.gradient), Ad=np.zeros_like(s.z), rho0=0.0,
        factorised_at=None, rho_from_data=math.inf, intercept_column=None, smoothed=None,
    )  # fmt: skip


def _rows_that_count(problem: Problem, s: State) -> Mask | None:
    """Which rows H is summed over: None for all."""
    own: NewtonState = s.own
    if problem.loss.is_vector or problem.loss.is_quadratic or own.last_gain is None:
        return None
    if own.last_gain <= 1e-3 * s.primal:  # near the end H is wanted whole
        return None
    if own.factor is not None or problem.constants.is_uneven:  # a row's length says nothing
        return None
    least = least_curvature(problem, own.damping, s.z, own.slope)
    share = problem.q * (own.hess + least) * problem.constants.row_norms_sq
    order = np.argsort(share)
    dropped = int(np.searchsorted(np.cumsum(share[order]), tuning.FACTORS.left_out * share.sum()))
    if problem.n - dropped > hessian_factor.WORTH_IT * problem.n:
        return None
    rows = np.ones(problem.n, dtype=bool)
    rows[order[:dropped]] = False
    return rows


def strengths(problem: Problem) -> Any:
    """l2 of every coordinate, as one number where it is the same."""
    common = problem.elastic_net.common_l2
    return problem.elastic_net.l2 if common is None else common
