"""Keeping a run in a file while it goes on, for the process that resumes it."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap import _validation as check
from dualgap._archives import UNREADABLE
from dualgap._types import Array
from dualgap.checkpoints import files
from dualgap.checkpoints.codec import Decoder, Encoder
from dualgap.checkpoints.identity import differences
from dualgap.designs import Design
from dualgap.driver.course import Course, course_of
from dualgap.preconditioners import Change
from dualgap.problem import Problem
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.driver.loop import Run

SECONDS_OF_UNITS = {
    **dict.fromkeys(("s", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
"""What units of time are called in ``checkpoint_every``, and how long they are."""
UNITS_OF_PASSES = ("pass", "passes")
"""What passes over the data are called there."""
EVERY = 60.0
"""Seconds between two checkpoints, if nothing is said."""


@dataclass(frozen=True)
class Every:
    """When the next checkpoint is due: after so many seconds, or so many passes."""

    seconds: float = math.inf
    passes: float = math.inf


def as_every(value: float | str) -> Every:
    """From a number of seconds, or a number and a unit."""
    if not isinstance(value, str):
        return Every(seconds=check.real("checkpoint_every", value, low=0.0))
    form = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]*)\s*", value)
    try:
        number = float(form[1]) if form else math.nan
    except ValueError:
        number = math.nan
    unit = "" if form is None else form[2] or "s"
    if math.isfinite(number) and unit in SECONDS_OF_UNITS:
        return Every(seconds=number * SECONDS_OF_UNITS[unit])
    if math.isfinite(number) and unit in UNITS_OF_PASSES:
        return Every(passes=number)
    raise ValueError(
        f"checkpoint_every={value!r} must be a number of seconds, or a number with a unit, such as "
        "'30 s', '10 min', '2 h' or '50 passes'."
    )


class Spent(NamedTuple):
    """What the processes before this one have spent on the run."""

    seconds: float = 0.0
    readings: float = 0.0


class Earlier(NamedTuple):
    """Where the processes before this one have left the run."""

    course: Course
    trace: Array


class RunFile:
    """The file that another process has left, which is of this run or refused.

    Parameters
    ----------
    target : Path

    Attributes
    ----------
    spent : Spent
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._content = files.read(target)
        self._decoder = Decoder(self._content.arrays, set())
        self.spent = Spent(*(float(self._value(name)) for name in Spent._fields))

    @property
    def holds_rows(self) -> bool:
        """Whether the run holds the rows of its data: its b is an array then."""
        b = self._content.identity.get("b")
        return isinstance(b, dict) and "dtype" in b

    def check(self, identity: dict[str, Any]) -> None:
        """Refuse the file of another run."""
        wrong = differences(self._content.identity, identity)
        if wrong:
            raise ValueError(
                f"checkpoint={self.target} is of another run: {'; '.join(wrong)}. Resume it with "
                "what it was begun with, or begin anew with another file."
            )

    def change(self, homes: set[str]) -> Change | None:
        """The variables in which the run was; ``homes`` are the packages of its classes."""
        self._decoder.homes = homes
        found: Change | None = self._value("change")
        return found

    def earlier(self, design: Design) -> Earlier:
        """The run, with the data in these variables."""
        self._decoder.design = design
        course, trace = self._value("course"), self._value("trace")
        if not isinstance(course, Course) or np.shape(trace)[:1] != (course.checks,):
            raise files.damaged(self.target, ValueError("it is of no run."))
        return Earlier(course, trace)

    def _value(self, name: str) -> Any:
        try:
            return self._decoder.value(self._content.values[name])
        except UNREADABLE as error:
            raise files.damaged(self.target, error) from None


class Keeper:
    """Keeps one run in one file.

    Parameters
    ----------
    path, every, resume
        What `check_keeping` lets pass.

    Attributes
    ----------
    file : RunFile or None
        What there is to go on from.
    """

    def __init__(self, path: str | os.PathLike[str], every: float | str, resume: bool) -> None:
        self.target, self.every = Path(path), as_every(every)
        self.file = RunFile(self.target) if resume and self.target.exists() else None
        self._resumes = self.file is not None
        self._homes: set[str] = set()
        self._identity: Callable[[], dict[str, Any]] = dict
        self._course: Course | None = None
        self._written: Course | None = None
        self._next_time, self._next_passes = -math.inf, -math.inf

    def belongs_to(self, identity: Callable[[], dict[str, Any]], homes: set[str]) -> None:
        """Tell the keeper which run this is, so that a file of another one is refused.

        Parameters
        ----------
        identity : callable
            It reads the data, and is called once, when it is needed.
        homes : set of str
            The packages of the algorithm and of the preconditioner.
        """
        self._identity, self._homes = cache(identity), homes

    def take_up(self, inner: Callable[[Change | None], Problem]) -> Earlier:
        """What another process has left; ``inner`` makes the problem in its variables."""
        if self.file is None:
            raise LookupError("there is nothing to take up.")
        file, self.file = self.file, None  # what it has is the run's from now on
        file.check(self._identity())
        return file.earlier(inner(file.change(self._homes)).design)

    # ---- keeping ----

    def look(self, run: Run, s: State) -> None:
        """Remember where the run is, and write it if that is due; the first time it is."""
        self._course = course_of(run, s)
        now = time.perf_counter()
        if self._resumes and self._written is None:  # that is what the file has
            self._wait(now, s.passes)
        elif now >= self._next_time or s.passes >= self._next_passes:
            self._write(run, self._course)

    def end(self, run: Run) -> list[str]:
        """Write where the run was last; what the user should know if that could not be done."""
        if self._course is None or self._course is self._written:
            return []
        try:
            self._write(run, self._course)
        except OSError as error:
            return [error.strerror or str(error)]
        return []

    def _write(self, run: Run, course: Course) -> None:
        encoder, s = Encoder(self._homes), course.state
        rows = np.array(run.rows[: course.checks], dtype=np.float64)
        values = {
            "change": encoder.tree(s.change, "change"),
            "course": encoder.tree(course, "course"),
            "trace": encoder.tree(rows, "trace"),
            "seconds": encoder.tree(time.perf_counter() - run.began, "seconds"),
            "readings": encoder.tree(run.readings, "readings"),
        }
        files.write(self.target, files.Content(self._identity(), values, encoder.arrays))
        self._wait(time.perf_counter(), s.passes)

    def _wait(self, now: float, passes: float) -> None:
        self._written = self._course
        self._next_time = now + self.every.seconds
        self._next_passes = passes + self.every.passes


def check_keeping(
    checkpoint: str | os.PathLike[str] | None, every: float | str, resume: bool
) -> None:
    """Refuse what is no file, no interval or no run to go on from: before any work."""
    as_every(every)
    check.flag("resume", resume)
    if checkpoint is None:
        if resume:
            raise ValueError("resume=True goes on from a file; name it, checkpoint='run.npz'.")
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint must be the name of a file, got {checkpoint!r}.")
    files.check_place(Path(checkpoint), resume)
