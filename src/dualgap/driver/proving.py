"""What a run proves: first that a gap which is within tol in floats is so in real arithmetic.

In the end it proves the gap of the point that is returned.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array
from dualgap.certificate import Certificate, proved_pair
from dualgap.dual_points.refinement import newton_dual
from dualgap.problem import Problem
from dualgap.status import Status

Proof = tuple[Array, Array, Certificate]
"""x with the intercept in it, y, and what is proved of them."""


class Prover:
    """The proofs of one run.

    Parameters
    ----------
    problem : Problem
        The user's.
    tol : float

    Attributes
    ----------
    last : Proof or None
        What was proved last.
    failures : int
        How often a gap that was within tol in floats could not be proved to be.
    """

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.last: Proof | None = None
        self.failures = 0

    def is_reached(self, certificate: Certificate) -> bool:
        """Whether the gap is within tol: proved, or where nothing can be proved in floats."""
        counts = certificate.certified or certificate.kind == "float"
        return counts and certificate.relative_gap <= self.tol

    def proves(self, x: Array, y: Array) -> bool:
        """Whether the gap of this point is within tol."""
        certificate, y = proved_pair(self.problem, x, y)
        self.last = (x, y, certificate)
        return self.is_reached(certificate)

    def arrived(self) -> Status:
        """How a run ends whose last proof is within tol."""
        assert self.last is not None
        return Status.CONVERGED if self.last[2].certified else Status.ESTIMATED

    def failed(self) -> Status | None:
        """How a run ends whose float gap is within tol, and not proved; None: it goes on, once."""
        assert self.last is not None
        self.failures += 1
        if self.failures == 1:
            return None
        return Status.ROUNDING if self.last[2].certified else Status.STATIONARY

    def end(self, x: Array, y: Array, *, newton: bool) -> Proof:
        """The best that can be proved of x, or of the point before, which may have been better.

        Parameters
        ----------
        x, y : array
            What the run has come to.
        newton : bool
            Whether the dual point of a Newton step is tried, too.
        """
        problem, known = self.problem, self.last
        if known is not None and np.array_equal(known[0], x) and known[1] is y:
            best = known
        else:
            certificate, y = proved_pair(problem, x, y)
            best, reached = (x, y, certificate), self.is_reached(certificate)
            if known is not None and not reached and known[2].is_better_than(certificate):
                best = known
        if self.is_reached(best[2]):
            return best
        x, z = best[0], problem.predict(best[0])
        step = newton_dual(problem, x, z) if newton else None
        for guess in (problem.slopes(z), step):
            if guess is not None:
                trial = proved_pair(problem, x, guess)[0]
                best = (x, guess, trial) if trial.is_better_than(best[2]) else best
        return best

    def status(self, status: Status, certificate: Certificate) -> Status:
        """How a run ended, by what is proved of its end."""
        if self.is_reached(certificate):
            if status in (Status.PASS_LIMIT, Status.ROUNDING, Status.STATIONARY):
                status = Status.CONVERGED
            if status is Status.CONVERGED and not certificate.certified:
                return Status.ESTIMATED
        elif status in (Status.CONVERGED, Status.ESTIMATED):
            return Status.ROUNDING if certificate.certified else Status.STATIONARY
        return status
