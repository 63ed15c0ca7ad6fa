"""How much sums in float64 can be off."""

from __future__ import annotations

import math

UNIT = 2.0**-53
"""u: a rounded operation is off by at most this share of its result."""
EPS = 2.0 * UNIT
"""From 1 to the next number."""


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
