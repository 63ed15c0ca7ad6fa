"""(M + s I)^(-1) r for many s: M is brought to tridiagonal form once (Elden's way for ridge).

    M = Q T Q',    (M + s I)^(-1) r = Q (T + s I)^(-1) Q'r

which costs as much as a few factorisations of M, and then side^2 for each s. What rounding leaves
is solved for again. Where that does not help (entries of very different size) M + s I is
factorised, at a scale of its own.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg.lapack

from dualgap._types import Array
from dualgap.linalg.cholesky import cholesky

REDUCTION = 10
"""The tridiagonal form costs as much as so many factorisations: fewer s get one each instead."""
REFINEMENTS = 4
"""A solution is refined at most so often."""
CLOSE = 1e-9
"""Refinement ends when it changes the solution by no more than this share of it."""


class Shifted:
    """M, symmetric and positive semidefinite, to be solved with for ``count`` shifts."""

    def __init__(self, M: Array, count: int) -> None:
        self.M = M
        self.Q: Array | None = None
        side = len(M)
        if count < REDUCTION or side < 2:
            return
        work = int(scipy.linalg.lapack.dsytrd_lwork(side, lower=1)[0])
        reflectors, self.diagonal, self.beside, tau, _ = scipy.linalg.lapack.dsytrd(
            M.T, lower=1, lwork=work
        )
        Q = np.zeros((side, side))
        Q[0, 0] = 1.0
        Q[1:, 1:] = scipy.linalg.lapack.dorgqr(reflectors[1:, :-1], tau, lwork=64 * side)[0]
        self.Q = Q

    def solve(self, shift: float, r: Array) -> Array:
        """(M + shift I)^(-1) r; r may have columns."""
        w = self._reduced(shift, r)
        for _ in range(REFINEMENTS):
            if w is None:
                break
            more = self._reduced(shift, r - shift * w - self.M @ w)
            if more is None:
                break
            w = w + more
            if np.linalg.norm(more) <= CLOSE * np.linalg.norm(w):
                return w
        factor = cholesky(self.M, shift)
        w = factor.solve(r)
        return w + factor.solve(r - shift * w - self.M @ w)

    def _reduced(self, shift: float, r: Array) -> Array | None:
        """By the tridiagonal form; None if there is none, or rounding makes it indefinite."""
        if self.Q is None:
            return None
        *_, v, failed = scipy.linalg.lapack.dptsv(self.diagonal + shift, self.beside, self.Q.T @ r)
        return None if failed else self.Q @ v.reshape(r.shape)
