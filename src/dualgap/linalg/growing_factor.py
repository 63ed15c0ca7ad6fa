"""A factor of H that grows with the support: a preconditioner for a whole path, or a whole run.

The supports of a path with l1 hardly change but for what enters. So coordinates are put behind one
another as they come, and with H = A' diag(w) A scaled to a unit diagonal,

    H + RIDGE I = LL',    L = [ L_1          ]
                              [ W_2  L_2     ]
                              [ W_3 ..   L_3 ]

has a new block of rows for each group of new ones, and the others stay as they are. Coordinates B
that have left stay too: their part of the solution is kept at 0, with E = L^(-1) I_B, by

    r -> L'^(-1) (I - E (E'E)^(-1) E') L^(-1) r

Single precision will do: a few iterations do the rest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dualgap._types import Array, Mask, Places
from dualgap.designs import Columns
from dualgap.linalg.cholesky import lower_factor

RIDGE = 1e-3
"""This share of the diagonal is added to H, which equal columns and float32 make singular."""
LARGEST_SIDE = 8192
"""L has at most so many rows, which are 128 MB; E takes as much, at most."""
MOST_ABSENT = 0.25
"""L is begun anew once more than this share of its coordinates have left the support."""
GROUP = 512
"""Coordinates that come at once, at most: their rows of H stay in cache while they are formed."""
PRICE = 3e4
"""A step of growth may take so many operations for each entry of the columns."""

Single = NDArray[np.float32]


class GrowingFactor:
    """L of the coordinates that have come so far.

    Parameters
    ----------
    size : int
        Coordinates of the problem.
    w : array of shape (n,)
        The weights.
    """

    def __init__(self, size: int, w: Array) -> None:
        self.w = w
        self._begin(size)

    def _begin(self, size: int) -> None:
        self.place = np.full(size, -1)
        """Of a coordinate in L; -1 if it has none."""
        self.scale = np.empty(0)
        """1/sqrt(H_jj), in the order of L."""
        self.blocks: list[tuple[Single, Single]] = []
        """W, and the inverse of the triangle, of each group."""
        self.absent = np.empty(0, dtype=np.intp)
        """B, as places in L."""
        self.E: Single = np.empty((0, 0), dtype=np.float32)
        self.inner: Array | None = np.empty((0, 0))
        """(E'E)^(-1); None if E has changed."""

    def anew(self, w: Array) -> GrowingFactor:
        """One without coordinates, for other weights."""
        return GrowingFactor(self.place.size, w)

    @property
    def side(self) -> int:
        """Coordinates that have come."""
        return self.scale.size

    def inverse(self, columns: Columns, h: Array, free: Mask) -> Callable[[Array], Array]:
        """For these of the columns, among which are all coordinates that L has.

        Those that would cost too much, if there are any, stay outside and are divided by h.
        """
        known = int(np.count_nonzero(free & (self.place[columns.at] >= 0)))
        if self.side - known > MOST_ABSENT * self.side:
            self._begin(self.place.size)
        new = np.flatnonzero(free & (self.place[columns.at] < 0))
        if self._may_grow(columns, new.size):
            for start in range(0, new.size, GROUP):
                self._grow(columns, new[start : start + GROUP])
        place = self.place[columns.at]
        inside, outside = np.flatnonzero(free & (place >= 0)), free & (place < 0)
        at = place[inside]
        present = np.zeros(self.side, dtype=bool)
        present[at] = True
        self._leave_out(np.flatnonzero(~present))
        unit = np.divide(1.0, h, out=np.zeros_like(h), where=outside)

        def inverse(r: Array) -> Array:
            s, t = unit * r, np.zeros(self.side)
            t[at] = r[inside]
            s[inside] = self._solve(t)[at]
            return s

        return inverse

    def _may_grow(self, columns: Columns, more: int) -> bool:
        side = self.side + more
        return side <= LARGEST_SIDE and more * side**2 <= PRICE * columns.nonzeros

    def _grow(self, columns: Columns, new: Places) -> None:
        """Put these columns behind the others, unless rounding forbids."""
        side, known = self.side, self.place[columns.at]
        inside = np.flatnonzero(known >= 0)
        order = np.empty(side, dtype=np.intp)
        order[known[inside]] = inside
        rows = columns.cross_gram(self.w, new, np.concatenate((order, new)))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(rows[:, side:].diagonal())
            both = np.append(self.scale, scale)
            rows *= scale[:, None]
            rows *= both
        single = rows.astype(np.float32)
        W = np.ascontiguousarray(self._forward(single[:, :side].T).T)  # W L' = rows of H
        corner = single[:, side:] - W @ W.T
        corner.flat[:: new.size + 1] += RIDGE
        if not np.isfinite(corner).all():
            return
        L = lower_factor(corner)
        if L is None:
            return
        triangle = np.ascontiguousarray(scipy.linalg.lapack.strtri(L, lower=1)[0])
        self.E, self.inner = np.concatenate((self.E, -(triangle @ (W @ self.E)))), None
        self.blocks.append((W, triangle))
        self.place[columns.at[new]] = side + np.arange(new.size)
        self.scale = both

    def _leave_out(self, absent: Places) -> None:
        """B is to be this."""
        kept, new = np.isin(self.absent, absent), np.setdiff1d(absent, self.absent)
        if self.inner is not None and kept.all() and not new.size:
            return
        units = np.zeros((self.side, new.size), dtype=np.float32)
        units[new, np.arange(new.size)] = 1.0
        self.absent = np.concatenate((self.absent[kept], new))
        self.E = np.concatenate((self.E[:, kept], self._forward(units)), axis=1)
        self.inner = np.linalg.inv((self.E.T @ self.E).astype(np.float64))

    def _solve(self, r: Array) -> Array:
        """(H + RIDGE diag(H))^(-1) r, where the solution is 0 on B."""
        scaled = r * self.scale
        size = float(np.max(np.abs(scaled), initial=0.0)) or 1.0
        v = self._forward((scaled / size).astype(np.float32))
        if self.absent.size:
            assert self.inner is not None
            v -= self.E @ (self.inner @ (v @ self.E)).astype(np.float32)
        stop = self.side
        for W, triangle in reversed(self.blocks):
            start = stop - len(triangle)
            v[start:stop] = v[start:stop] @ triangle
            v[:start] -= v[start:stop] @ W
            stop = start
        return size * self.scale * v

    def _forward(self, r: Single) -> Single:
        """L^(-1) r."""
        v, start = np.array(r), 0
        for W, triangle in self.blocks:
            stop = start + len(triangle)
            v[start:stop] = triangle @ (v[start:stop] - W @ v[:start])
            start = stop
        return v
