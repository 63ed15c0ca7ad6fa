"""Fenchel gaps and losses in balls of flint's: the judge of the enclosures.

A float is an exact number here. 1600 bits, because gaps near 1e-340 are differences of numbers
near 700.
"""

from __future__ import annotations

import flint
import numpy as np
from flint import arb

BITS = 1600


def number(v):
    return arb(float(v))


def entropy(p):
    return p * p.log() if p > 0 else arb(0)


def piecewise(r, y, low, high, width):
    """phi + phi* - y r for phi = max over low <= y <= high of y r - width y^2/2."""
    k = r / width if width != 1 else r
    if high is not None and r > high * width:
        k = high
    if low is not None and r < low * width:
        k = low
    if k is not high and k is not low:
        return (r - width * y) ** 2 / (2 * width)
    return (k - y) * (r - width * (k + y) / 2)


def residual(loss, z, y, b):
    end = getattr(loss, "threshold", None)
    ends = (None, None) if end is None else (-number(end), number(end))
    return piecewise(z - b, y, *ends, arb(1))


def smooth_quantile(loss, z, y, b):
    """The example's: its domain is from -q to the float 1 - q."""
    return piecewise(z - b, y, -number(loss.q), number(1.0 - loss.q), number(loss.h))


def hinge(loss, z, y, b):
    width = number(getattr(loss, "width", 1.0))
    top = arb(1) if loss.name == "smoothed_hinge" else None
    return piecewise(1 - b * z, -b * y, arb(0), top, width)


def softplus(t):
    return (1 + t.exp()).log()


def logistic(loss, z, y, b):
    p, t = -b * y, -b * z
    return softplus(t) + entropy(p) + entropy(1 - p) - p * t


def strong_logistic(loss, z, y, b):
    """phi(z) - phi(v) - y (z - v): at most the gap for any v, and the gap where phi'(v) = y."""
    k = number(loss.strength)

    def value(v):
        return softplus(-b * v) + k * v * v / 2

    with flint.ctx.workprec(600):
        one = np.array([1.0])
        v = number(loss.conj_grad(one * float(y), one * float(b))[0])
        for _ in range(6):
            s = 1 / (1 + (b * v).exp())
            v = (v - (k * v - b * s - y) / (k + s * (1 - s))).mid()
        return value(z) - value(v) - y * (z - v)


def divergence(m, log_mu):
    return log_mu.exp() - m - (m * (log_mu - m.log()) if m > 0 else 0)


def poisson(loss, z, y, b):
    return divergence(y + b, z)


def gamma(loss, z, y, b):
    return divergence(1 - y, b.log() - z)


GAPS = {
    "squared": residual,
    "huber": residual,
    "smoothed_hinge": hinge,
    "squared_hinge": hinge,
    "logistic": logistic,
    "strong_logistic": strong_logistic,
    "poisson": poisson,
    "gamma": gamma,
    "counts": poisson,
    "smooth_quantile": smooth_quantile,
}


def gap(loss, z, y, b):
    """phi(z) + phi*(y) - y z of floats."""
    with flint.ctx.workprec(BITS):
        return GAPS[loss.name](loss, number(z), number(y), number(b))


def value(loss, z, b):
    """phi(z): the gap at 0, but for the one loss whose infimum is not 0."""
    if loss.name != "strong_logistic":
        return gap(loss, z, 0.0, b)
    with flint.ctx.workprec(BITS):
        z, b = number(z), number(b)
        return softplus(-b * z) + number(loss.strength) * z * z / 2


def multinomial_gap(z, p):
    """log sum_k exp(z_k) + sum_k p_k (log p_k - z_k) for balls z and p."""
    with flint.ctx.workprec(BITS):
        total = sum((v.exp() for v in z), arb(0)).log()
        return total + sum((entropy(a) - a * v for a, v in zip(p, z, strict=True)), arb(0))
