"""Bounds of l1 |x| + (l2/2) x^2 between two ends that hold for real numbers, rounding included.

With the signs of x and s turned so that x = a >= 0 and s becomes t, and the ends lo <= a <= hi with
them, let k be t clipped to [-l1, l1] (k = l1 where lo > 0) and f = t - k. Then

    g(x) + g*(s) - s x = a (l1 - k) + (l2 a - clip(f, l2 lo, l2 hi))^2/(2 l2)
                         + max(f - l2 hi, 0) (hi - a) + max(l2 lo - f, 0) (a - lo),          (*)

four terms >= 0, of which the second is absent where l2 = 0 and the last two where their end is
infinite. Proof: s = s1 + m with s1 = clip(s, least slope at lo, greatest slope at hi), the slopes
those of l1|.| + (l2/2)(.)^2; x_s maximises both s1 x - l1|x| - (l2/2) x^2 and m x over the box, so
that the conjugates add up, and so do the two Fenchel gaps: a (l1 - k) + (l2 a - S(s1, l1))^2/(2 l2)
of the elastic net at s1, and m (hi - a) or -m (a - lo) of the box at m. At the ends S(s1, l1) is
l2 hi and l2 lo. Where s is outside of the dual interval, (*) is the value at the nearer end of it,
so that (*) is convex in s everywhere and its largest value on an interval that at one of the ends.

Rounding. Products and sums of terms >= 0 are off by shares u of themselves, and by 2^-1074 where
they underflow; one margin at the end pays for all of them. The two differences of (*) which may
cancel, l2 a - clip(...) and f - l2 hi, are off by shares of what is subtracted: these are added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import TINY, UNIT, down, sum_down, sum_up, up
from dualgap.enclosures.strengths import at_least, at_most

MARGIN = 1.0 + 2.0**-48
"""32 u. The longest chain: R = |l2 a - f| up to 8 u, twice in R (R/l2)/2, whose two operations,
the three sums and this product take 6 u more."""
LEAST = 16.0 * TINY
"""Each product that underflows is off by TINY/2; R/l2 can do so only for R < 4, and then R times
what it is off by is at most 2 TINY."""
SMALL = 2.0**-900
"""Products of this size and their shares u do not underflow. Where none is smaller, but for a
factor 0, nothing is added for underflow in between: arithmetic below the normal range takes many
times as long, and most coefficients are 0."""
CHUNK = 2048
"""Coordinates at a time."""
LARGEST = float(np.finfo(np.float64).max)


class Strengths(NamedTuple):
    """l1 and l2 of some coordinates: all real numbers within a share ``blur`` of these floats."""

    l1: Array
    """One for each coordinate, or without axes where one serves all; >= 0, like l2."""
    l2: Array
    has_l1: bool = True
    """Whether some l1 is positive."""
    has_l2: bool = True
    """Whether some l2 is positive."""
    blur: float = 0.0

    def at(self, rows: slice) -> Strengths:
        """Those of some coordinates."""
        return self._replace(l1=_some(self.l1, rows), l2=_some(self.l2, rows))


Ends = tuple[Array, Array]
"""The least and the largest value of each coordinate, or of all."""


def gap_above(
    x: Array, s_lo: Array, s_hi: Array, strengths: Strengths, ends: Ends | None = None
) -> Array:
    """At least the largest (*) for s in [s_lo, s_hi], coordinate by coordinate.

    Parameters
    ----------
    x, s_lo, s_hi : array of shape (d,)
    strengths : Strengths
    ends : pair of arrays, optional
        The box, where there is one.

    Returns
    -------
    array of shape (d,)
        inf outside of the box, 0 on free coordinates, nan nowhere.
    """
    x = np.asarray(x)
    out = np.empty(x.shape)
    with np.errstate(all="ignore"):
        for start in range(0, x.shape[0], CHUNK):
            rows = slice(start, start + CHUNK)
            box = None if ends is None else (_some(ends[0], rows), _some(ends[1], rows))
            out[rows] = _gap(x[rows], s_lo[rows], s_hi[rows], strengths.at(rows), box)
    return out


def _some(values: Array, rows: slice) -> Array:
    """The values of some coordinates, of values that there may be one of for all."""
    return values[rows] if np.ndim(values) else values


def _gap(x: Array, s_lo: Array, s_hi: Array, strengths: Strengths, ends: Ends | None) -> Array:
    """`gap_above` of so many coordinates that what is in between stays in the cache."""
    sign = np.copysign(1.0, x)
    a = np.abs(x)
    t = np.empty((2, *x.shape))
    np.multiply(sign, s_lo, out=t[0])  # the two ends, in either order
    np.multiply(sign, s_hi, out=t[1])
    free = (strengths.l1 == 0.0) & (strengths.l2 == 0.0)
    if ends is None:
        gap = _elastic_net(a, t, strengths)
    else:
        lower, upper = ends
        turned = sign < 0.0
        lo, hi = np.where(turned, -upper, lower), np.where(turned, -lower, upper)
        gap = _box(a, t, strengths, lo, hi)
        gap[:, (x < lower) | (x > upper)] = np.inf
        free &= (lower == -np.inf) & (upper == np.inf)
    out = np.maximum(gap[0], gap[1])
    out *= MARGIN
    out += LEAST
    if np.any(free):
        out[np.broadcast_to(free, out.shape)] = 0.0
    out[out != out] = np.inf
    return np.asarray(out)


def _elastic_net(a: Array, t: Array, strengths: Strengths) -> Array:
    """The first two terms of (*), which are all where there are no ends."""
    l1, l2, has_l1, has_l2, blur = strengths
    gap: Array | None = None
    f, slack = t, 0.0
    if has_l1:
        most = at_most(l1, blur)
        kept = np.minimum(np.maximum(t, -most), most)
        gap = most - kept
        gap *= a
        if has_l2:
            f, slack = _beyond(t, l1, kept, blur)
    if has_l2:
        curved = _curved(a, f, slack, l2, blur)
        gap = curved if gap is None else np.add(gap, curved, out=gap)
    return np.zeros(t.shape) if gap is None else gap


def _beyond(t: Array, l1: Array, kept: Array, blur: float) -> tuple[Array, Any]:
    """f = t - clip(t, -l1, l1), and how much a blur of l1 may change it: not at all inside."""
    if not blur:
        return t - kept, 0.0
    f = t - np.minimum(np.maximum(t, -l1), l1)
    return f, np.where(np.abs(t) > at_least(l1, blur), _more(blur) * l1 + TINY, 0.0)


def _more(blur: float) -> float:
    """The blur, and room for its own rounding."""
    return blur * (1.0 + 2.0**-40)


def _curved(a: Array, f: Array, slack: Any, l2: Array, blur: float) -> Array:
    """(l2 a - f)^2/(2 l2) where l2 > 0, else 0; up to shares 19 u.

    With m = fl(l2 a): |l2 a - m| <= (u + blur) m (+ TINY), f is off by u |f| + slack, and the
    difference by u of itself: R below is at least |l2 a - f| up to 8 u of it. Where a = 0, so
    that m = 0 is exact, R is |f| + slack whether or not its small additions underflow.
    """
    m = l2 * a
    off = np.abs(m - f)
    off += (2.0 * UNIT + _more(blur)) * (m + np.abs(f))
    off += slack
    if ((m < SMALL) & (a > 0.0) & (l2 > 0.0)).any():
        off += 4.0 * TINY
    curved = off / at_least(l2, blur)
    curved *= off
    curved *= 0.5
    return np.asarray(np.where(l2 > 0.0, curved, 0.0))


def _box(a: Array, t: Array, strengths: Strengths, lo: Array, hi: Array) -> Array:
    """All terms of (*); clip(f, ...) is off by a share of itself as f, l2 lo and l2 hi are.

    For if rounding moves f across l2 hi, both are within their shares of each other.
    """
    l1, l2, _, has_l2, blur = strengths
    most = at_most(l1, blur)
    kept = np.minimum(np.maximum(t, -most), most)
    f, slack = _beyond(t, l1, kept, blur)
    away = lo > 0.0  # 0 is not in the box, |x| = x on it: the kink plays no part
    if away.any():
        f = np.where(away, t - l1, f)
        slack = np.where(away, _more(blur) * l1 + TINY, slack)
        kept = np.where(away, most, kept)
    gap = most - kept
    gap *= a
    share = 4.0 * UNIT  # half of it for f, l2 hi and their difference
    ends, least = [], 0.0
    for end, side in ((hi, 1.0), (lo, -1.0)):
        some = np.isfinite(end)
        at = np.where(some, l2 * end, side * np.inf)
        ends.append(at)
        if not some.any():
            continue
        past = side * (f - at)
        if blur:  # which changes no sign of f where the kink plays a part
            past += np.where(away | (side * t > 0.0), slack, 0.0)
        if has_l2:  # without l2 it is f alone, with no cancellation
            off = share * np.abs(f) + (share + _more(blur)) * np.abs(at)
            if ((np.abs(at) < SMALL) & (end != 0.0) & (l2 > 0.0)).any():
                least = 2.0 * TINY
                off += least
            past += np.where(l2 > 0.0, off, 0.0)
        np.maximum(past, 0.0, out=past)
        past *= side * (end - a)
        past[:, ~some] = 0.0
        gap += past
    if has_l2:
        f = np.minimum(np.maximum(f, ends[1]), ends[0])
        gap += _curved(a, f, slack + least, l2, blur)
    return np.asarray(gap)


def value_above(x: Array, l1: Array, l2: Array, blur: float = 0.0) -> float:
    """At least sum_j l1_j |x_j| + (l2_j/2) x_j^2; the products are off by 4 u and 2 TINY."""
    with np.errstate(all="ignore"):
        a = np.abs(x)
        curved = np.where(l2 > 0.0, 0.5 * (up(at_most(l2, blur) * a) * a), 0.0)
        terms = (curved + at_most(l1, blur) * a) * MARGIN + LEAST
        value = sum_up(np.where(a > 0.0, terms, 0.0))
    return value if value == value else float(np.inf)


def value_below(x: Array, l1: Array, l2: Array, blur: float = 0.0) -> float:
    """At most sum_j l1_j |x_j| + (l2_j/2) x_j^2, and not below 0."""
    with np.errstate(all="ignore"):
        a = np.minimum(np.abs(x), LARGEST)
        slope = np.maximum(down(np.minimum(at_least(l2, blur) * a, LARGEST)), 0.0)
        terms = 0.5 * np.minimum(slope * a, LARGEST)  # what overflows is at least LARGEST
        terms = np.minimum(terms + at_least(l1, blur) * a, LARGEST)
        return sum_down(np.maximum(terms * (2.0 - MARGIN) - LEAST, 0.0))
