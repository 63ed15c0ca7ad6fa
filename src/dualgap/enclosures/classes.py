"""Softmax and the multinomial loss over boxes of scores, every rounding counted.

With e_k = exp(z_k - c), any c, s_k = e_k/(e_k + sum of the others) is largest where z_k is and the
others are least. One class of a row, the one with the highest score, may have s_k near 1; of it
1 - s_k, a sum of others, is enclosed by itself, so that s_k - p_k keeps its digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import down, gam, up
from dualgap.enclosures.exponential import LARGEST, exp_down, exp_up, log1p_down, log1p_up
from dualgap.enclosures.relative_entropy import divergence_above

Ends = tuple[Array, Array]
ROWS_AT_ONCE = 16384
"""Scores that are worked on together: their arrays stay in the cache."""


def _sum(terms: Array, above: bool) -> Array:
    """At least, or at most, the sum of each row of numbers >= 0."""
    share = gam(terms.shape[1] + 4.0)
    total = np.einsum("ik->i", terms)
    if above:
        return np.asarray(up(up(total) * (1.0 + share)))
    return np.asarray(np.maximum(down(down(np.minimum(total, LARGEST)) * (1.0 - share)), 0.0))


def _without(terms: Array, at: Any) -> Array:
    """A copy in which one entry of every row is 0."""
    out = terms.copy()
    out[at] = 0.0
    return out


def _minus(a: Ends, b: Ends) -> Ends:
    """The ends of a - b, for finite ends."""
    return down(a[0] - b[1]), up(a[1] - b[0])


def gap_above(z_lo: Array, z_hi: Array, y: Array, own: Any, slack: Array | None) -> Array:
    """At least sum_k D(p_k, s_k), the Fenchel gap, with D of `relative_entropy`; see the loss."""
    n, K = z_lo.shape
    step = max(1, ROWS_AT_ONCE // K)
    out = np.empty(n)
    with np.errstate(all="ignore"):
        for i in range(0, n, step):
            part = slice(i, i + step)
            off = None if slack is None else slack[part]
            out[part] = _block(z_lo[part], z_hi[part], y[part], own[1][part], off)
    return out


def _block(z_lo: Array, z_hi: Array, y: Array, b: Array, slack: Array | None) -> Array:
    rows = np.arange(b.size)
    own = rows, b
    finite = np.maximum(np.abs(z_lo), np.abs(z_hi)).max(axis=1) < 1e300
    if not finite.all():
        z_lo, z_hi = (np.where(finite[:, None], z, 0.0) for z in (z_lo, z_hi))
    highest = z_hi.argmax(axis=1)
    top = rows, highest
    c = z_hi[top][:, None]
    below = down(z_lo - c)
    e_lo, e_hi = exp_down(below), exp_up(np.where(z_hi == c, 0.0, up(z_hi - c)))
    e_hi[top] = 1.0  # e^0
    rest = _sum(_without(e_lo, top), False), _sum(_without(e_hi, top), True)
    # The denominator of the largest s_k: the others at their least, and e_k at its own largest.
    # total_lo is at most the sum of all e_lo, and e_hi - e_lo is not negative.
    total_lo, total_hi = down(rest[0] + e_lo[top]), up(rest[1] + 1.0)
    spread = np.maximum(down(e_hi - e_lo), 0.0)
    s_hi = up(e_hi / down(down(total_lo)[:, None] + spread))
    s_lo = down(e_lo / up(total_hi[:, None] - spread))
    s_hi, s_lo = np.minimum(s_hi, 1.0), np.maximum(s_lo, 0.0)
    # 1 - s of the highest class.
    rest_s = down(rest[0] / up(rest[0] + 1.0)), up(rest[1] / down(rest[1] + e_lo[top]))
    m, d = _probabilities(y, own, top, (s_lo, s_hi), rest_s)
    if slack is not None:
        m = np.maximum(down(m[0] - slack), 0.0), up(m[1] + slack)
        d = down(d[0] - slack), up(d[1] + slack)
    value = _sum(divergence_above(m, (s_lo, s_hi), d), True)
    # Where scores are far apart, without the conjugate, which is <= 0: a sum of terms >= 0, too.
    far = below.min(axis=1) < -600.0
    if far.any():
        line = np.where(m[1] > 0.0, up(m[1] * -below), 0.0)
        plain = up(_sum(line, True) + log1p_up(rest[1]))
        value = np.where(far, np.minimum(value, plain), value)
    return np.where(finite & (value >= 0.0), value, np.inf)


def _probabilities(y: Array, own: Any, top: Any, s: Ends, rest_s: Ends) -> tuple[Ends, Ends]:
    """The ends of p, and those of s - p.

    1 - p of the highest class is a float where p >= 1/2, and what the own class has is 1 less the
    others, the highest one first: so nothing is lost where one class has nearly everything.
    """
    p = _without(y, own)
    mine = own[1] == top[1]
    most = p[top]  # 0 where the highest class is the own one
    others = _without(p, top)
    sums = _sum(others, False), _sum(others, True)
    zero = np.einsum("ik->i", others) == 0.0
    sums = np.where(zero, 0.0, sums[0]), np.where(zero, 0.0, sums[1])
    left = 1.0 - most
    exact = (most >= 0.5) | (most == 0.0)
    left_lo, left_hi = np.where(exact, left, down(left)), np.where(exact, left, up(left))
    p_own = (
        np.where(zero, left_lo, down(left_lo - sums[1])),
        np.where(zero, left_hi, up(left_hi - sums[0])),
    )
    m_lo, m_hi = p.copy(), p.copy()
    m_lo[own], m_hi[own] = np.clip(p_own[0], 0.0, 1.0), np.clip(p_own[1], 0.0, 1.0)
    d_lo, d_hi = _minus(s, (m_lo, m_hi))
    # The highest class: (1 - p) - (1 - s), if it is the own one or p >= 1/2.
    better = mine | (most >= 0.5)
    gone = np.where(mine, sums[0], left), np.where(mine, sums[1], left)
    by_rest = _minus(gone, rest_s)
    d_lo[top] = np.where(better, by_rest[0], d_lo[top])
    d_hi[top] = np.where(better, by_rest[1], d_hi[top])
    return (m_lo, m_hi), (d_lo, d_hi)


def value_below(z_lo: Array, z_hi: Array, own: Any) -> Array:
    """At most c + log(sum_k exp(t_k - c)), t_k = z_k - z_b, c their largest (t_b = 0): >= 0."""
    with np.errstate(all="ignore"):
        t = np.maximum(z_lo, -LARGEST) - z_hi[own][:, None]
        t = np.where(t > -np.inf, down(np.clip(t, -LARGEST, LARGEST)), -np.inf)
        t[own] = 0.0
        top = own[0], t.argmax(axis=1)
        c = np.minimum(t[top], LARGEST)
        e = exp_down(np.where(t > -np.inf, down(t - c[:, None]), -np.inf))
        value = c + log1p_down(_sum(_without(e, top), False))
        value = down(np.minimum(value, LARGEST))
        return np.where(value > 0.0, value, 0.0)
