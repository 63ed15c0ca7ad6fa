"""Regularisers made of another: on more coordinates, and in other units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dualgap._types import Array
from dualgap.enclosures.directed import sum_down, sum_up
from dualgap.regularizers.contract import Regularizer
from dualgap.regularizers.strengths import padded, per_coordinate


def scaled(g: Regularizer, factor: Array) -> Regularizer:
    """The regulariser of w where x_j = factor_j w_j: its own, or g wrapped."""
    return g.scaled(factor) or Scaled(g, factor)


def extended(g: Regularizer, d: int, *, free: int = 0, by_class: bool = False) -> Regularizer:
    """The regulariser of d coefficients and free coordinates after them: its own, or g wrapped."""
    return g.extended(d, free=free, by_class=by_class) or Extended(g, d, free, by_class)


def interval(g: Regularizer, d: int) -> tuple[Array, Array]:
    """The dual interval of d coordinates; what cannot be one is refused."""
    low, high = g.dual_interval()
    low = per_coordinate(g, "low of the dual_interval", low, d)
    high = per_coordinate(g, "high of the dual_interval", high, d)
    wrong = ~((low <= 0.0) & (high >= 0.0))
    if wrong.any():
        j = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"the dual_interval of {g!r} at coordinate {j} is [{low[j]:g}, {high[j]:g}], which "
            "does not contain 0: a regulariser is >= 0."
        )
    return low, high


def smooth(g: Regularizer, d: int) -> Array:
    """Its smooth part on d coordinates."""
    return per_coordinate(g, "smooth_part", g.smooth_part(), d)


@dataclass(frozen=True, eq=False)
class Extended(Regularizer):
    """g on the first d coordinates (rows, if x is a matrix), 0 on the ``count`` that follow."""

    g: Regularizer
    d: int
    count: int
    by_class: bool

    def __post_init__(self) -> None:
        """Look at what there is one of for each coordinate."""
        _ = self._ends, self._smooth
        object.__setattr__(self, "has_enclosures", self.g.has_enclosures)  # of this value alone

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        low, high = interval(self.g, self.d)
        return self._padded(low), self._padded(high)

    def _padded(self, values: Array) -> Array:
        """The values, then zeros for the free coordinates, in a form that goes with x."""
        return padded(values, self.count, self.by_class)

    def _columns(self, x: Array) -> list[Array]:
        """What g is applied to."""
        rows = x[: self.d]
        return [rows] if x.ndim == 1 else [np.ascontiguousarray(c) for c in rows.T]

    def _joined(self, columns: list[Array], like: Array, rest: Array) -> Array:
        out = np.empty(like.shape)
        out[: self.d] = columns[0] if like.ndim == 1 else np.stack(columns, axis=1)
        out[self.d :] = rest
        return out

    def _steps(self, tau: float | Array) -> float | Array:
        return tau if np.ndim(tau) == 0 else np.reshape(tau, -1)[: self.d]

    def value(self, x: Array) -> float:
        """g of every column."""
        return float(sum(self.g.value(column) for column in self._columns(x)))

    def prox(self, v: Array, tau: float | Array) -> Array:
        """That of g; free coordinates stay."""
        parts = [self.g.prox(column, self._steps(tau)) for column in self._columns(v)]
        return self._joined(parts, v, v[self.d :])

    def conj(self, s: Array) -> float:
        """g* of every column; +inf off 0 on a free coordinate."""
        if s[self.d :].any():
            return float(np.inf)
        return float(sum(self.g.conj(column) for column in self._columns(s)))

    def dual_interval(self) -> tuple[Array, Array]:
        """That of g; {0} on free coordinates."""
        return self._ends

    def fenchel_gap(self, x: Array, s: Array) -> Array:
        """That of g; 0 on free coordinates, where s is 0."""
        pairs = zip(self._columns(x), self._columns(s), strict=True)
        return self._joined([self.g.fenchel_gap(a, b) for a, b in pairs], x, np.zeros(()))

    @property
    def strong_convexity(self) -> float:
        """0 as soon as one coordinate is free."""
        return 0.0 if self.count else float(self.g.strong_convexity)

    @property
    def penalised_strength(self) -> float:
        """That of g."""
        return float(self.g.strong_convexity)

    @cached_property
    def _smooth(self) -> Array:
        return self._padded(smooth(self.g, self.d))

    def smooth_part(self) -> Array:
        """That of g, and 0."""
        return self._smooth

    def flat_interval(self) -> tuple[Array, Array] | None:
        """That of g; everything on free coordinates."""
        ends = self.g.flat_interval()
        if ends is None:
            return None
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (self.d,)) for end in ends)
        return (
            padded(low, self.count, self.by_class, fill=-np.inf),
            padded(high, self.count, self.by_class, fill=np.inf),
        )

    def nearest(self, x: Array) -> Array:
        """That of g; free coordinates stay."""
        return self._joined([self.g.nearest(c) for c in self._columns(x)], x, x[self.d :])

    @property
    def has_exact_gap(self) -> bool:
        """That of g."""
        return self.g.has_exact_gap

    @property
    def is_homogeneous(self) -> bool:
        """That of g."""
        return self.g.is_homogeneous

    def gap_above(self, x: Array, s_lo: Array, s_hi: Array, blur: float = 0.0) -> Array:
        """That of g; 0 on free coordinates."""
        columns = zip(*(self._columns(v) for v in (x, s_lo, s_hi)), strict=True)
        parts = [self.g.gap_above(a, low, high, blur) for a, low, high in columns]
        return self._joined(parts, x, np.zeros(()))

    def value_above(self, x: Array, blur: float = 0.0) -> float:
        """Those of every column."""
        return sum_up(np.array([self.g.value_above(c, blur) for c in self._columns(x)]))

    def value_below(self, x: Array, blur: float = 0.0) -> float:
        """Those of every column."""
        return sum_down(np.array([self.g.value_below(c, blur) for c in self._columns(x)]))

    def inner_interval(self, blur: float = 0.0) -> tuple[Array, Array]:
        """That of g; {0} on free coordinates."""
        low, high = (
            self._padded(per_coordinate(self.g, "inner_interval", end, self.d))
            for end in self.g.inner_interval(blur)
        )
        return low, high

    def strength_below(self, blur: float = 0.0) -> Array:
        """That of g, and 0."""
        least = self.g.strength_below(blur)
        return self._padded(per_coordinate(self.g, "strength_below", least, self.d))

    def zero_interval(self, blur: float = 0.0) -> tuple[Array, Array]:
        """That of g; {0}, inside of which there is nothing, on free coordinates."""
        low, high = (
            self._padded(per_coordinate(self.g, "zero_interval", end, self.d))
            for end in self.g.zero_interval(blur)
        )
        return low, high


@dataclass(frozen=True, eq=False)
class Scaled(Regularizer):
    """h(w) = g(f w), coordinate by coordinate; h*(s) = g*(s/f)."""

    g: Regularizer
    f: Array

    def value(self, x: Array) -> float:
        """g(f w)."""
        return self.g.value(self.f * x)

    def prox(self, v: Array, tau: float | Array) -> Array:
        """With t = f w it is g(t) + (t - f v)^2/(2 tau f^2) that is minimised."""
        return self.g.prox(self.f * v, tau * self.f * self.f) / self.f

    def conj(self, s: Array) -> float:
        """g*(s/f)."""
        return self.g.conj(s / self.f)

    def dual_interval(self) -> tuple[Array, Array]:
        """f times that of g."""
        low, high = interval(self.g, self.f.size)
        return self.f * low, self.f * high

    def fenchel_gap(self, x: Array, s: Array) -> Array:
        """s w = (s/f)(f w)."""
        return self.g.fenchel_gap(self.f * x, s / self.f)

    @property
    def strong_convexity(self) -> float:
        """f^2 times that of g, the least."""
        return float(self.smooth_part().min())

    def smooth_part(self) -> Array:
        """f^2 times that of g."""
        return np.asarray(self.f * (self.f * smooth(self.g, self.f.size)))

    @property
    def has_exact_gap(self) -> bool:
        """That of g."""
        return self.g.has_exact_gap

    @property
    def is_homogeneous(self) -> bool:
        """That of g."""
        return self.g.is_homogeneous

    def nearest(self, x: Array) -> Array:
        """x itself where it is in the domain."""
        t = self.f * x
        near = self.g.nearest(t)
        return np.where(near == t, x, near / self.f)
