"""Sources made of another one: some of its rows, or its rows with one more column.

They hold numbers of rows at most, and read what they need of the other one a piece at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array, Places
from dualgap.designs.sources import RowSource, SparseSource


class PickedRows:
    """Some rows of a dense source.

    Parameters
    ----------
    source : RowSource
    at : array of int
        Which rows, ascending.
    step : int
        So many rows of the source are read at a time at most.
    """

    def __init__(self, source: RowSource, at: Places, step: int) -> None:
        self.source, self.at, self.step = source, at, step
        self.shape = (len(at), source.shape[1])
        self.nbytes = source.nbytes * len(at) // source.shape[0]

    @property
    def mark(self) -> str:
        """Of the files."""
        return _mark(self.source)

    def rows(self, start: int, stop: int) -> Array:
        """Read from the first to the last of them, unless there is a wide gap."""
        parts = [*_pieces(self.source, self.at[start:stop], self.step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class PickedSparseRows(SparseSource):
    """The same of a sparse source; its entries are counted at once.

    Parameters
    ----------
    source, at, step
        As for `PickedRows`.
    """

    def __init__(self, source: SparseSource, at: Places, step: int) -> None:
        self.source, self.at, self.step = source, at, step
        self.shape = (len(at), source.shape[1])
        steps = range(0, len(at), step)
        self.nonzeros = sum(int(self.entries(k, min(k + step, len(at))).sum()) for k in steps)
        self.nbytes = source.nbytes * self.nonzeros // max(1, source.nonzeros)

    @property
    def mark(self) -> str:
        """Of the files."""
        return _mark(self.source)

    def rows(self, start: int, stop: int) -> Any:
        """As CSR."""
        parts = [*_pieces(self.source, self.at[start:stop], self.step)]
        out = parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
        out.has_canonical_format = True  # as that of what it is made of
        return out

    def entries(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """How many entries each of these rows has."""
        found = [
            self.source.entries(low, high)[local]
            for low, high, local in _spans(self.at[start:stop], self.step)
        ]
        return np.concatenate(found)


class WithConstant:
    """A dense source with one more column, which has the same number in every row.

    Parameters
    ----------
    source : RowSource
    value : float
    """

    def __init__(self, source: RowSource, value: float) -> None:
        self.source, self.value = source, value
        n, d = source.shape
        self.shape = (n, d + 1)
        self.nbytes = source.nbytes + 8 * n

    @property
    def mark(self) -> str:
        """Of the files."""
        return _mark(self.source)

    def rows(self, start: int, stop: int) -> Array:
        """A copy, the constant last."""
        out = np.empty((stop - start, self.shape[1]))
        out[:, :-1], out[:, -1] = self.source.rows(start, stop), self.value
        return out


class SparseWithConstant(SparseSource):
    """The same of a sparse source.

    Parameters
    ----------
    source, value
        As for `WithConstant`.
    """

    def __init__(self, source: SparseSource, value: float) -> None:
        self.source, self.value = source, value
        n, d = source.shape
        self.shape, self.nonzeros = (n, d + 1), source.nonzeros + n
        self.nbytes = source.nbytes + 12 * n

    @property
    def mark(self) -> str:
        """Of the files."""
        return _mark(self.source)

    def rows(self, start: int, stop: int) -> Any:
        """As CSR, the constant last."""
        rows = self.source.rows(start, stop)
        column = sp.csr_array(np.full((stop - start, 1), self.value))
        out = sp.hstack((rows, column), format="csr")
        out.has_canonical_format = True
        return out

    def entries(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """How many entries each of these rows has."""
        return self.source.entries(start, stop) + 1


def _spans(at: Places, step: int) -> Iterator[tuple[int, int, Any]]:
    """From which row to which to read, and where in between those are that are wanted."""
    k = 0
    while k < len(at):
        low = int(at[k])
        end = k + int(np.searchsorted(at[k:], low + step))
        local = at[k:end] - low
        high = low + int(local[-1]) + 1
        dense = high - low == len(local) and bool((np.diff(local) == 1).all())
        yield low, high, slice(None) if dense else local
        k = end


def _pieces(source: RowSource, at: Places, step: int) -> Iterator[Any]:
    """The wanted rows of each span."""
    for low, high, local in _spans(at, step):
        rows = source.rows(low, high)
        yield rows if isinstance(local, slice) else rows[local]


def _mark(source: RowSource) -> str:
    return str(getattr(source, "mark", ""))
