"""Targets, weights and offsets of data whose rows are not held: read a piece at a time.

They may lie in a memory map or in the caller's array, and no copy of them is made. One look at all
of them, which reads none of A, checks them and finds what is needed of them before any reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import total
from dualgap._types import Array
from dualgap.enclosures.directed import down, up
from dualgap.enclosures.extraction import accurate_sum
from dualgap.losses import Loss, MarginLoss

PIECE = 1 << 16
"""Rows that are looked at together."""
MOST_LABELS = 1 << 16
"""So many classes are told apart; with more the matrices of their coefficients would be huge."""
MANY_LABELS = 16
"""Up to so many known labels are looked for one by one, which is faster than to sort."""


class RowValues:
    """One number, or K of them, for each row; slices of it are float64 arrays of their own.

    Parameters
    ----------
    source : array or memory map
        Anything with a shape and slices of its first axis.
    shape : tuple of int
    convert : callable, optional
        What is made of each slice.
    """

    def __init__(
        self, source: Any, shape: tuple[int, ...], convert: Callable[[Array], Array] | None = None
    ) -> None:
        self.source, self.shape, self.convert = source, shape, convert

    def __len__(self) -> int:
        """Rows."""
        return self.shape[0]

    def __getitem__(self, at: slice) -> Array:
        """Those of consecutive rows. Never a view: kernels take writable arrays."""
        values = np.array(self.source[at], dtype=np.float64)
        return values if self.convert is None else self.convert(values)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Nobody gets all of them at once by mistake."""
        raise TypeError(
            "these data are read a piece at a time, and nothing with an entry for each row is held."
        )

    def pieces(self) -> Iterator[tuple[slice, Array]]:
        """All of them, some rows after the others."""
        for start in range(0, self.shape[0], PIECE):
            at = slice(start, min(start + PIECE, self.shape[0]))
            yield at, self[at]


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
    """

    targets: RowValues
    weights: RowValues | None
    offset: RowValues | None
    known: Weights
    labels: Array
    seen: Array
    constant: float | None

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Targets, weights and offsets, those that there are, for `Design.map_rows`; see `Form`."""
        return tuple(v for v in (self.targets, self.weights, self.offset) if v is not None)

    @property
    def form(self) -> Form:
        """Which of them there are."""
        return Form(self.weights is not None, self.offset is not None)

    def pieces(self) -> Iterator[tuple[Array, Array | None, Array | None]]:
        """b, w and offset, some rows after the others."""
        for at, b in self.targets.pieces():
            yield (
                b,
                None if self.weights is None else self.weights[at],
                None if self.offset is None else self.offset[at],
            )

    def views(self, n: int) -> tuple[Any, Any, Any, Any]:
        """b, w, q = w/W and offset, of which nobody gets more than a piece at a time."""
        q: Any = np.broadcast_to(1.0 / n, (n,))
        if self.weights is not None:
            W = self.known.total
            q = RowValues(self.weights.source, (n,), lambda w: w / W)
        return self.targets, self.weights, q, self.offset

    @property
    def is_constant(self) -> bool:
        """Whether all rows with weight have the same target."""
        return self.constant is not None

    def mean(self, values: Callable[[Array, Array | None], Array]) -> float:
        """sum_i w_i values(b_i, offset_i) / W; rows without weight play no part."""
        parts = []
        for b, w, offset in self.pieces():
            found = values(b, offset)
            parts.append(total(found if w is None else np.where(w > 0.0, w * found, 0.0)))
        return math.fsum(parts) / self.known.total if np.isfinite(parts).all() else math.inf

    @property
    def fingerprint(self) -> str:
        """Name, size and time of the files that they lie in; nothing of arrays in memory."""
        return ";".join(file_mark(values.source) for values in self.arrays)


class Form(NamedTuple):
    """Which arrays belong to the rows, besides targets."""

    weighted: bool
    has_offset: bool

    def split(self, rows: tuple[Array, ...]) -> tuple[Array, Array | None, Array | None]:
        """b, w and offset of a chunk, from the arrays that there are."""
        rest = list(rows[1:])
        w = rest.pop(0) if self.weighted else None
        return rows[0], w, rest.pop(0) if self.has_offset else None


def file_mark(source: Any) -> str:
    """What tells a file from another: its name, size and time; empty for what is no file."""
    path = getattr(source, "filename", None) or getattr(source, "path", None)
    if path is None:
        return ""
    found = Path(path).stat()
    return f"{path}:{found.st_size}:{found.st_mtime_ns}"


