"""The curvature rule (ours): the strong convexity that the data offer where the iterates move.

Every T iterations, with dx = x - x_then, dz = A dx, ds = phi'(A x) - phi'(A x_then):

    c = (sum_i q_i ds_i dz_i + sum_j l2_j dx_j^2)/|dx|^2 - lambda
    Delta <- sqrt(Delta c)

After a while dx lies along the slowest directions, and c is the strong convexity there. It takes
no product with A (z is carried), no duality gap, no delta and no mu, so it serves losses with
delta = 0 and problems without regulariser. c is a secant value: an estimate, never a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import dot, row_sums
from dualgap._types import Array
from dualgap.algorithms.primal_dual.adaptation.rule import Rule
from dualgap.algorithms.primal_dual.state import Remembered
from dualgap.problem import Problem
from dualgap.state import State


@dataclass(frozen=True, eq=False, kw_only=True)
class Place(Remembered):
    """What the curvature rule remembers: where the run was at the last update."""

    x: Array
    """The point."""
    z: Array
    """A x + offset."""


def place(problem: Problem, s: State) -> Place:
    """The place of a state."""
    return Place(x=s.x, z=s.z)


@dataclass(frozen=True)
class Curvature(Rule):
    """The curvature rule.

    Parameters
    ----------
    period : int
        T, in passes.
    start : float, optional
        First estimate of delta mu^2/n; see `default_start`.
    """

    period: int = 4
    start: float | None = None

    name: ClassVar[str] = "curvature"
    theta_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options."""
        self._check()

    def begin(self, problem: Problem, s: State) -> Place:
        """The first point, or the one that the run was rolled back to."""
        return place(problem, s)

    def update(self, problem: Problem, s: State) -> tuple[float, Place]:
        """Move halfway, on a log scale, to the curvature seen since the last time."""
        then: Place = s.own.remembered
        here, Delta = place(problem, s), float(s.own.Delta)
        dx = s.x - then.x
        moved = dot(dx, dx)
        smoothness = s.own.Lam / problem.loss.known_gamma
        if moved == 0.0:  # x stays where it is (at 0, held by l1): longer dual steps end it sooner
            return min(2.0 * Delta, max(smoothness, Delta)), here
        if moved <= 1e-24 * dot(s.x, s.x):  # rounding, not curvature
            return Delta, here
        l2 = np.broadcast_to(problem.regularizer.smooth_part(), dx.shape)
        slope = problem.loss.grad

        def change(z: Array, before: Array, b: Array) -> Array:
            return row_sums((slope(z, b) - slope(before, b)) * (z - before))

        c = (problem.mean_of(change, s.z, then.z, problem.b) + dot(l2, dx * dx)) / moved
        c -= problem.regularizer.strong_convexity
        c = min(max(c, 1e-10 * smoothness), smoothness)
        return math.sqrt(Delta) * math.sqrt(c), here
