"""Wall-clock: seconds to 1e-6 of what gets there, one run at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from dualgap.experiments import contenders, store
from dualgap.experiments.claims import LEVEL
from dualgap.experiments.contenders import DEFAULT, Contender
from dualgap.experiments.curves import Curve, curve, stored
from dualgap.experiments.plan import Panel, Plan
from dualgap.experiments.problems import DataSet
from dualgap.experiments.reference import Reference
from dualgap.experiments.runs import RunTask, work

SHORT = 2.0
"""Runs shorter than this many seconds are timed three times, with three seeds."""

Curves = dict[tuple[Contender, str], Curve]
Timings = dict[tuple[str, float], dict[Contender, float]]


def timed_tasks(
    drawn: list[tuple[Panel, Curves]],
    references: dict[tuple[DataSet, float], Reference],
    plan: Plan,
) -> list[RunTask]:
    """What is worth timing: Figures 2 and 3 and two batch algorithms on the same problems."""
    tasks = []
    for p, curves in drawn:
        if p.figure not in (2, 3):
            continue
        reference = references[p.data, p.strength]
        # Those that the paper shows, and what `solve` runs by itself.
        batch = (
            contenders.AG,
            contenders.ADA_BPD_CURVATURE if p.figure == 2 else contenders.ADF_BPD_CURVATURE,
        )
        wanted = [(c, 0, max(plan.batch_passes)) for c in batch]
        for c in p.lines:
            seconds = curves[c, DEFAULT].seconds_to(LEVEL)
            if math.isfinite(seconds):
                # P is looked at every second pass only, which may come a little later.
                repeats = 3 if seconds < SHORT else 1
                wanted += [(c, seed, p.limit + 4) for seed in range(repeats)]
        tasks += [
            RunTask(p.data, p.strength, c, DEFAULT, seed, limit, 0.0, reference, LEVEL, timed=True)
            for c, seed, limit in wanted
        ]
    return tasks


def one_at_a_time(tasks: list[RunTask], folder: Path) -> Iterator[None]:
    """In this process, each after a few passes that load its compiled code."""
    for task in tasks:
        if store.fetch(folder, task.key) is None:
            task.warm_up()
            work(task, folder)
        yield None


def timings(tasks: list[RunTask], folder: Path) -> Timings:
    """Median seconds to 1e-6 (inf: not reached), by problem and contender."""
    groups: dict[tuple[str, float], dict[Contender, list[RunTask]]] = {}
    for t in tasks:
        problem = groups.setdefault((t.data.name, t.strength), {})
        problem.setdefault(t.contender, []).append(t)
    return {
        where: {
            c: curve([stored(folder, t) for t in same], same[0].reference, math.inf).seconds_to(
                LEVEL
            )
            for c, same in tasks_of.items()
        }
        for where, tasks_of in groups.items()
    }
