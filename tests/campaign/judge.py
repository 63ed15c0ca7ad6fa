"""The judge: what was claimed, held against P in decimals and against a better point.

A lower bound on P(x) - P* is enough to convict, and only such are used: P(x) less P at another
point, in exact rationals where P is rational, else in decimals with their error taken off.
"""

import decimal
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tests.certificate.cases import Case

from .decimals import OF_EXP, RATIONAL, WORK, Objective, exact, rational_value
from .existence import find_ray
from .polish import NOTHING, Better, polish
from .runs import Claim

FLOOR = Decimal("1e-12")
"""CONVERGED and STATIONARY are relative to max(P, this times P0), P0 that of the null model."""
SLACK = Decimal("1.000001")
"""On `tol`, because P itself is rounded."""
LEAST = Decimal(2) ** -1022
"""The least normal float64: no gap is asked to be finer."""
BANDS = {"gross": Decimal("1e-6"), "fine": Decimal("1e-12"), "rounding": Decimal(0)}
"""How false a gap is: by what it is short of, relative to max(P, 1e-12 P0)."""


@dataclass(frozen=True)
class Conviction:
    """What was done, by which call, and the evidence."""

    what: str
    label: str
    details: str
    better: np.ndarray | None = field(default=None, repr=False)
    """The point that convicts, where there is one."""


@dataclass
class Verdict:
    """What is known of a problem after the judge has seen it."""

    convictions: list[Conviction]
    minimiser: str = "exists or unknown"
    """"none" if proved that there is none."""
    settled: bool = True
    """Whether the better point is the best one, as far as it could matter to a gap."""
    steps: int = 0
    far: int = 0
    """Runs that ended STATIONARY, which claims nothing, further from P* than their tol."""


def judge(case: Case, claims: list[Claim]) -> Verdict:
    """Every conviction that holds against these claims on this problem."""
    out = [
        Conviction(what, claim.label, details) for claim in claims for what, details in claim.faults
    ]
    out += [
        Conviction("diverged", claim.label, "status DIVERGED")
        for claim in claims
        if claim.status == "DIVERGED"
    ]
    pointed = [claim for claim in claims if claim.has_point]
    if not pointed:
        return Verdict(out)
    with decimal.localcontext(WORK):
        return _Court(case, pointed).verdict(out)


