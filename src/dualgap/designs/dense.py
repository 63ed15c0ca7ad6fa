"""Dense data, float64 or float32, in C or Fortran order, used as they lie in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs.columns import Columns, DenseColumns, Room
from dualgap.designs.contract import Between, Design, Rows, block_rows
from dualgap.designs.narrow import NarrowCopy, narrow_copy

ROOM = 16
"""Memory set aside for columns over what the first of them take; it costs nothing untouched."""
LEAST_ROWS = 16
"""Of a block, for `sweep` to pay."""


class DenseDesign(Design):
    """A dense matrix; the caller's array is kept by reference and never written to.

    Parameters
    ----------
    A : array of shape (n, d)
    row_squares, column_squares : array, optional
        Squared norms of its rows and columns, if they are known.
    """

    def __init__(
        self,
        A: np.ndarray[Any, Any],
        row_squares: Array | None = None,
        column_squares: Array | None = None,
    ) -> None:
        self.A = A
        self._row_squares, self._column_squares = row_squares, column_squares
        self.shape = (A.shape[0], A.shape[1])
        self._wide = A.dtype == np.float64
        # Rows of a Fortran-ordered array are strided: walk its columns instead.
        self._c_order: np.ndarray[Any, Any] | None = None
        self._by_rows = bool(A.flags.c_contiguous) or not A.flags.f_contiguous

    def matvec(self, x: Array) -> Array:
        """A x."""
        if self._wide:
            return np.asarray(self.A @ x)
        return _by_block(self.A, x) if self._by_rows else _across_blocks(self.A.T, x)

    def rmatvec(self, r: Array) -> Array:
        """A' r."""
        if self._wide:
            return np.asarray(self.A.T @ r)
        return _across_blocks(self.A, r) if self._by_rows else _by_block(self.A.T, r)

    @property
    def _rows_at_once(self) -> int:
        """Of a block in `sweep`: larger than a core's own cache, for there are calls for each."""
        return 4 * block_rows(self.shape[1])

    @property
    def reads_once(self) -> bool:
        """Where rows are contiguous and there is more than the cache holds."""
        return self._by_rows and self.shape[0] > self._rows_at_once >= LEAST_ROWS

    def sweep(self, x: Array, between: Between) -> tuple[Array, Array]:
        """In one reading, if it can be had."""
        if not self.reads_once:
            return super().sweep(x, between)
        z = np.empty((self.shape[0], *x.shape[1:]))
        u = np.zeros((self.shape[1], *x.shape[1:]))
        for rows, block in self.blocks(self._rows_at_once):
            np.matmul(block, x, out=z[rows])
            r = between(rows, z[rows])
            u += (r.T @ block).T
        return z, u

    def narrowed(self) -> NarrowCopy | None:
        """A float32 copy."""
        return narrow_copy(self.A, float(np.sqrt(self.row_norms_sq().max())))

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2."""
        if weights is None and self._row_squares is not None:
            return self._row_squares
        out = np.empty(self.shape[0])
        for rows, block in self.blocks(block_rows(self.shape[1])):
            other = block if weights is None else block * weights
            np.einsum("ij,ij->i", block, other, out=out[rows])
        return out

    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2."""
        if self._column_squares is not None and (weights == weights[0]).all():
            return np.asarray(weights[0] * self._column_squares)
        out = np.zeros(self.shape[1])
        for rows, block in self.blocks(block_rows(self.shape[1])):
            out += weights[rows] @ (block * block)
        return out

    def column_squares(self) -> Array:
        """As they are known, if they are."""
        return super().column_squares() if self._column_squares is None else self._column_squares

    def rows(self) -> Rows:
        """The data in C order; a copy of Fortran-ordered ones is made once."""
        if self._c_order is None:
            self._c_order = np.ascontiguousarray(self.A)
        return Rows(self._c_order, None, None, None, 0.0)

    @property
    def nonzeros(self) -> int:
        """n d."""
        return self.A.size

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """A float64 copy of the columns, each contiguous; no copy if they lie like that already."""
        n, d = self.shape
        if self._wide and not self._by_rows and np.array_equal(at, np.arange(d)):
            return DenseColumns(at, self.A.T)
        if isinstance(known, DenseColumns):
            grown = known.grown(at)
            if grown is not None:
                self._gather(at[known.at.size :], constant, grown.T[known.at.size :])
                return grown
        room = Room(min(ROOM * at.size, d + 1), n)
        T = room.upto(at.size)
        self._gather(at, constant, T)
        return DenseColumns(at, T, room)

    def _gather(self, at: Places, constant: float, T: Array) -> None:
        """The columns at these places, into the rows of T; d is the place of the constant."""
        ours = np.flatnonzero(at < self.shape[1])
        if ours.size < at.size:
            T[at == self.shape[1]] = constant
        if self._by_rows:
            from dualgap.kernels.coordinate import gather_columns

            gather_columns(self.A, at, ours, T)
        else:
            T[ours] = self.A.T[at[ours]]

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Consecutive rows, widened; views where the data are float64 already."""
        for start in range(0, self.shape[0], rows):
            at = slice(start, min(start + rows, self.shape[0]))
            yield at, self.A[at].astype(np.float64, copy=False)

    def outer(self, weights: Array) -> Array:
        """A diag(weights) A'; without a copy of A where all weights are the same."""
        if self._wide and (weights == weights[0]).all():
            return np.asarray(weights[0] * (self.A @ self.A.T))
        return super().outer(weights)

    def take(self, rows: Mask) -> DenseDesign:
        """Some of the rows."""
        return DenseDesign(self.A[rows])

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r in one sweep."""
        z, u = np.empty(self.shape[0]), np.zeros(self.shape[1])
        for rows, block in self.blocks(block_rows(self.shape[1])):
            magnitude = np.abs(block)
            z[rows] = magnitude @ x
            u += magnitude.T @ r[rows]
        return z, u


def _by_block(A: np.ndarray[Any, Any], x: Array) -> Array:
    """A x for narrow data whose rows are contiguous."""
    out = np.empty((A.shape[0], *x.shape[1:]))
    step = block_rows(A.shape[1])
    for start in range(0, A.shape[0], step):
        np.matmul(A[start : start + step].astype(np.float64), x, out=out[start : start + step])
    return out


def _across_blocks(A: np.ndarray[Any, Any], r: Array) -> Array:
    """A' r for narrow data whose rows are contiguous, summed in block order."""
    out = np.zeros((A.shape[1], *r.shape[1:]))
    step = block_rows(A.shape[1])
    for start in range(0, A.shape[0], step):
        if r.ndim == 2:
            out += A[start : start + step].astype(np.float64).T @ r[start : start + step]
        else:
            out += r[start : start + step] @ A[start : start + step].astype(np.float64)
    return out
