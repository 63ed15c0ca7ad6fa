"""What is asked of the span of some columns, whichever way it is known; the theory is in `span`."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dualgap._types import Array, Mask
from dualgap.designs import Design
from dualgap.designs.contract import block_rows


class Span(ABC):
    """Columns F, weights D; see the module."""

    D: Array | None
    """The weights; None stands for 1."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Columns of `basis`."""

    @abstractmethod
    def basis(self) -> Array:
        """Independent columns that span what F spans, dense."""

    @abstractmethod
    def projected(self, y: Array) -> Array:
        """y' in float64: what is left of F'Qy' is rounding."""

    @abstractmethod
    def distance(self, y: Array, u: Array) -> float:
        """An upper bound on nu, given u = A'Qy in float64; inf where none can be had."""

    @property
    @abstractmethod
    def root(self) -> Array:
        """r: the weights of the real move are omega = r^2, the squares of these floats."""

    @abstractmethod
    def proved_distance(self, high: Array, low: Array | None = None, open_: float = 0.0) -> float:
        """An upper bound on nu in real arithmetic, every rounding counted; inf where none is known.

        Here sums are not divided by W: with the rows' own weights w let alpha_i = w_i y_i and

            G = F' diag(r^2) F,    rho = F' alpha,    nu^2 = rho' G^(-1) rho,
            y' = y - diag(r^2/w) F G^(-1) rho,    r as in `root`, 0 where w is.

        Then F' diag(w) y' = 0, |y'_i - y_i| <= nu r_i/w_i and, for every column a_j of the design,
        |sum_i a_ij w_i (y'_i - y_i)| <= nu sqrt(sum_i (r_i a_ij)^2). Columns of F that were left
        out have sum_i f_i w_i y'_i = 0 as well. The columns are what `Design.blocks` says they are.

        Parameters
        ----------
        high, low : array of shape (n,)
            alpha = high + low exactly; low is 0 by default.
        open_ : float
            Or but for this share of |alpha|.
        """


def open_sums(F: Array, high: Array, open_: float) -> Array:
    """At least what F' alpha is off if each alpha_i is by a share of itself."""
    return np.asarray(2.0 * open_ * (np.abs(F).T @ np.abs(high)))


def dense_columns(design: Design, columns: Mask) -> Array:
    """Some columns of the data in an array of their own."""
    F = np.empty((design.shape[0], int(columns.sum())))
    for at, block in design.blocks(block_rows(design.shape[1])):
        F[at] = block[:, columns]
    return F
