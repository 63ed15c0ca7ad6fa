"""Decimal numbers to the nearest float64, as ``float()`` rounds them.

A number is w 10^q with an integer w of at most 19 digits. Small ones are exact in floating point
(Clinger 1990); the others are multiplied by a 128-bit 5^q (Lemire, *Number parsing at a gigabyte
per second*, 2021). What neither can decide is left to ``float()``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap.compiled.jit import scalar

Words = np.ndarray[Any, np.dtype[np.uint64]]

SMALLEST_POWER, LARGEST_POWER = -342, 308
"""Below, a number of 19 digits is 0; above, it is infinite."""

EXACT_POWERS = np.array([float(f"1e{k}") for k in range(23)])
"""10^k, k <= 22: those that are float64 numbers."""

UNDECIDED = -1.0
"""What `nearest` returns for a number that ``float()`` must read."""


def powers_of_five() -> Words:
    """The leading 128 bits of 5^q, high word and low word: rounded down, for q < 0 rounded up."""
    table = np.empty((LARGEST_POWER - SMALLEST_POWER + 1, 2), dtype=np.uint64)
    for row, q in enumerate(range(SMALLEST_POWER, LARGEST_POWER + 1)):
        if q >= 0:
            bits = 5**q
            short = 128 - bits.bit_length()
            bits = bits << short if short >= 0 else bits >> -short
        else:
            divisor = 5**-q
            bits = (1 << (divisor.bit_length() + 128)) // divisor + 1
            bits >>= bits.bit_length() - 128
        table[row] = divmod(bits, 1 << 64)
    return table


@scalar
def product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128 bits of a b: high word, low word."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    low = a0 * b0
    middle = a1 * b0 + (low >> half)
    other = a0 * b1 + (middle & mask)
    high = a1 * b1 + (middle >> half) + (other >> half)
    return high, (other << half) | (low & mask)


@scalar
def nearest(w: np.uint64, q: int, powers: Words) -> float:
    """The float64 nearest to w 10^q, ties to even; `UNDECIDED` where that takes more care."""
    if w == np.uint64(0):
        return 0.0
    if -22 <= q <= 22 and w <= np.uint64(1 << 53):
        # w and 10^|q| are exact, so that one rounding is all there is.
        scale: float = EXACT_POWERS[abs(q)]
        return float(w) * scale if q >= 0 else float(w) / scale
    if q < SMALLEST_POWER or q > LARGEST_POWER:
        return UNDECIDED
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == np.uint64(0):
            w <<= np.uint64(step)
            zeros += step
    row = q - SMALLEST_POWER
    high, low = product(w, powers[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the low word of 5^q may carry into the result
        carry, _ = product(w, powers[row, 1])
        low += carry
        if carry > low:
            high += np.uint64(1)
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return UNDECIDED
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))  # 54 bits: one more than the result has
    # 10^q = 5^q 2^q, and 5^q was scaled by a power of 2 with exponent floor(q log2(5)) - 127.
    exponent = ((217706 * q) >> 16) + 63 + int(top) - zeros
    if exponent < -1021 or exponent > 1022:
        return UNDECIDED
    if (
        low <= np.uint64(1)
        and -4 <= q <= 23
        and mantissa & np.uint64(3) == np.uint64(1)
        and mantissa << (top + np.uint64(9)) == high
    ):
        mantissa -= np.uint64(1)  # exactly between two numbers: to the even one
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    return math.ldexp(float(mantissa), exponent - 52)
