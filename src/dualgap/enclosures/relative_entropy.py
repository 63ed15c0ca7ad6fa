"""The one divergence behind all exponential families, enclosed without cancellation.

For m >= 0 and mu > 0

    D(m, mu) = mu - m - m log(mu/m) = mu f((m - mu)/mu),    f(r) = (1 + r) log(1 + r) - r,

is the Fenchel gap of the Poisson loss (mu = e^z, m = y + b) and, summed over the classes, that of
the logistic losses. With x = (mu - m)/m it is m (x - log(1 + x)), and with s = x/(2 + x)

    x - log(1 + x) = 2 s^2 (1/(1 - s) - s/3 - s^3/5 - ...),

in which nothing cancels for |s| <= 1/3. The difference mu - m is asked for by itself: where mu and
m are near 1 and their complements are known better, it must not be taken between the two.

D falls with m and rises with mu - m for mu > m; it rises with m and falls with mu for mu < m.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import TINY, down, up
from dualgap.enclosures.exponential import (
    LARGEST,
    MANY_TERMS,
    WIDE,
    log_down,
    log_up,
)
from dualgap.enclosures.pieces import difference

NEAR = 1e-3
"""Intervals that hold m and reach no further than this (relatively) count as symmetric."""
SMALL_SQUARE = 2.0**-10
"""For s^2 up to this, NEAR_TERMS terms of the series are enough."""
NEAR_TERMS = 5
"""So many terms are summed for small s: what is left out is about |s|^11/13, below 2^-58."""
SMALL = 1e-290
"""Quotients below this may have lost digits: their logarithm is found in another way, too."""


def excess(x: Array) -> Array:
    """x - log(1 + x) for -1/2 <= x <= 1, off by at most 10.5 u of it and 8 * 2^-1074.

    2 u of s count twice in s^2, 0.9 u in the factor after it, whose own roundings are 3.6 u; two
    products. It is claimed to be right to 16 u.
    """
    s = x / (2.0 + x)
    w = s * s
    near = w.max(initial=0.0) <= SMALL_SQUARE
    terms = NEAR_TERMS if near else MANY_TERMS + 1
    tail = w * (1.0 / (2 * terms + 1))  # 1/3 + w/5 + ...
    for j in range(terms - 1, 1, -1):
        tail += 1.0 / (2 * j + 1)
        tail *= w
    tail += 1.0 / 3.0
    tail *= s
    factor = 1.0 / (1.0 - s)
    factor -= tail
    factor *= w
    factor *= 2.0
    return factor


def sum_of_two(a: Array, b: Array) -> tuple[Array, Array]:
    """The ends of a + b: one float where the sum is one, else the next one, too; not below 0."""
    with np.errstate(all="ignore"):
        s, e = difference(a, -b)
        low, high = np.where(e >= 0.0, s, down(s)), np.where(e <= 0.0, s, up(s))
        return np.maximum(low, 0.0), np.maximum(high, 0.0)


def apart(m: tuple[Array, Array], mu: tuple[Array, Array]) -> tuple[Array, Array]:
    """The ends of mu - m."""
    with np.errstate(all="ignore"):
        return down(mu[0] - m[1]), up(np.maximum(mu[1] - m[0], -LARGEST))


def divergence_above(
    m: tuple[Array, Array],
    mu: tuple[Array, Array],
    between: tuple[Array, Array],
    log_mu: Array | None = None,
) -> Array:
    """At least D(m, mu) for all real m and mu in their intervals whose difference is in its own.

    Parameters
    ----------
    m, mu : pair of arrays
        Lower and upper ends, >= 0.
    between : pair of arrays
        Lower and upper ends of mu - m.
    log_mu : array, optional
        At most log mu, for where mu is below the normal range of floats.

    Returns
    -------
    array
        inf where no float is known to be large enough; never nan.
    """
    m_lo, m_hi = m
    d_lo, d_hi = between
    with np.errstate(all="ignore"):
        below, above = ~(d_lo >= 0.0), ~(d_hi <= 0.0)  # both for a nan, which ends as inf
        size = np.maximum(np.where(below, -d_lo, 0.0), np.where(above, d_hi, 0.0))
        x = np.where(size == 0.0, 0.0, up(size / m_lo))
        both = below & above
        empty = m_hi == 0.0  # D(0, mu) = mu
        near = x <= np.where(both, NEAR, np.where(above, 1.0, 0.5))  # False where m_lo = 0
        near |= empty
        x = np.where(empty, 0.0, x)
        x = np.where(near, x, 0.0)
        # For mu < m, and where the sign is not known: x - log(1 + x) is larger at -x.
        x = np.where(below, -x, x)
        value = excess(x)
        value *= 1.0 + WIDE
        value += 8.0 * TINY
        value *= m_lo
        value = up(value)
        value = np.where(x == 0.0, 0.0, value)
        value = np.where(empty, mu[1], value)
        far = np.flatnonzero(~near)
        if far.size:
            value.reshape(-1)[far] = _far_above(m, mu, between, log_mu, far)
        return np.where(value >= 0.0, value, np.inf)


def _far_above(
    m: tuple[Array, Array],
    mu: tuple[Array, Array],
    between: tuple[Array, Array],
    log_mu: Array | None,
    at: Any,
) -> Array:
    """The same for some entries, both ends by themselves, by the logarithm where x is large."""
    m_lo, m_hi = (v.reshape(-1)[at] for v in m)
    mu_lo, mu_hi = (v.reshape(-1)[at] for v in mu)
    d_lo, d_hi = (v.reshape(-1)[at] for v in between)
    # mu > m: D(m_lo, mu_hi), or m_lo G(d_hi/m_lo).
    x = up(d_hi / m_lo)
    plain = (x >= 0.0) & (x <= 1.0)
    series = up(m_lo * (excess(np.where(plain, x, 0.0)) * (1.0 + WIDE) + 8.0 * TINY))
    t = log_down(np.where(m_lo > 0.0, down(np.minimum(mu_hi / m_lo, LARGEST)), 1.0))
    whole = up(mu_hi - down(m_lo * down(1.0 + t)))
    whole = np.where(m_lo > 0.0, whole, mu_hi)
    upper = np.where(~(d_hi <= 0.0), np.where(plain, series, whole), 0.0)
    # mu < m: D(m_hi, mu_lo), or m_lo G(d_lo/m_lo).
    x = down(d_lo / m_lo)
    plain = (x <= 0.0) & (x >= -0.5)
    series = up(m_lo * (excess(np.where(plain, x, 0.0)) * (1.0 + WIDE) + 8.0 * TINY))
    q = down(mu_lo / m_hi)
    t = log_down(np.maximum(q, 0.0))
    most = mu_lo
    lost = (q < SMALL) | (mu_lo < SMALL)
    if log_mu is not None and lost.any():
        # This t is not the logarithm of mu_lo, so that mu - m (1 + t) needs the largest mu.
        t = np.where(lost, np.maximum(t, down(log_mu.reshape(-1)[at] - log_up(m_hi))), t)
        most = np.where(lost, mu_hi, mu_lo)
    whole = up(most - down(m_hi * down(1.0 + t)))
    lower = np.where(~(d_lo >= 0.0) & (m_hi > 0.0), np.where(plain, series, whole), 0.0)
    return np.maximum(upper, lower)


def divergence_below(m: Array, mu: tuple[Array, Array], log_mu: Array | None = None) -> Array:
    """At most D(m, mu) for a float m >= 0 and all real mu in an interval; >= 0.

    ``log_mu`` is at least log mu, for where mu is below the normal range.
    """
    with np.errstate(all="ignore"):
        mu_lo, mu_hi = mu
        above = mu_lo > m
        end = np.where(above, mu_lo, mu_hi)  # the mu that is nearest to m
        d = end - m
        d = np.where(above, np.maximum(down(d), 0.0), np.minimum(up(np.maximum(d, -m)), 0.0))
        x = d / m
        x = np.where(above, down(x), up(x))  # towards 0
        near = (x <= 1.0) & (x >= -0.5)
        x = np.where(near, x, 0.0)
        value = m * np.maximum(down(excess(x) * (1.0 - WIDE) - 8.0 * TINY), 0.0)
        if not near.all():
            q = up(end / np.where(m > 0.0, m, 1.0))
            t = np.where(q < np.inf, log_up(q), up(log_up(end) - log_down(m)))
            least = end
            if log_mu is not None:
                lost = ~above & (q < 1e-10) & ((q < SMALL) | (end < SMALL))
                t = np.where(lost, np.minimum(t, up(log_mu - log_down(m))), t)
                least = np.where(lost, 0.0, end)  # as this t is not the logarithm of it
            whole = least - up(m * up(1.0 + t))
            value = np.where(near, value, np.where(m > 0.0, whole, end))
        value = down(np.minimum(value, LARGEST))
        return np.where((value > 0.0) & (above | (mu_hi < m)), value, 0.0)
