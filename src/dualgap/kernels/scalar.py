"""Losses and prox steps as formulas of scalars, chosen by an integer code (`Loss.code`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap.compiled.jit import inlined, scalar

Floats = np.ndarray[Any, np.dtype[np.float64]]

SQUARED, LOGISTIC, SMOOTHED_HINGE, SQUARED_HINGE, HUBER, STRONG_LOGISTIC = range(6)

EXACT = 3e-8
"""For `solve_margin`: to float64's precision."""
NO_SHRINKAGE = 1e-16
"""As in `regularizers.lazy`."""


@scalar
def expit(t: float) -> float:
    """1/(1 + exp(-t))."""
    if t >= 0.0:
        return 1.0 / (1.0 + math.exp(-t))
    e = math.exp(t)
    return e / (1.0 + e)


@scalar
def solve_margin(k: float, s: float, guess: float, enough: float) -> float:
    """The t with s t + expit(t) = k; see `losses.logistic.solve_margin`.

    The last Newton step is at most ``enough``, and the error at most half its square.
    """
    side = 1.0 if k >= 0.5 else -1.0
    k = max(k, 1.0 - k)
    low = max((k - 1.0) / s, 0.0)
    t = min(max(side * guess, low), k / s)
    for _ in range(100):
        e = expit(t)
        new = max(t - (s * t + e - k) / (s + e * (1.0 - e)), low)
        moved = abs(new - t)
        t = new
        if moved <= max(enough, 4e-16 * t):
            break
    return side * t


@scalar
def grad(code: int, parameter: float, z: float, b: float) -> float:
    """phi'(z)."""
    if code == SQUARED:
        return z - b
    if code == LOGISTIC:
        return -b * expit(-b * z)
    if code == SMOOTHED_HINGE:
        return -b * min(max((1.0 - b * z) / parameter, 0.0), 1.0)
    if code == SQUARED_HINGE:
        return -b * max(1.0 - b * z, 0.0)
    if code == HUBER:
        return min(max(z - b, -parameter), parameter)
    return -b * expit(-b * z) + parameter * z


@scalar
def prox_conj(
    code: int, parameter: float, v: float, s: float, b: float, guess: float, enough: float = EXACT
) -> float:
    """prox_{s phi*}(v); ``guess`` is a z near the one with s z + phi'(z) = v."""
    if code == SQUARED:
        return (v - s * b) / (1.0 + s)
    if code == LOGISTIC:
        return -b * expit(solve_margin(-b * v, s, -b * guess, enough))
    if code == SMOOTHED_HINGE:
        return -b * min(max((s - b * v) / (1.0 + s * parameter), 0.0), 1.0)
    if code == SQUARED_HINGE:
        return -b * max((s - b * v) / (1.0 + s), 0.0)
    if code == HUBER:
        return min(max((v - s * b) / (1.0 + s), -parameter), parameter)
    z = -b * solve_margin(-b * v, s + parameter, -b * guess, enough)
    return -b * expit(-b * z) + parameter * z


@inlined
def prox_step(x: float, u: float, tau: float, l1: float, l2: float) -> float:
    """prox_{tau g}(x - tau u) of one coordinate."""
    v = x - tau * u
    t = tau * l1
    v -= min(max(v, -t), t)
    return v / (1.0 + tau * l2)


@scalar
def powers(m: float, tau: float, l2: float) -> tuple[float, float]:
    """C_m and H_m of `regularizers.lazy`."""
    q = m * math.log1p(tau * l2)
    if q < NO_SHRINKAGE:
        return 1.0, m * tau
    return math.exp(-q), -math.expm1(-q) / l2


@scalar
def skip(x: float, u: float, tau: float, l1: float, l2: float, k: int) -> float:
    """x after k prox steps with constant u; see `regularizers.lazy`."""
    if l1 == 0.0:
        c, h = powers(k, tau, l2)
        return c * x - u * h
    while k > 0:
        if x == 0.0 and abs(u) <= l1:
            return 0.0
        if x != 0.0:
            e = 1.0 if x > 0.0 else -1.0
        else:
            e = -1.0 if u > 0.0 else 1.0
        w = e * u + l1
        if w <= 0.0:
            c, h = powers(k, tau, l2)
            return e * (c * abs(x) - w * h)
        if tau * l2 < NO_SHRINKAGE:
            steps = abs(x) / tau / w  # tau w may underflow
        else:
            steps = math.log1p(l2 * abs(x) / w) / math.log1p(tau * l2)
        m = k
        if k > steps - 1.0:
            m = max(0, math.floor(steps) - 1)
        c, h = powers(m, tau, l2)
        x = e * max(c * abs(x) - w * h, 0.0)
        k -= m
        if k > 0:
            x = prox_step(x, u, tau, l1, l2)
            k -= 1
    return x


@inlined
def advance(
    x: float, u: float, tau: float, l1: float, l2: float, k: int, c: float, h: float
) -> tuple[float, float]:
    """x after k >= 1 prox steps with constant u, and the x before the last of them.

    (c, h) is (C_{k-1}, H_{k-1}) from a table where one l2 serves all coordinates; c = -1 says
    that there is none. exp and log are then only needed where a coordinate crosses zero. Numbers
    and not the tables are passed: an array as argument keeps the call from being inlined.
    """
    if c >= 0.0:
        if l1 == 0.0:
            before = c * x - h * u
            return (before - tau * u) / (1.0 + tau * l2), before
        if x == 0.0 and abs(u) <= l1:
            return 0.0, 0.0
        if x != 0.0:
            e = 1.0 if x > 0.0 else -1.0
            last = c * abs(x) - (e * u + l1) * h
            if last > 0.0:  # has not left its side before the last step
                before = e * last
                return prox_step(before, u, tau, l1, l2), before
    before = skip(x, u, tau, l1, l2, k - 1)
    return prox_step(before, u, tau, l1, l2), before
