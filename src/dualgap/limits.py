"""What ends a run from outside, seconds and passes, also in the middle of a step.

The driver asks between two steps. Inside of a step that may take long, loops ask here: those that
have something to show for what they did (`Limits.ends`) end early, others give the step up
(`check_time`). In neither case does the run go on from there: the state before the step is the one
to continue from, so that no clock decides on an iterate; but the point that was reached may be the
best of the run.

The limits of a call of `solve` are ambient, as numpy's error state is: a Gram matrix is made ten
calls away from the driver.
"""

from __future__ import annotations

import math
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dualgap.problem import Problem

now = time.perf_counter
"""The clock."""

CALL = 1e5
"""Multiplications that a pass costs before it has begun."""
MORE = 100.0
"""Passes over the data that a step may take beyond the limit: one that is cut short has to be begun
anew by whoever goes on, and few steps take as many."""
BESIDE, ALWAYS = 10.0, 1000.0
"""Work beside the data, on small matrices, may cost a run BESIDE times the passes that it may take,
and ALWAYS passes more. It is not counted as passes."""


class OutOfTime(Exception):
    """The time limit is over, in the middle of a step."""


class Meter(NamedTuple):
    """What limits count over a whole run, in multiplications."""

    one_pass: float
    """What a pass costs in the variables in which the run began."""
    beside: float
    """What work beside the data has cost."""


class Limits:
    """The limits of one call of solve.

    Parameters
    ----------
    seconds : float
        From now.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.deadline = now() + seconds
        self._one_pass = self._passes = self._most_beside = math.inf
        self._beside = 0.0
        self.cut = False
        """Whether a loop of this step has ended early."""

    def begin(self, problem: Problem, passes: float) -> None:
        """Count for a run that may take so many passes."""
        self.go_on(Meter(one_pass(problem), 0.0), passes)

    def go_on(self, meter: Meter, passes: float) -> None:
        """Count on for a run that may take so many passes in all, and has spent this already."""
        self._one_pass, self._beside = meter
        self._most_beside = (BESIDE * passes + ALWAYS) * (self._one_pass + CALL)

    @property
    def meter(self) -> Meter:
        """What a run goes on with elsewhere."""
        return Meter(self._one_pass, self._beside)

    def begin_step(self, passes: float) -> None:
        """Count for a step, when the run has so many passes left."""
        self._passes, self.cut = (passes + MORE) * self._one_pass, False

    def lift(self) -> None:
        """End the limit on time: what is left is to say how the run ended."""
        self.deadline = math.inf

    @property
    def is_timed(self) -> bool:
        """Whether there is a time limit."""
        return self.deadline < math.inf

    @property
    def time_is_up(self) -> bool:
        """Whether the time limit is over."""
        return self.deadline < math.inf and now() > self.deadline

    @property
    def beside_is_spent(self) -> bool:
        """Whether work beside the data has cost what it may."""
        return self._beside > self._most_beside

    def ends(self, multiplications: float) -> bool:
        """Whether a loop is to end early, after so many multiplications with the data."""
        self._passes -= multiplications
        if self._passes < 0.0 or self.time_is_up:
            self.cut = True
        return self.cut

    def ends_beside(self, multiplications: float) -> bool:
        """The same for work beside the data: so many multiplications with a small matrix."""
        self._beside += multiplications
        if self.beside_is_spent or self.time_is_up:
            self.cut = True
        return self.cut


class _Unlimited(Limits):
    """Outside of a call; keeps no count."""

    def ends(self, multiplications: float) -> bool:
        """Never."""
        return False

    def ends_beside(self, multiplications: float) -> bool:
        """Never."""
        return False


UNLIMITED = _Unlimited()
_current: ContextVar[Limits] = ContextVar("limits")


def current() -> Limits:
    """The limits of the call that this is part of."""
    return _current.get(UNLIMITED)


def check_time() -> None:
    """Give the step up if the time limit is over."""
    if current().time_is_up:
        raise OutOfTime


class within:
    """For what is done here these limits hold."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def __enter__(self) -> Limits:
        """Set them."""
        self.token = _current.set(self.limits)
        return self.limits

    def __exit__(self, *error: object) -> None:
        """Those before hold again."""
        _current.reset(self.token)


def passes_at_most(problem: Problem, passes: float) -> within:
    """What is done here may cost so many."""
    limits = Limits()
    limits.begin(problem, passes)
    limits.begin_step(passes)
    return within(limits)


def one_pass(problem: Problem) -> float:
    """Multiplications of a product with A and one with A'."""
    return 2.0 * problem.design.nonzeros * (problem.outputs or 1)
