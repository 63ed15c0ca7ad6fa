"""Algorithm 3: BPD-Adapt, the simple heuristic.

Every T iterations, with the gap P - D now and T iterations ago:

    if gap_now < theta^T gap_then:  mu-hat <- sqrt(2) mu-hat      (Delta <- 2 Delta)
    else:                           mu-hat <- mu-hat/sqrt(2)      (Delta <- Delta/2)

theta is what the theorem predicts at the present estimate. Delta = delta mu-hat^2/n is carried
instead of mu-hat, which a loss with delta = 0 would not feel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dualgap.algorithms.primal_dual.adaptation.rule import (
    Rule,
    first_gap,
    observed_decrease,
    observed_gap,
)
from dualgap.problem import Problem
from dualgap.state import State


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

    def begin(self, problem: Problem, s: State) -> Mapping[str, Any]:
        """The gap at the start."""
        return first_gap(problem, s)

    def update(self, problem: Problem, s: State) -> tuple[float, Mapping[str, Any]]:
        """Double or halve."""
        seen = {"gap_then": observed_gap(s)}
        decrease = observed_decrease(s, self.period)
        if decrease is None:
            return s.Delta, seen
        faster = decrease < s.steps.rate**self.period
        return (2.0 * s.Delta if faster else 0.5 * s.Delta), seen
