"""Enclosures of A x and A' alpha in one reading of the data: what certificates rest on.

Data are read as exact real numbers, float32 ones too. Small data are multiplied by numpy (`sums`,
which has the proofs for it), larger ones by compiled kernels (`compiled_products` beside this
file), and data that come in blocks block after block.

The kernels make A' alpha = s + c with the rounding errors of all products and sums in c (Dot2). The
error of c: with Z = |A|'|alpha|, p + q = a high exactly (or up to 5 eta, eta = 2^-1074), and r what
a TwoSum leaves, sum |q| + |a low| <= 3 u Z and sum |r| <= n u (1 + gamma_(n+1)) Z, for every sum s
on the way is at most (1 + gamma_(n+1)) Z. c is a sum with at most n + 3 roundings behind a term, so
it is off by at most gamma_(n+3) (n+3) u (1 + gamma_(n+1)) Z <= gam(n+8)^2 Z, and S = fl(s + c)
by u |S| more. Sums in lanes that are added in the end have no more than n + 1 roundings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap._arrays import ROWS_AT_ONCE
from dualgap._types import Array
from dualgap.enclosures.directed import TINY, UNIT, gam
from dualgap.enclosures.sums import Sums, Swept, doubled, enclosed, plain, plain_sparse

if TYPE_CHECKING:
    from dualgap.designs.chunks import Chunk
    from dualgap.designs.contract import Design

__all__ = ["Swept", "swept"]

SMALL = 200_000
"""Up to so many entries numpy is used: a kernel would have to be loaded first."""
SMALL_SHARP = 30_000
"""Up to so many entries numpy sums with twice the digits, which takes it dozens of operations
each."""
SMALL_SPARSE = 1 << 16
"""Up to so many entries of sparse data numpy is used, which makes copies of them."""
DENSE = 0.1
"""Small sparse data with more entries than this share are multiplied as dense ones."""
BLOCK_ENTRIES = 1 << 16
"""Entries that stay in a core's cache while one class after the other is multiplied by them."""


def swept(design: Design, x: Array, high: Array, low: Array | None, *, sharp: bool) -> Swept:
    """Enclose z = A x and S = A' alpha, alpha = high + low, in real arithmetic.

    Parameters
    ----------
    design : Design
        A, of shape (n, d).
    x : array of shape (d,) or (d, K)
    high : array of shape (n,) or (n, K)
        Every entry is 0 or at least 2^-900 in size, which the caller sees to.
    low : array, optional
        |low| <= 2^-52 |high|: what TwoProd or TwoSum leave of alpha. 0 if None.
    sharp : bool
        Whether S_error is to be of the order of u |S| + u^2 |A|'|alpha|, u = 2^-53, for small
        data, too; it may be of the order of u |A|'|alpha| otherwise. Kernels do it in any case.

    Returns
    -------
    Swept
        Where anything overflows the error is infinite; nothing is nan.
    """
    passes = 2.0 * (1 if x.ndim == 1 else x.shape[1])  # A, |A| and their transposes
    found = design.stored(passes)
    if found is None:
        return _by_blocks(design, x, high, low, sharp, passes)
    if found.dense is not None:
        return _dense(found.dense, x, high, low, sharp)
    return _sparse(found.sparse, x, high, low, sharp)


def _kernels() -> Any:
    """The compiled ones, or None where numba is not at hand."""
    try:
        return import_module("dualgap.enclosures.compiled_products")
    except ImportError:
        return None


def _dense(A: Any, x: Array, high: Array, low: Array | None, sharp: bool) -> Swept:
    """A matrix in memory."""
    n = A.shape[0]
    kernels = _kernels() if A.size > (SMALL_SHARP if sharp else SMALL) else None
    if kernels is None:
        return enclosed(n, doubled(A, x, high, low) if sharp else plain(A, x, high))
    by_rows = A.flags.c_contiguous or not A.flags.f_contiguous
    return enclosed(n, (_by_rows if by_rows else _by_columns)(kernels, A, x, high, low))


