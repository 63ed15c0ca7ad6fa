"""The loss's part of a proof for squared loss, where it is made of lengths.

With r = z - b the gap is sum_i w_i (r_i - y_i)^2/2: half the square of a length. What is not known
of z, or of y, moves r - y by a vector whose length is bounded, and lengths obey the triangle
inequality. So a few sums of squares do, and no interval is formed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._arrays import pieces
from dualgap._types import Array
from dualgap.certificate.feasibility import Moved
from dualgap.certificate.rows import DualRows, Enclosed
from dualgap.enclosures.directed import (
    SHORT,
    TINY,
    UNIT,
    add_up,
    down,
    gam,
    in_two_levels,
    sum_down,
    sum_up,
    up,
)
from dualgap.linalg.double import two_sum
from dualgap.problem import Problem


class LossSums(NamedTuple):
    """Sums over the rows, weighted by w."""

    gap: float
    """At least sum_i w_i h_i(z_i, y'_i) at the real dual point; inf where there is none."""
    at_zero: float
    """At least sum_i w_i h_i(z_i, 0)."""
    above: float
    """At least sum_i w_i phi_i(z_i)."""
    below: float
    """At most sum_i w_i phi_i(z_i)."""


class _Squares(NamedTuple):
    """Sums over some rows of w_i v_i^2, for several v."""

    above: float
    """At least that of the residuals r."""
    below: float
    """At most that of the residuals r."""
    lost: float
    """At least that of what is not known of r."""
    left: float
    """At least that of r - y; 0 where there is no dual point."""
    rest: float
    """At least that of what is not known of r - y; 0 where there is no dual point."""


def quadratic_sums(problem: Problem, at: Enclosed, rows: DualRows, moved: Moved | None) -> LossSums:
    """The sums of `proof.loss_sums`, of some rows after the others."""
    parts = [_squares_of(problem, at, rows, moved, some) for some in pieces(problem.n)]
    found = parts[0]
    if len(parts) > 1:
        above, below, *others = (np.array(column) for column in zip(*parts, strict=True))
        found = _Squares(sum_up(above), sum_down(below), *(sum_up(column) for column in others))
    lost = _root_up(found.lost)
    length = add_up(_root_up(found.above), lost)
    least = max(down(_root_down(found.below) - lost), 0.0)
    gap = math.inf
    if moved is not None:
        gap = _half(add_up(_root_up(found.left), _root_up(found.rest)))
    most = _half(length)
    return LossSums(gap, most, most, max(float(down(0.5 * down(least * least))), 0.0))


def _squares_of(
    problem: Problem, at: Enclosed, rows: DualRows, moved: Moved | None, some: slice
) -> _Squares:
    """Of these rows; what additions round off is added up as well (TwoSum)."""
    w = None if problem.sample_weight is None else problem.sample_weight[some]
    error, z = at.error[some], at.z[some]
    off = np.zeros_like(z)
    c, offset = at.added
    for more in (c, None if offset is None else offset[some], -problem.b[some]):
        if more is not None:
            z, rest = two_sum(z, np.asarray(more))
            off += rest
    r = z + off
    fitted = not (r.any() or error.any() or z.any())  # exactly, so that nothing was rounded
    lost = 0.0 if fitted else _square_up(_lost(error, off, r), w)
    above, below = _square_up(r, w), _square_down(r, w)
    if moved is None:
        return _Squares(above, below, lost, 0.0, 0.0)
    y = rows.y[some]
    left, rest = two_sum(z, -y)
    off += rest
    left += off
    rest = _lost(error, off, left) if not fitted or y.any() else np.zeros_like(left)
    if moved.move is not None:
        rest = rest + moved.move[some]
    return _Squares(above, below, lost, _square_up(left, w), _square_up(rest, w))


def _lost(error: Array, off: Array, total: Array) -> Array:
    """What is not known of a sum: of its terms, and by the roundings of its last additions."""
    return np.asarray(error + UNIT * (4.0 * np.abs(off) + 2.0 * np.abs(total)))


def _half(length: float) -> float:
    """At least half the square."""
    return float(up(0.5 * up(length * length))) if length else 0.0


def _square_up(v: Array, w: Array | None) -> float:
    """At least sum_i w_i v_i^2."""
    total, roundings = _squares(v, w)
    if total == 0.0 and not v.any():
        return 0.0
    return float(up(up(total) * (1.0 + gam(roundings + 8.0)) + 2.0 * v.size * _least(w)))


def _squares(v: Array, w: Array | None) -> tuple[float, float]:
    """sum_i w_i v_i^2 in floats, and the roundings behind a term."""
    if v.size <= SHORT:
        return float(v @ v) if w is None else float(w @ (v * v)), float(v.size)
    squares = v * v
    if w is not None:
        squares *= w
    return in_two_levels(squares)


def _least(w: Array | None) -> float:
    """What a product of a weight and a square that underflows may be off."""
    return TINY if w is None else TINY * (1.0 + float(w.max()))


def _square_down(v: Array, w: Array | None) -> float:
    """At most sum_i w_i v_i^2."""
    total, roundings = _squares(v, w)
    total = down(down(total) * (1.0 - gam(roundings + 8.0)) - 2.0 * v.size * _least(w))
    return max(float(total), 0.0)


def _root_up(square: float) -> float:
    """At least the length whose square is at most this; a few roundings of v by u are in it."""
    return float(up(up(math.sqrt(square)) * (1.0 + gam(8.0)))) if square else 0.0


def _root_down(square: float) -> float:
    """At most the length whose square is at least this."""
    return max(float(down(down(math.sqrt(square)) * (1.0 - gam(8.0)))), 0.0)
