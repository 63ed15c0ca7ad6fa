"""Opt-BPD, Opt-SPDC and Opt-DF-SPDC: the same algorithms, told what the data offer.

They compute mu from the data, and are what adaptation is measured against. For a loss with delta =
0 the data offer only local strong convexity: the smallest eigenvalue of A' diag(q phi'') A at a
reference optimum is used instead of delta mu^2/n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.ada_bpd import ADFBPD
from dualgap.algorithms.primal_dual.adaptation.monitor import watch_progress
from dualgap.algorithms.primal_dual.bpd import BPD
from dualgap.algorithms.primal_dual.randomised import passes_and_check
from dualgap.algorithms.primal_dual.schedules import Steps, bpd_steps
from dualgap.algorithms.primal_dual.spdc import SPDC, bold_factor
from dualgap.objective.separability import separates
from dualgap.problem import Problem
from dualgap.state import State

REFERENCE_GAP = 1e-8
"""The gap, relative to P, at which the curvature is taken for that at the optimum."""
REFERENCE_PASSES = 5000
"""The passes after which the search for the optimum ends, however far it is."""


def reference_optimum(problem: Problem) -> Array:
    """A point within REFERENCE_GAP of the optimum, by ADF-BPD."""
    algorithm = ADFBPD()
    s = algorithm.start(problem, None, None).state
    x, lowest, highest = s.x, s.primal, s.dual
    while s.passes < REFERENCE_PASSES:
        gap = lowest - highest if highest > -float("inf") else algorithm.estimated_gap(problem, s)
        if gap <= REFERENCE_GAP * problem.scale(lowest):
            break
        if s.t % 10 == 0 and separates(problem, s.x, s.z):  # P falls for ever: there is no optimum
            break
        s = algorithm.step(problem, s)
        if s.primal <= lowest:
            x, lowest = s.x, s.primal
        highest = max(highest, s.dual)
    return x


def oracle_strong_convexity(problem: Problem) -> tuple[float, list[str]]:
    """What the data really offer, computed from them, and what to say about it."""
    loss, constants = problem.loss, problem.constants
    if loss.delta > 0:
        return loss.delta * constants.M.value, []
    if loss.is_vector:
        note = (
            f"loss={loss.name!r} has delta = 0, and its curvature at the optimum is not computed: "
            "only the regulariser's strong convexity counts."
        )
        return 0.0, [note]
    if problem.n < problem.size:
        return 0.0, []
    z = problem.predict(reference_optimum(problem))
    weights = problem.q * loss.hess(z, problem.b)
    Delta = max(float(constants.gram_eigenvalues(weights)[0]), 0.0)
    note = (
        f"loss={loss.name!r} has delta = 0: strong convexity {Delta:.3g} is the smallest "
        "eigenvalue of A' diag(q phi'') A at a reference optimum."
    )
    return Delta, [note]


@dataclass(frozen=True)
class OptBPD(BPD):
    """BPD with mu computed from the data."""

    name: ClassVar[str] = "opt-bpd"

    def Delta(self, problem: Problem) -> tuple[float, list[str]]:
        """The strong convexity from the given mu, or exactly from the data."""
        return super().Delta(problem) if self.mu is not None else oracle_strong_convexity(problem)

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """Theorem 1's; theta = 1 where Delta is local and the theorem has no delta."""
        lam = problem.regularizer.strong_convexity
        if problem.loss.delta == 0:
            lam = problem.regularizer.penalised_strength if Delta > 0 else lam
        return bpd_steps(problem.loss, Lam, lam, Delta, theta_one=False)


@dataclass(frozen=True)
class OptSPDC(SPDC):
    """SPDC with mu computed from the data and steps of 1/R under the monitor."""

    name: ClassVar[str] = "opt-spdc"

    def step(self, problem: Problem, s: State) -> State:
        """A few passes and a check, under the monitor."""
        return watch_progress(self, problem, passes_and_check(self, problem, s), None)[0]

    def Delta(self, problem: Problem) -> tuple[float, list[str]]:
        """The strong convexity from the given mu, or from the data."""
        return super().Delta(problem) if self.mu is not None else oracle_strong_convexity(problem)

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """1/R, or less where the monitor asks for it; 1/(4R) for the theorem."""
        lam = problem.regularizer.strong_convexity
        if problem.loss.delta == 0 and Delta > 0:
            lam = problem.regularizer.penalised_strength
        k = bold_factor(self.schedule, boldness)
        return self.theorem_steps(problem, Lam, lam, Delta, k, advice)


@dataclass(frozen=True)
class OptDFSPDC(OptSPDC):
    """Dual-free SPDC with mu computed from the data and steps of 1/R under the monitor."""

    name: ClassVar[str] = "opt-df-spdc"
    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True, rows=True)
    dual_free: ClassVar[bool] = True
