"""Algorithm 2: Adaptive BPD (Ada-BPD), and ADF-BPD, the same around the dual-free step.

Start with an estimate Delta of delta mu^2/n and the parameters it gives.  For t = 0, 1, 2, ...

    1.-3.  one iteration of Algorithm 1 (ADF-BPD: of Algorithm 6)
    4.     every T iterations: (tau, sigma, theta) <- BPD-Adapt

BPD-Adapt is Algorithm 3 (`adaptation.Simple`), Algorithm 4 (`adaptation.Robust`) or the curvature
rule (`adaptation.Curvature`, the default). Between 3 and 4 a monitor looks on: where progress
stops it goes back to the best point and to safer parameters (`adaptation.monitor`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.adaptation import Curvature, Rule, as_rule, default_start
from dualgap.algorithms.primal_dual.adaptation.monitor import watch_progress
from dualgap.algorithms.primal_dual.batch import watch_Lam
from dualgap.algorithms.primal_dual.bpd import bpd_step, data_strong_convexity
from dualgap.algorithms.primal_dual.df_bpd import df_bpd_step
from dualgap.algorithms.primal_dual.family import PrimalDual, first_state, retuned
from dualgap.algorithms.primal_dual.local import is_local, localised, watch_local
from dualgap.algorithms.primal_dual.schedules import Steps, bpd_steps, df_bpd_steps
from dualgap.algorithms.primal_dual.state import PrimalDualState, update
from dualgap.problem import Problem
from dualgap.state import State


def check_start(problem: Problem, rule: Rule, mu: float | None) -> None:
    """Refuse a mu that cannot serve as a start, before any work."""
    mu = check.strong_convexity(mu, strict=True)
    if mu is not None and rule.start is None and problem.loss.delta == 0:
        raise ValueError(
            f"mu={mu:g} has no meaning as a start for loss={problem.loss.name!r}, whose delta is "
            "0; give the estimate itself, adapt=dualgap.adaptation.Curvature(start=...)."
        )


def first_estimate(problem: Problem, rule: Rule, mu: float | None, default: float) -> float:
    """Where Delta starts: the rule's start, or delta mu^2/n, or the default."""
    if rule.start is not None:
        return rule.start
    return default if mu is None else data_strong_convexity(problem.loss, problem.n, mu)


def credible(problem: Problem, s: State, Delta: float) -> float:
    """The new estimate, kept near what can be true: delta M is at most the smoothness Lam/gamma.

    The printed rules double, and may overshoot for a while; what is not a number changes nothing.
    """
    before: PrimalDualState = s.own
    smoothness = before.Lam / problem.loss.known_gamma
    if Delta != Delta:
        return before.Delta
    return min(max(Delta, 1e-12 * smoothness), 16.0 * smoothness)


@dataclass(frozen=True)
class AdaBPD(PrimalDual):
    """Algorithm 2.

    Parameters
    ----------
    adapt : Rule
        How the estimate moves.
    mu : float, optional
        Where the estimate starts: the paper's mu-hat. By default see `adaptation.default_start`.
    schedule : "theorem", optional
        A certified upper bound on L instead of a watched estimate (dual-free: steps of 1/(2L)).
    """

    adapt: Rule = field(default_factory=Curvature)
    mu: float | None = None
    schedule: str | None = None

    name: ClassVar[str] = "ada-bpd"
    requires: ClassVar[Needs] = Needs(
        gamma=True, regularizer="prox", dual_prox=True, instead="adf-bpd"
    )
    dual_free: ClassVar[bool] = False

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
        """Theorem 1's at the estimate."""
        lam = problem.regularizer.strong_convexity
        return bpd_steps(problem.loss, Lam, lam, Delta, theta_one=self.adapt.theta_one)

    def plain_step(self, problem: Problem, s: State) -> State:
        """The iteration without adaptation."""
        return bpd_step(problem, s)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first iteration."""
        check_start(problem, self.adapt, self.mu)
        constants = problem.constants
        Lam = (constants.Lam if self.schedule == "theorem" else constants.Lam_estimate).value
        Delta = first_estimate(problem, self.adapt, self.mu, default_start(problem, Lam, advice))
        s = first_state(
            self, problem, x0, y0, Lam=Lam, Delta=Delta, dual_free=self.dual_free, advice=advice
        )
        return Start(update(s, rule=self.adapt.name, remembered=self.adapt.begin(problem, s)))

    def step(self, problem: Problem, s: State) -> State:
        """One iteration, and every T-th time an adaptation."""
        # Alg. 2, lines 1-3
        watch = watch_local if is_local(s) else watch_Lam
        new = watch(self, problem, s, self.plain_step(problem, s))
        new, tuning = watch_progress(self, problem, new, self.adapt)
        # Alg. 2, line 4
        if tuning and new.t % self.adapt.period == 0:
            Delta, remembered = self.adapt.update(problem, new)
            Delta = credible(problem, new, Delta)
            new = retuned(self, problem, new, Delta=Delta, remembered=remembered)
            new = self.after_tuning(problem, new)
        return new

    def after_tuning(self, problem: Problem, s: State) -> State:
        """What else is looked at every T iterations."""
        return s


@dataclass(frozen=True)
class ADFBPD(AdaBPD):
    """Algorithm 2 around the dual-free step of Algorithm 6.

    The steps are the printed ones (k = 1): longer than the proof allows, and watched by the
    monitor; ``schedule="theorem"`` takes the proof's.

    Parameters
    ----------
    adapt, mu, schedule
        As in `AdaBPD`.
    local : bool
        Whether steps count on the curvature of the loss where the iterates are (`local`); with
        the curvature rule only, and not with ``schedule="theorem"``.
    """

    local: bool = True

    name: ClassVar[str] = "adf-bpd"
    requires: ClassVar[Needs] = Needs(gamma=True, regularizer="prox")
    dual_free: ClassVar[bool] = True

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """Theorem 3's at the estimate."""
        k = 0.5 if self.schedule == "theorem" else max(boldness, 0.5)
        lam = problem.regularizer.strong_convexity
        return df_bpd_steps(problem.loss, Lam, lam, Delta, k=k, theta_one=self.adapt.theta_one)

    def plain_step(self, problem: Problem, s: State) -> State:
        """The dual-free iteration without adaptation."""
        return df_bpd_step(problem, s, steps_may_change=(s.t + 1) % self.adapt.period == 0)

    def after_tuning(self, problem: Problem, s: State) -> State:
        """Longer steps, where the loss has become less curved."""
        may = self.local and self.schedule is None and isinstance(self.adapt, Curvature)
        return localised(self, problem, s) if may else s
