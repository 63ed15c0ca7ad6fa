"""Checks on constructor parameters, made when fitting, in scikit-learn's words."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Collection
from typing import Any

import numpy as np

from dualgap._types import Array

MOST_SEEDS = 2**32 - 1
"""The largest seed of numpy's RandomState."""
MOST_JOBS = 2**31 - 1


class ParameterError(ValueError, TypeError):
    """A constructor parameter that cannot be used; the message says what can."""


def refuse(owner: Any, name: str, what: str) -> ParameterError:
    """The error for a parameter that is not what it must be."""
    return ParameterError(
        f"The {name!r} parameter of {type(owner).__name__} must be {what}. "
        f"Got {getattr(owner, name)!r} instead."
    )


def real(
    owner: Any,
    name: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    open_low: bool = False,
    infinite: bool = False,
) -> float:
    """A real number in [low, high]; ``open_low`` leaves low out, ``infinite`` lets inf in."""
    value = getattr(owner, name)
    ends = f"{'(' if open_low else '['}{float(low)}, {float(high)}"
    what = f"a float in the range {ends}{']' if infinite or high < math.inf else ')'}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise refuse(owner, name, what)
    try:
        number = float(value)
    except OverflowError:  # an integer beyond float64
        number = math.nan
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise refuse(owner, name, what)
    if number < low or number > high or (open_low and number == low):
        raise refuse(owner, name, what)
    return number


def integer(owner: Any, name: str, *, low: int, high: int | None = None) -> int:
    """An integer from ``low`` to ``high``; without one, to what fits into 64 bits."""
    value = getattr(owner, name)
    most = sys.maxsize if high is None else high
    if not _is_integer(value) or value < low or value > most:
        beyond = high is not None or (_is_integer(value) and value > most)
        end = f"{most}]" if beyond else "inf)"
        raise refuse(owner, name, f"an int in the range [{low}, {end}")
    return int(value)


def is_between(value: Any, low: float, high: float) -> bool:
    """Whether it is a real number in [low, high]; integers of any length can be compared."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    return bool(real and low <= value <= high)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def verbosity(owner: Any) -> None:
    """True, False, or an integer >= 0."""
    value = owner.verbose
    if not isinstance(value, bool | np.bool_) and not (_is_integer(value) and value >= 0):
        raise refuse(owner, "verbose", "an int in the range [0, inf) or an instance of 'bool'")


def seed(owner: Any) -> None:
    """What scikit-learn takes for a seed."""
    value = owner.random_state
    if value is None or isinstance(value, np.random.RandomState):
        return
    if not _is_integer(value) or not 0 <= value <= MOST_SEEDS:
        raise refuse(
            owner,
            "random_state",
            f"an int in the range [0, {MOST_SEEDS}], an instance of 'numpy.random.RandomState' or "
            "None",
        )


def jobs(owner: Any) -> None:
    """What joblib takes for a number of workers."""
    value = owner.n_jobs
    if value is not None and not (_is_integer(value) and value and abs(value) <= MOST_JOBS):
        raise refuse(owner, "n_jobs", "an int other than 0 (negative ones count from all) or None")


def precomputed(owner: Any, *names: str) -> None:
    """A flag, a matrix, or one of the names; it has no effect, but is no place for a slip."""
    value = owner.precompute
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and value in names):
        return
    if isinstance(value, str) or np.ndim(value) != 2:
        known = ", ".join(["an instance of 'bool'", *map(repr, names), "a matrix"])
        raise refuse(owner, "precompute", f"one of {known}")


def flags(owner: Any, *names: str) -> None:
    """Each True or False."""
    for name in names:
        if not isinstance(getattr(owner, name), bool | np.bool_):
            raise refuse(owner, name, "an instance of 'bool'")


def choice(owner: Any, name: str, options: Collection[Any]) -> None:
    """One of the options."""
    value = getattr(owner, name)
    if not isinstance(value, str | None) or value not in options:
        shown = ", ".join(repr(option) for option in options)
        raise refuse(owner, name, f"a str among {{{shown}}}")


def sample_weights(sample_weight: Any, n: int) -> Array | None:
    """One finite weight >= 0 per row, or None; a number stands for n of them."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        weights = np.full(n, sample_weight, dtype=np.float64)
    else:
        from sklearn.utils.validation import check_array

        weights = check_array(
            sample_weight,
            accept_sparse=False,
            ensure_2d=False,
            dtype=np.float64,
            input_name="sample_weight",
        )
        if weights.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D.")
        if weights.shape != (n,):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    if (weights < 0).any():
        at = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: sample_weight[{at}] = "
            f"{weights[at]:g}. Use 0 to leave a row out."
        )
    if not weights.any():
        raise ValueError(
            "Sample weights are all zero: sample_weight is 0 on every row; at least one must count."
        )
    return np.asarray(weights)


def total_weight(weights: Array | None, n: int) -> float:
    """W, the sum of the weights."""
    return float(n) if weights is None else float(weights.sum())
