"""Gamma loss with a log link: positive targets b whose mean is exp(z)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import weighted_sum
from dualgap._types import Array
from dualgap.enclosures.directed import down, up
from dualgap.enclosures.exponential import exp_down, exp_up, log_down, log_up
from dualgap.enclosures.relative_entropy import (
    SMALL,
    apart,
    divergence_above,
    divergence_below,
    sum_of_two,
)
from dualgap.losses.contract import Loss
from dualgap.losses.poisson import LARGEST, divergence, log_of


@dataclass(frozen=True)
class Gamma(Loss):
    """phi(z) = z + b e^-z - (1 + log b) for a target b > 0 with the mean e^z.

    Half the deviance of one row, which is 0 where e^z = b; the mean of it is what scikit-learn's
    GammaRegressor minimises, with ``alpha`` for l2. An offset is the log of the exposure.

    With m = 1 - y: phi*(y) = m log m + y + y log b on y <= 1. phi'' = b e^-z has no bound, so gamma
    is None; delta = 0. |phi'''| = phi''. A minimiser always exists.
    """

    name: ClassVar[str] = "gamma"
    is_accurate: ClassVar[bool] = True
    gamma: ClassVar[float | None] = None
    is_self_concordant: ClassVar[bool] = True
    has_exact_gap: ClassVar[bool] = True

    def targets(self, b: Any, n: int) -> Array:
        """Finite, b > 0."""
        values = check.vector("b", b, n, what="row of A")
        if (values <= 0.0).any():
            at = int(np.flatnonzero(values <= 0.0)[0])
            raise ValueError(
                f"b[{at}] = {values[at]:g} is not positive: loss={self.name!r} takes b > 0. Drop "
                "that row, or use loss='poisson', which takes zeros."
            )
        return values

    def null_point(self, b: Array, q: Array, offset: Array) -> float | None:
        """log sum_i q_i b_i e^-offset_i."""
        parts = np.log(b) - offset
        most = float(parts.max())
        if most == parts.min():
            return most
        return float(np.log(weighted_sum(q, np.exp(parts - most)))) + most

    def mean(self, z: Array) -> Array:
        """e^z."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z))

    def value(self, z: Array, b: Array) -> Array:
        """e^t - 1 - t with t = log b - z."""
        return divergence(np.ones_like(z), np.log(b) - z)

    def grad(self, z: Array, b: Array) -> Array:
        """1 - b e^-z = -(e^t - 1)."""
        with np.errstate(over="ignore"):
            return -np.minimum(np.expm1(np.log(b) - z), LARGEST)

    def hess(self, z: Array, b: Array) -> Array:
        """b e^-z, as long as that is a number."""
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(np.log(b) - z), LARGEST)

    def hess_bound(self, low: Array, high: Array, b: Array) -> Array:
        """b e^-low."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(np.log(b) - low))

    def conj(self, y: Array, b: Array) -> Array:
        """[m log m - m + 1] + y log b."""
        m = np.maximum(1.0 - y, 0.0)
        return divergence(m, np.zeros_like(m)) + y * np.log(b)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """log b - log m."""
        return np.asarray(np.log(b) - log_of(1.0 - y))

    def rounded(self, z: Array, b: Array) -> Array:
        """z and log b."""
        return 1.0 + np.abs(z) + np.abs(np.log(b))

    def domain(self, b: Array) -> tuple[Array, Array]:
        """y <= 1."""
        return np.full(b.shape, -np.inf), np.ones(b.shape)

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """mu - m - m log(mu/m) with mu = b e^-z."""
        return divergence(np.maximum(1.0 - y, 0.0), np.log(b) - z)

    def gap_above(self, z_lo: Array, z_hi: Array, y: Array, b: Array) -> Array:
        """mu - m - m log(mu/m) with mu = b e^-z, rounded up."""
        m = sum_of_two(np.ones_like(z_lo), -y)
        mu = exp_down(-z_hi, b), exp_up(-z_lo, b)
        log_mu = None
        if (mu[0] < SMALL * np.maximum(m[1], 1.0)).any():
            with np.errstate(all="ignore"):
                log_mu = down(log_down(b) - z_hi)
        return divergence_above(m, mu, apart(m, mu), log_mu)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """mu - 1 - log mu, rounded down; 0 where 1 is between the ends of mu."""
        mu = exp_down(-z_hi, b), exp_up(-z_lo, b)
        with np.errstate(all="ignore"):
            log_mu = up(np.maximum(log_up(b) - z_lo, -1e300)) if (mu[1] < SMALL).any() else None
        return divergence_below(np.ones_like(z_lo), mu, log_mu)
