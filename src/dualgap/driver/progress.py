"""The live line: passes, primal, gap, strong convexity, time, expected time left."""

from __future__ import annotations

import math
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from dualgap.memory import written

if TYPE_CHECKING:
    from dualgap.designs import Design

INTERVAL = 0.1
"""Seconds between two refreshes."""
WITHIN_READINGS = 0.5
"""The same where a step is a reading of data on disk, which may take minutes."""
WIDTH = 79
"""Characters of the line at most."""


class Progress(Protocol):
    """Something that is told how a run goes."""

    def update(
        self,
        passes: float,
        primal: float,
        gap: float,
        convexity: float,
        seconds: float,
        target: float,
    ) -> None:
        """Hear of a check; the gap is to reach ``target``."""

    def close(self) -> None:
        """Hear of the end."""


class Silent:
    """Says nothing."""

    def update(self, *values: float) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Line:
    """One line that is written over and over: rich's where it is installed, else plain."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._last = -math.inf
        self._text = ""
        self._history: list[tuple[float, float]] = []
        self._live: Any = None
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:
            return
        console = Console(stderr=True)
        if console.is_terminal:
            self._live = Live(console=console, refresh_per_second=10, auto_refresh=False)
            self._live.start()

    def update(
        self,
        passes: float,
        primal: float,
        gap: float,
        convexity: float,
        seconds: float,
        target: float,
    ) -> None:
        """Refresh the line, unless it was refreshed just now."""
        if gap > 0 and math.isfinite(gap):
            self._history.append((seconds, math.log(gap)))
        self._text = (
            f"{self.name} {passes:5g} passes  P {primal:.5g}  gap {gap:.1e}  "
            f"convexity {convexity:.0e}  {seconds:.1f} s  {self._left(target)}"
        )
        if seconds - self._last < INTERVAL:
            return
        self._last = seconds
        self._show()

    def _left(self, target: float) -> str:
        """Time until the gap reaches its target, if it goes on as in the latter half."""
        if len(self._history) < 4 or target <= 0:
            return "left ?"
        t1, g1 = self._history[-1]
        t0, g0 = self._history[len(self._history) // 2]
        to_go = g1 - math.log(target)
        if to_go <= 0:
            return "left 0 s"
        if g1 >= g0 or t1 <= t0:
            return "left ?"
        return f"left ~{to_go * (t1 - t0) / (g0 - g1):.1f} s"

    def _show(self) -> None:
        if self._live is not None:
            self._live.update(self._text, refresh=True)
        elif sys.stderr.isatty():
            line = self._text[:WIDTH].ljust(WIDTH)
            print("\r" + line, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the last line standing; into a file or pipe it is the only one."""
        if self._live is not None:
            self._live.update(self._text, refresh=True)
            self._live.stop()
        else:
            start = "\r" if sys.stderr.isatty() else ""
            print(start + self._text, file=sys.stderr, flush=True)


class ReadingLine(Line):
    """The line of a run that reads data on disk: readings, gap, bytes a second, time left.

    It goes on within a reading, from a thread that looks at the ledger of the data.

    Parameters
    ----------
    name : str
        The algorithm.
    data : Design
    """

    def __init__(self, name: str, data: Design) -> None:
        super().__init__(name)
        self._ledger, self._bytes = data.ledger, bytes_of_reading(data)
        self._before, self._began = data.ledger.readings, time.perf_counter()
        self._gap, self._target = math.inf, 0.0
        self._gaps: list[tuple[float, float]] = []
        """Readings, and the logarithm of the gap after them."""
        self._ended = threading.Event()
        if self._live is not None or sys.stderr.isatty():
            threading.Thread(target=self._go_on, daemon=True).start()

    def update(
        self,
        passes: float,
        primal: float,
        gap: float,
        convexity: float,
        seconds: float,
        target: float,
    ) -> None:
        """Hear of a gap."""
        self._gap, self._target = gap, target
        if 0.0 < gap < math.inf:
            self._gaps.append((self._readings, math.log(gap)))
        self._text = self._said()

    @property
    def _readings(self) -> float:
        return self._ledger.readings - self._before

    def _said(self) -> str:
        readings, seconds = self._readings, max(time.perf_counter() - self._began, 1e-9)
        rate = written(self._bytes * readings / seconds)
        return (
            f"{self.name} {readings:.1f} readings  gap {self._gap:.1e}  {rate}/s  "
            f"{lasting(seconds)}  {self._left_of(readings, seconds)}"
        )

    def _left_of(self, readings: float, seconds: float) -> str:
        """Time for the readings to come: if the gap goes on to fall as it did; and of the proof."""
        if self._ended.is_set():
            return "done"
        if len(self._gaps) < 2 or self._target <= 0.0 or readings <= 0.0:
            return "left ?"
        (r0, g0), (r1, g1) = self._gaps[-2:]
        to_go = max(g1 - math.log(self._target), 0.0)
        if to_go > 0.0 and (g1 >= g0 or r1 <= r0):
            return "left ?"
        more = to_go * (r1 - r0) / (g0 - g1) if to_go else 0.0
        return f"left ~{lasting(max(more + 1.0 - (readings - r1), 0.0) * seconds / readings)}"

    def _go_on(self) -> None:
        while not self._ended.wait(WITHIN_READINGS):
            self._text = self._said()
            self._show()

    def close(self) -> None:
        """Leave the last line standing, with the gap of the certificate."""
        self._ended.set()
        self._text = self._said()
        super().close()


class RoundLine(ReadingLine):
    """The line of a run on a cluster: rounds, gap, seconds a round, time left."""

    def __init__(self, name: str, data: Design) -> None:
        self._rounds_before = data.ledger.rounds
        super().__init__(name, data)

    def _said(self) -> str:
        rounds = self._ledger.rounds - self._rounds_before
        seconds = max(time.perf_counter() - self._began, 1e-9)
        each = seconds / rounds if rounds else seconds
        return (
            f"{self.name} {rounds} rounds  gap {self._gap:.1e}  {each:.2g} s a round  "
            f"{lasting(seconds)}  {self._left_of(self._readings, seconds)}"
        )


def line_of(name: str, data: Design, held: bool) -> Line:
    """The line of a run.

    Parameters
    ----------
    name : str
        The algorithm.
    data : Design
    held : bool
        Whether their rows are held.
    """
    if held:
        return Line(name)
    return RoundLine(name, data) if data.ledger.rounds else ReadingLine(name, data)


def lasting(seconds: float) -> str:
    """A time as people read it."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 3.0 * length:
            return f"{min(seconds / length, 9999.0):.0f} {unit}"
    return f"{seconds:.1f} s"


def bytes_of_reading(data: Design) -> float:
    """What one reading of the data takes, as they lie on disk where that is known."""
    source = getattr(data, "source", None)
    return float(getattr(source, "nbytes", 8 * data.nonzeros))
