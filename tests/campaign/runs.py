"""Calls of the library under guard: what it said, raised, warned of, and how long it took."""

import math
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dualgap
from tests.certificate.cases import Case

TIMEOUT = 10.0
"""Seconds of computing after which a call is broken off,"""
PATIENCE = 12.0
"""or so many times that on the clock: other work on the machine is not the library's fault."""
SLOW = 3.0
"""Seconds of computing that a problem of this size should never take."""
UNPROVED = "none", "float"
"""The kinds of certificates that claim nothing."""
HOME = str(Path(dualgap.__file__).parent)


class Overdue(BaseException):
    """Not an Exception, so that no handler in between takes it for its own."""


@dataclass
class Claim:
    """What the library said of a point: "P(x) - P* <= gap"."""

    label: str
    x: Any = None
    c: Any = 0.0
    y: Any = None
    gap: float = math.inf
    primal: float = math.nan
    dual: float = -math.inf
    """P* >= dual."""
    certified: bool = False
    kind: str = "none"
    reason: str = ""
    """Why it is not certified."""
    coef_error: Any = None
    """|x_j - x*_j| <= coef_error_j."""
    support: Any = None
    """True where x*_j = 0 in every solution."""
    box: Any = None
    """Of the kind "gap_in_box": it speaks of points with |x'_j - x_j| <= box_j alone."""
    status: str = ""
    """Of a run; "" for a call of `certify`."""
    algorithm: str = ""
    tol: float = 0.0
    max_passes: float = 1000
    seconds: float = 0.0
    passes: float = 0.0
    faults: list[tuple[str, str]] = field(default_factory=list)
    """What is wrong with it by its own words: (what, details)."""

    @property
    def has_point(self) -> bool:
        return self.x is not None and bool(np.isfinite(self.x).all())


def guarded(claim: Claim, call: Callable[[], Any]) -> Any:
    """Call; exceptions, warnings and time go into the claim."""

    def overdue(signum: int, frame: Any) -> None:
        raise Overdue

    clocks = {
        (signal.ITIMER_PROF, signal.SIGPROF): TIMEOUT,
        (signal.ITIMER_REAL, signal.SIGALRM): PATIENCE * TIMEOUT,
    }
    before = {name: signal.signal(name, overdue) for _, name in clocks}
    for (clock, _), seconds in clocks.items():
        signal.setitimer(clock, seconds)
    began = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            return call()
    except Overdue:
        claim.status = "TIMEOUT"
        claim.faults.append(("timeout", f"no answer after {TIMEOUT:g} s of computing"))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, ValueError | TypeError) and where.filename.startswith(HOME):
            claim.status = "REFUSED"  # in a sentence of the library's own
            claim.kind = said
        else:
            claim.status = "EXCEPTION"
            claim.faults.append(("exception", f"{said} ({Path(where.filename).name})"))
    finally:
        for clock, name in clocks:
            signal.setitimer(clock, 0.0)
            signal.signal(name, before[name])
        claim.seconds = time.process_time() - began
        for warning in raised:
            claim.faults.append(("warning", f"{warning.category.__name__}: {warning.message}"))
    return None


def solve(
    case: Case,
    algorithm: str = "auto",
    tol: float = 1e-6,
    max_passes: float = 1000,
    watch: bool = False,
) -> Claim:
    """One run; ``watch`` looks at every Snapshot, too."""
    label = f"{algorithm} tol={tol:g}"
    claim = Claim(label, algorithm=algorithm, tol=tol, max_passes=max_passes)
    wrong = []

    def look(snapshot: Any) -> None:
        if not snapshot.gap >= 0:
            wrong.append(snapshot.gap)

    result = guarded(
        claim,
        lambda: dualgap.solve(
            case.A, case.b, algorithm=algorithm, tol=tol, max_passes=max_passes,
            callback=look if watch else None, **case.arguments,
        ),
    )  # fmt: skip
    if result is None:
        return claim
    claim.status, claim.passes = result.status.name, float(result.passes)
    claim.x, claim.c, claim.y = result.x, result.intercept, result.y
    _take(claim, result.certificate)
    trace = result.trace
    if wrong:
        claim.faults.append(("negative gap", f"Snapshot.gap = {wrong[0]:g}"))
    rows = trace.gap[~(trace.gap >= 0)]
    if rows.size:
        claim.faults.append(("negative gap", f"trace.gap has {rows[0]:g}"))
    if len(trace):
        last = tuple(float(getattr(trace, name)[-1]) for name in ("primal", "dual", "gap"))
        shown = tuple(getattr(result.certificate, name) for name in ("primal", "dual", "gap"))
        if last != shown:
            claim.faults.append(
                ("last row", f"(primal, dual, gap) = {last} in the trace, {shown} certified")
            )
    return claim


def certify(case: Case, label: str, x: Any, c: Any, y: Any) -> Claim:
    """One call of `certify`."""
    claim = Claim(label, x, c, y)
    certificate = guarded(
        claim, lambda: dualgap.certify(case.A, case.b, x, y, intercept=c, **case.arguments)
    )
    if certificate is not None:
        _take(claim, certificate)
    return claim


def _take(claim: Claim, certificate: Any) -> None:
    claim.gap, claim.primal = float(certificate.gap), float(certificate.primal)
    claim.certified, claim.kind = bool(certificate.certified), str(certificate.kind)
    claim.dual = float(getattr(certificate, "dual", -math.inf))
    claim.reason = str(getattr(certificate, "reason", None) or "")
    for name in ("coef_error", "support", "box"):
        setattr(claim, name, getattr(certificate, name, None))
    if not claim.gap >= 0:
        claim.faults.append(("negative gap", f"certificate.gap = {claim.gap}"))
    # A bound within a box may call itself certified or not; nothing else has a choice.
    free = claim.kind == "gap_in_box"
    consistent = free or claim.certified == (claim.kind not in UNPROVED)
    if not consistent or (claim.certified and not math.isfinite(claim.gap)):
        said = f"certified={claim.certified}, kind={claim.kind!r}, gap={claim.gap:g}"
        claim.faults.append(("inconsistent", said))
    if not (np.isfinite(claim.x).all() and np.isfinite(claim.c).all()):
        claim.faults.append(("not finite", "x or the intercept"))
