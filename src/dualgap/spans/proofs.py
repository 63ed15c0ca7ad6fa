"""Proofs that columns are independent, and sums over columns with an error that is one for sure.

What `spans` needs for a bound nu^2 >= rho' G^(-1) rho, G = F' diag(r^2) F with floats r, that holds
for the floats as they are, whatever rounding does. Two theorems:

- Let X be any floats (or pairs) and C = diag(r) F X. If a float matrix M has |M'M - I|_2 <= th < 1
  and |C - M|_F <= e, then every singular value of C is at least low = sqrt(1 - th) - e. If low > 0,
  X is regular, and rho' G^(-1) rho = (X'rho)' (C'C)^(-1) (X'rho) <= |X'rho|^2/low^2.
- Let H be a float matrix with |H - U G U|_2 <= e for a diagonal U, s > 0, and L *any* lower
  triangular float matrix with |H - s I - L L'|_2 <= d. Then U G U >= L L' + c I, c = s - d - e. If
  c > 0, any w gives nu <= |w| + |U rho - L w|/sqrt(c): (U G U)^(-1/2) maps L w to at most |w|,
  since L'(U G U)^(-1) L <= I, and the rest to at most its length over sqrt(c).

The second is Rump's criterion (2006, *Verification of positive definiteness*) with the residual of
the Cholesky factor computed instead of estimated, so that nothing is asked of the factorisation.
Matrix products are sums in any order, with or without fused multiplications: a sum of k products is
off by gam(k) times the sum of sizes, and |sum of sizes|_2 <= |M|_F^2 by Cauchy and Schwarz.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from dualgap._types import Array, Mask, Places
from dualgap.designs import Design, InterceptDesign, SparseDesign
from dualgap.designs.contract import block_rows
from dualgap.enclosures.directed import TINY, down, gam, sum_up, up
from dualgap.linalg.cholesky import lower_factor
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.exact_sums import LEAST, sums_of_products
from dualgap.spans.bases import PRECISE_LIMIT

GOOD = 0.5
"""A lower bound on a least singular value near 1 that is good enough not to look for another."""
DENSE = 0.1
"""Sparse data with more entries than this share are multiplied as dense blocks."""
SHIFTS = (0.4, 0.1, 0.02)
"""These shares of the estimated least eigenvalue are tried one after the other as the shift s; a
smaller one leaves more room for rounding, and gives a weaker bound."""


def length_up(v: Array) -> float:
    """At least the root of the sum of squares."""
    return float(up(math.sqrt(sum_up(up(v * v))))) if v.size else 0.0


Blocks = Iterable[tuple[slice, Array]]
"""Rows of some columns, with their place."""


def columns_of(design: Design, columns: Mask) -> Iterator[tuple[slice, Array]]:
    """The rows of some columns of a design, block by block."""
    for at, block in design.blocks(block_rows(design.shape[1])):
        yield at, block[:, columns]


def rows_of(F: Array) -> Iterator[tuple[slice, Array]]:
    """The rows of an array, block by block."""
    rows = block_rows(F.shape[1])
    for start in range(0, len(F), rows):
        yield slice(start, start + rows), F[start : start + rows]


def columns_times(
    design: Design, columns: Mask, high: Array, low: Array | None = None
) -> tuple[Array, Array]:
    """rho = F'(high + low) in floats, and a bound on the error of each entry."""
    rho, error = exact_sums(columns_of(design, columns), int(columns.sum()), high, low)
    return rho.high, up(np.abs(rho.low) + error)


def exact_sums(blocks: Blocks, m: int, high: Array, low: Array | None) -> tuple[Double, Array]:
    """F'(high + low) as pairs: `sums_of_products` of each block, and of what they give."""
    lows = np.zeros_like(high) if low is None else low
    sums, errors = [], []
    for at, block in blocks:
        moving = (high[at] != 0.0) | (lows[at] != 0.0)
        if moving.any():
            alpha = Double(high[at][moving, None], lows[at][moving, None])
            found, error = sums_of_products(of(block[moving]), alpha)
            sums.append(found)
            errors.append(error)
    if not sums:
        return of(np.zeros(m)), np.zeros(m)
    parts = Double(np.stack([s.high for s in sums]), np.stack([s.low for s in sums]))
    rho, error = sums_of_products(parts, of(np.ones((len(sums), 1))))
    of_blocks = np.array([sum_up(each) for each in np.stack(errors).T])
    return rho, up(error + of_blocks)