def _sparse(A: Any, x: Array, high: Array, low: Array | None, sharp: bool) -> Swept:
    """CSR or CSC."""
    n, d = A.shape
    kernels = None
    if n * d <= (SMALL_SHARP if sharp else SMALL) and (sharp or A.nnz > DENSE * n * d):
        dense = A.toarray()
        return enclosed(n, doubled(dense, x, high, low) if sharp else plain(dense, x, high))
    if sharp or A.nnz > SMALL_SPARSE:
        kernels = _kernels()
    if kernels is None:
        return enclosed(n, plain_sparse(A, x, high))
    run = _by_sparse_rows if A.format == "csr" else _by_sparse_columns
    return enclosed(n, run(kernels, A, x, high, low))


# ---- kernels ----


def _classes(
    x: Array, high: Array, low: Array | None, *, by_columns: bool = False
) -> tuple[Array, Array, Array, tuple[int, ...]]:
    """Class after class, each contiguous; and the shape of what belongs to a row or a column.

    A low that is not there is zeros for so many rows as are multiplied at a time.
    """
    rest = x.shape[1:]
    if low is None:
        most = len(high) if by_columns else min(len(high), ROWS_AT_ONCE)
        low = np.zeros((most, *high.shape[1:]))
    x, high, low = (np.ascontiguousarray(np.atleast_2d(v.T)) for v in (x, high, low))
    return x, high, low, rest


def _beside(low: Array, high: Array, k: int, at: slice) -> Array:
    """The low part of some rows; the zeros that stand for all rows begin anew with each span."""
    return low[k, at] if low.shape == high.shape else low[k, : at.stop - at.start]


def _summed(
    z: Array,
    sizes: Array,
    terms: Any,
    sums: tuple[Array, Array, Array],
    rest: tuple[int, ...],
    n: int,
) -> Sums:
    """Of classes (K, ...), in the shape that is asked for."""
    s, c, size = sums
    with np.errstate(over="ignore", invalid="ignore"):
        S = s + c
    second = gam(n + 8.0) ** 2

    def shaped(v: Array) -> Array:
        return v.T if rest else v[0]

    return Sums(shaped(z), shaped(sizes), terms, shaped(S), shaped(size), float(n), UNIT, second)


