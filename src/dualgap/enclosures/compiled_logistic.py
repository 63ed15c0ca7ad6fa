"""The enclosures of the logistic loss over many rows, in one loop.

The formulas, their constants and what is claimed of their errors are those of
`dualgap.enclosures.exponential` and `dualgap.enclosures.relative_entropy`, where the reasons are
given, and of `dualgap.losses.logistic`. Nothing here calls the C library: powers of two are made of
their bits, and everything else is a sum, a product or a quotient.

With t = -b z, s = expit(t) and p = -b y, a row's Fenchel gap is D(p, s) + D(1 - p, 1 - s), and its
loss is log(1 + e^t) = max(t, 0) + log(1 + e^-|t|).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import exact, scalar
from dualgap.enclosures.directed import TINY
from dualgap.enclosures.exponential import (
    FEW_TERMS,
    HALF_ROOT,
    LARGEST,
    LOG2_E,
    LOG2_HIGH,
    LOG2_LOW,
    MANY_TERMS,
    NARROW,
    TAYLOR,
    WIDE,
)
from dualgap.enclosures.relative_entropy import NEAR, NEAR_TERMS, SMALL_SQUARE

STEP = 2.0**-52
"""This times |v| is at least the distance from v to the next float."""
LOWEST = -744.0
"""e to this is 2 * 2^-1074, which the allowance of an exponential covers: less is not asked for."""
SHIFT = 1.5 * 2.0**52
"""What is added to this is rounded to an integer, and subtracting it again is exact."""
FAR = 600.0
"""The bound leaves the conjugate out where |z| is larger, as `losses.logistic` does."""
EXPONENT = 0x7FF
FRACTION = (1 << 52) - 1
ODD = tuple(1.0 / (2 * j + 1) for j in range(MANY_TERMS + 2))
"""1/(2j + 1): the series of artanh."""


@scalar
def up(v: float) -> float:
    """A float above v: the next one, or the one after it; inf at inf, but nan at -inf."""
    return v + (abs(v) * STEP + TINY)


@scalar
def down(v: float) -> float:
    """A float below v: the next one, or the one before it; nan at inf."""
    return v - (abs(v) * STEP + TINY)


@scalar
def power(k: Any) -> float:
    """2^k for -1022 <= k <= 1023."""
    return np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@scalar
def exponential(x: float) -> tuple[float, float]:
    """At most and at least e^x for x <= 0, the latter not above 1; see `exponential.exp_parts`.

    m 2^k is rounded once: with h the half of k, m 2^h is a normal float, and so it is exact.
    """
    cut = x if x > LOWEST else LOWEST
    k = (cut * LOG2_E + SHIFT) - SHIFT
    r = (cut - k * LOG2_HIGH) - k * LOG2_LOW
    m = r * TAYLOR[14]
    m = (m + TAYLOR[13]) * r
    m = (m + TAYLOR[12]) * r
    m = (m + TAYLOR[11]) * r
    m = (m + TAYLOR[10]) * r
    m = (m + TAYLOR[9]) * r
    m = (m + TAYLOR[8]) * r
    m = (m + TAYLOR[7]) * r
    m = (m + TAYLOR[6]) * r
    m = (m + TAYLOR[5]) * r
    m = (m + TAYLOR[4]) * r
    m = (m + TAYLOR[3]) * r
    m = (m + TAYLOR[2]) * r
    m = (m + TAYLOR[1]) * r
    m += 1.0
    whole = np.int64(k)
    half = whole >> 1
    first, second = power(half), power(whole - half)
    low = ((m * (1.0 - WIDE)) * first) * second - 4.0 * TINY
    high = ((m * (1.0 + WIDE)) * first) * second + 4.0 * TINY
    return low if x > LOWEST and low > 0.0 else 0.0, high if high < 1.0 else 1.0


@scalar
def artanh_tail(w: float, terms: int) -> float:
    """w/3 + w^2/5 + ... + w^terms/(2 terms + 1)."""
    tail = w * ODD[terms]
    for j in range(terms - 1, 0, -1):
        tail = (tail + ODD[j]) * w
    return tail


@scalar
def _log1p(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1, off by at most 4.4 u of it and 3 * 2^-1074."""
    s = e / (2.0 + e)
    return 2.0 * (s * (1.0 + artanh_tail(s * s, MANY_TERMS)))


