"""H d = -g by conjugate gradients, each product with H a reading.

No preconditioner wins everywhere, and a reading gives several products at once. So all of them
solve the first system side by side, and the one that gets there first solves those after it:

- the diagonal of H, for columns in units of their own, or of unlike frequency;
- nothing but its mean.

Both see what is left of H when the intercept is at its best, whose column is long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.second_order import tuning
from dualgap.linalg.conjugate_gradients import ConjugateGradients
from dualgap.problem import Problem

Kind = Literal["diagonal", "mean"]
KINDS: tuple[Kind, ...] = ("diagonal", "mean")
FLAT = 1e-15
"""A direction p is flat where p'Hp is this share of the same sum for the diagonal of H, which is
the rounding of that sum: a step along p would be noise."""


class Curvature(NamedTuple):
    """What is known of H without its products, the strengths l2 included."""

    diagonal: Array
    """Its diagonal."""
    border: Array | None
    """Its column of the intercept, if there is one."""

    def precondition(self, kind: Kind, r: Array) -> Array:
        """M^(-1) r."""
        scale = self.diagonal if kind == "diagonal" else self._mean
        if self.border is None:
            return np.asarray(r / scale)
        # In variables in which H has no off-diagonal entries beside the intercept.
        corner = float(self.border[-1])
        last = r[-1] / corner
        out = np.asarray((r - last * self.border) / scale)
        out[-1] = 0.0  # but for rounding it is
        out[-1] = last - dot(self.border, out) / corner
        return out

    @property
    def _mean(self) -> float:
        inner = self.diagonal if self.border is None else self.diagonal[:-1]
        return float(inner.mean())


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to solve the system, and how far it has come."""

    kind: Kind
    """Its preconditioner."""
    run: ConjugateGradients
    """The conjugate gradients."""
    rho0: float
    """The value of ``run.rho`` at the beginning."""


@dataclass(frozen=True, eq=False)
class SystemState:
    """A system that is being solved."""

    base: Array
    """The point x at which it was set up."""
    curvature: Curvature
    """What is known of H there."""
    candidates: tuple[Candidate, ...]
    """Those that are still tried."""


def begun(x: Array, gradient: Array, curvature: Curvature, kinds: tuple[Kind, ...]) -> SystemState:
    """The system at x of which nothing is solved."""
    candidates = []
    for kind in kinds:
        run = ConjugateGradients.begun(-gradient)
        run.turn(curvature.precondition(kind, run.r))
        candidates.append(Candidate(kind, run, run.rho))
    return SystemState(x, curvature, tuple(candidates))


class Goal(NamedTuple):
    """When a system is solved."""

    target: float
    """The gap that is wanted."""
    slack: float
    """The share of it that what is left of the system may make."""
    inverse: Array
    """1/l2, or 0 where that is 0."""
    always_last: bool
    """Whether each system is the last: the loss is quadratic."""


def goal_of(problem: Problem, tol: float, primal: float) -> Goal:
    """For the gap that a run aims at."""
    l2 = np.broadcast_to(problem.elastic_net.l2, problem.shape)
    inverse = np.divide(1.0, l2, out=np.zeros(problem.shape), where=l2 > 0.0)
    quadratic = problem.loss.is_quadratic
    return Goal(tol * problem.scale(primal), 0.9 if quadratic else 0.2, inverse, quadratic)


def advanced(
    state: SystemState, products: Array, l2: Array, goal: Goal
) -> tuple[SystemState, Candidate | None]:
    """The state after these products, and the candidate that has solved the system, if one has."""
    tried, done = [], None
    for candidate, product in zip(state.candidates, products, strict=True):
        run = candidate.run.copy()
        assert run.p is not None
        Hp = product + l2 * run.p
        flat = FLAT * dot(state.curvature.diagonal * run.p, run.p)
        if not run.advance(Hp, flat):
            done = done or Candidate(candidate.kind, run, candidate.rho0)
            continue
        gained = 0.5 * run.length * run.rho
        run.turn(state.curvature.precondition(candidate.kind, run.r))
        now = Candidate(candidate.kind, run, candidate.rho0)
        if done is None and _enough(now, gained, goal):
            done = now
        tried.append(now)
    return SystemState(state.base, state.curvature, tuple(tried)), done


def _enough(candidate: Candidate, gained: float, goal: Goal) -> bool:
    """Whether d is good enough: as a step, or, where it is the last step, as a dual point."""
    run, rules = candidate.run, tuning.SYSTEMS
    if not run.rho > 1e-26 * candidate.rho0 or run.count >= run.r.size + rules.chunk:
        return True
    if goal.always_last or run.gain <= goal.target:
        left = 0.5 * dot(goal.inverse * run.r, run.r)
        left = max(left, run.rho) if not goal.inverse.all() else left
        return left <= goal.slack * goal.target
    stalled = gained * run.count <= rules.stalled * run.gain
    stalled = stalled and run.rho <= rules.forcing * candidate.rho0
    return bool(stalled or run.rho <= rules.solved * candidate.rho0)


def best(state: SystemState) -> Candidate:
    """The one that has gained most."""
    return max(state.candidates, key=lambda candidate: candidate.run.gain)


def is_finite(d: Array) -> bool:
    """Whether a step is one."""
    return math.isfinite(dot(d, d))
