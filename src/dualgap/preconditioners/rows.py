"""Whitening in row space, for fewer rows than columns: O(n^2 d) instead of O(d^3).

The minimiser lies in the range of F^2 A', F = diag(l2)^(-1/2), so x = F^2 A_c' N w with N of n
rows. With K = A_c F^2 A_c' and W = Q diag(h) the quadratic forms of the data and of g are
N'KWKN and N'KN: with K = V diag(k) V' and the eigenvalues e of k^(1/2) V'WV k^(1/2) (whose
eigenvectors are Z)

    N = V k^(-1/2) Z (e + 1)^(-1/2),   A T = V k^(1/2) Z (e + 1)^(-1/2),   strengths 1/(e + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from dualgap._arrays import per_row
from dualgap._types import Array
from dualgap.linalg.rounding import EPS
from dualgap.preconditioners.contract import check_mixing
from dualgap.preconditioners.whiten import Local, Whitener, Whitening
from dualgap.problem import Problem

LEAST_PIVOT = 1e-5
"""A row whose pivot of L is below this share of the largest is taken to depend on the other
rows."""


@dataclass(frozen=True, eq=False)
class RowSpace(Whitening):
    """x = F^2 A_c' N w."""

    N: Array
    image: Array
    """A_c T."""

    preconditioner: ClassVar[str] = "rows"

    def product(self, problem: Problem) -> Array:
        """A_c T."""
        return self.image

    def coefficients(self, problem: Problem, w: Array) -> Array:
        """F^2 A_c' N w."""
        alpha = self.N @ w
        x = problem.base.rmatvec(alpha)
        if self.means is not None:
            x = x - np.multiply.outer(self.means, alpha.sum(axis=0))
        return x / per_row(_penalty(problem), x)

    def solve(self, problem: Problem, x: Array) -> Array:
        """From the predictions of x: w = (A_c T)^+ A_c x; what A does not see is dropped."""
        z = problem.base.matvec(x)
        if self.means is not None:
            z = z - self.means @ x
        w = scipy.linalg.lstsq(
            self.image, z.reshape(len(z), -1), check_finite=False, lapack_driver="gelsy"
        )[0]
        return np.asarray(w).reshape(-1, *z.shape[1:])


@dataclass(frozen=True)
class Rows(Whitener):
    """Whitening in row space, for l2 > 0 on every coordinate and n < d.

    Parameters
    ----------
    budget, again
        See `Whitener`.
    whiten : bool
        False: only an orthonormal basis of the row space, for methods that need no whitening. With
        K = L L' it is A T = L, N = L^(-T) on independent rows, and all strengths are 1.
    """

    whiten: bool = True

    name: ClassVar[str] = "rows"

    @property
    def rests_on_gamma(self) -> bool:
        """A basis alone asks nothing of the loss."""
        return self.whiten

    def bytes(self, problem: Problem) -> float:
        """A few matrices of side n."""
        return 8.0 * 6.0 * problem.n * problem.n

    def check(self, problem: Problem) -> None:
        """No l1, but l2 everywhere."""
        check_mixing(self, problem)
        if not _penalty(problem).all():
            raise ValueError(
                "precondition='rows' needs l2 > 0 on every coefficient (the answer must lie in the "
                "row space of A); use precondition='whiten', or 'diagonal'."
            )
        super().check(problem)

    def change(self, problem: Problem, h: Array, local: Local | None) -> Whitening:
        """Factorise A_c F^2 A_c'."""
        weights = problem.q * h
        K = _outer(problem)
        basis = None if self.whiten else _basis(problem, K)
        if basis is not None:
            return basis
        means = None
        if problem.fit_intercept:
            share = weights / weights.sum()
            means = problem.base.rmatvec(share)
            K = K - share @ K
            K = K - (K @ share)[:, None]
        k, V = scipy.linalg.eigh(K, check_finite=False)
        kept = k > 4.0 * len(k) * EPS * max(float(k[-1]), np.finfo(float).tiny)
        if not kept.any():  # nothing in A: any direction will do
            nothing = np.zeros((problem.n, 1))
            return RowSpace(np.ones(1), means, local, nothing, nothing)
        root, V = np.sqrt(k[kept]), V[:, kept]
        M = (root[:, None] * V.T) @ (weights[:, None] * (V * root))
        e, Z = scipy.linalg.eigh(M, check_finite=False)
        Z = Z / np.sqrt(np.maximum(e, 0.0) + 1.0)
        N = (V / root) @ Z
        image = np.ascontiguousarray((V * root) @ Z)
        strengths = 1.0 / (np.maximum(e, 0.0) + 1.0)
        return RowSpace(strengths, means, local, N, image)


def _basis(problem: Problem, K: Array) -> RowSpace | None:
    """The row space as it is, by a pivoted Cholesky factorisation of K; None if A = 0."""
    least = LEAST_PIVOT**2 * float(np.diag(K).max())
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(K, tol=least, lower=1)
    if not least > 0.0:
        return None
    order, L = pivots - 1, np.tril(factor)[:, :rank]
    inverse, _ = scipy.linalg.lapack.dtrtri(L[:rank], lower=1)
    N, image = np.zeros_like(L), np.empty_like(L)
    N[order[:rank]], image[order] = np.tril(inverse).T, L
    means = np.zeros(problem.d) if problem.fit_intercept else None
    return RowSpace(np.ones(rank), means, None, N, np.ascontiguousarray(image))


def _penalty(problem: Problem) -> Array:
    return np.asarray(problem.elastic_net.l2.reshape(-1)[: problem.d])


def _outer(problem: Problem) -> Array:
    """A F^2 A'."""
    return problem.base.outer(1.0 / _penalty(problem))
