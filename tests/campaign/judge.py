"""The judge: what was claimed, held against P in balls of 400 bits and against a better point.

A lower bound on P(x) - P* is enough to convict, and only such are used: P(x) less P at another
point, that is found in decimals. Balls contain what they stand for, so that a difference of balls
that is above a gap proves the gap false; where P is rational, exact rationals have to agree.
"""

import decimal
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from tests.certificate.cases import Case

from .balls import BITS, Balls
from .charges import Evidence, charged, reach
from .decimals import RATIONAL, WORK, Objective, exact, rational_value
from .existence import find_ray
from .polish import NOTHING, Better, polish
from .runs import Claim

FLOOR = Decimal("1e-12")
"""CONVERGED and STATIONARY are relative to max(P, this times P0), P0 that of the null model."""
SLACK = Decimal("1.000001")
"""On `tol`, because P itself is rounded."""
LEAST = Decimal(2) ** -1022
"""The least normal float64: what is short by less is convicted under a name of its own."""
HUGE = arb("1e999999999999999")
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
    P: Decimal = Decimal("Infinity")
    """P at the better point: an upper bound on P*."""
    above: list[float] = field(default_factory=list)
    """P(x) - P at the better point, for the claims that have an x, in their order."""


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


def as_decimal(value: arb) -> Decimal:
    """The middle of a ball; 0 or infinite beyond the exponents that decimals have."""
    if not value.is_finite() or value > HUGE:
        return Decimal("Infinity")
    return Decimal(0) if abs(value) < 1 / HUGE else Decimal(value.mid().str(90, radius=False))


def joined(case: Case, claim: Claim) -> np.ndarray:
    """(x, c), the floats themselves."""
    x = np.asarray(claim.x, dtype=float)
    if not case.fit_intercept:
        return x
    return np.concatenate((x, np.reshape(np.asarray(claim.c, float), (1, *x.shape[1:]))))


class _Court:
    def __init__(self, case: Case, claims: list[Claim]) -> None:
        self.case, self.claims = case, claims
        self.objective, self.balls = Objective(case), Balls(case)
        self.points: dict[bytes, tuple[np.ndarray, Decimal]] = {}
        self.given: dict[bytes, np.ndarray] = {}
        self.values: dict[bytes, arb] = {}
        for claim in claims:
            key = self._key(claim)
            if key not in self.points:
                X = self.objective.join(claim.x, claim.c)
                self.given[key] = joined(self.case, claim)
                self.values[key] = self.balls.value(self.given[key])
                self.points[key] = X, as_decimal(self.values[key])

    @staticmethod
    def _key(claim: Claim) -> bytes:
        return np.asarray(claim.x, float).tobytes() + np.asarray(claim.c, float).tobytes()

    def _of(self, claim: Claim) -> tuple[np.ndarray, Decimal]:
        return self.points[self._key(claim)]

    def verdict(self, out: list[Conviction]) -> Verdict:
        X, P = min(self.points.values(), key=lambda pair: pair[1])
        if not P.is_finite():
            X = self.objective.nearest(X * 0)
            P = self.objective.value(X)
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
        at = self.balls.value(self.better.X)
        self.evidence = Evidence(self.balls, self.objective, self.better, at)
        rows.P = as_decimal(at)
        for claim in self.claims:
            out += self._false_gap(claim)
            out += [
                Conviction(what, claim.label, details)
                for what, details in charged(self.evidence, claim, self._of(claim)[0])
            ]
            rows.above.append(float(max(self._of(claim)[1] - rows.P, Decimal(0))))
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
        if not claim.certified:
            return []
        X, P = self._of(claim)
        Y = reach(self.evidence, claim, X)
        with ctx.workprec(BITS):
            at = self.evidence.P if Y is self.better.X else self.balls.value(Y)
            excess = self.values[self._key(claim)] - at
            if not excess > arb(claim.gap) or not self._agreed(claim, X, Y):
                return []
        more = as_decimal(excess)
        details = f"P(x) - P* >= {more:.6g} > gap = {claim.gap:.6g}, P(x) = {P:.6g}"
        what = f"false gap, {self._band(more, P, claim)}"
        return [Conviction(what, claim.label, details, Y)]

    def _agreed(self, claim: Claim, X: np.ndarray, Y: np.ndarray) -> bool:
        """Whether exact rationals find the gap false, too, where there are any."""
        if self.objective.loss not in RATIONAL or not self.objective.is_inside(X):
            return True
        first = rational_value(self.case, self.given[self._key(claim)])
        return first - rational_value(self.case, Y) > Fraction(claim.gap)

    def _band(self, more: Decimal, P: Decimal, claim: Claim) -> str:
        if more <= Decimal(claim.gap) + LEAST:
            return "underflow"
        if not P.is_finite():
            return "gross"
        unit = max(P, FLOOR * self.objective.value(self.objective.nearest(self.better.X * 0)))
        short = (more - Decimal(claim.gap)) / unit
        return next(name for name, least in BANDS.items() if short >= least)

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
            if settled or self.case.loss not in ("logistic", "multinomial", "poisson"):
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
        known = {one.name for one in fields(case)}
        # Bounds are no part of it: P0 is a unit, and what they would leave of it may be nothing.
        objective = Objective(replace(case, **dict.fromkeys(known & {"lower", "upper"})))
        if case.fit_intercept:
            names = known & {"penalty_weights", "lower", "upper"}
            nothing = replace(case, A=np.zeros((case.shape[0], 0)), **dict.fromkeys(names))
            objective = Objective(nothing)
        X = objective.nearest(exact(np.zeros(objective.shape)))
        P = objective.value(X)
        return polish(objective, X, P, aim=P / 10**6).P if case.fit_intercept else P
