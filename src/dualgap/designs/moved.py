"""Columns whose origin or unit float64 cannot do without: how they are told, and data without them.

A column such as seconds since 1970 is far from 0 for its spread: beside an intercept it is almost
constant, and what matters of it is in its last digits. One of 1e-160 has squares that vanish. Both
are judged column by column, in units of its largest entry, so that nothing over- or underflows.

The shift m_j is an entry of the column, its median. Entries within a factor of 2 of it have an
exact difference a_ij - m_j in float64 (Sterbenz), and a factor is a power of 2: the moved data are
the user's, not near them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array, Places
from dualgap.designs.contract import Design, block_rows
from dualgap.designs.dense import DenseDesign
from dualgap.designs.sparse import SparseDesign

SMALLEST, LARGEST = 1e-100, 1e50
"""A column whose largest magnitude is not between these two gets another unit, because the Hessian
holds squares of entries, and bounds on it their fourth powers."""
SMALL_SQUARE, LARGE_SQUARE = SMALLEST**2, LARGEST**2
NOWHERE = np.empty(0, dtype=np.intp)
SPREAD = 1e-3
"""A column, or the targets, is far from 0 if its deviation is below this share of its mean."""
SAMPLE = 16
"""So many rows are looked at before a whole column is."""
ALIKE = 0.1
"""Entries of a column that is far from 0 are taken to differ by no more than this share."""
FULL = 1.0 - 1e-6
"""Share of its entries that a column with zeros must have to be far from 0: 1/(1 + SPREAD^2)."""


def column_shifts(base: Design, q: Array) -> Array | None:
    """What to take from each column, 0 from most; None if no column is far from 0.

    Beside one that is, constant columns are moved to 0, too.
    """
    if base.shape[0] < 2 or not isinstance(base, DenseDesign | SparseDesign):
        return None
    if isinstance(base, DenseDesign) and q[0] > 0.0 and q[-1] > 0.0:  # two rows say it of most data
        base.ledger.rows += 2
        first, last = base.A[0], base.A[-1]
        if (np.abs(last - first) > ALIKE * np.abs(first)).all():
            return None
    counts = np.flatnonzero(q)
    at = _candidates(base, counts[:: 1 + (counts.size - 1) // SAMPLE])
    if at.size == 0:
        return None
    shifts, any_far = np.zeros(base.shape[1]), False
    weights = q[counts]
    step = block_rows(base.shape[0])
    for start in range(0, at.size, step):
        some = at[start : start + step]
        middle, spread = middle_and_spread(_columns(base, some)[counts], weights)
        far = (spread > 0.0) & (spread < SPREAD * np.abs(middle))
        shifts[some] = np.where(far | (spread == 0.0), middle, 0.0)
        any_far = any_far or bool(far.any())
    return shifts if any_far else None


def _candidates(base: DenseDesign | SparseDesign, rows: Places) -> Places:
    """Columns whose entries in these rows are alike, and not 0."""
    base.ledger.rows += rows.size
    if isinstance(base, SparseDesign):
        return _full_columns(base, rows)
    first = base.A[rows[0]].astype(np.float64, copy=False)
    at = np.flatnonzero(first)
    for i in rows[1:]:
        if at.size == 0:
            break
        known = first[at]
        at = at[np.abs(base.A[i, at] - known) <= ALIKE * np.abs(known)]
    return at


def _full_columns(base: SparseDesign, rows: Places) -> Places:
    """The candidates of sparse data: columns that are nearly full; others have too many zeros."""
    A, n = base.A, base.shape[0]
    if A.nnz < FULL * n:
        return NOWHERE
    if A.format == "csc":
        return np.flatnonzero(np.diff(A.indptr) >= FULL * n)
    at = A.indices[A.indptr[rows[0]] : A.indptr[rows[0] + 1]]
    for i in rows[1:]:
        if at.size == 0:
            break
        at = np.intersect1d(at, A.indices[A.indptr[i] : A.indptr[i + 1]], assume_unique=True)
    return np.asarray(at, dtype=np.intp)


def middle_and_spread(values: Array, weights: Array) -> tuple[Array, Array]:
    """The median entry of each column, and its standard deviation (0 only if it is constant)."""
    _, exponents = np.frexp(np.abs(values).max(axis=0))
    near_one = np.ldexp(values, -exponents)  # squares of these stay within float64
    half = len(values) // 2
    middle = np.partition(near_one, half, axis=0)[half]
    away = near_one - middle
    mean = weights @ away / weights.sum()
    spread = np.sqrt(weights @ (away - mean) ** 2 / weights.sum())
    return np.ldexp(middle, exponents), np.ldexp(spread, exponents)


def column_sizes(base: Design, at: Places) -> Array:
    """The largest magnitude in each of these columns."""
    if isinstance(base, SparseDesign):
        base.ledger.rows += base.shape[0] * at.size / base.shape[1]
        return np.asarray(abs(base.A[:, at]).max(axis=0).toarray(), dtype=np.float64).reshape(-1)
    sizes = np.zeros(at.size)
    for _, block in base.blocks(block_rows(base.shape[1])):
        np.maximum(sizes, np.abs(block[:, at]).max(axis=0), out=sizes)
    return sizes


def extreme_columns(base: Design) -> Places:
    """Columns whose squares, or products of these, may leave the range of float64."""
    n = base.shape[0]
    if not isinstance(base, DenseDesign | SparseDesign):  # there is nothing that could be moved
        return NOWHERE
    squares = base.column_squares()
    fine = SMALL_SQUARE * n <= np.minimum.reduce(squares) and (
        np.maximum.reduce(squares) <= LARGE_SQUARE
    )
    if fine:
        return NOWHERE
    at = np.flatnonzero((squares < SMALL_SQUARE * n) | (squares > LARGE_SQUARE))
    if isinstance(base, SparseDesign) and squares.max() <= LARGE_SQUARE:
        base.ledger.rows += n
        if not _any_tiny(base.A.data):
            return NOWHERE  # columns without entries
    sizes = column_sizes(base, at)
    return at[(sizes > LARGEST) | ((sizes > 0.0) & (sizes < SMALLEST))]


def _any_tiny(data: Array) -> bool:
    step = block_rows(1)
    pieces = (data[start : start + step] for start in range(0, data.size, step))
    return any(bool((np.abs(piece) < SMALLEST).any()) for piece in pieces)


def moved(base: Design, shifts: Array, factors: Array) -> DenseDesign | SparseDesign:
    """(A - 1 shifts') diag(factors): one float64 copy of the data.

    Of sparse data the columns that are shifted become full; they almost are.
    """
    if isinstance(base, SparseDesign):
        base.ledger.rows += base.shape[0]
        return SparseDesign(_moved_sparse(base.A, shifts, factors), base.ledger)
    assert isinstance(base, DenseDesign)
    base.ledger.rows += base.shape[0]
    B = base.A.astype(np.float64)
    at = np.flatnonzero(shifts)
    B[:, at] -= shifts[at]
    at = np.flatnonzero(factors != 1.0)
    B[:, at] *= factors[at]
    return DenseDesign(B, ledger=base.ledger)


def _moved_sparse(A: Any, shifts: Array, factors: Array) -> Any:
    A = A.astype(np.float64)
    at = np.flatnonzero(shifts)
    if at.size:
        n = A.shape[0]
        parts = np.tile(shifts[at], n), np.tile(at, n), np.arange(0, n * at.size + 1, at.size)
        A = A - sp.csr_array(parts, shape=A.shape).asformat(A.format)
    if (factors != 1.0).any():
        by_row = A.format == "csr"
        at = A.indices if by_row else np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
        A.data *= factors[at]
    return A


def _columns(base: DenseDesign | SparseDesign, at: Places) -> Array:
    """Some columns as a float64 matrix."""
    base.ledger.rows += base.shape[0] * at.size / base.shape[1]
    if isinstance(base, SparseDesign):
        return np.asarray(base.A[:, at].toarray(), dtype=np.float64)
    return base.A[:, at].astype(np.float64)
