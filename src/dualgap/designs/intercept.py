"""A design with a constant column appended: (A, s 1), without touching A.

The intercept is c = s x_last. Nothing penalises it, so the constant s is ours to choose: with s^2
the mean squared length of A's columns it does not spoil the conditioning of data whose units are
far from 1. A power of two, so that c and x_last differ by no rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs.columns import Columns
from dualgap.designs.composed import Composed
from dualgap.designs.contract import Design
from dualgap.designs.executors import Executor, RowArrays
from dualgap.designs.narrow import NarrowIntercept, bordered_sweep
from dualgap.designs.protocols import Rows
from dualgap.designs.tasks import Between, shifted, weigh


class InterceptDesign(Composed, counts=True):
    """The matrix (A, s 1); s times its last coordinate is the intercept.

    Parameters
    ----------
    base : Design
        A.
    weights : array of shape (n,)
        Sum to one; they weigh the rows in the length of a column.
    scale : float, optional
        s, where it is known what suits (rounded to a power of two).
    """

    def __init__(self, base: Design, weights: Array, scale: float | None = None) -> None:
        super().__init__(base)
        self.is_sparse = base.is_sparse
        self.shape = (base.shape[0], base.shape[1] + 1)
        self._weights, self._suits = weights, scale

    @cached_property
    def scale(self) -> float:
        """s. Where nobody knows what suits the data are read, but not before s is needed."""
        suits = self._suits
        if suits is None:
            suits = math.sqrt(float(self._squares.sum()) / self.base.shape[1])
        return 2.0 ** round(math.log2(suits)) if suits > 0 else 1.0

    @cached_property
    def _squares(self) -> Array:
        """sum_i weights_i a_ij^2 of the base's columns."""
        return self.base.column_norms_sq(self._weights)

    @property
    def executor(self) -> Executor:
        """The base's. The constant is found first: chunks, which several threads make, need it."""
        _ = self.scale
        return super().executor

    @property
    def row_terms(self) -> int:
        """The base's and the constant."""
        return self.base.row_terms + 1

    @property
    def column_terms(self) -> int:
        """The base's terms; the sum of the constant column has no more."""
        return max(self.base.column_terms, self.shape[0])

    @property
    def may_underflow(self) -> bool:
        """The base's."""
        return self.base.may_underflow

    def column_sizes(self, at: Places) -> Array:
        """The base's, and s."""
        sizes = np.full(at.size, self.scale)
        ours = at < self.base.shape[1]
        sizes[ours] = self.base.column_sizes(at[ours])
        return sizes

    def matvec(self, x: Array) -> Array:
        """A x + c."""
        return np.asarray(self.base.matvec(x[:-1]) + self.scale * x[-1])

    def rmatvec(self, r: Array) -> Array:
        """(A' r, s sum r)."""
        if r.ndim == 2:
            return np.vstack((self.base.rmatvec(r), self.scale * r.sum(axis=0)))
        return np.append(self.base.rmatvec(r), self.scale * r.sum())

    def over(self, base: Design, rows: slice | None = None) -> InterceptDesign:
        """The same constant appended to these rows of the base."""
        return InterceptDesign(base, np.empty(0), self.scale)

    def _there_and_back(
        self, rows: RowArrays, x: Array, between: Between, *args: Any
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """The base's, with the constant column."""
        if between is weigh and x.ndim == 1:
            return super()._there_and_back(rows, x, between)
        c = self.scale * x[-1]
        (z, *made), (u, total, *sums) = self.base._there_and_back(
            rows, x[:-1], shifted, c, between, *args
        )
        last = np.reshape(self.scale * total, (1, *x.shape[1:]))
        return (z + c, *made), (np.concatenate((u, last)), *sums)

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """The base's, with the constant column."""
        return bordered_sweep(self.base, self.scale, x, weights, shift)

    def narrowed(self) -> NarrowIntercept | None:
        """The base's, with the constant column."""
        base = self.base.narrowed()
        return None if base is None else NarrowIntercept(base, self.scale)

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """|a_i|^2 + s^2, weighted if asked for."""
        if weights is None:
            return self.base.row_norms_sq() + self.scale**2
        return np.asarray(self.base.row_norms_sq(weights[:-1]) + weights[-1] * self.scale**2)

    def column_norms_sq(self, weights: Array) -> Array:
        """The base's, and s^2 sum weights."""
        known = weights is self._weights
        squares = self._squares if known else self.base.column_norms_sq(weights)
        return np.append(squares, self.scale**2 * weights.sum())

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """The base's blocks with the constant column."""
        for at, block in self.base.blocks(rows):
            yield at, np.column_stack((block, np.full(block.shape[0], self.scale)))

    def rows(self) -> Rows:
        """The base's rows; kernels append the constant themselves."""
        return self.base.rows()._replace(constant=self.scale)

    def take(self, rows: Mask) -> InterceptDesign:
        """Some of the rows, with the same constant."""
        return self.over(self.base.take(rows))

    def outer(self, weights: Array) -> Array:
        """The base's, plus a constant."""
        return np.asarray(self.base.outer(weights[:-1]) + weights[-1] * self.scale**2)

    @property
    def nonzeros(self) -> int:
        """The base's and the constant column."""
        return self.base.nonzeros + self.shape[0]

    def gram_multiplications(self, columns: bool) -> float:
        """The base's."""
        return self.base.gram_multiplications(columns)

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """The base's, and the constant column where it is asked for."""
        ours = self.scale if (at == self.shape[1] - 1).any() else 0.0
        return self.base.columns(at, ours, known)

    def knows_gram(self, weights: Array) -> bool:
        """The base's, and the sums that border it."""
        return self.base.knows_gram(weights)

    def gram_comes(self, weights: Array) -> None:
        """The base's, and the sums that border it."""
        self.base.gram_comes(weights)

    def gram(self, weights: Array) -> Array:
        """The base's Gram matrix, bordered by the weighted column sums."""
        d = self.base.shape[1]
        out = np.empty((d + 1, d + 1))
        self.base.gram_comes(weights)  # with the sums that border it
        out[d, :] = out[:, d] = self.scale * self.rmatvec(weights)
        out[:d, :d] = self.base.gram(weights)
        return out

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """The base's, with the constant column."""
        z, u = self.base.absolute_product(x[:-1], r)
        return z + self.scale * x[-1], np.append(u, self.scale * r.sum())
