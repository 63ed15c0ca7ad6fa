"""Squared loss: phi(z) = (z - b)^2 / 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._types import Array
from dualgap.enclosures import pieces
from dualgap.losses.contract import RegressionLoss


@dataclass(frozen=True)
class Squared(RegressionLoss):
    """phi(z) = (z - b)^2/2, phi*(y) = y^2/2 + b y, gamma = delta = 1."""

    name: ClassVar[str] = "squared"
    is_accurate: ClassVar[bool] = True
    code: ClassVar[int] = 0
    is_quadratic: ClassVar[bool] = True
    has_exact_gap: ClassVar[bool] = True
    has_quadratic_conj: ClassVar[bool] = True
    gamma: ClassVar[float] = 1.0
    delta: ClassVar[float] = 1.0

    def value(self, z: Array, b: Array) -> Array:
        """(z - b)^2/2."""
        r = z - b
        return 0.5 * r * r

    def grad(self, z: Array, b: Array) -> Array:
        """z - b."""
        return z - b

    def hess(self, z: Array, b: Array) -> Array:
        """1."""
        return np.ones_like(z)

    def conj(self, y: Array, b: Array) -> Array:
        """y^2/2 + b y."""
        return y * (0.5 * y + b)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """y + b."""
        return y + b

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """(v - s b)/(1 + s)."""
        return (v - s * b) / (1.0 + s)

    def into_domain(self, y: Array, b: Array) -> Array:
        """y itself: phi* is finite everywhere."""
        return y

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """(z - b - y)^2/2."""
        r = z - b - y
        return 0.5 * r * r

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """(z - b - y)^2/2, rounded up."""
        low, high = pieces.difference(z_lo, b), pieces.difference(z_hi, b)
        return pieces.gap_above(low, high, y, -np.inf, np.inf)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """(z - b)^2/2, rounded down; 0 where b is between the ends."""
        low, high = pieces.difference(z_lo, b), pieces.difference(z_hi, b)
        return pieces.value_below(low, high, -np.inf, np.inf)