@scalar
def log1p_up(e: float) -> float:
    """At least log(1 + e) for 0 <= e <= 1."""
    return up(_log1p(e) * (1.0 + NARROW) + 4.0 * TINY)


@scalar
def log1p_down(e: float) -> float:
    """At most log(1 + e) for 0 <= e <= 1, and not below 0."""
    value = down(_log1p(e) * (1.0 - NARROW) - 4.0 * TINY)
    return value if value > 0.0 else 0.0


@scalar
def log_down(t: float) -> float:
    """At most log t for 0 <= t < inf; -inf at 0."""
    if not t > 0.0:
        return -np.inf
    k: Any = -1022
    if t < 2.0**-1000:  # so that no number is below the normal range
        t, k = t * 2.0**60, k - 60
    bits = np.float64(t).view(np.int64)
    k += (bits >> 52) & EXPONENT
    m = np.int64((bits & FRACTION) | (1022 << 52)).view(np.float64)  # t = 2^k m, 1/2 <= m < 1
    if m < HALF_ROOT:
        m, k = 2.0 * m, k - 1
    s = (m - 1.0) / (m + 1.0)
    value = 2.0 * (s * (1.0 + artanh_tail(s * s, FEW_TERMS)))
    value = (value + k * LOG2_LOW) + k * LOG2_HIGH
    return down(value - NARROW * abs(value))


@scalar
def excess_up(x: float, m: float) -> float:
    """At least m (x - log(1 + x)) for -1/2 <= x <= 1 and m >= 0."""
    s = x / (2.0 + x)
    w = s * s
    if w <= SMALL_SQUARE:
        tail = ODD[NEAR_TERMS]
        for j in range(NEAR_TERMS - 1, 0, -1):
            tail = ODD[j] + w * tail
    else:
        tail = ODD[MANY_TERMS + 1]
        for j in range(MANY_TERMS, 0, -1):
            tail = ODD[j] + w * tail
    value = 2.0 * ((1.0 / (1.0 - s) - s * tail) * w)
    return up((value * (1.0 + WIDE) + 8.0 * TINY) * m)


@scalar
def _above(m: float, mu: float, d: float) -> float:
    """At least D(m, mu) where mu - m <= d and d > 0, m the least and mu the largest one."""
    if not m > 0.0:
        return mu
    x = up(d / m)
    if x <= 1.0:
        return excess_up(x, m)
    q = mu / m
    t = log_down(down(q if q < LARGEST else LARGEST))
    return up(mu - down(m * down(1.0 + t)))


@scalar
def _below(m_lo: float, m_hi: float, mu: float, d: float) -> float:
    """At least D(m, mu) where mu - m >= d and d < 0, mu the least one."""
    if not m_hi > 0.0:
        return 0.0
    x = down(d / m_lo) if m_lo > 0.0 else -1.0
    if x >= -0.5:
        return excess_up(x, m_lo)
    t = log_down(down(mu / m_hi))
    return up(mu - down(m_hi * down(1.0 + t))) if t > -np.inf else np.inf


@scalar
def divergence_above(
    m_lo: float, m_hi: float, mu_lo: float, mu_hi: float, d_lo: float, d_hi: float
) -> float:
    """As in `enclosures.relative_entropy`."""
    if m_hi == 0.0:  # D(0, mu) = mu
        return mu_hi
    if d_hi <= 0.0:
        return _below(m_lo, m_hi, mu_lo, d_lo) if d_lo < 0.0 else 0.0
    if d_lo >= 0.0:
        return _above(m_lo, mu_hi, d_hi)
    size = max(-d_lo, d_hi)
    x = up(size / m_lo) if m_lo > 0.0 else 1.0
    if x <= NEAR:  # x - log(1 + x) is larger at -x
        return excess_up(-x, m_lo)
    return max(_above(m_lo, mu_hi, d_hi), _below(m_lo, m_hi, mu_lo, d_lo))


