"""Dense data, float64 or float32, in C or Fortran order, used as they lie in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs._defaults import CHUNK_BLOCKS
from dualgap.designs.chunks import Chunk
from dualgap.designs.columns import Columns, DenseColumns, Room
from dualgap.designs.contract import Design, block_rows
from dualgap.designs.cuts import Cuts
from dualgap.designs.executors import SERIAL, Executor, Filled, RowArrays
from dualgap.designs.ledger import NORMS, Ledger, products
from dualgap.designs.narrow import NarrowCopy, narrow_copy
from dualgap.designs.parts import dense_parts, over_parts, steps
from dualgap.designs.protocols import Rows, Stored
from dualgap.designs.tasks import Between, there_and_back
from dualgap.designs.ungathered import UngatheredColumns
from dualgap.limits import check_time
from dualgap.memory import check_copy, spares

Block = tuple[slice, Array]
"""Some consecutive rows in float64, and which they are."""

ROOM = 16
"""Memory is set aside for so many times the columns that are gathered first, so that others follow
without a copy; what is not touched costs nothing, but where private memory is limited."""
LEAST_ROWS = 16
"""Data are cut only into chunks of at least so many rows; smaller ones do not pay."""


class DenseDesign(Design, counts=True):
    """A dense matrix; the caller's array is kept by reference and never written to.

    Parameters
    ----------
    A : array of shape (n, d)
    longest : float, optional
        The squared norm of its longest row, if that is known.
    column_squares : array, optional
        Squared norms of its columns, if they are known.
    ledger : Ledger, optional
        That of the data, if A is a copy of them.
    """

    parts_are_apart = True

    def __init__(
        self,
        A: np.ndarray[Any, Any],
        longest: float | None = None,
        column_squares: Array | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.A = A
        self.ledger = Ledger(A.shape[0]) if ledger is None else ledger
        self._longest, self._column_squares = longest, column_squares
        self.shape = (A.shape[0], A.shape[1])
        self._wide = A.dtype == np.float64
        # Rows of a Fortran-ordered array are strided: walk its columns instead.
        self._c_order: np.ndarray[Any, Any] | None = None
        self._by_rows = bool(A.flags.c_contiguous) or not A.flags.f_contiguous

    def matvec(self, x: Array) -> Array:
        """A x."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += products(x)
        if self.cuts.partitions == 1:
            return self._product(self.A, x)
        z = np.empty((self.shape[0], *x.shape[1:]))

        def work(start: int, stop: int) -> tuple[()]:
            if self._wide:
                np.matmul(self.A[start:stop], x, out=z[start:stop])
            else:
                z[start:stop] = self._product(self.A[start:stop], x)
            return ()

        over_parts(self.cuts, work)
        return z

    def rmatvec(self, r: Array) -> Array:
        """A' r."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += products(r)
        if self.cuts.partitions == 1:
            return self._adjoint(self.A, r)

        def work(start: int, stop: int) -> tuple[Array]:
            return (self._adjoint(self.A[start:stop], r[start:stop]),)

        return over_parts(self.cuts, work)[0]

    def _product(self, A: np.ndarray[Any, Any], x: Array) -> Array:
        """A x for some of the rows."""
        if self._wide:
            return np.asarray(A @ x)
        return _by_block(A, x) if self._by_rows else _across_blocks(A.T, x)

    def _adjoint(self, A: np.ndarray[Any, Any], r: Array) -> Array:
        """A' r for some of the rows."""
        if self._wide:
            return np.asarray(A.T @ r)
        return _across_blocks(A, r) if self._by_rows else _by_block(A.T, r)

    @cached_property
    def cuts(self) -> Cuts:
        """Partitions where there is much, chunks where rows are contiguous and overflow a cache."""
        n, d = self.shape
        rows, parts = CHUNK_BLOCKS * block_rows(d), dense_parts(n, d)
        if not n > rows >= LEAST_ROWS or (parts == 1 and not self._by_rows):
            return Cuts.whole(n)
        return Cuts.of_chunks(n, parts, rows)

    @property
    def executor(self) -> Executor:
        """Data in one part are this thread's; their products may have the library's threads."""
        alone = self._executor is None and self.cuts.partitions == 1
        return SERIAL if alone else super().executor

    def chunks(self, part: int) -> Iterator[Chunk]:
        """Views of the rows, widened if need be."""
        if not self.cuts.any:
            yield Chunk(slice(0, self.shape[0]), self)
            return
        for at in self.cuts.chunks(part):
            self.ledger.enter(at.stop - at.start)
            rows = self.A[at].astype(np.float64, copy=False)
            yield Chunk(at, DenseRows(rows, self._by_rows))

    def _swept(
        self, rows: RowArrays, x: Array, between: Between, *args: Any
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """As `Design._swept`, to the last bit, with fewer calls for each chunk."""
        if self._executor is not None:
            return super()._swept(rows, x, between, *args)
        n = self.shape[0]
        if not self.cuts.any:
            return there_and_back(Chunk(slice(0, n), self), rows, x, between, *args)
        z, out = np.empty((n, *x.shape[1:])), Filled(0, n)
        self.ledger.rows += n
        self.ledger.passes += 2.0 * products(x)

        def work(start: int, stop: int) -> tuple[Any, ...]:
            total: list[Any] = []
            for at in steps(start, stop, self.cuts.rows):
                block = self.A[at] if self._wide else self.A[at].astype(np.float64)
                here = np.matmul(block, x, out=z[at])
                r, made, sums = between(here, tuple([values[at] for values in rows]), *args)
                if made:
                    out.put(at, made)
                u = (r.T @ block).T
                if not total:
                    total = [u, *sums]
                    continue
                total[0] += u
                for k, term in enumerate(sums, start=1):
                    total[k] = total[k] + term
            return tuple(total)

        sums = over_parts(self.cuts, work)
        return (z, *(out.arrays or ())), sums

    def narrowed(self) -> NarrowCopy | None:
        """A float32 copy."""
        longest = float(self.row_norms_sq().max()) if self._longest is None else self._longest
        return narrow_copy(self.A, float(np.sqrt(longest)), self.ledger, self.cuts)

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2."""
        self.ledger.passes += NORMS
        out = np.empty(self.shape[0])

        def work(start: int, stop: int) -> tuple[()]:
            for rows, block in self._blocks(start, stop):
                other = block if weights is None else block * weights
                np.einsum("ij,ij->i", block, other, out=out[rows])
            return ()

        over_parts(self.cuts, work)
        return out

    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2."""
        if self._column_squares is not None and (weights == weights[0]).all():
            return np.asarray(weights[0] * self._column_squares)
        self.ledger.passes += NORMS

        def work(start: int, stop: int) -> tuple[Array]:
            out = np.zeros(self.shape[1])
            for rows, block in self._blocks(start, stop):
                out += weights[rows] @ (block * block)
            return (out,)

        return over_parts(self.cuts, work)[0]

    def column_squares(self) -> Array:
        """sum_i a_ij^2 of every column, which is known already where the data were checked."""
        return super().column_squares() if self._column_squares is None else self._column_squares

    def rows(self) -> Rows:
        """The data in C order; a copy of Fortran-ordered ones is made once."""
        if self._c_order is None:
            if not self.A.flags.c_contiguous:
                check_copy(
                    self.A.nbytes,
                    "an algorithm that visits rows takes data in C order, and a copy of A in it",
                    "Give A in C order, or use 'newton', 'working-set' or 'adf-bpd'.",
                )
            self._c_order = np.ascontiguousarray(self.A)
            self.ledger.rows += 0 if self._c_order is self.A else self.shape[0]
        return Rows(self._c_order, None, None, None, 0.0)

    def stored(self, passes: float) -> Stored:
        """The caller's data."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += passes
        return Stored(self.A, None)

    @property
    def nonzeros(self) -> int:
        """n d."""
        return self.A.size

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """A float64 copy of the columns, each contiguous; no copy if they lie like that already."""
        n, d = self.shape
        if self._wide and not self._by_rows and np.array_equal(at, np.arange(d)):
            return DenseColumns(at, self.A.T).of(self.ledger, n, self.nonzeros)
        if isinstance(known, DenseColumns):
            grown = known.grown(at)
            if grown is not None:
                self._gather(at[known.at.size :], constant, grown.T[known.at.size :])
                return grown.of(self.ledger, n, self.nonzeros)
        if not spares(8.0 * n * at.size):
            return UngatheredColumns(self, at, constant, block_rows(d))
        count = min(ROOM * at.size, d + 1)
        room = Room(count if spares(8.0 * n * count) else at.size, n)
        T = room.upto(at.size)
        self._gather(at, constant, T)
        return DenseColumns(at, T, room).of(self.ledger, n, self.nonzeros)

    def _gather(self, at: Places, constant: float, T: Array) -> None:
        """The columns at these places, into the rows of T; d is the place of the constant."""
        ours = np.flatnonzero(at < self.shape[1])
        self.ledger.rows += self.shape[0] * ours.size / self.shape[1]
        if ours.size < at.size:
            T[at == self.shape[1]] = constant
        if self._by_rows:
            from dualgap.linalg.compiled_descent import gather_columns

            gather_columns(self.A, at, ours, T)
        else:
            T[ours] = self.A.T[at[ours]]

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Consecutive rows, widened; views where the data are float64 already."""
        for at in steps(0, self.shape[0], rows):
            self.ledger.rows += at.stop - at.start
            yield at, self.A[at].astype(np.float64, copy=False)

    def _blocks(self, start: int, stop: int, rows: int | None = None) -> Iterator[Block]:
        """Those of a partition, which several threads may go through at once."""
        self.ledger.enter(stop - start)
        for at in steps(start, stop, rows or block_rows(self.shape[1])):
            yield at, self.A[at].astype(np.float64, copy=False)

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A, over blocks of each partition."""
        d = self.shape[1]
        self.ledger.passes += d

        def work(start: int, stop: int) -> tuple[Array]:
            total = np.zeros((d, d))
            for rows, block in self._blocks(start, stop, max(256, d)):
                check_time()
                scaled = np.sqrt(weights[rows])[:, None] * block
                total += scaled.T @ scaled  # numpy sees that it is symmetric: half the work
            return (total,)

        return over_parts(self.cuts, work)[0]

    def outer(self, weights: Array) -> Array:
        """A diag(weights) A'; without a copy of A where all weights are the same."""
        if self._wide and (weights == weights[0]).all():
            self.ledger.rows += self.shape[0]
            self.ledger.passes += self.shape[0]
            return np.asarray(weights[0] * (self.A @ self.A.T))
        return super().outer(weights)

    def take(self, rows: Mask) -> DenseDesign:
        """Some of the rows."""
        some = self.A[rows]
        self.ledger.rows += len(some)
        return DenseDesign(some, ledger=self.ledger)

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r in one sweep."""
        self.ledger.passes += NORMS
        z = np.empty(self.shape[0])

        def work(start: int, stop: int) -> tuple[Array]:
            u = np.zeros(self.shape[1])
            for rows, block in self._blocks(start, stop):
                magnitude = np.abs(block)
                z[rows] = magnitude @ x
                u += magnitude.T @ r[rows]
            return (u,)

        (u,) = over_parts(self.cuts, work)
        return z, u


class DenseRows(DenseDesign, counts=True):
    """The rows of a chunk, in float64. Whoever has cut them has counted them.

    Parameters
    ----------
    A : array of shape (rows, d)
    by_rows : bool
        Whether its rows are contiguous.
    """

    def __init__(self, A: Array, by_rows: bool = True) -> None:
        self.A, self.shape = A, (A.shape[0], A.shape[1])  # not a reading, and made for every chunk
        self._wide, self._by_rows = True, by_rows
        self._longest = self._column_squares = self._c_order = None

    def matvec(self, x: Array) -> Array:
        """A x."""
        return np.asarray(self.A @ x)

    def rmatvec(self, r: Array) -> Array:
        """A' r, along the rows where r is a matrix."""
        return np.asarray((r.T @ self.A).T)


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