class BasisProof(NamedTuple):
    """C = diag(r) F X has no singular value below ``low`` > 0."""

    X: Double
    low: float

    @np.errstate(over="ignore", invalid="ignore", under="ignore")
    def distance(self, rho: Double, error: Array) -> float:
        """A bound on nu: |X' rho|/low."""
        t, open_ = sums_of_products(self.X, rho.at(slice(None), None))
        sizes = up(np.abs(self.X.high) + np.abs(self.X.low))
        blurred = np.array([sum_up(up(column * error)) for column in sizes.T])
        t_size = up(up(up(np.abs(t.high) + np.abs(t.low)) + open_) + blurred)
        nu = float(up(length_up(t_size) / self.low))
        return nu if math.isfinite(nu) else math.inf


def basis_proof(F: Array, X: Double, r: Array) -> BasisProof | None:
    """The proof for any X, or None."""
    low = least_singular_value(F, X, r)
    return BasisProof(X, low) if low > 0.0 else None


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def least_singular_value(F: Array, X: Double, r: Array) -> float:
    """A lower bound on the least singular value of diag(r) F X; 0 where there is none.

    In float64 where that will do, else with twice the digits.
    """
    n, m = F.shape
    if m == 0:
        return 1.0
    found = 0.0 if X.low.any() else _plainly(F, X.high, r)
    if found < GOOD and n * m * m <= PRECISE_LIMIT:
        found = max(found, _precisely(F, X, r))
    return found


def _plainly(F: Array, X: Array, r: Array) -> float:
    """diag(r) F is off by u, the product by gam(m); below the normal range by 2^-1074 each."""
    n, m = F.shape
    B = r[:, None] * F
    sizes = np.abs(B) @ np.abs(X)
    below = 4.0 * TINY * n * up(sum_up(np.abs(X)) + 2.0 * m * m)
    return _from(B @ X, up(up(gam(m + 8.0) * length_up(sizes)) + up(below)))


def _precisely(F: Array, X: Double, r: Array) -> float:
    """Entry by entry with `sums_of_products`; r_i F_ij is a pair exactly, or nearly nothing."""
    n, m = F.shape
    B = Double(*two_product(r, np.ascontiguousarray(F.T)))
    missing = (np.abs(B.high) < LEAST) & (F.T != 0.0) & (r > 0.0)
    below = 0.0
    if missing.any():
        B = Double(np.where(missing, 0.0, B.high), np.where(missing, 0.0, B.low))
        sizes = sum_up(up(np.abs(X.high) + np.abs(X.low)))
        below = up(up(2.0 * LEAST * n) * sizes)
    C, left = np.empty((n, m)), np.empty((n, m))
    for k in range(m):
        c, error = sums_of_products(B, X.at(slice(None), slice(k, k + 1)))
        C[:, k], left[:, k] = c.high, up(np.abs(c.low) + error)
    return _from(C, up(length_up(left) + below))


def _from(M: Array, error: float) -> float:
    """sqrt(1 - th) - error, th >= |M'M - I|_2 by its row sums."""
    n, m = M.shape
    gram = M.T @ M
    off = up(np.abs(gram - np.eye(m)))
    off = np.maximum(off, off.T)
    th = up(float(off.sum(axis=1).max()) * (1.0 + gam(m + 8.0)))
    th = up(th + up(gam(n + 8.0) * sum_up(up(M * M)))) + 8.0 * TINY * n * m
    open_ = float(down(1.0 - up(th)))
    if not (open_ > 0.0 and math.isfinite(error)):  # nan is no proof either
        return 0.0
    return max(0.0, float(down(down(math.sqrt(open_)) - error)))


