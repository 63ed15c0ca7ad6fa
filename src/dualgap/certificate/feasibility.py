"""A real dual point beside the float one: what has to move, and how far at most."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._arrays import pieces
from dualgap._types import Array, Mask
from dualgap.certificate.rows import FLUSHED, DualRows, Enclosed, exact_sum, with_rest
from dualgap.designs.contract import block_rows
from dualgap.dual_points.feasible import DualPoint, needs_factorisation
from dualgap.enclosures.class_sums import class_moves, residual_sums, sums_moved
from dualgap.enclosures.directed import UNIT, down, gam, sum_down, up
from dualgap.losses.multinomial import own
from dualgap.problem import Problem
from dualgap.spans.contract import Span
from dualgap.spans.span import GramSpan


class Moved(NamedTuple):
    """How the real y' differs from the float y."""

    tau: float = 0.0
    """Some rows are multiplied by a number from 1 - tau to 1."""
    move: Array | None = None
    """The others move by at most this, entry by entry, and stay in their domains."""
    reach: Array | None = None
    """S_j moves by at most this, besides what tau does to it."""


NOT_AT_ALL = Moved()

INSIDE = 1.0 - 2.0**-45
"""Sums are brought a little inside of their intervals, so that this can be proved."""
MOST_COLUMNS = 256
"""Least squares on more columns than these take too long."""


def real_point(problem: Problem, point: DualPoint, rows: DualRows, at: Enclosed) -> Moved | None:
    """The way from y to a real y' with S_j = 0 on all free coordinates, or None."""
    moved: Moved | None
    if not problem.regularizer.has_free or not rows.y.any():
        moved = NOT_AT_ALL
    elif not problem.free_intercept_only:
        moved = _by_projection(problem, point, rows, at)
    elif rows.y.ndim == 2:
        moved = _by_few_rows(problem, rows)
    else:
        moved = _by_heavier_sign(problem, rows)
    if moved is None or rows.rest is None:
        return moved
    # The part of the dual point beyond its floats is a move as well, but none of S.
    move = np.abs(rows.rest) if moved.move is None else up(np.abs(rows.rest) + moved.move)
    return moved._replace(move=move) if _has_room(problem, rows.y, move) else None


def with_more_digits(problem: Problem, rows: DualRows, at: Enclosed) -> DualRows | None:
    """A dual point beside y whose sums are where they should be, to twice the digits of floats.

    The last bits of y times a column of 1e9 may push S_j out of its interval, and scaling costs to
    first order. A change of y by its last bits brings S_J into the intervals, and the sum of
    w_i y_i to 0: the least one, from least squares on the columns J that are at an end of theirs.
    Nothing rests on it: what it comes to is enclosed like any other dual point. None where it does
    not apply.
    """
    if rows.y.ndim == 2 or rows.rest is not None or needs_factorisation(problem):
        return None
    low, high = problem.penalty.inner_interval(UNIT)
    total = float(problem.n) if problem.sample_weight is None else math.fsum(problem.sample_weight)
    wanted = np.clip(at.S, -total * INSIDE * high, -total * INSIDE * low)
    outside = np.broadcast_to(wanted != at.S, at.S.shape)
    J = np.flatnonzero(outside)
    if J.size:
        # A column of 1e12 that is inside would leave by the last bits of y: it is held where it is.
        edge = 4.0 * UNIT * at.size
        nearly = (at.S + edge > -total * low) | (at.S - edge < -total * high)
        held = np.flatnonzero(outside | nearly)
        J = held if held.size <= MOST_COLUMNS else J
    if J.size > MOST_COLUMNS:
        return None
    w = np.ones(problem.n) if problem.sample_weight is None else problem.sample_weight
    off = (wanted - at.S)[J]
    blocks = problem.base.blocks(block_rows(problem.d)) if J.size else ()
    F = np.concatenate([np.empty((0, J.size)), *(block[:, J] for _, block in blocks)])
    F = F if J.size else np.empty((problem.n, 0))
    if problem.fit_intercept:
        F = np.column_stack((F, np.ones(problem.n)))
        off = np.append(off, -exact_sum(rows)[0])
    ends = problem.loss.domain(problem.b)
    room = np.minimum(np.minimum(rows.y - ends[0], ends[1] - rows.y), 1.0)
    M = (w * room)[:, None] * F
    size = np.linalg.norm(M, axis=0)
    if not (size > 0.0).all() or not np.isfinite(size).all():
        return None
    change = room * np.linalg.lstsq((M / size).T, off / size, rcond=1e-15)[0]
    if not np.isfinite(change).all():
        return None
    better = with_rest(problem, rows.y, change)
    inside = (better.y >= ends[0]) & (better.y <= ends[1]) & (np.abs(better.high) >= FLUSHED)
    return better if (inside | (better.y == rows.y)).all() else None


