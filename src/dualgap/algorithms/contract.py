"""What an algorithm is: parameters, a start and a step; the driver does the rest."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from dualgap._names import lookup
from dualgap._types import Array
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.problem import Problem
from dualgap.regularizers.capabilities import Need
from dualgap.state import State, replace


@dataclass(frozen=True)
class Start:
    """Where a run starts: points and the notes the user should read."""

    state: State
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Algorithm(ABC):
    """Base of the algorithms."""

    name: ClassVar[str]
    needs_of_regularizer: ClassVar[Need] = "strengths"
    """What it asks of the regulariser; see `regularizers.capabilities`."""
    is_second_order: ClassVar[bool] = False
    """It takes Newton steps, so that a careful one may finish what rounding holds up."""
    patience: ClassVar[int] = 10
    """Steps before a certificate that must be paid for is tried again."""
    uses_local_curvature: ClassVar[bool] = False
    """Whether its steps may count on phi'' near the iterates (dual-free, under the monitor)."""

    def __post_init__(self) -> None:
        """Names of options become their values."""
        schedule = getattr(self, "schedule", None)
        if schedule is not None:
            if not isinstance(schedule, str):
                raise TypeError(f"schedule must be a name, got {schedule!r}.")
            value = lookup("schedule", schedule, {"theorem": "theorem"})
            object.__setattr__(self, "schedule", value)

    def aiming_at(self, tol: float) -> Algorithm:
        """The same algorithm, told the relative gap that is wanted; most need not know."""
        return self

    @property
    def passes_per_step(self) -> float:
        """Passes that one step takes."""
        return 1.0

    @abstractmethod
    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """The state before the first iteration."""

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The first state s, with what a run on the same data has prepared; most prepare nothing.

        ``earlier`` ended with this algorithm, but maybe with other strengths or targets.
        """
        return s

    def prepare(self, problem: Problem, s: State) -> None:  # noqa: B027 - most need nothing
        """Pay now what the first step would otherwise pay once, such as loading kernels."""

    @abstractmethod
    def step(self, problem: Problem, s: State) -> State:
        """One iteration of a batch method, or a few passes of a randomised one."""

    def step_back(self, problem: Problem, s: State, failed: State) -> State:
        """s again, after a step from it that was not finite: the next one is a quarter as long."""
        Lam = 16.0 * s.Lam
        steps = self.steps(problem, Lam, s.Delta, s.memory.get("boldness", 1.0))
        return replace(
            s, t=failed.t, passes=failed.passes, check_passes=failed.check_passes, Lam=Lam,
            steps=steps, ahead=None,
        )  # fmt: skip

    @abstractmethod
    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """(tau, sigma, theta) for these constants.

        The monitor asks for less ``boldness`` (down from 1) where longer steps than the theorem's
        have failed; methods that keep to the theorem need not listen.
        """

    def time_scale(self, problem: Problem, s: State) -> float:
        """How many steps it takes to gain a constant factor, by the present estimate."""
        m = problem.regularizer.strong_convexity + s.Delta
        return math.sqrt(s.Lam / (problem.loss.gamma * m)) if m > 0 else math.inf
