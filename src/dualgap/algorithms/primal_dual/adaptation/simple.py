"""Algorithm 3: BPD-Adapt, the simple heuristic.

Every T iterations, with the gap P - D now and T iterations ago:

    if gap_now < theta^T gap_then:  mu-hat <- sqrt(2) mu-hat      (Delta <- 2 Delta)
    else:                           mu-hat <- mu-hat/sqrt(2)      (Delta <- Delta/2)

theta is what the theorem predicts at the present estimate. Delta = delta mu-hat^2/n is carried
instead of mu-hat, which a loss with delta = 0 would not feel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap.algorithms.primal_dual.adaptation.rule import (
    Gaps,
    Rule,
    first_gap,
    observed_decrease,
    observed_gap,
)
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True)
class Simple(Rule):
    """Algorithm 3.

    Parameters
    ----------
    period : int
        T, in passes.
    start : float, optional
        First estimate of delta mu^2/n; see `default_start`.
    """

    period: int = 10
    start: float | None = None

    name: ClassVar[str] = "simple"
    theta_one: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the options."""
        self._check()

    def begin(self, problem: Problem, s: State) -> Gaps:
        """The gap at the start."""
        return first_gap(problem, s)

    def update(self, problem: Problem, s: State) -> tuple[float, Gaps]:
        """Double or halve."""
        known: Gaps = s.own.remembered
        seen = replace(known, gap_then=observed_gap(s))
        decrease = observed_decrease(s, self.period, known.gap_then)
        if decrease is None:
            return s.own.Delta, seen
        faster = decrease < s.own.steps.rate**self.period
        return (2.0 * s.own.Delta if faster else 0.5 * s.own.Delta), seen

    def begin_again(self, problem: Problem, s: State) -> Gaps:
        """The gap of the best point says nothing of the last T iterations."""
        known: Gaps = s.own.remembered
        return replace(known, gap_then=None)
