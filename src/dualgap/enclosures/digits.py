"""What a gap proves of the coefficients: how far they are from a solution, and which are 0.

P(x) = (1/W) sum_i w_i phi_i(z_i) + sum_j g_j(x_j), x* a solution, and ``gap`` a proved bound of
P(x) - D(y) at a dual point y, hence of P(x) - P* and of D* - D(y). All numbers that are called
bounds below are floats which bound real numbers; the results do, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array, Mask
from dualgap.enclosures.directed import up


def _root_above(ratio: Any) -> Any:
    """At least the square root of what a division was rounded to ``ratio``; never 0.

    The quotient, up by a step, is at least the real one, also where that underflows; the root is
    rounded correctly by IEEE 754, and goes up by one step more.
    """
    return up(np.sqrt(up(ratio)))


def coefficient_error(gap: float, strength_below: Array, x: Array, proved_zero: Mask) -> Array:
    """At least |x_j - x*_j|, for every solution x* and coordinate by coordinate.

    Parameters
    ----------
    gap : float
        At least P(x) - P*, >= 0.
    strength_below : array of shape (d,) or ()
        At most l2_j: g_j(x) - (l2_j/2) x^2 is convex. 0 where nothing is known.
    x : array of shape (d,)
    proved_zero : bool array of shape (d,)
        Where x*_j = 0 is proved, as by `proved_zeros`.

    Returns
    -------
    array of shape (d,)
        inf where nothing is proved.

    Notes
    -----
    Let l2_j > 0. P less (l2_j/2) x_j^2 is convex, so that along the segment from x* to x

        P(x) >= P(x*) + (l2_j/2)(x_j - x*_j)^2,   hence   |x_j - x*_j| <= sqrt(2 gap/l2_j).

    2 gap is exact, or infinite. The result is positive even where the gap is 0, and holds for the
    float x nearest to x* as for any other. Where x*_j = 0, |x_j - x*_j| is |x_j| itself.
    """
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        l2 = np.asarray(strength_below, dtype=np.float64)
        ratio = np.divide(2.0 * gap, l2, out=np.full(l2.shape, np.inf), where=l2 > 0.0)
        error = np.asarray(_root_above(ratio))
    error = np.where(np.isnan(error), np.inf, error)
    return np.where(proved_zero, np.abs(x), error)


def proved_zeros(
    s_lo: Array,
    s_hi: Array,
    gap: float,
    gamma: float | None,
    column_norm_above: Array,
    low: Any,
    high: Any,
) -> Mask:
    """The coordinates with x*_j = 0 in every solution x*.

    Parameters
    ----------
    s_lo, s_hi : array of shape (d,)
        Ends between which s_j = -sum_i q_i a_ij y_i is, with q_i = w_i/W.
    gap : float
        At least P(x) - D(y) for this very y and any x, >= 0.
    gamma : float or None
        At most the strong convexity of every phi_i*: phi_i' has the Lipschitz constant 1/gamma.
        None or 0: there is none, and nothing is proved.
    column_norm_above : array of shape (d,)
        At least |a_j|_Q = sqrt(sum_i q_i a_ij^2).
    low, high : float or array of shape (d,)
        `Regularizer.zero_interval`: all s between them are slopes of g_j at 0. Not the dual
        interval, which is wider where g_j is strongly convex or bounded.

    Returns
    -------
    bool array of shape (d,)

    Notes
    -----
    D is strongly concave: (gamma/2) |y - y*|_Q^2 <= D(y*) - D(y) <= gap. By Cauchy and Schwarz

        |s_j - s*_j| <= |a_j|_Q |y - y*|_Q <= |a_j|_Q sqrt(2 gap/gamma).

    Every solution has s*_j x*_j = g_j(x*_j) + g_j*(s*_j) >= g_j(x*_j) - g_j(0). If s*_j is strictly
    between low and high, some s with (s - s*_j) x*_j > 0 is a slope at 0, too, unless x*_j = 0:
    then s x*_j > s*_j x*_j >= g_j(x*_j) - g_j(0) >= s x*_j, a contradiction. So x*_j = 0. Where the
    box of g_j ends at 0 there is no slope that is too low (or too high), and that side is infinite;
    where 0 is not in the box there is no slope at 0 at all, and low > high.
    """
    s_lo, s_hi = np.asarray(s_lo), np.asarray(s_hi)
    if gamma is None or not gamma > 0.0 or not gap < np.inf:
        return np.zeros(s_lo.shape, dtype=bool)
    with np.errstate(all="ignore"):
        root = _root_above(float(np.float64(2.0 * gap) / gamma))
        reach = up(np.asarray(column_norm_above * root))
        # Rounding keeps an order: the float is above low only if the real difference is.
        inside = (s_lo - reach > low) & (s_hi + reach < high)
    return np.asarray(inside)
