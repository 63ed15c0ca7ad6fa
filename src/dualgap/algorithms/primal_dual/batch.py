"""What the batch algorithms share: the start, the values P and D, the watch over Lam.

A batch method carries z = A x and u = A'Qy. One iteration is one product with A and one with A';
P(x) and D(y) then cost O(n + d), and extrapolation acts on z as it does on x:
A x~ = z + theta (z - z_old).
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm
from dualgap.feasible import repair_free, repair_is_free
from dualgap.problem import Problem
from dualgap.state import State, replace

EPS = float(np.finfo(float).eps)


def first_state(
    algorithm: Algorithm,
    problem: Problem,
    x0: Array | None,
    y0: Array | None,
    *,
    Lam: float,
    Delta: float,
    dual_free: bool = False,
) -> State:
    """Points that fit together: z = A x0, y from y0 or x0 or the loss, u = A'Qy, y = phi'(v)."""
    loss, b = problem.loss, problem.b
    x = problem.zeros() if x0 is None else x0
    z = problem.predict(x) if x.any() else problem.predict_zero()
    if y0 is not None:
        y, v = y0, loss.conj_grad(y0, b)
    else:
        v = loss.start(b) if x0 is None else z
        y = loss.grad(v, b)
    u = problem.adjoint(y) if y.any() else problem.zeros()
    if Lam <= 0.0:  # all rows are zero: any positive number will do
        Lam = 1.0
    state = State(
        algorithm=algorithm.name,
        t=0,
        passes=0.0,
        x=x,
        y=y,
        z=z,
        zt=z,
        u=u,
        steps=algorithm.steps(problem, Lam, Delta),
        Lam=Lam,
        Delta=Delta,
        primal=problem.primal(x, z),
        dual=-np.inf,
        v=v if dual_free else None,
    )
    if x0 is None or y0 is not None:
        return with_dual(problem, state)
    smooth = state.primal - problem.regularizer.value(x)  # and y = phi'(z)
    return with_dual(problem, state, conjugate_at(problem, z, y, smooth))


def with_dual(problem: Problem, s: State, conj: float | None = None) -> State:
    """Fill in D(y), or what stands in for it where y cannot be made feasible for free.

    ``conj`` is sum_i q_i (phi_i*(y_i) - y_i offset_i) if it is known already.
    """
    if repair_is_free(problem):
        y, u = repair_free(problem, s.y, s.u)
        if conj is None or y is not s.y:
            conj = problem.conjugate_sum(y)
        return replace(s, dual=-conj - problem.regularizer.conj(-u))
    if problem.loss.is_quadratic:  # where it takes no difference of large numbers
        mismatch = problem.mean(problem.loss.fenchel_gap(s.z, s.y, problem.b))
    else:
        if conj is None:
            conj = problem.conjugate_sum(s.y)
        linear = s.z if problem.offset is None else s.z - problem.offset
        smooth = s.primal - problem.regularizer.value(s.x)
        mismatch = max(smooth + conj - problem.inner(s.y, linear), 0.0)
    smoothness = problem.smoothness(s.Lam, s.z)
    tau = 1.0 / smoothness
    mapping = (s.x - problem.regularizer.prox(s.x - tau * s.u, tau)) / tau
    residual = dot(mapping, mapping)
    return replace(s, mismatch=mismatch, residual=residual, smoothness=smoothness)


def conjugate_at(problem: Problem, v: Array, y: Array, phi: float) -> float:
    """sum_i q_i (phi_i*(y_i) - y_i offset_i) where y = phi'(v) and the mean loss at v is phi.

    phi*(y) = y v - phi(v): no conjugate is evaluated.
    """
    shift = v if problem.offset is None else v - problem.offset
    return problem.inner(y, shift) - phi


def watch_Lam(algorithm: Algorithm, problem: Problem, old: State, s: State) -> State:
    """Raise Lam, and so shorten the steps, if this step showed it to be too small.

    The theorems use Lam only through |A dx|_Q^2 <= Lam |dx|^2, and dx is known here. Steps that are
    too long need many iterations to do harm: after the first ones every fifth is looked at.
    """
    if s.t > 20 and s.t % 5:
        return s
    dx, dz = s.x - old.x, s.z - old.z
    moved = dot(dx, dx)
    if moved <= 1e-16 * dot(s.x, s.x):  # rounding, not curvature
        return s
    if problem.inner(dz, dz) <= s.Lam * moved:
        return s
    # dz carries the rounding of z, which offsets or a large A x can make larger than dz itself.
    size = math.sqrt(max(problem.inner(s.z, s.z), problem.inner(old.z, old.z)))
    rounding = 16.0 * EPS * (size + math.sqrt(s.Lam * dot(s.x, s.x)))
    seen = max(math.sqrt(problem.inner(dz, dz)) - rounding, 0.0) ** 2 / moved
    if not s.Lam < seen < math.inf:  # within the bound, or a lost step, which says nothing
        return s
    Lam = 1.02 * seen
    if s.steps.accelerating:
        return replace(s, Lam=Lam, steps=replace(s.steps, tau=s.steps.tau * s.Lam / Lam))
    return replace(s, Lam=Lam, steps=algorithm.steps(problem, Lam, s.Delta))
