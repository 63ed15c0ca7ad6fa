"""What the batch algorithms share: the watch over Lam.

A batch method carries z = A x and u = A'Qy. One iteration is one product with A and one with A';
P(x) and D(y) then cost O(n + d), and extrapolation acts on z as it does on x:
A x~ = z + theta (z - z_old).
"""

from __future__ import annotations

import math

from dualgap._arrays import dot
from dualgap.algorithms.primal_dual.family import PrimalDual
from dualgap.algorithms.primal_dual.state import update
from dualgap.linalg.rounding import EPS
from dualgap.problem import Problem
from dualgap.state import State, replace


def watch_Lam(algorithm: PrimalDual, problem: Problem, old: State, s: State) -> State:
    """Raise Lam, and so shorten the steps, if this step showed it to be too small.

    The theorems use Lam only through |A dx|_Q^2 <= Lam |dx|^2, and dx is known here. Steps that are
    too long need many iterations to do harm: after the first ones every fifth is looked at.
    """
    if s.t > 20 and s.t % 5:
        return s
    dx, dz, known = s.x - old.x, s.z - old.z, s.own.Lam
    moved = dot(dx, dx)
    if moved <= 1e-16 * dot(s.x, s.x):  # rounding, not curvature
        return s
    if problem.inner(dz, dz) <= known * moved:
        return s
    # dz carries the rounding of z, which offsets or a large A x can make larger than dz itself.
    size = math.sqrt(max(problem.inner(s.z, s.z), problem.inner(old.z, old.z)))
    rounding = 16.0 * EPS * (size + math.sqrt(known * dot(s.x, s.x)))
    seen = max(math.sqrt(problem.inner(dz, dz)) - rounding, 0.0) ** 2 / moved
    if not known < seen < math.inf:  # within the bound, or a lost step, which says nothing
        return s
    Lam, steps = 1.02 * seen, s.own.steps
    if steps.accelerating:
        return update(s, Lam=Lam, steps=replace(steps, tau=steps.tau * known / Lam))
    steps = algorithm.steps(problem, Lam, s.own.Delta, advice=s.own.advice)
    return update(s, Lam=Lam, steps=steps)
