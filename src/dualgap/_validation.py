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


def real(argument: str, value: Any, *, low: float = -math.inf, strict: bool = False) -> float:
    """A finite real number that is at least ``low`` (more than ``low`` if ``strict``)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{argument} must be a real number, got {value!r}.")
    number = float(value)
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
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError(f"{argument} is complex ({array.dtype}); dualgap solves real problems.")
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"{argument} has dtype {array.dtype}; convert it to a numeric dtype such as float64."
        )
    if array.dtype.itemsize > 8:
        raise TypeError(f"{argument} has dtype {array.dtype}; convert it to float64.")
    return array


def vector(argument: str, values: Any, length: int, *, what: str) -> Array:
    """A finite float64 vector of the given length, as a new array or an untouched view."""
    array = numeric(argument, values)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.shape != (length,):
        raise ValueError(
            f"{argument} has shape {array.shape}; expected ({length},), one value per {what}."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(
            f"{argument} is not finite: {argument}[{at}] = {array[at]}. Drop or impute that {what}."
        )
    largest = float(np.abs(array).max(initial=0.0))
    scale(argument, largest)
    return array


def matrix(argument: str, values: Any, shape: tuple[int, int], *, what: str) -> Array:
    """A finite float64 matrix of the given shape: one row per ``what``, one column per class."""
    array = numeric(argument, values)
    if array.shape != shape:
        raise ValueError(
            f"{argument} has shape {array.shape}; expected {shape}, one row per {what} and one "
            "column per class."
        )
    flat = vector(argument, array.reshape(-1), array.size, what="entry")
    return flat.reshape(shape)


def scale(argument: str, largest: float) -> None:
    """Refuse magnitudes whose squares over- or underflow."""
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise ValueError(
            f"{argument} has largest magnitude {largest:.3g}; its squares leave the range of "
            f"float64. Rescale it to between {SMALLEST:g} and {LARGEST:g}."
        )


def nonnegative(argument: str, values: Any, length: int, *, what: str) -> Array:
    """A finite float64 vector without negative entries."""
    array = vector(argument, values, length, what=what)
    if (array < 0).any():
        at = int(np.flatnonzero(array < 0)[0])
        raise ValueError(
            f"{argument} must not be negative: {argument}[{at}] = {array[at]:g}. "
            f"Use 0 to leave that {what} out."
        )
    return array
