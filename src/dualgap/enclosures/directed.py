"""Rounding with a direction, by one step of the last bit: no switch of the rounding mode.

An operation of IEEE double precision is off by at most half of its last bit, so that the next
float above its result is above the real result (also below the normal range, where the last bit is
2^-1074). Sums of k floats in any order, with or without fused multiplications, are off by at most
`gam(k)` times the sum of sizes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap._types import Array

UNIT = 2.0**-53
"""u: a rounded operation is off by at most this share of its result."""
TINY = 2.0**-1074
"""The least positive float: what an operation that underflows may be off."""


FEW = 256
"""Arrays up to this size are rounded by `numpy.nextafter`, longer ones by a formula."""
SHORT = 128
"""Sums up to this length are left to numpy."""


def up(v: Any) -> Any:
    """A float above: the next one, or the one after it. An array may come out nan where it is inf.

    |v| 2^-52 is at least the distance to the next float, and TINY that below the normal range.
    """
    if isinstance(v, float):
        return math.nextafter(v, math.inf)
    if v.size <= FEW:
        return np.nextafter(v, np.inf)
    step = np.abs(v)
    step *= 2.0**-52
    step += TINY
    step += v
    return step


def down(v: Any) -> Any:
    """A float below: the next one, or the one after it."""
    if isinstance(v, float):
        return math.nextafter(v, -math.inf)
    if v.size <= FEW:
        return np.nextafter(v, -np.inf)
    step = np.abs(v)
    step *= 2.0**-52
    step += TINY
    return np.subtract(v, step, out=step)


def gam(k: float) -> float:
    """At least gamma_k/(1 - gamma_k) with gamma_k = k u/(1 - k u), for 4 k u <= 1.

    A sum of k terms is off by at most gam(k) times the *computed* sum of their sizes.
    """
    return k * UNIT * (1.0 + 4.0 * k * UNIT) * (1.0 + 2.0**-48)


def in_two_levels(terms: Array) -> tuple[float, float]:
    """A sum in floats, and the roundings behind a term: about 2 sqrt(n), whatever numpy does.

    Rows of sqrt(n) terms are added up, and then their sums.
    """
    terms = np.asarray(terms).reshape(-1)
    n = terms.size
    if n <= SHORT:
        return float(terms.sum()), float(n)
    length = 1 << math.ceil(math.log2(n) / 2.0)
    cut = n - n % length
    total = terms[:cut].reshape(-1, length).sum(axis=1).sum() + terms[cut:].sum()
    return float(total), float(length + n // length + 2)


def sum_up(terms: Array) -> float:
    """At least the sum of numbers >= 0; 0 if all of them are 0."""
    total, roundings = in_two_levels(terms)
    return up(up(total) * (1.0 + gam(roundings + 4.0))) if total != 0.0 else 0.0


def add_up(a: float, b: float) -> float:
    """At least a + b; a sum with 0 is exact."""
    return up(a + b) if a and b else a + b


def divide_up(a: float, b: float) -> float:
    """At least a/b for a >= 0 and b > 0; 0/b is exact."""
    return up(a / b) if a else 0.0


def multiply_up(a: float, b: float) -> float:
    """At least a b for a, b >= 0; a product with 0 is exact."""
    return up(a * b) if a and b else 0.0


def sum_down(terms: Array) -> float:
    """At most the sum of numbers >= 0, and not below 0."""
    total, roundings = in_two_levels(terms)
    return max(0.0, float(down(down(total) * (1.0 - gam(roundings + 4.0)))))


def weighted_sum_up(w: Array | None, terms: Array) -> float:
    """At least sum_i w_i t_i for numbers w_i >= 0 (1 if None) and t_i >= 0."""
    if w is None:
        return sum_up(terms)
    counts = (w > 0.0) & (terms != 0.0)
    return sum_up(np.where(counts, up(w * terms), 0.0))


def weighted_sum_down(w: Array | None, terms: Array) -> float:
    """At most sum_i w_i t_i for numbers w_i >= 0 (1 if None) and t_i >= 0."""
    if w is None:
        return sum_down(terms)
    return sum_down(np.maximum(down(np.where(w > 0.0, w * terms, 0.0)), 0.0))


def arithmetic_is_ieee() -> bool:
    """Whether this thread rounds to nearest and keeps numbers below the normal range.

    Other libraries switch that in a thread for the sake of speed, so it is asked each time.
    """
    one, half, least, normal = np.array([1.0, 2.0**-53, 2.0**-1074, 2.0**-1022]).tolist()
    gradual = normal * 0.5 > 0.0 and normal * 0.5 + normal * 0.5 == normal and least * one > 0.0
    nearest = one + half == one and -one - half == -one and one + 3.0 * half == one + 4.0 * half
    arrays = np.array([normal, least]) * np.array([0.5, 1.0])  # the vector unit, too
    return bool(gradual and nearest and (arrays > 0.0).all())
