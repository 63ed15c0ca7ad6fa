"""Conjugate gradients on the support, for models whose H is too large to be formed.

Coordinate descent finds the signs, and may take hundreds of sweeps for the rest. On the orthant of
the signs s the model is a quadratic,

    m(x + d) = const - r'd + (1/2) d'(A_F'WA_F + diag(l2)) d,   r = -(g + l1 s + l2 x)_F

over the coordinates F that are not 0 (or have no l1). They are scaled by its diagonal, or by what
knows more of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap._types import Array, Mask
from dualgap.algorithms.second_order import tuning
from dualgap.designs import Columns
from dualgap.limits import current
from dualgap.linalg.conjugate_gradients import ConjugateGradients

Inverse = Callable[[Array], Array]
"""r -> M^(-1) r for a matrix M that stands for that of the model on F; 0 where r is."""


def finish(
    columns: Columns,
    w: Array,
    v: Array,
    x: Array,
    h: Array,
    l1: Array,
    l2: Array,
    goal: float,
    prepare: Callable[[Mask], Inverse] | None = None,
) -> tuple[Array, float]:
    """An x with a lower model, nearly its minimiser on the support; and the products.

    Parameters
    ----------
    columns : Columns
        A.
    w, v : array of shape (n,)
        W, and the slopes of the model: A'v is its gradient g at x. v is carried along, in place.
    x, h, l1, l2 : array
        The point, the diagonal of A'WA, and the strengths.
    goal : float
        No coordinate is to gain more than this by moving alone, in (h_j + l2_j) step^2.
    prepare : callable, optional
        From F, as a mask, to an `Inverse` for it; without it that of the diagonal.
    """
    total = h + l2
    free = ((x != 0.0) | (l1 == 0.0)) & (total > 0.0)
    unit = np.divide(1.0, total, out=np.zeros_like(total), where=free)
    inverse = (lambda r: unit * r) if prepare is None else prepare(free)
    g = columns.rmatvec(v)
    run = ConjugateGradients.begun(np.where(free, -(g + l1 * np.sign(x) + l2 * x), 0.0))
    Ad, count, limits = np.zeros_like(w), 0, current()
    most, goal = tuning.SYSTEMS.most_products, tuning.DESCENT.further * goal
    while count < most and float(np.max(unit * run.r * run.r, initial=0.0)) > goal:
        if limits.ends(2.0 * columns.nonzeros):
            return x, float(count + 1)
        run.turn(inverse(run.r))
        assert run.p is not None
        Ap = columns.matvec(run.p)
        count += 1
        if not run.advance(np.where(free, columns.rmatvec(w * Ap) + l2 * run.p, 0.0)):
            break
        Ad += run.length * Ap
    new, image = _within(columns, w, g, x, run.d, Ad, l1, l2)
    v += w * image
    return new, float(count + 1)


def _within(
    columns: Columns, w: Array, g: Array, x: Array, d: Array, Ad: Array, l1: Array, l2: Array
) -> tuple[Array, Array]:
    """x + d, or less of d; what would change its sign is set to 0. And A times the step.

    Or else the first to do so ends the step.
    """
    share = 1.0
    for _ in range(tuning.DESCENT.shorter):
        crossing = (l1 > 0.0) & (np.sign(x) * np.sign(x + share * d) < 0.0)
        if not crossing.any():
            return x + share * d, share * Ad
        new = np.where(crossing, 0.0, x + share * d)
        step = new - x
        image = columns.matvec(step)
        change = float(g @ step) + 0.5 * float(image @ (w * image))
        change += float(l1 @ (np.abs(new) - np.abs(x))) + 0.5 * float(l2 @ (new * new - x * x))
        if change < 0.0:
            return new, image
        share *= 0.25
    share = float(np.min(-x[crossing] / d[crossing]))
    new = x + share * d
    new[crossing & (np.abs(new) <= 1e-15 * np.abs(x))] = 0.0
    return new, share * Ad
