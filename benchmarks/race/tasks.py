"""A task: data, loss and strengths. It needs numpy and scipy alone, for workers elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Task:
    """min over x of (1/n) sum_i phi_i(a_i'x) + l1 |x|_1 + (l2/2) |x|^2."""

    name: str
    A: Any
    """C-ordered array, or CSR with 32-bit indices."""
    b: np.ndarray
    """Targets, or labels -1/+1."""
    loss: str
    """"squared": (z - b)^2 / 2, or "logistic": log(1 + exp(-b z))."""
    l2: float
    l1: float = 0.0

    @property
    def n(self) -> int:
        return self.A.shape[0]

    @property
    def d(self) -> int:
        return self.A.shape[1]

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.A)

    @property
    def nnz(self) -> int:
        return int(self.A.nnz) if self.sparse else int(self.A.size)

    @property
    def strength(self) -> float:
        """l1 + l2: the strength in the parametrisation by a mixing ratio."""
        return self.l1 + self.l2

    @property
    def l1_ratio(self) -> float:
        return self.l1 / self.strength

    @property
    def by_columns(self) -> Any:
        """The data for those who walk over columns: Fortran-ordered, or CSC."""
        return sp.csc_matrix(self.A) if self.sparse else np.asfortranarray(self.A)

    def primal(self, x: np.ndarray) -> float:
        """P(x); inf if x is not finite."""
        x = np.asarray(x, float).reshape(-1)
        if x.shape != (self.d,):
            raise ValueError(f"an answer of {x.size} coefficients to a task with {self.d}")
        if not np.isfinite(x).all():
            return np.inf
        z = self.A @ x
        with np.errstate(over="ignore"):
            if self.loss == "squared":
                losses = 0.5 * (z - self.b) ** 2
            else:
                losses = np.logaddexp(0.0, -self.b * z)
            return float(losses.mean() + self.l1 * np.abs(x).sum() + 0.5 * self.l2 * (x @ x))

    @property
    def primal_at_zero(self) -> float:
        return self.primal(np.zeros(self.d))
