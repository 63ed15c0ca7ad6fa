"""The judge of bounds on regularisers: l1|x| + (l2/2) x^2 on a box, in exact rationals.

By the definition, g*(s) = s x_s - g(x_s) at the maximiser x_s, and not by the formulas judged.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

ETA = Fraction(2) ** -1074
U = Fraction(2) ** -53


def value(x, l1, l2):
    return l1 * abs(x) + l2 * x * x / 2


def dual_ends(l1, l2, lower, upper):
    """The dual interval; None for no end."""
    low = None if l2 > 0 or lower > -inf else -l1
    high = None if l2 > 0 or upper < inf else l1
    return low, high


def into(s, low, high):
    s = s if low is None else max(s, low)
    return s if high is None else min(s, high)


def maximiser(s, l1, l2, lower, upper):
    """Of s x - g(x) over the box: where its slope s - l1 sgn(x) - l2 x changes sign."""
    soft = max(s - l1, Fraction(0)) + min(s + l1, Fraction(0))
    if l2 > 0:
        x = soft / l2
    elif soft == 0:
        x = Fraction(0)
    else:  # a slope that never changes sign leads to an end, which is finite in the dual interval
        return Fraction(upper if soft > 0 else lower)
    x = x if lower == -inf else max(x, Fraction(lower))
    return x if upper == inf else min(x, Fraction(upper))


def gap(x, s, l1, l2, lower=-inf, upper=inf):
    best = maximiser(s, l1, l2, lower, upper)
    return value(x, l1, l2) + s * (best - x) - value(best, l1, l2)


def largest_gap(x, s_lo, s_hi, l1, l2, lower=-inf, upper=inf, blur=0.0, wider=Fraction(0)):
    """The largest gap over what of the interval is in the dual interval; None if nothing is.

    It is convex in (s, l1, l2) jointly, hence attained at corners. ``wider`` moves the ends of s.
    """
    x, s_lo, s_hi = Fraction(x), Fraction(s_lo) - wider, Fraction(s_hi) + wider
    shares = (1 - Fraction(blur), 1 + Fraction(blur)) if blur else (Fraction(1),)
    found = None
    for p in {Fraction(l1) * share for share in shares}:
        for q in {Fraction(l2) * share for share in shares}:
            low, high = dual_ends(p, q, lower, upper)
            if (low is not None and s_hi < low) or (high is not None and s_lo > high):
                continue
            for s in {into(s_lo, low, high), into(s_hi, low, high)}:
                here = gap(x, s, p, q, lower, upper)
                found = here if found is None else max(found, here)
    return found


# ---- draws ----


def sizes(rng, count, decades):
    """Positive floats of many magnitudes, some of them round."""
    v = rng.uniform(0.5, 2.0, count) * 10.0 ** rng.uniform(-decades, decades, count)
    return np.where(rng.random(count) < 0.2, 2.0 ** np.round(np.log2(v)), v)


def strengths(rng, count, decades):
    """With zeros."""
    v = sizes(rng, count, decades)
    return np.where(rng.random(count) < 0.3, 0.0, v)


def signs(rng, count):
    return np.where(rng.random(count) < 0.5, -1.0, 1.0)


@np.errstate(over="ignore")
def points(rng, l1, l2, decades):
    """x with zeros, and s: anywhere, within l1, exactly +-l1, at the slope of x and near it."""
    count = l1.size
    x = signs(rng, count) * sizes(rng, count, decades)
    x = np.where(rng.random(count) < 0.2, 0.0, x)
    sign = np.where(x == 0.0, signs(rng, count), np.sign(x))
    slope = sign * l1 + l2 * x
    near = slope * (1.0 + 10.0 ** rng.uniform(-17.0, -1.0, count) * signs(rng, count))
    choices = np.stack(
        [
            signs(rng, count) * sizes(rng, count, decades),
            l1 * rng.uniform(-1.0, 1.0, count),
            signs(rng, count) * l1,
            slope,
            near,
        ]
    )
    s = np.choose(rng.integers(0, len(choices), count), choices)
    return x, np.where(np.isfinite(s), s, 0.0)


@np.errstate(over="ignore")
def intervals(rng, s):
    """Around s: no width at all, the last bit, some share."""
    kind = rng.integers(0, 3, s.size)
    width = np.abs(s) * 10.0 ** rng.uniform(-15.0, 0.5, s.size)
    ends = [
        np.choose(kind, [s, np.nextafter(s, side * inf), s + side * width]) for side in (-1.0, 1.0)
    ]
    return [np.where(np.isfinite(end), end, s) for end in ends]


def boxes(rng, x, decades):
    """Ends around x: x itself, 0, infinite, others; not all of them hold 0."""
    out = []
    for side in (-1.0, 1.0):
        reach = sizes(rng, x.size, decades)
        other = np.where(side * (x + side * reach) >= side * x, x + side * reach, x)
        zero = np.where(side * x <= 0.0, 0.0, x)
        kind = rng.integers(0, 4, x.size)
        out.append(np.choose(kind, [x, zero, np.full(x.size, side * inf), other]))
    return out