class GramProof(NamedTuple):
    """U G U >= L L' + c I with c > 0."""

    L: Array
    exponents: Places
    """U = diag(2^exponents)."""
    c: float

    @np.errstate(over="ignore", invalid="ignore", under="ignore")
    def distance(self, rho: Double, error: Array) -> float:
        """A bound on nu: |w| + |U rho - L w|/sqrt(c), w from a solve with L."""
        target = np.ldexp(rho.high, self.exponents)
        open_ = up(np.ldexp(up(np.abs(rho.low) + error), self.exponents)) + 2.0 * TINY
        w = scipy.linalg.solve_triangular(self.L, target, lower=True, check_finite=False)
        left = np.abs(target - self.L @ w)
        sizes = np.abs(self.L) @ np.abs(w) + np.abs(target)
        left = left + gam(w.size + 8.0) * sizes + 8.0 * w.size * TINY
        left = up(up(up(left) * (1.0 + 2.0**-48)) + open_)
        nu = up(length_up(w) + up(length_up(left) / down(math.sqrt(self.c))))
        return float(nu) if math.isfinite(nu) else math.inf


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def gram_proof(
    design: Design, columns: Mask, r: Array, unit: Array, least: float
) -> GramProof | None:
    """The proof for G = F' diag(r^2) F, or None.

    Parameters
    ----------
    design : Design
    columns : bool array of shape (d,)
        F.
    r : array of shape (n,)
    unit : array of shape (m,)
        What brings the diagonal of G near 1; powers of two take its place.
    least : float
        About the least eigenvalue after that; nothing rests on it.
    """
    n, m = design.shape[0], unit.size
    exponents = np.round(np.log2(unit)).astype(np.intp)
    H = _gram(design, columns, r, exponents)
    # r_i F_ij U_j is off by 2u and 2^-1074 (1 + r_i); its squares sum to at most (1 + gam) H_jj.
    below = 16.0 * TINY * n * m * m * (1.0 + float(r.max()))
    return factor_proof(H, exponents, n + 16.0, below, least)


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def factor_proof(
    H: Array, exponents: Places, terms: float, below: float, least: float
) -> GramProof | None:
    """The proof for U G U near H, or None.

    Parameters
    ----------
    H : array of shape (m, m)
        Sums of products of pairs of columns, off by gam(terms) of the sums of their sizes.
    exponents : array of int
        U = diag(2^exponents).
    terms : float
        Roundings behind a term.
    below : float
        What underflows may have made of H besides, over 2 + 2 trace.
    least : float
        About the least eigenvalue of H; nothing rests on it.
    """
    if not np.isfinite(H).all():
        return None
    m = len(H)
    trace = sum_up(np.diag(H).copy())
    error = up(up(gam(terms) * (1.0 + 2.0 * gam(terms))) * trace)
    error = up(up(error) + up(below * (2.0 + 2.0 * trace)))
    for share in SHIFTS:
        s = share * least
        shifted = H.copy()
        shifted[np.diag_indices(m)] -= s
        L = lower_factor(shifted, overwrite=True)
        if L is None:
            continue
        L = np.tril(L)
        residual = L @ L.T - H
        residual[np.diag_indices(m)] += s
        off = np.abs(residual)
        off = np.maximum(off, off.T)
        # Of the two roundings of an entry the first is of its size before s was added.
        d = up(float(off.sum(axis=1).max()) * (1.0 + gam(m + 8.0))) + 4.0 * m * m * TINY
        d = up(up(d) + up(gam(m + 8.0) * sum_up(up(L * L)) + 4.0 * gam(1.0) * s))
        c = float(down(down(s - up(d)) - error))
        if c > 0.0:
            return GramProof(L, exponents, c)
    return None


def _gram(design: Design, columns: Mask, r: Array, exponents: Places) -> Array:
    """U F' diag(r^2) F U from r_i F_ij U_j, each product a sum in some order."""
    m = exponents.size
    base = design.base if isinstance(design, InterceptDesign) else design
    if isinstance(base, SparseDesign) and base.nonzeros < DENSE * base.shape[0] * base.shape[1]:
        some = np.flatnonzero(columns[: base.shape[1]])
        F: Any = sp.csc_array(base.A)[:, some].astype(np.float64)
        if isinstance(design, InterceptDesign) and columns[-1]:
            constant = sp.csc_array(np.full((design.shape[0], 1), design.scale))
            F = sp.hstack((F, constant), format="csc")
        B = sp.diags_array(r) @ (F @ sp.diags_array(np.ldexp(1.0, exponents)))
        return np.asarray((B.T @ B).toarray())
    H = np.zeros((m, m))
    for at, block in design.blocks(max(256, block_rows(design.shape[1]))):
        B = r[at, None] * np.ldexp(block[:, columns], exponents)
        H += B.T @ B
    return H