@scalar
def without_conjugate(t: float, p: float, rest: float) -> float:
    """At least log(1 + e^t) - p t; rest is at least 1 - p."""
    share = rest if t > 0.0 else p
    line = up(share * abs(t)) if share > 0.0 else 0.0
    return up(line + log1p_up(exponential(-abs(t))[1]))


@exact
def row_bounds(
    z_lo: Array, z_hi: Array, y: Array, b: Array, gap: Array, above: Array, below: Array
) -> None:
    """gap_i >= h(z, y_i), above_i >= phi(z) and below_i <= phi(z) for all z from z_lo_i to z_hi_i.

    y_i is in the domain, and ends may be infinite. Where an end is nan nothing is claimed: the
    first two are inf, and the last one is 0.
    """
    for i in range(z_lo.size):
        if b[i] > 0.0:
            t_lo, t_hi = -z_hi[i], -z_lo[i]
        else:
            t_lo, t_hi = z_lo[i], z_hi[i]
        p = abs(y[i])
        gap[i], above[i], below[i] = np.inf, np.inf, 0.0
        if not t_lo <= t_hi:
            continue
        low_lo, low_hi = exponential(-abs(t_lo))
        high_lo, high_hi = exponential(-abs(t_hi))

        value = log1p_up(high_hi)
        above[i] = up(t_hi + value) if t_hi > 0.0 else value
        value = log1p_down(low_lo)
        if t_lo > 0.0:
            value = t_lo + value
            value = down(value if value < LARGEST else LARGEST)
        below[i] = value

        # At least s, and at most 1 - s, at t_hi; the other ends of both at t_lo.
        if t_hi <= 0.0:
            whole = 1.0 + high_hi
            s_hi, c_lo = up(high_hi / down(whole)), down(1.0 / up(whole))
        else:
            whole = 1.0 + high_lo
            s_hi, c_lo = up(1.0 / down(whole)), down(high_lo / up(whole))
        if t_lo >= 0.0:
            whole = 1.0 + low_hi
            c_hi, s_lo = up(low_hi / down(whole)), down(1.0 / up(whole))
        else:
            whole = 1.0 + low_lo
            c_hi, s_lo = up(1.0 / down(whole)), down(low_lo / up(whole))
        s_hi, c_hi = min(s_hi, 1.0), min(c_hi, 1.0)
        s_lo, c_lo = max(s_lo, 0.0), max(c_lo, 0.0)

        # p and 1 - p: the smaller one is a float, the other one between two of them.
        if not p <= 1.0:
            continue
        small = 1.0 - p if p >= 0.5 else p
        rest = 1.0 - small
        left = (1.0 - rest) - small  # exactly, as rest >= small
        rest_lo = rest if left >= 0.0 else down(rest)
        rest_hi = rest if left <= 0.0 else up(rest)
        if p >= 0.5:
            p_lo, p_hi, q_lo, q_hi = rest_lo, rest_hi, small, small
            d_hi, d_lo = up(small - c_lo), down(small - c_hi)
        else:
            p_lo, p_hi, q_lo, q_hi = small, small, rest_lo, rest_hi
            d_hi, d_lo = up(s_hi - small), down(s_lo - small)
        value = divergence_above(p_lo, p_hi, s_lo, s_hi, d_lo, d_hi)
        value = up(value + divergence_above(q_lo, q_hi, c_lo, c_hi, -d_hi, -d_lo))
        if max(-t_lo, t_hi) > FAR and value > 0.0:
            most = max(without_conjugate(t_lo, p_hi, q_hi), without_conjugate(t_hi, p_hi, q_hi))
            value = min(value, most)
        gap[i] = value if value >= 0.0 else np.inf
