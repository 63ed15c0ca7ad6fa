"""Logistic loss, and the same plus a quadratic, which makes it strongly convex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit, logit, xlog1py

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.losses._base import MarginLoss


def solve_margin(k: Array, s: float, guess: Array | None = None) -> Array:
    """Solve F(t) = s t + expit(t) - k = 0 for t, elementwise, s > 0.

    F increases; t solves it for k exactly if -t does for 1 - k, so take k >= 1/2, t >= 0. There F
    is concave: wherever Newton's method starts, its next iterate lies left of the root, and from
    then on it climbs to it. The root is at least (k - 1)/s and, for k < 1, at most logit(k).
    """
    side = np.where(k >= 0.5, 1.0, -1.0)
    k = np.maximum(k, 1.0 - k)
    low = np.maximum((k - 1.0) / s, 0.0)
    if guess is None:
        t = np.where(k < 1.0, logit(np.minimum(k, 1.0 - 1e-16)), low)
    else:
        t = np.clip(side * guess, low, k / s)
    root, left = np.empty_like(t), np.arange(k.size)
    for _ in range(100):
        e = expit(t)
        new = np.maximum(t - (s * t + e - k) / (s + e * (1.0 - e)), low)
        # A Newton step h leaves an error of at most h^2/8 in expit(t), because |F''| <= F'.
        done = np.abs(new - t) <= np.maximum(3e-8, 4e-16 * t)
        root[left[done]] = new[done]
        if done.all():
            break
        going = ~done
        t, k, low, left = new[going], k[going], low[going], left[going]
    else:
        root[left] = t
    return np.asarray(side * root)


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """phi = log(1 + exp(-b z)); phi*(y) = p log p + (1-p) log(1-p) on 0 <= p <= 1, p = -b y.

    gamma = 4, delta = 0 (on |z| <= B it is exp(-B)/4-strongly convex: what adaptation finds).
    """

    name: ClassVar[str] = "logistic"
    code: ClassVar[int] = 1
    prox_is_iterative: ClassVar[bool] = True
    gamma: ClassVar[float] = 4.0
    delta: ClassVar[float] = 0.0
    is_self_concordant: ClassVar[bool] = True

    def value(self, z: Array, b: Array) -> Array:
        """log(1 + exp(-m)) = max(-m, 0) + log1p(exp(-|m|))."""
        m = b * z
        e = np.abs(m)
        np.negative(e, out=e)
        np.exp(e, out=e)
        value = np.log1p(e, out=e)
        value -= np.minimum(m, 0.0, out=m)
        return value

    def grad(self, z: Array, b: Array) -> Array:
        """-b expit(-m)."""
        return -b * expit(-b * z)

    def value_grad(self, z: Array, b: Array) -> tuple[Array, Array]:
        """Both from one exponential e = exp(-|m|), in (0, 1]."""
        m = b * z
        e = np.abs(m)
        np.negative(e, out=e)
        np.exp(e, out=e)
        # expit(-m) is e/(1+e) for m >= 0 and 1/(1+e) for m < 0.
        grad = np.where(m >= 0.0, e, 1.0)
        grad /= 1.0 + e
        grad *= -b
        value = np.log1p(e, out=e)
        value -= np.minimum(m, 0.0, out=m)
        return value, grad

    def hess(self, z: Array, b: Array) -> Array:
        """expit(z) expit(-z)."""
        return np.asarray(expit(z) * expit(-z))

    def conj(self, y: Array, b: Array) -> Array:
        """p log p + (1-p) log(1-p), with 0 log 0 = 0."""
        p = -b * y
        return np.asarray(xlog1py(1.0 - p, -p) - entr(p))  # log(1 - p) before 1 - p is rounded

    def conj_grad(self, y: Array, b: Array) -> Array:
        """-b logit(p), p kept off 0 and 1."""
        p = np.clip(-b * y, 1e-300, 1.0 - 1e-16)
        return np.asarray(-b * logit(p))

    def prox_conj(self, v: Array, s: float, b: Array, guess: Array | None = None) -> Array:
        """-b expit(t) with s t + expit(t) = -b v; t = -b z for the z of `Loss.prox_conj`."""
        start = None if guess is None else -b * guess
        return np.asarray(-b * expit(solve_margin(-b * v, s, start)))

    def domain(self, b: Array) -> tuple[Array, Array]:
        """0 <= p <= 1."""
        return np.minimum(-b, 0.0), np.maximum(-b, 0.0)

    def margins(self, z: Array, b: Array) -> Array:
        """b z."""
        return b * z


@dataclass(frozen=True)
class StrongLogistic(MarginLoss):
    """phi = log(1 + exp(-b z)) + (k/2) z^2: strongly convex and not quadratic.

    gamma = 1/(1/4 + k), delta = k; phi* has no closed form and is found by Newton's method.

    Parameters
    ----------
    strength : float
        k > 0.
    """

    strength: float = 0.1

    name: ClassVar[str] = "strong_logistic"
    code: ClassVar[int] = 5
    prox_is_iterative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the strength."""
        object.__setattr__(
            self, "strength", check.real("strength", self.strength, low=0.0, strict=True)
        )

    @property
    def parameter(self) -> float:
        """The strength."""
        return self.strength

    @property
    def gamma(self) -> float:
        """1/(1/4 + k)."""
        return 1.0 / (0.25 + self.strength)

    @property
    def delta(self) -> float:
        """The strength k."""
        return self.strength

    def value(self, z: Array, b: Array) -> Array:
        """log(1 + exp(-m)) + (k/2) z^2."""
        return Logistic().value(z, b) + 0.5 * self.strength * z * z

    def grad(self, z: Array, b: Array) -> Array:
        """-b expit(-m) + k z."""
        return Logistic().grad(z, b) + self.strength * z

    def hess(self, z: Array, b: Array) -> Array:
        """expit(z) expit(-z) + k."""
        return Logistic().hess(z, b) + self.strength

    def conj(self, y: Array, b: Array) -> Array:
        """y z - phi(z) at the z with phi'(z) = y."""
        z = self.conj_grad(y, b)
        return y * z - self.value(z, b)

    def conj_grad(self, y: Array, b: Array) -> Array:
        """The z with -b expit(-bz) + k z = y: with t = -b z, k t + expit(t) = -b y."""
        return -b * solve_margin(-b * y, self.strength)

    def prox_conj(self, v: Array, s: float, b: Array, guess: Array | None = None) -> Array:
        """phi'(z) at the z with s z + phi'(z) = v: with t = -b z, (s + k) t + expit(t) = -b v."""
        start = None if guess is None else -b * guess
        return self.grad(-b * solve_margin(-b * v, s + self.strength, start), b)
