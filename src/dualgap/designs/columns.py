"""Some columns of a design, gathered so that coordinate methods read them without a stride.

B stands for the columns at the places ``at``; those of sparse data ascend. Dense ones are the rows
of a float64 matrix T = B'; sparse ones are kept by columns (for descent) and by rows (for Gram
matrices), with an appended constant column on the side. Sparse columns that are two fifths full
are made dense.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array, Places
from dualgap.designs.cuts import Cuts
from dualgap.designs.ledger import Ledger
from dualgap.designs.parts import dense_parts, over_parts, steps
from dualgap.limits import check_time, current

Bounds = tuple[Array, Array]
"""Between which x stays."""

DENSE_ENOUGH = 0.4
"""Sparse columns are made dense if more than this share of their entries is stored."""
FEW_ROWS = 2
"""Where columns have so many times fewer entries than there are rows, only rows that matter are
taken: most are empty."""
PIECE = 1e6
"""Multiplications between two looks at the limits of the call, if a sweep has fewer."""
BLOCK = 1 << 16
"""Entries of a block of weighted columns that stays in a core's cache."""


class Columns(ABC):
    """The columns B of a design."""

    at: Places
    """Their places."""
    nonzeros: int
    """Stored entries: what a product with B touches."""
    gram_sweeps: float
    """What a Gram matrix costs, in sweeps of coordinate descent over the columns."""
    ledger: Ledger | None = None
    """The ledger of the data."""
    share: float = 0.0
    """How many rows of the data a reading of the columns amounts to."""

    def of(self, ledger: Ledger, rows: int, entries: float) -> Self:
        """The same, entering what is read of so many rows with so many entries."""
        self.ledger, self.share = ledger, rows * self.nonzeros / max(1.0, entries)
        return self

    def _read(self, times: float = 1.0) -> None:
        if self.ledger is not None:
            self.ledger.rows += times * self.share

    @abstractmethod
    def matvec(self, x: Array) -> Array:
        """B x."""

    @abstractmethod
    def rmatvec(self, r: Array) -> Array:
        """B' r."""

    @abstractmethod
    def norms_sq(self, w: Array) -> Array:
        """sum_i w_i b_ij^2."""

    @abstractmethod
    def gram(self, w: Array) -> Array:
        """B' diag(w) B, both triangles."""

    def sweeps(
        self, w: Array, r: Array, x: Array, h: Array, l1: Array, l2: Array,
        most: float, goal: float, *, bounds: Bounds | None = None,
    ) -> tuple[float, float]:  # fmt: skip
        """Coordinate descent on the columns, ``most`` sweeps; see `linalg.compiled_descent`.

        With ``bounds``, low and high, x stays between them.

        Returns the sweeps, and what is held against ``goal``. Now and then the limits of the call
        are looked at, which changes nothing but where the sweeps end.
        """
        from dualgap.linalg.compiled_descent import EVERYWHERE, Penalty

        ends = EVERYWHERE if bounds is None else np.array(bounds)
        model, penalty = self._model(w, r, h), Penalty(l1, l2, ends)
        visits, rounds, worst = 0, 0, 0.0
        whole, limits, budget = self._visits, current(), self._budget(most)
        work = 2.0 * max(1, self.nonzeros) / whole  # multiplications of a visit
        piece = max(whole, PIECE // work)
        while True:
            before, last = visits, worst
            stop = min(budget, visits + piece)
            visits, rounds, worst = self._sweep(model, x, penalty, stop, goal, visits, rounds)
            self._read((visits - before) / whole)
            if visits == before and rounds >= 0:  # the last sweep was the last
                return visits / whole, last
            if limits.ends(work * (visits - before)) or rounds < 0:
                return visits / whole, worst

    def _sweep(
        self, model: Any, x: Array, penalty: Any, stop: float, goal: float, visits: int, rounds: int
    ) -> tuple[int, int, float]:
        """One piece of the sweeps."""
        from dualgap.linalg.compiled_descent import NONZERO_ROUNDS, sweeps

        return sweeps(model, x, penalty, stop, goal, NONZERO_ROUNDS, visits, rounds)

    @property
    @abstractmethod
    def _visits(self) -> int:
        """What the kernel counts in one sweep."""

    def _budget(self, most: float) -> float:
        """Once so much was counted no round begins."""
        return most * self._visits

    @abstractmethod
    def _model(self, w: Array, r: Array, h: Array) -> Any:
        """The model whose columns these are, with slopes r and the diagonal h, for the kernel."""

    @abstractmethod
    def cross_gram(self, w: Array, some: Places, others: Places) -> Array:
        """B_some' diag(w) B_others; positions in the set, not places."""


class Room:
    """Memory for dense columns, one after the other, with room for more."""

    def __init__(self, columns: int, n: int) -> None:
        self.T: Array = np.empty((columns, n))
        self.used = 0

    def upto(self, count: int) -> Array:
        """The memory of the first so many, which from now on is used."""
        self.used = count
        return self.T[:count]


class DenseColumns(Columns):
    """The rows of a float64 matrix T = B'.

    Parameters
    ----------
    at : array
        The places.
    T : array
        The columns.
    room : Room, optional
        Where T lies, if more columns may follow.
    """

    def __init__(self, at: Places, T: Array, room: Room | None = None) -> None:
        self.at, self.T, self.room = at, T, room
        self.nonzeros = T.size
        # A multiplication in a matrix product takes a twentieth of one in a sweep, which also has
        # two for each entry.
        self.gram_sweeps = T.shape[0] / 40.0

    @cached_property
    def _cuts(self) -> Cuts:
        """Partitions of the rows, where there is much."""
        side, n = self.T.shape
        return Cuts.of_chunks(n, dense_parts(n, side), max(512, BLOCK // max(1, side)))

    def grown(self, at: Places) -> DenseColumns | None:
        """The columns at these places, of which those here come first; the others are to be filled.

        None if it is otherwise, or if there is no room.
        """
        room, known = self.room, self.at.size
        if room is None or room.used != known or not np.array_equal(self.at, at[:known]):
            return None
        if at.size > len(room.T):
            return None
        return DenseColumns(at, room.upto(at.size), room)

    def matvec(self, x: Array) -> Array:
        """B x."""
        self._read()
        z = np.empty(self.T.shape[1])

        def work(start: int, stop: int) -> tuple[()]:
            np.matmul(x, self.T[:, start:stop], out=z[start:stop])
            return ()

        over_parts(self._cuts, work)
        return z

    def rmatvec(self, r: Array) -> Array:
        """B' r."""
        self._read()
        return over_parts(self._cuts, lambda a, b: (np.asarray(self.T[:, a:b] @ r[a:b]),))[0]

    def norms_sq(self, w: Array) -> Array:
        """sum_i w_i b_ij^2."""
        self._read()
        out = np.empty(len(self.T))
        step = max(1, BLOCK // max(1, self.T.shape[1]))
        for start in range(0, len(self.T), step):
            block = self.T[start : start + step]
            out[start : start + step] = (block * block) @ w
        return out

    def gram(self, w: Array) -> Array:
        """By symmetric updates: blocks of the columns times sqrt(w) that stay in cache."""
        self._read()
        side, root = len(self.T), np.sqrt(w)

        def work(start: int, stop: int) -> tuple[Array]:
            H = np.zeros((side, side))
            for at in steps(start, stop, self._cuts.rows):
                check_time()
                block = self.T[:, at] * root[at]
                H += block @ block.T
            return (H,)

        return over_parts(self._cuts, work)[0]

    def cross_gram(self, w: Array, some: Places, others: Places) -> Array:
        """Rows of B' diag(w) B, of which the others are taken."""
        self._read()

        def work(start: int, stop: int) -> tuple[Array]:
            T = self.T[:, start:stop]
            return ((T[some] * w[start:stop]) @ T.T,)

        (rows,) = over_parts(self._cuts, work)
        return rows if np.array_equal(others, np.arange(self.at.size)) else rows[:, others]

    @property
    def _visits(self) -> int:
        """Columns."""
        return max(1, len(self.T))

    def _model(self, w: Array, r: Array, h: Array) -> Any:
        """By the rows of T."""
        from dualgap.linalg.compiled_descent import DenseModel

        return DenseModel(self.T, w[:1] if (w == w[0]).all() else w, r, h)


class SparseColumns(Columns):
    """Compressed columns, and a constant one at the end if ``constant`` is not 0."""

    def __init__(self, at: Places, B: Any, constant: float) -> None:
        self.at, self.B, self.constant = at, B, constant
        self._matrix = B
        """What products are made with."""
        border = B.shape[0] if constant else 0
        self.nonzeros = int(B.nnz) + border
        rows = np.bincount(B.indices, minlength=B.shape[0]) + (1 if constant else 0)
        self.gram_sweeps = float((rows.astype(float) ** 2).sum()) / max(4.0 * self.nonzeros, 1.0)

    @cached_property
    def _by_rows(self) -> Any:
        rows = self.B.tocsr()
        rows.sort_indices()
        return rows

    def matvec(self, x: Array) -> Array:
        """B x."""
        self._read()
        if self.constant:
            return np.asarray(self._matrix @ x[:-1] + self.constant * x[-1])
        return np.asarray(self._matrix @ x)

    def rmatvec(self, r: Array) -> Array:
        """B' r."""
        self._read()
        u = np.asarray(self._matrix.T @ r)
        return np.append(u, self.constant * r.sum()) if self.constant else u

    @cached_property
    def _squares(self) -> Any:
        B = self.B
        return sp.csc_array((B.data**2, B.indices, B.indptr), shape=B.shape)

    def norms_sq(self, w: Array) -> Array:
        """sum_i w_i b_ij^2."""
        self._read()
        out = np.asarray(self._squares.T @ w)
        return np.append(out, self.constant**2 * w.sum()) if self.constant else out

    def gram(self, w: Array) -> Array:
        """Row by row into a dense matrix."""
        self._read()
        from dualgap.linalg.compiled_gram import csr_gram, mirror

        B, side = self._by_rows, self.at.size
        H = np.zeros((side, side))
        for indptr, some in row_pieces(B.indptr, w):
            csr_gram(B.data, B.indices, indptr, self.constant, some, H)
        mirror(H)
        return H

    def cross_gram(self, w: Array, some: Places, others: Places) -> Array:
        """Row by row into a dense matrix; only rows that matter, if there are few."""
        self._read()
        from dualgap.linalg.compiled_gram import csr_cross_gram

        last = self.B.shape[1]
        if not (some == last).any():
            few = self.B[:, some]
            small = some.size * self.at.size <= self.nonzeros
            if small and few.nnz * FEW_ROWS <= self.B.shape[0]:
                few.data *= w[few.indices]
                H = np.empty((some.size, self.at.size))
                H[:, :last] = (few.T @ self._by_rows).toarray()
                H[:, last:] = self.constant * np.reshape(few.sum(axis=0), (-1, 1))
                return H[:, others]
        B, H = self._by_rows, np.zeros((some.size, others.size))
        row, column = np.full((2, self.at.size), -1)
        row[some], column[others] = np.arange(some.size), np.arange(others.size)
        for indptr, some_w in row_pieces(B.indptr, w):
            csr_cross_gram(B.data, B.indices, indptr, self.constant, some_w, row, column, H)
        return H

    @property
    def _visits(self) -> int:
        """Entries."""
        return max(1, self.nonzeros)

    def _budget(self, most: float) -> float:
        """A round begins even where the budget is just spent."""
        return math.nextafter(most * self._visits, math.inf)

    def _model(self, w: Array, r: Array, h: Array) -> Any:
        """By the compressed columns."""
        from dualgap.kernels.values import Sparse
        from dualgap.linalg.compiled_descent import SparseModel

        B = self.B
        columns = Sparse(B.data, B.indices, B.indptr, B.shape[1], float(self.constant))
        return SparseModel(columns, w, r, h)


class AllColumns(SparseColumns):
    """Every column of sparse data, which need not be gathered, and a constant one at the end."""

    def __init__(self, at: Places, by_rows: Any, by_columns: Callable[[], Any], c: float) -> None:
        self.at, self.constant, self._make = at, c, by_columns
        self._matrix = by_rows
        self.nonzeros = int(by_rows.nnz) + (by_rows.shape[0] if c else 0)
        counts = np.diff(by_rows.indptr).astype(float) + (1.0 if c else 0.0)
        self.gram_sweeps = float((counts**2).sum()) / max(4.0 * self.nonzeros, 1.0)

    @cached_property
    def B(self) -> Any:
        """Made only if the columns are to be walked."""
        return self._make().astype(np.float64, copy=False)

    @property
    def _by_rows(self) -> Any:
        return self._matrix


def row_pieces(indptr: Any, w: Array) -> Iterator[tuple[Any, Array]]:
    """Rows of a sparse matrix whose Gram matrix is to be summed, and their weights.

    Before each piece, about as much work as a product, the time limit of the call is looked at.
    Sums go from row to row, so that pieces make no difference to them.
    """
    if not current().is_timed:
        yield indptr, w
        return
    counts = np.diff(indptr).astype(float)
    work, piece = np.cumsum(counts * counts), max(PIECE, 2.0 * float(counts.sum()))
    edges = np.searchsorted(work, np.arange(piece, work[-1], piece))
    start = 0
    for stop in (*np.unique(edges).tolist(), w.size):
        check_time()
        if stop > start:
            yield indptr[start : stop + 1], w[start:stop]
        start = stop


def sparse_columns(at: Places, B: Any, constant: float) -> Columns:
    """The columns B (CSC) with the constant one, or dense ones if there is little to skip."""
    B = B.astype(np.float64, copy=False)
    if B.nnz <= DENSE_ENOUGH * B.shape[0] * B.shape[1]:
        return SparseColumns(at, B, constant)
    T = np.empty((at.size, B.shape[0]))
    T[: B.shape[1]] = B.T.toarray()
    T[B.shape[1] :] = constant
    return DenseColumns(at, T)
