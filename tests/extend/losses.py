"""Losses of somebody else, written with public names only."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.losses import Loss


@dataclass(frozen=True)
class Counts(Loss):
    """The Poisson loss, plainly written: nothing but what is required."""

    gamma: ClassVar[None] = None

    def value(self, z, b):
        return np.exp(z) - b * z + b * np.log(np.where(b > 0, b, 1.0)) - b

    def grad(self, z, b):
        return np.exp(z) - b

    def hess(self, z, b):
        return np.exp(z)

    def hess_bound(self, low, high, b):
        return np.exp(high)

    def conj(self, y, b):
        m = np.maximum(y + b, 0.0)
        log_m, log_b = (np.log(np.where(v > 0, v, 1.0)) for v in (m, b))
        return m * log_m - m - (b * log_b - b)

    def conj_grad(self, y, b):
        return np.log(np.maximum(y + b, 1e-300))

    def domain(self, b):
        return -b, np.full(b.shape, np.inf)

    def targets(self, b, n):
        b = super().targets(b, n)
        if (b < 0).any():
            raise ValueError("b must not be negative.")
        return b


@dataclass(frozen=True)
class SmoothQuantile(Loss):
    """The pinball loss of a level, smoothed over a width: two parameters.

    phi(r) = max over y in [level - 1, level] of y r - (width/2) y^2, r = b - z with its sign
    turned: the dual variable of z is -y.
    """

    level: float = 0.8
    width: float = 0.5

    @property
    def gamma(self):
        return self.width

    def _slope(self, r):
        return np.clip(r / self.width, self.level - 1.0, self.level)

    def value(self, z, b):
        y = self._slope(b - z)
        return y * (b - z) - 0.5 * self.width * y * y

    def grad(self, z, b):
        return -self._slope(b - z)

    def hess(self, z, b):
        r = (b - z) / self.width
        return ((r >= self.level - 1.0) & (r <= self.level)) / self.width

    def conj(self, y, b):
        return y * b + 0.5 * self.width * y * y

    def conj_grad(self, y, b):
        return b + self.width * y

    def domain(self, b):
        return np.full(b.shape, -self.level), np.full(b.shape, 1.0 - self.level)


@dataclass(frozen=True)
class WithProx(SmoothQuantile):
    """The same, with a dual prox."""

    def prox_conj(self, v, s, b):
        return np.clip((v - s * b) / (1.0 + s * self.width), -self.level, 1.0 - self.level)


@dataclass(frozen=True)
class PseudoHuber(Loss):
    """sqrt(1 + r^2) - 1, whose phi*'' has no bound: nothing is known of it but its formulas."""

    gamma: ClassVar[float] = 1.0

    def value(self, z, b):
        r = z - b
        return r * r / (np.sqrt(1.0 + r * r) + 1.0)

    def grad(self, z, b):
        r = z - b
        return r / np.sqrt(1.0 + r * r)

    def hess(self, z, b):
        r = z - b
        return (1.0 + r * r) ** -1.5

    def conj(self, y, b):
        return y * b + 1.0 - np.sqrt(np.maximum(1.0 - y * y, 0.0))

    def conj_grad(self, y, b):
        y = np.clip(y, -1.0 + 1e-15, 1.0 - 1e-15)
        return b + y / np.sqrt(1.0 - y * y)

    def domain(self, b):
        return -np.ones(b.shape), np.ones(b.shape)
