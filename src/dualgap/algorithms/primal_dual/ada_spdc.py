"""Algorithms 5 and 7 with adaptation: Ada-SPDC and ADF-SPDC.

Every few passes the estimate Delta of delta mu^2/n moves by SPDC-Adapt: the curvature rule
(default), or the paper's simple and robust rules, the latter on the rate per pass that a log-
linear regression over the last T passes gives. Steps are 1/R under the monitor, 1/(4R) with
``schedule="theorem"``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.ada_bpd import check_start, credible, first_estimate
from dualgap.algorithms.primal_dual.adaptation import Curvature, Rule, as_rule
from dualgap.algorithms.primal_dual.adaptation.monitor import watch_progress
from dualgap.algorithms.primal_dual.adaptation.rule import observed_gap
from dualgap.algorithms.primal_dual.randomised import (
    passes_and_check,
    randomised_start,
    start_estimate,
)
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.spdc import BOLD, PROVED, SPDC
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True)
class AdaSPDC(SPDC):
    """Algorithm 5.

    Parameters
    ----------
    sampling, seed
        See `Randomised`.
    adapt : Rule
        How the estimate moves; its period is in passes.
    mu : float, optional
        Where the estimate starts: the paper's mu-hat.
    schedule : "theorem", optional
        Steps of 1/(4R).
    """

    adapt: Rule = field(default_factory=lambda: Curvature(period=2))

    name: ClassVar[str] = "ada-spdc"
    requires: ClassVar[Needs] = Needs(
        gamma=True, dual_prox=True, compiled_loss=True, instead="adf-spdc"
    )

    def __post_init__(self) -> None:
        """Names of options become their values."""
        super().__post_init__()
        object.__setattr__(self, "adapt", as_rule(self.adapt))

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """1/R, or less where the monitor asks for it, at the estimate."""
        k = PROVED if self.schedule == "theorem" else max(BOLD * boldness, PROVED)
        lam = problem.regularizer.strong_convexity
        steps = self.theorem_steps(problem, Lam, lam, Delta, k)
        return replace(steps, theta=1.0) if self.adapt.theta_one else steps

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """The state before the first pass."""
        check_start(problem, self.adapt, self.mu)
        Delta = first_estimate(problem, self.adapt, self.mu, start_estimate(problem))
        state = randomised_start(self, problem, x0, y0, Delta=Delta, dual_free=self.dual_free)
        memory = {"rule": self.adapt.name, **self.adapt.begin(problem, state)}
        memory["history"] = ((0.0, observed_gap(replace(state, memory=memory))),)
        return Start(replace(state, memory=memory))

    def step(self, problem: Problem, s: State) -> State:
        """A few passes and a check; every T passes an adaptation."""
        new = passes_and_check(self, problem, s)
        new, tuning = watch_progress(self, problem, new)
        if not tuning:
            return new
        history = (*new.memory["history"], (new.passes, observed_gap(new)))
        new = replace(new, memory={**new.memory, "history": history})
        due = new.passes // self.adapt.period > s.passes // self.adapt.period
        if due:
            Delta, memory = self.adapt.update(problem, new)
            Delta = credible(problem, new, Delta)
            steps = self.steps(problem, new.Lam, Delta, new.memory.get("boldness", 1.0))
            memory = {**new.memory, **memory, "history": history[-1:]}
            new = replace(new, Delta=Delta, steps=steps, memory=memory)
        return new


@dataclass(frozen=True)
class ADFSPDC(AdaSPDC):
    """Algorithm 7."""

    name: ClassVar[str] = "adf-spdc"
    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True)
    dual_free: ClassVar[bool] = True
    uses_local_curvature: ClassVar[bool] = True
