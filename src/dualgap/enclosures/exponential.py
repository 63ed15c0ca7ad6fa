"""Exponentials and logarithms that enclose the real ones: additions, products and quotients only.

No function of the C library is trusted. With x = k log 2 + r, |r| <= 0.36, e^x is 2^k times the
Taylor polynomial of degree 14 at r, whose error is below 5 u (u = 2^-53): 0.8 u from r, 3.9 u
from Horner's rule, 0.003 u from the terms left out. Claimed are 16 u.

With t = 2^k m, 0.7 < m < 1.42, and s = (m - 1)/(m + 1), log t is k log 2 + 2 artanh(s). The series
s (1 + s^2/3 + s^4/5 + ...) has positive terms after s and is right to 4.4 u; together with k log 2
that is 6.5 u of the result. Claimed are 8 u. Nothing cancels where t is near 1.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import TINY, down, up

LARGEST = float(np.finfo(np.float64).max)
"""The largest float."""
LOG2_E = 1.4426950408889634
LOG2_HIGH = float.fromhex("0x1.62e42feep-1")
"""log 2 to 33 bits: its product with an integer below 2^20 is a float."""
LOG2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""log 2 less that, to 53 bits."""
WIDE = 2.0**-49
"""16 u: what an exponential may be off, relative to it."""
NARROW = 2.0**-50
"""8 u: what a logarithm may be off, relative to it."""
HALF_ROOT = 0.70710678
FEW_TERMS = 12
"""So many terms of the series of artanh are summed for |s| < 0.1716: what is left out is below
2^-65 of the sum."""
MANY_TERMS = 17
"""So many terms are summed for |s| <= 1/3, up to rounding: what is left out is below 2^-61 of the
sum."""
TAYLOR = (
    1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880,
    1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800, 1 / 87178291200,
)  # fmt: skip
"""1/k!, k = 0, ..., 14."""


def exp_parts(x: Array) -> tuple[Array, Array]:
    """m and k with e^x = 2^k m (1 + d), |d| < 5 u and 0.69 < m < 1.44; x is cut at +-1600."""
    x = np.clip(x, -1600.0, 1600.0)  # beyond, no factor brings it back
    k = np.rint(x * LOG2_E)
    r = x - k * LOG2_HIGH
    r -= k * LOG2_LOW
    m = r * TAYLOR[-1]
    for c in TAYLOR[-2:0:-1]:
        m += c
        m *= r
    m += 1.0
    return m, k.astype(np.intc)


def exp_up(x: Array, factor: Array | None = None) -> Array:
    """At least e^x (times a factor >= 0, also where e^x alone is no float); inf beyond all floats.

    2^k m (1 + 16 u) + 4 * 2^-1074; the last part is what is rounded below the normal range.
    """
    with np.errstate(all="ignore"):
        m, k = exp_parts(x)
        m *= 1.0 + WIDE
        if factor is None:
            high = np.ldexp(m, k)
            high += 4.0 * TINY
            return np.where(x > 1600.0, np.inf, high)
        share, shift = np.frexp(factor)
        high = up(np.ldexp(up(m * share), k + shift))
        high += 4.0 * TINY
        high = np.where(x > 1600.0, np.inf, high)
        return np.where(factor == 0.0, 0.0, high)


def exp_down(x: Array, factor: Array | None = None) -> Array:
    """At most e^x (times a factor >= 0), not below 0 and not above the largest float."""
    with np.errstate(all="ignore"):
        m, k = exp_parts(x)
        m *= 1.0 - WIDE
        if factor is None:
            low = np.ldexp(m, k)
        else:
            share, shift = np.frexp(factor)
            low = np.minimum(np.ldexp(down(m * share), k + shift), LARGEST)
            low = down(low)
        low -= 4.0 * TINY
        low = np.clip(low, 0.0, LARGEST)
        return np.where(x < -1600.0, 0.0, low)


def exp_bounds(lo: Array, hi: Array) -> tuple[Array, Array]:
    """At most e^lo, and at least e^hi: floats that enclose e^x for every real x from lo to hi.

    Parameters
    ----------
    lo, hi : array
        The ends, not nan; infinite ones are allowed.

    Returns
    -------
    low, high : array
        Within 2e-15 of e^lo and e^hi, relatively, unless these are below the normal range.
        ``low`` is finite; ``high`` is inf where e^hi is larger than every float.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgap.enclosures import exp_bounds
    >>> low, high = exp_bounds(np.array([1.0]), np.array([1.0]))
    >>> bool(low[0] < 2.718281828459045 < high[0]), bool(high[0] - low[0] < 1e-14)
    (True, True)
    """
    return exp_down(lo), exp_up(hi)


def exp_tails(t: Array) -> tuple[Array, Array]:
    """At most and at least e^-|t|, the latter not above 1."""
    with np.errstate(all="ignore"):
        m, k = exp_parts(-np.abs(t))
        low = np.ldexp(m * (1.0 - WIDE), k)
        low -= 4.0 * TINY
        m *= 1.0 + WIDE
        high = np.ldexp(m, k)
        high += 4.0 * TINY
        return np.maximum(low, 0.0, out=low), np.minimum(high, 1.0, out=high)


