"""The certificate as a value: what users see."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dualgap._types import Array, Mask

Kind = Literal[
    "gap",
    "gap_scaled_dual",
    "gap_projected_dual",
    "gap_in_box",
    "float",
    "none",
]

ASSUMPTIONS = (
    "IEEE double precision, rounding to nearest, gradual underflow (tested in the calling thread); "
    "inner products are sums of products, in any order; the numbers in A, b, weights, offset, "
    "strengths, x and y are the floats that they are."
)
"""What a proof rests on besides mathematics."""

WORDS = {
    "gap": "duality gap",
    "gap_scaled_dual": "duality gap at a scaled dual point",
    "gap_projected_dual": "duality gap at a projected dual point",
}


@dataclass(frozen=True)
class Certificate:
    """A proof of how far x is from optimal at most, in the units of the objective.

    Attributes
    ----------
    primal : float
        P(x), in floats.
    dual : float
        A proved lower bound on P*.
    gap : float
        P(x) - P* <= gap in real arithmetic: what rounding may hide is part of it.
    relative_gap : float
        gap / max(P_lo, 1e-12 P0), what ``tol`` is held against; P_lo is a proved lower bound of
        P(x), and P0 the value of the null model: the intercept alone where there is one, x = 0
        without.
    certified : bool
        Whether the gap is proved (whether or not a tolerance was met). `ASSUMPTIONS` says what the
        proof rests on.
    kind : str
        How the bound was found: ``"gap"`` (y as it was given), ``"gap_scaled_dual"`` (y scaled
        into feasibility), ``"gap_projected_dual"`` (y projected). Not certified are
        ``"gap_in_box"`` (the gap is proved against every x' with |x'_j - x_j| <= box_j, and not
        beyond), ``"float"`` (an estimate in floats: the loss or the regulariser has no enclosures)
        and ``"none"``.
    distance : float
        |x - x*| <= distance, from strong convexity l2 (inf without; the intercept excluded).
    reason : str
        Why it is not certified; empty where it is.
    coef_error : array of the shape of x
        |x_j - x*_j| <= coef_error_j, proved; inf where nothing proves one.
    support : bool array of the shape of x
        True where x*_j = 0 is proved for every solution x*: the support of a solution is among the
        others.
    box : array, optional
        The radii of ``"gap_in_box"``.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    certified: bool
    kind: Kind
    distance: float
    reason: str = ""
    coef_error: Array = field(default_factory=lambda: np.empty(0), compare=False, repr=False)
    support: Mask = field(
        default_factory=lambda: np.empty(0, dtype=bool), compare=False, repr=False
    )
    box: Array | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """One line for people."""
        value = f"P(x) = {self.primal:.10g}"
        if self.certified:
            return (
                f"{value}, P(x) - P* <= {self.gap:.3g} "
                f"({self.relative_gap:.2g} relative; {WORDS[self.kind]})"
            )
        if self.kind == "float":
            return f"{value}, P(x) - P* is about {self.gap:.3g} or less, not proved: {self.reason}"
        if self.kind == "gap_in_box":
            return (
                f"no certificate: {value}, and no bound on P(x) - P* was found; within the box "
                f"around x P is at most {self.gap:.3g} lower. {self.reason}"
            )
        return f"no certificate: {value}, and no bound on P(x) - P* was found. {self.reason}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle; one of the version before lacks what came later, and has a rounding."""
        values: dict[str, Any] = {"reason": "", "box": None}
        values |= {"coef_error": np.empty(0), "support": np.empty(0, dtype=bool), **state}
        values.pop("rounding", None)
        self.__dict__.update(values)

    def is_better_than(self, other: Certificate) -> bool:
        """Whether it proves more: a smaller gap, and any proved one rather than none."""
        if self.certified != other.certified:
            return self.certified
        return self.gap < other.gap

    def plain(self) -> dict[str, Any]:
        """Numbers and words alone, without the arrays: what is printed and written to files."""
        names = ("primal", "dual", "gap", "relative_gap", "certified", "kind", "distance", "reason")
        return {name: getattr(self, name) for name in names}


def not_proved(
    primal: float, reason: str, kind: Kind = "none", gap: float = math.inf, scale: float = 0.0
) -> Certificate:
    """A certificate that proves nothing, and says why."""
    relative = gap / scale if 0.0 < scale < math.inf else math.inf
    return Certificate(
        primal=primal,
        dual=-math.inf,
        gap=gap,
        relative_gap=relative,
        certified=False,
        kind=kind,
        distance=math.inf,
        reason=reason,
    )
