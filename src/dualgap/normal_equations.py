"""Gram matrices of a set S of columns, factorised, with a word on how far they can be trusted.

`NormalEquations` solves (A_S' W A_S + diag(l2)) beta = r. `Range` removes from a dual point what
lies in the range of A_S. Columns are brought to unit length first, so that units of measurement
do not matter.

Rounding: A_S'Qy is known to about eps |y|. In a direction in which A_S has the singular value sigma
that leaves eps |y|/sigma of y undecided, so every result comes with the least sigma. A sigma
below 1e-14 is taken for 0: it is no larger than the rounding of the data themselves.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
import scipy.linalg.lapack

from dualgap._types import Array, Mask
from dualgap.constants import GRAM_LIMIT
from dualgap.designs import Design
from dualgap.designs._base import block_rows

EPS = float(np.finfo(float).eps)
WELL_CONDITIONED = 1e-8
"""Least reciprocal condition number at which a Gram matrix does instead of the columns."""
NULL = 1e-14
DENSE_LIMIT = 1 << 27
"""Most entries of a dense copy of the columns (1 GiB)."""


class NormalEquations:
    """A Cholesky factorisation of G = A_S' W A_S + diag(l2), if G is well conditioned.

    Parameters
    ----------
    design : Design
    weights : array of shape (n,)
        The diagonal of W, >= 0.
    columns : bool array of shape (d,)
        The set S.
    l2 : array of shape (d,), optional
        Added to the diagonal (its part on S).
    """

    def __init__(
        self, design: Design, weights: Array, columns: Mask, l2: Array | None = None
    ) -> None:
        self.design, self.columns = design, columns
        G = _gram(design, weights, columns)
        if l2 is not None:
            G[np.diag_indices_from(G)] += l2[columns]
        self._factorise(G)

    def _factorise(self, G: Array) -> None:
        """Factorise G, which is overwritten."""
        diagonal = np.diag(G)
        self.unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        G *= self.unit * self.unit[:, None]
        norm = float(np.abs(G).sum(axis=0).max())
        self._cholesky, info = scipy.linalg.lapack.dpotrf(G, lower=1)
        self.rcond = 0.0
        if info == 0:
            self.rcond = float(scipy.linalg.lapack.dpocon(self._cholesky, norm, uplo="L")[0])

    @property
    def definite(self) -> bool:
        """Whether G is positive definite beyond doubt; nothing else may be asked of it if not."""
        return self.rcond >= WELL_CONDITIONED

    @property
    def least_sigma(self) -> float:
        """About the least singular value of the columns at unit length."""
        return math.sqrt(self.rcond)

    def solve(self, r: Array) -> Array:
        """beta with G beta = r (r and beta on S)."""
        out = scipy.linalg.cho_solve((self._cholesky, True), self.unit * r, check_finite=False)
        return np.asarray(self.unit * out)

    def norm(self, r: Array) -> float:
        """sqrt(r' G^-1 r)."""
        half = scipy.linalg.solve_triangular(
            self._cholesky, self.unit * r, lower=True, check_finite=False
        )
        return float(np.linalg.norm(half))

    def largest_leverage(self, rows: Mask) -> float:
        """Max over the given rows (a bool array) of a_i' G^-1 a_i."""
        largest = 0.0
        for at, block in self.design.blocks(block_rows(self.design.shape[1])):
            B = (block[rows[at]][:, self.columns] * self.unit).T
            half = scipy.linalg.solve_triangular(self._cholesky, B, lower=True, check_finite=False)
            if half.size:
                largest = max(largest, float(np.einsum("ij,ij->j", half, half).max()))
        return largest


class Range:
    """The range of the columns A_S in the inner product <y, y'> = sum_i q_i y_i y_i'.

    Well-conditioned columns: by normal equations, refined. Others: by the singular value
    decomposition of a dense copy. Neither: `known` is False.
    """

    def __init__(self, design: Design, q: Array, columns: Mask) -> None:
        self.design, self.q, self.columns = design, q, columns
        self.least_sigma = 0.0
        self._equations: NormalEquations | None = None
        self._basis: Array | None = None
        n, d = design.shape[0], int(columns.sum())
        if d <= min(n, GRAM_LIMIT):
            equations = NormalEquations(design, q, columns)
            if equations.definite:
                self._equations, self.least_sigma = equations, equations.least_sigma
                return
        if n * d <= DENSE_LIMIT and min(n, d) <= GRAM_LIMIT:
            self._basis, self.least_sigma = _orthonormal_basis(design, q, columns)

    @property
    def known(self) -> bool:
        """Whether there is a factorisation."""
        return self._equations is not None or self._basis is not None

    def remove(self, y: Array) -> Array:
        """y less its projection on the range; repeated, so that what is left is rounding."""
        for _ in range(3):
            if self._equations is not None:
                s = self.design.rmatvec(self.q * y)[self.columns]
                beta = np.zeros(self.design.shape[1])
                beta[self.columns] = self._equations.solve(s)
                y = y - self.design.matvec(beta)
            else:
                assert self._basis is not None
                root = np.sqrt(self.q)
                part = self._basis @ (self._basis.T @ (root * y))
                y = y - np.divide(part, root, out=np.zeros_like(y), where=root > 0)
        return y

    def size(self, y: Array, s: Array) -> float:
        """|projection of y on the range|, s = A'Qy, with what rounding leaves undecided of it."""
        if self._equations is not None:
            part = self._equations.norm(s[self.columns])
        else:
            assert self._basis is not None
            part = float(np.linalg.norm(self._basis.T @ (np.sqrt(self.q) * y)))
        undecided = 16.0 * EPS * math.sqrt(float(self.q @ (y * y)))
        return part + (undecided / self.least_sigma if self.least_sigma > 0 else 0.0)


def _orthonormal_basis(design: Design, q: Array, columns: Mask) -> tuple[Array, float]:
    """An orthonormal basis of the range of Q^(1/2) A_S, and the least singular value kept."""
    B = np.empty((design.shape[0], int(columns.sum())))
    for at, block in design.blocks(block_rows(design.shape[1])):
        B[at] = block[:, columns] * np.sqrt(q[at])[:, None]
    norms = np.linalg.norm(B, axis=0)
    B /= np.where(norms > 0, norms, 1.0)
    U, sigma, _ = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
    kept = sigma > NULL * max(float(sigma[0]), np.finfo(float).tiny)
    least = float(sigma[kept].min()) if kept.any() else 0.0
    return np.asarray(U[:, kept]), least


def certified_inverse_form(G: Array, r: Array, undecided: Array) -> float | None:
    """An upper bound on r' G^-1 r that rounding cannot spoil, or None if G is too near singular.

    G - e I is factorised instead of G, in columns of unit length, with e above the rounding of
    both the factorisation and G itself: where that succeeds, G is larger than what was factorised.
    ``undecided`` bounds the rounding of each entry of r.
    """
    diagonal = np.diag(G)
    if (diagonal <= 0).any():
        return None
    unit = 1.0 / np.sqrt(diagonal)
    scaled = G * unit * unit[:, None]
    d = G.shape[0]
    scaled[np.diag_indices(d)] -= 8.0 * (d + 1) * EPS * d
    norm = float(np.abs(scaled).sum(axis=0).max())
    factor, info = scipy.linalg.lapack.dpotrf(scaled, lower=1)
    if info != 0:
        return None
    rcond = float(scipy.linalg.lapack.dpocon(factor, norm, uplo="L")[0])
    half = scipy.linalg.solve_triangular(factor, unit * r, lower=True, check_finite=False)
    slack = float(np.linalg.norm(unit * undecided)) / math.sqrt(max(rcond, EPS) * norm)
    return (float(np.linalg.norm(half)) + slack) ** 2 * (1.0 + 1e-9)


def _gram(design: Design, weights: Array, columns: Mask) -> Array:
    if columns.all():
        return design.gram(weights)
    size = int(columns.sum())
    total = np.zeros((size, size))
    for at, block in design.blocks(block_rows(design.shape[1])):
        B = block[:, columns]
        total += B.T @ (weights[at, None] * B)
    return total
