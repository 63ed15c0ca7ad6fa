"""Losses that are quadratic between two slopes and linear beyond: squared, Huber, the hinges.

phi(r) = max over low <= y <= high of y r - (h/2) y^2, with a width h > 0 and ends low <= 0 <= high
that may be infinite. Its Fenchel gap is

    (r - h y)^2/(2h)                  where h low <= r <= h high, and nowhere more than that;
    (high - y)(r - h (high + y)/2)    beyond h high, and never more than the gap;
    (y - low)(h (low + y)/2 - r)      below h low, likewise.

r is given as a sum of two floats, which a difference of two floats always is.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import down, up

Pair = tuple[Array, Array]
"""Two floats whose sum is the number that is meant."""


def difference(a: Array, b: Array) -> Pair:
    """a - b as a float and what its rounding left (Knuth's TwoSum); nan where that is no float."""
    with np.errstate(all="ignore"):
        s = a - b
        back = s - a
        return s, (a - (s - back)) - (b + back)


def _less_up(r: Pair, v: Array | float) -> Array:
    """At least r - v."""
    s, e = difference(r[0], np.asarray(v))
    return np.asarray(up(s + up(e + r[1])))


def _less_down(r: Pair, v: Array | float) -> Array:
    """At most r - v."""
    s, e = difference(r[0], np.asarray(v))
    return np.asarray(down(s + down(e + r[1])))


def _gap(r: Pair, y: Array, low: float, high: float, width: float) -> Array:
    """At least the gap at one r."""
    if width == 1.0:
        off = np.maximum(_less_up(r, y), -_less_down(r, y))
    else:
        most, least = up(width * y), down(width * y)
        off = np.maximum(_less_up(r, least), -_less_down(r, most))
    value = up(0.5 * up(off * off))
    if width != 1.0:
        value = up(value / width)
    if high < np.inf:
        beyond = r[0] > up(width * high)
        if beyond.any():
            middle = down(down(0.5 * width * down(high + y)))
            rest = up(np.maximum(up(high - y), 0.0) * np.maximum(_less_up(r, middle), 0.0))
            value = np.where(beyond, np.where(y >= high, 0.0, rest), value)
    if low > -np.inf:
        beyond = r[0] < down(width * low)
        if beyond.any():
            middle = up(up(0.5 * width * up(low + y)))
            rest = up(np.maximum(up(y - low), 0.0) * np.maximum(-_less_down(r, middle), 0.0))
            value = np.where(beyond, np.where(y <= low, 0.0, rest), value)
    # What is fitted exactly has no gap at all.
    exact = (r[1] == 0.0) & (r[0] == (y if width == 1.0 else 0.0)) & ((width == 1.0) | (y == 0.0))
    return np.where(exact, 0.0, value)


def gap_above(
    r_lo: Pair, r_hi: Pair, y: Array, low: float, high: float, width: float = 1.0
) -> Array:
    """At least the Fenchel gap for every r between two sums; inf where floats end, never nan."""
    with np.errstate(all="ignore"):
        value = np.maximum(_gap(r_lo, y, low, high, width), _gap(r_hi, y, low, high, width))
        return np.where(value >= 0.0, value, np.inf)


def value_below(r_lo: Pair, r_hi: Pair, low: float, high: float, width: float = 1.0) -> Array:
    """At most phi(r) for every r between two sums; >= 0."""
    with np.errstate(all="ignore"):
        right = r_lo[0] > 0.0
        # The end that is nearest to 0; the sign of a sum is that of its first float.
        r = np.where(right, np.maximum(down(r_lo[0] + r_lo[1]), 0.0), 0.0)
        left = r_hi[0] < 0.0
        r = np.where(left, np.minimum(up(r_hi[0] + r_hi[1]), 0.0), r)
        r = np.where(np.isfinite(r), r, 0.0)
        value = down(down(0.5 * down(r * r)) / width)
        for end, side in ((high, r > 0.0), (low, r < 0.0)):
            if np.isfinite(end):
                # The tangent at the end of the quadratic part is below phi on either side of it.
                line = down(abs(end) * down(np.abs(r) - up(0.5 * width * abs(end))))
                value = np.where(side & (np.abs(r) >= down(width * abs(end))), line, value)
        return np.where(value > 0.0, value, 0.0)
