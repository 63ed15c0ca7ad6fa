"""Checks on what the user hands over; each message names the argument, the value and the remedy."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from dualgap._types import Array

# Squares and sums of squares of the data must be representable: beyond these magnitudes
# |a_i|^2 or b_i^2 would overflow or vanish.
LARGEST = 1e100
SMALLEST = 1e-100
AT_ONCE = 1 << 16
"""Numbers of a vector that are looked at together: it may be long, and lie on disk."""


def real(argument: str, value: Any, *, low: float = -math.inf, strict: bool = False) -> float:
    """A finite real number that is at least ``low`` (more than ``low`` if ``strict``)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{argument} must be a real number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{argument} must be finite, got an integer beyond float64.") from None
    bound = f"{'more than' if strict else 'at least'} {low:g}"
    if not math.isfinite(number):
        raise ValueError(f"{argument} must be finite, got {number}.")
    if number < low or (strict and number == low):
        raise ValueError(f"{argument} must be {bound}, got {number:g}.")
    return number


def optional_real(
    argument: str, value: Any, *, low: float = -math.inf, strict: bool = False
) -> float | None:
    """As `real`, and None stays None."""
    return None if value is None else real(argument, value, low=low, strict=strict)


def flag(argument: str, value: Any) -> bool:
    """A bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{argument} must be True or False, got {value!r}.")
    return bool(value)


def numeric(argument: str, values: Any) -> np.ndarray[Any, Any]:
    """An array of real numbers, as it is; object, complex and text are refused."""
    if np.ma.is_masked(values):
        raise ValueError(f"{argument} has masked entries. Drop or impute them first.")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{argument} cannot be read as an array: {error}") from None
    if array.dtype.kind == "c":
        raise TypeError(f"{argument} is complex ({array.dtype}); dualgap solves real problems.")
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"{argument} has dtype {array.dtype}; convert it to a numeric dtype such as float64."
        )
    if array.dtype.itemsize > 8:
        raise TypeError(f"{argument} has dtype {array.dtype}; convert it to float64.")
    return array


def vector(
    argument: str,
    values: Any,
    length: int,
    *,
    what: str,
    remedy: str = "Drop or impute that {}.",
    smallest: float = SMALLEST,
    most: float = LARGEST,
) -> Array:
    """A finite float64 vector of the given length, as a new array or an untouched view."""
    array = numeric(argument, values)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.shape != (length,):
        raise ValueError(
            f"{argument} has shape {array.shape}; expected ({length},), one value per {what}."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    top = 0.0
    for start in range(0, array.size, AT_ONCE):
        piece = array[start : start + AT_ONCE]
        if not np.isfinite(piece).all():
            at = start + int(np.flatnonzero(~np.isfinite(piece))[0])
            raise ValueError(
                f"{argument} is not finite: {argument}[{at}] = {array[at]}. {remedy.format(what)}"
            )
        top = max(top, float(piece.max()), -float(piece.min()))
    scale(argument, top, smallest, most)
    return array


def distinct(values: Array) -> Array:
    """The different values, ascending, as np.unique finds them; no copy of all is made."""
    pieces = range(0, values.size, AT_ONCE)
    seen = np.unique(values[:AT_ONCE])
    for start in pieces[1:]:
        seen = np.union1d(seen, np.unique(values[start : start + AT_ONCE]))
    return seen


def point(argument: str, values: Any, length: int, *, what: str, most: float = LARGEST) -> Array:
    """A point or an offset: as `vector`, and as small as it likes."""
    remedy = "Give a finite value for that {}."
    return vector(argument, values, length, what=what, remedy=remedy, smallest=0.0, most=most)


def matrix(argument: str, values: Any, shape: tuple[int, int], *, what: str) -> Array:
    """As `point`, for several predictions per row: one row per ``what``, one column per class."""
    array = numeric(argument, values)
    if array.shape != shape:
        raise ValueError(
            f"{argument} has shape {array.shape}; expected {shape}, one row per {what} and one "
            "column per class."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        i, k = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{argument} is not finite: {argument}[{i}, {k}] = {array[i, k]}. Give a finite value "
            f"for that {what}."
        )
    scale(argument, float(np.abs(array).max(initial=0.0)), smallest=0.0)
    return array


def integer(argument: str, value: Any) -> int:
    """An integer of at least 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{argument} must be an integer of at least 1, got {value!r}.")
    return int(value)


def strong_convexity(value: Any, *, strict: bool = False) -> float | None:
    """The paper's mu, or None."""
    mu = optional_real("mu", value, low=0.0, strict=strict)
    if mu is not None and mu > LARGEST:
        raise ValueError(f"mu={mu:g} is more than {LARGEST:g}; mu is at most the norm of A.")
    return mu


def scale(argument: str, largest: float, smallest: float = SMALLEST, most: float = LARGEST) -> None:
    """Refuse magnitudes whose squares over- or underflow."""
    if largest > most or 0.0 < largest < smallest:
        raise ValueError(
            f"{argument} has largest magnitude {largest:.3g}; its squares leave the range of "
            f"float64. Rescale it to between {SMALLEST:g} and {most:g}."
        )


def nonnegative(argument: str, values: Any, length: int, *, what: str, zero: str) -> Array:
    """A finite float64 vector without negative entries; ``zero`` says what 0 is for."""
    array = vector(argument, values, length, what=what, remedy="Give a finite value for that {}.")
    if (array < 0).any():
        at = int(np.flatnonzero(array < 0)[0])
        raise ValueError(
            f"{argument} must not be negative: {argument}[{at}] = {array[at]:g}. Use 0 {zero}."
        )
    return array
