"""Many sparse rows in memory: products by partitions, which threads share.

scipy's products and the compiled sweep run on one core. A partition of rows is a sparse matrix on
the same arrays; its sums are vectors of d numbers, which cost little to add beside the making.
Whether rows are parted follows from the size of the data, and not from the number of threads, which
decides on no bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from dualgap._types import Array
from dualgap.designs import _defaults as default
from dualgap.designs import tasks
from dualgap.designs.blocks import ENTRIES_PER_COLUMN
from dualgap.designs.chunks import Chunk
from dualgap.designs.cuts import Cuts
from dualgap.designs.ledger import PRODUCT
from dualgap.designs.parts import LARGE, MOST_PARTITIONS, PARTITION_BYTES
from dualgap.designs.sparse import SparseDesign, rows_between

BYTES = 12
"""So many bytes does an entry take with its place."""


def pays_to_part(columns: int, entries: int) -> bool:
    """Whether a CSR matrix is large, and a partition of it longer than a row of sums."""
    return BYTES * entries >= LARGE and entries_of_a_partition(columns) <= entries // 2


def entries_of_a_partition(columns: int) -> int:
    """At least so many, each of which costs more than a number that is added up."""
    return max(PARTITION_BYTES // BYTES, ENTRIES_PER_COLUMN * columns)


class PartedDesign(SparseDesign, counts=True):
    """A large CSR matrix; see `SparseDesign` for its parameters."""

    parts_are_apart = True

    @cached_property
    def cuts(self) -> Cuts:
        """Partitions of as many rows each as can be, each of which is a chunk."""
        return self._own_cuts

    @cached_property
    def _own_cuts(self) -> Cuts:
        n, d = self.shape
        parts = min(n, MOST_PARTITIONS, self.nonzeros // entries_of_a_partition(d))
        return Cuts.even(n, max(1, parts), n)

    @cached_property
    def _parts(self) -> list[SparseDesign]:
        """On the arrays of the whole; what they find out about themselves is kept."""
        bounds = map(self._own_cuts.bounds, range(self._own_cuts.partitions))
        return [SparseDesign(rows_between(self.A, *edges)) for edges in bounds]

    def chunks(self, part: int) -> Iterator[Chunk]:
        """The partition; or smaller ones, where rows were cut otherwise."""
        if self.cuts != self._own_cuts:
            whole = SparseDesign(self.A, self.ledger)
            yield from whole.arranged(cuts=self.cuts).chunks(part)
            return
        at = slice(*self.cuts.bounds(part))
        self.ledger.enter(at.stop - at.start)
        yield Chunk(at, self._parts[part])

    def matvec(self, x: Array) -> Array:
        """A x."""
        return default.matvec(self, x)

    def rmatvec(self, r: Array) -> Array:
        """A' r."""
        return default.rmatvec(self, r)

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """A x + shift and A' diag(weights) of it, in one reading of each partition."""
        self.ledger.passes += 2.0 * PRODUCT
        (z,), (u,) = self.executor.map_rows(self, tasks.sweep, (weights,), (x, shift))
        return z, u
