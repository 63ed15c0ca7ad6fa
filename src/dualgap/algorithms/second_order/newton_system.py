"""Line 2 of Newton's method: H d = -g by preconditioned conjugate gradients.

A system is picked up where the last step of the driver left it, and its iterates do not depend on
where that was. The products are made with a float32 copy of the data where there is one; then A d
and what is left of the system are looked at with the data themselves before anything rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.preconditioned import Preconditioned
from dualgap.limits import current
from dualgap.linalg.conjugate_gradients import ConjugateGradients
from dualgap.linalg.rounding import EPS
from dualgap.linalg.smoothing import Smoothed
from dualgap.problem import Problem
from dualgap.state import State, replace


class Base(NamedTuple):
    """The point at which a system was set up; its answer d is a step from there."""

    x: Array
    """The coefficients."""
    z: Array
    """The predictions A x + offset."""
    primal: float
    """The value P(x)."""


@dataclass(eq=False)
class SystemState:
    """A system H d = -g that is not solved yet, as the state of the run keeps it."""

    base: Base
    """The point at which H and g were taken."""
    run: ConjugateGradients
    """The conjugate gradients: the answer d so far, what is left of the system, and the way on."""
    Ad: Array
    """The product A d."""
    rho0: float = 0.0
    """The value of ``run.rho`` when the system was begun, which it is compared with."""
    first_gain: float = 0.0
    """By how much the first step lowered the quadratic model."""
    factorised_at: int | None = None
    """The ``run.count`` at which this H was factorised.

    None means that there is no factor, or one of another system's H.
    """
    rho_from_data: float = math.inf
    """The value of ``run.rho`` when r was last computed from the data; infinity before that.

    Between such times r comes from products with the float32 copy of the data.
    """
    intercept_column: Array | None = None
    """The column of H that belongs to the intercept; None if it was not asked for yet."""
    smoothed: Smoothed | None = None
    """The mix of answers that the dual point is made of; None if there is none."""

    @classmethod
    def begun(cls, s: State) -> SystemState:
        """The system at the point of s, of which nothing is solved: d = 0."""
        run = ConjugateGradients.begun(-s.own.gradient)
        return cls(Base(s.x, s.z, s.primal), run, np.zeros_like(s.z))

    def copy(self) -> SystemState:
        """The same, in arrays of its own where they are changed in place."""
        mix = None if self.smoothed is None else Smoothed(*(v.copy() for v in self.smoothed))
        return replace(self, run=self.run.copy(), Ad=self.Ad.copy(), smoothed=mix)


class System(Preconditioned):
    """H d = -g at the point of a state; ``run.d`` is the answer so far.

    Parameters
    ----------
    problem : Problem
    s : State
    tol : float
        The relative gap that the system of squared loss is solved for.
    """

    def __init__(self, problem: Problem, s: State, tol: float) -> None:
        kept: SystemState | None = s.own.system
        super().__init__(problem, s, SystemState.begun(s) if kept is None else kept.copy())
        self.tol, self.solved = tol, False
        self.is_rough = False
        """Whether r comes from products with the float32 copy of the data."""
        self.left: Array | None = None
        """What is left of the system, -g - H d, which the dual point of squared loss rests on."""
        self.known_adjoint: list[Array] = []
        """The phi' at the end of the step and A'Q times it, where they came with A d."""

    def minimise(self, goal: float) -> tuple[Array, float]:
        """Conjugate gradients until the system is solved, or for so many products as a step makes.

        ``goal`` is the gap below which there is nothing to gain but rounding, which a singular H
        would blow up. (With l2 there may be: for D, which divides by it.)
        """
        self.consider_factor()
        image = self._first_direction() if self.run.p is None else None
        now, first = self.now, self.run.count
        is_exact = now.factorised_at == first == 0 and self.factor.is_exact
        now.rho0 = now.rho0 or self.run.rho
        if not self.run.rho > (0.0 if self.problem.elastic_net.has_l2 else goal):
            self.solved = True
        elif is_exact and not self.problem.loss.is_quadratic:
            self._accept_first_direction(image)  # which is -H^(-1) g
            return now.base.x + self.run.d, 0.0
        chunk = tuning.SYSTEMS.chunk
        most = min(chunk - first % chunk, max(1.0, self.s.budget - self.s.passes - 1.0))
        while not self.solved and self.run.count - first < most:
            if self.run.count > first and current().time_is_up:
                break
            if not self._advance():
                self.solved = True  # a flat direction, or the end of precision
                self.may_narrow = self.may_narrow and not self.is_rough
                break
            if not self.solved and (self.consider_factor() or self.consider_diagonal()):
                self._first_direction()
        self.left = self.run.r
        if self.is_rough:
            self._residual_from_data()
        return now.base.x + self.run.d, float(self.run.count - first)

    def _advance(self) -> bool:
        """One step of conjugate gradients; False if it cannot be made."""
        run, now = self.run, self.now
        assert run.p is not None
        if self._may_use_float32():
            self.is_rough, now.smoothed = True, None
            Ap, Hp = self._float32_product(run.p)
        else:
            Ap, Hp = self.image_and_product(run.p)
        Hp += self.l2 * run.p
        self.charge(1.0)
        self.products += 1
        # Where p'Hp is the rounding of the same sum for the diagonal, a step would be noise.
        if not run.advance(Hp, 4.0 * EPS * dot(self.units * run.p, run.p)):
            return False
        now.Ad += run.length * Ap
        gained = 0.5 * run.length * run.rho
        if run.count == 1:
            now.first_gain = gained
        search = self.precondition(run.r)
        if not self.is_rough:
            self._smooth()
        run.turn(search)
        self.solved = self._enough(gained)
        return True

    def unfinished(self) -> SystemState | None:
        """What the state keeps of it; None if it is solved."""
        return None if self.solved else self.now

    def _first_direction(self) -> Array | None:
        """The first direction p, or the first after a change of preconditioner; A p if known."""
        problem, s, run, step = self.problem, self.s, self.run, None
        if self.now.factorised_at == run.count == 0:
            z = s.z if problem.offset is None else s.z - problem.offset
            step = self.factor.newton_step(run.r, problem.q * s.y, s.x, z)
        if step is None:
            run.restart(self.precondition(run.r))
            return None
        self.charge(0.5)
        run.restart(step[0])
        return np.asarray(step[1])

    # ---- products with less than all digits ----

    def _may_use_float32(self) -> bool:
        """Whether the next product is made with the float32 copy."""
        if self.problem.loss.is_vector or not (self.may_narrow and self.products):
            return False
        return self.problem.constants.narrow is not None

    def _float32_product(self, p: Array) -> tuple[Array, Array]:
        narrow = self.problem.constants.narrow
        assert narrow is not None
        return narrow.weighted_sweep(p, self.weights)

    def _residual_from_data(self) -> None:
        """A d and what is left, from the data themselves, if d is to be used now."""
        run, now = self.run, self.now
        if not self.problem.loss.is_quadratic:
            if self.solved:
                self._product_with_data()
            return
        now.Ad, Hd = self.image_and_product(run.d)
        self.passes += 1.0
        self.left = -self.own.gradient - Hd - self.l2 * run.d
        if not self.solved and run.count % tuning.SYSTEMS.chunk:
            return  # the end of a budget, which changes nothing
        self.paid += 1.0
        run.r = self.left
        run.restart(self.precondition(run.r))
        self.solved = self._gives_dual(tuning.SYSTEMS.gap_share) or self._has_taken_long()
        if not self.solved and run.rho > 0.1 * now.rho_from_data:
            self.may_narrow = False
        now.rho_from_data = run.rho

    def _product_with_data(self) -> None:
        """A d, and with it, where the data stream, what belongs to the end of the step."""
        if self.problem.design.streams:
            Ad, *self.known_adjoint = self.problem.slope_after(self.run.d, self.s.z)
        else:
            Ad = self.problem.design.matvec(self.run.d)
        self.now.Ad, self.left = Ad, None
        self.charge(0.5)

    def adjoint(self, y: Array) -> Array:
        """A'Qy, which may have come with A d if y = phi'(z + A d)."""
        if self.known_adjoint and np.array_equal(self.known_adjoint[0], y):
            return self.known_adjoint[1]
        return self.problem.adjoint(y)

    # ---- when to end ----

    def _accept_first_direction(self, image: Array | None) -> None:
        """The first direction as the answer, by a factor of this very H."""
        assert self.run.p is not None
        self.run.d, self.run.gain, self.solved = self.run.p, 0.5 * self.run.rho, True
        if image is None:
            self._product_with_data()
        else:
            self.now.Ad = image

    def _target(self) -> float:
        """The gap that is wanted, in units of P."""
        return self.tol * self.problem.scale(self.now.base.primal - self.run.gain)

    def _has_taken_long(self) -> bool:
        """Whether exact arithmetic would have found the answer by now."""
        return self.run.count >= self.run.r.size + tuning.SYSTEMS.chunk

    def _enough(self, gained: float) -> bool:
        """Whether d is good enough: as a step or, for squared loss, as a dual point."""
        run, rules = self.run, tuning.SYSTEMS
        if not run.rho > 1e-26 * self.now.rho0 or self._has_taken_long():
            return True
        if self.problem.loss.is_quadratic:
            return self._gives_dual(rules.gap_share * (0.5 if self.is_rough else 1.0))
        stalled = gained * run.count <= rules.stalled * run.gain
        counts = run.gain > rules.tiny * self._target()
        share = rules.forcing if stalled and counts else rules.solved
        return run.rho <= share * self.now.rho0

    # ---- the dual point of the squared loss ----

    def _gives_dual(self, share: float) -> bool:
        """Whether |r|^2/(2 l2), the gap at the dual point, is within this share of tol."""
        run, mix = self.run, self.now.smoothed
        r = run.r if mix is None else mix.left
        left = 0.5 * dot(self.inverse * r, r)
        if self.problem.free_intercept_only:  # y is shifted until r is 0 there
            left += float(np.sum(r[-1] ** 2 / self.units[-1]))
        elif self.problem.regularizer.strong_convexity == 0.0:
            left = max(left, run.rho)
        # At the end of float64's range P says little of x any more, but r does.
        least = min(1e-2, 1e10 * self.tol)
        return bool(left <= share * self._target() and run.rho <= least * self.now.rho0)

    @property
    def dual_end(self) -> Smoothed:
        """The d that the dual point is made of."""
        assert self.left is not None  # it is carried along
        return self.now.smoothed or Smoothed(self.run.d, self.now.Ad, self.left)

    def _smooth(self) -> None:
        """Mix d with those before it so that |r|^2/(2 l2), the gap, is least."""
        now = self.now
        if self.factor is not None or not self.problem.loss.is_quadratic:
            return
        if now.smoothed is not None:
            now.smoothed.take(self.run, now.Ad, self.inverse)
        elif self._gives_dual(tuning.SYSTEMS.smooth_from):
            now.smoothed = Smoothed(self.run.d.copy(), now.Ad.copy(), self.run.r.copy())

    @cached_property
    def inverse(self) -> Array:
        """1/l2, or 0."""
        l2 = self.problem.elastic_net.l2
        return np.divide(1.0, l2, out=np.zeros_like(l2), where=l2 > 0)
