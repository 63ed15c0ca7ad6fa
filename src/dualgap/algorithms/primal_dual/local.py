"""Local smoothness: steps that count on the curvature where the iterates are.

The steps of a dual-free method rest on Lam/gamma, which bounds the curvature of the loss part,
A'Q diag(phi'')A. With phi'' <= 1/gamma that is lambda_max(A'QA)/gamma; but the logistic loss is
nearly linear at rows that are classified with confidence. So whenever the mean of phi'' has fallen
to half of what it was when Lam was last found, Lam becomes

    Lam = MARGIN gamma lambda_max(A'Q diag(phi''(z)) A)        (Lanczos, a few passes)

No theorem covers this, so it is watched: a step along which the curvature is larger raises Lam, and
a roll-back of the monitor returns to the bound for good.
"""

from __future__ import annotations

import math

from dualgap._arrays import dot, row_sums
from dualgap._types import Array
from dualgap.algorithms.primal_dual.family import PrimalDual, retuned
from dualgap.algorithms.primal_dual.state import PrimalDualState, update
from dualgap.algorithms.second_order.curvature import is_smooth
from dualgap.problem import Problem
from dualgap.state import State

LESS = 0.5
"""Lam is found anew when the mean of phi'' has fallen to this share of what it was then."""
MARGIN = 1.2
"""Lam is raised by this factor, because phi'' is another at the next iterates."""
NEVER = 0.0
"""A level below which no mean of phi'' falls, so that Lam is not found anew any more."""


def is_local(s: State) -> bool:
    """Whether Lam is that of the present region."""
    return bool(0.0 < s.own.level < 1.0)


def localised(algorithm: PrimalDual, problem: Problem, s: State) -> State:
    """The state with Lam found anew, where that is due."""
    loss, own = problem.loss, s.own
    if loss.is_quadratic or loss.is_vector or not is_smooth(problem) or own.steps.accelerating:
        return s
    share = loss.known_gamma * loss.hess(s.z, problem.b)  # of the bound on phi''
    level = problem.mean(share)
    if not 0.0 < level <= LESS * own.level:
        return s
    found, cost = problem.constants.weighted_Lam(problem.q * share)
    found *= MARGIN
    s = update(s, level=level, check_passes=s.check_passes + cost)
    return retuned(algorithm, problem, s, Lam=found) if 0.0 < found < own.Lam else s


def lasting_Lam(problem: Problem, s: State) -> float:
    """The Lam to go on with after a roll-back: the bound, for good."""
    Lam: float = s.own.Lam
    return problem.constants.Lam_estimate.value if is_local(s) else Lam


def watch_local(algorithm: PrimalDual, problem: Problem, old: State, s: State) -> State:
    """Raise Lam if the curvature along this step, gamma <dz, phi'(z) - phi'(z_old)>, was larger.

    Every step is looked at: there is no bound behind this that makes harm slow.
    """
    before: PrimalDualState = old.own
    if before.looked is not None and before.looked[0] is old.z:
        slope = before.looked[1]
    else:
        slope = problem.slopes(old.z)
    here = problem.slopes(s.z)
    s = update(s, looked=(s.z, here))
    dx = s.x - old.x
    moved = dot(dx, dx)
    if moved <= 1e-16 * dot(s.x, s.x):  # rounding, not curvature
        return s

    def change(new: Array, slope: Array, z: Array, before: Array) -> Array:
        return row_sums((new - slope) * (z - before))

    seen = problem.loss.known_gamma * problem.mean_of(change, here, slope, s.z, old.z) / moved
    too_small = s.own.Lam < seen < math.inf
    return retuned(algorithm, problem, s, Lam=1.02 * seen) if too_small else s
