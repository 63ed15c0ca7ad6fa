"""Seconds of one thread, the best of several rounds taken in turn."""

from __future__ import annotations

import time
from collections.abc import Callable

Action = Callable[[], object]


def seconds(action: Action) -> float:
    """Of one call, as the processor counts them: what other processes do is not in them."""
    began = time.process_time()
    action()
    return time.process_time() - began


def best_of(actions: dict[str, Action], rounds: int = 8) -> dict[str, float]:
    """The least seconds of each, after a first call that does not count."""
    for action in actions.values():
        action()
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(rounds):
        for name, action in actions.items():
            best[name] = min(best[name], seconds(action))
    return best
