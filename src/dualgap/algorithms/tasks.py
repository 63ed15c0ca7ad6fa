"""What the algorithms do with one chunk of rows: tasks for `Design.reduce` and `Design.map_rows`.

Most are functions for `designs.tasks.there_and_back`: r from z = A x, row by row. See there for the
rules that tasks follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._arrays import per_row
from dualgap._types import Array
from dualgap.losses import Loss

__all__ = ["curved", "line_1"]

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
