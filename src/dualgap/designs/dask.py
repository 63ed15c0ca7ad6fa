"""Data of dask, dense or sparse, as a design whose rows are where dask has them.

With a client of `distributed` tasks are carried out by its workers (`cluster`); without one, by the
threads of this process, which make one block of rows at a time. Rows are cut into partitions where
dask has cut them, and these into chunks as those of a `BlockDesign`: a matrix in memory with the
same cuts gives the same bits.

dask itself is loaded only where its data are given.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.designs import remote
from dualgap.designs.blocks import BlockDesign, rows_of_chunks
from dualgap.designs.chunks import Chunk
from dualgap.designs.cluster import OnCluster
from dualgap.designs.collections import FileMatrix, Matrix, as_vector
from dualgap.designs.contract import Design
from dualgap.designs.cuts import Cuts, Sums
from dualgap.designs.executors import RowArrays, RowTask
from dualgap.designs.lazy import lazy_rows
from dualgap.designs.ledger import Ledger
from dualgap.designs.pieces import Pieces
from dualgap.designs.rounds import Round

T = TypeVar("T")

TIMEOUT = 600.0
"""Seconds that a round may take."""


class Options(NamedTuple):
    """How data of dask are used."""

    client: Any = None
    gather: bool | str = "auto"
    round_timeout: float = TIMEOUT


def options(client: Any = None, gather: Any = None, round_timeout: Any = None) -> Options:
    """What was asked for, or else what dask's configuration says.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that this process has made last, if there is one.
    gather : bool or "auto", optional
    round_timeout : float, optional
    """
    import dask

    gather = dask.config.get("dualgap.gather", "auto") if gather is None else gather
    if gather != "auto":
        gather = check.flag("gather", gather)
    if round_timeout is None:
        round_timeout = dask.config.get("dualgap.round-timeout", TIMEOUT)
    seconds = check.real("round_timeout", round_timeout, low=0.0, strict=True)
    if client is None and "distributed" in sys.modules:
        from distributed import get_client

        try:
            client = get_client()
        except ValueError:  # there is none
            client = None
    if client is not None and getattr(client, "asynchronous", False):
        raise TypeError("client is asynchronous; a fit waits for its rounds. Make one without it.")
    return Options(client, gather, seconds)


class DaskDesign(Design, counts=True):
    """A matrix whose blocks of rows dask makes, or has made.

    Parameters
    ----------
    A : dask array of shape (n, d), or dask data frame
        Its blocks are arrays or scipy matrices.
    client : distributed.Client, optional
        Whose workers carry out tasks; by default the last one that this process has made.
    round_timeout : float, optional
        Seconds after which a round is tried again, and given up; 600 by default.
    rows_per_chunk : int, optional
        As for `BlockDesign`.
    """

    holds_rows = False
    parts_are_apart = True

    def __init__(
        self,
        A: Any,
        *,
        client: Any = None,
        round_timeout: float | None = None,
        rows_per_chunk: int | None = None,
    ) -> None:
        asked = options(client, False, round_timeout)
        self._set(matrix_of(A, asked), rows_per_chunk)

    @classmethod
    def of(cls, matrix: Matrix | FileMatrix, rows_per_chunk: int | None = None) -> DaskDesign:
        """Of a matrix that was looked at."""
        design = cls.__new__(cls)
        design._set(matrix, rows_per_chunk)
        return design

    def _set(self, matrix: Matrix | FileMatrix, rows_per_chunk: int | None) -> None:
        self._matrix, self.shape = matrix, matrix.shape
        self.ledger, self._executor = matrix.ledger, matrix.cluster
        self.stores_entries = matrix.entries is not None
        """Whether chunks are sparse. `is_sparse` is about rows for kernels, which there are not."""
        if rows_per_chunk is None:
            rows_per_chunk = rows_of_chunks(*self.shape, matrix.entries)
        rows = check.integer("rows_per_chunk", rows_per_chunk)
        self.cuts = Cuts(matrix.edges, rows)
        self.fingerprint = matrix.name

    @property
    def pieces(self) -> Pieces:
        """The blocks, for `OnCluster`."""
        return self._matrix.pieces

    def vectors(self, b: Any, sample_weight: Any, offset: Any) -> tuple[Any, Any, Any]:
        """What belongs to the rows; where it is of dask, in pieces like theirs."""
        of = self._matrix.vector
        return of("b", b), of("sample_weight", sample_weight), of("offset", offset)

    def in_blocks(self, name: str, values: Any) -> Any:
        """A vector of dask as an array of dask in blocks like those of the rows, of any type."""
        return self._collection.aligned(name, as_vector(values))

    def of_each(self, array: Any, function: Callable[[Any, int], T]) -> list[T]:
        """What a function finds of each block of such an array, and its number; a round."""
        return self._collection.of_each(array, function)

    def checksum(self, values: Pieces | None = None) -> str:
        """SHA-256 of the sums of all blocks, or of the pieces of a vector: a round."""
        pieces = self.pieces if values is None else values
        if self._matrix.cluster is None:
            parts = range(self.cuts.partitions)
            sums = [remote.checksum_of(self._matrix.block(k), k) for k in parts]
        else:
            sums = self._matrix.cluster.of_each(pieces, remote.checksum_of)
        return hashlib.sha256(" ".join(sums).encode()).hexdigest()

    @property
    def _collection(self) -> Matrix:
        if not isinstance(self._matrix, Matrix):
            raise TypeError("rows of files have no vectors of dask; give arrays.")
        return self._matrix

    @property
    def title(self) -> str:
        """What messages call it."""
        return "data of dask"

    @property
    def nonzeros(self) -> int:
        """Stored entries."""
        return super().nonzeros if self._matrix.entries is None else self._matrix.entries

    def in_use(self) -> AbstractContextManager[None]:
        """While this lasts the cluster may keep blocks in memory; then they are released."""
        cluster = self._matrix.cluster
        return nullcontext() if cluster is None else cluster.in_use()

    def made_rows(
        self, task: RowTask[Sums], rows: RowArrays, *args: Any, tail: tuple[int, ...] = ()
    ) -> Any:
        """An array of dask, which a cluster makes when it is computed; without one, an array."""
        if self._matrix.cluster is None:
            return super().made_rows(task, rows, *args)
        return lazy_rows(Round(self, task, rows, args, by_rows=True), tail)

    def chunks(self, part: int) -> Iterator[Chunk]:
        """The rows of each, which come here; on a cluster workers have them instead."""
        start, stop = self.cuts.bounds(part)
        place = remote.Place(part, start, stop, self.shape[1])
        source = remote.row_source(self._matrix.block(part), place)
        for chunk in remote.Block(source, place, Cuts((start, stop), self.cuts.rows)).chunks(0):
            self.ledger.enter(chunk.rows.stop - chunk.rows.start)
            yield chunk

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Dense blocks, in order, which come here one by one."""
        for part in range(self.cuts.partitions):
            for chunk in self.arranged(cuts=self.cuts._replace(rows=rows)).chunks(part):
                yield chunk.rows, chunk.dense()

    def place_of(self, row: int) -> str:
        """What a message calls a row."""
        part = int(np.searchsorted(self.cuts.edges, row, side="right")) - 1
        return f"row {row} (row {row - self.cuts.edges[part]} of block {part})"


def matrix_of(A: Any, asked: Options) -> Matrix:
    """A collection, on a cluster if there is one."""
    ledger, cluster = Ledger(1), None
    if asked.client is not None:
        cluster = OnCluster(asked.client, asked.round_timeout, ledger)
    return Matrix(A, cluster, ledger)


def on_cluster(blocks: BlockDesign, name: str, asked: Options) -> DaskDesign:
    """Rows of files, which the workers of a cluster read.

    Parameters
    ----------
    blocks : BlockDesign
        On arrays that are pickled as paths, at which workers find the same files.
    name : str
        What tells them from others.
    asked : Options
        With a client.
    """
    cluster = OnCluster(asked.client, asked.round_timeout, Ledger(1))
    return DaskDesign.of(FileMatrix(blocks, name, cluster), blocks.rows_per_chunk)
