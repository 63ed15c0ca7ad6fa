"""A design in rotated variables: (A - 1 means') F H D, without touching A.

F and D are diagonal and H = I - V T V' is a product of r Householder reflectors, so that a product
with H costs 4 d r and no d x d matrix is ever formed. Compiled kernels walk rows, which are dense
in the new variables: for them they are formed once, within a budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from dualgap._arrays import per_row
from dualgap._types import Array, Mask, Places
from dualgap.designs.columns import Columns
from dualgap.designs.composed import Composed
from dualgap.designs.contract import Design, block_rows
from dualgap.designs.dense import DenseDesign
from dualgap.designs.executors import RowArrays
from dualgap.designs.protocols import Rows
from dualgap.designs.tasks import Between, shifted, weigh_shifted


@dataclass(frozen=True, eq=False)
class Rotation:
    """x = F H D w, H orthogonal."""

    F: Array
    D: Array
    V: Array
    """One reflector in each column."""
    T: Array
    """Upper triangular, T^-1 + T^-T = V'V."""

    def apply(self, w: Array) -> Array:
        """F H D w."""
        w = per_row(self.D, w) * w
        return np.asarray(per_row(self.F, w) * (w - self.V @ (self.T @ (self.V.T @ w))))

    def apply_transposed(self, u: Array) -> Array:
        """D H'F u."""
        u = per_row(self.F, u) * u
        return np.asarray(per_row(self.D, u) * (u - self.V @ (self.T.T @ (self.V.T @ u))))

    def solve(self, x: Array) -> Array:
        """The w with F H D w = x."""
        x = x / per_row(self.F, x)
        return np.asarray((x - self.V @ (self.T.T @ (self.V.T @ x))) / per_row(self.D, x))


def reflectors(U: Array) -> tuple[Array, Array]:
    """V and T of an H whose first columns are those of U, orthonormal, but for their signs."""
    if not U.shape[1]:
        return U, np.empty((0, 0))
    (packed, tau), _ = scipy.linalg.qr(U, mode="raw", check_finite=False)
    unit = np.tril(packed, -1)
    np.fill_diagonal(unit, 1.0)
    V: Array = np.array(unit[:, tau != 0.0], dtype=np.float64, order="C")  # others reflect nothing
    G = V.T @ V
    if not len(G):  # Older versions of scipy hand the empty system to LAPACK, which refuses it.
        return V, G
    T = scipy.linalg.solve_triangular(np.triu(G, 1) + np.diag(np.diag(G)) / 2.0, np.eye(len(G)))
    return V, np.asarray(T)


class RotatedDesign(Composed, counts=True):
    """The matrix (A - 1 means') F H D.

    Parameters
    ----------
    base : Design
        A.
    rotation : Rotation
        F, H and D.
    means : array of shape (d,), optional
        What is taken from each column of A first.
    lengths : array of shape (n,)
        Squared lengths of the rows of the product.
    budget : float
        Bytes that the product may take where it has to be formed.
    """

    def __init__(
        self, base: Design, rotation: Rotation, means: Array | None, lengths: Array, budget: float
    ) -> None:
        super().__init__(base)
        self.rotation, self.means = rotation, means
        self.lengths, self.budget = lengths, budget
        self.shape = base.shape
        self._explicit: DenseDesign | None = None

    def matvec(self, x: Array) -> Array:
        """A_c (F H D x)."""
        x = self.rotation.apply(x)
        z = self.base.matvec(x)
        return z if self.means is None else z - self.means @ x

    def rmatvec(self, r: Array) -> Array:
        """D H'F A_c' r."""
        return self._back(self.base.rmatvec(r), r.sum(axis=0))

    def _back(self, u: Array, total: Array) -> Array:
        """D H'F (u - means total)."""
        if self.means is not None:
            u = u - np.multiply.outer(self.means, total)
        return self.rotation.apply_transposed(u)

    def over(self, base: Design, rows: slice | Mask) -> RotatedDesign:
        """The rotated design of these rows of the base."""
        return RotatedDesign(base, self.rotation, self.means, self.lengths[rows], self.budget)

    @property
    def offers_rows(self) -> bool:
        """They are formed."""
        return True

    def _there_and_back(
        self, rows: RowArrays, x: Array, between: Between, *args: Any
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """The base's, between rotations."""
        x = self.rotation.apply(x)
        shift = np.zeros(x.shape[1:]) if self.means is None else self.means @ x
        (z, *made), (u, total, *sums) = self.base._there_and_back(
            rows, x, shifted, -shift, between, *args
        )
        return (z - shift, *made), (self._back(u, total), *sums)

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """The base's, between rotations."""
        (z,), (u,) = self._there_and_back((weights,), x, weigh_shifted, shift)
        return z + shift, u

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """Known without weights; else from blocks."""
        if weights is None:
            return self.lengths
        out = np.empty(self.shape[0])
        for at, block in self.blocks(block_rows(self.shape[1])):
            np.einsum("ij,ij->i", block, block * weights, out=out[at])
        return out

    def column_norms_sq(self, weights: Array) -> Array:
        """From blocks."""
        out = np.zeros(self.shape[1])
        for at, block in self.blocks(block_rows(self.shape[1])):
            out += weights[at] @ (block * block)
        return out

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """The base's blocks, rotated."""
        for at, block in self.base.blocks(rows):
            centred = block if self.means is None else block - self.means
            yield at, self.rotation.apply_transposed(centred.T).T

    def rows(self) -> Rows:
        """The product, formed once."""
        return self._formed().rows()

    def _formed(self) -> DenseDesign:
        if self._explicit is None:
            need = 8.0 * self.shape[0] * self.shape[1]
            if need > self.budget:
                raise ValueError(
                    "precondition='low-rank' is for batch algorithms: an algorithm that walks rows "
                    f"needs all of them in the new variables, about {need / 2**30:.3g} GiB, more "
                    f"than its budget of {self.budget / 2**30:.3g} GiB. Use algorithm='adf-bpd', "
                    "or precondition='diagonal'."
                )
            out = np.empty(self.shape)
            for at, block in self.blocks(block_rows(self.shape[1])):
                out[at] = block
            self._explicit = DenseDesign(out, ledger=self.ledger)
        return self._explicit

    def take(self, rows: Mask) -> RotatedDesign:
        """Some of the rows."""
        return self.over(self.base.take(rows), rows)

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """Columns of the product that `rows` forms."""
        return self._formed().columns(at, constant, known)

    @property
    def nonzeros(self) -> int:
        """The base's, and the reflectors."""
        return self.base.nonzeros + self.rotation.V.size

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """From blocks."""
        z, u = np.empty(self.shape[0]), np.zeros(self.shape[1])
        for at, block in self.blocks(block_rows(self.shape[1])):
            size = np.abs(block)
            z[at] = size @ x
            u += size.T @ r[at]
        return z, u
