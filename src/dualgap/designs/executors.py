"""Who carries out a task on the partitions of a design.

An executor decides on the when and where, never on a bit. Sums of a partition are `sums_of`, and
those of partitions are added by `added_by_tree`. Rows that tasks make are put where they belong by
`filling`, in this process; in another one `rows_of` makes those of a partition, which `joined` puts
together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dualgap._types import Array
from dualgap.designs.chunks import Chunk
from dualgap.designs.cuts import Cuts, Sums, added_by_tree, added_in_order
from dualgap.limits import check_time

RowArrays = tuple[Array, ...]
"""Arrays with an entry, or a row, for each row of the data."""
Task = Callable[..., Sums]
"""task(chunk, *args) -> sums: a pure function at the top level of a module, so that it pickles."""
RowTask = Callable[..., tuple[RowArrays, Sums]]
"""task(chunk, rows, *args) -> (rows, sums), with the rows of the chunk."""


class Source(Protocol):
    """What an executor needs of a design."""

    @property
    def cuts(self) -> Cuts:
        """Where rows are cut."""

    def chunks(self, part: int) -> Iterator[Chunk]:
        """The chunks of a partition, in order, each read once."""


class Executor(Protocol):
    """What carries out tasks: in order, in threads, or on other machines."""

    def reduce(self, source: Source, task: Task[Sums], args: tuple[Any, ...]) -> Sums:
        """The sums over all chunks."""

    def map_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, Sums]:
        """The rows that the chunks make, in order, and the sums over all chunks."""


@runtime_checkable
class SumsRows(Protocol):
    """An executor that would have to send rows somewhere, and knows when there are none."""

    def sum_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> Sums:
        """As `Executor.map_rows`, with a task that makes no rows."""


def sum_rows(
    executor: Executor,
    source: Source,
    task: RowTask[Sums],
    rows: RowArrays,
    args: tuple[Any, ...],
) -> Sums:
    """The sums over all chunks of a task that takes rows and makes none."""
    if isinstance(executor, SumsRows):
        return executor.sum_rows(source, task, rows, args)
    return executor.map_rows(source, task, rows, args)[1]


def sums_of(source: Source, part: int, task: Task[Sums], args: tuple[Any, ...]) -> Sums:
    """The sums over one partition; between chunks the time limit of the call is looked at."""

    def pieces() -> Iterator[Sums]:
        for chunk in source.chunks(part):
            check_time()
            sums = task(chunk, *args)
            del chunk  # whose memory the next one takes
            yield sums

    return added_in_order(pieces())


class Filled:
    """The rows that chunks make, put together in arrays that are made when the first ones come.

    Parameters
    ----------
    start, stop : int
        Which rows of the data.
    """

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.rows = start, stop - start
        self.arrays: RowArrays | None = None
        self._lock = threading.Lock()

    def put(self, at: slice, made: RowArrays) -> None:
        """The rows of a chunk; several threads may do so at once."""
        with self._lock:
            if self.arrays is None:
                self.arrays = tuple([np.empty((self.rows, *m.shape[1:]), m.dtype) for m in made])
        here = slice(at.start - self.start, at.stop - self.start)
        for into, values in zip(self.arrays, made, strict=True):
            into[here] = values

    def taken(self) -> RowArrays:
        """All of them."""
        assert self.arrays is not None
        return self.arrays


def rows_of(
    source: Source, part: int, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
) -> tuple[RowArrays, Sums]:
    """The rows that one partition makes, and its sums."""
    out = Filled(*source.cuts.bounds(part))
    sums = filling(source, part, task, rows, args, out)
    return out.taken(), sums


def filling(
    source: Source,
    part: int,
    task: RowTask[Sums],
    rows: RowArrays,
    args: tuple[Any, ...],
    out: Filled,
) -> Sums:
    """The sums of one partition; its rows are put where they are wanted."""

    def pieces() -> Iterator[Sums]:
        for chunk in source.chunks(part):
            check_time()
            at = chunk.rows
            made, sums = task(chunk, tuple([own(values[at]) for values in rows]), *args)
            out.put(at, made)
            del chunk, made
            yield sums

    return added_in_order(pieces())


def own(values: Array) -> Array:
    """The rows of a chunk, contiguous and in writable memory.

    Compiled code takes others for another type; those of data that stay on disk are others, and so
    is one weight that stands for all. A chunk's are copied, which costs nothing beside its reading.
    """
    fits = values.flags.c_contiguous and values.flags.writeable
    return values if fits else values.copy(order="C")


def joined(parts: Sequence[RowArrays]) -> RowArrays:
    """The rows of all partitions, in order."""
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


class Serial:
    """One partition after the other, here."""

    def reduce(self, source: Source, task: Task[Sums], args: tuple[Any, ...]) -> Sums:
        """The sums over all chunks."""
        parts = range(source.cuts.partitions)
        return added_by_tree(sums_of(source, part, task, args) for part in parts)

    def map_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, Sums]:
        """The rows that the chunks make, in order, and the sums over all chunks."""
        if not source.cuts.any:  # what follows does the same, but takes its time
            (chunk,) = source.chunks(0)
            return task(chunk, tuple([own(values[chunk.rows]) for values in rows]), *args)
        parts, out = range(source.cuts.partitions), Filled(0, source.cuts.edges[-1])
        sums = added_by_tree(filling(source, part, task, rows, args, out) for part in parts)
        return out.taken(), sums


SERIAL = Serial()
