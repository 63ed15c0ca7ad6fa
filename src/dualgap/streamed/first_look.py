"""The first look at what belongs to the rows, before any reading of A.

It checks that these are numbers that a loss takes, and finds what has to be known of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import total
from dualgap._types import Array
from dualgap.designs.chunks import Chunk
from dualgap.enclosures.extraction import accurate_sum
from dualgap.losses import Loss, MarginLoss, RegressionLoss
from dualgap.streamed.folds import Labels, Parts, Range

NO_LABELS = Labels(np.empty(0), np.empty(0))


class Form(NamedTuple):
    """Which arrays belong to the rows, besides targets."""

    weighted: bool
    has_offset: bool

    def split(self, rows: tuple[Array, ...]) -> tuple[Array, Array | None, Array | None]:
        """b, w and offset of a chunk, from the arrays that there are."""
        rest = list(rows[1:])
        w = rest.pop(0) if self.weighted else None
        return rows[0], w, rest.pop(0) if self.has_offset else None


class FirstLook(NamedTuple):
    """What it finds, all of it sums."""

    weight: Parts
    """The sums of weights,"""
    errors: Parts
    """and what they are off at most."""
    weights: Range
    """The weights that are not 0."""
    idle: int
    """Rows without weight."""
    labels: Labels
    """The labels that occur, of losses that take labels."""
    targets: Range
    """The targets of rows with weight."""
    residuals: Range
    """The same less the offset, of losses of the residual;"""
    residual: Parts
    """and the sums of these, weighted."""
    at_zero: Parts
    """The sums of w phi(offset), of losses that take no labels and have no value at 0 by name."""


def first_look(
    chunk: Chunk, rows: tuple[Array, ...], form: Form, loss: Loss
) -> tuple[tuple[()], FirstLook]:
    """Check some rows, and look at them: a task for `folds.fold`."""
    b, w, offset = form.split(rows)
    with _named(chunk.rows):
        if w is not None:
            zero = "to leave that row out"
            check.nonnegative("sample_weight", w, len(w), what="row", zero=zero)
        if takes_labels(loss):
            values = check.vector("b", b, len(b), what="row of A")
        else:
            values = loss.targets(b, len(b))
        if offset is not None:
            check.vector("offset", offset.ravel(), offset.size, what="row", smallest=0.0)
    counts = slice(None) if w is None else w > 0.0
    weight, error = (float(len(b)), 0.0) if w is None else accurate_sum(w)
    residuals, residual, at_zero = Range(), 0.0, 0.0
    if isinstance(loss, RegressionLoss):
        r = values if offset is None else values - offset
        residuals, residual = Range.of(r[counts]), weighted_total(w, r)
    if starts_at_zero(loss):
        z = np.zeros(len(b)) if offset is None else offset
        at_zero = weighted_total(w, loss.value(z, values))
    return (), FirstLook(
        weight=(weight,),
        errors=(error,),
        weights=Range(1.0, 1.0) if w is None else Range.of(w[counts]),
        idle=0 if w is None else int(np.count_nonzero(w == 0.0)),
        labels=Labels.of(b, w) if takes_labels(loss) else NO_LABELS,
        targets=Range.of(b[counts]),
        residuals=residuals,
        residual=(residual,),
        at_zero=(at_zero,),
    )


def takes_labels(loss: Loss) -> bool:
    """Whether targets are a few labels, which are told apart."""
    return isinstance(loss, MarginLoss) or loss.is_vector


def starts_at_zero(loss: Loss) -> bool:
    """Whether the first look finds P(0)."""
    return not takes_labels(loss)


def weighted_total(w: Array | None, values: Array) -> float:
    """The sum of w values; rows without weight play no part."""
    return total(values if w is None else np.where(w > 0.0, w * values, 0.0))


@contextmanager
def _named(at: slice) -> Iterator[None]:
    """What a check says of an entry is about the entry of a piece."""
    try:
        yield
    except ValueError as wrong:
        raise ValueError(f"in the rows from {at.start} on: {wrong}") from None
