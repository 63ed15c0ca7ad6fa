"""k prox steps at once: what a coordinate that no row touched would have gone through.

k steps of x <- prox_{tau g}(x - tau u) with u constant have a closed form per coordinate.
Sparse randomised methods need it, and the x before the last step (for the extrapolation).
Scalars in, scalars out: this is the oracle in plain Python, and compiled kernels repeat it.

With q = m log1p(tau l2):  C_m = exp(-q),  H_m = (1 - exp(-q))/l2;  C_m = 1, H_m = m tau as l2 -> 0.
On one side of zero, e = sign(x), w = e u + l1:   |x_m| = C_m |x| - w H_m.
"""

from __future__ import annotations

import math

# Below this, (1 + tau l2)^-m is 1 to rounding, and dividing by l2 would lose everything.
NO_SHRINKAGE = 1e-16


def advance(x: float, u: float, tau: float, l1: float, l2: float, k: int) -> tuple[float, float]:
    """Take k >= 1 steps of x <- prox_{tau g}(x - tau u), g = l1|x| + (l2/2)x^2.

    Returns
    -------
    x_k, x_{k-1} : float
        The point after k steps, and the one before the last step.
    """
    before = _skip(x, u, tau, l1, l2, k - 1)
    return _step(before, u, tau, l1, l2), before


def _step(x: float, u: float, tau: float, l1: float, l2: float) -> float:
    v = x - tau * u
    return math.copysign(max(abs(v) - tau * l1, 0.0), v) / (1.0 + tau * l2)


def _powers(m: float, tau: float, l2: float) -> tuple[float, float]:
    """C_m and H_m."""
    q = m * math.log1p(tau * l2)
    if q < NO_SHRINKAGE:
        return 1.0, m * tau
    return math.exp(-q), -math.expm1(-q) / l2


def _skip(x: float, u: float, tau: float, l1: float, l2: float, k: int) -> float:
    if l1 == 0.0:
        c, h = _powers(k, tau, l2)
        return c * x - u * h
    while k > 0:
        if x == 0.0 and abs(u) <= l1:
            return 0.0
        e = math.copysign(1.0, x) if x != 0.0 else -math.copysign(1.0, u)
        w = e * u + l1
        if w <= 0.0:  # this side is never left
            c, h = _powers(k, tau, l2)
            return e * (c * abs(x) - w * h)
        # Steps until zero is reached; one less, to absorb the rounding of N.
        if tau * l2 < NO_SHRINKAGE:
            steps = abs(x) / tau / w  # tau w may underflow
        else:
            steps = math.log1p(l2 * abs(x) / w) / math.log1p(tau * l2)
        m = k if k <= steps - 1.0 else max(0, math.floor(steps) - 1)
        c, h = _powers(m, tau, l2)
        x = e * max(c * abs(x) - w * h, 0.0)
        k -= m
        if k > 0:  # one plain step lands on zero or crosses it
            x = _step(x, u, tau, l1, l2)
            k -= 1
    return x
