"""One problem, all that is asked of the library about it, and the verdict."""

import functools
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap
from tests.certificate.cases import Case

from .judge import Verdict, judge
from .problems import Generated
from .rigor_kinds import POINTS
from .runs import SLOW, Claim, certify, solve
from .tightness import float_gap, penalty_of, tightness

TOLERANCES = {"rigor": (1e-6, 1e-12)}
"""By family; the others, and problems from files, have these:"""
OTHERWISE = (1e-4, 1e-6, 1e-9, 1e-12)
PERTURBED = 3
"""Points near the end of the last run, each certified with its y and without."""
UNANSWERED = "REFUSED", "EXCEPTION", "TIMEOUT"
NAMED = 0.25
"""The share of problems that a named algorithm is run on, too."""
ALGORITHMS = (
    "bpd", "opt-bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd", "spdc", "ada-spdc", "df-spdc",
    "adf-spdc", "svrg", "katyusha", "newton", "sdca", "working-set", "prox-newton",
)  # fmt: skip


@dataclass
class Examination:
    """A problem with the claims about it and the verdict."""

    of: Generated
    claims: list[Claim] = field(repr=False)
    verdict: Verdict
    seconds: float = 0.0

    def record(self) -> dict[str, Any]:
        """What is written down: one JSON line."""
        return {
            "family": self.of.family,
            "index": self.of.index,
            "kind": self.of.kind,
            "loss": self.of.case.loss,
            "penalty": penalty_of(self.of.case),
            "minimiser": self.verdict.minimiser,
            "settled": self.verdict.settled,
            "far": self.verdict.far,
            "seconds": round(self.seconds, 4),
            "runs": [
                {
                    "algorithm": claim.algorithm,
                    "tol": claim.tol,
                    "status": claim.status,
                    "kind": claim.kind,
                    "gap": claim.gap,
                    "passes": round(claim.passes, 2),
                    "seconds": round(claim.seconds, 4),
                    "slow": claim.seconds > SLOW,
                }
                for claim in self.claims
                if claim.algorithm
            ],
            "certificates": self.certificates(),
            "convictions": [
                {"what": c.what, "label": c.label, "details": c.details}
                for c in self.verdict.convictions
            ],
        }

    def certificates(self) -> list[dict[str, Any]]:
        """Every certificate that was judged: its kind, how tight it is, why it claims nothing."""
        pointed = [claim for claim in self.claims if claim.has_point]
        out = []
        for claim, above in zip(pointed, self.verdict.above, strict=True):
            if claim.status in UNANSWERED:
                continue
            row: dict[str, Any] = {"kind": claim.kind, "certified": claim.certified}
            if claim.certified:
                row["tight"], row["float"] = self._tightness(claim, above)
            elif claim.reason:
                row["reason"] = claim.reason
            out.append(row)
        return out

    def _tightness(self, claim: Claim, above: float) -> tuple[float | None, bool]:
        """How tight it is, and whether the gap in floats is known."""
        case = self.of.case
        problem = self._problem
        shown = float_gap(problem, problem.joined(np.asarray(claim.x, float), claim.c), claim.y)
        found = tightness(case, claim.primal, claim.gap, above, shown)
        return None if found is None else float(f"{found:.3g}"), shown is not None

    @functools.cached_property
    def _problem(self) -> dualgap.Problem:
        return dualgap.Problem(self.of.case.A, self.of.case.b, **self.of.case.arguments)


def examine(generated: Generated) -> Examination:
    """Run, certify, judge."""
    began = time.process_time()
    claims = all_claims(generated)
    verdict = judge(generated.case, claims)
    return Examination(generated, claims, verdict, time.process_time() - began)


