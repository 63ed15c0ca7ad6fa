"""Everything of a run that moves: with the problem it decides, between two steps, what follows."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dualgap._types import Array
from dualgap.certificate import Estimate
from dualgap.driver.proving import Proof
from dualgap.limits import Meter
from dualgap.result import Setup
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.driver.loop import Run

MOVING = ("first", "improved", "fallen", "before", "last", "better", "exhausted", "setup", "notes")
"""Attributes of a run that change while it goes on, or are set when it begins.

Each is replaced by a new value and never written into, so that a course may hold the value itself.
"""
OF_THE_START = ("free", "dear", "first_look")
"""Attributes that follow from the variables in which the run began, which may not be these."""


@dataclass
class Attempts:
    """When to pay for a certificate that the iterations do not give for free."""

    next_look: float
    """Iteration of the next look for the trace's sake."""
    factor: float = 1.0
    """Last certified gap over the estimate it was triggered by."""
    failures: int = 0
    """Attempts that gave no certificate."""
    next_t: int = 0
    """First iteration at which the estimate may trigger the next attempt."""
    next_confirmation: int = 0
    """First iteration at which a gap within tol may be confirmed again."""
    passes: float = 0.0
    """What attempts and confirmations have cost."""
    wait: int = 1
    """How much longer than usual to wait before a run is asked again whether it is stuck."""
    lowest: float = float("inf")
    """The least P when certificates had failed for a while."""


@dataclass(frozen=True, eq=False)
class Course:
    """A run between two steps, without its trace.

    Attributes
    ----------
    state : State
        Of the algorithm, with the change of variables and the best points.
    checks : int
        The rows that the trace has.
    attempts : Attempts
    first, improved, fallen, before, last, better, exhausted, setup, notes, free, dear, first_look
        As in `Run`.
    proof : Proof or None
        What was proved last.
    failures : int
        How often a gap in floats was within tol and the proved one was not.
    meter : Meter
        What was spent of the limit on work beside the data, on small matrices.
    constants : tuple
        What was found out about the data that takes a few numbers, in the user's variables and in
        those of the run. A resumed run takes them over, because a constant may have been found in
        another way by whoever asked first, with other last digits.
    """

    state: State
    checks: int
    attempts: Attempts
    first: float
    improved: tuple[float, int]
    fallen: tuple[float, int]
    before: Array | None
    last: tuple[Array, Array, Estimate] | None
    better: tuple[Array, Array, Estimate] | None
    exhausted: bool
    setup: Setup
    notes: list[str]
    free: bool
    dear: bool
    first_look: float
    proof: Proof | None
    failures: int
    meter: Meter
    constants: tuple[tuple[tuple[str, Any], ...], ...]


def course_of(run: Run, s: State) -> Course:
    """Where the run is, with nothing in it that the run will write to."""
    return Course(
        state=s,
        checks=len(run.rows),
        attempts=dataclasses.replace(run.attempts),
        proof=run.prover.last,
        failures=run.prover.failures,
        meter=run.limits.meter,
        constants=tuple(p.constants.small() for p in (run.user, run.problem)),
        **{name: getattr(run, name) for name in (*MOVING, *OF_THE_START)},
    )


def put_back(run: Run, course: Course, rows: Array) -> State:
    """Bring a run that has not begun to where another was; its state there is returned."""
    for name in (*MOVING, *OF_THE_START):
        setattr(run, name, getattr(course, name))
    run.attempts = dataclasses.replace(course.attempts)
    run.rows = [tuple(row) for row in rows.tolist()]
    run.prover.last, run.prover.failures = course.proof, course.failures
    run.limits.go_on(course.meter, run.max_passes)
    for problem, known in zip((run.user, run.problem), course.constants, strict=True):
        problem.constants.recall(known)
    return course.state
