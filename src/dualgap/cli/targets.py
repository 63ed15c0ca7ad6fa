"""Targets as files have them, and as losses take them; of data on disk some rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design
from dualgap.losses import Loss
from dualgap.losses.contract import MarginLoss

PIECE = 1 << 18
"""Rows whose labels are looked at together."""
MOST_LABELS = 1 << 16
"""More are not told apart: they are numbers, not labels."""


class Coded:
    """The targets of data on disk, which are encoded where they are read.

    Parameters
    ----------
    loss : Loss
    labels : list of float
        What stands for the codes.
    b : array
        The labels of the rows.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, loss: Loss, labels: list[float], b: Array) -> None:
        self.loss, self.labels, self.b = loss, labels, b
        self.shape = b.shape

    def __len__(self) -> int:
        """Rows."""
        return len(self.b)

    def __getitem__(self, at: slice) -> Array:
        """Those of consecutive rows."""
        return encode(self.loss, self.labels, self.b[at], at.start or 0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All of them, for fits that hold rows."""
        return np.asarray(encode(self.loss, self.labels, self.b), dtype=dtype)


def targets(loss: Loss, labels: list[float] | None, A: Any, b: Array) -> Any:
    """Targets as the loss takes them; those of data on disk stay there."""
    if labels is not None and isinstance(A, Design):
        return Coded(loss, labels, b)
    return encode(loss, labels, b)


def takes_labels(loss: Loss) -> bool:
    """Whether it is a loss of classes, not of numbers."""
    return loss.is_vector or isinstance(loss, MarginLoss)


def labels_of(loss: Loss, b: Array) -> list[float] | None:
    """The labels that the targets of a classification have, in the order of their codes."""
    if not takes_labels(loss):
        return None
    found = np.empty(0)
    for start in range(0, len(b), PIECE):
        found = np.union1d(found, b[start : start + PIECE])
        if found.size > MOST_LABELS:
            break
    seen = [float(v) for v in found]
    if loss.is_vector:
        return seen
    if len(seen) > 2:
        shown = ", ".join(f"{v:g}" for v in seen[:5]) + (", ..." if len(seen) > 5 else "")
        raise ValueError(
            f"the targets have {len(seen)} distinct values ({shown}), and loss={loss.name!r} takes "
            "two labels. Use the loss multinomial for classes, squared or huber for numbers."
        )
    if len(seen) == 1:
        return [-1.0, 1.0] if seen[0] in (-1.0, 1.0) else [seen[0] - 1.0, seen[0]]
    return seen


def encode(loss: Loss, labels: list[float] | None, b: Array, first: int = 0) -> Array:
    """Targets as the loss takes them: -1 and +1, or 0, ..., K-1, for these labels.

    Parameters
    ----------
    loss, labels, b
    first : int
        The place of the first of these rows among all, for messages.
    """
    if labels is None:
        return b
    at = np.searchsorted(labels, b).clip(max=len(labels) - 1)
    unknown = np.asarray(labels)[at] != b
    if unknown.any():
        row = first + int(np.flatnonzero(unknown)[0]) + 1
        raise ValueError(
            f"row {row} has the label {b[unknown][0]:g}; "
            f"the model knows {', '.join(f'{v:g}' for v in labels)}."
        )
    return at.astype(float) if loss.is_vector else 2.0 * at - 1.0
