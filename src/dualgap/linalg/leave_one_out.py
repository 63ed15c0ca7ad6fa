"""Errors of ridge regression on each row when it is left out, for any strength.

In the terms of `linalg.ridge` with B = A - 1m' and H = R B (B'QB + l2 I)^(-1) B' R + rr' (r the
diagonal of R; rr' where there is an intercept), the residual of a fit without row i is
r_i/(1 - H_ii), r the residual of the fit to all. By rows, with the matrix M = R B B' R,
I - R B (...) B' R = l2 (M + l2 I)^(-1), of which both follow.

Many strengths share the eigenvectors of the matrix; by rows a few are quicker with a factor each.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from dualgap._types import Array
from dualgap.designs import as_design
from dualgap.designs.moved import column_shifts, moved
from dualgap.linalg.cholesky import lower_factor
from dualgap.linalg.ridge import RidgeSystem

FACTORS = 8
"""Eigenvectors cost as much as about so many factorisations with the inverse."""


class LeaveOneOut:
    """The errors on rows that are left out.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,) or (n, K)
    weights : array of shape (n,), optional
    fit_intercept : bool
    count : int
        About how many strengths will be asked for.
    """

    def __init__(
        self, X: Any, y: Array, weights: Array | None, fit_intercept: bool, count: int = FACTORS
    ) -> None:
        n = X.shape[0]
        X = X.astype(np.float64, copy=False)
        self.total = float(n) if weights is None else float(weights.sum())
        q = np.full(n, 1.0 / n) if weights is None else weights / self.total
        self.is_moved = False
        if fit_intercept:  # centred Gram matrices would not know columns that are far from 0
            base = as_design(X)
            shifts = column_shifts(base, q)
            self.is_moved = shifts is not None
            X = X if shifts is None else moved(base, shifts, np.ones(X.shape[1])).A
        self.system = RidgeSystem(X, q, fit_intercept)
        self.shape = y.shape
        self.targets = self.system.centred(y.reshape(n, -1))[0]
        self.constant = q if fit_intercept else np.zeros(n)
        self.by_factor = not self.system.by_columns and count < FACTORS

    def errors(self, alpha: float) -> Array:
        """y_i minus the prediction for row i of the fit without it."""
        l2 = alpha / self.total
        residuals, kept = self._by_columns(l2) if self.system.by_columns else self._by_rows(l2)
        return np.asarray((residuals / kept[:, None]).reshape(self.shape))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        values, vectors = scipy.linalg.eigh(self.system.matrix, check_finite=False)
        return np.maximum(values, 0.0), vectors

    # ---- by columns ----

    @cached_property
    def _rows(self) -> tuple[Array, Array, Array]:
        """B in the basis of the eigenvectors, its squares times q, and B'Q targets there."""
        vectors, system = self._eigen[1], self.system
        rows = np.asarray(system.A @ vectors) - system.means @ vectors
        weighted = system.q[:, None] * rows
        return rows, rows * weighted, weighted.T @ self.targets

    def _by_columns(self, l2: float) -> tuple[Array, Array]:
        """The residuals of the fit to all, and 1 - H_ii."""
        rows, squares, slopes = self._rows
        factor = 1.0 / (self._eigen[0] + l2)
        residuals = self.targets - rows @ (factor[:, None] * slopes)
        return residuals, 1.0 - squares @ factor - self.constant

    # ---- by rows ----

    def _by_rows(self, l2: float) -> tuple[Array, Array]:
        """The same; rows without weight have a prediction that does without them anyway."""
        root = self.system.root
        some = self._by_inverse(l2) if self.by_factor else None
        residuals, kept = self._by_vectors(l2) if some is None else some
        counts = root > 0
        residuals = residuals / np.where(counts, root, 1.0)[:, None]
        return np.where(counts[:, None], residuals, self.targets), np.where(counts, kept, 1.0)

    @cached_property
    def _outer_vectors(self) -> tuple[Array, Array]:
        """The eigenvectors of M, but for r.

        It is an eigenvector to 0 which the intercept takes up: it is left out, for what rounding
        makes of its 0 is not small next to small strengths.
        """
        values, vectors = self._eigen
        if self.system.fit_intercept:
            at = int(np.argmax(np.abs(self.system.root @ vectors)))
            values, vectors = np.delete(values, at), np.delete(vectors, at, axis=1)
        return values, vectors

    def _by_vectors(self, l2: float) -> tuple[Array, Array]:
        values, vectors = self._outer_vectors
        left = l2 / (values + l2)
        scaled = self.system.root[:, None] * self.targets
        return vectors @ (left[:, None] * (vectors.T @ scaled)), (vectors * vectors) @ left

    def _by_inverse(self, l2: float) -> tuple[Array, Array] | None:
        """By M + s rr' in place of M: the share of rr' in its inverse is known, and taken out."""
        M, root = self.system.matrix, self.system.root
        size = max(float(M.trace()) / len(M), l2) if self.system.fit_intercept else 0.0
        shifted = np.multiply.outer(size * root, root)
        shifted += M
        shifted[np.diag_indices_from(M)] += l2
        factor = lower_factor(shifted, overwrite=True)
        if factor is None:
            return None
        inverse = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=True)[0]
        scaled = root[:, None] * self.targets
        kept = inverse.diagonal().copy()
        if size:
            kept -= root * root / (size + l2)
        return l2 * scipy.linalg.blas.dsymm(1.0, inverse, scaled, lower=1), l2 * kept
