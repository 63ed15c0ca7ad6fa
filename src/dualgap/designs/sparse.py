"""Sparse data in compressed rows (CSR) or columns (CSC), used as they lie in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array, Mask, Places
from dualgap.compiled.clock import can_compile
from dualgap.designs.chunks import Chunk
from dualgap.designs.columns import DENSE_ENOUGH, AllColumns, Columns, sparse_columns
from dualgap.designs.contract import SMALL_SQUARE_ROOT, Design
from dualgap.designs.cuts import Cuts
from dualgap.designs.ledger import NORMS, PRODUCT, Ledger, products
from dualgap.designs.protocols import Rows, Stored
from dualgap.memory import spares

# A float32 matrix is widened by scipy at each product: in pieces, so that no whole float64
# copy of its values ever exists.
PIECE_NONZEROS = 1 << 17
"""Entries of a piece of data that are not float64: one piece is widened at a time."""
WORTH_A_KERNEL = 1 << 16
"""Nonzeros from which loading a compiled kernel pays."""
SWEEPS_TO_SORT = 5
"""After so many sweeps columns are sorted by frequency, which takes as long as three sweeps."""
PRODUCTS_TO_SORT = 30
"""After so many products columns are sorted by frequency; a product gains less by it than a
sweep."""
FREQUENT = 2048
"""Columns whose entries of two vectors stay in a core's first cache."""


Pieces = list[tuple[slice, Any]]
"""Slices of the compressed axis of a matrix, each with the part of the matrix there."""


