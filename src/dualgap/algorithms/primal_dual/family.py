"""What the primal-dual algorithms have in common: steps that follow from Lam and Delta."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from dualgap._names import lookup
from dualgap._types import Array
from dualgap.algorithms import points
from dualgap.algorithms.contract import NO_ADVICE, Advice, Algorithm, Shown
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.state import PrimalDualState, update
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True)
class PrimalDual(Algorithm):
    """Base of the family; its states have a `PrimalDualState` as their own."""

    def __post_init__(self) -> None:
        """Names of options become their values."""
        schedule = getattr(self, "schedule", None)
        if schedule is not None:
            if not isinstance(schedule, str):
                raise TypeError(f"schedule must be a name, got {schedule!r}.")
            value = lookup("schedule", schedule, {"theorem": "theorem"})
            object.__setattr__(self, "schedule", value)

    @abstractmethod
    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """(tau, sigma, theta) for these constants.

        The monitor asks for less ``boldness`` (down from 1) where longer steps than the theorem's
        have failed; methods that keep to the theorem need not listen. ``advice`` is for methods
        whose steps depend on the sampling.
        """

    def step_back(self, problem: Problem, s: State, failed: State) -> State:
        """s again, after a step from it that was not finite: the next one is a quarter as long."""
        again = super().step_back(problem, s, failed)
        return update(retuned(self, problem, again, Lam=16.0 * s.own.Lam), ahead=None)

    def time_scale(self, problem: Problem, s: State) -> float:
        """How many steps it takes to gain a constant factor, by the present estimate."""
        m = problem.regularizer.strong_convexity + s.own.Delta
        return math.sqrt(s.own.Lam / (problem.loss.known_gamma * m)) if m > 0 else math.inf

    def estimated_gap(self, problem: Problem, s: State) -> float:
        """The estimate of P - P* with the strong convexity that the run counts on."""
        m = problem.regularizer.strong_convexity + s.own.Delta
        return s.estimated_gap(m if m > 0 else 1e-2 * (s.own.Lam / problem.loss.known_gamma))

    def shown(self, s: State) -> Shown:
        """The estimate, the steps and the roll-backs."""
        own: PrimalDualState = s.own
        steps = own.steps
        return Shown(own.Delta, steps.tau, steps.sigma, steps.theta, own.watch.rollbacks)


def first_state(
    algorithm: PrimalDual,
    problem: Problem,
    x0: Array | None,
    y0: Array | None,
    *,
    Lam: float,
    Delta: float,
    dual_free: bool = False,
    advice: Advice = NO_ADVICE,
) -> State:
    """Points that fit together: z = A x0, y from y0 or x0 or the loss, u = A'Qy, y = phi'(v)."""
    if Lam <= 0.0:  # all rows are zero: any positive number will do
        Lam = 1.0
    s, v = points.first_point(algorithm.name, problem, x0, y0, Lam)
    own = PrimalDualState(
        steps=algorithm.steps(problem, Lam, Delta, advice=advice), Lam=Lam, Delta=Delta, zt=s.z,
        v=v if dual_free else None, advice=advice,
    )  # fmt: skip
    return replace(s, own=own)


def with_dual(problem: Problem, s: State, conj: float | None = None) -> State:
    """`points.with_dual` for the Lam in use."""
    return points.with_dual(problem, s, s.own.Lam, conj)


def retuned(algorithm: PrimalDual, problem: Problem, s: State, **changes: Any) -> State:
    """The state with another Lam or Delta, or other changes of its own, and the steps they give."""
    own: PrimalDualState = replace(s.own, **changes)
    steps = algorithm.steps(problem, own.Lam, own.Delta, own.watch.boldness, own.advice)
    return replace(s, own=replace(own, steps=steps))
