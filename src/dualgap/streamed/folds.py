"""Sums over targets, weights and offsets alone: one sweep over them, which reads none of A.

They are tasks on chunks without columns, carried out by whoever carries out those of the data, so
that they are made where the values are. Some sums are no numbers: ranges, labels, and the sums of
chunks side by side, which are added up exactly in the end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.alone import RowsAlone
from dualgap.designs.cuts import Sums
from dualgap.designs.executors import RowTask, sum_rows
from dualgap.limits import Limits, within

MOST_LABELS = 1 << 16
"""So many classes are told apart; with more the matrices of their coefficients would be huge."""
MANY_LABELS = 16
"""Up to so many labels of a piece are looked for one by one, which is faster than to sort."""

Parts = tuple[float, ...]
"""The sums of pieces, one beside the other: adding them up is left for the end."""


def fold(design: Design, task: RowTask[Sums], rows: tuple[Any, ...], *args: Any) -> Sums:
    """The sums of ``task(chunk, rows, *args)`` over all rows.

    Parameters
    ----------
    design : Design
        Whose rows they are.
    task : callable
        As for `Design.map_rows`; it makes no rows, and its chunks have no columns.
    rows : tuple of RowValues
    *args
        The same for all pieces.
    """
    quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
    with within(Limits()), quiet:
        return sum_rows(design.executor, RowsAlone(design.cuts.edges), task, rows, args)


def mean_of(parts: Parts, whole: float) -> float:
    """Their sum, rounded once, over ``whole``; infinite where one of them is."""
    return math.fsum(parts) / whole if np.isfinite(parts).all() else math.inf


class Range:
    """The least and the largest of some numbers; ranges are added by taking both in.

    Parameters
    ----------
    low, high : float
    """

    __slots__ = ("high", "low")

    def __init__(self, low: float = math.inf, high: float = -math.inf) -> None:
        self.low, self.high = low, high

    @classmethod
    def of(cls, values: Array) -> Range:
        """Of these, if there are any."""
        return cls(float(values.min(initial=math.inf)), float(values.max(initial=-math.inf)))

    def __add__(self, other: Range) -> Range:
        """Of both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


class Labels:
    """Labels that occur, and what their rows weigh; labels are added by taking both in.

    Parameters
    ----------
    values, weights : array
        The labels, ascending, and the sum of weights of each.
    """

    __slots__ = ("values", "weights")

    def __init__(self, values: Array, weights: Array) -> None:
        self.values, self.weights = values, weights

    @classmethod
    def of(cls, b: Array, w: Array | None) -> Labels:
        """Those of some rows."""
        found: list[float] = []
        sums: list[float] = []
        rest = np.ones(len(b), dtype=bool)
        while rest.any() and len(found) < MANY_LABELS:
            label = float(b[int(rest.argmax())])
            here = b == label
            rest &= ~here
            found.append(label)
            sums.append(float(np.count_nonzero(here)) if w is None else float(w[here].sum()))
        known = cls(np.array(found), np.array(sums))._sorted()
        if not rest.any():
            return known
        more, at = np.unique(b[rest], return_inverse=True)
        weights = np.ones(at.size) if w is None else w[rest]
        return known + cls(more, np.bincount(at, weights, more.size).astype(np.float64))

    def __add__(self, other: Labels) -> Labels:
        """All of both, or more of them than are told apart."""
        if np.array_equal(self.values, other.values):
            return Labels(self.values, self.weights + other.weights)
        values, at = np.unique(np.append(self.values, other.values), return_inverse=True)
        weights = np.bincount(at, np.append(self.weights, other.weights), values.size)
        most = MOST_LABELS + 1
        return Labels(values[:most], weights[:most].astype(np.float64))

    def _sorted(self) -> Labels:
        order = np.argsort(self.values)
        return Labels(self.values[order], self.weights[order])
