"""What is asked of all data, found out beside another reading of those that have only blocks.

Norms of rows and columns, column means and, of few columns, the Gram matrix are wanted one after
the other by whoever comes first, each a reading of its own. Where a reading costs more than a call
they are sums beside whatever the data are first read for, and known from then on. So is the Gram
matrix of other weights, if its being wanted is known before: it comes with the next reading.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.designs import tasks
from dualgap.designs.executors import RowArrays, RowTask

if TYPE_CHECKING:
    from dualgap.designs.contract import Design


class Found(NamedTuple):
    """Sums over the rows with weights w."""

    means: Array
    """A'w."""
    columns: Array | None
    """sum_i w_i a_ij^2, if they were wanted."""
    gram: Array | None
    """A' diag(w) A, if it was wanted."""

    def times(self, factor: float) -> Found:
        """The sums for weights of so many times w, in arrays of their own."""
        columns = None if self.columns is None else factor * self.columns
        return Found(
            factor * self.means, columns, None if self.gram is None else factor * self.gram
        )


class Survey:
    """The survey of a design, before and after it was taken.

    Parameters
    ----------
    weights : array of shape (n,)
        Weights w >= 0 of the rows.
    gram : bool
        Whether A' diag(w) A is wanted.
    """

    def __init__(self, weights: Array, gram: bool) -> None:
        self.weights, self.with_gram = weights, gram
        self.lengths: Array | None = None
        """|a_i|^2, once the survey was taken."""
        self.found: Found | None = None
        self.wanted: Array | None = None
        """Other weights, whose Gram matrix the next reading takes along;"""
        self.recalled: tuple[Array, Found] | None = None
        """and those for which the last one has."""

    def row_squares(self, design: Design) -> Array:
        """|a_i|^2; the data are read if they were not yet."""
        self._take(design)
        assert self.lengths is not None
        return self.lengths.copy()

    def sums(self, design: Design, weights: Array) -> Found | None:
        """What it knows of these weights; None if it is of others."""
        times = self._times(weights)
        if times is not None:
            self._take(design)
            assert self.found is not None
            return self.found.times(times)
        if self.recalled is not None and np.array_equal(weights, self.recalled[0]):
            return self.recalled[1].times(1.0)
        return None

    def knows_gram(self, weights: Array) -> bool:
        """Whether A' diag(weights) A is part of it."""
        if self.recalled is not None and np.array_equal(weights, self.recalled[0]):
            return True
        return self.with_gram and self._times(weights) is not None

    def is_wanted(self, weights: Array) -> bool:
        """Whether the next reading would find A' diag(weights) A."""
        return self.wanted is not None and np.array_equal(weights, self.wanted)

    def read(
        self, design: Design, task: RowTask[Any] | None, rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """Carry out ``task`` as `map_rows` does, and find what is wanted in the same reading.

        Parameters
        ----------
        design : Design
        task : callable or None
            It returns plain tuples.
        rows : tuple of array
        args : tuple
        """
        if self.found is None:
            return self._first(design, task, rows, args)
        if self.wanted is None:
            assert task is not None
            return design.executor.map_rows(design, task, rows, args)
        weights, self.wanted = self.wanted, None
        made, (gram, means, *sums) = design.map_rows(
            tasks.gram_beside, (weights, *rows), task, *args
        )
        self.recalled = weights, Found(means, None, gram)
        return made, tuple(sums)

    def _take(self, design: Design) -> None:
        if self.found is None:
            self._first(design, None, (), ())

    def _first(
        self, design: Design, task: RowTask[Any] | None, rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        (lengths, *made), (columns, means, *sums) = design.map_rows(
            tasks.survey, (self.weights, *rows), self.with_gram, task, *args
        )
        if not np.isfinite(columns).all():
            raise not_finite(design, columns)
        gram = sums.pop(0) if self.with_gram else None
        self.lengths, self.found = lengths, Found(means, columns, gram)
        return tuple(made), tuple(sums)

    def _times(self, weights: Array) -> float | None:
        """The power of 4 by which weights are w, if they are: sums with them round to the same.

        So do those with their roots, of which Gram matrices are made.
        """
        i = int(np.argmax(self.weights))
        times = float(weights[i] / self.weights[i]) if weights.ndim == 1 else 0.0
        if not (0.0 < times < math.inf and math.frexp(math.sqrt(times))[0] == 0.5):
            return None
        return times if np.array_equal(weights, times * self.weights) else None


def not_finite(design: Design, squares: Array) -> ValueError:
    """What to raise where sums of squares of columns are not finite; the data are read to say why.

    Arrays are looked at before; other data are not.
    """
    j = int(np.flatnonzero(~np.isfinite(squares))[0])
    count, rows = design.reduce(tasks.count_not_finite)
    if not count:
        return ValueError(
            f"A is too large to be squared in column {j}. Measure that column in a larger unit."
        )
    return ValueError(
        f"A is not finite: {count} of its entries are not, some of them in column {j}; the first "
        f"one is in {design.place_of(min(rows))}. Drop or impute missing values first."
    )
