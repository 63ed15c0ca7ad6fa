"""What a design is: a data matrix as a set of verbs.

Algorithms see products only and never ask how the data are stored. Everything that comes out is
float64, whatever the data are; float32 data stay float32 in memory and are widened block by
block, so products are accumulated safely and no second copy is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs.columns import Columns
from dualgap.limits import check

if TYPE_CHECKING:
    from dualgap.designs.narrow import Narrow

BLOCK_BYTES = 1 << 19
"""A widened block stays in a core's cache."""

SMALL_SQUARE_ROOT = 1e-120
"""Numbers below this have squares that, weighted, may lose digits or vanish."""

BLAS3_GAIN = 5.0
"""How much faster a multiplication is in a product of matrices than with a vector."""


Between = Callable[[slice, Array], Array]
"""What lies between a product with A and one with A': a map of some rows' predictions."""


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
    is_sparse: bool = False
    """Whether `rows` are sparse: for those who choose between kernels, never for algorithms."""

    @property
    def row_terms(self) -> int:
        """At most so many numbers that are not 0 are added up in a product of a row with x."""
        return self.shape[1]

    @property
    def column_terms(self) -> int:
        """The same for a column."""
        return self.shape[0]

    @abstractmethod
    def matvec(self, x: Array) -> Array:
        """A x; x may be a matrix, one column per product."""

    @abstractmethod
    def rmatvec(self, r: Array) -> Array:
        """A' r; r may be a matrix, one column per product."""

    @property
    def reads_once(self) -> bool:
        """Whether `sweep` takes one reading of the data and not two."""
        return False

    def sweep(self, x: Array, between: Between) -> tuple[Array, Array]:
        """z = A x and A' r with r = between(rows, z[rows]): both products of H x, for one reading.

        Designs that can do so call ``between`` block by block, while a block is in the cache.
        """
        z = self.matvec(x)
        return z, self.rmatvec(between(slice(None), z))

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """z = A x + shift and A' diag(weights) z, for a vector x."""
        z, u = self.sweep(x, lambda rows, z: weights[rows] * (z + shift))
        return (z + shift if shift else z), u

    def narrowed(self) -> Narrow | None:
        """Some of these verbs to a few digits, for less; None where there is no such thing."""
        return None

    @abstractmethod
    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2 for every row; |a_i|^2 without weights."""

    @abstractmethod
    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2 for every column."""

    @property
    def may_underflow(self) -> bool:
        """Whether squares of entries may be lost; asked only where a column's squares are tiny."""
        return True

    def column_sizes(self, at: Places) -> Array:
        """max_i |a_ij| of some columns."""
        sizes = np.zeros(at.size)
        for _, block in self.blocks(block_rows(self.shape[1])):
            np.maximum(sizes, np.abs(block[:, at]).max(axis=0), out=sizes)
        return sizes

    def column_squares(self) -> Array:
        """sum_i a_ij^2 for every column."""
        return self.column_norms_sq(np.ones(self.shape[0]))

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Dense float64 blocks of at most ``rows`` consecutive rows, in order."""

    @abstractmethod
    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r: the products with all entries made positive."""

    @abstractmethod
    def rows(self) -> Rows:
        """The data laid out by rows, for kernels; at most one re-laid copy, kept."""

    @property
    @abstractmethod
    def nonzeros(self) -> int:
        """Stored entries: what a product touches."""

    @abstractmethod
    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """The columns at these places, gathered.

        Parameters
        ----------
        at : array of int
            Places; of sparse data they ascend.
        constant : float
            If not 0, place d is that of an appended column of this value.
        known : Columns, optional
            Columns gathered before: what they hold need not be read again.
        """

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A, d x d, weights >= 0, accumulated over blocks in a fixed order."""
        d = self.shape[1]
        total = np.zeros((d, d))
        root = np.sqrt(weights)
        for rows, block in self.blocks(max(256, d)):
            check()
            scaled = root[rows, None] * block
            total += scaled.T @ scaled  # numpy sees that it is symmetric, and does half the work
        return total

    def outer(self, weights: Array) -> Array:
        """A diag(weights) A', n x n, weights >= 0, from pairs of blocks; for few rows."""
        n, root = self.shape[0], np.sqrt(weights)
        out = np.empty((n, n))
        rows = max(256, n // 8)
        for at, block in self.blocks(rows):
            left = root * block
            for also, other in self.blocks(rows):
                check()
                if also == at:
                    out[at, at] = left @ left.T  # numpy sees that it is symmetric
                elif also.start < at.start:
                    out[at, also] = left @ (root * other).T
                    out[also, at] = out[at, also].T
        return out

    @abstractmethod
    def take(self, rows: Mask) -> Design:
        """Some of the rows, copied."""

    def gram_multiplications(self, columns: bool) -> float:
        """What `gram` (or `outer`) costs, in multiplications of a product with a vector."""
        n, d = self.shape
        return n * d * min(n, d) / 2.0 / BLAS3_GAIN


def block_rows(columns: int) -> int:
    """How many rows of ``columns`` float64 values fit a block."""
    return max(1, BLOCK_BYTES // (8 * max(1, columns)))
