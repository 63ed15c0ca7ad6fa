"""A basis of some columns that is nearly orthonormal, and exact relations to the rest of them.

Of the columns B = diag(r) F those that are kept are independent; X makes C = B_kept X have C'C near
I. It comes from a QR factorisation in float64 or, for columns that are nearly dependent, with twice
the digits. A column is left out only where it is a combination of the kept ones exactly, in every
row: a relation whose terms are added up without any rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from dualgap._types import Array, Mask, Places
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.rounding import UNIT, gamma

PRECISE_LIMIT = 2e7
"""Most n m^2 for which m columns are made orthonormal with twice the digits (about a second)."""
INDEPENDENT = 1e-10
"""A column of length 1 counts as independent in float64 if at least this length is left of it after
its projection onto the other columns is taken away."""
PRECISELY_INDEPENDENT = 2.0**-85
"""The length that must be left of an independent column where it is computed with twice the
digits."""
LARGEST_DENOMINATOR = 64
"""Exact relations between columns are sought with rational coefficients whose denominator is at
most this; relations in real data, such as those of indicator columns, have small ones."""
RELATION_LIMIT = 4_000_000
"""Most entries of an exact relation that are added up one by one."""


class Orthonormal(NamedTuple):
    """Columns of B that are independent, and what makes them nearly orthonormal."""

    X: Double
    C: Array
    """B_kept X."""
    low: float
    """A lower bound on its least singular value."""
    kept: Places
    """Which columns of B are kept."""


def orthonormal(B: Double, F: Array, counts: Mask) -> Orthonormal | None:
    """A basis made nearly orthonormal.

    None where a column is neither independent of the others nor proved to be a combination of them.
    """
    n, m = F.shape
    found = _by_householder(B, F, counts)
    if found is None and n * m * m <= PRECISE_LIMIT:
        found = _by_gram_schmidt(B, F, counts)
    return found


def groups_of_rows(F: Array, counts: Mask) -> tuple[Array, tuple[Array, Double]] | None:
    """The indicators of equal rows, if these span what the columns F span; else None.

    With the distinct rows, turned, and an X that makes them nearly orthonormal.

    Let R be the distinct rows of F that are not 0 and E the indicators of where they stand: F = E
    R. If the rows of R are independent, F and E have the same span.
    """
    some = np.flatnonzero(counts & F.any(axis=1))
    distinct, group = np.unique(F[some], axis=0, return_inverse=True)
    k = distinct.shape[0]
    if k > F.shape[1]:
        return None
    turned = np.ascontiguousarray(distinct.T)
    rows = orthonormal(of(turned), turned, np.ones(F.shape[1], dtype=bool))
    if rows is None or rows.kept.size < k:
        return None
    E = np.zeros((F.shape[0], k))
    E[some, group.reshape(-1)] = 1.0
    return E, (turned[:, rows.kept], rows.X)


def _by_householder(B: Double, F: Array, counts: Mask) -> Orthonormal | None:
    """In float64."""
    n, m = F.shape
    if m == 0:
        return Orthonormal(of(np.zeros((0, 0))), np.zeros((n, 0)), 1.0, np.zeros(0, dtype=np.intp))
    lengths = np.linalg.norm(B.high, axis=0)
    R, order = scipy.linalg.qr(
        B.high / lengths, mode="r", pivoting=True, check_finite=False, overwrite_a=True
    )
    rank = int((np.abs(np.diag(R)) > INDEPENDENT).sum())
    kept, others = order[:rank], order[rank:]
    inverse = scipy.linalg.solve_triangular(R[:rank, :rank], np.eye(rank), check_finite=False)
    rows = int(counts.sum())
    if rank < rows and others.size:
        T = (inverse @ R[:rank, rank:]) / lengths[kept, None] * lengths[others]
        if not _are_combinations(F, kept, others, T, exact=False):
            return None
    X = inverse / lengths[kept, None]
    C = B.high[:, kept] @ X
    sizes = np.abs(B.high[:, kept]) @ np.abs(X)
    low = _least_singular_value(C, gamma(rank + 8) * float(np.linalg.norm(sizes)))
    return Orthonormal(of(X), C, low, kept) if low > 0.5 else None


def _by_gram_schmidt(B: Double, F: Array, counts: Mask) -> Orthonormal | None:
    """Modified Gram-Schmidt with pivoting and twice the digits; X goes through the same steps."""
    n, m = F.shape
    scale = _inverse_root(B.times(B).sum())
    V = B.times(scale)
    X = Double(np.diag(scale.high), np.diag(scale.low))
    left = np.arange(m)
    kept: list[int] = []
    coefficients: list[Double] = []
    while left.size:
        squares = V.times(V).sum()
        k = int(np.argmax(squares.high))
        if squares.high[k] <= PRECISELY_INDEPENDENT**2 or len(kept) == int(counts.sum()):
            break
        unit = _inverse_root(squares.at(slice(k, k + 1)))
        v, x = V.at(slice(None), k).times(unit), X.at(slice(None), k).times(unit)
        kept.append(int(left[k]))
        coefficients.append(x)
        others = np.delete(np.arange(left.size), k)
        left = left[others]
        V, X = V.at(slice(None), others), X.at(slice(None), others)
        v, x = v.at(slice(None), None), x.at(slice(None), None)
        part = V.times(v).sum()
        V, X = V.minus(v.times(part)), X.minus(x.times(part))
    at = np.array(kept, dtype=np.intp)
    basis = Double(
        np.stack([x.high[at] for x in coefficients], axis=1),
        np.stack([x.low[at] for x in coefficients], axis=1),
    )
    if len(kept) < int(counts.sum()) and left.size:
        # A column that is left is F_j less a sum of the kept ones: X says which.
        T = -X.high[at] / np.diagonal(X.high[left])
        if not _are_combinations(F, at, left, T, exact=True):
            return None
    product, size = of(np.zeros((n, at.size))), np.zeros((n, at.size))
    for j, column in enumerate(at):
        term = B.at(slice(None), column, None).times(basis.at(j))
        size += np.abs(term.high)
        product = product.plus(term)
    C = product.high
    error = 64.0 * (at.size + 4) * UNIT**2 * float(np.linalg.norm(size))
    error += UNIT * float(np.linalg.norm(C))
    low = _least_singular_value(C, error)
    return Orthonormal(basis, C, low, at) if low > 0.5 else None


def _inverse_root(a: Double) -> Double:
    """1/sqrt(a)."""
    return of(np.ones_like(a.high)).over(a.root())


def _least_singular_value(C: Array, error: float) -> float:
    """A lower bound on that of any matrix within ``error`` (Frobenius) of C."""
    gram = C.T @ C
    off = float(np.abs(gram - np.eye(C.shape[1])).sum(axis=1).max(initial=0.0))
    off += gamma(C.shape[0] + 4) * float((C * C).sum())
    return math.sqrt(1.0 - off) - error if off < 1.0 else 0.0


def _are_combinations(F: Array, kept: Places, others: Places, T: Array, exact: bool) -> bool:
    """Whether every other column is, exactly, a combination of the kept ones near T.

    With ``exact`` T is good to the last bit, so that coefficients may be any floats; else they are
    looked for as fractions of small integers.
    """
    return all(_is_combination(F, kept, int(j), t, exact) for j, t in zip(others, T.T, strict=True))


def _is_combination(F: Array, kept: Places, j: int, t: Array, exact: bool) -> bool:
    """den F_j = sum_k num_k F_k in every row."""
    if exact and _relation_holds(F, kept, j, np.where(np.abs(t) > 2.0**-80, t, 0.0), 1.0):
        return True
    for den in range(1, LARGEST_DENOMINATOR + 1):
        num = np.round(den * t)
        if np.abs(den * t - num).max(initial=0.0) <= 1e-6 * den:
            return _relation_holds(F, kept, j, num, float(den))
    return False


def _relation_holds(F: Array, kept: Places, j: int, num: Array, den: float) -> bool:
    """Whether den F_j = sum_k num_k F_k in every row, in real numbers.

    True is a proof. Sums of multiples of 2^-12 whose sizes stay below 2^40 have 52 bits and are
    exact in any order. Otherwise the products are split into two floats each, which is exact as
    long as none of them leaves [2^-900, 2^990], and `math.fsum` is 0 only of a sum that is 0.
    """
    kept, num = kept[num != 0.0], num[num != 0.0]
    columns = np.column_stack((F[:, kept], F[:, j]))
    factors = np.append(num, -den)
    largest = float(np.abs(columns).max(initial=0.0))
    if (factors == np.round(factors)).all() and np.abs(factors).sum() * largest < 2.0**39:
        short = columns * 2.0**12
        if (short == np.floor(short)).all():
            return not (columns @ factors).any()
    if columns.size > RELATION_LIMIT:
        return False
    wide = np.broadcast_to(factors, columns.shape)
    if max(largest, float(np.abs(factors).max())) > 2.0**490:
        return False
    high, low = two_product(columns, wide)
    if ((np.abs(high) < 2.0**-900) & (columns != 0.0)).any():
        return False
    return all(math.fsum((*a, *b)) == 0.0 for a, b in zip(high.tolist(), low.tolist(), strict=True))
