"""Algorithms 5 and 7 with adaptation: Ada-SPDC and ADF-SPDC.

Every few passes the estimate Delta of delta mu^2/n moves by SPDC-Adapt: the curvature rule
(default), or the paper's simple and robust rules, the latter on the rate per pass that a log-
linear regression over the last T passes gives. Steps are 1/R under the monitor, 1/(4R) with
``schedule="theorem"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.ada_bpd import check_start, credible, first_estimate
from dualgap.algorithms.primal_dual.adaptation import Curvature, Rule, as_rule, known_curvature
from dualgap.algorithms.primal_dual.adaptation.monitor import watch_progress
from dualgap.algorithms.primal_dual.adaptation.rule import observed_gap
from dualgap.algorithms.primal_dual.family import retuned, with_dual
from dualgap.algorithms.primal_dual.randomised import (
    passes_and_check,
    randomised_start,
    start_estimate,
)
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.spdc import SPDC, bold_factor
from dualgap.algorithms.primal_dual.state import PrimalDualState, Watch, update
from dualgap.problem import Problem
from dualgap.state import State, replace

ANCHORS = 3
"""How many of the last points of whitening a run remembers."""


@dataclass(frozen=True)
class AdaSPDC(SPDC):
    """Algorithm 5 with its adaptation: the steps of `SPDC` at an estimate that moves.

    Parameters
    ----------
    sampling, seed, check_every
        See `Randomised`.
    batch
        See `SPDC`.
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
        gamma=True, dual_prox=True, compiled_loss=True, rows=True, instead="adf-spdc"
    )

    def __post_init__(self) -> None:
        """Names of options become their values."""
        super().__post_init__()
        object.__setattr__(self, "adapt", as_rule(self.adapt))

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """1/R, or less where the monitor asks for it, at the estimate."""
        k = bold_factor(self.schedule, boldness)
        lam = problem.regularizer.strong_convexity
        steps = self.theorem_steps(problem, Lam, lam, Delta, k, advice)
        return replace(steps, theta=1.0) if self.adapt.theta_one else steps

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first pass."""
        check_start(problem, self.adapt, self.mu)
        Delta = first_estimate(problem, self.adapt, self.mu, start_estimate(problem, advice))
        s = randomised_start(
            self, problem, x0, y0, Delta=Delta, dual_free=self.dual_free, advice=advice
        )
        return Start(self._begin(problem, update(s, rule=self.adapt.name)))

    def _begin(self, problem: Problem, s: State) -> State:
        """What the rule remembers of the first point, and the first entry of the history."""
        s = update(s, remembered=self.adapt.begin(problem, s))
        return update(s, history=((s.passes, observed_gap(s)),))

    def step(self, problem: Problem, s: State) -> State:
        """A few passes and a check; every T passes an adaptation."""
        new = passes_and_check(self, problem, s)
        new, tuning = watch_progress(self, problem, new, self.adapt)
        if not tuning:
            return new
        history = (*new.own.history, (new.passes, observed_gap(new)))
        new = update(new, history=history)
        due = new.passes // self.adapt.period > s.passes // self.adapt.period
        if due:
            Delta, remembered = self.adapt.update(problem, new)
            Delta = credible(problem, new, Delta)
            new = retuned(
                self, problem, new, Delta=Delta, remembered=remembered, history=history[-1:]
            )
        return new

    def restart(
        self, problem: Problem, s: State, move: Callable[[Array], Array], advice: Advice
    ) -> State:
        """A new start from the same x, where the change of variables knows the curvature.

        The dual point is y = phi'(A x), v = A x: its lower bound comes with it. Costs a product.
        """
        if advice.curvature is None:
            return super().restart(problem, s, move, advice)
        assert s.incumbent.x is not None
        x, y = move(s.x), problem.loss.grad(s.z, problem.b)
        anchors = ((x, s.z), *((move(then), z) for then, z in s.own.anchors[: ANCHORS - 1]))
        own = PrimalDualState(
            steps=s.own.steps, Lam=self.sampler(problem, advice).R ** 2,
            Delta=known_curvature(problem, advice.curvature), zt=s.z, xt=x, v=s.z, advice=advice,
            rule=s.own.rule, watch=Watch(rollbacks=s.own.watch.rollbacks), anchors=anchors,
        )  # fmt: skip
        new = replace(
            s, x=x, y=y, u=problem.adjoint(y), primal=problem.primal(x, s.z), own=own,
            check_passes=s.check_passes + 1,
            incumbent=replace(s.incumbent, x=move(s.incumbent.x)),
        )  # fmt: skip
        return self._begin(problem, with_dual(problem, retuned(self, problem, new)))


@dataclass(frozen=True)
class ADFSPDC(AdaSPDC):
    """Algorithm 7 with its adaptation: y_k follows from a v_k, without the dual prox."""

    name: ClassVar[str] = "adf-spdc"
    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True, rows=True)
    dual_free: ClassVar[bool] = True
    uses_local_curvature: ClassVar[bool] = True
