"""What a system H d = -g is preconditioned with: nothing, the diagonal of H, or a factor of it.

Where one column outweighs the others, the diagonal serves at once. Where columns are of unlike
frequency it may save nearly all products, and a trial tells: when conjugate gradients have taken
some products without it, the first step that it would have made costs half a pass, and it is taken
if that step gains far more than the first step that was made. With more columns than rows it is
left out: without it the directions stay in the range of A', and of H no eigenvalue of a direction
that A maps to 0 is seen; with it they all are, and where l2 is small they take many products.

It serves until conjugate gradients have cost as many passes as a factorisation would
(`hessian_factor.cost`); then H is factorised where the run stands. So the cost is at most twice
that of the better choice, known only in hindsight. A factor serves later systems too, until they
have in turn cost as much.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.curvature import DataModel, curvature
from dualgap.algorithms.tasks import bend
from dualgap.designs.intercept import InterceptDesign
from dualgap.designs.narrow import Narrow
from dualgap.linalg import hessian_factor
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.algorithms.second_order.newton import NewtonState
    from dualgap.algorithms.second_order.newton_system import SystemState


class Preconditioned(DataModel):
    """H at the point of a state, and the M that stands for it; ``now`` is what changes."""

    own: NewtonState

    def __init__(self, problem: Problem, s: State, now: SystemState) -> None:
        super().__init__(problem, s)
        self.now, self.run = now, now.run
        self.factor, self.paid, self.products = s.own.factor, s.own.paid, s.own.products
        self.may_narrow = s.own.may_narrow
        self.by_diagonal = s.own.by_diagonal
        if self.by_diagonal is None and problem.constants.is_uneven:
            self.by_diagonal = True
        self.passes = 0.0
        """What the step has cost."""

    def charge(self, passes: float) -> None:
        """They are counted, and go towards the next factor."""
        self.passes += passes
        self.paid += passes

    # ---- the factor ----

    @cached_property
    def price(self) -> float:
        """The passes that a factorisation takes."""
        known = self.factor is not None and self.factor.outer is not None
        l2 = self.problem.elastic_net.l2
        return hessian_factor.cost(self.problem.design, l2, outer_known=known)

    def renew(self) -> float:
        """Factorise H here."""
        self.factor = hessian_factor.HessianFactor(
            self.problem.design, self.weights, self.problem.elastic_net.l2,
            outer=None if self.factor is None else self.factor.outer, narrow=self._narrow,
        )  # fmt: skip
        self.now.factorised_at, self.paid = self.run.count, 0.0
        self.now.smoothed = None  # what comes now is better than any mix with what was
        self.passes += 1.0
        return 1.0

    def consider_factor(self) -> bool:
        """Factorise H here if conjugate gradients have cost as much by now."""
        is_quadratic = self.problem.loss.is_quadratic
        if self.problem.loss.is_vector:
            return False
        if self.now.factorised_at is not None:  # again, if the float32 copy is not good enough
            if not self._is_too_rough():
                return False
            self.may_narrow = False
        elif self.factor is not None and is_quadratic:  # it is H's already
            return False
        else:
            at_once = (2.0 if is_quadratic else 1.0) * tuning.SYSTEMS.at_once  # for it is the last
            if self.factor is not None and self._is_near():
                at_once = 0.0
            share = 1.0 if self._narrow is None else tuning.SYSTEMS.narrow_price
            if share * self.price > max(self.paid, at_once):
                return False
        self.renew()
        return True

    @property
    def _narrow(self) -> Narrow | None:
        """The float32 copy of the data, if a Gram matrix of it is to do."""
        by_columns = hessian_factor.by_columns(self.problem.design)
        if not (by_columns and self.may_narrow and self.price > tuning.SYSTEMS.at_once):
            return None
        return self.problem.constants.narrow if self.products else None  # it costs about 1.4

    def _is_too_rough(self) -> bool:
        """Whether the factor is one of float32 data, and took too many products."""
        assert self.factor is not None and self.now.factorised_at is not None
        count = self.run.count - self.now.factorised_at
        is_rough = self.factor.is_narrow and not self.factor.is_exact
        return is_rough and count >= tuning.SYSTEMS.chunk

    def _is_near(self) -> bool:
        """Whether H has hardly changed since the last system."""
        gain = self.own.last_gain
        return gain is not None and bool(gain <= tuning.SYSTEMS.near * self.s.primal)

    def is_followed_by_factor(self, primal: float) -> bool:
        """Whether the next system, from a point with this P, will form its Gram matrix at once."""
        if self.problem.loss.is_vector or not hessian_factor.by_columns(self.problem.design):
            return False
        rules = tuning.SYSTEMS
        return self.price <= rules.at_once and not self.run.gain <= rules.near * primal

    # ---- the diagonal ----

    def consider_diagonal(self) -> bool:
        """Take the diagonal from here on, if its first step would have gained far more."""
        rules = tuning.SYSTEMS
        n, d = self.problem.design.shape
        if self.by_diagonal is not None or self.factor is not None or d > n:
            return False
        if self.products < rules.trial_after:
            return False
        r = -self.own.gradient
        p = self._without_factor(r, self.units)
        Ap = self.problem.design.matvec(p)
        self.charge(0.5)
        rho = dot(r, p)
        hess = curvature(self.problem, self.s.z, self.s.y)
        curved = self.problem.inner(bend(hess, self.least, Ap), Ap) + dot(self.l2 * p, p)
        # rho^2/(2 curved) is the gain of the best step along p.
        worth = rules.diagonal_gains * self.now.first_gain
        serves = rho * rho > 2.0 * curved * worth
        self.by_diagonal = serves
        if serves:
            self.now.rho0 = rho
        return serves

    # ---- M^(-1) r ----

    def precondition(self, r: Array) -> Array:
        """M^(-1) r."""
        if self.factor is not None:
            self.charge(self.factor.passes)
            return np.asarray(self.factor.solve(r))
        if self.by_diagonal:
            return self._without_factor(r, self.units)
        # Beside an intercept, which is in units of its own, the others get the mean of theirs.
        return self._without_factor(r, 1.0 if self.border is None else self.units[:-1].mean())

    def _without_factor(self, r: Array, units: Array | float) -> Array:
        """M^(-1) r for the M with ``units`` in its diagonal, and the column of the intercept."""
        if self.border is None:
            return np.asarray(r / units)
        # In variables in which H has no off-diagonal entries beside the intercept.
        column, corner = self.border
        last = r[-1] / corner
        out = np.asarray((r - last * column) / units)
        out[-1] = 0.0  # but for rounding it is
        out[-1] = last - dot(column, out) / corner
        return out

    @cached_property
    def border(self) -> tuple[Array, float] | None:
        """The column of H that belongs to the intercept and its last entry, where there is one.

        All predictions feel the intercept, so that its column is long: conjugate gradients, which
        would take long over it, see what is left of H when the intercept is at its best.
        """
        design, now = self.problem.design, self.now
        if not isinstance(design, InterceptDesign) or self.problem.loss.is_vector:
            return None
        if now.intercept_column is None:
            now.intercept_column = design.rmatvec(design.scale * self.weights)
            self.charge(0.5)
        corner = float(now.intercept_column[-1])
        return (now.intercept_column, corner) if corner > 0.0 else None
