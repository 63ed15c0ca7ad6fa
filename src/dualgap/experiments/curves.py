"""Finished runs, as a figure draws and a claim sees them: relative gaps against passes.

relative gap = (P(x) - P*)/(P(0) - P*)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.experiments.reference import Reference
from dualgap.experiments.runs import Task
from dualgap.experiments.store import fetch

TARGETS = (1e-3, 1e-6, 1e-9)


def stored(folder: Path, task: Task) -> dict[str, Any]:
    """What a finished piece of work gave."""
    piece = fetch(folder, task.key)
    if piece is None:
        raise RuntimeError(f"A finished run has vanished from {str(folder)!r}; run again.")
    return piece


@dataclass(frozen=True)
class Curve:
    """Runs that differ in their seed only.

    Attributes
    ----------
    passes : array of shape (k,)
        Where P was looked at.
    gaps : array of shape (seeds, k)
        Relative gaps, none below the floor of the reference; a run that has ended keeps its last.
    seconds : array of shape (seeds, k)
        Since the call; nan once a run has ended.
    limit : float
        Passes that each run was allowed.
    """

    passes: Array
    gaps: Array
    seconds: Array
    limit: float

    @property
    def median(self) -> Array:
        """Over the seeds."""
        return np.asarray(np.median(self.gaps, axis=0))

    def passes_to(self, level: float) -> float:
        """Passes until the gap is at most level for the first time: median over seeds, or inf."""
        return _middle([self._first(gaps, level, self.passes) for gaps in self.gaps])

    def spread(self, level: float) -> tuple[float, float]:
        """Least and most passes of any seed."""
        each = [self._first(gaps, level, self.passes) for gaps in self.gaps]
        return min(each), max(each)

    def seconds_to(self, level: float) -> float:
        """The same in seconds."""
        pairs = zip(self.gaps, self.seconds, strict=True)
        return _middle([self._first(gaps, level, clock) for gaps, clock in pairs])

    @property
    def best(self) -> float:
        """The level that (at least) half of the seeds reach."""
        return _middle(list(self.gaps.min(axis=1)))

    @staticmethod
    def _first(gaps: Array, level: float, clock: Array) -> float:
        reached = np.flatnonzero(gaps <= level)
        return float(clock[reached[0]]) if reached.size else math.inf


def _middle(values: list[float]) -> float:
    """The median; of an even number the upper one, so that it is one that occurred."""
    return float(sorted(values)[len(values) // 2])


def curve(runs: list[dict[str, Any]], reference: Reference, limit: float) -> Curve:
    """Put the runs of several seeds together."""
    longest = max(runs, key=lambda run: len(run["passes"]))
    k = len(longest["passes"])
    width = reference.start - reference.optimum
    gaps, seconds = np.empty((len(runs), k)), np.full((len(runs), k), np.nan)
    for row, run in enumerate(runs):
        values = (np.array(run["primal"]) - reference.optimum) / width
        values = np.where(np.isfinite(values), values, np.inf)
        gaps[row, : len(values)] = np.maximum(values, reference.floor)
        gaps[row, len(values) :] = gaps[row, len(values) - 1]
        seconds[row, : len(values)] = run["seconds"]
    return Curve(np.array(longest["passes"]), gaps, seconds, limit)
