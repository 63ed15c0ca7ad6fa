"""Who carries out a task on the partitions of a design.

An executor decides on the when and where, never on a bit: what it has to do for a partition are
`sums_of` and `rows_of`, module-level functions that may run in another thread or process, and the
partitions are put together by `added_by_tree` and `joined`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from dualgap._types import Array
from dualgap.designs.chunks import Chunk
from dualgap.designs.cuts import Cuts, Sums, Tree, added_by_tree, added_in_order
from dualgap.limits import check

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
    """Serial, in threads, on other machines."""

    def reduce(self, source: Source, task: Task[Sums], args: tuple[Any, ...]) -> Sums:
        """The sums over all chunks."""

    def map_rows(
        self, source: Source, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
    ) -> tuple[RowArrays, Sums]:
        """The rows that the chunks make, in order, and the sums over all chunks."""


def sums_of(source: Source, part: int, task: Task[Sums], args: tuple[Any, ...]) -> Sums:
    """The sums over one partition; between chunks the time limit of the call is looked at."""

    def pieces() -> Iterator[Sums]:
        for chunk in source.chunks(part):
            check()
            yield task(chunk, *args)

    return added_in_order(pieces())


def rows_of(
    source: Source, part: int, task: RowTask[Sums], rows: RowArrays, args: tuple[Any, ...]
) -> tuple[RowArrays, Sums]:
    """The rows that one partition makes, and its sums."""
    start, stop = source.cuts.bounds(part)
    out: RowArrays | None = None

    def pieces() -> Iterator[Sums]:
        nonlocal out
        for chunk in source.chunks(part):
            check()
            at = chunk.rows
            made, sums = task(chunk, tuple([own(values[at]) for values in rows]), *args)
            if out is None:
                out = tuple([np.empty((stop - start, *m.shape[1:]), m.dtype) for m in made])
            here = slice(at.start - start, at.stop - start)
            for into, values in zip(out, made, strict=True):
                into[here] = values
            yield sums

    sums = added_in_order(pieces())
    assert out is not None
    return out, sums


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
        tree: Tree[Sums] = Tree()
        parts: list[RowArrays] = []
        for part in range(source.cuts.partitions):
            made, sums = rows_of(source, part, task, rows, args)
            parts.append(made)
            tree.add(sums)
        return joined(parts), tree.total()


SERIAL = Serial()
