"""The laws of a regulariser's enclosures, held against its own formulas in floats.

Those are off by their rounding, so that a bound that is wrong by less is not found here: this
finds wrong formulas, sides that were mixed up and intervals of which one end was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from dualgap._types import Array
from dualgap.regularizers import Regularizer

ROUNDING = 1e-12
"""Relative: more than that of formulas in floats."""
BLUR = 1e-3
"""A blur of the strengths that shows beside rounding."""
FAR = 1e6
"""Stands for slopes without end."""


class Looked(Protocol):
    """One regulariser, and the points at which it is looked at."""

    g: Regularizer
    d: int
    points: list[float]

    def fail(self, law: str, what: str) -> None:
        """Say it."""

    def full(self, value: float) -> Array:
        """The point with all coordinates the same."""

    def inside(self) -> Iterator[Array]:
        """Points of the domain."""

    def dual(self) -> Iterator[Array]:
        """Points of the dual interval."""

    def ends(self) -> tuple[Array, Array]:
        """The ends of the dual interval."""

    def at(self, base: Array, j: int, value: float) -> float:
        """g where coordinate j has this value and the others those of ``base``."""


def values(look: Looked) -> None:
    """value_below <= g <= value_above, whatever the blur."""
    for x in (*look.inside(), *(look.full(v) for v in look.points)):
        value = look.g.value(x)
        room = ROUNDING * (1.0 + value) if np.isfinite(value) else 0.0
        for blur in (0.0, BLUR):
            below, above = look.g.value_below(x, blur), look.g.value_above(x, blur)
            if not below - room <= value <= above + room:
                look.fail(
                    "enclosure of g",
                    f"value(x) = {value:.17g} at x = {x} should be between value_below and "
                    f"value_above, which with blur = {blur:g} are {below:.17g} and {above:.17g}.",
                )


def gaps(look: Looked) -> None:
    """gap_above is at least fenchel_gap at every s of the interval that is in the dual one."""
    slopes = list(look.dual())
    wide = look.full(-FAR), look.full(FAR)
    for x in look.inside():
        true = [np.asarray(look.g.fenchel_gap(x, s)) for s in slopes]
        sizes = [
            ROUNDING * (1.0 + look.g.value(x) + abs(look.g.conj(s)) + np.abs(s * x)) for s in slopes
        ]
        pairs = [(s, s, [k]) for k, s in enumerate(slopes)]
        pairs += [(slopes[k], slopes[k + 2], [k, k + 1, k + 2]) for k in range(len(slopes) - 2)]
        for low, high, within in (*pairs, (*wide, range(len(slopes)))):
            for blur in (0.0, BLUR):
                bound = np.asarray(look.g.gap_above(x, low, high, blur))
                where = f"gap_above(x, s_lo, s_hi, blur={blur:g}) at x = {x}, [{low}, {high}]"
                if bound.shape != (look.d,) or np.isnan(bound).any():
                    look.fail(
                        "enclosure of the gap",
                        f"{where} is {bound}; it should be {look.d} numbers, none of them nan.",
                    )
                for k in within:
                    if (bound < true[k] - sizes[k]).any():
                        look.fail(
                            "enclosure of the gap",
                            f"{where} is {bound}; it should be at least fenchel_gap(x, s) = "
                            f"{true[k]} at s = {slopes[k]}.",
                        )


def intervals(look: Looked) -> None:
    """inner_interval holds 0, lies in the dual interval, and in that of every blur."""
    low, high = look.ends()
    for blur in (0.0, BLUR):
        inner = [
            np.broadcast_to(np.asarray(end), look.d) for end in look.g.inner_interval(blur=blur)
        ]
        least = 1.0 - 0.5 * blur  # an end that stands for a strength shrinks by the blur
        right = (inner[0] <= 0.0) & (inner[1] >= 0.0)
        for mine, end in ((inner[0], low), (inner[1], high)):
            right &= np.isinf(end) | (
                np.abs(mine) <= np.abs(end) * (least if _blurs(look) else 1.0)
            )
        if not right.all():
            look.fail(
                "enclosure of the dual interval",
                f"inner_interval(blur={blur:g}) is [{inner[0]}, {inner[1]}]; it should hold 0 and "
                f"be inside of the dual interval [{low}, {high}] of every strength in the blur.",
            )


def _blurs(look: Looked) -> bool:
    """Whether this is made of strengths that a blur concerns: one that `with_strengths` knows."""
    return type(look.g).with_strengths is not Regularizer.with_strengths


def strengths(look: Looked) -> None:
    """0 <= strength_below <= smooth_part."""
    l2 = np.asarray(look.g.smooth_part())
    below = np.asarray(look.g.strength_below())
    if below.shape not in ((), (look.d,)) or not ((below >= 0.0) & (below <= l2)).all():
        look.fail(
            "enclosure of the strength",
            f"strength_below() = {below}; it should be >= 0 and at most smooth_part() = {l2}.",
        )


def slopes_at_0(look: Looked) -> None:
    """Between the ends of zero_interval, s x <= g_j(x) - g_j(0)."""
    ends: list[Any] = [np.broadcast_to(np.asarray(v), look.d) for v in look.g.zero_interval()]
    base = np.array(look.g.nearest(np.zeros(look.d)))
    for j in map(int, np.flatnonzero(ends[0] <= ends[1])):
        for s in (max(ends[0][j], -FAR), min(ends[1][j], FAR)):
            for x in look.points:
                rise = look.at(base, j, x) - look.at(base, j, 0.0)
                if not rise >= s * x - ROUNDING * (1.0 + abs(s * x)):
                    look.fail(
                        "enclosure of the slopes at 0",
                        f"zero_interval() at coordinate {j} is [{ends[0][j]:g}, {ends[1][j]:g}], "
                        f"but g_{j}({x:g}) - g_{j}(0) = {rise:g} is less than {s:g} times {x:g}.",
                    )


ENCLOSURE_LAWS: tuple[Callable[[Looked], None], ...] = (
    values,
    gaps,
    intervals,
    strengths,
    slopes_at_0,
)
"""What is tried, in this order."""