def expit_above(t: Array, tails: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """At least 1/(1 + e^-t), and at most 1/(1 + e^t), from one exponential e^-|t|.

    ``tails`` are those of `exp_tails`, where they are known.
    """
    low, high = exp_tails(t) if tails is None else tails
    with np.errstate(all="ignore"):
        left = t <= 0.0
        e = np.where(left, high, low)
        whole = 1.0 + e
        most = up(np.where(left, e, 1.0) / down(whole))
        least = down(np.where(left, 1.0, e) / up(whole))
        return np.minimum(most, 1.0), np.maximum(least, 0.0)


def artanh_tail(w: Array, terms: int) -> Array:
    """w/3 + w^2/5 + ... + w^terms/(2 terms + 1), so that artanh(s) = s (1 + tail) with w = s^2."""
    tail = w * (1.0 / (2 * terms + 1))
    for j in range(terms - 1, 0, -1):
        tail += 1.0 / (2 * j + 1)
        tail *= w
    return tail


def _log(t: Array) -> Array:
    """log t for floats 0 < t < inf, off by at most 6.5 u of it."""
    m, k = np.frexp(t)
    small = m < HALF_ROOT
    m = np.where(small, 2.0 * m, m)
    k = k - small.astype(np.float64)
    s = m - 1.0  # exactly
    s /= m + 1.0
    tail = artanh_tail(s * s, FEW_TERMS)
    tail += 1.0
    s *= tail
    s *= 2.0
    s += k * LOG2_LOW
    s += k * LOG2_HIGH
    return s


def log_down(t: Array) -> Array:
    """At most log t for t >= 0: -inf at 0, finite above."""
    with np.errstate(all="ignore"):
        value = _log(np.clip(t, TINY, LARGEST))
        value -= NARROW * np.abs(value)
        return np.where(t > 0.0, down(value), -np.inf)


def log_up(t: Array) -> Array:
    """At least log t for t >= 0: inf at inf, and finite at 0, where any float will do."""
    with np.errstate(all="ignore"):
        value = _log(np.clip(t, TINY, LARGEST))
        value += NARROW * np.abs(value)
        return np.where(t < np.inf, up(value), np.inf)


def log_bounds(lo: Array, hi: Array) -> tuple[Array, Array]:
    """At most log lo, and at least log hi: floats that enclose log t for every real t in between.

    Parameters
    ----------
    lo, hi : array
        The ends, >= 0; hi may be inf.

    Returns
    -------
    low, high : array
        Within 2e-15 of log lo and log hi, relatively; ``low`` is -inf where lo = 0, and ``high`` is
        inf where hi = inf.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgap.enclosures import log_bounds
    >>> low, high = log_bounds(np.array([2.0]), np.array([2.0]))
    >>> bool(low[0] < 0.6931471805599453 < high[0]), bool(high[0] - low[0] < 1e-14)
    (True, True)
    """
    return log_down(lo), log_up(hi)


def _log1p(e: Array) -> Array:
    """2 artanh(e/(2 + e)) for 0 <= e <= 1, off by at most 4.4 u of it and 3 * 2^-1074."""
    s = e / (2.0 + e)
    tail = artanh_tail(s * s, MANY_TERMS)
    tail += 1.0
    s *= tail
    s *= 2.0
    return s


def log1p_up(e: Array) -> Array:
    """At least log(1 + e) for e >= 0."""
    with np.errstate(all="ignore"):
        value = up(_log1p(np.minimum(e, 1.0)) * (1.0 + NARROW) + 4.0 * TINY)
        large = e > 1.0
        if large.any():
            value = np.where(large, log_up(up(1.0 + e)), value)
        return np.asarray(value)


def log1p_down(e: Array) -> Array:
    """At most log(1 + e) for e >= 0, and not below 0."""
    with np.errstate(all="ignore"):
        value = down(_log1p(np.minimum(e, 1.0)) * (1.0 - NARROW) - 4.0 * TINY)
        value = np.maximum(value, 0.0)
        large = e > 1.0
        if large.any():
            value = np.where(large, log_down(down(np.minimum(1.0 + e, LARGEST))), value)
        return np.asarray(value)


def log1p_ends(low: Array, high: Array) -> tuple[Array, Array]:
    """At most log(1 + low), and at least log(1 + high), for numbers from 0 to 1, in one go."""
    with np.errstate(all="ignore"):
        value = _log1p(np.concatenate((low, high)))
        least, most = value[: low.size], value[low.size :]
        least = down(least * (1.0 - NARROW) - 4.0 * TINY)
        return np.maximum(least, 0.0), up(most * (1.0 + NARROW) + 4.0 * TINY)


def log1p_bounds(e: Array) -> tuple[Array, Array]:
    """At most and at least log(1 + e) for e >= 0, within 1.5e-15 of it relatively for e <= 1."""
    return log1p_down(e), log1p_up(e)
