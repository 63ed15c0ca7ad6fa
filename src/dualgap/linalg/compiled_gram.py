"""Compiled: H = A' diag(w) A of sparse rows, as a matrix for few columns and times a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import kernel


@kernel
def csr_gram(data: Any, indices: Any, indptr: Any, constant: float, w: Array, H: Array) -> None:
    """Add A' diag(w) A to the lower triangle of H, pair by pair; indices ascend in every row.

    A last row and column belong to a constant column, if that is not 0.
    """
    last = H.shape[0] - 1
    one, four = np.uintp(1), np.uintp(4)  # unsigned: no negative index to look out for
    for i in range(indptr.size - 1):
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        p = start
        while p + four <= stop:  # four rows of H at once, for one reading of the row
            q, r, s = p + one, p + one + one, p + one + one + one
            a, b, c, d = w[i] * data[p], w[i] * data[q], w[i] * data[r], w[i] * data[s]
            row_p, row_q = H[np.uintp(indices[p])], H[np.uintp(indices[q])]
            row_r, row_s = H[np.uintp(indices[r])], H[np.uintp(indices[s])]
            for other in range(start, p):
                k, v = np.uintp(indices[other]), data[other]
                row_p[k] += a * v
                row_q[k] += b * v
                row_r[k] += c * v
                row_s[k] += d * v
            for other in range(p, s + one):  # the corner
                k, v = np.uintp(indices[other]), data[other]
                row_s[k] += d * v
                if other <= r:
                    row_r[k] += c * v
                if other <= q:
                    row_q[k] += b * v
                if other <= p:
                    row_p[k] += a * v
            p += four
        while p < stop:
            a = w[i] * data[p]
            row = H[np.uintp(indices[p])]
            for other in range(start, p + one):
                row[np.uintp(indices[other])] += a * data[other]
            p += one
        if constant != 0.0:
            a = w[i] * constant
            row = H[last]
            for other in range(start, stop):
                row[np.uintp(indices[other])] += a * data[other]
            row[last] += a * constant


@kernel
def csr_cross_gram(
    data: Any,
    indices: Any,
    indptr: Any,
    constant: float,
    w: Array,
    row: Any,
    column: Any,
    H: Array,
) -> None:
    """Add (A' diag(w) A)[j, k] to H[row_j, column_k] where these are not negative.

    The last j and k are those of a constant column, if that is not 0.
    """
    at = np.empty(H.shape[1], np.uintp)  # what row i of A has in the columns of H, and where
    value = np.empty(H.shape[1])
    target = np.empty(H.shape[0], np.uintp)  # and in the rows of H
    factor = np.empty(H.shape[0])
    last = row.size - 1
    for i in range(indptr.size - 1):
        some = 0
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            j = row[np.uintp(indices[p])]
            if j >= 0:
                target[some], factor[some] = np.uintp(j), w[i] * data[p]
                some += 1
        if constant != 0.0 and row[last] >= 0:
            target[some], factor[some] = np.uintp(row[last]), w[i] * constant
            some += 1
        if some == 0:
            continue
        others = 0
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            k = column[np.uintp(indices[p])]
            if k >= 0:
                at[others], value[others] = np.uintp(k), data[p]
                others += 1
        if constant != 0.0 and column[last] >= 0:
            at[others], value[others] = np.uintp(column[last]), constant
            others += 1
        for p in range(some):
            a, into = factor[p], H[target[p]]
            for k in range(others):
                into[at[k]] += a * value[k]


@kernel
def csr_squares(data: Any, indices: Any, indptr: Any, rows: Array, columns: Array) -> None:
    """rows_i = sum_j a_ij^2, and add a_ij^2 to columns_j; of CSC data the other way round."""
    for i in range(rows.size):
        total = 0.0
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            square = np.float64(data[p]) * np.float64(data[p])
            total += square
            columns[np.uintp(indices[p])] += square
        rows[i] = total


@kernel
def csr_sweep(
    data: Any, indices: Any, indptr: Any, c: float, x: Array, w: Array, z: Array, u: Array
) -> None:
    """z = A x + c, and add A' diag(w) z to u, in one reading."""
    for i in range(w.size):
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        v = c
        for p in range(start, stop):
            v += data[p] * x[np.uintp(indices[p])]
        z[i] = v
        r = w[i] * v
        for p in range(start, stop):
            u[np.uintp(indices[p])] += r * data[p]


@kernel
def symmetric_part(lower: Array, at: Any, H: Array) -> None:
    """H = G[at, at] for a symmetric G whose lower triangle is known; ``at`` ascends."""
    for i in range(at.size):
        row = lower[at[i]]
        for j in range(i + 1):
            v = row[at[j]]
            H[i, j] = v
            H[j, i] = v


@kernel
def add_symmetric_product(lower: Array, at: Any, v: Array, u: Array) -> None:
    """u += G[:, at] v for a symmetric G whose lower triangle is known; ``at`` ascends."""
    for i in range(at.size):  # left of the diagonal in row at[i], and the diagonal
        if v[i] != 0.0:
            row = lower[at[i]]
            for k in range(at[i] + 1):
                u[k] += v[i] * row[k]
    before = 0
    for k in range(u.size):  # what is above the diagonal is in the rows below
        total = 0.0
        row = lower[k]
        for i in range(before):
            total += v[i] * row[at[i]]
        u[k] += total
        if before < at.size and at[before] == k:
            before += 1


@kernel
def mirror(H: Array) -> None:
    """Copy the lower triangle of H to the upper one, tile by tile."""
    side, tile = H.shape[0], 32
    for top in range(0, side, tile):
        for left in range(0, top + 1, tile):
            for i in range(top, min(top + tile, side)):
                for j in range(left, min(left + tile, i)):
                    H[j, i] = H[i, j]
