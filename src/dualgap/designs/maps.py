"""Memory maps that are given as arrays: read by chunks, or used as any array in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgap.designs.blocks import BlockDesign
from dualgap.designs.contract import Design
from dualgap.designs.files import is_mapped

LARGE = 1 << 26
"""Maps of so many bytes as float64 leave it open whether their rows are held."""


class MapDesign(BlockDesign, counts=True):
    """A map of a file, of which a problem decides whether its rows are held.

    Parameters
    ----------
    A : memory map of shape (n, d)
    in_memory : callable
        What makes a design of such an array where rows are held.
    """

    holds_rows = None

    def __init__(self, A: Any, in_memory: Callable[[Any], Design]) -> None:
        super().__init__(A)
        self._array, self._in_memory = A, in_memory

    def holding(self, rows: bool) -> Design:
        """The rows by chunks, or the array as a design in memory, with the same ledger."""
        if not rows:
            return super().holding(False)
        made = self._in_memory(self._array)
        self.ledger.rows += made.ledger.rows
        made.ledger = self.ledger
        return made


def is_large_map(A: Any) -> bool:
    """Whether an array lies in a file, row after row, and is large."""
    return bool(
        is_mapped(A)
        and A.ndim == 2
        and A.dtype.kind in "biuf"
        and A.flags.c_contiguous
        and 8 * A.size >= LARGE
    )
