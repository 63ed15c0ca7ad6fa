"""A run on data whose rows are not held: what takes rows is asked of readings, or not at all."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from dualgap._types import Array
from dualgap.certificate import Certificate, Estimate, certificate_by_readings
from dualgap.driver.loop import Run
from dualgap.driver.proving import Proof, Prover
from dualgap.state import State
from dualgap.status import Status
from dualgap.streamed.gap import gap_is_known
from dualgap.streamed.reading import rows, separates
from dualgap.streamed.states import Recalled, mark, slopes_at
from dualgap.streamed.sums import Slopes

MOST_FAILURES = 4
"""A run ends once so many gaps that were within tol in floats were not proved to be: the rest is
rounding."""


class StreamedProver(Prover):
    """Proofs by readings; what stands for y are slopes."""

    def proves(self, x: Array, y: Array) -> bool:
        """Whether the gap of this point is within tol."""
        if not (self.last is not None and self.last[0] is x and self.last[1] is y):
            self.last = (x, y, self._proved(x, y))
        return self.is_reached(self.last[2])

    def _proved(self, x: Array, y: Any) -> Certificate:
        slopes = y if isinstance(y, Slopes) else None
        return certificate_by_readings(self.problem, x, slopes)

    def failed(self) -> Status | None:
        """How a run ends whose gap in floats is within tol, and not proved; None: it goes on."""
        assert self.last is not None
        self.failures += 1
        if self.failures < MOST_FAILURES:
            return None
        return Status.ROUNDING if self.last[2].certified else Status.STATIONARY

    def end(self, x: Array, y: Array, *, newton: bool) -> Proof:
        """What was proved of x last, or is proved now."""
        known = self.last
        if known is not None and np.array_equal(known[0], x):
            if known[1] is y or self.is_reached(known[2]):
                return known
        found = self._proved(x, y)
        if known is not None and known[2].is_better_than(found) and not self.is_reached(found):
            return known
        return x, y, found


class StreamedRun(Run):
    """One call of solve where rows are not held."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.free, self.dear = gap_is_known(self.problem), False
        self.attempts.next_look = np.inf  # a look is a reading: none for the sake of the trace

    def _prover(self) -> Prover:
        return StreamedProver(self.user, self.tol)

    def _has_one_class(self) -> bool:
        """From the labels that occur."""
        problem, kept = self.problem, rows(self.problem)
        if problem.outputs is not None:
            return problem.fit_intercept and kept.seen.size < problem.outputs
        b = kept.seen if kept.constant is None else np.array([kept.constant])
        if not problem.free_intercept_only or b.size == 0:
            return False
        both = (problem.loss.margins(np.full(b.shape, way), b) for way in (1.0, -1.0))
        return any(m is not None and bool((m >= 0.0).all() and (m > 0.0).any()) for m in both)

    def _separates(self, s: State) -> bool:
        """Whether x proves that there is no minimiser; asked only where no row is wrong."""
        return getattr(s.own, "wrong", 1) == 0 and separates(self.problem, s.x)

    def _has_direction(self) -> bool:
        return False

    def _shown_y(self, y: Array) -> Array:
        """What stands for y: a callback is not to cost a reading."""
        return y

    def _kept_y(self, y: Array) -> Array:
        slopes = y if isinstance(y, Slopes) else slopes_at(self.user, self._x)
        return cast(Array, Recalled(self.user, slopes, mark(self.user)))

    def _certify(self, s: State, x: Array | None, y: Array | None) -> Estimate:
        """What the state says, if it says anything; else a proof, for either is one reading."""
        if not self.free and x is not None:
            self.prover.proves(x, s.y)
            assert self.prover.last is not None
            c = self.prover.last[2]
            kind: Any = c.kind if c.certified else "none"
            known = Estimate(
                c.primal, c.dual, c.gap, c.relative_gap, c.certified, kind, 1e-14 * c.primal
            )
            self.attempts.passes += 1
            self.found = self.last = (x, s.y, known)
            return known
        best = s.incumbent
        gap = max(best.primal - best.dual, 0.0)
        unit = self.user.scale(best.primal)
        relative = gap / unit if unit > 0.0 else np.inf
        return Estimate(
            best.primal, best.dual, gap, relative, bool(np.isfinite(gap)), "gap",
            1e-14 * best.primal,
        )  # fmt: skip

    def _certify_harder(self, s: State) -> Estimate:
        """The same as `_certify` at the best x: no check says more than a reading."""
        best = s.incumbent
        x, y = (best.x, best.y) if self.free and best.y is not None else (s.x, s.y)
        assert x is not None
        found = self._certify(s, x, y)
        self.better = (x, y, found)
        return found

    def _proved_end(self, s: State, status: Status) -> Proof:
        best = s.incumbent
        assert best.x is not None
        self._x = best.x
        y = best.y
        if y is None:
            y = s.y if best.x is s.x else cast(Array, slopes_at(self.user, best.x))
        return self.prover.end(best.x, y, newton=False)
