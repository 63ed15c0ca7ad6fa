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

from dualgap._arrays import dot
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.second_order.curvature import is_smooth
from dualgap.problem import Problem
from dualgap.state import State, replace

LESS = 0.5
"""Of the mean of phi'' when Lam was last found: with less, it is found anew."""
MARGIN = 1.2
"""phi'' is another at the next iterates."""
NEVER = 0.0
"""A level below which none falls: Lam is not found anew any more."""


def is_local(s: State) -> bool:
    """Whether Lam is that of the present region."""
    return bool(0.0 < s.memory.get("level", 1.0) < 1.0)


def localised(algorithm: Algorithm, problem: Problem, s: State) -> State:
    """The state with Lam found anew, where that is due."""
    loss, known = problem.loss, s.memory.get("level", 1.0)
    if loss.is_quadratic or loss.is_vector or not is_smooth(problem) or s.steps.accelerating:
        return s
    share = loss.known_gamma * loss.hess(s.z, problem.b)  # of the bound on phi''
    level = problem.mean(share)
    if not 0.0 < level <= LESS * known:
        return s
    found, cost = problem.constants.weighted_Lam(problem.q * share)
    found *= MARGIN
    memory = {**s.memory, "level": level}
    s = replace(s, memory=memory, check_passes=s.check_passes + cost)
    return _with_Lam(algorithm, problem, s, found) if 0.0 < found < s.Lam else s


def taken_back(problem: Problem, s: State) -> tuple[float, dict[str, float]]:
    """The Lam to go on with after a roll-back, and what to remember: the bound, for good."""
    Lam = problem.constants.Lam_estimate.value if is_local(s) else s.Lam
    return Lam, {"level": NEVER}


def watch_local(algorithm: Algorithm, problem: Problem, old: State, s: State) -> State:
    """Raise Lam if the curvature along this step, gamma <dz, phi'(z) - phi'(z_old)>, was larger.

    Every step is looked at: there is no bound behind this that makes harm slow.
    """
    z_before, slope = old.memory.get("looked", (None, None))
    if z_before is not old.z:
        slope = problem.loss.grad(old.z, problem.b)
    here = problem.loss.grad(s.z, problem.b)
    s = replace(s, memory={**s.memory, "looked": (s.z, here)})
    dx, dz = s.x - old.x, s.z - old.z
    moved = dot(dx, dx)
    if moved <= 1e-16 * dot(s.x, s.x):  # rounding, not curvature
        return s
    seen = problem.loss.known_gamma * problem.inner(here - slope, dz) / moved
    return _with_Lam(algorithm, problem, s, 1.02 * seen) if s.Lam < seen < math.inf else s


def _with_Lam(algorithm: Algorithm, problem: Problem, s: State, Lam: float) -> State:
    steps = algorithm.steps(problem, Lam, s.Delta, s.memory.get("boldness", 1.0))
    return replace(s, Lam=Lam, steps=steps)
