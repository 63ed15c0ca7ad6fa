"""The intercept alone, for rows that are not held: it takes their targets and offsets, not A."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.designs.chunks import Chunk
from dualgap.losses import Loss, RegressionLoss
from dualgap.losses.multinomial import softmax
from dualgap.streamed.first_look import Form, starts_at_zero, takes_labels, weighted_total
from dualgap.streamed.folds import Parts, mean_of
from dualgap.streamed.rows import Rows

STEPS = 60
"""More than Newton's method needs."""
DIGITS = 1e-3
"""The share of P0 to which it is found: it is a unit."""


class At(NamedTuple):
    """The mean loss at the predictions c + offset, and what Newton's method asks for besides."""

    value: float
    slope: Array
    """In c; with K classes there are K."""
    bend: Array
    """The mean of phi''; with classes that of their probabilities p, and 2 diag(p) >= phi''."""


class Sums(NamedTuple):
    """The sums of pieces, class by class."""

    value: Parts
    slopes: tuple[tuple[float, ...], ...]
    bends: tuple[tuple[float, ...], ...]


def mean_loss_at_zero(rows: Rows, loss: Loss, classes: int | None) -> float:
    """The mean loss of the predictions c + offset, c = 0."""
    if starts_at_zero(loss):
        return mean_of(rows.look.at_zero, rows.known.total)
    return _at(rows, loss, np.zeros(() if classes is None else classes)).value


def null_model(rows: Rows, loss: Loss) -> tuple[float | Array, float]:
    """The best c, and P0 to about a thousandth: the value of that c, so never less than P0."""
    if loss.is_vector:
        return _of_classes(rows, loss)
    if rows.constant is not None and rows.offset is None:
        b = np.array([rows.constant])
        known = loss.null_point(b, np.ones(1), np.zeros(1))
        c = float(loss.conj_grad(np.zeros(1), b)[0]) if known is None else known
        return c, _at(rows, loss, np.asarray(c)).value
    return _by_newton(rows, loss)


def slope_at(rows: Rows, loss: Loss, c: float) -> float:
    """The slope of the mean loss of the predictions c + offset, in c."""
    return float(_at(rows, loss, np.asarray(c)).slope)


def class_shares(rows: Rows, classes: int) -> Array:
    """What share of the weight each class has."""
    shares = np.zeros(classes)
    shares[rows.labels.astype(np.intp)] = rows.look.labels.weights / rows.known.total
    return shares


def _at(rows: Rows, loss: Loss, c: Array) -> At:
    """One sweep over targets and offsets; none where it is enough to know what labels weigh."""
    W = rows.known.total
    if takes_labels(loss) and rows.offset is None:
        convert, weights = rows.targets.convert, rows.look.labels.weights
        b = rows.labels if convert is None else convert(rows.labels)
        found = _sums(loss, b, np.where(weights > 0.0, weights, 0.0), None, c)
    else:
        found = rows.fold(sums_at, loss, c)
    slopes, bends = (
        np.array([mean_of(parts, W) for parts in zip(*each, strict=True)])
        for each in (found.slopes, found.bends)
    )
    return At(mean_of(found.value, W), slopes.reshape(c.shape), bends.reshape(c.shape))


def sums_at(
    chunk: Chunk, rows: tuple[Array, ...], form: Form, loss: Loss, c: Array
) -> tuple[tuple[()], Sums]:
    """Those of some rows: a task for `Rows.fold`."""
    b, w, offset = form.split(rows)
    return (), _sums(loss, b, w, offset, c)


def _sums(loss: Loss, b: Array, w: Array | None, offset: Array | None, c: Array) -> Sums:
    z = np.array(np.broadcast_to(c, (len(b), *c.shape)))
    z = z if offset is None else z + offset
    slope, bend = loss.grad(z, b), softmax(z)[0] if loss.is_vector else loss.hess(z, b)
    value = weighted_total(w, loss.value(z, b))
    slopes, bends = (
        tuple([weighted_total(w, one) for one in each.reshape(len(b), -1).T])
        for each in (slope, bend)
    )
    return Sums((value,), (slopes,), (bends,))


def _of_classes(rows: Rows, loss: Loss) -> tuple[Array, float]:
    """From the logarithms of the shares of classes, which are right where there is no offset."""
    c = np.log(np.maximum(class_shares(rows, loss.outputs(rows.labels) or 1), 1e-300))
    at = _at(rows, loss, c)
    for _ in range(STEPS if rows.offset is not None else 0):
        step, t, there = -at.slope / np.maximum(at.bend, 1e-3), 1.0, at
        while t > 1e-6 and not (there := _at(rows, loss, c + t * step)).value < at.value:
            t *= 0.25
        if t <= 1e-6:
            break
        gained, at, c = at.value - there.value, there, c + t * step
        if gained <= 0.1 * DIGITS * at.value:
            break
    return c, at.value


def _by_newton(rows: Rows, loss: Loss) -> tuple[float, float]:
    """Newton's method in one number, with an interval around its solution once there is one."""
    c, low, high = 0.0, -math.inf, math.inf
    if isinstance(loss, RegressionLoss):  # the best c is between the least and the largest residual
        low, high = rows.look.residuals.low, rows.look.residuals.high
        if low == high:
            return low, _at(rows, loss, np.asarray(low)).value
        c = mean_of(rows.look.residual, rows.known.total)
    best, at, far = math.inf, c, 1.0
    for _ in range(STEPS):
        value, slopes, bends = _at(rows, loss, np.asarray(c))
        slope, bend = float(slopes), float(bends)
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
