"""Some columns of a design that are not gathered, because memory does not spare room for them.

Everything but sweeps of coordinate descent is found from the blocks of the design, or from its
products. A Gram matrix then costs one reading of the whole, and no copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap._types import Array, Places
from dualgap.designs.columns import Columns, DenseColumns
from dualgap.limits import check_time
from dualgap.memory import check_copy

if TYPE_CHECKING:
    from dualgap.designs.contract import Design


class UngatheredColumns(Columns):
    """The columns at these places, read from the design each time.

    Parameters
    ----------
    design : Design
    at : array of int
        Places; that of an appended constant column is d.
    constant : float
        The value of that column.
    rows : int
        Of a block that is read at a time.
    """

    gram_sweeps = 0.0
    """A Gram matrix is always the better way: it reads the design once, and a sweep cannot."""

    def __init__(self, design: Design, at: Places, constant: float, rows: int) -> None:
        self.design, self.at, self.constant, self.rows = design, at, constant, rows
        self.nonzeros = design.shape[0] * at.size
        self._ours = np.flatnonzero(at < design.shape[1])
        """Positions of those that are the design's."""

    def matvec(self, x: Array) -> Array:
        """B x."""
        whole = np.zeros(self.design.shape[1])
        whole[self.at[self._ours]] = x[self._ours]
        z = self.design.matvec(whole)
        shift = self.constant * float(np.delete(x, self._ours).sum())
        return z + shift if shift else z

    def rmatvec(self, r: Array) -> Array:
        """B' r."""
        return self._placed(self.design.rmatvec(r), self.constant * float(r.sum()))

    def norms_sq(self, w: Array) -> Array:
        """sum_i w_i b_ij^2."""
        squares = self.design.column_norms_sq(w)
        return self._placed(squares, self.constant**2 * float(w.sum()))

    def _placed(self, values: Array, constant: float) -> Array:
        """Those of our columns among these of all, and that of the constant one."""
        out = np.full(self.at.size, constant)
        out[self._ours] = values[self.at[self._ours]]
        return out

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """B, some rows after the others."""
        for some, block in self.design.blocks(self.rows):
            check_time()
            B = np.full((len(block), self.at.size), self.constant)
            B[:, self._ours] = block[:, self.at[self._ours]]
            yield some, B

    def gram(self, w: Array) -> Array:
        """In one reading."""
        H = np.zeros((self.at.size, self.at.size))
        for some, B in self._blocks():
            H += (B * w[some, None]).T @ B
        return H

    def cross_gram(self, w: Array, some: Places, others: Places) -> Array:
        """In one reading."""
        H = np.zeros((some.size, others.size))
        for rows, B in self._blocks():
            H += (B[:, some] * w[rows, None]).T @ B[:, others]
        return H

    @property
    def _visits(self) -> int:
        """Columns."""
        return max(1, self.at.size)

    def _model(self, w: Array, r: Array, h: Array) -> Any:
        """What cannot be done without the columns themselves, which are gathered for it now."""
        n = self.design.shape[0]
        check_copy(
            8.0 * n * self.at.size,
            f"coordinate descent over {self.at.size} columns of {n} rows takes a copy of them that",
            "Data in a folder are fitted without one: dualgap.open(folder, holds_rows=False).",
        )
        T = np.empty((self.at.size, n))
        for some, B in self._blocks():
            T[:, some] = B.T
        return DenseColumns(self.at, T)._model(w, r, h)