class SparseDesign(Design, counts=True):
    """A sparse matrix; never made dense but for the blocks of a Gram matrix.

    Parameters
    ----------
    A : sparse matrix or array
        CSR or CSC.
    ledger : Ledger, optional
        That of the data, if A is a copy of them.
    """

    is_sparse = True

    def __init__(self, A: Any, ledger: Ledger | None = None) -> None:
        self.A = A
        self.ledger = Ledger(int(A.shape[0])) if ledger is None else ledger
        self.shape = (int(A.shape[0]), int(A.shape[1]))
        self._rows = A.format == "csr"
        self._pieces = _pieces(A)
        self._pieces_T = [(at, _transposed(piece)) for at, piece in self._pieces]
        self._csr: Any = A if self._rows else None
        self._csc: Any = None if self._rows else A
        self._pairs: dict[bool, float] = {}
        self._sweeps = self._products = 0

    @cached_property
    def _longest(self) -> int:
        """The most entries of a row (of a column, if the data lie by columns)."""
        return int(np.diff(self.A.indptr).max(initial=0))

    @property
    def row_terms(self) -> int:
        """The most entries of a row, where they need not be counted."""
        return self._longest if self._rows else self.shape[1]

    @property
    def column_terms(self) -> int:
        """The most entries of a column, where they need not be counted."""
        return self.shape[0] if self._rows else self._longest

    def matvec(self, x: Array) -> Array:
        """A x."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += products(x)
        if not self._rows:
            return _sum(self._pieces, x)
        if (sorted_ := self._sorted_pieces()) is None:
            return _stack(self._pieces, x)
        order, pieces, _ = sorted_
        return _stack(pieces, x[order])

    def rmatvec(self, r: Array) -> Array:
        """A' r."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += products(r)
        if not self._rows:
            return _stack(self._pieces_T, r)
        if (sorted_ := self._sorted_pieces()) is None:
            return _sum(self._pieces_T, r)
        order, _, pieces_T = sorted_
        u = _sum(pieces_T, r)
        out = np.empty_like(u)
        out[order] = u
        return out

    def _sorted_pieces(self) -> tuple[Places, Pieces, Pieces] | None:
        """Pieces of the data sorted by frequency, once there were many products; None before."""
        self._products += 1
        if self._products <= PRODUCTS_TO_SORT or self.nonzeros < WORTH_A_KERNEL:
            return None
        return self._pieces_by_frequency

    @cached_property
    def _pieces_by_frequency(self) -> tuple[Places, Pieces, Pieces] | None:
        if self._by_frequency is None:
            return None
        order, indices = self._by_frequency
        A = self.A
        pieces = _pieces(on_arrays(type(A), self.shape, (A.data, indices, A.indptr)))
        return order, pieces, [(at, _transposed(piece)) for at, piece in pieces]

    @cached_property
    def cuts(self) -> Cuts:
        """Nowhere, unless they are asked for: scipy's products are made at once."""
        return Cuts.whole(self.shape[0])

    def chunks(self, part: int) -> Iterator[Chunk]:
        """Views of the rows."""
        if not self.cuts.any:
            yield Chunk(slice(0, self.shape[0]), self)
            return
        A = self._by_rows()
        for at in self.cuts.chunks(part):
            self.ledger.enter(at.stop - at.start)
            yield Chunk(at, SparseDesign(rows_between(A, at.start, at.stop)))

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """In one reading, where there is enough to read and rows are at hand."""
        if self.cuts.any or self._executor is not None:
            return super().weighted_sweep(x, weights, shift)
        if self.A.nnz < WORTH_A_KERNEL or self._csr is None or not can_compile():
            z = self.matvec(x)
            z = z + shift if shift else z
            return z, self.rmatvec(weights * z)
        from dualgap.linalg.compiled_gram import csr_sweep

        z, u = np.empty(self.shape[0]), np.zeros(self.shape[1])
        A = self._csr
        self.ledger.rows += self.shape[0]
        self.ledger.passes += 2.0 * PRODUCT
        self._sweeps += 1
        sorted_ = self._by_frequency if self._sweeps > SWEEPS_TO_SORT else None
        if sorted_ is None:
            csr_sweep(A.data, A.indices, A.indptr, shift, x, weights, z, u)
            return z, u
        order, indices = sorted_
        csr_sweep(A.data, indices, A.indptr, shift, x[order], weights, z, u)
        out = np.empty_like(u)
        out[order] = u
        return z, out

    @cached_property
    def _by_frequency(self) -> tuple[Places, Any] | None:
        """Columns with the frequent ones first, and the indices of the rows in that order.

        Entries stay where they are, so that sums are the same to the last bit; but most of them
        meet the same few entries of x and u, which then lie side by side in a core's cache. None
        where that would not be so.
        """
        A, d = self._csr, self.shape[1]
        if d <= FREQUENT or not spares(A.indices.nbytes):
            return None
        counts = np.bincount(A.indices, minlength=d)
        order = np.argsort(-counts, kind="stable")
        if counts[order[:FREQUENT]].sum() < 0.5 * A.nnz:
            return None
        rank = np.empty(d, dtype=A.indices.dtype)
        rank[order] = np.arange(d)
        indices = rank[A.indices]
        indices.setflags(write=A.indices.flags.writeable)  # else the kernel is compiled again
        return order, indices

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2."""
        if weights is not None:
            self.ledger.rows += self.shape[0]
            self.ledger.passes += NORMS
            return np.asarray(self._squares() @ weights).reshape(-1)
        return self._sums_of_squares()[0]

    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2."""
        if (weights == weights[0]).all():
            return np.asarray(weights[0] * self._column_squares)
        self.ledger.rows += self.shape[0]
        self.ledger.passes += NORMS
        return np.asarray(self._squares().T @ weights).reshape(-1)

    @cached_property
    def _column_squares(self) -> Array:
        """The sums of squares of every column; those of rows would be as long as the data."""
        return self._sums_of_squares()[1]

    def _sums_of_squares(self) -> tuple[Array, Array]:
        """The sums of squares of every row and of every column, in one reading."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += NORMS
        if self.nonzeros < WORTH_A_KERNEL or not can_compile():
            squares = self._squares()
            return (
                np.asarray(squares @ np.ones(self.shape[1])),
                np.asarray(squares.T @ np.ones(self.shape[0])),
            )
        from dualgap.linalg.compiled_gram import csr_squares

        rows, columns = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        outer, inner = (rows, columns) if self._rows else (columns, rows)
        csr_squares(self.A.data, self.A.indices, self.A.indptr, outer, inner)
        return rows, columns

    def column_sizes(self, at: Places) -> Array:
        """max_i |a_ij| of some columns."""
        A = self._by_columns_if_spared()
        if A is None:
            sizes = np.zeros(self.shape[1])
            np.maximum.at(sizes, self.A.indices, np.abs(self.A.data))
            self._read(self.nonzeros)
            return sizes[at]
        self._read(int((A.indptr[at + 1] - A.indptr[at]).sum()))
        return np.array(
            [np.abs(A.data[A.indptr[j] : A.indptr[j + 1]]).max(initial=0.0) for j in at]
        )

    @property
    def may_underflow(self) -> bool:
        """Whether a stored entry is so small."""
        self.ledger.rows += self.shape[0]
        size = np.abs(self.A.data)
        return bool(size.min(initial=1.0, where=size > 0.0) < SMALL_SQUARE_ROOT)

    def _squares(self) -> Any:
        values = np.square(self.A.data, dtype=np.float64)
        return on_arrays(type(self.A), self.shape, (values, self.A.indices, self.A.indptr))

    def rows(self) -> Rows:
        """CSR arrays; a copy of CSC data is made once."""
        A = self._by_rows()
        return Rows(None, A.data, A.indices, A.indptr, 0.0)

    def _by_rows(self) -> Any:
        """The data as CSR; of CSC data the one re-laid copy is made here, and kept."""
        if self._csr is None:
            self._csr = self.A.tocsr()
            self.ledger.rows += self.shape[0]
        return self._csr

    def _by_columns(self) -> Any:
        """The data as CSC; of CSR data the one re-laid copy is made here, and kept."""
        if self._csc is None:
            self._csc = self.A.tocsc()
            self.ledger.rows += self.shape[0]
        return self._csc

    def _by_columns_if_spared(self) -> Any:
        """The same; None where memory does not spare the copy."""
        parts = (self.A.data, self.A.indices, self.A.indptr)
        if self._csc is None and not spares(sum(part.nbytes for part in parts)):
            return None
        return self._by_columns()

    def _read(self, entries: int) -> None:
        """Enter these in the ledger."""
        self.ledger.rows += self.shape[0] * entries / max(1, self.nonzeros)

    def stored(self, passes: float) -> Stored:
        """The caller's data."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += passes
        return Stored(None, self.A)

    @property
    def nonzeros(self) -> int:
        """Stored entries."""
        return int(self.A.nnz)

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """The columns from CSC; all of them as they are."""
        every = at.size == self.shape[1] + bool(constant) and self.A.dtype == np.float64
        if every and self.nonzeros <= DENSE_ENOUGH * self.shape[0] * self.shape[1]:
            every_one = AllColumns(at, self._by_rows(), self._by_columns, constant)
            return every_one.of(self.ledger, self.shape[0], self.nonzeros)
        ours = at[:-1] if constant else at
        if ours.size == 0:  # the constant alone
            return sparse_columns(at, sp.csc_array((self.shape[0], 0)), constant)
        by_columns = self._by_columns_if_spared()
        if by_columns is None:  # scipy's choice of columns walks the rows
            some = self._by_rows()[:, ours].tocsc()
        else:
            some = _some_columns(by_columns, ours)
        self._read(int(some.nnz))
        return sparse_columns(at, some, constant).of(self.ledger, self.shape[0], self.nonzeros)

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Consecutive rows as dense float64 blocks."""
        A = self._by_rows()
        for start in range(0, self.shape[0], rows):
            at = slice(start, min(start + rows, self.shape[0]))
            self.ledger.rows += at.stop - start
            yield at, A[at].toarray().astype(np.float64, copy=False)

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A: a sparse product, dense only in the result."""
        self.ledger.rows += self.shape[0]
        self.ledger.passes += self.shape[1]
        weighted = sp.diags_array(weights) @ self.A
        return np.asarray((self.A.T @ weighted).toarray(), dtype=np.float64)

    def outer(self, weights: Array) -> Array:
        """A diag(weights) A', pair by pair of the entries of a column."""
        from dualgap.linalg.compiled_gram import csr_gram

        A = self._by_columns_if_spared()  # the rows of A'
        if A is None:
            return super().outer(weights)
        self.ledger.rows += self.shape[0]
        self.ledger.passes += self.shape[0]
        out = np.zeros((self.shape[0], self.shape[0]))
        csr_gram(A.data, A.indices, A.indptr, 0.0, weights, out)
        return np.asarray(out + np.tril(out, -1).T)

    def take(self, rows: Mask) -> SparseDesign:
        """Some of the rows, as CSR."""
        some = self._by_rows()[rows]
        self.ledger.rows += some.shape[0]
        return SparseDesign(some, self.ledger)

    def gram_multiplications(self, columns: bool) -> float:
        """Pairs of entries in a row (in a column, for `outer`)."""
        if columns not in self._pairs:
            A = self._by_rows()
            counts = np.diff(A.indptr) if columns else np.bincount(A.indices)
            self._pairs[columns] = 0.5 * float(np.square(counts.astype(np.float64)).sum())
        return self._pairs[columns]

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r."""
        self.ledger.rows += 2 * self.shape[0]
        self.ledger.passes += NORMS
        magnitude = abs(self.A)
        return np.asarray(magnitude @ x), np.asarray(magnitude.T @ r)


def _pieces(A: Any) -> Pieces:
    """The matrix itself if it is float64, else slices of its compressed axis that share memory."""
    major = A.shape[0] if A.format == "csr" else A.shape[1]
    if A.dtype == np.float64 or A.nnz <= PIECE_NONZEROS:
        return [(slice(0, major), A)]
    cuts = np.searchsorted(A.indptr, np.arange(PIECE_NONZEROS, A.nnz, PIECE_NONZEROS))
    edges = np.unique(np.concatenate(([0], cuts, [major])))
    return [
        (slice(int(lo), int(hi)), rows_between(A, int(lo), int(hi))) for lo, hi in pairwise(edges)
    ]


def rows_between(A: Any, start: int, stop: int) -> Any:
    """Some of the rows of CSR data (of the columns of CSC data), which share memory with it."""
    lo, hi = A.indptr[start], A.indptr[stop]
    shape = (stop - start, A.shape[1]) if A.format == "csr" else (A.shape[0], stop - start)
    parts = (A.data[lo:hi], A.indices[lo:hi], A.indptr[start : stop + 1] - lo)
    return on_arrays(type(A), shape, parts)


def on_arrays(cls: Any, shape: tuple[int, int], parts: tuple[Any, Any, Any]) -> Any:
    """A sparse matrix on these arrays; scipy's constructor would copy views."""
    out = cls(shape, dtype=parts[0].dtype)
    out.data, out.indices, out.indptr = parts
    return out


