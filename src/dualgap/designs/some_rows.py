"""Some of the rows of a design, which are not copied: it is read again, and the rest left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap._types import Array, Mask
from dualgap.designs.contract import Design


class SomeRows(Design, counts=True):
    """Rows of a design that may be larger than memory.

    Parameters
    ----------
    base : Design
    rows : array of bool
        Which of its rows.
    """

    def __init__(self, base: Design, rows: Mask) -> None:
        self.base, self.kept = base, rows
        self.shape = (int(np.count_nonzero(rows)), base.shape[1])
        self.ledger = base.ledger

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """The base's, without the others."""
        start = 0
        for at, block in self.base.blocks(rows):
            some = block[self.kept[at]]
            if len(some):
                yield slice(start, start + len(some)), some
                start += len(some)
