"""How long a step is: the first length that lowers a function enough, or nearly the best one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dualgap.limits import check_time

DECREASE = 1e-4
"""A step is long enough if the function falls by this share of what its slope promises (Armijo)."""
ROUNDING = 1e-14
"""A function that rises by no more than this share of itself counts as one that has not risen.

It allows for the rounding of a sum over many rows: without it the last steps would all fail.
"""
FLAT = 0.1
"""A search for the lowest point ends where the slope is at most this share of the first."""
STEEP = 0.2
"""A whole step is lengthened if at its end the slope is still more than this share of the first."""
MOST_TRIALS = 60
"""A search for the lowest point looks at most at so many lengths: bisection is at its end then."""
HALVINGS = tuple(0.5**k for k in range(40))
"""The lengths that are tried where nothing is known of them; the last one moves no digit."""


class Trial(NamedTuple):
    """The end of a step of some length."""

    value: float
    """The function there."""
    promised: float
    """The change, below 0, that a model of the function promises; nan refuses the trial."""
    point: Any
    """What the caller needs to know of this end."""
    slope: float = 0.0
    """The derivative along the step, for `near_lowest`."""


def falls(
    trial: Trial, before: float, decrease: float = DECREASE, rounding: float = ROUNDING
) -> bool:
    """Whether the function has fallen from ``before`` by a share of what was promised."""
    return trial.value <= before + decrease * trial.promised + rounding * abs(before)


def first_that_falls(
    look: Callable[[float], Trial],
    lengths: Iterable[float],
    before: float,
    decrease: float = DECREASE,
    rounding: float = ROUNDING,
) -> tuple[float, Trial] | None:
    """The first of these lengths at which the function falls enough, and its end; None: nowhere."""
    for t in lengths:
        check_time()
        trial = look(t)
        if falls(trial, before, decrease, rounding):
            return t, trial
        del trial  # two ends would be alive at once
    return None


def near_lowest(
    look: Callable[[float], Trial], before: float, slope: float, *, may_lengthen: bool
) -> tuple[float, Trial]:
    """Length 1, unless the function rises there or still falls steeply; then near its lowest point.

    ``slope`` is the derivative at the start. The last trial may lie above the start: where no
    length will do it is the shortest that was tried.
    """
    check_time()
    trial, t = look(1.0), 1.0
    enough = falls(trial, before)
    if enough and not (may_lengthen and trial.slope < STEEP * slope):
        return t, trial
    low, high = (1.0, math.inf) if enough else (0.0, 1.0)  # it falls at low and rises at high
    t = 2.0 if enough else 0.5
    for _ in range(MOST_TRIALS):
        check_time()
        del trial  # two ends would be alive at once
        trial = look(t)
        if falls(trial, before) and abs(trial.slope) <= FLAT * abs(slope):
            break
        low, high = (t, high) if trial.slope < 0.0 else (low, t)
        if high == math.inf:
            t = 2.0 * t
        else:
            t = 0.5 * (low + high) if low > 0.0 else 0.25 * high
    return t, trial
