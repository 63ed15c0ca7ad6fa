"""The intercept alone, for rows that are not held: it takes their targets and offsets, not A."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dualgap._types import Array
from dualgap.losses import Loss, RegressionLoss
from dualgap.losses.multinomial import softmax
from dualgap.streamed.rows import Rows

STEPS = 60
"""More than Newton's method needs."""
DIGITS = 1e-3
"""The share of P0 to which it is found: it is a unit."""


def mean_loss_at(rows: Rows, loss: Loss, c: Array) -> float:
    """The mean loss of the predictions c + offset, c a number or one for each class."""
    return _mean(rows, loss.value, c)


def _mean(rows: Rows, formula: Callable[[Array, Array], Array], c: Array) -> float:
    """The mean of a formula of the loss there."""

    def values(b: Array, offset: Array | None) -> Array:
        z = np.array(np.broadcast_to(c, (len(b), *np.shape(c))))
        return formula(z if offset is None else z + offset, b)

    return rows.mean(values)


def null_model(rows: Rows, loss: Loss) -> tuple[float | Array, float]:
    """The best c, and P0 to about a thousandth: the value of that c, so never less than P0."""
    if loss.is_vector:
        return _of_classes(rows, loss)
    if rows.constant is not None and rows.offset is None:
        b = np.array([rows.constant])
        known = loss.null_point(b, np.ones(1), np.zeros(1))
        c = float(loss.conj_grad(np.zeros(1), b)[0]) if known is None else known
        return c, mean_loss_at(rows, loss, np.asarray(c))
    return _by_newton(rows, loss)


def _of_classes(rows: Rows, loss: Loss) -> tuple[Array, float]:
    """From the logarithms of the shares of classes, which are right where there is no offset."""
    K = loss.outputs(rows.labels) or 1
    shares = _each(rows, lambda b, z, k: (b == k).astype(np.float64), np.zeros(K))
    c = np.log(np.maximum(shares, 1e-300))
    best = mean_loss_at(rows, loss, c)
    for _ in range(STEPS if rows.offset is not None else 0):
        slope = _each(rows, lambda b, z, k: loss.grad(z, b)[:, k], c)
        p = _each(rows, lambda b, z, k: softmax(z)[0][:, k], c)
        step, t = -slope / np.maximum(p, 1e-3), 1.0  # 2 diag(p) is above the second derivatives
        while t > 1e-6 and not (value := mean_loss_at(rows, loss, c + t * step)) < best:
            t *= 0.25
        if t <= 1e-6:
            break
        gained, best, c = best - value, value, c + t * step
        if gained <= 0.1 * DIGITS * best:
            break
    return c, best


def _each(rows: Rows, formula: Callable[[Array, Array, int], Array], c: Array) -> Array:
    """The means of a formula of target, prediction and class, one for each class."""

    def of_class(k: int) -> float:
        return _mean(rows, lambda z, b: formula(b, z, k), c)

    return np.array([of_class(k) for k in range(c.size)])


def _by_newton(rows: Rows, loss: Loss) -> tuple[float, float]:
    """Newton's method in one number, with an interval around its solution once there is one."""
    c, low, high = 0.0, -math.inf, math.inf
    if isinstance(loss, RegressionLoss):  # the best c is between the least and the largest residual
        low, high = _residuals(rows)
        if low == high:
            return low, mean_loss_at(rows, loss, np.asarray(low))
        c = rows.mean(lambda b, offset: b if offset is None else b - offset)
    best, at, far = math.inf, c, 1.0
    for _ in range(STEPS):
        here = np.asarray(c)
        value, slope = mean_loss_at(rows, loss, here), _mean(rows, loss.grad, here)
        bend = _mean(rows, loss.hess, here)
        if value < best:
            best, at = value, c
        if slope == 0.0 or not math.isfinite(slope):
            break
        low, high = (c, high) if slope < 0.0 else (low, c)
        step = -slope / bend if bend > 0.0 else math.inf
        if abs(slope) * min(abs(step), high - low) <= DIGITS * value and bend > 0.0:
            break
        new = c + step
        if not low < new < high:
            far *= 2.0
            new = 0.5 * (low + high) if math.isfinite(low + high) else c - math.copysign(far, slope)
        c = new
    return at, best


def _residuals(rows: Rows) -> tuple[float, float]:
    """The least and the largest b - offset of rows with weight."""
    low, high = math.inf, -math.inf
    for b, w, offset in rows.pieces():
        r = b if offset is None else b - offset
        r = r if w is None else r[w > 0.0]
        low, high = min(low, r.min(initial=low)), max(high, r.max(initial=high))
    return float(low), float(high)
