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

    def _eigen(self, matrix: Array) -> tuple[Array, Array]:
        values, vectors = scipy.linalg.eigh(matrix, check_finite=False)
        return np.maximum(values, 0.0), vectors

    # ---- by columns ----

    @cached_property
    def _rows(self) -> tuple[Array, Array, Array, Array]:
        """The eigenvalues; B in the basis of their vectors, its squares times q, B'Q targets."""
        system = self.system
        values, vectors = self._eigen(system.matrix)
        rows = np.asarray(system.A @ vectors) - system.means @ vectors
        weighted = system.q[:, None] * rows
        return values, rows, rows * weighted, weighted.T @ self.targets

    def _by_columns(self, l2: float) -> tuple[Array, Array]:
        """The residuals of the fit to all, and 1 - H_ii."""
        values, rows, squares, slopes = self._rows
        factor = 1.0 / (values + l2)
        residuals = self.targets - rows @ (factor[:, None] * slopes)
        return residuals, 1.0 - squares @ factor - self.constant

    # ---- by rows ----

    def _by_rows(self, l2: float) -> tuple[Array, Array]:
        """The same. R r = l2 a says nothing of rows without weight, which are predicted."""
        system = self.system
        some = self._by_inverse(l2) if self.by_factor else None
        scaled, kept = self._by_vectors(l2) if some is None else some
        idle = system.root == 0.0
        residuals = scaled / np.where(idle, 1.0, system.root)[:, None]
        if idle.any():
            x = system.coefficients(scaled / l2)
            fitted = np.asarray(system.A @ x)[idle] - system.means @ x
            residuals[idle], kept[idle] = self.targets[idle] - fitted, 1.0
        return residuals, kept

    def _shifted(self, size: float) -> Array:
        """M + size rr' where there is an intercept.

        r is an eigenvector of M to 0, as any row without weight has one. So it gets a value of its
        own, for the intercept takes it up: it is left out, because what rounding makes of its 0 is
        not small next to small strengths.
        """
        M, root = self.system.matrix, self.system.root
        return M + np.multiply.outer(size * root, root) if self.system.fit_intercept else M.copy()

    @cached_property
    def _vectors(self) -> tuple[Array, Array]:
        """The eigenvalues and eigenvectors of M, but for r, whose value is made the largest."""
        values, vectors = self._eigen(self._shifted(2.0 * float(self.system.matrix.trace())))
        return (values[:-1], vectors[:, :-1]) if self.system.fit_intercept else (values, vectors)

    def _by_vectors(self, l2: float) -> tuple[Array, Array]:
        values, vectors = self._vectors
        left = l2 / (values + l2)
        scaled = self.system.root[:, None] * self.targets
        return vectors @ (left[:, None] * (vectors.T @ scaled)), (vectors * vectors) @ left

    def _by_inverse(self, l2: float) -> tuple[Array, Array] | None:
        """By M + s rr' in place of M: the share of rr' in its inverse is known, and taken out."""
        root = self.system.root
        size = max(float(self.system.matrix.trace()) / len(root), l2)
        shifted = self._shifted(size)
        shifted[np.diag_indices_from(shifted)] += l2
        factor = lower_factor(shifted, overwrite=True)
        if factor is None:
            return None
        inverse = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=True)[0]
        scaled = root[:, None] * self.targets
        kept = inverse.diagonal().copy()
        if self.system.fit_intercept:
            kept -= root * root / (size + l2)
        return l2 * scipy.linalg.blas.dsymm(1.0, inverse, scaled, lower=1), l2 * kept