def _spans(major: int, minor: float, classes: int) -> list[slice]:
    """ROWS_AT_ONCE at most, and of several classes as much as a cache holds for all of them."""
    step = (
        ROWS_AT_ONCE if classes == 1 else min(ROWS_AT_ONCE, int(BLOCK_ENTRIES // max(1.0, minor)))
    )
    step = max(1, step)
    return [slice(start, min(start + step, major)) for start in range(0, major, step)]


def _by_rows(kernels: Any, A: Any, x: Array, high: Array, low: Array | None) -> Sums:
    n, d = A.shape
    x, high, low, rest = _classes(x, high, low)
    K, width = len(x), kernels.WIDTH
    count = -(-d // width)
    z, sizes, tiles = np.empty((K, n)), np.empty((K, n)), np.zeros((K, count * 3 * width))
    for at in _spans(n, d, K):
        for k in range(K):
            kernels.dense_rows(
                A[at],
                x[k],
                high[k, at],
                _beside(low, high, k, at),
                z[k, at],
                sizes[k, at],
                tiles[k],
            )
    parts = tiles.reshape(K, count, 3, width)
    s, c, size = (parts[:, :, part].reshape(K, -1)[:, :d] for part in range(3))
    return _summed(z, sizes, d + 1.0, (s, c, size), rest, n)


def _by_columns(kernels: Any, A: Any, x: Array, high: Array, low: Array | None) -> Sums:
    n, d = A.shape
    x, high, low, rest = _classes(x, high, low, by_columns=True)
    K = len(x)
    z, sizes, sums = np.zeros((K, n)), np.zeros((K, n)), np.empty((K, d, 3))
    tile = np.empty(3 * kernels.WIDTH)
    for at in _spans(d, n, K):
        for k in range(K):
            kernels.dense_columns(
                A.T[at], x[k, at], high[k], low[k], z[k], sizes[k], sums[k, at], tile
            )
    return _summed(z, sizes, d + 1.0, (sums[..., 0], sums[..., 1], sums[..., 2]), rest, n)


def _by_sparse_rows(kernels: Any, A: Any, x: Array, high: Array, low: Array | None) -> Sums:
    n, d = A.shape
    x, high, low, rest = _classes(x, high, low)
    K = len(x)
    both, sums = np.empty((K, n, 2)), np.zeros((K, d, 4))
    for at in _spans(n, A.nnz / max(1, n), K):
        indptr = A.indptr[at.start : at.stop + 1]
        for k in range(K):
            kernels.csr_rows(
                A.data,
                A.indices,
                indptr,
                x[k],
                high[k, at],
                _beside(low, high, k, at),
                both[k, at],
                sums[k],
            )
    terms = np.diff(A.indptr) + 1
    return _summed(
        both[..., 0], both[..., 1], terms, (sums[..., 0], sums[..., 1], sums[..., 2]), rest, n
    )


def _by_sparse_columns(kernels: Any, A: Any, x: Array, high: Array, low: Array | None) -> Sums:
    n, d = A.shape
    x, high, low, rest = _classes(x, high, low, by_columns=True)
    K = len(x)
    both, sums = np.zeros((K, n, 2)), np.empty((K, d, 4))
    for at in _spans(d, A.nnz / max(1, d), K):
        indptr = A.indptr[at.start : at.stop + 1]
        for k in range(K):
            kernels.csc_columns(
                A.data, A.indices, indptr, x[k, at], high[k], low[k], both[k], sums[k, at]
            )
    terms = np.bincount(A.indices[: A.indptr[-1]], minlength=n) + 1.0
    return _summed(
        both[..., 0], both[..., 1], terms, (sums[..., 0], sums[..., 1], sums[..., 2]), rest, n
    )


# ---- data in blocks ----


def sweep_chunk(
    chunk: Chunk, rows: tuple[Array, ...], x: Array, sharp: bool
) -> tuple[tuple[Array, Array], tuple[Array, Array, Array, Array]]:
    """A task for `Design.map_rows`: rows (high) or (high, low); it makes z and its error.

    The sums are S of the chunk, its error, |S| and the size.
    """
    sparse = chunk.sparse
    return _sweep_block(chunk.dense() if sparse is None else sparse, rows, x, sharp)


def _sweep_block(
    block: Any, rows: tuple[Array, ...], x: Array, sharp: bool
) -> tuple[tuple[Array, Array], tuple[Array, Array, Array, Array]]:
    run = _dense if isinstance(block, np.ndarray) else _sparse
    part = run(block, x, rows[0], rows[1] if len(rows) > 1 else None, sharp)
    return (part.z, part.z_error), (part.S, part.S_error, np.abs(part.S), part.size)


def _by_blocks(
    design: Design, x: Array, high: Array, low: Array | None, sharp: bool, passes: float
) -> Swept:
    """Chunk after chunk, whose sums are added in a tree, or one after the other.

    C floats S_c are added with an error of at most gamma_C sum |S_c|, which is much less than
    gamma_C |A|'|alpha| where the terms of a chunk cancel.
    """
    n, d = design.shape
    rows = (high,) if low is None else (high, low)
    if design.streams:
        design.ledger.passes += passes
        made, sums = design.map_rows(sweep_chunk, rows, x, sharp)
        cuts = design.cuts
        count = sum(1 for part in range(cuts.partitions) for _ in cuts.chunks(part))
        return _joined(made, sums, count)
    z, z_error = np.empty((n, *x.shape[1:])), np.empty((n, *x.shape[1:]))
    total, count = [np.zeros((d, *x.shape[1:])) for _ in range(4)], 0
    for at, block in design.blocks(max(1, 4 * BLOCK_ENTRIES // d)):
        (z[at], z_error[at]), sums = _sweep_block(block, tuple(v[at] for v in rows), x, sharp)
        total, count = [a + b for a, b in zip(total, sums, strict=True)], count + 1
    return _joined((z, z_error), total, count + 1)


def _joined(made: Any, sums: Any, count: int) -> Swept:
    """Sums of so many chunks with the errors of adding them up; overflows stay infinite."""
    if count == 1:
        return Swept(made[0], made[1], sums[0], sums[1], sums[3])
    S, S_error, moved, size = sums
    more = (1.0 + gam(count + 4.0)) * (1.0 + 2.0**-48)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        S_error = (S_error + moved * gam(count + 4.0)) * more + 4.0 * TINY
        sound = np.isfinite(S) & np.isfinite(S_error)
        S, S_error = np.where(sound, S, 0.0), np.where(sound, S_error, np.inf)
        return Swept(made[0], made[1], S, S_error, size * more + TINY)
