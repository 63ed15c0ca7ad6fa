"""Drive one contestant up its ladder and time it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.race.tasks import Task

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
TARGETS = (1e-3, 1e-6, 1e-9)
"""Relative suboptimalities that count."""
MOST_RUNS = 7
RUN_FOR = 0.4
"""Seconds of further runs after which a rung is not run again."""


@dataclass(frozen=True)
class Contestant:
    """A way to solve the task, with a knob from loose to tight."""

    fit: Callable[[Any], np.ndarray | tuple[np.ndarray, dict[str, Any]]]
    """Of a rung of the ladder: x, or x and what else is worth keeping."""
    ladder: Sequence[Any]


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    optimum: float
    """P*, as far as known."""
    seconds: float
    """For all runs of the contestant together."""
    give_up: float
    """A run longer than this that misses the middle target ends the contestant."""
    clock: str = "wall"


@dataclass
class Rung:
    """One setting of the knob."""

    knob: str
    seconds: float
    """Best of its runs."""
    primal: float
    runs: int = 1
    extra: dict[str, Any] = field(default_factory=dict)

    as_dict = asdict


def tolerances(start: float = -1.0, stop: float = -14.0) -> list[float]:
    """Half decades."""
    return [10.0**e for e in np.arange(start, stop - 0.25, -0.5)]


def budgets(first: int, growth: float = 1.5, most: int = 10**6) -> list[int]:
    """Iterations, growing geometrically."""
    out = [first]
    while out[-1] < most:
        out.append(max(out[-1] + 1, int(out[-1] * growth)))
    return out


def pairs(first: int, growth: float = 1.6) -> list[tuple[float, int]]:
    """Tolerances with iterations beside them, so that a call with a small budget ends soon."""
    return [(tol, int(first * growth**k)) for k, tol in enumerate(tolerances())]


def measure(
    task: Task, contestant: Contestant, limits: Limits, tell: Callable[[dict], None]
) -> str:
    """Climb the ladder once, then time again the rungs that count; how it ended."""
    scale = task.primal_at_zero - limits.optimum
    contestant.fit(contestant.ladder[0])  # compiles what there is to compile
    clock = CLOCKS[limits.clock]
    end = clock() + limits.seconds
    rungs: list[tuple[Any, Rung]] = []
    note = ""
    for knob in contestant.ladder:
        rung = _timed(task, contestant, knob, clock)
        if rung.seconds > limits.give_up:  # perhaps it compiled what looser rungs did not need
            again = _timed(task, contestant, knob, clock)
            if again.seconds < rung.seconds / 2:
                end += rung.seconds
            rung.seconds, rung.runs = min(rung.seconds, again.seconds), 2
        rungs.append((knob, rung))
        tell(rung.as_dict())
        suboptimality = (rung.primal - limits.optimum) / scale
        if suboptimality <= TARGETS[-1]:
            break
        if rung.seconds > limits.give_up and suboptimality > TARGETS[1]:
            note = "given up: far slower than the best"
            break
        if clock() > end:
            note = "out of time"
            break
    for knob, rung in _that_count(rungs, limits.optimum, scale):
        again = 0.0
        while rung.runs < MOST_RUNS and again < RUN_FOR:
            new = _timed(task, contestant, knob, clock)
            again += new.seconds
            rung.seconds, rung.runs = min(rung.seconds, new.seconds), rung.runs + 1
        tell(rung.as_dict())
    return note


def repeat(contestant: Contestant, shown: str, clock: str, runs: int) -> float:
    """The best of some more runs of the rung that is shown like this."""
    knob = next(knob for knob in contestant.ladder if _shown(knob) == shown)
    now, best = CLOCKS[clock], float("inf")
    for _ in range(runs):
        began = now()
        contestant.fit(knob)
        best = min(best, now() - began)
    return best


def _timed(task: Task, contestant: Contestant, knob: Any, clock: Callable[[], float]) -> Rung:
    began = clock()
    answer = contestant.fit(knob)
    seconds = clock() - began
    x, extra = answer if isinstance(answer, tuple) else (answer, {})
    return Rung(_shown(knob), seconds, task.primal(x), extra=extra)


def _shown(knob: Any) -> str:
    values = knob if isinstance(knob, tuple) else (knob,)
    return ", ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values)


def _that_count(rungs: list[tuple[Any, Rung]], optimum: float, scale: float):
    """For each target, the loosest and the fastest rung that meet it."""
    chosen: dict[int, tuple[Any, Rung]] = {}
    for target in TARGETS:
        good = [pair for pair in rungs if pair[1].primal - optimum <= target * scale]
        if good:
            fastest = min(good, key=lambda pair: pair[1].seconds)
            for pair in (good[0], fastest):
                chosen[id(pair[1])] = pair
    return chosen.values()