def _by_heavier_sign(problem: Problem, rows: DualRows) -> Moved | None:
    """An intercept alone: tau = |sum w y| over the weight of the heavier sign."""
    off, open_ = exact_sum(rows)
    if off == open_ == 0.0:
        return NOT_AT_ALL
    signs = (math.copysign(1.0, off),) if abs(off) > open_ else (1.0, -1.0)
    # The less of both, where it is not known which is the heavier one.
    weight = min(down(_weight_of(rows, sign) * (1.0 - gam(4.0))) for sign in signs)
    if not weight > 0.0:
        return None
    tau = up(up(abs(off) + open_) / weight)
    return Moved(tau=tau) if tau <= 1.0 else None


def _weight_of(rows: DualRows, sign: float) -> float:
    """At most the sum of w_i |y_i| over the y_i of this sign."""
    parts = [
        sum_down(np.where(rows.y[at] * sign > 0.0, np.abs(rows.high[at]), 0.0))
        for at in pieces(len(rows.y))
    ]
    return sum_down(np.array(parts))


def _by_projection(
    problem: Problem, point: DualPoint, rows: DualRows, at: Enclosed
) -> Moved | None:
    """Several free columns, by the span that the float point was projected with."""
    span = point.span
    if span is None:
        return None
    each = _distances(problem, span, rows, at)
    if not np.isfinite(each).all():
        return None
    if not each.any():
        return NOT_AT_ALL
    w = np.ones(problem.n) if problem.sample_weight is None else problem.sample_weight
    far = np.divide(span.root, w, out=np.zeros(problem.n), where=w > 0.0)
    move = up(up(np.multiply.outer(up(far), each)))
    move = np.where(np.multiply.outer(span.root > 0.0, np.ones(each.shape)) > 0.0, move, 0.0)
    if not _has_room(problem, rows.y, move):
        return None
    most = float(np.max(span.root, initial=0.0))
    lengths = up(np.sqrt(up(problem.base.column_squares() * (1.0 + gam(problem.n + 4.0)))))
    lengths = up(lengths + 1e-150)  # squares that underflow have lost at most 1e-300 each
    reach = up(up(np.multiply.outer(up(lengths * most), each)))
    return Moved(move=move, reach=reach)


def _distances(problem: Problem, span: Span, rows: DualRows, at: Enclosed) -> Array:
    """At least nu; one for each class, where there are several.

    A span of the free columns themselves takes the sums that are known already.
    """
    classes = [...] if rows.y.ndim == 1 else [(..., k) for k in range(rows.y.shape[1])]
    out = []
    for k in classes:
        low = None if rows.low is None else np.ascontiguousarray(rows.low[k])
        high = np.ascontiguousarray(rows.high[k])
        if isinstance(span, GramSpan):
            free = problem.regularizer.free.reshape(-1)
            rho, error = at.S[k][free[: problem.d]], at.S_error[k][free[: problem.d]]
            if problem.fit_intercept:  # free, too, and its column is a power of two
                total, open_ = exact_sum(DualRows(high, high, low))
                scale = problem.intercept_scale
                rho = np.append(rho, scale * total)
                open_ = up(open_ + up(rows.open_ * up(float(np.abs(high).sum()) * 2.0)))
                error = np.append(error, up(scale * up(4.0 * UNIT * abs(total) + open_)))
            out.append(span.proved_by_sums(rho, error))
        else:
            out.append(span.proved_distance(high, low, rows.open_))
    return np.asarray(out[0]) if rows.y.ndim == 1 else np.array(out)


def _has_room(problem: Problem, y: Array, move: Array) -> bool:
    """Whether y' is in the domains, wherever it is within move of y."""
    return bool(has_room_by_row(problem, y, move).all())


def has_room_by_row(problem: Problem, y: Array, move: Array) -> Mask:
    """For each row, whether y' is in the domain wherever it is within ``move`` of y."""
    if y.ndim == 2:
        p, at = np.array(y), own(problem.b)
        # 1 less the real sum of the others, of which y has the float nearest to it.
        p[at] = down(down(1.0 + y[at]) - 4.0 * UNIT)
        return np.asarray((p >= move).all(axis=1))
    low, high = problem.loss.domain(problem.b)
    moving = move > 0.0
    inside = (down(y - move) >= low) & (up(y + move) <= high)
    return np.asarray(inside | ~moving)


def _by_few_rows(problem: Problem, rows: DualRows) -> Moved | None:
    """K intercepts: the sums of all classes are taken up by rows that have room for it."""
    w, classes = problem.sample_weight, problem.b.astype(np.intp)
    low, high = residual_sums(w, rows.y, classes)
    if not (low.any() or high.any()):
        return NOT_AT_ALL
    found = class_moves(w, rows.y, classes, low, high)
    if found is None:
        return None
    move = np.zeros_like(rows.y)
    move[found.rows] = found.amounts
    kept = np.zeros(problem.n, dtype=bool)
    kept[found.rows] = True
    some = problem.base.take(kept)
    block = np.concatenate([part for _, part in some.blocks(len(found.rows))])
    return Moved(move=move, reach=sums_moved(found, w, block))
