"""What a task sees of a design: some consecutive rows, and verbs on them.

A task neither knows nor asks how the rows are stored: they are a small design of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap._types import Array, Places

if TYPE_CHECKING:
    from dualgap.designs.contract import Design


class Chunk(NamedTuple):
    """Some consecutive rows of a design.

    Parameters
    ----------
    rows : slice
        Which, with a start and a stop.
    design : Design
        These rows alone; the whole design where it is not cut.
    """

    rows: slice
    design: Design

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and that of columns."""
        return self.design.shape

    def matvec(self, x: Array) -> Array:
        """A x; x may be a matrix, one column per product."""
        return self.design.matvec(x)

    def rmatvec(self, r: Array) -> Array:
        """A' r; r has as many rows as the chunk."""
        return self.design.rmatvec(r)

    def gram(self, weights: Array, at: Places | None = None) -> Array:
        """A' diag(weights) A, weights >= 0; of the columns at these places only, if given."""
        if at is None:
            return self.design.gram(weights)
        return self.design.columns(at).gram(weights)

    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2."""
        return self.design.column_norms_sq(weights)

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2; |a_i|^2 without weights."""
        return self.design.row_norms_sq(weights)

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r."""
        return self.design.absolute_product(x, r)

    @property
    def sparse(self) -> Any:
        """The rows as a scipy matrix, where they are stored as one; None otherwise."""
        stored = self.design.stored(0.0) if self.design.is_sparse else None
        return None if stored is None else stored.sparse

    def some_columns(self, at: Places) -> Array:
        """The entries of these columns, dense."""
        sparse = self.sparse
        return self.dense()[:, at] if sparse is None else np.asarray(sparse[:, at].toarray())

    def entries(self) -> Array:
        """All entries that are stored, in no order that is promised."""
        sparse = self.sparse
        return self.dense() if sparse is None else np.asarray(sparse.data)

    def dense(self) -> Array:
        """The rows as a float64 matrix, which is not to be written to."""
        blocks = [block for _, block in self.design.blocks(max(1, self.shape[0]))]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
