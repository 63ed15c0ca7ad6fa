"""Lanczos' method: what a symmetric M is on the space of v, Mv, M^2 v, ...

With V an orthonormal basis of it (its vectors are rows here) T = V M V' is tridiagonal, and each
product with M adds a row to both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from dualgap._types import Array

NOTHING = 1e-14
"""The space ends where an off-diagonal entry of T is this share of the largest diagonal one.

It is a few times the rounding of a product: beyond it the next vector would be noise.
"""


class Lanczos:
    """T for the space of v, as large as products with M have made it.

    Parameters
    ----------
    product : callable
        v -> M v, a new array.
    v : array of shape (d,)
    room : int
        The basis is kept, and orthogonalised in full, up to so many vectors. With 0 it is not kept:
        lost orthogonality only repeats eigenvalues already found.

    Attributes
    ----------
    V : array of shape (room + 1, d)
        Its rows are the basis, as far as it is known; the next vector is behind them.
    length : float
        |v|.
    diagonal, off : list of float
        The entries of T on the diagonal and beside it; the last of ``off`` leads to the next
        vector and is not part of T. It is 0 where the space ends.
    """

    def __init__(self, product: Callable[[Array], Array], v: Array, room: int = 0) -> None:
        self.product = product
        self.length = float(np.linalg.norm(v))
        self._keeps = room > 0
        self.V = np.empty((room + 1 if self._keeps else 0, v.size))
        self._last = np.zeros(0)
        self._next = v / self.length if self.length > 0.0 else np.zeros_like(v)
        if self._keeps:
            self.V[0] = self._next
        self.diagonal: list[float] = []
        self.off: list[float] = []

    @property
    def size(self) -> int:
        """How far T is known."""
        return len(self.diagonal)

    @property
    def may_grow(self) -> bool:
        """Whether there is more to know, and room for it if the basis is kept."""
        ended = self.length == 0.0 or (self.size > 0 and self.off[-1] == 0.0)
        return not ended and not (self._keeps and self.size + 1 >= len(self.V))

    def grow(self) -> None:
        """One more product."""
        v, k = self._next, self.size
        y = self.product(v)
        if self._keeps:
            self.diagonal.append(float(v @ y))
            for _ in range(2):
                y -= (self.V[: k + 1] @ y) @ self.V[: k + 1]
        else:
            if k:
                y -= self.off[-1] * self._last
            alpha = float(v @ y)
            y -= alpha * v
            self.diagonal.append(alpha)
        link = float(np.linalg.norm(y))
        if link <= NOTHING * max(self.diagonal):
            link = 0.0
        else:
            self._last, self._next = v, y / link
            if self._keeps:
                self.V[k + 1] = self._next
        self.off.append(link)

    @property
    def T(self) -> Array:
        """V M V'."""
        off = self.off[:-1]
        return np.asarray(np.diag(self.diagonal) + np.diag(off, 1) + np.diag(off, -1))

    def largest_eigenvalue(self) -> float:
        """That of T, a Ritz value of M: not above its largest eigenvalue."""
        last = self.size - 1
        if last == 0:
            return self.diagonal[0]
        top = scipy.linalg.eigh_tridiagonal(
            self.diagonal, self.off[:-1], eigvals_only=True, select="i", select_range=(last, last)
        )
        return float(top[0])

    def solve(self, shift: float) -> Array:
        """s = (T + shift I)^(-1) |v| e_1: V's is nearly (M + shift I)^(-1) v."""
        right = np.zeros(self.size)
        right[0] = self.length
        return self._solve(shift, right)

    def _solve(self, shift: float, right: Array) -> Array:
        """(T + shift I)^(-1) right, from its two bands."""
        if self.size == 1:
            return np.asarray(right / (self.diagonal[0] + shift))
        bands = np.array([self.diagonal, self.off])
        bands[0] += shift
        return np.asarray(scipy.linalg.solveh_banded(bands, right, lower=True))

    def left(self, s: Array) -> float:
        """|v - (M + shift I) V's| for the s of `solve`."""
        return abs(self.off[-1] * float(s[-1]))

    def inverse(self, r: Array, shift: float, outside: float) -> Array:
        """(M + shift I)^(-1) r, as if M + shift I were ``outside`` on all that V does not span."""
        V = self.V[: self.size]
        c = V @ r
        inside = self._solve(shift, c) - c / outside if self.size else c
        return np.asarray(r / outside + inside @ V)
