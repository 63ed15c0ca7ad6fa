"""Bounds on a regulariser that hold for real numbers, the rounding of floats included."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dualgap._types import Array

ENCLOSURES = ("gap_above", "value_above", "value_below", "inner_interval")
"""What has to be written beside, for certificates that hold with all rounding included."""
ENCLOSED = ("value", "conj", "dual_interval", "fenchel_gap")
"""What says which function it is: a subclass that changes it does not inherit enclosures."""


class Enclosures:
    """What certificates ask of a regulariser besides its values; see `Regularizer`."""

    has_enclosures: ClassVar[bool] = False
    """Whether `gap_above`, `value_above`, `value_below` and `inner_interval` are written, bounds
    that hold for real numbers: True by itself for a subclass that defines them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """See whether there are enclosures, and whether they are of this very function."""
        super().__init_subclass__(**kwargs)
        if "has_enclosures" in cls.__dict__:
            return
        own = cls.__dict__.keys()
        written = all(getattr(cls, name) is not getattr(Enclosures, name) for name in ENCLOSURES)
        stale = any(name in own for name in ENCLOSED) and not all(n in own for n in ENCLOSURES)
        cls.has_enclosures = written and not stale

    def gap_above(self, x: Array, s_lo: Array, s_hi: Array, blur: float = 0.0) -> Array:
        """At least g_j(x_j) + g_j*(s) - s x_j for every real s in [s_lo_j, s_hi_j].

        Of s outside of the dual interval nothing is said. The expression is convex in s, so that
        the larger one of its values at the two ends bounds it, each end first moved into the
        interval if it is outside.

        Parameters
        ----------
        x, s_lo, s_hi : array of shape (d,)
            Floats, taken as the real numbers that they are.
        blur : float
            Strengths stand for all real numbers within this share of them, and the bound holds
            for each of those.

        Returns
        -------
        array of shape (d,)
            inf where nothing better can be said, nan nowhere; 0 on a coordinate without penalty.
        """
        raise NotImplementedError(f"{self!r} has no enclosures.")

    def value_above(self, x: Array, blur: float = 0.0) -> float:
        """At least g(x), +inf where x is outside of its domain.

        Parameters
        ----------
        x : array of shape (d,)
        blur : float

        Returns
        -------
        float
        """
        raise NotImplementedError(f"{self!r} has no enclosures.")

    def value_below(self, x: Array, blur: float = 0.0) -> float:
        """At most g(x), and >= 0.

        Parameters
        ----------
        x : array of shape (d,)
        blur : float

        Returns
        -------
        float
        """
        raise NotImplementedError(f"{self!r} has no enclosures.")

    def inner_interval(self, blur: float = 0.0) -> tuple[Any, Any]:
        """Floats low <= 0 <= high with [low, high] inside of the dual interval.

        Parameters
        ----------
        blur : float

        Returns
        -------
        low, high : float or array of shape (d,)
            As wide as floats allow; -inf and inf where there is no end.
        """
        raise NotImplementedError(f"{self!r} has no enclosures.")

    def zero_interval(self, blur: float = 0.0) -> tuple[Any, Any]:
        """Floats with every s between them a slope of g_j at 0: s x <= g_j(x) - g_j(0) for all x.

        If the s_j of every dual solution is strictly between them, x_j = 0 in every solution. This
        is not the dual interval, which is everything where g_j is strongly convex.

        Parameters
        ----------
        blur : float

        Returns
        -------
        low, high : float or array of shape (d,)
            low > high where nothing is known, as by default.
        """
        return np.inf, -np.inf
