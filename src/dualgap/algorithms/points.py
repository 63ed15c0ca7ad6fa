"""A point of a run, whatever the algorithm: x with z = A x, y with u = A'Qy, P(x) and D(y).

z and u are carried along, so that P and D cost O(n + d).
"""

from __future__ import annotations

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.feasible import repair_free, repair_is_free
from dualgap.problem import Problem
from dualgap.state import State, replace


def first_point(
    name: str, problem: Problem, x0: Array | None, y0: Array | None, Lam: float
) -> tuple[State, Array]:
    """Points that fit together: z = A x0, y from y0 or x0 or the loss, u = A'Qy.

    The second value is the v with y = phi'(v). ``name`` is that of the algorithm, and ``Lam`` is as
    in `with_dual`.
    """
    loss, b = problem.loss, problem.b
    x = problem.zeros() if x0 is None else x0
    z = problem.predict(x) if x.any() else problem.predict_zero()
    if y0 is not None:
        y, v = y0, loss.conj_grad(y0, b)
    else:
        v = loss.start(b) if x0 is None else z
        y = loss.grad(v, b)
    u = problem.adjoint(y) if y.any() else problem.zeros()
    s = State(
        algorithm=name, t=0, passes=0.0, x=x, y=y, z=z, u=u, primal=problem.primal(x, z),
        dual=-np.inf,
    )  # fmt: skip
    conj = None
    if x0 is not None and y0 is None:  # y = phi'(z)
        conj = conjugate_at(problem, z, y, s.primal - problem.regularizer.value(x))
    return with_dual(problem, s, Lam, conj), v


def with_dual(problem: Problem, s: State, Lam: float, conj: float | None = None) -> State:
    """Fill in D(y), or what stands in for it where y cannot be made feasible for free.

    ``Lam`` > 0 bounds lambda_max(A'QA), and Lam/gamma the curvature of the mean loss. The gradient
    mapping that stands in for D is taken with steps of its inverse.
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
    smoothness = problem.smoothness(Lam, s.z)
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
