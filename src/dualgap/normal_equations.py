"""Solve (A_S' W A_S + diag(l2)) beta = r for a set S of columns, and say how far it can be trusted.

Columns are brought to unit length first, so that units of measurement do not matter. A matrix that
is singular to rounding is inverted on its range only.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.linalg.lapack

from dualgap._types import Array, Mask
from dualgap.constants import _outer_gram
from dualgap.designs import Design
from dualgap.designs._base import block_rows

EPS = float(np.finfo(float).eps)
WELL_CONDITIONED = 1e-11


class NormalEquations:
    """A factorisation of G = A_S' W A_S + diag(l2).

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
        self.design, self.weights = design, weights
        self.columns = columns
        self.matrix = _gram(design, weights, self.columns)
        if l2 is not None:
            self.matrix[np.diag_indices_from(self.matrix)] += l2[self.columns]
        self._factorise()

    def _factorise(self) -> None:
        diagonal = np.diag(self.matrix)
        self.unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = self.matrix * self.unit * self.unit[:, None]
        self._cholesky: Array | None = None
        self._range: tuple[Array, Array] | None = None
        factor, info = scipy.linalg.lapack.dpotrf(scaled, lower=1)
        if info == 0:
            norm = float(np.abs(scaled).sum(axis=0).max())
            if scipy.linalg.lapack.dpocon(factor, norm, uplo="L")[0] >= WELL_CONDITIONED:
                self._cholesky = factor
        if self._cholesky is None:
            e, V = scipy.linalg.eigh(scaled, check_finite=False)
            keep = e > 10.0 * EPS * max(e[-1], 0.0)
            self._range = V[:, keep], e[keep]

    @property
    def definite(self) -> bool:
        """Whether G is positive definite beyond doubt, and not only on its range."""
        return self._cholesky is not None

    def solve(self, r: Array) -> Array:
        """beta with G beta = r (r and beta on S)."""
        scaled = self.unit * r
        if self._cholesky is not None:
            out = scipy.linalg.cho_solve((self._cholesky, True), scaled, check_finite=False)
        else:
            assert self._range is not None
            V, e = self._range
            out = V @ ((V.T @ scaled) / e)
        return np.asarray(self.unit * out)

    def largest_leverage(self, rows: Mask) -> float:
        """Max over the given rows (a bool array) of a_i' G^+ a_i."""
        largest = 0.0
        for at, block in self.design.blocks(block_rows(self.design.shape[1])):
            B = (block[rows[at]][:, self.columns] * self.unit).T
            if self._cholesky is not None:
                half = scipy.linalg.solve_triangular(
                    self._cholesky, B, lower=True, check_finite=False
                )
            else:
                assert self._range is not None
                V, e = self._range
                half = (V.T @ B) / np.sqrt(e)[:, None]
            if half.size:
                largest = max(largest, float(np.einsum("ij,ij->j", half, half).max()))
        return largest


def certified_inverse_form(G: Array, r: Array) -> float | None:
    """An upper bound on r' G^-1 r that rounding cannot spoil, or None if G is too near singular.

    G - e I is factorised instead of G, in columns of unit length, with e above the rounding of
    both the factorisation and G itself: where that succeeds, G is larger than what was factorised.
    """
    diagonal = np.diag(G)
    if (diagonal <= 0).any():
        return None
    unit = 1.0 / np.sqrt(diagonal)
    scaled = G * unit * unit[:, None]
    d = G.shape[0]
    scaled[np.diag_indices(d)] -= 8.0 * (d + 1) * EPS * d
    factor, info = scipy.linalg.lapack.dpotrf(scaled, lower=1)
    if info != 0:
        return None
    half = scipy.linalg.solve_triangular(factor, unit * r, lower=True, check_finite=False)
    return float(half @ half) * (1.0 + 1e-9)


def remove_range(design: Design, q: Array, y: Array) -> Array:
    """The part of y that is Q-orthogonal to the range of A, for fewer rows than columns."""
    root = np.sqrt(q)
    K = root[:, None] * _outer_gram(design) * root
    e, V = scipy.linalg.eigh(K, check_finite=False)
    null = V[:, e <= 10.0 * EPS * q.size * max(e[-1], 0.0)]
    kept = null @ (null.T @ (root * y))
    return np.asarray(np.divide(kept, root, out=np.zeros_like(y), where=root > 0))


def _gram(design: Design, weights: Array, columns: Mask) -> Array:
    if columns.all():
        return design.gram(weights)
    size = int(columns.sum())
    total = np.zeros((size, size))
    for at, block in design.blocks(block_rows(design.shape[1])):
        B = block[:, columns]
        total += B.T @ (weights[at, None] * B)
    return total
