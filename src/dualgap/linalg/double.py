"""Arithmetic with 32 digits: a number is an unevaluated sum of two floats (Dekker; Knuth).

Arrays of such pairs, for factorisations of a few columns whose differences are in the last digits
of float64. Every operation is exact but for about 1e-32 of its result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualgap._types import Array

SPLIT = float(2**27 + 1)
"""Multiplying a float64 by this cuts it into two halves of 26 bits each (Dekker and Veltkamp)."""


class Double(NamedTuple):
    """high + low, |low| at most half of the last digit of high."""

    high: Array
    low: Array

    def at(self, *place: object) -> Double:
        """Some entries."""
        return Double(self.high[place], self.low[place])  # type: ignore[index]

    def __neg__(self) -> Double:
        return Double(-self.high, -self.low)

    def plus(self, other: Double) -> Double:
        """The sum."""
        s, e = two_sum(self.high, other.high)
        t, f = two_sum(self.low, other.low)
        s, e = _quick(s, e + t)
        return _quick(s, e + f)

    def minus(self, other: Double) -> Double:
        """The difference."""
        return self.plus(-other)

    def times(self, other: Double) -> Double:
        """The product, entry by entry."""
        p, e = two_product(self.high, other.high)
        return _quick(p, e + (self.high * other.low + self.low * other.high))

    def scaled(self, factors: Array) -> Double:
        """Times floats."""
        p, e = two_product(self.high, factors)
        return _quick(p, e + self.low * factors)

    def over(self, other: Double) -> Double:
        """The quotient, entry by entry: a float, and what it leaves."""
        first = self.high / other.high
        left = self.minus(other.scaled(first))
        return _quick(first, left.high / other.high)

    def root(self) -> Double:
        """The square root, of numbers > 0."""
        first = np.sqrt(self.high)
        left = self.minus(Double(*two_product(first, first)))
        return _quick(first, left.high / (2.0 * first))

    def sum(self) -> Double:
        """Over the first axis, pair by pair."""
        values = self
        while (n := len(values.high)) > 1:
            half = n // 2
            added = values.at(slice(half)).plus(values.at(slice(half, 2 * half)))
            if n % 2:
                last = values.at(slice(n - 1, n))
                added = Double(*(np.concatenate(both) for both in zip(added, last, strict=True)))
            values = added
        return values.at(0)


def of(values: Array) -> Double:
    """Floats."""
    return Double(values, np.zeros_like(values))


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a float, and what it leaves."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The same of a b."""
    p = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: Array) -> tuple[Array, Array]:
    large = SPLIT * a
    high = large - (large - a)
    return high, a - high


def _quick(high: Array, low: Array) -> Double:
    """The same sum with |low| small; |high| must be the larger one."""
    s = high + low
    return Double(s, low - (s - high))
