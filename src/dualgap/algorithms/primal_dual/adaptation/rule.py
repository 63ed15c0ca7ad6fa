"""What an adaptation rule is: every T iterations, from the state to a new estimate Delta."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap.algorithms.contract import NO_ADVICE, Advice
from dualgap.algorithms.primal_dual.state import PrimalDualState, Remembered, update
from dualgap.certificate import estimated_pair
from dualgap.dual_points.feasible import repair_is_free
from dualgap.objective.constants import GRAM_LIMIT
from dualgap.problem import Problem
from dualgap.state import State


def default_start(problem: Problem, Lam: float, advice: Advice = NO_ADVICE) -> float:
    """Where the estimate of delta mu^2/n starts; the paper leaves it open.

    The geometric mean of the smoothness Lam/gamma, above which it cannot lie, and of lambda,
    below which it does not matter; without lambda, of 1e-6 of the smoothness.
    """
    if advice.curvature is not None:
        return known_curvature(problem, advice.curvature)
    smoothness = (Lam if Lam > 0 else 1.0) / problem.loss.known_gamma
    low = max(problem.regularizer.penalised_strength, 1e-6 * smoothness)
    return math.sqrt(smoothness) * math.sqrt(min(low, smoothness))


def known_curvature(problem: Problem, curvature: float) -> float:
    """The Delta with which lambda + Delta is this curvature of all of P (lambda in it)."""
    return max(curvature - problem.regularizer.strong_convexity, 1e-6 * curvature)


@dataclass(frozen=True)
class Rule(ABC):
    """Base of the adaptation rules."""

    name: ClassVar[str]
    period: int
    start: float | None

    def _check(self) -> None:
        object.__setattr__(self, "period", check.integer("period", self.period))
        check.optional_real("start", self.start, low=0.0, strict=True)

    @property
    @abstractmethod
    def theta_one(self) -> bool:
        """Whether to extrapolate with theta = 1 (always valid) or with the theorem's theta."""

    @abstractmethod
    def begin(self, problem: Problem, s: State) -> Remembered | None:
        """What to remember at the start; None for a rule that remembers nothing."""

    @abstractmethod
    def update(self, problem: Problem, s: State) -> tuple[float, Remembered | None]:
        """The new Delta, and what to remember."""

    def begin_again(self, problem: Problem, s: State) -> Remembered | None:
        """What to remember after a roll-back to the point of s: by default as at the start."""
        return self.begin(problem, s)


@dataclass(frozen=True, eq=False)
class Gaps(Remembered):
    """What the printed rules remember."""

    gap_then: float | None = None
    """The gap at the last update; None where it was not finite, and after a roll-back."""


def floor(problem: Problem) -> float | None:
    """P* from the projected dual, for squared loss where P - D is infinite; None if too dear.

    The printed rules compare gaps. Without regulariser D(y_t) = -inf, but for squared loss any
    projected dual point attains P*.
    """
    small = min(problem.n, problem.size) <= GRAM_LIMIT
    if repair_is_free(problem) or not problem.loss.is_quadratic or not small:
        return None
    certificate = estimated_pair(problem, np.zeros(problem.size), None)[0]
    return certificate.dual if certificate.certified else None


def first_gap(problem: Problem, s: State) -> Gaps:
    """What the printed rules remember of the start: the floor, and the gap if it is finite."""
    known = floor(problem)
    gap = observed_gap(update(s, remembered=Gaps(floor=known)))
    return Gaps(floor=known, gap_then=gap if 0.0 < gap < math.inf else None)


def observed_decrease(s: State, period: int, then: float | None) -> float | None:
    """By what factor the gap has shrunk in T passes; None if that cannot be said yet.

    Batch methods: from the two end values, the gap ``then`` and now. Randomised ones, whose gap
    fluctuates, have a history of (passes, gap): the rate per pass from the regression through the
    origin

        log rho = sum_i t_i log(gap_i/gap_0) / sum_i t_i^2,     t_i = passes since the first,

    which holds for unevenly spaced checks too; then rho^T.
    """
    own: PrimalDualState = s.own
    if own.history is None:
        return None if then is None or then <= 0.0 else observed_gap(s) / then
    first, start = own.history[0]
    pairs = [(t - first, gap) for t, gap in own.history if t > first and 0.0 < gap < math.inf]
    if not pairs or not 0.0 < start < math.inf:
        return None
    slope = sum(t * math.log(gap / start) for t, gap in pairs) / sum(t * t for t, _ in pairs)
    return math.exp(min(slope * period, 700.0))


def observed_gap(s: State) -> float:
    """P - D, or P - P* where the floor is known, or what stands in for the gap."""
    own: PrimalDualState = s.own
    known = None if own.remembered is None else own.remembered.floor
    return s.merit if known is None else s.primal - known
