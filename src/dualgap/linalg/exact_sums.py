"""Sums of products without rounding: what is left open is added up beside them and bounded.

A product of floats is p + e with two floats, and a sum of floats is s + f (see `double`), both
without error. So a sum of products is one float plus a sum of many small ones, exactly. Only the
latter is rounded, and by how much is known from the sum of its sizes: the bound is found after the
fact and needs no model of how the terms cancel (Ogita, Rump & Oishi 2005, *Accurate sum and dot
product*).
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import TINY, gam, up
from dualgap.linalg.double import Double, two_product, two_sum

LEAST = 2.0**-900
"""Products below this are not split exactly; they are left out, and counted as an error."""


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def sums_of_products(a: Double, b: Double) -> tuple[Double, Array]:
    """sum_i (a_i + a'_i)(b_i + b'_i) over the first axis, with a bound on the error.

    The sum is s + E + r with floats s and E and |r| <= gam(K + 8) sum |small terms| + 4 K 2^-1074 +
    (number of products below 2^-900) 2^-899, K the number of small terms. These are the e of every
    product, the f of every addition, and the products with a low part, which are rounded
    themselves. An overflow gives an infinite bound.

    Returns
    -------
    sums : pair of arrays
        s + E, as a pair.
    error : array
        The bound on |r|.
    """
    p, e = two_product(a.high, b.high)
    small = [e]
    missing = (np.abs(p) < LEAST) & (a.high != 0.0) & (b.high != 0.0)
    below = missing.sum(axis=0) * (2.0 * LEAST)
    if missing.any():
        p, small = np.where(missing, 0.0, p), [np.where(missing, 0.0, e)]
    crossed = ((a.high, b.low), (a.low, b.high), (a.low, b.low))
    small += [left * right for left, right in crossed if left.any() and right.any()]
    terms = (len(small) + 1) * len(p) + len(small)
    rest = sum((part.sum(axis=0) for part in small), start=np.zeros(p.shape[1:]))
    sizes = sum((np.abs(part).sum(axis=0) for part in small), start=np.zeros(p.shape[1:]))
    while (n := len(p)) > 1:
        half = n // 2
        added, left = two_sum(p[:half], p[half : 2 * half])
        rest, sizes = rest + left.sum(axis=0), sizes + np.abs(left).sum(axis=0)
        p = added if n % 2 == 0 else np.concatenate((added, p[n - 1 :]))
    total = p[0] if len(p) else np.zeros(p.shape[1:])
    error = up(up(gam(terms + 8.0) * sizes) + (4.0 * terms * TINY + below))
    high, low = two_sum(total, rest)
    return Double(high, low), np.where(np.isfinite(high + low), error, np.inf)
