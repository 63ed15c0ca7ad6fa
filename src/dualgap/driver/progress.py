"""The live line: passes, primal, gap, strong convexity, time, expected time left."""

from __future__ import annotations

import math
import sys
from typing import Any, Protocol

INTERVAL = 0.1
"""Seconds between two refreshes."""


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
            print("\r" + self._text[:79].ljust(79), end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the last line standing; into a file or pipe it is the only one."""
        if self._live is not None:
            self._live.update(self._text, refresh=True)
            self._live.stop()
        else:
            start = "\r" if sys.stderr.isatty() else ""
            print(start + self._text, file=sys.stderr, flush=True)
