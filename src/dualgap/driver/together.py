"""Ridge regressions with many targets in one light run: one factorisation, and one proof for all.

A run of Newton's method on squared loss is one system of equations, the same for all targets. Where
its matrix is small it is factorised once and the targets are solved for as the columns of a matrix;
what is proved of them (`certificate.ridge`) shares two products with the data as well. That is all
there is to a run then: no change of variables, no state to go on from, and no look before the last.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.algorithms import Newton
from dualgap.certificate.ridge import RidgeProofs, is_ridge, ridge_proofs
from dualgap.designs import DenseDesign
from dualgap.designs.moved import SPREAD
from dualgap.linalg.ridge import RidgeSystem
from dualgap.objective.constants import SMALL_GRAM
from dualgap.problem import Problem
from dualgap.status import Status
from dualgap.trace import Trace

LARGEST_SIDE = 2048
"""No larger matrix is factorised, however many targets share it (32 MiB)."""
PASSES = 2
"""The passes of each target: the gradient at 0, and the gradient at the solution."""


class Together(NamedTuple):
    """Solutions that are all proved to be within tol."""

    x: Array
    """The coefficients, shape (d, K)."""
    intercepts: Array
    proofs: RidgeProofs
    seconds: float
    tol: float
    passes: int = PASSES
    """The passes of each target."""
    algorithm: str = Newton.name
    status: Status = Status.CONVERGED

    @property
    def worst(self) -> int:
        """The target that is furthest from done."""
        return int(np.argmax(self.proofs.relative))

    @property
    def trace(self) -> Trace:
        """The one row that there is of that target."""
        k, proofs = self.worst, self.proofs
        primal, gap = float(proofs.primal[k]), float(proofs.gap[k])
        dual = float(proofs.primal_low[k]) - gap
        row = (float(self.passes), self.seconds, primal, dual, gap, *[math.nan] * 4)
        return Trace([row], 0, self.tol * primal)


def solve_together(
    problem: Problem, targets: Array, l2: Array, tol: float, system: RidgeSystem | None = None
) -> Together | None:
    """Solve a ridge regression for each target, or None where one at a time is the way.

    Parameters
    ----------
    problem : Problem
        Data, weights and intercept; its own targets do not matter.
    targets : array of shape (n, K)
    l2 : array of shape (K,)
        The strength for each.
    tol : float
        The relative gap to reach.
    system : RidgeSystem, optional
        The equations of these data, where they are known.
    """
    began = time.perf_counter()
    base = problem.base
    if not (is_ridge(problem) and isinstance(base, DenseDesign) and base.A.dtype == np.float64):
        return None
    # The matrix is to cost no more than a few products for each target.
    if system is None and min(base.shape) > min(SMALL_GRAM * l2.size, LARGEST_SIDE):
        return None
    system = system or RidgeSystem(base.A, problem.q, problem.fit_intercept)
    if _cancels(problem, system):
        return None
    x, c, left, a = system.solve(targets, l2)
    proofs: RidgeProofs | None = None
    if l2.size > 1:  # of one target the second product is cheap, and what is proved is sharper
        proofs = ridge_proofs(problem, targets, l2, x, c, left=left, a=a)
    if proofs is None or not (proofs.relative <= tol).all():
        proofs = ridge_proofs(problem, targets, l2, x, c)
    if not (proofs.relative <= tol).all():
        return None
    return Together(x, c, proofs, time.perf_counter() - began, tol)


def _cancels(problem: Problem, system: RidgeSystem) -> bool:
    """Whether a column is so far from 0 that a centred Gram matrix would not know it."""
    if not problem.fit_intercept:
        return False
    squares = problem.base.column_norms_sq(problem.q)
    near = squares - system.means**2 > SPREAD**2 * squares
    return not near.all() and problem.constants.column_shifts is not None
