"""Factorisations of H = A'WA + diag(l2), W = diag(w): what a Newton step solves with.

By columns (d <= n): the Gram matrix A'WA + diag(l2), d x d, Cholesky.
By rows (n < d, every coordinate but a trailing free one has l2_j > 0): with E = diag(l2) on these
and S = A E^(-1/2), Woodbury's identity

    (A'WA + E)^(-1) = E^(-1) - E^(-1) A' W^(1/2) (I + W^(1/2) S S' W^(1/2))^(-1) W^(1/2) A E^(-1)

needs only the n x n matrix S S', which does not depend on w and is kept. An intercept is bordered.

They precondition conjugate gradients and may be of another point's W: nothing rests on them but
speed. Where H is singular a multiple of its diagonal is added.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.columns import row_pieces
from dualgap.designs.contract import BLAS3_GAIN
from dualgap.designs.narrow import Narrow
from dualgap.limits import CALL
from dualgap.linalg.cholesky import cholesky
from dualgap.memory import spares

LARGEST_SIDE = 4096
"""No matrix with a larger side is factorised (128 MiB)."""
MATRICES = 3
"""So many of that side are alive at once: the Gram matrix, that with l2 on it, and its factor."""
MOST_CANCELLED = 1e-10
"""At least this share is left of Woodbury's difference: a larger l2 stands in where it is less."""
NOTHING = np.empty(0)
"""The weights of a Gram matrix that is known: they are not looked at."""
LEAST_PIVOT = 3e-3
"""A factor of float32 data serves if no pivot at unit diagonal is below this: less may be 0."""


def by_columns(design: Design) -> bool:
    """Whether the smaller matrix is the one by columns."""
    return design.shape[1] <= design.shape[0] + 1


def cost(design: Design, l2: Array, *, outer_known: bool = False) -> float:
    """What `HessianFactor` costs, in passes (a pass: one product with A, one with A'); may be inf.

    A rule of thumb in multiplications that never reads a clock: the same data, the same choice.
    """
    n, d = design.shape
    side = min(n, d)
    if side > LARGEST_SIDE or not (by_columns(design) or _rows_do(l2)):
        return np.inf
    if not spares(8.0 * MATRICES * side * side):
        return np.inf
    work = side**3 / 3.0 / (2.0 * BLAS3_GAIN)
    if not outer_known:
        work += design.gram_multiplications(by_columns(design))
    return float(work / (2.0 * design.nonzeros + CALL))


def _rows_do(l2: Array) -> bool:
    return bool((l2[:-1] > 0).all())


