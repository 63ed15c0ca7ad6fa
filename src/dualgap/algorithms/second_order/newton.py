"""Inexact Newton: for smooth problems (no l1) where first-order methods take too many passes.

    1.  H = A' diag(q phi''(z)) A + diag(l2),   g = A'Q phi'(z) + l2 x
    2.  d ~ -H^(-1) g  by conjugate gradients, preconditioned
    3.  x+ = x + t d,  t from a line search on P (z + t A d costs nothing new)

The dual point is y = phi'(z+), for which no product is made that line 1 would not make: A'Qy is
in the next g, and the gap is |g|^2/(2 l2) at most.

Squared loss: one system is all there is, and x moves with the conjugate gradients. With
r = -g - H d left by line 2 the gap at x + d is |r|^2/(2 l2): the system is solved until that is
within tol.

Where phi'' is no guide (far from the solution, at a kink, on rows that are classified with
confidence while l2 is small), a full step overshoots. Then phi'' is raised by a share m of its
bound 1/gamma in line 1: the step is held back in the predictions, whatever the units of the
columns, and with m = 1 no line search is needed (the model majorises P). m grows while the line
search has to shorten steps and falls while the model predicts P well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.points import conjugate_at, with_dual
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.base import SecondOrder, first_state
from dualgap.algorithms.second_order.curvature import (
    curvature,
    first_share,
    is_smooth,
    least_curvature,
    mean_curvature,
    next_damping,
)
from dualgap.algorithms.second_order.newton_system import System, SystemState
from dualgap.linalg.hessian_factor import HessianFactor
from dualgap.linalg.line_search import ROUNDING, Trial, near_lowest
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True, eq=False)
class NewtonState:
    """What a run of Newton's method knows besides its point.

    The linear system H d = -g is set up at one point. Squared loss: x moves on while the system is
    being solved, and the point where it was set up stays; otherwise that point is x itself.
    """

    gradient: Array
    """The gradient g of P at the point where the system was set up."""
    mean_hess: float
    """The mean of phi'' over the rows; before the first step it is the bound 1/gamma on phi''."""
    damping: float
    """The share m of the bound 1/gamma by which phi'' is raised in H."""
    paid: float = 0.0
    """The passes that conjugate gradients have cost since H was last factorised.

    Once they have cost as much as a factorisation does, H is factorised.
    """
    products: int = 0
    """The number of products with H in this run; the float32 copy is not made before the first."""
    factor: HessianFactor | None = None
    """The last factorisation of H, which serves as the preconditioner; None if there is none."""
    last_gain: float | None = None
    """By how much the last step should have lowered P, by its quadratic model.

    None if there was no step, and 0 if the factor comes from an earlier run with a similar H.
    """
    may_narrow: bool = True
    """Whether products with H may be made with a float32 copy of the data.

    False once the copy has proved to be too inexact.
    """
    drifted: bool = False
    """Squared loss: whether z, y and u must be computed from the data before the next step.

    They are carried along while a system is solved, and rounding adds up in them.
    """
    by_diagonal: bool | None = None
    """Whether the diagonal of H preconditions where there is no factor; None before its trial."""
    system: SystemState | None = None
    """The system that is being solved; None if the next step sets one up."""


@dataclass(frozen=True)
class Newton(SecondOrder):
    """Inexact Newton with preconditioned conjugate gradients.

    Parameters
    ----------
    tol : float
        The relative gap that the system of squared loss is solved for; `solve` fills in its own.
    """

    tol: float = 1e-6

    name: ClassVar[str] = "newton"
    requires: ClassVar[Needs] = Needs(no_l1=True, held_rows=False)

    def aiming_at(self, tol: float) -> Newton:
        """The system of squared loss is solved for this gap."""
        return replace(self, tol=tol)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """x0 or 0, and y = phi'(z) there (y0 plays no part)."""
        s = first_state(self.name, problem, x0)
        gamma = problem.loss.gamma
        own = NewtonState(
            gradient=_gradient(problem, s.x, s.u),
            mean_hess=mean_curvature(problem, s.z, s.y) if gamma is None else 1.0 / gamma,
            damping=first_share(problem, tuning.DAMPING.first, x0),
        )
        return Start(replace(s, own=own))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The factor, the passes that go towards the next one, and what a trial has found."""
        own, kept = s.own, earlier.own
        if not isinstance(kept, NewtonState):  # its set-up was interrupted
            return s
        own = replace(own, paid=kept.paid, by_diagonal=kept.by_diagonal)
        if kept.factor is not None:  # of an H that is hardly another, so that it will do
            factor = kept.factor.with_strengths(problem.elastic_net.l2)
            own = replace(own, factor=factor, last_gain=0.0)
        return replace(s, own=own)

    def step(self, problem: Problem, s: State) -> State:
        """Some products with H; when the system is solved (squared loss: at once), a move."""
        if s.own.drifted:
            s = _recomputed(problem, s)
        system = System(problem, s, self.tol)  # line 1
        system.minimise(tuning.SYSTEMS.nothing * problem.scale(system.now.base.primal))  # line 2
        own: NewtonState = replace(
            s.own, paid=system.paid, products=system.products, factor=system.factor,
            may_narrow=system.may_narrow, by_diagonal=system.by_diagonal,
            system=system.unfinished(),
        )  # fmt: skip
        s = replace(s, passes=s.passes + system.passes, own=own)
        system.forget_rows()
        if problem.loss.is_quadratic:
            return _move_exactly(problem, s, system)
        return _move(problem, s, system) if system.solved else replace(s, t=s.t + 1)  # line 3


def _move(problem: Problem, s: State, system: System) -> State:
    """Line 3, and the dual point phi'(z)."""
    own: NewtonState = s.own
    d, Ad = system.run.d, system.now.Ad
    t, primal, slope = _line_search(problem, s, d, Ad)
    x, z = s.x, s.z
    if t > 0.0:
        x, z = (s.x + d, s.z + Ad) if t == 1.0 else (s.x + t * d, s.z + t * Ad)
    level = mean_curvature(problem, z, slope)
    damping = next_damping(problem, own.damping, system.run.gain, t, s.primal - primal, level)
    if problem.design.streams and system.is_followed_by_factor(primal):
        raised = curvature(problem, z, slope) + least_curvature(problem, damping, z, slope)
        problem.design.gram_comes(problem.q * raised)
    u = system.adjoint(slope)
    new = replace(
        s, t=s.t + 1, passes=s.passes + 0.5, x=x, z=z, y=slope, u=u, primal=primal,
        own=replace(
            own, gradient=_gradient(problem, x, u), mean_hess=level,
            damping=damping, last_gain=system.run.gain,
        ),
    )  # fmt: skip
    conj = conjugate_at(problem, z, slope, primal - problem.regularizer.value(x))
    return with_dual(problem, new, conj=conj)


