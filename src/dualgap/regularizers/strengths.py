"""Numbers per coordinate: what a regulariser is given, checked, and spread over d coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.regularizers.contract import Regularizer


def given(argument: str, value: Any, *, infinite: bool = False) -> Array:
    """A number or a vector of numbers as a float64 array of its own; nan is refused.

    Strengths are >= 0 and at most 1e100; bounds may be anything, also ``infinite``.
    """
    values = check.numeric(argument, value)
    if values.ndim > 1 or values.dtype.kind == "b":
        raise ValueError(
            f"{argument} must be a number, or a vector with one for each coefficient; got "
            f"{'an array of shape ' + str(values.shape) if values.ndim else repr(value)}."
        )
    values = np.array(values, dtype=np.float64)
    bad = np.isnan(values) if infinite else ~np.isfinite(values) | (values < 0.0)
    bad |= np.isfinite(values) & (np.abs(values) > check.LARGEST)
    if bad.any():
        k = np.flatnonzero(bad)[0]
        name = f"{argument}[{k}]" if values.ndim else argument
        what = "a number or infinite" if infinite else "a finite number >= 0"
        raise ValueError(
            f"{name} = {values.reshape(-1)[k]:g}, but it must be {what}, of magnitude at most "
            f"{check.LARGEST:g}."
        )
    return values


def per_coordinate(owner: Regularizer, name: str, values: Any, d: int) -> Array:
    """What a regulariser has one of, or one for each of d coefficients, as an array of d."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (d,)):
        raise ValueError(
            f"{name} of the regularizer {type(owner).__name__} has shape {array.shape}; expected "
            f"one number, or ({d},): one for each column of A."
        )
    return np.array(np.broadcast_to(array, (d,)))


def refuse_uneven(owner: Regularizer, l1: Array, l2: Array) -> None:
    """Refuse to give one strength to all coordinates where they have strengths of their own."""
    if any(np.size(values) and np.ptp(values) > 0.0 for values in (l1, l2)):
        raise ValueError(
            f"a path gives the same l1 and l2 to every coordinate, and {owner!r} has strengths of "
            "their own for them. Use penalty_weights= instead of a regularizer, or solve point by "
            "point."
        )


def padded(values: Array, count: int, by_class: bool, fill: float = 0.0) -> Array:
    """The values, then ``fill`` for each free coordinate; as a column where x is a matrix."""
    if count:
        more = np.empty(values.size + count)
        more[: values.size], more[values.size :] = values, fill
        values = more
    return values[:, None] if by_class else values
