"""Compiled: losses as formulas of scalars, chosen by `Loss.code`, for kernels that visit rows."""

from __future__ import annotations

import math

from dualgap._types import Array
from dualgap.compiled.jit import scalar

SQUARED, LOGISTIC, SMOOTHED_HINGE, SQUARED_HINGE, HUBER, STRONG_LOGISTIC = range(6)

EXACT = 3e-8
"""For `solve_margin`: to float64's precision."""


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


@scalar
def softmax_grad(z: Array, label: int, out: Array) -> None:
    """Out <- softmax(z) - e_label."""
    K = z.size
    top = z[0]
    for i in range(1, K):
        top = max(top, z[i])
    total = 0.0
    for i in range(K):
        out[i] = math.exp(z[i] - top)
        total += out[i]
    others = 0.0
    for i in range(K):
        out[i] /= total
        if i != label:
            others += out[i]
    out[label] = -others  # p - 1 without cancellation