def rows_of(loss: Loss, n: int, b: Any, sample_weight: Any, offset: Any) -> Rows:
    """Check what belongs to the rows, a piece at a time.

    Parameters
    ----------
    loss : Loss
    n : int
    b, sample_weight, offset : array or memory map
        As `Problem` takes them.

    Raises
    ------
    TypeError, ValueError
        As where rows are held.
    """
    weights = None
    if sample_weight is not None:
        weights = RowValues(_of_shape("sample_weight", sample_weight, (n,)), (n,))
    known = _weights(weights, n)
    source = _of_shape("b", b, (n,))
    labels, seen, constant = _targets(loss, RowValues(source, (n,)), weights)
    convert: Callable[[Array], Array] | None = None
    if isinstance(loss, MarginLoss) and type(loss).targets is MarginLoss.targets:
        convert = _to_signs if (labels == 0.0).any() else None
    elif type(loss).targets is not Loss.targets and not _is_ours(loss):
        convert = _by(loss)
    if convert is not None:
        seen = np.unique(convert(seen)) if seen.size else seen
        constant = None if constant is None else float(convert(np.array([constant]))[0])
    given = None
    if offset is not None:
        shape = (n, loss.outputs(labels) or 1) if loss.is_vector else (n,)
        given = RowValues(_of_shape("offset", offset, shape), shape)
        for at, values in given.pieces():
            with _named(at):
                check.vector("offset", values.ravel(), values.size, what="row", smallest=0.0)
    return Rows(RowValues(source, (n,), convert), weights, given, known, labels, seen, constant)


def _is_ours(loss: Loss) -> bool:
    """Whether the class is one of the package, of which only margin losses change targets."""
    return type(loss).__module__.split(".")[0] == __name__.split(".")[0]


def _to_signs(labels: Array) -> Array:
    """0 and 1 become -1 and +1."""
    return 2.0 * labels - 1.0


def _by(loss: Loss) -> Callable[[Array], Array]:
    """What a loss from elsewhere makes of targets, taken to be made of each by itself."""
    return lambda values: np.array(loss.targets(values, len(values)), dtype=np.float64)


def _of_shape(argument: str, values: Any, shape: tuple[int, ...]) -> Any:
    """What has slices, of this shape; a list, or a column of a data frame, becomes an array."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not (hasattr(values, "shape") and hasattr(values, "dtype")):
        values = check.numeric(argument, values)
    if tuple(values.shape) != shape:
        raise ValueError(
            f"{argument} has shape {tuple(values.shape)}; expected {shape}, one entry per row of A."
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"{argument} has dtype {values.dtype}; convert it to a numeric dtype such as float64."
        )
    return values


@contextmanager
def _named(at: slice) -> Iterator[None]:
    """What a check says of an entry is about the entry of a piece."""
    try:
        yield
    except ValueError as wrong:
        raise ValueError(f"in the rows from {at.start} on: {wrong}") from None


def _weights(weights: RowValues | None, n: int) -> Weights:
    if weights is None:
        return Weights(float(n), float(n), float(n), True, 1.0)
    sums: list[float] = []
    errors, least, most, empty = 0.0, math.inf, 0.0, False
    for at, w in weights.pieces():
        with _named(at):
            zero = "to leave that row out"
            check.nonnegative("sample_weight", w, len(w), what="row", zero=zero)
        some, error = accurate_sum(w)
        sums.append(some)
        errors = up(errors + error)
        most, empty = max(most, float(w.max())), empty or bool((w == 0.0).any())
        least = min(least, float(np.min(w, where=w > 0.0, initial=math.inf)))
    if most == 0.0:
        raise ValueError("sample_weight is 0 on every row; at least one row must count.")
    whole = math.fsum(sums)
    low, high = down(down(whole) - errors), up(up(whole) + errors)
    return Weights(whole, low, high, least == most and not empty, least)


def _targets(
    loss: Loss, targets: RowValues, weights: RowValues | None
) -> tuple[Array, Array, float | None]:
    """Check all targets: labels that occur, with weight, and the target if there is only one."""
    labels = seen = np.empty(0)
    takes_labels, low, high = isinstance(loss, MarginLoss) or loss.is_vector, math.inf, -math.inf
    for at, b in targets.pieces():
        counts = b if weights is None else b[weights[at] > 0.0]
        with _named(at):
            if takes_labels:
                check.vector("b", b, len(b), what="row of A")
            else:
                loss.targets(b, len(b))
        if takes_labels:
            labels, seen = _joined(labels, b), _joined(seen, counts)
            if labels.size > MOST_LABELS:
                break
        low, high = min(low, counts.min(initial=low)), max(high, counts.max(initial=high))
    if takes_labels:
        loss.targets(labels, labels.size)  # says what is wrong with them
    return labels, seen, float(low) if low == high else None


def _joined(known: Array, b: Array) -> Array:
    """The labels that are known and those of some rows."""
    if known.size <= MANY_LABELS:
        new = np.ones(len(b), dtype=bool)
        for label in known:
            new &= b != label
        b = b[new]
    return np.union1d(known, b) if b.size else known
