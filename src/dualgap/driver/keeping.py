"""Who keeps a run in a file while it goes on, and hands it on to the process that resumes it."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
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
from dualgap.state import State

if TYPE_CHECKING:
    from dualgap.driver.loop import Run

SECONDS = {
    **dict.fromkeys(("s", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
"""What units of time are called in ``checkpoint_every``, and how long they are."""
PASSES = ("pass", "passes")
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
    if math.isfinite(number) and unit in SECONDS:
        return Every(seconds=number * SECONDS[unit])
    if math.isfinite(number) and unit in PASSES:
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
    """What they have left."""

    course: Course
    trace: Array


class Keeper:
    """Keeps one run in one file.

    Parameters
    ----------
    path, every, resume
        What `check_keeping` lets pass.

    Attributes
    ----------
    resumes : bool
        Whether there was a file to go on from.
    spent : Spent
    """

    def __init__(self, path: str | os.PathLike[str], every: float | str, resume: bool) -> None:
        self.target, self.every = Path(path), as_every(every)
        self.resumes = resume and self.target.exists()
        self.spent = Spent()
        self._homes: set[str] = set()
        self._content: files.Content | None = None
        self._decoder: Decoder | None = None
        self._make_identity: Callable[[], dict[str, Any]] = dict
        self._identity: dict[str, Any] | None = None
        self._course: Course | None = None
        self._written: Course | None = None
        self._next_time, self._next_passes = -math.inf, -math.inf
        if self.resumes:
            self._content = files.read(self.target)
            seconds, readings = (self._decoded(Decoder({}, set()), n) for n in Spent._fields)
            self.spent = Spent(float(seconds), float(readings))

    # ---- whose run it is ----

    def belongs_to(self, identity: Callable[[], dict[str, Any]], homes: set[str]) -> None:
        """Say whose run this is; the file of another is refused.

        Parameters
        ----------
        identity : callable
            It reads the data, and is called when it is needed.
        homes : set of str
            The modules of the algorithm and of the preconditioner.
        """
        self._make_identity, self._homes = identity, homes
        if self._content is None:
            return
        wrong = differences(self._content.identity, self.identity)
        if wrong:
            raise ValueError(
                f"checkpoint={self.target} is of another run: {'; '.join(wrong)}. Resume it with "
                "what it was begun with, or begin anew with another file."
            )

    @property
    def identity(self) -> dict[str, Any]:
        """Whose run it is, found out once."""
        if self._identity is None:
            self._identity = self._make_identity()
        return self._identity

    # ---- going on ----

    def change(self) -> Change | None:
        """The variables in which the run was."""
        assert self._content is not None
        self._decoder = Decoder(self._content.arrays, self._homes)
        found: Change | None = self._decoded(self._decoder, "change")
        return found

    def earlier(self, design: Design) -> Earlier:
        """The run, with the data in these variables."""
        assert self._decoder is not None
        self._decoder.design = design
        course = self._decoded(self._decoder, "course")
        trace = self._decoded(self._decoder, "trace")
        if not isinstance(course, Course) or np.shape(trace)[:1] != (course.checks,):
            raise files.damaged(self.target, ValueError("it is of no run."))
        self._content = self._decoder = None  # what it has is the run's now
        return Earlier(course, trace)

    def _decoded(self, decoder: Decoder, name: str) -> Any:
        assert self._content is not None
        try:
            return decoder.value(self._content.values[name])
        except (*UNREADABLE, ImportError) as error:
            raise files.damaged(self.target, error) from None

    # ---- keeping ----

    def look(self, run: Run, s: State) -> None:
        """Remember where the run is, and write it if that is due; the first time it is."""
        self._course = course_of(run, s)
        now = time.perf_counter()
        if self.resumes and self._written is None:  # that is what the file has
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
        files.write(self.target, files.Content(self.identity, values, encoder.arrays))
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
