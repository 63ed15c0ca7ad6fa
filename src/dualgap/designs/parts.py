"""Partitions of data in memory, and work on them that threads share.

Products of large data are calls for some consecutive rows each: what has an entry for each row is
written where it belongs, and what is summed is added up by the tree of `cuts`. Whether there are
partitions, and where, follows from the data alone; with one, work is what it is without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dualgap.designs.cuts import Cuts, Sums, added_by_tree
from dualgap.designs.threads import current_threads, one_blas_thread
from dualgap.limits import check_time

LARGE = 1 << 26
"""Data in memory of fewer bytes are not parted: their products take a few milliseconds."""
PARTITION_BYTES = 1 << 24
"""A partition takes milliseconds, against which handing it to a thread costs little; and there are
many, so that a thread that is slow because others use its core holds nobody up for long."""
MOST_PARTITIONS = 64
"""Sums of some partitions are held at once; more than this have no use on one machine."""
ROWS_PER_COLUMN = 2
"""A partition of dense data has at least so many rows for each column: Gram matrices of some
partitions are held at once, and each of them is half as large as a partition at most."""


def dense_parts(n: int, d: int) -> int:
    """Into how many partitions a dense matrix in memory is cut."""
    if 8 * n * d < LARGE or not d:
        return 1
    return max(1, min(MOST_PARTITIONS, 8 * n * d // PARTITION_BYTES, n // (ROWS_PER_COLUMN * d)))


def over_parts(cuts: Cuts, work: Callable[[int, int], Sums]) -> Sums:
    """The sums of ``work(start, stop)`` over the rows of each partition, in this call's threads.

    Parameters
    ----------
    cuts : Cuts
    work : callable
        It may write to the rows from start to stop of arrays, which nobody else does.
    """
    if cuts.partitions == 1:
        return work(*cuts.bounds(0))

    def part(k: int) -> Sums:
        check_time()
        return work(*cuts.bounds(k))

    with one_blas_thread():
        return added_by_tree(current_threads().in_order(part, cuts.partitions))


def steps(start: int, stop: int, rows: int) -> Iterator[slice]:
    """Some rows after the others."""
    for first in range(start, stop, rows):
        yield slice(first, min(first + rows, stop))
