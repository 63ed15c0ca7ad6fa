"""Gram matrices of a set S of columns, factorised, with a word on how far they can be trusted.

`NormalEquations` solves (A_S' W A_S + diag(l2)) beta = r. Columns are brought to unit length first,
so that units of measurement do not matter.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dualgap._types import Array, Mask
from dualgap.designs import Design
from dualgap.designs.contract import block_rows
from dualgap.designs.tasks import gram_of_columns
from dualgap.linalg.cholesky import Cholesky, factor_and_condition, lower_factor, units
from dualgap.linalg.rounding import gamma, sum_error

WELL_CONDITIONED = 1e-8
"""Least reciprocal condition number at which a Gram matrix does instead of the columns."""
SOLVES = 6
"""With a factor, to find its least eigenvalue: what is found is proved."""
UNDERFLOWING = 1e-250
"""Squares below this may have lost digits; the columns themselves have not."""


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
    prove : bool
        Whether to prove a lower bound on the least eigenvalue.

    Attributes
    ----------
    proved : float
        A lower bound on the least eigenvalue of G with its diagonal brought to 1; 0 if there is
        none.
    """

    def __init__(
        self,
        design: Design,
        weights: Array,
        columns: Mask,
        l2: Array | None = None,
        *,
        prove: bool = False,
    ) -> None:
        self.design, self.columns = design, columns
        G = _gram(design, weights, columns)
        if l2 is not None:
            G[np.diag_indices_from(G)] += l2[columns]
        self._factorise(G)
        self.proved = self._least_eigenvalue(G) if prove and self.definite else 0.0

    def _least_eigenvalue(self, G: Array) -> float:
        """c > 0 if G - c I still has a Cholesky factor, rounding allowed for."""
        m, n = G.shape[0], self.design.shape[0]
        # The entries of G, at most 1, are sums of n terms; the factorisation rounds, too.
        rounding = m * (sum_error(n + 4) + gamma(m + 2))
        least = self._inverse_iteration(m)
        for c in (0.85 * least, 0.3 * least, 0.1 * self.rcond):
            shifted = G.copy()
            shifted[np.diag_indices(m)] -= c + rounding
            if lower_factor(shifted, overwrite=True) is not None:
                return c
        return 0.0

    def _inverse_iteration(self, m: int) -> float:
        """About the least eigenvalue, by a few solves with the factor; not below it."""
        v = np.random.default_rng(0).standard_normal(m)
        at_unit = Cholesky(self._factor, np.ones(m))
        size = 1.0
        for _ in range(SOLVES):
            v /= np.linalg.norm(v)
            v = at_unit.solve(v)
            size = float(np.linalg.norm(v))
        return 1.0 / size if size > 0.0 else 0.0

    def _factorise(self, G: Array) -> None:
        """Factorise G, which is overwritten."""
        diagonal = np.diag(G).copy()
        self.unit = units(diagonal)
        with np.errstate(over="ignore", invalid="ignore"):  # of what is below UNDERFLOWING
            G *= self.unit * self.unit[:, None]
        factor, rcond = factor_and_condition(G)
        self._factor = np.empty((0, 0)) if factor is None else factor
        self.rcond = rcond if diagonal.min() > UNDERFLOWING else 0.0

    @property
    def definite(self) -> bool:
        """Whether G is positive definite beyond doubt; nothing else may be asked of it if not."""
        return self.rcond >= WELL_CONDITIONED

    def solve(self, r: Array) -> Array:
        """beta with G beta = r (r and beta on S)."""
        return Cholesky(self._factor, self.unit).solve(r)

    def inverse_factor(self) -> Array:
        """X with X' G X = I but for rounding."""
        identity = np.eye(self.unit.size)
        half = scipy.linalg.solve_triangular(self._factor, identity, lower=True, check_finite=False)
        return np.asarray(self.unit[:, None] * half.T)

    def norm(self, r: Array) -> float:
        """sqrt(r' G^-1 r)."""
        half = scipy.linalg.solve_triangular(
            self._factor, self.unit * r, lower=True, check_finite=False
        )
        return float(np.linalg.norm(half))


def _gram(design: Design, weights: Array, columns: Mask) -> Array:
    if columns.all():
        return design.gram(weights)
    if design.knows_gram(weights):
        return design.gram(weights)[np.ix_(columns, columns)]
    if design.streams:
        some = np.flatnonzero(columns)
        return np.asarray(design.map_rows(gram_of_columns, (weights,), some)[1][0])
    size = int(columns.sum())
    total = np.zeros((size, size))
    for at, block in design.blocks(block_rows(design.shape[1])):
        B = block[:, columns]
        total += B.T @ (weights[at, None] * B)
    return total
