"""The logistic loss over many rows: its sum and its slopes with one exponential a row."""

from __future__ import annotations

import math

from dualgap._jit import scalar
from dualgap.kernels.scalar import Floats

TOGETHER = 512
"""Factors in [1, 2] whose product float64 can hold: they share a logarithm."""

LARGEST = 709.78
"""exp of this is about the largest number; what is below its inverse is 0, as in scipy's expit."""


@scalar
def total_and_slopes(z: Floats, b: Floats, slopes: Floats) -> float:
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
