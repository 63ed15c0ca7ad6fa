"""The elastic net on a box: g_j(x) = l1_j |x| + (l2_j/2) x^2 for x in [lower_j, upper_j], else inf.

The maximiser of s x - g_j(x) is x_s = clip(S(s, l1)/l2, lower, upper), S the soft threshold; with
l2 = 0 the end that s points to beyond l1, else the point nearest to 0. g_j* is finite where there
is one: everywhere if l2 > 0 or both ends are finite; without l2 and an upper end for s <= l1, and
without a lower one for s >= -l1. The box need not contain 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dualgap._arrays import total, within
from dualgap._types import Array
from dualgap.enclosures.strengths import at_least
from dualgap.regularizers import bounds
from dualgap.regularizers.contract import Bounded, Regularizer
from dualgap.regularizers.strengths import given, padded, per_coordinate, refuse_uneven


@dataclass(frozen=True, eq=False)
class Box(Regularizer):
    """g(x) = sum_j l1_j |x_j| + (l2_j/2) x_j^2 where lower <= x <= upper, +inf elsewhere.

    Parameters
    ----------
    lower, upper : float or array of shape (d,)
        The ends, lower <= upper; -inf and inf for none. The box need not contain 0.
    l1, l2 : float or array of shape (d,)
        Strengths >= 0.
    """

    lower: Any = -np.inf
    upper: Any = np.inf
    l1: Any = 0.0
    l2: Any = 0.0

    has_bounds: ClassVar[bool] = True
    has_exact_gap: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check what was given."""
        for name in ("l1", "l2"):
            object.__setattr__(self, name, given(name, getattr(self, name)))
        for name in ("lower", "upper"):
            object.__setattr__(self, name, given(name, getattr(self, name), infinite=True))
        shapes = {a.shape for a in (self.lower, self.upper, self.l1, self.l2) if a.ndim}
        if len(shapes) > 1:
            raise ValueError(
                f"lower, upper, l1 and l2 have shapes {', '.join(map(str, sorted(shapes)))}; give "
                "vectors of one length, or numbers."
            )
        low, high = np.broadcast_arrays(self.lower, self.upper)
        wrong = (low > high) | (low == np.inf) | (high == -np.inf)
        if wrong.any():
            j = np.flatnonzero(wrong)[0]
            raise ValueError(
                f"lower = {low.reshape(-1)[j]:g} and upper = {high.reshape(-1)[j]:g}"
                f"{f' at coordinate {j}' if low.ndim else ''}: there is no number between them."
            )

    @classmethod
    def _made(cls, lower: Array, upper: Array, l1: Array, l2: Array) -> Box:
        """A box of arrays that were checked, in any form that goes with x."""
        box = Box.__new__(Box)
        for name, values in zip(
            ("lower", "upper", "l1", "l2"), (lower, upper, l1, l2), strict=True
        ):
            object.__setattr__(box, name, values)
        return box

    def __repr__(self) -> str:
        """What it was made of."""
        return f"Box(lower={_shown(self.lower)}, upper={_shown(self.upper)}{self._strengths()})"

    def _strengths(self) -> str:
        pairs = (("l1", self.l1), ("l2", self.l2))
        return "".join(f", {name}={_shown(v)}" for name, v in pairs if np.any(v))

    # ---- the function ----

    def value(self, x: Array) -> float:
        """g(x)."""
        if ((x < self.lower) | (x > self.upper)).any():
            return float(np.inf)
        return total(np.where(self.l2 > 0.0, 0.5 * self.l2 * x * x, 0.0) + self.l1 * np.abs(x))

    def prox(self, v: Array, tau: float | Array) -> Array:
        """clip(S(v, tau l1)/(1 + tau l2), lower, upper)."""
        soft = v - within(v, tau * self.l1)
        return self.nearest(soft / (1.0 + tau * self.l2))

    def argmin(self, slope: Array, curvature: Array, at: Array) -> Array:
        """clip(S(h x - G, l1)/(h + l2), lower, upper)."""
        v = curvature * at - slope
        return self.nearest((v - within(v, self.l1)) / (curvature + self.l2))

    def nearest(self, x: Array) -> Array:
        """x clipped."""
        return np.asarray(np.minimum(np.maximum(x, self.lower), self.upper))

    def dual_x(self, s: Array) -> Array:
        """x_s, infinite where g*(s) is."""
        soft = s - within(s, self.l1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = np.where(soft == 0.0, 0.0, soft / self.l2)  # +-inf without l2
        return self.nearest(x)

    def conj(self, s: Array) -> float:
        """g*(s) = s x_s - g(x_s)."""
        low, high = self.dual_low, self.dual_high
        if ((s < low) | (s > high)).any():
            return float(np.inf)
        x = self.dual_x(s)
        curved = np.where(self.l2 > 0.0, 0.5 * self.l2 * x * x, 0.0)
        return total(s * x - curved - self.l1 * np.abs(x))

    def dual_interval(self) -> tuple[Array, Array]:
        """Ends only where there is neither l2 nor an end of the box."""
        low = np.where((self.l2 > 0.0) | (self.lower > -np.inf), -np.inf, -self.l1)
        high = np.where((self.l2 > 0.0) | (self.upper < np.inf), np.inf, self.l1)
        shape = np.broadcast_shapes(low.shape, high.shape)
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)

    def fenchel_gap(self, x: Array, s: Array) -> Array:
        """(l2/2)(x - x_s)^2 + (l1 |x| - k x) - m (x - x_s), each term >= 0.

        s = k + l2 x_s + m with a subgradient k of l1|.| and a normal m of the box, both at x_s.
        """
        x_s = self.dual_x(s)
        off = x - x_s
        k = np.where(x_s == 0.0, within(s, self.l1), np.copysign(self.l1, x_s))
        at_end = (x_s == self.lower) | (x_s == self.upper)
        m = np.where(at_end, s - k - self.l2 * x_s, 0.0)
        bent = np.maximum(self.l1 * np.abs(x) - k * x, 0.0)
        return np.asarray(0.5 * self.l2 * off * off + bent + np.maximum(-m * off, 0.0))

    # ---- what it says of itself ----

    @cached_property
    def strong_convexity(self) -> float:
        """The least l2."""
        return float(np.min(self.l2))

    @cached_property
    def penalised_strength(self) -> float:
        """The least l2 of those that are not 0; 0 if all are."""
        some = np.asarray(self.l2)[np.asarray(self.l2) > 0.0]
        return float(some.min()) if some.size else 0.0

    def smooth_part(self) -> Array:
        """l2."""
        return np.asarray(self.l2)

    @cached_property
    def is_homogeneous(self) -> bool:
        """No l2, and no end but 0."""
        ends = (np.isinf(end) | (end == 0.0) for end in (self.lower, self.upper))
        return not np.any(self.l2) and bool(np.all([end.all() for end in ends]))

    def flat_interval(self) -> tuple[Array, Array] | None:
        """[-l1, l1], as far as the box goes; None where no coordinate has l1 and 0 in its box."""
        around = (self.l1 > 0.0) & (self.lower <= 0.0) & (self.upper >= 0.0)
        steep = around & ((self.l2 > 0.0) | np.isfinite(self.lower) | np.isfinite(self.upper))
        if not np.any(steep):
            return None
        low = np.where(around & (self.lower < 0.0), -self.l1, -np.inf)
        high = np.where(around & (self.upper > 0.0), self.l1, np.inf)
        return low, high

    def compiled_form(self) -> Bounded:
        """The numbers that it is made of."""
        return Bounded(self.l1, self.l2, self.lower, self.upper)

    def with_strengths(self, l1: float, l2: float) -> Box:
        """The same box."""
        refuse_uneven(self, self.l1, self.l2)
        return Box(self.lower, self.upper, l1, l2)

    def scaled(self, factor: Array) -> Box:
        """Ends over f, l1 times f, l2 times f^2."""
        return Box._made(
            np.asarray(self.lower / factor),
            np.asarray(self.upper / factor),
            np.asarray(factor * self.l1),
            np.asarray(factor * (factor * self.l2)),
        )

    def extended(self, d: int, *, free: int = 0, by_class: bool = False) -> Box:
        """Numbers for each of d coefficients; what is free has no ends."""
        parts = [
            padded(per_coordinate(self, name, getattr(self, name), d), free, by_class, fill)
            for name, fill in (("lower", -np.inf), ("upper", np.inf), ("l1", 0.0), ("l2", 0.0))
        ]
        return Box._made(*parts)

    # ---- enclosures ----

    def gap_above(self, x: Array, s_lo: Array, s_hi: Array, blur: float = 0.0) -> Array:
        """The sum of four terms >= 0 that is derived in `dualgap.regularizers.bounds`."""
        strengths = bounds.Strengths(
            self.l1, self.l2, has_l2=self.penalised_strength > 0.0, blur=blur
        )
        return bounds.gap_above(x, s_lo, s_hi, strengths, (self.lower, self.upper))

    def _is_outside(self, x: Array) -> bool:
        return bool(((x < self.lower) | (x > self.upper)).any())

    def value_above(self, x: Array, blur: float = 0.0) -> float:
        """At least g(x); the ends are exact, so that x is in the box or not."""
        outside = self._is_outside(x)
        return float(np.inf) if outside else bounds.value_above(x, self.l1, self.l2, blur)

    def value_below(self, x: Array, blur: float = 0.0) -> float:
        """At most g(x)."""
        outside = self._is_outside(x)
        return float(np.inf) if outside else bounds.value_below(x, self.l1, self.l2, blur)

    def inner_interval(self, blur: float = 0.0) -> tuple[Array, Array]:
        """Ends only where there is neither l2 nor an end of the box, l1 from inside."""
        l1 = at_least(self.l1, blur)
        low = np.where((self.l2 > 0.0) | (self.lower > -np.inf), -np.inf, -l1)
        high = np.where((self.l2 > 0.0) | (self.upper < np.inf), np.inf, l1)
        shape = np.broadcast_shapes(low.shape, high.shape)
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)

    def strength_below(self, blur: float = 0.0) -> Array:
        """l2 from below."""
        return np.asarray(at_least(self.l2, blur))

    def zero_interval(self, blur: float = 0.0) -> tuple[Array, Array]:
        """[-l1, l1] from inside, without an end where the box ends at 0; none if 0 is outside."""
        l1 = at_least(self.l1, blur)
        holds = (self.lower <= 0.0) & (self.upper >= 0.0)
        low = np.where(holds, np.where(self.lower < 0.0, -l1, -np.inf), np.inf)
        high = np.where(holds, np.where(self.upper > 0.0, l1, np.inf), -np.inf)
        shape = np.broadcast_shapes(low.shape, high.shape)
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)


def _shown(values: Array) -> str:
    if not np.ndim(values):
        return repr(float(values))
    if values.size and (values == values.flat[0]).all():
        return repr(float(values.flat[0]))
    return f"<{values.size} numbers>"
