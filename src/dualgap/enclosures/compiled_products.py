"""Products with A and with A' in one reading of the data, with what encloses their errors.

For z = A x there are plain sums and the sums of sizes |A||x|. For S = A' alpha, alpha = high + low,
every product and every sum leaves its rounding error behind (Dekker, Knuth; together "Dot2" of
Ogita, Rump and Oishi): with p + q = a high and s' + r = s + p exactly, c collects q + r + a low, so
that S = s + c up to the errors of c, which are of second order. `dualgap.enclosures.products`
proves how large these are.

Sums that may be reordered are in kernels of their own. What is exact is compiled as it is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import HAS_FUSED, exact, fused, kernel, scalar

WIDTH = 256
"""Columns (or rows) of a tile. Its sums s, c and |a||high| lie side by side at fixed distances,
from which the compiler sees that they do not overlap."""
SPLIT = float(2**27 + 1)
"""A float64 multiplied by this is cut into two floats of 26 bits (Veltkamp)."""


@scalar
def split_error(a: float, b: float, p: float) -> float:
    """a b - p for p = fl(a b), without fused multiplications; |a|, |b| < 2^996 (else nan)."""
    large, other = SPLIT * a, SPLIT * b
    a1, b1 = large - (large - a), other - (other - b)
    a2, b2 = a - a1, b - b1
    return a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


@scalar
def fused_error(a: float, b: float, p: float) -> float:
    """a b - p for p = fl(a b), rounded once."""
    return fused(a, b, -p)  # type: ignore[no-any-return]


product_error: Any = fused_error if HAS_FUSED else split_error
"""Exact but for underflow: at most 5 times 2^-1074 is lost."""


@kernel
def _row(A: Any, i: int, x: Array) -> tuple[float, float]:
    """sum_j a_ij x_j and sum_j |a_ij| |x_j|, in any order."""
    z = size = 0.0
    for j in range(x.size):
        term = np.float64(A[i, j]) * x[j]
        z += term
        size += abs(term)
    return z, size


@kernel
def _sparse_row(data: Any, indices: Any, start: Any, stop: Any, x: Array) -> tuple[float, float]:
    """The same over the entries of a sparse row."""
    z = size = 0.0
    for p in range(start, stop):
        term = np.float64(data[p]) * x[np.uintp(indices[p])]
        z += term
        size += abs(term)
    return z, size


@scalar
def _added(
    s: float, c: float, size: float, a: float, high: float, low: float
) -> tuple[float, float, float]:
    """One more term a (high + low) in s + c, and its size."""
    p = a * high
    q = product_error(a, high, p)
    t = s + p
    part = t - s
    r = (s - (t - part)) + (p - part)
    return t, c + (r + (q + a * low)), size + abs(p)


@exact
def dense_rows(
    A: Any, x: Array, high: Array, low: Array, z: Array, z_size: Array, tiles: Array
) -> None:
    """z = A x and |A||x|, and add A'(high + low) to the tiles; rows of A are contiguous.

    ``tiles`` is one long array: for every WIDTH columns all s, then all c, then all sizes.
    """
    n, d = A.shape
    one, width = np.uintp(1), np.uintp(WIDTH)
    i = 0
    while i < n:
        four = i + 4 <= n
        some = 4 if four else 1
        for k in range(i, i + some):
            z[k], z_size[k] = _row(A, k, x)
        for first in range(0, d, WIDTH):
            begin, base = np.uintp(first), np.uintp(3 * first)
            last = np.uintp(min(WIDTH, d - first))
            u = np.uintp(i)
            if four:
                v, y, t = u + one, u + one + one, u + one + one + one
                h0, h1, h2, h3 = high[u], high[v], high[y], high[t]
                l0, l1, l2, l3 = low[u], low[v], low[y], low[t]
                for j in range(last):
                    at, col = base + j, begin + j
                    s, c, size = tiles[at], tiles[at + width], tiles[at + width + width]
                    s, c, size = _added(s, c, size, np.float64(A[u, col]), h0, l0)
                    s, c, size = _added(s, c, size, np.float64(A[v, col]), h1, l1)
                    s, c, size = _added(s, c, size, np.float64(A[y, col]), h2, l2)
                    s, c, size = _added(s, c, size, np.float64(A[t, col]), h3, l3)
                    tiles[at], tiles[at + width], tiles[at + width + width] = s, c, size
            else:
                h0, l0 = high[u], low[u]
                for j in range(last):
                    at, col = base + j, begin + j
                    s, c, size = tiles[at], tiles[at + width], tiles[at + width + width]
                    s, c, size = _added(s, c, size, np.float64(A[u, col]), h0, l0)
                    tiles[at], tiles[at + width], tiles[at + width + width] = s, c, size
        i += some


@kernel
def _add_columns(A: Any, j: int, some: int, x: Array, z: Array, z_size: Array) -> None:
    """Add a_j x_j and its size for some columns from j on, 1 or 3; A is given by its columns."""
    first, second, third = np.uintp(j), np.uintp(j + 1), np.uintp(j + 2)
    a = x[first]
    if some == 1:
        for i in range(z.size):
            p = np.float64(A[first, i]) * a
            z[i] += p
            z_size[i] += abs(p)
        return
    b, c = x[second], x[third]
    for i in range(z.size):  # with more columns the compiler would not look whether they overlap
        p, q = np.float64(A[first, i]) * a, np.float64(A[second, i]) * b
        r = np.float64(A[third, i]) * c
        z[i] += p + q + r
        z_size[i] += abs(p) + abs(q) + abs(r)


@exact
def dense_columns(
    A: Any,
    x: Array,
    high: Array,
    low: Array,
    z: Array,
    z_size: Array,
    sums: Array,
    tile: Array,
) -> None:
    """Add A x to z and |A||x| to z_size; row j of sums is s, c and the size of A'(high + low)_j.

    A is given by its columns, as a matrix whose rows are contiguous. Each column is added up in
    WIDTH lanes, in ``tile``, and these in the end.
    """
    d, n = A.shape
    width = np.uintp(WIDTH)
    lanes = np.uintp(min(WIDTH, n))
    added = 0
    for j in range(d):
        if j == added:
            some = 3 if j + 3 <= d else 1
            _add_columns(A, j, some, x, z, z_size)
            added += some
        tile[:] = 0.0
        row = np.uintp(j)
        for first in range(0, n, WIDTH):
            begin, last = np.uintp(first), np.uintp(min(WIDTH, n - first))
            for at in range(last):
                i = begin + at
                s, c, size = tile[at], tile[at + width], tile[at + width + width]
                s, c, size = _added(s, c, size, np.float64(A[row, i]), high[i], low[i])
                tile[at], tile[at + width], tile[at + width + width] = s, c, size
        s = c = size = 0.0
        for at in range(lanes):
            p = tile[at]
            t = s + p
            part = t - s
            c += ((s - (t - part)) + (p - part)) + tile[at + width]
            s = t
            size += tile[at + width + width]
        sums[j, 0], sums[j, 1], sums[j, 2] = s, c, size


@exact
def csr_rows(
    data: Any,
    indices: Any,
    indptr: Any,
    x: Array,
    high: Array,
    low: Array,
    both: Array,
    sums: Array,
) -> None:
    """A x and |A||x| as columns; add s, c and the size of A'(high + low)_j to row j of sums."""
    zero, one, two = np.uintp(0), np.uintp(1), np.uintp(2)
    for i in range(high.size):
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        both[i, 0], both[i, 1] = _sparse_row(data, indices, start, stop, x)
        h, m = high[i], low[i]
        if h == 0.0:  # |low| is at most a share of |high|
            continue
        for p in range(start, stop):
            j = np.uintp(indices[p])
            s, c, size = _added(
                sums[j, zero], sums[j, one], sums[j, two], np.float64(data[p]), h, m
            )
            sums[j, zero], sums[j, one], sums[j, two] = s, c, size


@exact
def csc_columns(
    data: Any,
    indices: Any,
    indptr: Any,
    x: Array,
    high: Array,
    low: Array,
    both: Array,
    sums: Array,
) -> None:
    """Add A x and |A||x| to the columns of both; row j of sums is s, c and the size of column j."""
    zero, one = np.uintp(0), np.uintp(1)
    for j in range(x.size):
        s = c = size = 0.0
        for p in range(np.uintp(indptr[j]), np.uintp(indptr[j + 1])):
            i, a = np.uintp(indices[p]), np.float64(data[p])
            term = a * x[j]
            both[i, zero] += term
            both[i, one] += abs(term)
            s, c, size = _added(s, c, size, a, high[i], low[i])
        sums[j, 0], sums[j, 1], sums[j, 2] = s, c, size
