"""The rows of a design without its columns: for tasks on targets, weights and offsets alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.designs.chunks import Chunk
from dualgap.designs.cuts import Cuts

PIECE = 1 << 16
"""Rows that are looked at together."""


class RowsAlone:
    """A source for executors whose chunks have no columns.

    Parameters
    ----------
    edges : tuple of int
        Of the partitions, as in `Cuts`.
    """

    def __init__(self, edges: tuple[int, ...]) -> None:
        self.cuts = Cuts(edges, PIECE)

    def chunks(self, part: int) -> Iterator[Chunk]:
        """Pieces of a partition."""
        from dualgap.designs.contract import BlockRows  # which has these rows in turn

        for at in self.cuts.chunks(part):
            yield Chunk(at, BlockRows(np.empty((at.stop - at.start, 0))))
