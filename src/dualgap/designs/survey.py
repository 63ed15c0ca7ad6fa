"""What is asked of all data, found out beside the first reading of those that have only blocks.

Norms of rows and columns, column means and, of few columns, the Gram matrix are wanted one after
the other by whoever comes first, each a reading of its own. Where a reading costs more than a call
they are sums beside whatever the data are first read for, and known from then on.
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
    """What a survey has found out, for its weights w."""

    rows: Array
    """|a_i|^2."""
    columns: Array
    """sum_i w_i a_ij^2."""
    means: Array
    """A'w."""
    gram: Array | None
    """A' diag(w) A, if it was wanted."""


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
        self.found: Found | None = None

    def taken(self, design: Design) -> Found:
        """What it has found; the data are read for it if they were not yet."""
        if self.found is None:
            self.beside(design, None, (), ())
        assert self.found is not None
        return self.found

    def beside(
        self, design: Design, task: RowTask[Any] | None, rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """Carry out ``task`` with these rows, as `map_rows` does, and survey in the same reading.

        Parameters
        ----------
        design : Design
        task : callable or None
            It returns plain tuples.
        rows : tuple of array
        args : tuple
        """
        (lengths, *made), (columns, means, *sums) = design.map_rows(
            tasks.survey, (self.weights, *rows), self.with_gram, task, *args
        )
        gram = sums.pop(0) if self.with_gram else None
        self.found = Found(lengths, columns, means, gram)
        if not np.isfinite(columns).all():
            self.found = None
            raise not_finite(design, columns)
        return tuple(made), tuple(sums)

    def times(self, weights: Array) -> float | None:
        """The power of 4 by which weights are w, if they are: sums with them round to the same.

        So do those with their roots, of which Gram matrices are made.
        """
        i = int(np.argmax(self.weights))
        times = float(weights[i] / self.weights[i]) if weights.ndim == 1 else 0.0
        if not (0.0 < times < math.inf and math.frexp(math.sqrt(times))[0] == 0.5):
            return None
        return times if np.array_equal(weights, times * self.weights) else None

    def knows_gram(self, weights: Array) -> bool:
        """Whether A' diag(weights) A is part of it."""
        return self.with_gram and self.times(weights) is not None


def not_finite(design: Design, squares: Array) -> ValueError:
    """What to raise where sums of squares of columns are not finite; the data are read to say why.

    Arrays are looked at before; other data are not.
    """
    j = int(np.flatnonzero(~np.isfinite(squares))[0])
    (count,) = design.reduce(tasks.count_not_finite)
    if not count:
        return ValueError(
            f"A is too large to be squared in column {j}. Measure that column in a larger unit."
        )
    return ValueError(
        f"A is not finite: {count} of its entries are not, some of them in column {j}. Drop or "
        "impute missing values first."
    )
