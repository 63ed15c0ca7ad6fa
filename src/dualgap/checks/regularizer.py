"""The laws of a regulariser, tested at many points against their definitions.

Each law stands on its own: of prox and conjugate the definitions are used and not each other's
formulas. That prox is its own is seen by comparing its objective with that of other points; that
the conjugate is, by the inequality of Fenchel and Young at all points and its equality at the
subgradients s = (v - x)/tau that x = prox(v, tau) comes with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.checks._regularizer_bounds import ENCLOSURE_LAWS
from dualgap.checks.errors import LawError
from dualgap.regularizers import Box, ElasticNet, Regularizer
from dualgap.regularizers.capabilities import check_type
from dualgap.regularizers.wrappers import scaled

TOLERANCE = 1e-9
"""Relative differences up to this break no law: rounding is far less, a wrong formula far more."""
POINTS = (-40.0, -3.0, -1.0, -0.5, -0.1, -1e-3, 0.0, 1e-3, 0.2, 0.3, 1.1, 4.0, 25.0)
"""Values of a coordinate that are tried, besides random ones."""
STEPS = (1e-2, 0.4, 1.0, 30.0)
"""Steps tau with which prox is tried."""
FAR = 1e6
"""So far from 0 a conjugate that should be infinite shows it."""
INSIDE = 1.0 - 1e-6
"""Points are kept within this share of an end of the dual interval."""


def check_regularizer(regularizer: Regularizer, d: int = 4, *, random_state: int = 0) -> None:
    """Put the laws of `dualgap.regularizers.Regularizer` to the test.

    Parameters
    ----------
    regularizer : Regularizer
        The value to test.
    d : int
        Coefficients; the length of its arrays, where it has any.
    random_state : int
        Seed of the points that are drawn beside the fixed ones.

    Raises
    ------
    LawError
        The first law that does not hold, with the numbers that show it and what they should be.

    Examples
    --------
    >>> import dualgap
    >>> dualgap.check_regularizer(dualgap.regularizers.NonNegative(l1=0.3))
    """
    check_type(regularizer)
    laws = _Laws(regularizer, check.integer("d", d), np.random.default_rng(random_state))
    for law in (
        laws.forms,
        laws.values,
        laws.separable,
        laws.convex,
        laws.strongly_convex,
        laws.prox,
        laws.interval,
        laws.fenchel_young,
        laws.moreau,
        laws.argmin,
        laws.nearest,
        laws.scaled,
        laws.homogeneous,
        laws.compiled,
    ):
        law()
    if regularizer.has_enclosures:
        for enclosure in ENCLOSURE_LAWS:
            enclosure(laws)


class _Laws:
    """One regulariser, and the points at which it is looked at."""

    def __init__(self, g: Regularizer, d: int, rng: np.random.Generator) -> None:
        self.g, self.d = g, d
        drawn = 5.0 * rng.standard_normal(6)
        self.points = sorted((*POINTS, *(float(v) for v in drawn)))

    def fail(self, law: str, what: str) -> None:
        """Say it."""
        raise LawError(f"{self.g!r} breaks the law {law!r}: {what}")

    def full(self, value: float) -> Array:
        """The point with all coordinates the same."""
        return np.full(self.d, value)

    def inside(self) -> Iterator[Array]:
        """Points of the domain."""
        for value in self.points:
            yield np.array(self.g.nearest(self.full(value)))

    def dual(self) -> Iterator[Array]:
        """Points of the dual interval."""
        low, high = self.ends()
        for value in self.points:
            yield np.minimum(np.maximum(self.full(value), INSIDE * low), INSIDE * high)

    def ends(self) -> tuple[Array, Array]:
        """The ends of the dual interval."""
        low, high = (np.asarray(end, dtype=np.float64) for end in self.g.dual_interval())
        return np.array(np.broadcast_to(low, self.d)), np.array(np.broadcast_to(high, self.d))

    def at(self, base: Array, j: int, value: float) -> float:
        """g where coordinate j has this value and the others those of ``base``."""
        x = base.copy()
        x[j] = value
        return float(self.g.value(x))

    # ---- the laws ----

    def forms(self) -> None:
        """Numbers where numbers are asked for, arrays of the right shape, arguments left alone."""
        v = np.linspace(-1.0, 2.0, self.d)
        given = v.copy()
        low, high = self.g.dual_interval()
        for name, end in (("low", low), ("high", high)):
            if np.shape(end) not in ((), (self.d,)):
                self.fail(
                    "form",
                    f"{name} of dual_interval() has shape {np.shape(end)}; it should be a number "
                    f"or ({self.d},).",
                )
        for tau in (0.5, self.full(0.5)):
            x = self.g.prox(v, tau)
            kind = "a number" if np.ndim(tau) == 0 else "an array of steps"
            if np.shape(x) != (self.d,):
                self.fail(
                    "form",
                    f"prox(v, tau) with tau {kind} has shape {np.shape(x)}; it should have that "
                    f"of v, ({self.d},).",
                )
        if np.shape(self.g.fenchel_gap(x, np.zeros(self.d))) != (self.d,):
            self.fail(
                "form", f"fenchel_gap(x, s) should have shape ({self.d},), one per coordinate."
            )
        for name, number in (("value(x)", self.g.value(x)), ("conj(0)", self.g.conj(0.0 * v))):
            if np.ndim(number) != 0:
                self.fail("form", f"{name} is {number!r}; it should be one number.")
        if not np.array_equal(v, given):
            self.fail("form", "prox has changed its argument v; it should return a new array.")

    def values(self) -> None:
        """g >= 0, finite on its domain, and a number everywhere."""
        for x in self.inside():
            value = self.g.value(x)
            if not 0.0 <= value < np.inf:
                self.fail(
                    "g >= 0",
                    f"value(x) = {value:g} at x = {x}, where nearest leads; it should be "
                    "finite and >= 0.",
                )
        for value in self.points:
            if np.isnan(self.g.value(self.full(value))):
                self.fail("g >= 0", f"value(x) is nan at x = {value:g}; outside it should be inf.")

    def separable(self) -> None:
        """A coordinate's prox does not depend on the others, and g is a sum."""
        if self.d < 2:
            return
        for value in self.points:
            alone = self.g.prox(np.append(value, self.full(0.7)[1:]), 0.5)[0]
            with_others = self.g.prox(np.append(value, self.full(-2.0)[1:]), 0.5)[0]
            if abs(alone - with_others) > TOLERANCE * (1.0 + abs(alone)):
                self.fail(
                    "separable",
                    f"prox at v_0 = {value:g} is {alone:g} beside v_1 = 0.7 and {with_others:g} "
                    "beside v_1 = -2; a coordinate should not know of the others.",
                )
        a, b = (np.array(self.g.nearest(self.full(v))) for v in (0.9, -0.4))
        first, second = a.copy(), b.copy()
        first[0], second[0] = b[0], a[0]
        both, crossed = (self.g.value(x) + self.g.value(y) for x, y in ((a, b), (first, second)))
        if abs(both - crossed) > TOLERANCE * (1.0 + abs(both)):
            self.fail(
                "separable",
                f"g({a}) + g({b}) = {both:g}, but {crossed:g} with their first coordinates "
                "exchanged; for a sum over coordinates the two are the same.",
            )

    def _midpoints(self, law: str, strength: Array) -> None:
        base = np.array(self.g.nearest(np.zeros(self.d)))
        starts = list(self.inside())
        for a, b in zip(starts, starts[3:] + starts[:3], strict=True):
            for j in range(self.d):
                left, right = self.at(base, j, a[j]), self.at(base, j, b[j])
                middle = self.at(base, j, 0.5 * (a[j] + b[j]))
                bound = 0.5 * (left + right) - strength[j] / 8.0 * (a[j] - b[j]) ** 2
                if not middle <= bound + TOLERANCE * (1.0 + left + right):
                    self.fail(
                        law,
                        f"along coordinate {j} g is {left:g} at {a[j]:g}, {right:g} at {b[j]:g}, "
                        f"and {middle:g} halfway; it should be at most {bound:g} there"
                        + (f" (with strength {strength[j]:g})." if strength[j] else "."),
                    )

    def convex(self) -> None:
        """The law of convexity: g is nowhere above a chord."""
        self._midpoints("convex", np.zeros(self.d))

    def strongly_convex(self) -> None:
        """The law of strong convexity: g is below each chord by what `strong_convexity` says."""
        lam = float(self.g.strong_convexity)
        if not lam >= 0.0:
            self.fail("strong convexity", f"strong_convexity is {lam:g}; it should be >= 0.")
        self._midpoints("strong convexity", self.full(lam))
        smooth = np.broadcast_to(np.asarray(self.g.smooth_part(), dtype=np.float64), (self.d,))
        self._midpoints("smooth part", np.asarray(smooth))

    def _minimises(
        self, law: str, x: Array, rest: Callable[[float, int], float], where: str, name: str
    ) -> None:
        """g_j(x_j) + rest(x_j, j) is least at x, seen from many other points."""
        base = np.array(self.g.nearest(np.zeros(self.d)))
        for j in range(self.d):
            here = self.at(base, j, x[j]) + rest(x[j], j)
            near = [x[j] + step for step in (-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0)]
            for other in (*near, *(float(p[j]) for p in self.inside())):
                there = self.at(base, j, other) + rest(other, j)
                if not here <= there + TOLERANCE * (1.0 + abs(there)):
                    self.fail(
                        law,
                        f"{where} {name} gives x_{j} = {x[j]:.9g}, where the objective is "
                        f"{here:.9g} (with g of the other coordinates); at {other:.9g} it is "
                        f"{there:.9g}, so that x is not its minimiser.",
                    )

    def prox(self) -> None:
        """prox(v, tau) minimises g(x) + (x - v)^2/(2 tau)."""
        for tau in STEPS:
            for v in self.points:
                where = f"at v = {v:g}, tau = {tau:g}"
                x = np.asarray(self.g.prox(self.full(v), tau))

                def rest(t: float, j: int, v: float = v, tau: float = tau) -> float:
                    return (t - v) ** 2 / (2.0 * tau)

                self._minimises("prox", x, rest, where, "prox")
                spread = np.asarray(self.g.prox(self.full(v), self.full(tau)))
                if not np.allclose(spread, x, rtol=TOLERANCE, atol=TOLERANCE):
                    self.fail(
                        "prox",
                        f"{where} it is {x}, and {spread} with tau as an array of equal steps; the "
                        "two should be the same.",
                    )

    def interval(self) -> None:
        """conj is finite inside of the dual interval, which contains 0, and infinite outside."""
        low, high = self.ends()
        for j in range(self.d):
            if not low[j] <= 0.0 <= high[j]:
                self.fail(
                    "dual interval",
                    f"it is [{low[j]:g}, {high[j]:g}] at coordinate {j}; it should contain 0, for "
                    "g >= 0.",
                )
        for s in self.dual():
            if not np.isfinite(self.g.conj(s)):
                self.fail(
                    "dual interval",
                    f"conj(s) = {self.g.conj(s):g} at s = {s}, inside of [{low}, {high}]; it "
                    "should be finite.",
                )
        for end, sign in ((low, -1.0), (high, 1.0)):
            for j in map(int, np.flatnonzero(np.isfinite(end))):
                s = np.zeros(self.d)
                s[j] = end[j] + sign * 1e-3 * (1.0 + abs(end[j]))
                if np.isfinite(self.g.conj(s)):
                    self.fail(
                        "dual interval",
                        f"conj(s) = {self.g.conj(s):g} at s_{j} = {s[j]:g}, beyond the end "
                        f"{end[j]:g}; it should be inf.",
                    )

    def fenchel_young(self) -> None:
        """g(x) + g*(s) >= s'x, and fenchel_gap is the difference."""
        far = [np.array(self.g.nearest(self.full(sign * FAR))) for sign in (-1.0, 1.0)]
        for s in self.dual():
            conj = self.g.conj(s)
            for x in (*self.inside(), *far):
                value, product = self.g.value(x), float(s @ x)
                rounding = TOLERANCE * (1.0 + abs(value) + abs(conj) + float(np.abs(s) @ np.abs(x)))
                plain = value + conj - product
                if plain < -rounding:
                    self.fail(
                        "Fenchel-Young",
                        f"g(x) + g*(s) = {value:g} + {conj:g} is less than s'x = {product:g} at "
                        f"x = {x}, s = {s}; g*(s) should be at least {product - value:g}.",
                    )
                gap = np.asarray(self.g.fenchel_gap(x, s))
                if (gap < 0.0).any() or abs(float(gap.sum()) - plain) > rounding:
                    self.fail(
                        "Fenchel gap",
                        f"fenchel_gap(x, s) = {gap} at x = {x}, s = {s}; its entries should be "
                        f">= 0 and sum to g(x) + g*(s) - s'x = {plain:g}.",
                    )

    def moreau(self) -> None:
        """v = x + tau s with x = prox(v, tau): s is a subgradient, and g(x) + g*(s) = s'x."""
        low, high = self.ends()
        for tau in STEPS:
            for v in self.points:
                x = np.asarray(self.g.prox(self.full(v), tau))
                s = (v - x) / tau
                size = TOLERANCE * (1.0 + abs(v) / tau)
                where = f"at v = {v:g}, tau = {tau:g} prox is {x} and (v - x)/tau = {s}"
                if (s < low - size).any() or (s > high + size).any():
                    self.fail("Moreau", f"{where}, outside of the dual interval [{low}, {high}].")
                s = np.minimum(np.maximum(s, low), high)
                left, product = self.g.value(x) + self.g.conj(s), float(s @ x)
                if not abs(left - product) <= 10.0 * TOLERANCE * (1.0 + abs(left) + v * v / tau):
                    self.fail(
                        "Moreau",
                        f"{where}, a subgradient, but g(x) + g*(s) = {left:.9g} and s'x = "
                        f"{product:.9g}; the two should be the same.",
                    )

    def argmin(self) -> None:
        """It minimises slope (t - at) + (curvature/2)(t - at)^2 + g(t)."""
        for slope, h, at in ((0.3, 2.0, 0.5), (-4.0, 0.1, -1.0), (0.0, 5.0, 2.0)):
            x = np.asarray(self.g.argmin(self.full(slope), self.full(h), self.full(at)))

            def rest(t: float, j: int, a: float = slope, h: float = h, at: float = at) -> float:
                return a * (t - at) + 0.5 * h * (t - at) ** 2

            where = f"at slope {slope:g}, curvature {h:g}, from {at:g}"
            self._minimises("argmin", x, rest, where, "argmin")

    def nearest(self) -> None:
        """It leads into the domain, and no point of it anywhere else."""
        for x in self.inside():
            again = np.asarray(self.g.nearest(x))
            if not np.array_equal(again, x):
                self.fail("nearest", f"nearest({x}) = {again}, though g is finite at {x}.")

    def _same(self, law: str, other: Regularizer, f: Array | float, what: str) -> None:
        """Another regulariser is w -> g(f w)."""
        for w in self.points:
            x = self.full(w)
            pairs: list[tuple[str, Any, Any]] = [
                ("value", other.value(x), self.g.value(f * x)),
                ("conj", other.conj(x), self.g.conj(x / f)),
                ("prox", other.prox(x, 0.7), self.g.prox(f * x, 0.7 * f * f * self.full(1.0)) / f),
            ]
            for name, ours, theirs in pairs:
                if not np.allclose(ours, theirs, rtol=1e-7, atol=1e-9):
                    self.fail(
                        law, f"{name} of {what} at {w:g} is {ours}; by g itself it is {theirs}."
                    )

    def scaled(self) -> None:
        """scaled(f) is w -> g(f w)."""
        f = np.linspace(0.5, 2.0, self.d)
        self._same("scaled", scaled(self.g, f), f, f"scaled({f})")

    def homogeneous(self) -> None:
        """Where it says so, g(2 x) = 2 g(x)."""
        if not self.g.is_homogeneous:
            return
        for x in self.inside():
            once, twice = self.g.value(x), self.g.value(2.0 * x)
            if abs(twice - 2.0 * once) > TOLERANCE * (1.0 + once):
                self.fail(
                    "homogeneous",
                    f"is_homogeneous is True, but g(2x) = {twice:g}, g(x) = {once:g} at x = {x}.",
                )

    def compiled(self) -> None:
        """Where there is a compiled form, it is the same function."""
        form = self.g.compiled_form()
        if form is None:
            return
        bounded = np.any(np.isfinite(form.lower)) or np.any(np.isfinite(form.upper))
        same: Regularizer = ElasticNet(form.l1, form.l2)
        if bounded:
            same = Box(form.lower, form.upper, form.l1, form.l2)
        self._same("compiled form", same, 1.0, f"the compiled form {form}")
