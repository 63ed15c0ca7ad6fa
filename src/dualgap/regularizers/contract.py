"""What a regulariser is: a separable convex g, known by its values, prox and conjugate.

    g(x) = sum_j g_j(x_j),   every g_j convex, closed, >= 0, finite somewhere

One writes g for the d coefficients of a problem; `Problem` appends the free coordinate of an
intercept, and applies g to every column of x where there are several classes. What is required is
what the batch algorithms and every certificate need; the rest has a default that is derived from
it. `dualgap.check_regularizer` puts the laws below to the test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dualgap._names import needed
from dualgap._types import Array, Mask
from dualgap.enclosures.directed import UNIT
from dualgap.enclosures.strengths import at_least
from dualgap.regularizers.enclosures import Enclosures

NEEDED_BY: dict[str, str] = {
    "value": "every algorithm and every certificate",
    "prox": "every algorithm",
    "conj": "the dual value of every iterate",
    "dual_interval": "certificates, which scale dual points into it",
    "fenchel_gap": "certificates, whose gap is a sum of such terms",
    "strong_convexity": "the step sizes of every algorithm",
}
"""What has to be written, and who needs it."""

INTO = 1e-12
"""With a step as short as this prox moves a point into the domain and does nothing else."""
DOUBLINGS = 5
"""So many prox steps, each 16 times as long, lead to the maximiser of s x - g(x)."""


class Bounded(NamedTuple):
    """The form that compiled kernels know: l1 |x| + (l2/2) x^2 on [lower, upper]."""

    l1: Any
    l2: Any
    lower: Any
    upper: Any


class Regularizer(Enclosures, ABC):
    """Base of the regularisers: a separable convex function g >= 0 of the coefficients.

    A subclass writes `value`, `prox`, `conj`, `dual_interval`, `fenchel_gap` and
    `strong_convexity`; the other methods may be written where there is a better way than theirs.
    Arrays are float64 and of shape (d,); what comes back is new or read-only, never an argument
    that was changed.

    Notes
    -----
    The laws, which `dualgap.check_regularizer` tests, for every coordinate j and tau > 0:

    - g_j is convex and >= 0; `value` is +inf outside of its domain and nan nowhere.
    - x = prox(v, tau) minimises g_j(x) + (x - v)^2/(2 tau).
    - conj(s) is the largest s x - g_j(x), finite for s in the dual interval [low, high], which
      contains 0, and +inf outside of it.
    - fenchel_gap(x, s) = g_j(x) + g_j*(s) - s x, and is >= 0.
    - g_j(x) - (strong_convexity/2) x^2 is convex.

    With `gap_above`, `value_above`, `value_below` and `inner_interval` besides, which bound these
    for real numbers, certificates hold with the rounding of all operations included.
    """

    has_strengths: ClassVar[bool] = False
    """Whether this is the elastic net, with arrays l1 and l2 that every kernel can read."""
    has_bounds: ClassVar[bool] = False
    """Whether arrays l1, l2, lower and upper say everything: what bounded kernels read."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Say who needs what is missing, where Python would only say that it is missing."""
        if cls.__abstractmethods__:
            needs = needed(cls.__abstractmethods__, NEEDED_BY)
            raise TypeError(
                f"the regulariser {cls.__name__} lacks {needs}. See dualgap.regularizers."
                "Regularizer for what each has to return."
            )
        return super().__new__(cls)

    # ---- required ----

    @abstractmethod
    def value(self, x: Array) -> float:
        """g(x), +inf where x is outside of its domain.

        Parameters
        ----------
        x : array of shape (d,)

        Returns
        -------
        float
        """

    @abstractmethod
    def prox(self, v: Array, tau: float | Array) -> Array:
        """The minimiser of g(x) + sum_j (x_j - v_j)^2/(2 tau_j).

        Parameters
        ----------
        v : array of shape (d,)
        tau : float or array of shape (d,)
            Steps > 0.

        Returns
        -------
        array of shape (d,)
        """

    @abstractmethod
    def conj(self, s: Array) -> float:
        """g*(s) = max over x of s'x - g(x), +inf where there is none.

        Parameters
        ----------
        s : array of shape (d,)

        Returns
        -------
        float
        """

    @abstractmethod
    def dual_interval(self) -> tuple[Any, Any]:
        """The ends of the interval on which g_j* is finite, for every coordinate.

        Returns
        -------
        low, high : float or array of shape (d,)
            low <= 0 <= high; -inf and inf where there is no end. Both 0: the coordinate is free.
        """

    @abstractmethod
    def fenchel_gap(self, x: Array, s: Array) -> Array:
        """g_j(x_j) + g_j*(s_j) - s_j x_j, coordinate by coordinate, >= 0.

        Best as a sum of terms >= 0 (then set ``has_exact_gap = True``): at the optimum it is 0,
        and a difference of larger numbers would leave their rounding in every certificate.

        Parameters
        ----------
        x, s : array of shape (d,)
            x in the domain, s in the dual interval.

        Returns
        -------
        array of shape (d,)
        """

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """The largest lambda known for which g(x) - (lambda/2)|x|^2 is convex; 0 if none is."""

    # ---- optional ----

    @property
    def has_exact_gap(self) -> bool:
        """Whether `fenchel_gap` is a sum of terms >= 0, and not a difference of larger numbers."""
        return False

    @property
    def is_homogeneous(self) -> bool:
        """Whether g(t x) = t g(x) for t > 0: then g* is 0 wherever it is finite."""
        return False

    def argmin(self, slope: Array, curvature: Array, at: Array) -> Array:
        """The minimiser over t of slope (t - at) + (curvature/2)(t - at)^2 + g_j(t).

        Parameters
        ----------
        slope, curvature, at : array of shape (d,)
            curvature > 0.

        Returns
        -------
        array of shape (d,)
        """
        return self.prox(at - slope / curvature, 1.0 / curvature)

    def dual_x(self, s: Array) -> Array:
        """The x that attains g*(s), for a g that is strongly convex.

        Parameters
        ----------
        s : array of shape (d,)

        Returns
        -------
        array of shape (d,)
        """
        if not self.strong_convexity > 0.0:
            raise ValueError(
                f"{self!r} is not strongly convex, so that g*(s) has no one maximiser."
            )
        # prox(x + tau s, tau) is the minimiser of g - s'x + |. - x|^2/(2 tau), an error that
        # shrinks by 1 + tau lambda each time.
        tau = 1.0 / self.strong_convexity
        x = self.prox(tau * s, tau)
        for _ in range(DOUBLINGS):
            tau *= 16.0
            x = self.prox(x + tau * s, tau)
        return x

    def nearest(self, x: Array) -> Array:
        """The point of the domain that is nearest to x: x itself where g(x) is finite.

        Parameters
        ----------
        x : array of shape (d,)

        Returns
        -------
        array of shape (d,)
        """
        return x if np.isfinite(self.value(x)) else self.prox(x, INTO)

    def smooth_part(self) -> Array:
        """l2_j >= 0 for which g_j(x) - (l2_j/2) x^2 is convex, coordinate by coordinate.

        Returns
        -------
        array of shape (d,), or without axes where one number serves all
        """
        return np.asarray(float(self.strong_convexity))

    def flat_interval(self) -> tuple[Any, Any] | None:
        """The ends of the interval on which g_j* is 0, the slopes of g_j at 0, if worth knowing.

        Beyond it g* may be finite but steep, as that of a wide box is: then a dual point scaled
        into this interval may prove more.

        Returns
        -------
        low, high : float or array of shape (d,), or None
            low <= 0 <= high; infinite where there is nothing to be gained.
        """
        return None

    def compiled_form(self) -> Bounded | None:
        """The same g as l1 |x| + (l2/2) x^2 on [lower, upper], if it is of this form.

        Then it is solved by the compiled kernels (every algorithm, where there are no bounds).

        Returns
        -------
        Bounded or None
            Numbers, or arrays of shape (d,).
        """
        return None

    def with_strengths(self, l1: float, l2: float) -> Regularizer:
        """The same with these strengths, for the points of a path.

        Parameters
        ----------
        l1, l2 : float

        Returns
        -------
        Regularizer
        """
        raise ValueError(
            f"{self!r} has no strengths l1 and l2 that a path could change: it lacks the method "
            "'with_strengths', needed by paths and cross-validation. Solve point by point."
        )

    def scaled(self, factor: Array) -> Regularizer | None:
        """The regulariser of w where x_j = factor_j w_j.

        Parameters
        ----------
        factor : array of shape (d,)
            > 0.

        Returns
        -------
        Regularizer or None
            None: the package wraps this one (`regularizers.wrappers`).
        """
        return None

    def extended(self, d: int, *, free: int = 0, by_class: bool = False) -> Regularizer | None:
        """g on d coefficients and ``free`` coordinates after them, on which it is 0.

        Parameters
        ----------
        d : int
            Coefficients.
        free : int
            Coordinates that follow.
        by_class : bool
            Whether x is a matrix, to each column of which g applies.

        Returns
        -------
        Regularizer or None
            None: the package wraps this one (`regularizers.wrappers`).
        """
        return None

    # ---- for certificates ----

    def strength_below(self, blur: float = 0.0) -> Array:
        """At most the l2_j for which g_j(x) - (l2_j/2) x^2 is convex, as real numbers.

        By default `smooth_part` less a share 4 u for its rounding, 0 without enclosures.

        Parameters
        ----------
        blur : float

        Returns
        -------
        array of shape (d,), or without axes where one number serves all
        """
        l2 = np.asarray(self.smooth_part(), dtype=np.float64)
        return np.asarray(at_least(l2, blur + 4.0 * UNIT) if self.has_enclosures else 0.0 * l2)

    # ---- what follows, for the package itself ----

    @cached_property
    def dual_low(self) -> Array:
        """The lower ends of the dual intervals."""
        return np.asarray(self.dual_interval()[0], dtype=np.float64)

    @cached_property
    def dual_high(self) -> Array:
        """The upper ends."""
        return np.asarray(self.dual_interval()[1], dtype=np.float64)

    @cached_property
    def free(self) -> Mask:
        """Coordinates without any penalty, which ask (A'Qy)_j = 0 of a dual point."""
        return np.asarray((self.dual_low == 0.0) & (self.dual_high == 0.0))

    @cached_property
    def has_free(self) -> bool:
        """Some coordinate is free."""
        return bool(self.free.any())

    @cached_property
    def only_last_is_free(self) -> bool:
        """The last coordinate is free, as an intercept is, and no other."""
        return bool(self.free[-1].all()) and not self.free[:-1].any()

    @cached_property
    def has_boxed(self) -> bool:
        """Some coordinate that is not free asks something of a dual point."""
        limited = np.isfinite(self.dual_low) | np.isfinite(self.dual_high)
        return bool((limited & ~self.free).any())

    @cached_property
    def flat(self) -> tuple[Array, Array] | None:
        """The flat interval, if there is one."""
        ends = self.flat_interval()
        return None if ends is None else (np.asarray(ends[0]), np.asarray(ends[1]))

    @cached_property
    def may_scale(self) -> bool:
        """Whether there is an interval into which a dual point has to, or had better, be scaled."""
        return self.has_boxed or self.flat is not None

    @cached_property
    def one_sided(self) -> Array:
        """1 where (A'Qy)_j >= 0 is asked for, -1 where <= 0 is, else 0.

        No scaling brings a dual point there.
        """
        upper, lower = self.dual_high == 0.0, self.dual_low == 0.0
        return np.where(self.free, 0.0, upper.astype(np.float64) - lower)

    @cached_property
    def has_one_sided(self) -> bool:
        """Some coordinate asks for a sign of (A'Qy)_j."""
        return bool(self.one_sided.any())

    @property
    def has_l1(self) -> bool:
        """Whether g may have kinks, or ends, that a Newton step does not see."""
        return True

    @property
    def penalised_strength(self) -> float:
        """The strong convexity of the coordinates that are not free: what estimates start from."""
        return float(self.strong_convexity)
