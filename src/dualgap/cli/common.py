"""What every command does alike: refusals, interruptions, broken pipes, JSON."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer

from dualgap.certificate import Certificate

CONVERGED, BAD_INPUT, NOT_CONVERGED = 0, 2, 3
INTERRUPTED, BROKEN_PIPE = 130, 141  # what shells say of a program that a signal ended

IMPORTING = "<frozen importlib._bootstrap>"
"""What is on the stack while a module is imported."""
AGAIN = 0.05
"""Seconds after which a signal that came during an import comes again."""


@contextmanager
def command() -> Iterator[None]:
    """Turn what may go wrong in a command into one line and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone. Nothing may be written any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, TypeError, OSError, ImportError) as error:
        say(str(error))
        raise typer.Exit(BAD_INPUT) from None
    except MemoryError as error:
        say(str(error) or "the data do not fit into memory")
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def terminable() -> Iterator[None]:
    """For what is done here a request to terminate is what Ctrl-C is.

    A fit then ends with the best point so far, after a last checkpoint, where it has one. A signal
    that is ignored, as of a process in the background, is ignored still.
    """
    expected = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.getsignal(number) for number in expected}
    ours = [number for number, handler in expected.items() if before[number] == handler]
    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        ours = []
    for number in ours:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt what is being done, but not an import: half of a module would be left behind."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def say(message: str) -> None:
    """One line to standard error."""
    print(f"dualgap: {message}", file=sys.stderr)


def plain(value: Any) -> Any:
    """For JSON, which has no infinity: null in its place."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def to_json(value: dict[str, Any], indent: int | None = 2) -> str:
    """Strict JSON; floats keep all their digits."""
    return json.dumps(plain(value), indent=indent, allow_nan=False)


def certificate_fields(certificate: Certificate) -> dict[str, Any]:
    """The certificate as a dict, without what it says of single coefficients."""
    return certificate.plain()
