"""The intercept alone, for rows that are not held: it takes their targets and offsets, not A."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dualgap._types import Array
from dualgap.losses import Loss
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
    """The best c, and P0 to about a thousandth: the value of that c, so never less than P0.

    With several predictions a row the c of rows without offsets: the logarithms of their shares.
    """
    if loss.is_vector:
        shares = [
            rows.mean(lambda b, _, mine=k: (b == mine).astype(np.float64))  # type: ignore[misc]
            for k in range(loss.outputs(rows.labels) or 1)
        ]
        logs = np.log(np.maximum(shares, 1e-300))
        return logs, mean_loss_at(rows, loss, logs)
    if rows.constant is not None and rows.offset is None:
        b = np.array([rows.constant])
        known = loss.null_point(b, np.ones(1), np.zeros(1))
        c = float(loss.conj_grad(np.zeros(1), b)[0]) if known is None else known
        return c, mean_loss_at(rows, loss, np.asarray(c))
    return _by_newton(rows, loss)


def _by_newton(rows: Rows, loss: Loss) -> tuple[float, float]:
    """Newton's method in one number, with an interval around its solution once there is one."""
    c, low, high = 0.0, -math.inf, math.inf
    best, at = math.inf, 0.0
    for _ in range(STEPS):
        here = np.asarray(c)
        value, slope = mean_loss_at(rows, loss, here), _mean(rows, loss.grad, here)
        bend = _mean(rows, loss.hess, here)
        if value < best:
            best, at = value, c
        if slope == 0.0 or not math.isfinite(slope):
            break
        low, high = (c, high) if slope < 0.0 else (low, c)
        step = -slope / bend if bend > 0.0 else -math.copysign(1.0, slope)
        if loss.gamma is not None:
            step = math.copysign(max(abs(step), abs(slope) * loss.gamma), step)
        if abs(slope * step) <= DIGITS * value:
            break
        new = c + step
        if not low < new < high:
            new = 0.5 * (low + high) if math.isfinite(low + high) else c + math.copysign(2.0, step)
        c = new
    return at, best
