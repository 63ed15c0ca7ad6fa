"""What a design is: a data matrix as a set of verbs.

Algorithms see products only and never ask how the data are stored. Everything that comes out is
float64, whatever the data are; float32 data stay float32 in memory and are widened block by
block, so products are accumulated safely and no second copy is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array

BLOCK_BYTES = 1 << 19
"""A widened block stays in a core's cache."""


class Rows(NamedTuple):
    """Row access for compiled kernels: a C-ordered matrix, or the three arrays of CSR."""

    dense: np.ndarray[Any, Any] | None
    data: np.ndarray[Any, Any] | None
    indices: np.ndarray[Any, Any] | None
    indptr: np.ndarray[Any, Any] | None
    constant: float
    """The value of an appended constant column, 0 if there is none."""


class Design(ABC):
    """A matrix A of n rows (samples) and d columns (features)."""

    shape: tuple[int, int]

    @abstractmethod
    def matvec(self, x: Array) -> Array:
        """A x; x may be a matrix, one column per product."""

    @abstractmethod
    def rmatvec(self, r: Array) -> Array:
        """A' r; r may be a matrix, one column per product."""

    @abstractmethod
    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2 for every row; |a_i|^2 without weights."""

    @abstractmethod
    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2 for every column."""

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Dense float64 blocks of at most ``rows`` consecutive rows, in order."""

    @abstractmethod
    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r: the products with all entries made positive."""

    @abstractmethod
    def rows(self) -> Rows:
        """The data laid out by rows, for kernels; at most one re-laid copy, kept."""

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A, d x d, accumulated over blocks in a fixed order."""
        d = self.shape[1]
        total = np.zeros((d, d))
        for rows, block in self.blocks(max(256, d)):
            total += block.T @ (weights[rows, None] * block)
        return total


def block_rows(columns: int) -> int:
    """How many rows of ``columns`` float64 values fit a block."""
    return max(1, BLOCK_BYTES // (8 * max(1, columns)))
