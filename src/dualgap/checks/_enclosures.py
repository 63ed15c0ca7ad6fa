"""Whether the enclosures of a loss enclose what its own formulas give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap._types import Array, Mask
from dualgap.linalg.rounding import UNIT
from dualgap.losses.contract import Loss

ROUNDINGS = 64.0
"""A formula may lose this many roundings of `Loss.terms`."""
WIDTHS = (0.0, 1e-3, 2.0)
"""Halves of the intervals that are tried."""
ENDS = ((-np.inf, np.inf), (-1e308, 1e308), (-np.inf, 0.0), (0.0, np.inf))
"""Intervals at which floats end."""


@dataclass
class Seen:
    """A bound over intervals, and the number at a point of each that it should be a bound of."""

    name: str
    ends: tuple[Array, Array]
    y: Array
    bound: Array
    at: Array | None = None
    true: Array | None = None

    def numbers(self, i: int) -> str:
        """What is said of a row."""
        low, high = (end[i] for end in self.ends)
        bound = f"{self.name} from {low:g} to {high:g} is {self.bound[i]:.8g}"
        if self.at is None or self.true is None:
            return bound
        return f"{bound}, and at z = {self.at[i]:g}, y = {self.y[i]:.8g} it is {self.true[i]:.8g}"


Law = tuple[str, Mask, Seen]
"""What it says, where it is broken, and the numbers."""


def _weakest(
    loss: Loss, z_lo: Array, z_hi: Array, y: Array, b: Array
) -> tuple[Array, Array, Array]:
    """What is claimed of the gap and of phi by any of the ways to ask, nan where one is nan."""
    gap, above, below = (np.asarray(v) for v in loss.row_bounds(z_lo, z_hi, y, b))
    gap = np.minimum(gap, loss.gap_above(z_lo, z_hi, y, b))
    above = np.minimum(above, loss.value_above(z_lo, z_hi, b))
    if loss.infimum_is_zero:
        above = np.minimum(above, loss.gap_above(z_lo, z_hi, np.zeros_like(z_lo), b))
    return gap, above, np.maximum(below, loss.value_below(z_lo, z_hi, b))


def enclosure_laws(loss: Loss, z: Array, y: Array, b: Array) -> Iterator[Law]:
    """Bounds over z - r, ..., z + r against the formulas at both ends and in the middle."""
    zero = np.zeros_like(y)
    for r in WIDTHS:
        ends = z - r, z + r
        gap, above, below = _weakest(loss, *ends, y, b)
        for at in (ends[0], z, ends[1]):
            value = np.asarray(loss.value(at, b))
            plain = value + loss.conj(y, b) - y * at
            known = np.isfinite(value) & np.isfinite(plain)
            lost = ROUNDINGS * UNIT * loss.terms(at, y, b)
            yield (
                "gap_above is at least phi(z) + phi*(y) - y z from z_lo to z_hi",
                known & ~(gap >= plain - lost),
                Seen("gap_above", ends, y, gap, at, plain),
            )
            yield (
                "value_above is at least phi(z) from z_lo to z_hi; by default, and wherever "
                "infimum_is_zero, it is gap_above at y = 0, which is right where inf phi = 0",
                known & ~(above >= value - lost),
                Seen("value_above", ends, zero, above, at, value),
            )
            yield (
                "value_below is at most phi(z) from z_lo to z_hi, and >= 0",
                known & ~((below <= value + lost) & (below >= 0.0)),
                Seen("value_below", ends, zero, below, at, value),
            )
    for low, high in ENDS:
        ends = np.full_like(z, low), np.full_like(z, high)
        gap, below = loss.gap_above(*ends, y, b), loss.value_below(*ends, b)
        for name, bound in (("gap_above", gap), ("value_below", below)):
            law = f"{name} is a number >= 0 or inf, for infinite and huge ends, too"
            yield law, ~(np.asarray(bound) >= 0.0), Seen(name, ends, y, np.asarray(bound))