class HessianFactor:
    """An (approximate) inverse of A'WA + diag(l2).

    Parameters
    ----------
    design : Design
    w : array of shape (n,)
        The diagonal of W, >= 0.
    l2 : array of shape (d,)
    outer : array of shape (n, n), optional
        S S' of an earlier factorisation by rows.
    last : array of shape (n,), optional
        The last column of A, if it is free, from an earlier factorisation by rows.
    gram : array of shape (d, d), optional
        A'WA of an earlier factorisation by columns.
    narrow : Narrow, optional
        The design to a few digits: the Gram matrix is made of it.
    """

    is_exact: bool = True
    """Whether nothing but rounding is between H^(-1) and this."""
    is_narrow: bool = False
    """Whether it was made of a float32 copy."""

    def __init__(
        self,
        design: Design,
        w: Array,
        l2: Array,
        outer: Array | None = None,
        last: Array | None = None,
        gram: Array | None = None,
        narrow: Narrow | None = None,
    ) -> None:
        self.design, self.l2 = design, l2
        self.last: Array | None = None
        self.columns = by_columns(design)
        self.w: Array | None = None if self.columns else w
        self.outer = outer
        if self.columns:
            self.gram = self._gram(w, narrow) if gram is None else gram
            self.cholesky = cholesky(self.gram, l2)
            if self.is_narrow and self.cholesky.least_pivot < LEAST_PIVOT:
                self.gram, self.is_exact, self.is_narrow = self._gram(w, None), True, False
                self.cholesky = cholesky(self.gram, l2)
            return
        self.inverse_l2 = np.divide(1.0, l2, out=np.zeros_like(l2), where=l2 > 0)
        self.root = np.sqrt(w)
        if self.outer is None:
            self.outer = design.outer(self.inverse_l2)
        # E^(-1) less what is nearly E^(-1): with l2 below MOST_CANCELLED of what the data give, a
        # larger l2 stands in for it. Conjugate gradients stay in the range of A', where the
        # data's part of H outweighs both.
        shift = max(1.0, MOST_CANCELLED * float(np.max(w * np.diag(self.outer), initial=0.0)))
        self.inverse_l2 /= shift
        self.is_exact = shift == 1.0
        M = self.root[:, None] * self.outer * self.root / shift
        self.cholesky = cholesky(M, 1.0)
        if not l2[-1] > 0:
            # H = [[K, h], [h', k]] with the free coordinate last, h = A'Wa, k = a'Wa. With
            # c = (I + M)^(-1) W^(1/2) a it is K^(-1) h = E^(-1) A'W^(1/2) c, and the Schur
            # complement k - h'K^(-1) h = a'W^(1/2) c.
            if last is None:
                e = np.zeros(l2.size)
                e[-1] = 1.0
                last = design.matvec(e)
            self.last = last
            self.end = self.cholesky.solve(self.root * last)
            self.schur = max(float((self.root * last) @ self.end), 1e-300)

    @cached_property
    def weakest(self) -> float:
        """The least pivot at unit diagonal: far below 1 where H is nearly singular."""
        return self.cholesky.least_pivot

    def _gram(self, w: Array, narrow: Narrow | None) -> Array:
        """A'WA."""
        if narrow is None:
            return weighted_gram(self.design, w)
        self.is_exact, self.is_narrow = False, True
        return narrow.gram(w)

    def with_strengths(self, l2: Array) -> HessianFactor:
        """The factor for other l2 and the same W, where that is cheap; else this one."""
        if np.array_equal(l2, self.l2):
            return self
        if self.columns:
            return HessianFactor(self.design, NOTHING, l2, gram=self.gram)
        on = self.l2 > 0
        share = l2[on] / self.l2[on]
        if not (share > 0).all() or np.ptp(share) > 1e-12 * share.max():
            return self
        assert self.outer is not None and self.w is not None
        outer = self.outer / share[0]
        return HessianFactor(self.design, self.w, l2, outer=outer, last=self.last)

    def solve(self, r: Array) -> Array:
        """H^(-1) r."""
        if self.columns:
            return self.cholesky.solve(r)
        return self._by_rows(r, self.design.matvec(self.inverse_l2 * r))[0]

    def newton_step(self, r: Array, slope: Array, x: Array, z: Array) -> tuple[Array, Array] | None:
        """d = H^(-1) r and A d, where r = -A'slope - l2 x and z = A x, for half a pass; or None.

        By rows, A E^(-1) r = -S S'slope - z and A E^(-1) A' = S S': no product with A is needed.
        """
        if self.columns or not self.is_exact:
            return None
        assert self.outer is not None
        image = -(self.outer @ slope) - z
        if self.last is not None:  # z has its share of the free column
            image += float(x[-1]) * self.last
        d, v = self._by_rows(r, image)
        Ad = image - self.outer @ v
        if self.last is not None:
            Ad += float(d[-1]) * self.last
        return d, Ad

    def _by_rows(self, r: Array, image: Array) -> tuple[Array, Array]:
        """H^(-1) r by Woodbury's identity, E^(-1) (r - A'v) where penalised; and v.

        ``image`` is A E^(-1) r.
        """
        inner, free = self.cholesky.solve(self.root * image), 0.0
        if self.last is not None:
            free = (float(r[-1]) - float((self.root * self.last) @ inner)) / self.schur
            inner += free * self.end
        v = self.root * inner
        d = self.inverse_l2 * (r - self.design.rmatvec(v))
        if self.last is not None:
            d[-1] = free
        return d, v

    @property
    def passes(self) -> float:
        """Passes over the data of one `solve`."""
        return 0.0 if self.columns else 1.0


def weighted_gram(design: Design, w: Array) -> Array:
    """A'WA, in the lower triangle at least."""
    rows = design.rows() if design.is_sparse else None
    if rows is None:
        return design.gram(w)
    from dualgap.linalg.compiled_gram import csr_gram

    design.ledger.rows += design.shape[0]
    design.ledger.passes += design.shape[1]
    G = np.zeros((design.shape[1], design.shape[1]))
    for indptr, some in row_pieces(rows.indptr, w):
        csr_gram(rows.data, rows.indices, indptr, rows.constant, some, G)
    return G


def symmetric_gram(design: Design, w: Array) -> Array:
    """A'WA, whole."""
    G = weighted_gram(design, w)
    if design.is_sparse:
        from dualgap.linalg.compiled_gram import mirror

        mirror(G)
    return G
