"""Progress bars, where somebody can see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Follow = Callable[[str, int, Iterator[None]], None]
"""(title, total, steps): take all the steps."""


def _silently(title: str, total: int, steps: Iterator[None]) -> None:
    for _ in steps:
        pass


@contextmanager
def progress_bars(wanted: bool) -> Iterator[Follow]:
    """A bar for each stage, if rich is installed and standard error is a terminal."""
    console = None
    if wanted:
        try:
            from rich.console import Console

            console = Console(stderr=True)
        except ImportError:
            pass
    if console is None or not console.is_terminal:
        yield _silently
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description:24s}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console) as bars:

        def follow(title: str, total: int, steps: Iterator[None]) -> None:
            for _ in bars.track(steps, total=total, description=title):
                pass

        yield follow
