"""A Gram matrix of some columns that is kept while columns come and go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap._types import Array, Places
from dualgap.designs import Columns
from dualgap.designs.columns import DenseColumns


@dataclass(frozen=True, eq=False)
class KnownGram:
    """H = A_S' diag(w) A_S."""

    at: Places
    """The coordinates S, in the order of the rows and columns of H."""
    w: Array
    """The weight of each row of the data."""
    H: Array
    """The matrix itself."""

    def cut(self, at: Places) -> KnownGram | None:
        """The part of H on these coordinates, if it knows them."""
        order = np.argsort(self.at)
        here = order[np.minimum(np.searchsorted(self.at, at, sorter=order), self.at.size - 1)]
        if not np.array_equal(self.at[here], at):
            return None
        return KnownGram(at, self.w, self.H[np.ix_(here, here)])

    def grown(self, columns: Columns) -> KnownGram | None:
        """H with the rows and columns of new coordinates, if these come last."""
        known, side = self.at.size, columns.at.size
        if not (isinstance(columns, DenseColumns) and np.array_equal(self.at, columns.at[:known])):
            return None
        H, new = np.empty((side, side)), np.arange(known, side)
        H[:known, :known] = self.H
        H[new] = columns.cross_gram(self.w, new, np.arange(side))
        H[:, new] = H[new].T
        return KnownGram(columns.at, self.w, H)
