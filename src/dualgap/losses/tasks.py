"""What a loss does with one chunk of rows: for `designs.tasks.there_and_back`."""

from __future__ import annotations

from dualgap._arrays import per_row
from dualgap._types import Array
from dualgap.losses.contract import Loss

__all__ = ["loss_slope", "slope_beside"]

Made = tuple[Array, tuple[Array], tuple[()]]
"""r, more rows, more sums."""


def loss_slope(z: Array, rows: tuple[Array, ...], loss: Loss) -> Made:
    """y = phi'(A x + offset) and r = Q y, with which A'r is the gradient of the mean loss.

    Rows (b, q), or (b, q, offset); y is made.
    """
    b, q = rows[:2]
    y = loss.grad(z if len(rows) == 2 else z + rows[2], b)
    return per_row(q, z) * y, (y,), ()


def slope_beside(Ad: Array, rows: tuple[Array, Array, Array], loss: Loss) -> Made:
    """The same at the end of a step d from x, y = phi'(z + A d).

    Rows (b, q, z), where z are the predictions of x; y is made.
    """
    b, q, z = rows
    y = loss.grad(z + Ad, b)
    return per_row(q, z) * y, (y,), ()
