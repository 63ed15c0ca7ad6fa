"""Twice the digits: numbers as unevaluated sums of two floats (double-double), by arrays.

For what float64 cannot tell apart: nearly dependent columns, sums that cancel. Every function
rests on two facts of IEEE arithmetic (Dekker 1971, Knuth): the error of a sum and of a product of
two floats is a float, and can be computed.

A pair (high, low) stands for high + low with |low| <= u |high|, u = 2^-53. Entries must be below
2^996 in absolute value, and products either 0 or above 2^-960: callers scale by powers of two
first.
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._types import Array

Pair = tuple[Array, Array]

UNIT = 2.0**-53
"""u: a rounded operation is off by at most this share of its result."""
SPLITTER = 2.0**27 + 1.0


def gamma(k: float) -> float:
    """What k roundings can add up to: |error| <= gamma(k) sum |terms| of a sum of products."""
    return k * UNIT * (1.0 + 4.0 * k * UNIT)


def sum_error(k: float) -> float:
    """The same for sums of many terms, whose roundings cancel: 2.5 sqrt(k) stand for k of them.

    Higham & Mary (2019), *A new approach to probabilistic rounding error analysis*. Roundings have
    mean 0 and a standard deviation of u/sqrt(3) at most, so that this is four times that of the sum
    even if every partial sum were as large as the sum of sizes. Short sums have the bound that
    always holds.
    """
    return gamma(min(k, 8.0 + 2.5 * math.sqrt(k)))


def two_sum(a: Array, b: Array) -> Pair:
    """a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: Array, b: Array) -> Pair:
    """a b exactly."""
    p = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Array) -> Pair:
    c = SPLITTER * a
    high = c - (c - a)
    return high, a - high


def add(a: Pair, b: Pair) -> Pair:
    """a + b, with a relative error of a few u^2."""
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    s, e = _renormalised(s, e + t)
    return _renormalised(s, e + f)


def times(a: Pair, b: Pair) -> Pair:
    """a b, with a relative error of a few u^2."""
    p, e = two_product(a[0], b[0])
    return _renormalised(p, e + (a[0] * b[1] + a[1] * b[0]))


def minus(a: Pair) -> Pair:
    """-a."""
    return -a[0], -a[1]


def _renormalised(s: Array, e: Array) -> Pair:
    t = s + e
    return t, e - (t - s)


def total(a: Pair) -> Pair:
    """The sum over the first axis, by halves."""
    high, low = a
    while high.shape[0] > 1:
        half = high.shape[0] // 2
        rest = (high[2 * half :], low[2 * half :])
        s = add((high[:half], low[:half]), (high[half : 2 * half], low[half : 2 * half]))
        high, low = np.concatenate((s[0], rest[0])), np.concatenate((s[1], rest[1]))
    if high.shape[0] == 0:
        return np.zeros(high.shape[1:]), np.zeros(high.shape[1:])
    return high[0], low[0]


def inverse_root(a: Pair) -> Pair:
    """1/sqrt(a) for a > 0: one Newton step x + x (1 - a x^2)/2 from the float's."""
    x = 1.0 / np.sqrt(a[0])
    start = (x, np.zeros_like(x))
    left = minus(times(a, times(start, start)))
    left = add((np.ones_like(x), np.zeros_like(x)), left)
    return add(start, times(start, (0.5 * left[0], 0.5 * left[1])))