def all_claims(generated: Generated) -> list[Claim]:
    """Runs of `auto`, now and then of a named algorithm, and certificates of points nearby."""
    case = generated.case
    # Not the numbers that made the problem: it would be the same if these were drawn otherwise.
    rng = np.random.default_rng([generated.seed, 7, generated.index])
    tolerances = TOLERANCES.get(generated.family, OTHERWISE)
    claims = [solve(case, tol=tol, watch=tol == 1e-6) for tol in tolerances]
    if rng.random() < NAMED:
        name, tol = str(rng.choice(ALGORITHMS)), float(rng.choice([1e-4, 1e-6]))
        claims.append(solve(case, name, tol, max_passes=200, watch=True))
    ended = [claim for claim in claims[: len(tolerances)] if claim.has_point]
    if ended:
        claims += nearby(rng, case, ended[-1])
        rng = np.random.default_rng([generated.seed, 8, generated.index])
        claims += perturbed(rng, case, ended[-1])
    return claims + attacked(generated)


def inside(case: Case, x: np.ndarray) -> np.ndarray:
    """x between the bounds, where there are any: outside of them P is infinite."""
    if not hasattr(case, "lower"):
        return x
    ends = (np.asarray(end, dtype=float) for end in (case.lower, case.upper))
    return np.clip(x, *(end[:, None] if end.ndim < x.ndim and end.ndim else end for end in ends))


def perturbed(rng: np.random.Generator, case: Case, end: Claim) -> list[Claim]:
    """Points at three distances of the end, with the y of the run and without any."""
    out = []
    for k in range(PERTURBED):
        scale = 10.0 ** rng.uniform(-16, -1)
        x = inside(case, end.x * (1 + scale * rng.standard_normal(end.x.shape)))
        c = np.asarray(end.c) * (1 + scale * rng.standard_normal(np.shape(end.c)))
        c = c if np.ndim(c) else float(c)
        for y, said in ((end.y, "with y"), (None, "without y")):
            out.append(certify(case, f"certify {k + 1}: x moved by {scale:.1e}, {said}", x, c, y))
    return out


def attacked(generated: Generated) -> list[Claim]:
    """Points that the kind of the problem brings along."""
    if generated.family != "rigor" or generated.kind not in POINTS:
        return []
    rng = np.random.default_rng([generated.seed, 9, generated.index])
    points = POINTS[generated.kind](rng, generated.case)
    return [certify(generated.case, label, x, 0.0, y) for label, x, y in points]


def nearby(rng: np.random.Generator, case: Case, end: Claim) -> list[Claim]:
    """Certificates of the end itself without its dual point, of points near it, and of 0."""
    out = [certify(case, "certify the end without y", end.x, end.c, None)]
    for given in (True, False):
        scale = 10.0 ** rng.integers(-16, 1)
        x = inside(case, end.x * (1 + scale * rng.standard_normal(end.x.shape)))
        c = np.asarray(end.c) * (1 + scale * rng.standard_normal(np.shape(end.c)))
        c = c if np.ndim(c) else float(c)
        y = None
        if given:
            y = end.y * (1 + rng.choice([0.0, scale, 1.0]) * rng.standard_normal(end.y.shape))
        label = f"certify x perturbed by {scale:g}, y {'given' if given else 'not given'}"
        out.append(certify(case, label, x, c, y))
    if rng.random() < 0.3 and end.x.shape[0] > 1:
        label = "certify where large products cancel"
        out.append(certify(case, label, cancelling(rng, case, end.x), end.c, end.y))
    zero = np.zeros_like(end.x), np.zeros_like(end.c) if np.ndim(end.c) else 0.0
    out.append(certify(case, "certify 0 with the last y", *zero, end.y))
    return out


def cancelling(rng: np.random.Generator, case: Case, x: np.ndarray) -> np.ndarray:
    """x moved by up to 1e12 along two columns, so that what one adds the other takes away."""
    A = case.A.toarray() if sp.issparse(case.A) else np.asarray(case.A)
    A = A.astype(float)
    j, k = rng.choice(A.shape[1], 2, replace=False)
    top = np.abs(A).max(axis=0)
    if not (top[j] > 0 and top[k] > 0):
        return x
    # In units of the largest entries, so that no product leaves the range of float64.
    first, second = A[:, j] / top[j], A[:, k] / top[k]
    far = 10.0 ** rng.uniform(0, 12)
    moved = np.array(x)
    moved[j] += far / top[j]
    moved[k] -= far * (first @ second) / (second @ second) / top[k]
    return moved if np.isfinite(moved).all() else x
