"""What a proof needs of one chunk of rows: for data whose rows are not held.

A chunk is a small problem of its own, of which everything is enclosed as `proof` does it, with the
same functions. What is only known after the reading, how the real dual point differs from the
floats, is either a factor, which enters afterwards, or is assumed before and looked at after.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array, Mask
from dualgap.certificate.feasibility import NOT_AT_ALL, Moved, has_room_by_row
from dualgap.certificate.proof import loss_sums
from dualgap.certificate.rows import DualRows, dual_rows, enclosed
from dualgap.designs.chunks import Chunk
from dualgap.enclosures.directed import gam, sum_down, sum_up, up
from dualgap.enclosures.extraction import accurate_sum
from dualgap.losses.multinomial import own
from dualgap.problem import Problem
from dualgap.streamed.first_look import Form
from dualgap.streamed.pieces import piece_of
from dualgap.streamed.sums import Matrix, Slopes, dual_point


class Way(NamedTuple):
    """How the real dual point is found beside the floats."""

    form: Form
    by_sign: bool
    """The sign, or the class, that weighs more gives in: there is an intercept, and that is all."""
    nu: Array | None
    """Columns without penalty are more than that: the distance, one for each class, is assumed."""
    free: Mask
    """These columns."""


class Piece(NamedTuple):
    """Sums over the rows of a chunk, weighted by w."""

    gap: float
    """At least the sum of w h at the float dual point, or at any point within the move."""
    at_zero: float
    above: float
    below: float
    value: float
    """The sum of w phi in floats."""
    S: Array
    S_error: Array
    S_size: Array
    """|S|: adding up S is off by a share of it."""
    size: Array
    total: Any
    """The sum of w y; of each class, (K,)."""
    total_error: Any
    total_size: Any
    masses: Array
    """At most the sum of w |y| over y > 0, and over y < 0; of w over each class."""
    spread: float
    """At least the sum of w (max z - min z) over classes."""
    gram: Any
    """F' diag(r^2) F in floats, with D = r^2/w the weights of the move."""
    reach: Any
    """The sum of r^2 a_j^2 in floats."""
    roots: float
    """The sum of r^2 in floats."""


class Weighed(NamedTuple):
    """Sums with the weights of the move; see `Piece`."""

    gram: Any = 0.0
    reach: Any = 0.0
    roots: float = 0.0


NOTHING_MOVES = Weighed()


def prove_chunk(
    chunk: Chunk, rows: tuple[Array, ...], frame: Problem, x: Array, slopes: Slopes, way: Way
) -> tuple[tuple[()], Piece]:
    """The sums of a chunk: a task for `Design.map_rows` that makes no rows."""
    piece = piece_of(chunk, rows, frame, way.form)
    y = dual_point(Matrix(chunk, frame.fit_intercept), slopes, piece.loss, piece.b, piece.offset)
    alpha = dual_rows(piece, y)
    at = enclosed(piece, x, alpha, sharp=True)
    moved, weighed = NOT_AT_ALL, NOTHING_MOVES
    if way.nu is not None:
        moved, weighed = _move(piece, at.middle, alpha, way)
    sums = loss_sums(piece, at, alpha, moved)
    value = piece.loss.value(at.middle, piece.b)
    w = piece.sample_weight
    total = float(value.sum() if w is None else np.where(w > 0.0, w * value, 0.0).sum())
    signs = _by_class(piece, at.middle, at.error, alpha) if y.ndim == 2 else _by_sign(alpha, way)
    balance, off, size, masses, spread = signs
    return (), Piece(
        gap=sums.gap, at_zero=sums.at_zero, above=sums.above, below=sums.below, value=total,
        S=at.S, S_error=at.S_error, S_size=np.abs(at.S), size=at.size, total=balance,
        total_error=off, total_size=size, masses=masses, spread=spread, gram=weighed.gram,
        reach=weighed.reach, roots=weighed.roots,
    )  # fmt: skip


def _by_sign(alpha: DualRows, way: Way) -> tuple[Any, Any, Any, Array, float]:
    """The sum of w y, what it may be off, its size, and the sums of each sign."""
    nothing = np.zeros(2)
    if not (way.by_sign or way.nu is not None):
        return 0.0, 0.0, 0.0, nothing, 0.0
    high = alpha.high
    parts = high if alpha.low is None else np.concatenate((high, alpha.low))
    total, error = accurate_sum(parts)
    sizes = np.abs(high)
    masses = [sum_down(np.where(side, sizes, 0.0)) for side in (high > 0.0, high < 0.0)]
    return total, error, abs(total), np.array(masses) * (1.0 - gam(8.0)), 0.0


def _by_class(
    piece: Problem, z: Array, error: Array, alpha: DualRows
) -> tuple[Any, Any, Any, Array, float]:
    """The same for each class, the weight of its rows, and how far apart scores are."""
    K = z.shape[1]
    w = np.ones(piece.n) if piece.sample_weight is None else piece.sample_weight
    sums = []
    for k in range(K):
        low = () if alpha.low is None else (alpha.low[:, k],)
        sums.append(accurate_sum(np.concatenate((alpha.high[:, k], *low))))
    total, errors = np.array(sums).T
    if alpha.open_:
        errors = up(errors + up(alpha.open_ * up(np.abs(alpha.high).sum(axis=0) * 2.0)))
    classes = own(piece.b)[1]
    weights = [sum_down(np.where(classes == k, w, 0.0)) for k in range(K)]
    wide = up(up(z.max(axis=1) - z.min(axis=1)) + 4.0 * up(error.max(axis=1)))
    spread = sum_up(np.where(w > 0.0, up(w * wide), 0.0))
    return total, errors, np.abs(total), np.array(weights), spread


def _move(piece: Problem, z: Array, alpha: DualRows, way: Way) -> tuple[Moved, Weighed]:
    """The move by the assumed distance, and the sums that say whether the distance is right.

    D = phi'' where the row has room for its move, else 0: any D >= 0 will do.
    """
    assert way.nu is not None
    w = np.ones(piece.n) if piece.sample_weight is None else piece.sample_weight
    if alpha.y.ndim == 2:
        p = alpha.y.copy()
        p[own(piece.b)] += 1.0
        D = (p.min(axis=1) > 0.0).astype(np.float64)
    else:
        D = piece.loss.hess(z, piece.b)
    D = np.where(np.isfinite(D) & (w > 0.0), D, 0.0)
    root = np.sqrt(w * D)
    far = np.divide(root, w, out=np.zeros_like(root), where=w > 0.0)
    nu = way.nu if alpha.y.ndim == 2 else way.nu[0]
    move = up(up(np.multiply.outer(up(far), nu)))
    fits = has_room_by_row(piece, alpha.y, move)
    root = np.where(fits, root, 0.0)
    move = np.where(fits if move.ndim == 1 else fits[:, None], move, 0.0)
    squares = root * root
    design = piece.design
    B = _columns(piece, way.free)
    M = root[:, None] * B
    reach = design.column_norms_sq(squares)
    return Moved(move=move), Weighed(M.T @ M, reach, float(squares.sum()))


def _columns(piece: Problem, free: Mask) -> Array:
    """The columns without penalty."""
    (block,) = (rows for _, rows in piece.design.blocks(piece.n))
    return block if free.all() else block[:, free]
