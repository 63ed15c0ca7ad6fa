"""Inexact Newton: for smooth problems (no l1) where first-order methods take too many passes.

    1.  H = A' diag(q phi''(z)) A + diag(l2),   g = A'Q phi'(z) + l2 x
    2.  d ~ -H^(-1) g  by conjugate gradients, preconditioned
    3.  x+ = x + t d,  t from a line search on P (z + t A d costs nothing new)

What it shares with the primal-dual methods: the same products, the same dual point, the same
certificate. With r = -g - H d left by line 2 the point y+ = phi'(z) + phi''(z) (A d), which is
the dual step of a primal-dual method linearised at z, has A'Qy+ = -l2 (x + d) - r: its gap is what
the curvature changes along d, and |r|^2/(2 l2). So the last system is solved until that is within
tol, and no separate effort is made for the dual.

Squared loss: one system is all there is, and x moves with the conjugate gradients.

The preconditioner is diagonal, until the conjugate gradients have cost as many passes as a
factorisation would (`factorised.cost`); then H is factorised where the run stands. So the cost is
at most twice that of the better choice, known only in hindsight. A factor serves later systems
too, until they have in turn cost as much.

Where phi'' is no guide (far from the solution, at a kink, on rows that are classified with
confidence while l2 is small), a full step overshoots. Then phi'' is raised by a share m of its
bound 1/gamma, in line 1 and in y+: the step is held back in the predictions, whatever the units of
the columns, and with m = 1 no line search is needed (the model majorises P). m grows while the
line search has to shorten steps and falls while the model predicts P well.

Rows whose phi'' is negligible are left out of H until the last systems: they carry a tenth of its
trace at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm, Start
from dualgap.algorithms.primal_dual.batch import conjugate_at, first_state, with_dual
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.second_order.curvature import (
    curvature,
    curvature_map,
    is_smooth,
    mean_curvature,
    next_damping,
)
from dualgap.algorithms.second_order.newton_system import System, strengths
from dualgap.feasible import repair_is_free
from dualgap.limits import check
from dualgap.problem import Problem
from dualgap.state import State, replace

FIRST_DAMPING = 1e-2
"""Of m, for losses with kinks in their slope."""
HOPELESS = 0.1
"""Of P: after a step that gained more than this no thought is given to the dual point."""
RISE = 1e-10
"""Of P: with more of it a step is taken back."""
LONGER = 0.2
"""A step goes on if P falls at its end by more than this share of the slope at its beginning."""


@dataclass(frozen=True)
class Newton(Algorithm):
    """Inexact Newton with preconditioned conjugate gradients.

    Parameters
    ----------
    tol : float
        The relative gap that the last system is solved for; `solve` fills in its own.
    """

    tol: float = 1e-6

    name: ClassVar[str] = "newton"
    is_second_order: ClassVar[bool] = True
    patience: ClassVar[int] = 1

    def aiming_at(self, tol: float) -> Newton:
        """The last system is solved for this gap."""
        return replace(self, tol=tol)

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """There are none to choose."""
        return Steps(1.0, 1.0, 0.0)

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """x0 or 0, and y = phi'(z) there (y0 plays no part)."""
        if problem.elastic_net.has_l1:
            raise ValueError(
                f"algorithm='newton' needs a smooth regulariser, but l1={problem.l1:g}; use "
                "'working-set', 'ada-bpd' or 'auto'."
            )
        x = problem.zeros() if x0 is None else x0
        # Only where D = -inf along the iterates are estimates made, which rest on Lam.
        Lam = 1.0 if repair_is_free(problem) else problem.constants.trace
        s = first_state(self, problem, x, None, Lam=Lam, Delta=0.0)
        damping = 0.0 if is_smooth(problem) else FIRST_DAMPING
        memory = {"grad": _gradient(problem, s.x, s.u), "slope": s.y, "spent": 0.0, "products": 0,
                  "damping": damping, "hess": curvature(problem, s.z, s.y)}  # fmt: skip
        return Start(replace(s, memory=memory))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The factor, and the passes that go towards the next one."""
        factor, spent = earlier.memory.get("factor"), earlier.memory["spent"]
        memory = {**s.memory, "spent": spent}
        if factor is not None:  # of an H that is hardly another, so that it will do
            factor = factor.with_strengths(problem.elastic_net.l2)
            memory |= {"factor": factor, "gain": 0.0}
        return replace(s, memory=memory)

    def step(self, problem: Problem, s: State) -> State:
        """Some products with H; when the system is solved (squared loss: at once), a move."""
        if s.memory.get("drifted", False):
            s = _anew(problem, s)
        solver = System(problem, s, self.tol)
        solver.iterate()
        s = replace(s, passes=s.passes + solver.passes, memory=solver.memory())
        if problem.loss.is_quadratic:
            return _move_exactly(problem, s, solver)
        return _move(problem, s, solver) if solver.solved else replace(s, t=s.t + 1)


def _move(problem: Problem, s: State, system: System) -> State:
    """Line 3, and the better of two dual points."""
    d, Ad, hess = system.d, system.Ad, s.memory["hess"]
    t, primal, slope = _line_search(problem, s, d, Ad)
    x, z = (s.x + t * d, s.z + t * Ad) if t > 0.0 else (s.x, s.z)
    u = problem.adjoint(slope)
    memory = {**s.memory, "grad": _gradient(problem, x, u), "gain": system.gain, "slope": slope}
    memory["hess"] = curvature(problem, z, slope)
    memory["level"] = mean_curvature(problem, memory["hess"])
    memory["damping"] = next_damping(
        problem, system.damping, system.gain, t, s.primal - primal, memory["level"]
    )
    new = replace(
        s, t=s.t + 1, passes=s.passes + 0.5, x=x, z=z, zt=z, y=slope, u=u, primal=primal,
        memory=memory,
    )  # fmt: skip
    smooth = primal - problem.regularizer.value(x)
    new = with_dual(problem, new, conjugate_at(problem, z, slope, smooth))
    if t == 1.0 and system.left is not None and system.gain <= HOPELESS * primal:
        y = s.memory["slope"] + curvature_map(problem, hess, system.damping)(slice(None), Ad)
        if (problem.loss.into_domain(y, problem.b) == y).all():
            # A'Qy = -l2 (x + d) - r
            other = with_dual(problem, replace(new, y=y, u=-system.l2 * x - system.left))
            new = other if other.merit < new.merit else new
    return new


def _move_exactly(problem: Problem, s: State, system: System) -> State:
    """Squared loss: x + d for the d at hand, for the model is P itself."""
    x, z = system.base[0] + system.d, system.base[1] + system.Ad
    end = system.dual_end
    y = problem.loss.grad(system.base[1] + end.Ad, problem.b)
    u = np.asarray(-system.l2 * (system.base[0] + end.d) - end.left)
    new = replace(
        s, t=s.t + 1, x=x, z=z, zt=z, y=y, u=u, primal=problem.primal(x, z),
        memory={**s.memory, "drifted": system.solved},
    )  # fmt: skip
    return with_dual(problem, new)


def _anew(problem: Problem, s: State) -> State:
    """What the recurrences carry drifts: go on from what the data say."""
    z = problem.predict(s.x)
    y = problem.loss.grad(z, problem.b)
    u = problem.adjoint(y)
    memory = {**s.memory, "grad": _gradient(problem, s.x, u), "slope": y, "drifted": False}
    return replace(
        s, z=z, zt=z, y=y, u=u, primal=problem.primal(s.x, z), passes=s.passes + 1.0, memory=memory
    )


def _line_search(problem: Problem, s: State, d: Array, Ad: Array) -> tuple[float, float, Array]:
    """t = 1, unless P rises there or still falls steeply; then near its lowest point.

    Also P and phi' there. Beyond 1 it is where the curvature falls along d, as it does on rows
    that are classified well. 0 if P rises everywhere: where phi'' vanishes d may be of any length.
    """
    slope = dot(s.memory["grad"], d)
    rounding = 1e-14 * abs(s.primal)

    def at(t: float) -> tuple[float, Array, bool, float]:
        """P, phi', whether P has fallen enough, and its derivative along d."""
        check()
        z = s.z + t * Ad
        smooth, slopes = problem.mean_loss_grad(z)
        x = s.x + t * d
        primal = smooth + problem.regularizer.value(x)
        rise = problem.inner(slopes, Ad) + dot(strengths(problem) * x, d)
        return primal, slopes, primal <= s.primal + 1e-4 * t * slope + rounding, rise

    primal, slopes, enough, rise = at(1.0)
    may_lengthen = problem.elastic_net.has_l2 and is_smooth(problem)  # or t may have no bound
    if enough and not (may_lengthen and rise < LONGER * slope):
        return 1.0, primal, slopes
    low, high = (1.0, math.inf) if enough else (0.0, 1.0)  # P falls at low and rises at high
    t = 2.0 if enough else 0.5
    for _ in range(60):
        primal, slopes, enough, rise = at(t)
        if enough and abs(rise) <= 0.1 * abs(slope):
            break
        low, high = (t, high) if rise < 0.0 else (low, t)
        if high == math.inf:
            t = 2.0 * t
        else:
            t = 0.5 * (low + high) if low > 0.0 else 0.25 * high
    if not primal <= s.primal + RISE * abs(s.primal):
        return 0.0, s.primal, s.memory["slope"]
    return t, primal, slopes


def _gradient(problem: Problem, x: Array, u: Array) -> Array:
    return np.asarray(u + strengths(problem) * x)
