"""A design with its columns scaled: A diag(f), without touching A.

Products scale the short vectors, so batch methods make no copy. Compiled kernels walk rows: for
them one scaled copy of the values is made when it is first asked for (of sparse data the values
only: indices are shared), in float64, so that kernels and products see the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._arrays import per_row
from dualgap._types import Array, Mask, Places
from dualgap.designs.columns import Columns
from dualgap.designs.composed import Composed
from dualgap.designs.contract import Design
from dualgap.designs.dense import DenseDesign
from dualgap.designs.executors import RowArrays
from dualgap.designs.protocols import Rows
from dualgap.designs.sparse import SparseDesign
from dualgap.designs.tasks import Between


class ScaledDesign(Composed, counts=True):
    """The matrix A diag(f).

    Parameters
    ----------
    base : Design
        A.
    factors : array of shape (d,)
        f.
    """

    def __init__(self, base: Design, factors: Array) -> None:
        super().__init__(base)
        self.factors = factors
        self.shape = base.shape
        self.is_sparse = base.is_sparse
        self._rows: Rows | None = None
        self._explicit: Design | None = None

    def matvec(self, x: Array) -> Array:
        """A (f x)."""
        return self.base.matvec(per_row(self.factors, x) * x)

    def rmatvec(self, r: Array) -> Array:
        """f A' r."""
        out = self.base.rmatvec(r)
        return per_row(self.factors, out) * out

    def over(self, base: Design, rows: slice | None = None) -> ScaledDesign:
        """The scaled design of these rows of the base."""
        return ScaledDesign(base, self.factors)

    def _there_and_back(
        self, rows: RowArrays, x: Array, between: Between, *args: Any
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """The base's, between scalings."""
        x = per_row(self.factors, x) * x
        made, (u, *sums) = self.base._there_and_back(rows, x, between, *args)
        return made, (per_row(self.factors, u) * u, *sums)

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """The base's, between scalings."""
        z, u = self.base.weighted_sweep(self.factors * x, weights, shift)
        return z, self.factors * u

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """The base's, with weights f^2."""
        squares = self.factors**2
        return self.base.row_norms_sq(squares if weights is None else squares * weights)

    def column_norms_sq(self, weights: Array) -> Array:
        """f^2 times the base's."""
        return self.factors**2 * self.base.column_norms_sq(weights)

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """The base's blocks, scaled."""
        for at, block in self.base.blocks(rows):
            yield at, block * self.factors

    def rows(self) -> Rows:
        """One scaled copy of the values."""
        if self._rows is None:
            rows = self.base.rows()
            if rows.dense is not None:
                self._rows = rows._replace(dense=rows.dense * self.factors)
            else:
                assert rows.data is not None and rows.indices is not None
                self._rows = rows._replace(data=rows.data * self.factors[rows.indices])
            self.ledger.rows += self.shape[0]
        return self._rows

    def take(self, rows: Mask) -> ScaledDesign:
        """Some of the rows."""
        return self.over(self.base.take(rows))

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """Columns of the scaled copy that `rows` makes; without rows, from blocks."""
        if not self.offers_rows:
            return super().columns(at, constant, known)
        if self._explicit is None:
            rows = self.rows()
            if rows.dense is not None:
                self._explicit = DenseDesign(rows.dense, ledger=self.ledger)
            else:
                parts: Any = (rows.data, rows.indices, rows.indptr)
                A = sp.csr_array(parts, shape=self.shape)
                self._explicit = SparseDesign(A, ledger=self.ledger)
        return self._explicit.columns(at, constant, known)

    @property
    def nonzeros(self) -> int:
        """The base's."""
        return self.base.nonzeros

    def gram_multiplications(self, columns: bool) -> float:
        """The base's."""
        return self.base.gram_multiplications(columns)

    def outer(self, weights: Array) -> Array:
        """The base's, with weights f^2."""
        return self.base.outer(self.factors**2 * weights)

    def gram(self, weights: Array) -> Array:
        """f f' times the base's."""
        return self.base.gram(weights) * self.factors * self.factors[:, None]

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """The base's, with |f|."""
        size = np.abs(self.factors)
        z, u = self.base.absolute_product(size * x, r)
        return z, size * u
