"""The two smooth hinges: linear beyond a quadratic part of given width, and squared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.enclosures import pieces
from dualgap.losses.contract import MarginLoss


def shortfalls(z_lo: Array, z_hi: Array, b: Array) -> tuple[pieces.Pair, pieces.Pair]:
    """1 - b z at both ends of z, the smaller one first, exactly."""
    low, high = np.where(b > 0.0, z_hi, -z_lo), np.where(b > 0.0, z_lo, -z_hi)
    one = np.ones_like(low)
    return pieces.difference(one, low), pieces.difference(one, high)


@dataclass(frozen=True)
class SmoothedHinge(MarginLoss):
    """Smooth support vector machine, with m = b z and width h > 0.

    phi = 0 if m >= 1, 1 - m - h/2 if m <= 1 - h, else (1 - m)^2/(2h);
    phi*(y) = -p + h p^2/2 on 0 <= p <= 1, p = -b y; gamma = h, delta = 0.

    Parameters
    ----------
    width : float
        h > 0; the hinge is approached as h goes to 0.
    """

    width: float = 1.0

    name: ClassVar[str] = "smoothed_hinge"
    is_accurate: ClassVar[bool] = True
    code: ClassVar[int] = 2
    has_exact_gap: ClassVar[bool] = True
    has_quadratic_conj: ClassVar[bool] = True
    delta: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        """Check the width."""
        object.__setattr__(self, "width", check.real("width", self.width, low=0.0, strict=True))

    @property
    def parameter(self) -> float:
        """The width."""
        return self.width

    @property
    def gamma(self) -> float:
        """The width h."""
        return self.width

    def _p(self, margin: Array) -> Array:
        return np.clip((1.0 - margin) / self.width, 0.0, 1.0)

    def value(self, z: Array, b: Array) -> Array:
        """p (1 - m) - h p^2/2 with p = clip((1 - m)/h, 0, 1)."""
        short = 1.0 - b * z
        p = np.clip(short / self.width, 0.0, 1.0)
        return p * (short - 0.5 * self.width * p)

    def grad(self, z: Array, b: Array) -> Array:
        """-b clip((1 - m)/h, 0, 1)."""
        return -b * self._p(b * z)

    def hess(self, z: Array, b: Array) -> Array:
        """1/h on the quadratic part, else 0."""
        p = (1.0 - b * z) / self.width
        return ((p >= 0.0) & (p <= 1.0)) / self.width

    def conj(self, y: Array, b: Array) -> Array:
        """-p + h p^2/2."""
        p = -b * y
        return p * (0.5 * self.width * p - 1.0)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """b (1 - h p)."""
        return b * (1.0 + self.width * b * y)

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """-b clip((s - b v)/(1 + s h), 0, 1)."""
        return -b * np.clip((s - b * v) / (1.0 + s * self.width), 0.0, 1.0)

    def rounded(self, z: Array, b: Array) -> Array:
        """|1 - m|."""
        return np.abs(1.0 - b * z)

    def domain(self, b: Array) -> tuple[Array, Array]:
        """0 <= p <= 1."""
        return np.minimum(-b, 0.0), np.maximum(-b, 0.0)

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """(k - p)((1 - m) - h (k + p)/2) with k = clip((1 - m)/h, 0, 1)."""
        short, p = 1.0 - b * z, -b * y
        k = np.clip(short / self.width, 0.0, 1.0)
        return np.maximum((k - p) * (short - 0.5 * self.width * (k + p)), 0.0)

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """(1 - m - h p)^2/(2h), or what is less beyond the quadratic part, rounded up."""
        low, high = shortfalls(z_lo, z_hi, b)
        return pieces.gap_above(low, high, -b * y, 0.0, 1.0, self.width)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """phi at the largest margin, rounded down."""
        low, high = shortfalls(z_lo, z_hi, b)
        return pieces.value_below(low, high, 0.0, 1.0, self.width)


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """phi = max(0, 1 - b z)^2/2; phi*(y) = -p + p^2/2 on p >= 0, p = -b y; gamma = 1, delta = 0.

    liblinear and scikit-learn have no 1/2: double the weights to compare.
    """

    name: ClassVar[str] = "squared_hinge"
    is_accurate: ClassVar[bool] = True
    code: ClassVar[int] = 3
    has_exact_gap: ClassVar[bool] = True
    has_quadratic_conj: ClassVar[bool] = True
    gamma: ClassVar[float] = 1.0
    delta: ClassVar[float] = 0.0

    def value(self, z: Array, b: Array) -> Array:
        """max(0, 1 - m)^2/2."""
        short = np.maximum(1.0 - b * z, 0.0)
        return 0.5 * short * short

    def grad(self, z: Array, b: Array) -> Array:
        """-b max(0, 1 - m)."""
        return -b * np.maximum(1.0 - b * z, 0.0)

    def hess(self, z: Array, b: Array) -> Array:
        """1 where m <= 1, else 0."""
        return (b * z <= 1.0).astype(np.float64)

    def conj(self, y: Array, b: Array) -> Array:
        """-p + p^2/2."""
        p = -b * y
        return p * (0.5 * p - 1.0)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """b (1 - p)."""
        return b * (1.0 + b * y)

    def prox_conj(self, v: Array, s: float, b: Array) -> Array:
        """-b max(0, (s - b v)/(1 + s))."""
        return -b * np.maximum((s - b * v) / (1.0 + s), 0.0)

    def rounded(self, z: Array, b: Array) -> Array:
        """|1 - m|."""
        return np.abs(1.0 - b * z)

    def domain(self, b: Array) -> tuple[Array, Array]:
        """p >= 0."""
        return np.where(b > 0, -np.inf, 0.0), np.where(b > 0, 0.0, np.inf)

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """(k - p)((1 - m) - (k + p)/2) with k = max(0, 1 - m)."""
        short, p = 1.0 - b * z, -b * y
        k = np.maximum(short, 0.0)
        return np.maximum((k - p) * (short - 0.5 * (k + p)), 0.0)

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """(1 - m - p)^2/2, or p (p/2 + m - 1) where m > 1, rounded up."""
        low, high = shortfalls(z_lo, z_hi, b)
        return pieces.gap_above(low, high, -b * y, 0.0, np.inf)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """phi at the largest margin, rounded down."""
        low, high = shortfalls(z_lo, z_hi, b)
        return pieces.value_below(low, high, 0.0, np.inf)
