"""A run light enough for each of a hundred points: steps of an algorithm, judged in floats.

The points are those of one problem at many strengths. Each run begins near its solution, with what
the run before has prepared (`Algorithm.inherit`), and ends once the certificate in floats says so.
There is no trace, no clock and no proof; a point that is not found soon is left to `loop.Run`.
Nothing rests on this but speed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.algorithms import Algorithm
from dualgap.algorithms.contract import Advice
from dualgap.certificate import Estimate, estimate_at
from dualgap.limits import passes_at_most
from dualgap.problem import Problem
from dualgap.state import State

MOST_STEPS = 10
"""A point that is not found after so many steps is left to a solve of its own."""
MOST_FAILURES = 2
"""After so many points in a row that were not found, no further one is tried."""
MARGIN = 0.5
"""A point is judged once its estimated gap is at most this share of the one that is asked for."""


class Found(NamedTuple):
    """A point whose gap is within the tolerance, and what it took."""

    x: Array
    """The coefficients, with the intercept as the problem keeps it."""
    y: Array
    """The dual point."""
    z: Array | None
    """The predictions A x + offset, where they have been kept."""
    certificate: Estimate
    """The gap in floats."""
    passes: float
    """Passes over the data."""


class LightRun:
    """Finds points one after the other.

    Parameters
    ----------
    algorithm : Algorithm
    tol : float
        The relative gap of every point.
    most : float
        Passes over the data that a point may cost.

    Attributes
    ----------
    spent : float
        Passes of the last attempt, also where it has failed.
    """

    def __init__(self, algorithm: Algorithm, tol: float, most: float = math.inf) -> None:
        self.algorithm, self.tol, self.most = algorithm.aiming_at(tol), tol, most
        self.failures, self.spent = 0, 0.0
        self.earlier: State | None = None

    @property
    def gave_up(self) -> bool:
        """Whether no further point is tried, after too many in a row that were not found."""
        return self.failures >= MOST_FAILURES

    def find(self, problem: Problem, x: Array, z: Array) -> Found | None:
        """The point, from x and z = A x + offset nearby; None where it is given up."""
        self.spent = 0.0
        if self.gave_up:
            return None
        quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
        with quiet, passes_at_most(problem, self.most):
            found = self._find(problem, x, z)
        if self.spent > self.most:
            found = None
        self.failures = self.failures + 1 if found is None else 0
        return found

    def _find(self, problem: Problem, x: Array, z: Array) -> Found | None:
        algorithm, looks = self.algorithm, 0.0
        s = algorithm.start(problem, x, None, Advice(predictions=z)).state
        if self.earlier is not None:
            s = algorithm.inherit(problem, s, self.earlier)
        for _ in range(MOST_STEPS):
            self.spent = s.passes + looks
            gap = algorithm.estimated_gap(problem, s)
            if not (math.isfinite(s.primal) and gap < math.inf) or self.spent > self.most:
                return None
            if gap <= MARGIN * self.tol * problem.scale(s.primal):
                certificate, y, z = estimate_at(problem, s.x)
                looks += 1.0
                if certificate.certified and certificate.relative_gap <= self.tol:
                    self.earlier, self.spent = s, s.passes + looks
                    return Found(s.x, y, z, certificate, self.spent)
            s = algorithm.step(problem, s)
        return None
