"""Huber loss: quadratic for small residuals, linear for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.enclosures import pieces
from dualgap.losses.contract import RegressionLoss


@dataclass(frozen=True)
class Huber(RegressionLoss):
    """With r = z - b: phi = r^2/2 if |r| <= e, else e|r| - e^2/2.

    phi*(y) = y^2/2 + b y on |y| <= e; gamma = 1, delta = 0.

    Parameters
    ----------
    threshold : float
        e > 0, in units of the targets.
    """

    threshold: float = 1.35

    name: ClassVar[str] = "huber"
    is_accurate: ClassVar[bool] = True
    code: ClassVar[int] = 4
    has_exact_gap: ClassVar[bool] = True
    has_quadratic_conj: ClassVar[bool] = True
    gamma: ClassVar[float] = 1.0
    delta: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        """Check the threshold."""
        object.__setattr__(
            self, "threshold", check.real("threshold", self.threshold, low=0.0, strict=True)
        )

    @property
    def parameter(self) -> float:
        """The threshold."""
        return self.threshold

    def value(self, z: Array, b: Array) -> Array:
        """h r - h^2/2 with h = clip(r, -e, e)."""
        r = z - b
        h = np.clip(r, -self.threshold, self.threshold)
        return h * (r - 0.5 * h)

    def grad(self, z: Array, b: Array) -> Array:
        """clip(r, -e, e)."""
        return np.clip(z - b, -self.threshold, self.threshold)

    def hess(self, z: Array, b: Array) -> Array:
        """1 inside, 0 outside."""
        return (np.abs(z - b) <= self.threshold).astype(np.float64)

    def conj(self, y: Array, b: Array) -> Array:
        """y^2/2 + b y."""
        return y * (0.5 * y + b)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """y + b."""
        return y + b

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """clip((v - s b)/(1 + s), -e, e)."""
        return np.clip((v - s * b) / (1.0 + s), -self.threshold, self.threshold)

    def domain(self, b: Array) -> tuple[Array, Array]:
        """|y| <= e."""
        end = np.full(b.shape, self.threshold)
        return -end, end

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """(h - y)(r - (h + y)/2) with h = clip(r, -e, e): both factors have one sign."""
        r = z - b
        h = np.clip(r, -self.threshold, self.threshold)
        return np.maximum((h - y) * (r - 0.5 * (h + y)), 0.0)

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """(r - y)^2/2, or (e -+ y)(|r| - (e +- y)/2) beyond the threshold, rounded up."""
        low, high = pieces.difference(z_lo, b), pieces.difference(z_hi, b)
        return pieces.gap_above(low, high, y, -self.threshold, self.threshold)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """r^2/2 or e |r| - e^2/2, rounded down; 0 where b is between the ends."""
        low, high = pieces.difference(z_lo, b), pieces.difference(z_hi, b)
        return pieces.value_below(low, high, -self.threshold, self.threshold)
