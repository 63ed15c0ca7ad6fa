"""Algorithm 4: BPD-Adapt, the robust heuristic.

Every T iterations, with rho-hat = gap_now / gap_then:

    if rho-hat <= c_low rho:    Delta <- 2 Delta,  rho <- rho-hat
    if rho-hat >= c_high rho:   Delta <- Delta/2,  rho <- rho-hat
    else:                       Delta stays (and so does rho)

For the randomised algorithms rho-hat is rho^T with the rate rho per pass of the paper's log-linear
regression (`observed_decrease`). The paper leaves open where rho starts: at theta^T of the first
Delta, what the theorem predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap import _validation as check
from dualgap.algorithms.primal_dual.adaptation.rule import (
    Gaps,
    Rule,
    first_gap,
    observed_decrease,
    observed_gap,
)
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True, eq=False)
class GapsAndRate(Gaps):
    """What the robust rule remembers."""

    rho: float = 1.0
    """The decrease in T iterations that the last change of Delta was made at."""


@dataclass(frozen=True)
class Robust(Rule):
    """Algorithm 4.

    Parameters
    ----------
    period : int
        T, in passes.
    low, high : float
        The band [c_low, c_high], c_low < 1 < c_high, in which nothing changes.
    start : float, optional
        First estimate of delta mu^2/n; see `default_start`.
    theta_one : bool
        Extrapolate with theta = 1 instead of equation (8).
    stop_below_lambda : bool
        Stop tuning once the estimate is below lambda (the paper's remark after Algorithm 3).
    """

    period: int = 10
    low: float = 0.95
    high: float = 1.5
    start: float | None = None
    theta_one: bool = False
    stop_below_lambda: bool = False

    name: ClassVar[str] = "robust"

    def __post_init__(self) -> None:
        """Check the options."""
        self._check()
        low = check.real("low", self.low, low=0.0, strict=True)
        high = check.real("high", self.high, low=0.0, strict=True)
        if not low < 1.0 < high:
            raise ValueError(f"low={low:g} and high={high:g} must lie on either side of 1.")

    def begin(self, problem: Problem, s: State) -> GapsAndRate:
        """The gap at the start; rho starts at theta^T."""
        first = first_gap(problem, s)
        return GapsAndRate(first.floor, first.gap_then, s.own.steps.rate**self.period)

    def update(self, problem: Problem, s: State) -> tuple[float, GapsAndRate]:
        """Double, halve or keep."""
        known: GapsAndRate = s.own.remembered
        Delta: float = s.own.Delta
        seen = replace(known, gap_then=observed_gap(s))
        observed = observed_decrease(s, self.period, known.gap_then)
        if observed is None:
            return Delta, seen
        if self.stop_below_lambda and Delta < problem.regularizer.strong_convexity:
            return Delta, seen
        if observed <= self.low * known.rho:
            return 2.0 * Delta, replace(seen, rho=observed)
        if observed >= self.high * known.rho:
            return 0.5 * Delta, replace(seen, rho=observed)
        return Delta, seen

    def begin_again(self, problem: Problem, s: State) -> GapsAndRate:
        """The gap of the best point says nothing of the last T iterations."""
        known: GapsAndRate = s.own.remembered
        return replace(known, gap_then=None)
