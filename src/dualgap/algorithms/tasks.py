"""What the algorithms do with one chunk of rows: tasks for `Design.reduce` and `Design.map_rows`.

Most are functions for `designs.tasks.there_and_back`: r from z = A x, row by row. See there for the
rules that tasks follow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._arrays import per_row, row_sums, weighted_sum
from dualgap._types import Array
from dualgap.designs.chunks import Chunk
from dualgap.losses import Loss

__all__ = ["ValueGradient", "curved", "line_1", "loss_slope", "value_and_gradient"]

Made = tuple[Array, tuple[Array, ...], tuple[Any, ...]]
"""r, more rows, more sums."""


def line_1(Ax: Array, rows: tuple[Array, Array, Array], loss: Loss, share: float) -> Made:
    """Line 1 of Algorithm 6: v = rest + share A x, y = phi'(v); r = Q y.

    Rows (rest, b, q), and y is made.
    """
    rest, b, q = rows
    v = share * Ax
    v += rest
    y = loss.grad(v, b)
    return per_row(q, v) * y, (y,), ()


def curved(D: Array, rows: tuple[Array, Array], least: float) -> Made:
    """r = Q (phi'' + least) D: with it `there_and_back` is a product with H.

    Rows (hess, q), where ``hess`` is what `second_order.curvature` gives.
    """
    hess, q = rows
    return per_row(q, D) * bend(hess, least, D), (), ()


def bend(hess: Array, least: float | Array, D: Array) -> Array:
    """(phi'' + least) D, row by row."""
    if hess.ndim == 1:
        return np.asarray((hess + least) * D)
    pd = hess * D
    return np.asarray(pd - hess * pd.sum(axis=1)[:, None] + least * D)


def loss_slope(z: Array, rows: tuple[Array, ...], loss: Loss) -> Made:
    """y = phi'(A x + offset), r = Q y, and the sum of q phi: all that P and its gradient need.

    Rows (b, q), or (b, q, offset); y is made.
    """
    b, q = rows[:2]
    z = z if len(rows) == 2 else z + rows[2]
    value, y = loss.value_grad(z, b)
    return per_row(q, z) * y, (y,), (weighted_sum(q, value),)


class ValueGradient(NamedTuple):
    """The value and the gradient of the mean loss at x, and what the dual value needs besides."""

    value: float
    """sum_i q_i phi_i(z_i)."""
    gradient: Array
    """u = A'Qy with y = phi'(z)."""
    inner: float
    """sum_i q_i <y_i, z_i>: the sum of q phi* is this less the value (Fenchel's equality)."""


def value_and_gradient(
    chunk: Chunk, rows: tuple[Array, ...], x: Array, loss: Loss
) -> tuple[tuple[()], ValueGradient]:
    """P's loss, its gradient and the conjugate at phi'(z), for one reading: for `map_rows`.

    Rows (b, q), or (b, q, offset). Nothing with an entry for each row is kept.
    """
    b, q = rows[:2]
    z = chunk.matvec(x)
    z = z if len(rows) == 2 else z + rows[2]
    value, y = loss.value_grad(z, b)
    inner = weighted_sum(q, row_sums(y * z))
    return (), ValueGradient(weighted_sum(q, value), chunk.rmatvec(per_row(q, z) * y), inner)
