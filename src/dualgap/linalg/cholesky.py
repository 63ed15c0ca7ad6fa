"""Cholesky factorisations, and what keeps them safe: a unit diagonal, a shift, a condition number.

Only the lower triangle of a matrix is read, and factors are lower triangles.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import scipy.linalg.lapack
from numpy.typing import NDArray

from dualgap._arrays import per_row
from dualgap._types import Array

FIRST_SHIFT = 1e-14
"""A matrix of unit diagonal that has no factor gets this times its side on its diagonal.

It is the size of the rounding that makes a semidefinite matrix indefinite; where it does not do,
a hundred times as much is tried, and so on.
"""

Real = TypeVar("Real", NDArray[np.float32], NDArray[np.float64])


class Cholesky(NamedTuple):
    """The factor L of a matrix G that was brought to unit diagonal, U G U = LL'."""

    factor: Array
    """The lower triangle L."""
    unit: Array
    """The diagonal of U: 1/sqrt(G_jj), or 1 where G_jj is 0."""

    def solve(self, r: Array) -> Array:
        """G^(-1) r; r may have columns."""
        unit = per_row(self.unit, r)
        inner = scipy.linalg.lapack.dpotrs(self.factor, unit * r, lower=1)[0]
        return np.asarray(unit * inner)

    @property
    def least_pivot(self) -> float:
        """The least entry on the diagonal of L: far below 1 where G is nearly singular."""
        return float(self.factor.diagonal().min())


def cholesky(G: Array, l2: Array | float = 0.0) -> Cholesky:
    """The factor of G + diag(l2), shifted at unit diagonal until it exists."""
    diagonal = np.diag(G) + l2
    unit = units(diagonal)
    scaled = G * unit
    scaled *= unit[:, None]
    np.fill_diagonal(scaled, diagonal * unit**2)
    shift = 0.0
    while True:
        shifted = scaled.copy(order="F") if shift == 0.0 else scaled + shift * np.eye(len(G))
        factor = lower_factor(shifted, overwrite=True)
        if factor is not None:
            return Cholesky(factor, unit)
        shift = max(100.0 * shift, FIRST_SHIFT * len(G))


def units(diagonal: Array) -> Array:
    """What brings a matrix with this diagonal to unit diagonal, from both sides."""
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))


def lower_factor(M: Real, *, overwrite: bool = False) -> Real | None:
    """L with LL' = M, in the precision of M; None if M is not positive definite."""
    factorise = scipy.linalg.lapack.spotrf if M.dtype == np.float32 else scipy.linalg.lapack.dpotrf
    factor, failed = factorise(M, lower=1, clean=1, overwrite_a=overwrite)
    return None if failed else factor


def factor_and_condition(M: Array) -> tuple[Array | None, float]:
    """L and an estimate of 1/condition number of M in the 1-norm; None and 0 without a factor."""
    norm = float(np.abs(M).sum(axis=0).max())
    factor = lower_factor(M)
    if factor is None:
        return None, 0.0
    return factor, float(scipy.linalg.lapack.dpocon(factor, norm, uplo="L")[0])


def solved_once(M: Array, r: Array) -> tuple[Array, Array] | None:
    """L and M^(-1) r, or None where M has no factor or the solution is not finite."""
    factor, solution, failed = scipy.linalg.lapack.dposv(M, r, lower=1)
    if failed or not np.isfinite(solution).all():
        return None
    return factor, solution
