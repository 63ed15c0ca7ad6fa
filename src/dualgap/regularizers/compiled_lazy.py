"""The closed form of k prox steps x <- prox_{tau g}(x - tau u), g = l1|x| + (l2/2)x^2, u constant.

Sparse randomised methods need it for coordinates that no row touched for k steps. With
q = m log1p(tau l2), C_m = exp(-q) and H_m = (1 - exp(-q))/l2 (m tau as l2 -> 0), on one side of 0

    x_m = C_m x - H_m v,   v = u + side l1

which is monotone on the way to 0: if it has not crossed 0 after m steps it never did. Where it
does, a plain step crosses, and there x either stays at 0 or goes on for ever on the other side.
"""

from __future__ import annotations

import math

from dualgap.compiled.jit import inlined, scalar

NO_SHRINKAGE = 1e-16
"""A rate m log1p(tau l2) that is less than this leaves (1 + tau l2)^-m at 1, to rounding, and a
division by l2 would lose all digits."""


@inlined
def prox_step(x: float, u: float, tau: float, l1: float, shrink: float) -> float:
    """prox_{tau g}(x - tau u), shrink = 1/(1 + tau l2)."""
    v = x - tau * u
    t = tau * l1
    v -= min(max(v, -t), t)
    return v * shrink


@inlined
def one_side(x: float, u: float, l1: float) -> tuple[float, float]:
    """The side of zero on which the next steps begin, and v; side 0 if no step will leave it."""
    if l1 == 0.0:
        return 0.0, u
    if x == 0.0 and abs(u) <= l1:
        return 0.0, 0.0
    side = math.copysign(1.0, x if x != 0.0 else -u)  # signs are random: no branch
    return side, u + side * l1


@scalar
def powers(m: float, tau: float, l2: float) -> tuple[float, float]:
    """C_m and H_m."""
    q = m * math.log1p(tau * l2)
    if q < NO_SHRINKAGE:
        return 1.0, m * tau
    return math.exp(-q), -math.expm1(-q) / l2


@inlined
def stretch(x: float, u: float, tau: float, l1: float, l2: float, k: int) -> tuple[int, float]:
    """How many of the next k steps the form of one side surely serves, and its v.

    On the way to 0, w = side v > 0, x is there after N = log1p(l2 |x|/w)/log1p(tau l2) steps: one
    less, whatever the rounding of N.
    """
    side, v = one_side(x, u, l1)
    w = side * v
    if w <= 0.0:
        return k, v
    if tau * l2 < NO_SHRINKAGE:
        steps = abs(x) / tau / w  # tau w may underflow
    else:
        steps = math.log1p(l2 * abs(x) / w) / math.log1p(tau * l2)
    return math.floor(min(max(0.0, steps - 1.0), float(k))), v


@scalar
def skip(x: float, u: float, tau: float, l1: float, l2: float, k: int) -> float:
    """The point after k steps."""
    if l1 == 0.0:
        c, h = powers(k, tau, l2)
        return c * x - h * u
    while k > 0:
        m, v = stretch(x, u, tau, l1, l2, k)
        if x == 0.0 and v == 0.0:
            return 0.0
        c, h = powers(m, tau, l2)
        x = c * x - h * v
        k -= m
        if k > 0:  # one plain step lands on 0 or crosses it
            x = prox_step(x, u, tau, l1, 1.0 / (1.0 + tau * l2))
            k -= 1
    return x
