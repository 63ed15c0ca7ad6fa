"""Products with A and A' in floats, and how many roundings are behind them: the ways of numpy.

Below, u = 2^-53 and eta = 2^-1074, gamma_k = k u/(1 - k u) <= gam(k), and Z = |A|'|alpha|.

*Plain*: A' alpha is made from blocks of r rows, which BLAS multiplies in any order, with an error
of at most gamma_r Z in all; the blocks' results are added by TwoSum, whose errors r_b <= u |s_b|
are added up as well. What is lost of these is of second order, (blocks)^2 u^2 Z < u Z; the last
addition loses u Z, and `low`, which is left out, 2 u Z. In all gamma_(r+8) Z.

*Doubled*: p + q = a high exactly, or up to 5 eta, by TwoProd; all p are added by TwoSum in a tree
of L levels, and the tree's results block after block; c is the plain sum of all that TwoSum leaves,
of all q and of all a low. With T levels and blocks in all, every sum on the way being at most
(1 + gamma_(T+1)) Z, what TwoSum leaves adds up to at most T u (1 + gamma_(T+1)) Z, and all
|q| + |a low| to 3 u Z. So c, with at most 3 n + 2 T + 2 roundings behind a term, is off by at most
gam(3n+2T+2) gam(T+4) Z, and S = fl(s + c) by u |S| more. Of underflows, TwoProd and a low lose at
most 6 eta for each row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dualgap._arrays import pieces
from dualgap._types import Array
from dualgap.enclosures.directed import TINY, UNIT, gam
from dualgap.linalg.double import two_product, two_sum

BLOCK = 256
"""Rows of a block whose sums BLAS makes: its error is that of so many terms, whatever n is."""
AT_ONCE = 1 << 18
"""Entries whose products and their errors are kept at the same time."""


class Sums(NamedTuple):
    """A x and A' alpha in floats, with what bounds their errors (up to underflow)."""

    z: Array
    sizes: Array
    """|A||x| in floats."""
    terms: Any
    """Roundings behind an entry of z, a number or one for each row."""
    S: Array
    size: Array
    """|A|'|high| in floats."""
    adds: float
    """Roundings behind an entry of size."""
    share: float
    """|A' alpha - S| <= share |S| + factor |A|'|alpha|."""
    factor: Any


class Swept(NamedTuple):
    """Enclosures of two products.

    Parameters
    ----------
    z : array of shape (n,) or (n, K)
        A x in floats.
    z_error : array
        |A x - z| <= z_error, entry by entry, with A x in real arithmetic.
    S : array of shape (d,) or (d, K)
        A' alpha in floats.
    S_error : array
        |A' alpha - S| <= S_error.
    size : array
        At least |A|'|alpha|.
    """

    z: Array
    z_error: Array
    S: Array
    S_error: Array
    size: Array


def enclosed(n: int, sums: Sums) -> Swept:
    """The theorem that sums of n rows prove.

    A sum of k terms is off by at most gam(k) times the computed sum of sizes, and an underflow by
    eta: |z - A x| <= gam(k)|A||x| + 4 k eta. The factor 1 + 2^-48 covers the few roundings in the
    bounds, and twice as many eta the underflows in these.
    Where anything is not a finite number the error is infinite, and the product 0.
    """
    more = 1.0 + 2.0**-48
    terms = sums.terms if isinstance(sums.terms, float) or sums.z.ndim == 1 else sums.terms[:, None]
    factor = sums.factor
    if isinstance(factor, np.ndarray) and sums.S.ndim == 2:
        factor = factor[:, None]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if isinstance(terms, float):  # in the room of the sizes, which nobody needs any more
            z_error = np.multiply(sums.sizes, gam(terms) * more, out=sums.sizes)
            z_error += 8.0 * (terms + 1.0) * TINY
        else:
            z_error = sums.sizes
            for at in pieces(n):
                z_error[at] *= gam(terms[at]) * more
                z_error[at] += 8.0 * (terms[at] + 1.0) * TINY
        size = sums.size * ((1.0 + gam(sums.adds + 4.0)) * more) + 8.0 * (n + 8.0) * TINY
        S_error = size * (factor * more)
        if sums.share:
            S_error += np.abs(sums.S) * (sums.share * more)
        S_error += 16.0 * (n + 8.0) * TINY
        found = Swept(sums.z, z_error, sums.S, S_error, size)
        total = sum(float(part.sum()) for part in found)
    return found if math.isfinite(total) else _finite(found)


def _finite(found: Swept) -> Swept:
    """Nothing is claimed of what is not finite."""
    z, z_error, S, S_error, size = found
    sound, firm = np.isfinite(z) & np.isfinite(z_error), np.isfinite(S) & np.isfinite(S_error)
    return Swept(
        np.where(sound, z, 0.0),
        np.where(sound, z_error, np.inf),
        np.where(firm, S, 0.0),
        np.where(firm, S_error, np.inf),
        np.where(np.isfinite(size), size, np.inf),
    )


# ---- dense data ----


