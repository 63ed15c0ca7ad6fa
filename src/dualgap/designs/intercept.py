"""A design with a column of ones appended: (A, 1), without touching A."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap._types import Array
from dualgap.designs._base import Design


class InterceptDesign(Design):
    """The matrix (A, 1); its last coordinate is the intercept."""

    def __init__(self, base: Design) -> None:
        self.base = base
        self.shape = (base.shape[0], base.shape[1] + 1)

    def matvec(self, x: Array) -> Array:
        """A x + c."""
        return np.asarray(self.base.matvec(x[:-1]) + x[-1])

    def rmatvec(self, r: Array) -> Array:
        """(A' r, sum r)."""
        return np.append(self.base.rmatvec(r), r.sum())

    def row_norms_sq(self) -> Array:
        """|a_i|^2 + 1."""
        return self.base.row_norms_sq() + 1.0

    def column_norms_sq(self, weights: Array) -> Array:
        """The base's, and sum weights."""
        return np.append(self.base.column_norms_sq(weights), weights.sum())

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """The base's blocks with a column of ones."""
        for at, block in self.base.blocks(rows):
            yield at, np.column_stack((block, np.ones(block.shape[0])))

    def gram(self, weights: Array) -> Array:
        """The base's Gram matrix, bordered by the weighted column sums."""
        d = self.base.shape[1]
        out = np.empty((d + 1, d + 1))
        out[:d, :d] = self.base.gram(weights)
        out[d, :] = out[:, d] = self.rmatvec(weights)
        return out

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """The base's, with the ones."""
        z, u = self.base.absolute_product(x[:-1], r)
        return z + x[-1], np.append(u, r.sum())
