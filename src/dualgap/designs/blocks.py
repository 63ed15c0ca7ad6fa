"""Rows that are read by chunks from where they are: arrays, memory maps, files.

Such a design has no products of its own. All that it does are tasks on chunks, which threads may
carry out at once (`threads`), and which add up in an order that the cuts decide and the cuts alone:
the same rows give the same bits from memory and from disk, by one thread and by many.

A chunk of dense rows is as large as one of data in memory, 2 MiB: both products with it are made
while a core's cache holds it. A partition is what a thread takes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap import _validation as check
from dualgap._types import Array, Places
from dualgap.designs._defaults import CHUNK_BLOCKS
from dualgap.designs._structure import check_sides
from dualgap.designs.chunks import Chunk
from dualgap.designs.contract import Design, block_rows
from dualgap.designs.cuts import Cuts
from dualgap.designs.dense import DenseRows
from dualgap.designs.files import watched
from dualgap.designs.ledger import Ledger
from dualgap.designs.parts import MOST_PARTITIONS, PARTITION_BYTES
from dualgap.designs.picked import PickedRows, PickedSparseRows, SparseWithConstant, WithConstant
from dualgap.designs.sources import DenseSource, RowSource, SparseSource
from dualgap.designs.sparse import SparseDesign

SPARSE_CHUNK_BYTES = 1 << 23
"""A chunk of sparse rows takes so many: products with them gain nothing by a cache, and larger
chunks cost fewer calls."""
ENTRIES_PER_COLUMN = 16
"""Entries of a chunk for each column: the sums over a chunk have as many numbers as columns, and
adding them up must cost less than making them."""
COUNTED_AT_ONCE = 1 << 20
"""Rows whose entries are counted at a time."""


class BlockDesign(Design, counts=True):
    """A matrix whose rows are read by chunks, dense or sparse.

    Parameters
    ----------
    A : array, memory map or CSR matrix of shape (n, d)
        Of real numbers of any kind; it is not copied, and converted chunk by chunk. Not looked at
        here: what is not finite is found by the first reading.
    rows_per_chunk : int, optional
        Rows of a chunk; by default of 2 MiB, or of 8 MiB if they are sparse. With the number of
        partitions, which follows from the size of the data, it decides on the last bits of sums.
    """

    parts_are_apart = True

    def __init__(self, A: Any, *, rows_per_chunk: int | None = None) -> None:
        compressed = _compressed(A) if sp.issparse(A) else None
        values = check.numeric("A", A) if compressed is None else A
        if values.ndim != 2 or 0 in values.shape:
            raise ValueError(f"A must have rows and columns, got shape {values.shape}.")
        self._set_source(compressed or DenseSource(watched(values)), rows_per_chunk)

    @classmethod
    def over(
        cls, source: RowSource, *, rows_per_chunk: int | None = None, title: str = ""
    ) -> BlockDesign:
        """The same on rows from anywhere.

        Parameters
        ----------
        source : RowSource
            Where rows come from.
        rows_per_chunk : int, optional
            As for the class.
        title : str
            What messages call the data.
        """
        design = cls.__new__(cls)
        design._set_source(source, rows_per_chunk, title)
        return design

    def _set_source(
        self, source: RowSource, rows_per_chunk: int | None = None, title: str = ""
    ) -> None:
        check_sides("A", source.shape)
        self.source, self.shape = source, source.shape
        self.ledger = Ledger(source.shape[0])
        self.stores_entries = isinstance(source, SparseSource)
        """Whether chunks are sparse. `is_sparse` is about rows for kernels, which there are not."""
        self._title = title
        if rows_per_chunk is None:
            rows_per_chunk = chunk_rows(source)
        self.rows_per_chunk = check.integer("rows_per_chunk", rows_per_chunk)

    def some_rows(self, at: Places) -> BlockDesign:
        """Some of the rows as data of their own, which are read from where these are.

        Parameters
        ----------
        at : array of int
            Their numbers, ascending.
        """
        at = np.asarray(at, dtype=np.int64)
        if at.ndim != 1 or at.size == 0 or at[0] < 0 or at[-1] >= self.shape[0]:
            raise ValueError(f"at must be numbers of rows between 0 and {self.shape[0] - 1}.")
        if (at[1:] < at[:-1]).any():
            raise ValueError("at must ascend: rows are read in their order. Sort it.")
        step = self.rows_per_chunk
        if isinstance(self.source, SparseSource):
            return self._made_of(PickedSparseRows(self.source, at, step), "some rows of ")
        return self._made_of(PickedRows(self.source, at, step), "some rows of ")

    def with_constant(self, value: float) -> BlockDesign:
        """The same rows with one more column, the last, which has this number in every row.

        Parameters
        ----------
        value : float
        """
        if isinstance(self.source, SparseSource):
            return self._made_of(SparseWithConstant(self.source, value))
        return self._made_of(WithConstant(self.source, value))

    def _made_of(self, source: RowSource, how: str = "") -> BlockDesign:
        """Rows from a source that is made of this one's."""
        other = BlockDesign.over(source, title=f"{how}{self.title}")
        other.holds_rows, other._executor = self.holds_rows, self._executor
        return other

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """What tells the files that are read from others."""
        return str(getattr(self.source, "mark", ""))

    @property
    def title(self) -> str:
        """What messages call it."""
        return self._title or super().title

    @cached_property
    def cuts(self) -> Cuts:
        """Partitions of whole chunks, as many as the size of the data asks for."""
        n, rows = self.shape[0], self.rows_per_chunk
        chunks = -(-n // rows)
        bytes_ = 12 * self.nonzeros if self.stores_entries else 8 * self.nonzeros
        parts = max(1, min(MOST_PARTITIONS, chunks, bytes_ // PARTITION_BYTES))
        return Cuts.of_chunks(n, parts, rows)

    def chunks(self, part: int) -> Iterator[Chunk]:
        """The rows of each, in float64."""
        for at in self.cuts.chunks(part):
            yield self._chunk(at)

    def _chunk(self, at: slice) -> Chunk:
        rows = self.source.rows(at.start, at.stop)
        self.ledger.enter(at.stop - at.start)
        return Chunk(at, SparseDesign(rows) if self.stores_entries else DenseRows(rows))

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Dense blocks, in order."""
        n = self.shape[0]
        for start in range(0, n, rows):
            at = slice(start, min(start + rows, n))
            block = self.source.rows(at.start, at.stop)
            self.ledger.enter(at.stop - at.start)
            yield at, block.toarray() if self.stores_entries else block

    def column_sizes(self, at: Places) -> Array:
        """max_i |a_ij| of some columns; of sparse data from their entries."""
        if not self.stores_entries:
            return super().column_sizes(at)
        sizes = np.zeros(self.shape[1])
        for part in range(self.cuts.partitions):
            for chunk in self.chunks(part):
                np.maximum.at(sizes, chunk.sparse.indices, np.abs(chunk.sparse.data))
        return sizes[at]

    @property
    def nonzeros(self) -> int:
        """Stored entries."""
        if isinstance(self.source, SparseSource):
            return self.source.nonzeros
        return super().nonzeros

    @property
    def row_terms(self) -> int:
        """The most entries of a row."""
        return self._entries[0] if self.stores_entries else super().row_terms

    def gram_multiplications(self, columns: bool) -> float:
        """Pairs of entries in a row, where they can be counted."""
        return (
            self._entries[1]
            if columns and self.stores_entries
            else super().gram_multiplications(columns)
        )

    @cached_property
    def _entries(self) -> tuple[int, float]:
        """The most entries of a row, and half the sum of their squares; counted from indptr."""
        assert isinstance(self.source, SparseSource)
        most, pairs = 0, 0.0
        for start in range(0, self.shape[0], COUNTED_AT_ONCE):
            stop = min(start + COUNTED_AT_ONCE, self.shape[0])
            counts = self.source.entries(start, stop)
            most = max(most, int(counts.max()))
            pairs += 0.5 * float(np.square(counts.astype(np.float64)).sum())
        return most, pairs


def _compressed(A: Any) -> SparseSource:
    """The arrays of a CSR matrix, as they are."""
    if A.format != "csr":
        raise ValueError(f"A is in {A.format} format, whose rows do not lie together; use tocsr().")
    check.numeric("A", A.data)
    return SparseSource(watched(A.data), watched(A.indices), watched(A.indptr), A.shape)


def chunk_rows(source: RowSource) -> int:
    """How many rows make a chunk, which follows from the data alone."""
    entries = source.nonzeros if isinstance(source, SparseSource) else None
    return rows_of_chunks(*source.shape, entries)


def rows_of_chunks(n: int, d: int, entries: int | None) -> int:
    """The same of n rows and d columns, with so many entries if they are sparse."""
    if entries is None:
        return min(n, CHUNK_BLOCKS * block_rows(d))
    most = max(SPARSE_CHUNK_BYTES // 12, ENTRIES_PER_COLUMN * d)
    return max(1, min(n, n * most // max(1, entries)))
