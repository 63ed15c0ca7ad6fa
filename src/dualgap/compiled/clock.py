"""The time that compiling takes, or loading what was compiled before: it belongs to the set-up.

Kernels are compiled, or read from the cache on disk, when they are first called: in a step, in a
certificate, anywhere. `jit` tells of it, thread by thread; here the seconds are kept, moved into
the set-up of the run they fell into, and the first compilation of a process is said aloud. This
module does not import numba, which a run without kernels does not need.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from dualgap.state import replace

if TYPE_CHECKING:
    from dualgap.result import Result

LOGGER = logging.getLogger("dualgap")


@cache
def can_compile() -> bool:
    """Whether there is numba. Solvers need it; whoever only verifies does without, more slowly."""
    try:
        return find_spec("numba") is not None
    except ImportError:
        return False


class Span(NamedTuple):
    """A time in which nothing but compiling or loading happened, by `time.perf_counter`."""

    end: float
    seconds: float


class _Spans(threading.local):
    """Those of this thread."""

    def __init__(self) -> None:
        self.depth = 0
        self.began = 0.0
        self.ended: list[Span] = []


_spans = _Spans()
_said = threading.Event()


def begin() -> None:
    """Compiling or loading begins; one kernel may ask for others."""
    if _spans.depth == 0:
        _spans.began = time.perf_counter()
    _spans.depth += 1


def end() -> None:
    """It ends."""
    if _spans.depth == 0:  # it began before anybody listened
        return
    _spans.depth -= 1
    if _spans.depth == 0:
        now = time.perf_counter()
        _spans.ended.append(Span(now, now - _spans.began))


@contextmanager
def counted() -> Iterator[None]:
    """What happens inside counts as loading."""
    begin()
    try:
        yield
    finally:
        end()


def say_once(folder: str | None) -> None:
    """Tell people why nothing seems to happen; ``folder`` is where kernels are kept, if they are.

    By the logger ``dualgap``, whose warnings go to standard error unless somebody has other plans
    for them, and which no filter of Python warnings turns into errors.
    """
    if not _said.is_set():
        _said.set()
        kept = "" if folder is None else f", and kept in {folder} for the next time"
        LOGGER.warning(
            "dualgap: kernels are being compiled, which takes some seconds%s. Such time counts as "
            "set-up.",
            kept,
        )


def clock() -> float:
    """`time.perf_counter` on a clock that stands still while kernels are compiled or loaded."""
    return time.perf_counter() - sum(span.seconds for span in _spans.ended)


def as_setup(result: Result, began: float, ready: float, earlier: float = 0.0) -> Result:
    """The result of a run with all compiling and loading in its set-up, whenever it happened.

    The set-up that is measured already went from ``began`` to ``ready``. Rows of the trace before
    a later span move back by it, as if it had come first. Times in the trace count from ``earlier``
    seconds before ``began``.
    """
    if not _spans.ended or _spans.ended[-1].end <= began:
        return result
    spans = [span for span in _spans.ended if span.end > began]
    late = [span for span in spans if span.end > ready]
    before, setup = result.trace.seconds, result.setup
    first = began - earlier
    seconds = before + sum(span.seconds * (first + before < span.end) for span in late)
    return replace(
        result,
        trace=result.trace.timed(seconds),
        setup=setup._replace(
            seconds=setup.seconds + sum(span.seconds for span in late),
            kernels=sum(span.seconds for span in spans),
        ),
    )
