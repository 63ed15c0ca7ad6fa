"""Ridge regression by one factorisation, for any number of targets.

With the columns and the targets centred by their weighted means (where there is an intercept; the
mean m of A is 0 where there is none) and Q = diag(q), sum_i q_i = 1,

    by columns (d <= n):  (A'QA - mm' + l2 I) x = A'Q(b - mean b)
    by rows    (n < d):   (R (A - 1m')(A - 1m')' R + l2 I) a = R(b - mean b),  R = Q^(1/2),
                          x = (A - 1m')' R a

and c = mean b - m'x. The matrix is made once, factorised once for each strength, and all targets
are solved for together. Nothing rests on it: what comes out is certified like any other point.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.linalg.cholesky import cholesky


class Solution(NamedTuple):
    """What solves the equations of all targets, as columns."""

    x: Array
    """The coefficients, shape (d, K)."""
    c: Array
    """The intercepts."""
    left: Array | None
    """By columns: what the equations leave, in floats."""
    a: Array | None
    """By rows: the vector of which x is made."""


class RidgeSystem:
    """The normal equations of ridge regressions on the same data.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, d)
        In float64.
    q : array of shape (n,)
        The rows' weights, which sum to one.
    fit_intercept : bool
    """

    def __init__(self, A: Any, q: Array, fit_intercept: bool) -> None:
        self.A, self.q, self.fit_intercept = A, q, fit_intercept
        self.by_columns = bool(A.shape[1] <= A.shape[0])
        self.is_uniform = bool((q == q[0]).all())

    @cached_property
    def means(self) -> Array:
        """m, the weighted means of the columns, or 0."""
        if not self.fit_intercept:
            return np.zeros(self.A.shape[1])
        return np.asarray(self.A.T @ self.q)

    @cached_property
    def root(self) -> Array:
        """The diagonal of R."""
        return np.sqrt(self.q)

    @cached_property
    def matrix(self) -> Array:
        """The matrix of the equations without l2."""
        if self.by_columns:
            gram = self.gram()
            return gram - np.multiply.outer(self.means, self.means) if self.fit_intercept else gram
        outer = _dense(self.A @ self.A.T)
        if self.fit_intercept:
            cross = outer @ self.q
            outer = outer - cross[:, None] - cross + self.q @ cross
        return np.asarray(self.root[:, None] * outer * self.root)

    def gram(self) -> Array:
        """A'QA; without a copy of A where all rows weigh the same."""
        if self.is_uniform:
            gram = _dense(self.A.T @ self.A)
            gram *= self.q[0]
            return gram
        root = self.root[:, None]
        scaled = self.A.multiply(root).tocsr() if hasattr(self.A, "multiply") else root * self.A
        return _dense(scaled.T @ scaled)

    def centred(self, targets: Array) -> tuple[Array, Array]:
        """The targets less their means, and the means."""
        if not self.fit_intercept:
            return targets, np.zeros(targets.shape[1])
        middle = self.q @ targets
        return targets - middle, middle

    def solve(self, targets: Array, l2: Array) -> Solution:
        """Coefficients and intercepts for every target.

        Parameters
        ----------
        targets : array of shape (n, K)
        l2 : array of shape (K,)
            The strength of each target, > 0.
        """
        middle = self.q @ targets if self.fit_intercept else np.zeros(l2.size)
        right = self._right(targets, middle)
        found = np.empty_like(right)
        alike = (l2 == l2[0]).all()
        for strength in l2[:1] if alike else np.unique(l2):
            here = slice(None) if alike else np.flatnonzero(l2 == strength)
            found[:, here] = cholesky(self.matrix, float(strength)).solve(right[:, here])
        if self.by_columns:
            left = self.matrix @ found
            left += l2 * found
            left -= right
            return Solution(found, middle - self.means @ found, left, None)
        x = self.coefficients(found)
        return Solution(x, middle - self.means @ x, None, found)

    def coefficients(self, a: Array) -> Array:
        """By rows: x = (A - 1m')' R a."""
        moved = self.root[:, None] * a
        if self.fit_intercept:  # A'(v - q sum v) is (A - 1m')'v
            moved -= np.multiply.outer(self.q, moved.sum(axis=0))
        return np.asarray(self.A.T @ moved)

    def _right(self, targets: Array, middle: Array) -> Array:
        """The right sides of the equations; ``middle`` holds the means of the targets."""
        if not self.by_columns:
            return np.asarray(self.root[:, None] * (targets - middle))
        if self.is_uniform:
            right = np.asarray(self.A.T @ targets)
            right *= self.q[0]
        else:
            right = np.asarray(self.A.T @ (self.q[:, None] * targets))
        if self.fit_intercept:
            right -= np.multiply.outer(self.means, middle)
        return right


def _dense(product: Any) -> Array:
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)
