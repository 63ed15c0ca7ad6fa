"""The logistic loss over many rows: its sum and its slopes with one exponential a row."""

from __future__ import annotations

import math

from dualgap._types import Array
from dualgap.compiled.jit import scalar

TOGETHER = 512
"""Factors in [1, 2] whose product float64 can hold: they share a logarithm."""

LARGEST = 709.78
"""exp of this is about the largest number; what is below its inverse is 0, as in scipy's expit."""


@scalar
def total_and_slopes(z: Array, b: Array, slopes: Array) -> float:
    """sum_i log(1 + exp(-m_i)) with m = b z, and slopes_i = -b_i expit(-m_i).

    log(1 + exp(-m)) = max(-m, 0) + log(1 + e), e = exp(-|m|).
    """
    total, product = 0.0, 1.0
    for i in range(z.size):
        m = b[i] * z[i]
        e = math.exp(-abs(m)) if abs(m) < LARGEST else 0.0
        factor = 1.0 + e
        slopes[i] = -b[i] * ((e if m >= 0.0 else 1.0) / factor)
        product *= factor
        if m < 0.0:
            total -= m
        if (i + 1) % TOGETHER == 0:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


NEAR = 0.03
"""The series below is good to the last digits up to this difference, as a share of p or 1 - p."""


@scalar
def excess(r: float) -> float:
    """((1 + r) log(1 + r) - r)/r^2 = 1/2 - r/6 + r^2/12 - ..., for |r| <= NEAR."""
    series = 1.0 / 90.0
    for m in range(9, 1, -1):
        series = 1.0 / (m * (m - 1)) - r * series
    return series


@scalar
def fenchel_gaps(z: Array, y: Array, b: Array, out: Array) -> None:
    """out_i = phi(z_i) + phi*(y_i) - y_i z_i, y_i in the domain.

    It is the relative entropy of p = -b y and s = expit(-m), m = b z: with d = p - s and
    h(r) = (1 + r) log(1 + r) - r it is s h(d/s) + (1 - s) h(-d/(1 - s)), which loses no digits to
    cancellation where y is near phi'(z).
    """
    for i in range(z.size):
        m, p = b[i] * z[i], -b[i] * y[i]
        e = math.exp(-abs(m)) if abs(m) < LARGEST else 0.0
        large, small = 1.0 / (1.0 + e), e / (1.0 + e)
        s, rest = (small, large) if m >= 0.0 else (large, small)
        d = p - s
        if small > 0.0 and abs(d) <= NEAR * small:
            r, q = d / s, -d / rest
            out[i] = s * r * r * excess(r) + rest * q * q * excess(q)
            continue
        conj = p * math.log(p) if p > 0.0 else 0.0
        if p < 1.0:
            conj += (1.0 - p) * math.log1p(-p)
        out[i] = max(max(-m, 0.0) + math.log1p(e) + conj + p * m, 0.0)
