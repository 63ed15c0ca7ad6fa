"""What an algorithm is: parameters, a start and a step; the driver does the rest."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

from dualgap._names import needed
from dualgap._types import Array
from dualgap.algorithms.needs import Needs
from dualgap.problem import Problem
from dualgap.state import State, replace

NEEDED_BY: dict[str, str] = {
    "start": "'solve', which begins a run with it: start(problem, x0, y0, advice)",
    "step": "the driver, which calls it once an iteration: step(problem, s)",
}
"""What has to be written, and who needs it."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What is known beside the first point, most of it by a change of variables."""

    sampling: str = "uniform"
    """What randomised algorithms should draw by default."""
    curvature: float | None = None
    """An estimate of the least curvature of P, where the change has made one."""
    row_curvature: Array | None = None
    """gamma phi_i'' near the iterates, with a margin, where steps may count on it; 1 if None."""
    predictions: Array | None = None
    """A x0 + offset, right to what a first step needs, where it was had without a product."""


NO_ADVICE = Advice()
"""What a run in the user's own variables is told."""


@dataclass(frozen=True)
class Start:
    """Where a run starts: points and the notes the user should read."""

    state: State
    notes: list[str] = field(default_factory=list)


class Shown(NamedTuple):
    """What a trace shows of an algorithm beside P and the gap.

    One that has no such steps takes whole ones, and does not extrapolate.
    """

    Delta: float = 0.0
    """The strong convexity from the data that its steps count on."""
    tau: float = 1.0
    """The primal step."""
    sigma: float = 1.0
    """The dual step."""
    theta: float = 0.0
    """The extrapolation, or the momentum."""
    rollbacks: int = 0
    """How often the run was rolled back."""


NOTHING_SHOWN = Shown()
"""What the trace shows of an algorithm that has no steps or rates of its own."""


@dataclass(frozen=True)
class Algorithm(ABC):
    """Base of the algorithms: options, a first state and a step.

    To add one, derive a frozen dataclass from this one, whose fields are its options, and pass a
    value of it as ``algorithm=``. A subclass writes `start` and `step`, and says in ``requires``
    what it needs of a problem; the driver counts, judges, certifies and stops.

    Notes
    -----
    A step returns a new state and writes to no array of the old one; what it returns depends on
    the problem and the state alone, so that a run can go on from any state, bit for bit. In a
    state z = A x + offset, u = A'Qy, ``primal`` = P(x), and `algorithms.with_dual` has filled in
    the rest. What the algorithm alone knows is a frozen dataclass of its own, in ``State.own``.
    """

    name: ClassVar[str]
    """What results, states and sentences call it; by default that of the class, with hyphens."""
    requires: ClassVar[Needs] = Needs()
    """What it needs of a problem; a run on one that lacks it is refused before any work."""
    is_second_order: ClassVar[bool] = False
    """It takes Newton steps, so that a careful one may finish what rounding holds up."""
    patience: ClassVar[int] = 10
    """Steps before a certificate that must be paid for is tried again.

    So often it is also asked whether the iterate proves that there is no minimiser.
    """
    uses_local_curvature: ClassVar[bool] = False
    """Whether its steps may count on phi'' near the iterates (dual-free, under the monitor)."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A name, if there is none."""
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Say who needs what is missing, where Python would only say that it is missing."""
        if cls.__abstractmethods__:
            needs = needed(cls.__abstractmethods__, NEEDED_BY)
            raise TypeError(
                f"the algorithm {cls.__name__} lacks {needs}. See dualgap.algorithms.Algorithm for "
                "what each has to return."
            )
        return super().__new__(cls)

    def aiming_at(self, tol: float) -> Algorithm:
        """The same algorithm, told the relative gap that is wanted; most need not know."""
        return self

    @property
    def passes_per_step(self) -> float:
        """Passes that one step takes."""
        return 1.0

    @abstractmethod
    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
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
        """s again, after a step from it that was not finite."""
        return replace(s, t=failed.t, passes=failed.passes, check_passes=failed.check_passes)

    def restart(
        self, problem: Problem, s: State, move: Callable[[Array], Array], advice: Advice
    ) -> State:
        """The run in other variables: here a first state there, from the best x so far.

        What the run has counted stays; what the algorithm knows was of other variables.

        Parameters
        ----------
        problem : Problem
            In the new variables.
        s : State
            In the old ones.
        move : callable
            Brings a point from the old variables to the new ones.
        advice : Advice
            What the change of variables has to say.
        """
        assert s.incumbent.x is not None
        new = self.start(problem, move(s.incumbent.x), None, advice).state
        best = replace(s.incumbent, x=new.x, primal=new.primal, lowest=new.primal)
        return replace(
            new, t=s.t, passes=s.passes, check_passes=s.check_passes + 1.0, budget=s.budget,
            incumbent=best,
        )  # fmt: skip

    def estimated_gap(self, problem: Problem, s: State) -> float:
        """An estimate of P - P* where D = -inf along the iterates; a paid check finds the truth."""
        m = problem.regularizer.strong_convexity
        return s.estimated_gap(m if m > 0 else 1e-2 * s.smoothness)

    def shown(self, s: State) -> Shown:
        """What the trace shows of the state."""
        return NOTHING_SHOWN


def options_of(algorithm: Algorithm) -> set[str]:
    """The names of the options that it takes."""
    return {f.name for f in dataclasses.fields(algorithm)}


def with_options(algorithm: Algorithm, **options: Any) -> Algorithm:
    """Set the options that were given; one that the algorithm does not take is refused."""
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return algorithm
    known = options_of(algorithm)
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"{name}={value!r} means nothing to algorithm={algorithm.name!r}, which takes "
                f"{', '.join(sorted(known)) or 'no options'}."
            )
    return dataclasses.replace(algorithm, **given)


def no_algorithm(given: Any) -> str:
    """The sentence on what was given in the place of an algorithm."""
    what = f"algorithm must be a name or a dualgap algorithm, got {given!r}"
    if isinstance(given, type) and issubclass(given, Algorithm):
        return f"{what}, which is a class; give a value, {given.__name__}(...)."
    return f"{what}. Your own is a value of a class that derives from dualgap.algorithms.Algorithm."