def plain(A: Any, x: Array, high: Array) -> Sums:
    """BLAS on blocks of rows; see above."""
    n, d = A.shape
    r = float(min(n, BLOCK))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if n <= BLOCK:
            A = A.astype(np.float64, copy=False)
            sizes = np.abs(A)
            z, S = A @ x, A.T @ high
            return Sums(
                z, sizes @ np.abs(x), d + 1.0, S, sizes.T @ np.abs(high), r, 0.0, gam(r + 8.0)
            )
        if n <= BLOCK * BLOCK and x.ndim == 1:
            return _stacked(A.astype(np.float64, copy=False), x, high)
        z, z_size = np.empty((n, *x.shape[1:])), np.empty((n, *x.shape[1:]))
        s, c, size = np.zeros((3, d, *x.shape[1:]))
        x_size, high_size = np.abs(x), np.abs(high)
        for at, block in _blocks(A, BLOCK):
            np.matmul(block, x, out=z[at])
            s, left = two_sum(s, block.T @ high[at])
            c += left
            block = np.abs(block)
            np.matmul(block, x_size, out=z_size[at])
            size += block.T @ high_size[at]
        return Sums(z, z_size, d + 1.0, s + c, size, float(n), 0.0, gam(r + 8.0))


def _stacked(A: Array, x: Array, high: Array) -> Sums:
    """`plain` of not too many rows: the sums of the blocks are added up as they are.

    n/r of them with r rows each, and what is left: r + n/r + 2 roundings behind a term.
    """
    n, d = A.shape
    r = max(64, 1 << math.ceil(math.log2(n) / 2.0))
    cut = n - n % r
    sizes, high_size = np.abs(A), np.abs(high)

    def across(B: Array, v: Array) -> Array:
        stack = np.matmul(v[:cut].reshape(-1, 1, r), B[:cut].reshape(-1, r, d))
        return np.asarray(stack.sum(axis=(0, 1)) + v[cut:] @ B[cut:])

    S, size = across(A, high), across(sizes, high_size)
    adds = float(r + n // r + 2)
    return Sums(A @ x, sizes @ np.abs(x), d + 1.0, S, size, adds, 0.0, gam(adds + 8.0))


def _blocks(A: Any, rows: int) -> Iterator[tuple[slice, Array]]:
    """Some rows after the others, widened."""
    for start in range(0, A.shape[0], rows):
        at = slice(start, min(start + rows, A.shape[0]))
        yield at, A[at].astype(np.float64, copy=False)


def doubled(A: Any, x: Array, high: Array, low: Array | None) -> Sums:
    """A' alpha as if in twice the digits; see above. Plain, where a product cannot be split."""
    n = A.shape[0]
    first = plain(A, x, high)
    if x.ndim == 2:
        low = np.zeros_like(high) if low is None else low
        S = np.empty_like(first.S)
        for k in range(x.shape[1]):
            S[:, k], depth = _doubled(A, high[:, k], low[:, k])
    else:
        S, depth = _doubled(A, high, low)
    if not np.isfinite(S).all():  # |a| or |alpha| above 2^996, or an overflow
        return first
    second = gam(3.0 * n + 2.0 * depth + 2.0) * gam(depth + 4.0)
    return first._replace(S=S, share=UNIT, factor=second)


def _doubled(A: Any, high: Array, low: Array | None) -> tuple[Array, float]:
    """A'(high + low), and the levels and blocks of its sums."""
    n, d = A.shape
    rows = max(1, AT_ONCE // max(1, d))
    s: Array | None = None
    c, blocks = np.zeros(d), 0.0
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for at, block in _blocks(A, rows):
            p, q = two_product(block, high[at, None])
            if low is not None:
                q += block * low[at, None]
            left = [q]
            while (m := len(p)) > 1:
                half, pairs = (m + 1) // 2, m // 2
                t, rest = two_sum(p[:pairs], p[half:])
                left.append(rest)
                p = t if half == pairs else np.concatenate((t, p[pairs:half]))
            if s is not None:
                p, rest = two_sum(s, p)
                left.append(rest)
            s = p
            c += np.concatenate(left).sum(axis=0)
            blocks += 1.0
        assert s is not None
        return s[0] + c, blocks + math.ceil(math.log2(min(n, rows) + 1.0))


# ---- sparse data ----


def plain_sparse(A: Any, x: Array, high: Array) -> Sums:
    """Products of scipy, whose sums have as many terms as a row, or a column, has entries."""
    n, d = A.shape
    along = np.diff(A.indptr).astype(np.float64)
    across = np.bincount(A.indices[: A.indptr[-1]], minlength=d if A.format == "csr" else n)
    rows: Any
    columns: Any
    rows, columns = (along, across) if A.format == "csr" else (across, along)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sizes = abs(A)
        z, z_size = np.asarray(A @ x), np.asarray(sizes @ np.abs(x))
        S, size = np.asarray(A.T @ high), np.asarray(sizes.T @ np.abs(high))
    most = float(columns.max(initial=0))
    return Sums(z, z_size, rows + 1.0, S, size, most, 0.0, gam(columns + 8.0))
