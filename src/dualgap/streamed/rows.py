"""Targets, weights and offsets of data whose rows are not held: read a piece at a time.

They may lie in a memory map or in the caller's array, and no copy of them is made. One look at all
of them, which reads none of A, checks them and finds what is needed of them before any reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.cuts import Sums
from dualgap.designs.executors import RowTask
from dualgap.designs.files import mark_of, watched
from dualgap.enclosures.directed import down, up
from dualgap.losses import Loss, MarginLoss
from dualgap.streamed.first_look import FirstLook, Form, first_look, takes_labels
from dualgap.streamed.folds import fold

Convert = Callable[[Array], Array]


class RowValues:
    """One number, or K of them, for each row; slices of it are float64 arrays of their own.

    Parameters
    ----------
    source : array or FileArray
        Anything with a shape and slices of its first axis.
    convert : callable, optional
        What is made of each slice.
    """

    def __init__(self, source: Any, convert: Convert | None = None) -> None:
        self.source, self.shape, self.convert = source, tuple(source.shape), convert

    def __len__(self) -> int:
        """Rows."""
        return int(self.shape[0])

    def __getitem__(self, at: slice) -> Array:
        """Those of consecutive rows. Never a view: kernels take writable arrays."""
        values = np.array(self.source[at], dtype=np.float64)
        return values if self.convert is None else self.convert(values)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Nobody gets all of them at once by mistake."""
        raise TypeError(
            "these data are read a piece at a time, and nothing with an entry for each row is held."
        )


class Weights(NamedTuple):
    """What is known of the weights w of all rows."""

    total: float
    """W, their sum in floats."""
    low: float
    """At most W."""
    high: float
    """At least W."""
    uniform: bool
    """Whether all rows weigh the same."""
    least: float
    """The least weight that is not 0."""


@dataclass(frozen=True)
class Rows:
    """What belongs to the rows of a problem besides A.

    Parameters
    ----------
    targets : RowValues
        b, in the form that the loss takes.
    weights : RowValues or None
        w; None stands for 1.
    offset : RowValues or None
    known : Weights
    labels, seen : array
        The labels or classes that occur, and those on rows with weight, where the loss takes such.
    constant : float or None
        The target of all rows with weight, if it is the same.
    look : FirstLook
        What else the first look has found.
    base : Design
        Whose rows they are.
    """

    targets: RowValues
    weights: RowValues | None
    offset: RowValues | None
    known: Weights
    labels: Array
    seen: Array
    constant: float | None
    look: FirstLook
    base: Design

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Targets, weights and offsets, those that there are, for `Design.map_rows`; see `Form`."""
        return tuple(v for v in (self.targets, self.weights, self.offset) if v is not None)

    @property
    def form(self) -> Form:
        """Which of them there are."""
        return Form(self.weights is not None, self.offset is not None)

    def fold(self, task: RowTask[Sums], *args: Any) -> Sums:
        """The sums of ``task(chunk, rows, form, *args)``, which read none of A."""
        return fold(self.base, task, self.arrays, self.form, *args)

    def views(self, n: int) -> tuple[Any, Any, Any, Any]:
        """b, w, q = w/W and offset, of which nobody gets more than a piece at a time."""
        q: Any = np.broadcast_to(1.0 / n, (n,))
        if self.weights is not None:
            W = self.known.total
            q = RowValues(self.weights.source, Share(W))
        return self.targets, self.weights, q, self.offset

    @property
    def is_constant(self) -> bool:
        """Whether all rows with weight have the same target."""
        return self.constant is not None

    @property
    def fingerprint(self) -> str:
        """Name, size and time of the files that they lie in; nothing of arrays in memory."""
        return ";".join(mark_of(values.source) for values in self.arrays)


def rows_of(loss: Loss, base: Design, b: Any, sample_weight: Any, offset: Any) -> Rows:
    """Check what belongs to the rows, and look at it.

    Parameters
    ----------
    loss : Loss
    base : Design
        Whose rows they are.
    b, sample_weight, offset : array or memory map
        As `Problem` takes them.

    Raises
    ------
    TypeError, ValueError
        As where rows are held.
    """
    n = base.shape[0]
    weights = given = None
    source = _of_shape("b", b, (n,))
    if sample_weight is not None:
        weights = RowValues(_of_shape("sample_weight", sample_weight, (n,)))
    if offset is not None:
        given = RowValues(_of_shape("offset", offset, (n, None) if loss.is_vector else (n,)))
    arrays = tuple(v for v in (RowValues(source), weights, given) if v is not None)
    look = fold(base, first_look, arrays, Form(weights is not None, given is not None), loss)
    known = Weights(float(n), float(n), float(n), True, 1.0) if weights is None else _known(look)
    labels, seen = look.labels.values, look.labels.values[look.labels.weights > 0.0]
    if takes_labels(loss):
        loss.targets(labels, labels.size)  # says what is wrong with them
    if given is not None and loss.is_vector:
        _of_shape("offset", offset, (n, loss.outputs(labels) or 1))
    convert: Convert | None = None
    if isinstance(loss, MarginLoss) and type(loss).targets is MarginLoss.targets:
        convert = _to_signs if (labels == 0.0).any() else None
    elif type(loss).targets is not Loss.targets and not _is_ours(loss):
        convert = Targets(loss)
    low, high = look.targets.low, look.targets.high
    constant = low if low == high else None
    if convert is not None:
        seen = np.unique(convert(seen)) if seen.size else seen
        constant = None if constant is None else float(convert(np.array([constant]))[0])
    targets = RowValues(source, convert)
    return Rows(targets, weights, given, known, labels, seen, constant, look, base)


def _is_ours(loss: Loss) -> bool:
    """Whether the class is one of the package, of which only margin losses change targets."""
    return type(loss).__module__.split(".")[0] == __name__.split(".")[0]


def _to_signs(labels: Array) -> Array:
    """0 and 1 become -1 and +1."""
    return 2.0 * labels - 1.0


@dataclass(frozen=True)
class Targets:
    """What a loss from elsewhere makes of targets, taken to be made of each by itself."""

    loss: Loss

    def __call__(self, values: Array) -> Array:
        """Of some."""
        return np.array(self.loss.targets(values, len(values)), dtype=np.float64)


@dataclass(frozen=True)
class Share:
    """Weights over their sum."""

    whole: float

    def __call__(self, values: Array) -> Array:
        """Of some."""
        return values / self.whole


def _of_shape(argument: str, values: Any, shape: tuple[int | None, ...]) -> Any:
    """What has slices, of this shape; a list, or a column of a data frame, becomes an array."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not (hasattr(values, "shape") and hasattr(values, "dtype")):
        values = check.numeric(argument, values)
    found = tuple(values.shape)
    known = tuple(None if side is None else of for of, side in zip(found, shape, strict=False))
    if len(found) != len(shape) or known != shape:
        expected = str(shape).replace("None", "K")
        raise ValueError(
            f"{argument} has shape {found}; expected {expected}, one entry per row of A."
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"{argument} has dtype {values.dtype}; convert it to a numeric dtype such as float64."
        )
    return watched(values)


def _known(look: FirstLook) -> Weights:
    """What is known of weights; the sums of pieces are added up exactly."""
    least, most = look.weights.low, look.weights.high
    if not most > 0.0:
        raise ValueError("sample_weight is 0 on every row; at least one row must count.")
    whole, errors = math.fsum(look.weight), 0.0
    for error in look.errors:
        errors = up(errors + error)
    low, high = down(down(whole) - errors), up(up(whole) + errors)
    return Weights(whole, low, high, least == most and not look.idle, least)