class _Court:
    def __init__(self, case: Case, claims: list[Claim]) -> None:
        self.case, self.claims = case, claims
        self.objective = Objective(case)
        self.points = {}
        for claim in claims:
            key = self._key(claim)
            if key not in self.points:
                X = self.objective.join(claim.x, claim.c)
                self.points[key] = X, self.objective.value(X)

    @staticmethod
    def _key(claim: Claim) -> bytes:
        return np.asarray(claim.x, float).tobytes() + np.asarray(claim.c, float).tobytes()

    def _of(self, claim: Claim) -> tuple[np.ndarray, Decimal]:
        return self.points[self._key(claim)]

    def verdict(self, out: list[Conviction]) -> Verdict:
        X, P = min(self.points.values(), key=lambda pair: pair[1])
        gaps = [Decimal(claim.gap) for claim in self.claims if claim.certified]
        aim = min(gaps, default=Decimal(0)) / 1000
        said = {claim.status for claim in self.claims}
        if said & {"NO_MINIMISER", "STATIONARY"}:
            aim = Decimal(0)  # these are held against P* itself
        rows = Verdict(out)
        self.better = Better(X, P, P)
        if "NO_MINIMISER" in said:
            self._look_for_rays(rows)
        if self.better.P > P * NOTHING:
            self.better = polish(self.objective, self.better.X, self.better.P, aim=aim)
        rows.steps = self.better.steps
        rows.far = sum(
            self._of(claim)[1] - self.better.P > self._unit(self._of(claim)[1]) * Decimal(claim.tol)
            for claim in self.claims
            if claim.status == "STATIONARY"
        )
        rows.settled = self.better.left <= max(10 * aim, P * Decimal("1e-40"))
        if rows.minimiser != "none" and self.better.left > self.better.P * Decimal("1e-40"):
            self._look_for_rays(rows)
        for claim in self.claims:
            out += self._false_gap(claim)
            if claim.status:
                out += self._status(claim, rows)
        return rows

    def _look_for_rays(self, rows: Verdict) -> None:
        """Where P falls for ever, a far point along the ray is the better one."""
        said = [claim for claim in self.claims if claim.status == "NO_MINIMISER"]
        ray = find_ray(self.objective, *[self._of(claim)[0] for claim in said])
        if ray is None:
            return
        rows.minimiser, rows.settled = "none", True
        best = self.better
        for power in (2, 4, 8, 16):
            X = best.X + ray * Decimal(10) ** power
            P = self.objective.value(X)
            if P < self.better.P:
                self.better = Better(X, P, Decimal(0))

    # ---- charges ----

    def _false_gap(self, claim: Claim) -> list[Conviction]:
        """P(x) - P(better) > gap, without any slack."""
        X, P = self._of(claim)
        if not claim.certified or P - self.better.P <= Decimal(claim.gap) + LEAST:
            return []
        excess = proved_difference(self.case, self.objective, X, self.better.X)
        if not excess > Fraction(claim.gap):
            return []
        unit = max(P, FLOOR * self.objective.value(X * 0))
        short = (P - self.better.P - Decimal(claim.gap)) / unit
        band = next(name for name, least in BANDS.items() if short >= least)
        details = f"P(x) - P* >= {_show(excess)} > gap = {claim.gap:.6g}, P(x) = {P:.6g}"
        return [Conviction(f"false gap, {band}", claim.label, details, self.better.X)]

    def _status(self, claim: Claim, rows: Verdict) -> list[Conviction]:
        P = self._of(claim)[1]
        if claim.status == "CONVERGED":
            if not claim.certified:
                return [Conviction("converged uncertified", claim.label, f"kind {claim.kind}")]
            if Decimal(claim.gap) > self._unit(P) * Decimal(claim.tol) * SLACK:
                details = f"gap {claim.gap:.3g}, P(x) {P:.3g}, P0 {self._null():.3g}"
                return [Conviction("converged above tol", claim.label, details)]
        if claim.status == "NO_MINIMISER" and rows.minimiser != "none":
            # Without a minimiser Newton's method gains a factor e a step, never all these digits.
            settled = self.better.left < self.better.P * Decimal("1e-45")
            if settled or self.case.loss not in ("logistic", "multinomial"):
                return [Conviction("minimiser denied", claim.label, f"P* = {self.better.P:.6g}")]
        return []

    def _unit(self, P: Decimal) -> Decimal:
        """max(P, 1e-12 P0)."""
        return max(P, FLOOR * self._null())

    def _null(self) -> Decimal:
        if not hasattr(self, "_null_value"):
            self._null_value = null_value(self.case)
        return self._null_value


def null_value(case: Case) -> Decimal:
    """P of the null model, from above: the best intercept alone, or x = 0 where there is none."""
    with decimal.localcontext(WORK):
        objective = Objective(case)
        if case.fit_intercept:
            nothing = replace(case, A=np.zeros((case.shape[0], 0)), penalty_weights=None)
            objective = Objective(nothing)
        X = exact(np.zeros(objective.shape))
        P = objective.value(X)
        return polish(objective, X, P, aim=P / 10**6).P if case.fit_intercept else P


def proved_difference(case: Case, objective: Objective, X: np.ndarray, Y: np.ndarray) -> Fraction:
    """A lower bound on P(X) - P(Y), exact for rational losses."""
    if objective.loss in RATIONAL:
        return rational_value(case, X) - rational_value(case, Y)
    with decimal.localcontext(WORK):
        first, second = objective.value(X), objective.value(Y)
        # Every term is >= 0 and right to OF_EXP of its digits, but for a few.
        return Fraction(first - second - (first + second) * Decimal(10) ** (12 - OF_EXP))


def _show(value: Fraction) -> str:
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.6g}"