def trimmed(A: Any) -> Any:
    """CSR or CSC data without what lies beyond their last entry."""
    parts = (A.data[: A.nnz], A.indices[: A.nnz], A.indptr)
    return on_arrays(type(A), A.shape, parts)


def _some_columns(A: Any, at: Places) -> Any:
    """A[:, at] of CSC data; scipy's indexing takes longer over its checks than over the copy."""
    begin = A.indptr[at]
    counts = A.indptr[at + 1] - begin
    indptr = np.zeros(at.size + 1, dtype=A.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    entries = np.arange(indptr[-1]) + np.repeat(begin - indptr[:-1], counts)
    parts = (A.data[entries], A.indices[entries], indptr)
    return on_arrays(type(A), (A.shape[0], at.size), parts)


def _transposed(A: Any) -> Any:
    """A' on the arrays of A."""
    cls = {"csr": sp.csc_array, "csc": sp.csr_array}[A.format]
    return on_arrays(cls, (A.shape[1], A.shape[0]), (A.data, A.indices, A.indptr))


def _stack(pieces: Pieces, x: Array) -> Array:
    """Products of pieces along the result."""
    if len(pieces) == 1:
        return np.asarray(pieces[0][1] @ x, dtype=np.float64)
    return np.concatenate([piece @ x for _, piece in pieces])


def _sum(pieces: Pieces, x: Array) -> Array:
    """Products of pieces along the argument, summed in order."""
    if len(pieces) == 1:
        return np.asarray(pieces[0][1] @ x, dtype=np.float64)
    total = pieces[0][1] @ x[pieces[0][0]]
    for at, piece in pieces[1:]:
        total += piece @ x[at]
    return np.asarray(total)
