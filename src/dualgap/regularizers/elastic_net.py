"""The regulariser: g(x) = sum_j l1_j |x_j| + (l2_j/2) x_j^2, with strengths per coordinate.

Elastic net, lasso, ridge and none are one formula with some strengths 0, so they are one class:
penalty weights, an unpenalised intercept and every diagonal change of variables give each
coordinate strengths of its own anyway. A coordinate with both strengths 0 is free: its
conjugate is finite only at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dualgap._arrays import total, weighted_sum, within
from dualgap._types import Array, Mask
from dualgap.enclosures.strengths import at_least
from dualgap.regularizers import bounds
from dualgap.regularizers.contract import Bounded, Regularizer
from dualgap.regularizers.strengths import given, padded, per_coordinate, refuse_uneven


@dataclass(frozen=True)
class ElasticNet(Regularizer):
    """g(x) = sum_j l1_j |x_j| + (l2_j/2) x_j^2.

    `Problem` makes one of its l1, l2 and penalty_weights.

    Parameters
    ----------
    l1, l2 : float or array of shape (d,)
        Strengths per coordinate, >= 0. Of shape (d, 1) where x is a matrix: one per row of x.
    """

    l1: Array
    l2: Array

    has_strengths: ClassVar[bool] = True
    has_exact_gap: ClassVar[bool] = True
    has_one_sided: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Numbers and lists become arrays."""
        if isinstance(self.l1, np.ndarray) and isinstance(self.l2, np.ndarray):
            return
        for name in ("l1", "l2"):
            object.__setattr__(self, name, given(name, getattr(self, name)))

    @cached_property
    def has_l1(self) -> bool:
        """Some coordinate has an l1 strength."""
        return bool((self.l1 > 0).any())

    @cached_property
    def has_l2(self) -> bool:
        """Some coordinate has an l2 strength."""
        return bool((self.l2 > 0).any())

    @cached_property
    def common_l2(self) -> float | None:
        """The l2 of every coordinate, if they share one: the case without a vector of strengths."""
        first = self.l2.flat[0]
        return float(first) if (self.l2 == first).all() else None

    @cached_property
    def strong_convexity(self) -> float:
        """The theorems' lambda = min_j l2_j: 0 as soon as one coordinate (an intercept) is free."""
        return float(self.l2.min())

    @cached_property
    def penalised_strength(self) -> float:
        """min l2_j over the coordinates that have one (0 if none has): what estimates start from.

        With an unpenalised intercept the theorems' lambda is 0; this is the l2 that the other
        coordinates feel.
        """
        penalised = self.l2[self.l2 > 0]
        return float(penalised.min()) if penalised.size else 0.0

    @cached_property
    def least_l1(self) -> float:
        """min l1_j over the coordinates that have one (inf if none has)."""
        return float(self.l1.min(where=self.l1 > 0, initial=np.inf))

    @cached_property
    def free(self) -> Mask:
        """Coordinates with both strengths 0, which ask (A'Qy)_j = 0 of a dual point."""
        return np.asarray((self.l1 == 0) & (self.l2 == 0))

    @cached_property
    def boxed(self) -> Mask:
        """Coordinates with l2_j = 0 < l1_j, which ask |(A'Qy)_j| <= l1_j of a dual point."""
        return np.asarray((self.l1 > 0) & (self.l2 == 0))

    @cached_property
    def box(self) -> Array:
        """l1 where a coordinate is boxed, elsewhere inf: what |(A'Qy)_j| must not exceed."""
        return np.where(self.boxed, self.l1, np.inf)

    def dual_interval(self) -> tuple[Array, Array]:
        """[-l1, l1] where l2 = 0, everything elsewhere."""
        high = np.where(self.l2 > 0, np.inf, self.l1)
        return -high, high

    def smooth_part(self) -> Array:
        """l2."""
        return self.l2

    def compiled_form(self) -> Bounded:
        """Without bounds."""
        return Bounded(self.l1, self.l2, -np.inf, np.inf)

    def with_strengths(self, l1: float, l2: float) -> ElasticNet:
        """An elastic net with these strengths, the same on every coordinate."""
        refuse_uneven(self, self.l1, self.l2)
        return ElasticNet(np.asarray(l1), np.asarray(l2))

    def scaled(self, factor: Array) -> ElasticNet:
        """l1 times f, l2 times f^2."""
        squares = factor * factor
        lost = not (np.isfinite(squares) & (squares > 0.0)).all()
        return ElasticNet(
            factor * self.l1, factor * (factor * self.l2) if lost else squares * self.l2
        )

    def extended(self, d: int, *, free: int = 0, by_class: bool = False) -> ElasticNet:
        """Strengths for each of d coefficients, and 0 for what is free."""
        l1, l2 = (
            per_coordinate(self, name, given(name, getattr(self, name)), d) for name in ("l1", "l2")
        )
        return ElasticNet(padded(l1, free, by_class), padded(l2, free, by_class))

    def nearest(self, x: Array) -> Array:
        """All x are in the domain."""
        return x

    @cached_property
    def divisors(self) -> Array:
        """l2, or inf where it is 0: what is divided by it there counts as 0."""
        return np.where(self.l2 > 0, self.l2, np.inf)

    @cached_property
    def has_boxed(self) -> bool:
        """Some coordinate is boxed."""
        return bool(self.boxed.any())

    @property
    def may_scale(self) -> bool:
        """What `has_boxed` says."""
        return self.has_boxed

    def value(self, x: Array) -> float:
        """g(x)."""
        if self.common_l2 is not None:
            curved = 0.5 * self.common_l2 * total(x * x) if self.has_l2 else 0.0
        else:
            curved = 0.5 * weighted_sum(self.l2, x * x)
            if curved != curved:  # 0 times a square that overflows
                curved = 0.5 * total(np.where(self.l2 > 0, self.l2 * x * x, 0.0))
        return curved + weighted_sum(self.l1, np.abs(x)) if self.has_l1 else curved

    def prox(self, v: Array, tau: float | Array) -> Array:
        """prox_{tau g}(v) = S(v, tau l1)/(1 + tau l2)."""
        if self.has_l1:
            v = v - within(v, tau * self.l1)  # soft threshold S
        if self.common_l2 is not None:
            return v / (1.0 + tau * self.common_l2) if self.has_l2 else v
        return v / (1.0 + tau * self.l2)

    def dual_x(self, s: Array) -> Array:
        """The x that attains g*(s) where l2_j > 0: S(s, l1)/l2; 0 elsewhere."""
        soft = s - within(s, self.l1) if self.has_l1 else s
        return soft / self.divisors

    def conj(self, s: Array) -> float:
        """g*(s) = sum_j max(|s_j| - l1_j, 0)^2/(2 l2_j), +inf where l2_j = 0 and |s_j| > l1_j."""
        if not self.has_l1 and self.strong_convexity > 0:
            if self.common_l2 is not None:
                return 0.5 * (total(s * s) / self.common_l2)
            return 0.5 * weighted_sum(s / self.l2, s)
        over = np.maximum(np.abs(s) - self.l1, 0.0)
        if ((over > 0) & (self.l2 == 0)).any():
            return np.inf
        ratio = np.divide(over, self.l2, out=np.zeros_like(over), where=self.l2 > 0)
        return 0.5 * weighted_sum(ratio, over)

    def fenchel_gap(self, x: Array, s: Array) -> Array:
        """g(x) + g*(s) - s x per coordinate, as a sum of two terms >= 0.

        (l2/2)(x - x_s)^2 + (l1|x| - k x) with x_s = S(s, l1)/l2 and k = clip(s, -l1, l1).
        A coordinate with l2 = 0 must have |s| <= l1.
        """
        curved: float | Array = 0.0
        if self.has_l2 or not self.has_l1:
            off = x - self.dual_x(s)
            curved = 0.5 * self.l2 * off * off
        if not self.has_l1:
            return np.asarray(curved)
        kept = within(s, self.l1)
        return np.asarray(curved + np.maximum(self.l1 * np.abs(x) - kept * x, 0.0))

    # ---- enclosures ----

    def gap_above(self, x: Array, s_lo: Array, s_hi: Array, blur: float = 0.0) -> Array:
        """|x|(l1 - clip(sgn(x) s, -l1, l1)) + (l2 x - S(s, l1))^2/(2 l2), both terms >= 0."""
        strengths = bounds.Strengths(self.l1, self.l2, self.has_l1, self.has_l2, blur)
        return bounds.gap_above(x, s_lo, s_hi, strengths)

    def value_above(self, x: Array, blur: float = 0.0) -> float:
        """At least g(x)."""
        return bounds.value_above(x, self.l1, self.l2, blur)

    def value_below(self, x: Array, blur: float = 0.0) -> float:
        """At most g(x)."""
        return bounds.value_below(x, self.l1, self.l2, blur)

    def inner_interval(self, blur: float = 0.0) -> tuple[Array, Array]:
        """[-l1, l1] from inside where l2 = 0, everything elsewhere."""
        high = np.where(self.l2 > 0, np.inf, at_least(self.l1, blur))
        return -high, high

    def strength_below(self, blur: float = 0.0) -> Array:
        """l2 from below."""
        return np.asarray(at_least(self.l2, blur))

    def zero_interval(self, blur: float = 0.0) -> tuple[Array, Array]:
        """[-l1, l1] from inside, whatever l2 is."""
        high = np.asarray(at_least(self.l1, blur))
        return -high, high