def _move_exactly(problem: Problem, s: State, system: System) -> State:
    """Squared loss: x + d for the d at hand, for the model is P itself."""
    base, end = system.now.base, system.dual_end
    x, z = base.x + system.run.d, base.z + system.now.Ad
    y = problem.loss.grad(base.z + end.Ad, problem.b)
    u = np.asarray(-system.l2 * (base.x + end.d) - end.left)
    new = replace(
        s, t=s.t + 1, x=x, z=z, y=y, u=u, primal=problem.primal(x, z),
        own=replace(s.own, drifted=system.solved),
    )  # fmt: skip
    return with_dual(problem, new)


def _recomputed(problem: Problem, s: State) -> State:
    """What the recurrences carry drifts: go on from what the data say."""
    z, y, u = problem.slope_at(s.x)
    own = replace(s.own, gradient=_gradient(problem, s.x, u), drifted=False)
    return replace(s, z=z, y=y, u=u, primal=problem.primal(s.x, z), passes=s.passes + 1.0, own=own)


def _line_search(problem: Problem, s: State, d: Array, Ad: Array) -> tuple[float, float, Array]:
    """t, and P and phi' there; 0 if P rises everywhere: without phi'' d may be of any length."""
    slope = dot(s.own.gradient, d)

    def look(t: float) -> Trial:
        x = s.x + t * d
        smooth, slopes = problem.mean_loss_grad(s.z + t * Ad)
        rise = problem.inner(slopes, Ad) + dot(problem.elastic_net.l2 * x, d)
        return Trial(smooth + problem.regularizer.value(x), t * slope, slopes, rise)

    # Beyond 1 it is where the curvature falls along d, as it does on rows that are classified well.
    may_lengthen = problem.elastic_net.has_l2 and is_smooth(problem)  # or t may have no bound
    t, end = near_lowest(look, s.primal, slope, may_lengthen=may_lengthen)
    if not end.value <= s.primal + ROUNDING * abs(s.primal):
        return 0.0, s.primal, s.y
    return t, end.value, end.point


def _gradient(problem: Problem, x: Array, u: Array) -> Array:
    return np.asarray(u + problem.elastic_net.l2 * x)
