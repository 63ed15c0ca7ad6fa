"""A point of a run, whatever the algorithm: x with z = A x, y with u = A'Qy, P(x) and D(y).

z and u are carried along, so that P and D cost O(n + d).
"""

from __future__ import annotations

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.designs.intercept import InterceptDesign
from dualgap.dual_points.feasible import (
    asked_about,
    make_feasible,
    repair_free,
    repair_is_free,
)
from dualgap.dual_points.products import PLAIN, OneReading, Products
from dualgap.problem import Problem
from dualgap.state import State, replace


def first_point(
    name: str, problem: Problem, x0: Array | None, y0: Array | None, Lam: float | None = None
) -> tuple[State, Array]:
    """Points that fit together: z = A x0, y from y0 or x0 or the loss, u = A'Qy.

    Parameters
    ----------
    name : str
        That of the algorithm.
    problem : Problem
    x0, y0 : array or None
        As `Algorithm.start` gets them. Without x0 the run starts at x = 0; without y0 it is
        y = phi'(z) where there is an x0, and what suits the loss where there is none.
    Lam : float, optional
        As in `with_dual`.

    Returns
    -------
    state : State
        The state before the first iteration, with nothing in ``own``.
    v : array
        The v with y = phi'(v).
    """
    loss, b = problem.loss, problem.b
    x = problem.zeros() if x0 is None else x0
    if y0 is None and x.any():
        z, y, u = problem.slope_at(x)
        v = z
    else:
        if y0 is not None:
            y, v = y0, loss.conj_grad(y0, b)
        else:
            v = loss.start(b) if x0 is None else problem.predict_zero()
            y = loss.grad(v, b)
        z, u = _products(problem, x, y)
    s = State(
        algorithm=name, t=0, passes=0.0, x=x, y=y, z=z, u=u, primal=problem.primal(x, z),
        dual=-np.inf,
    )  # fmt: skip
    conj = None
    if x0 is not None and y0 is None:  # y = phi'(z)
        conj = conjugate_at(problem, z, y, s.primal - problem.regularizer.value(x))
    return with_dual(problem, s, Lam, conj), v


def _products(problem: Problem, x: Array, y: Array) -> tuple[Array, Array]:
    """z = A x + offset and u = A'Qy; nothing is read for a 0."""
    if x.any() and y.any():
        return problem.predict_and_adjoint(x, y)
    z = problem.predict(x) if x.any() else problem.predict_zero()
    return z, problem.adjoint(y) if y.any() else problem.zeros()


def with_dual(
    problem: Problem, s: State, Lam: float | None = None, conj: float | None = None
) -> State:
    """Fill in D(y), or what stands in for it where y cannot be made feasible for free.

    Parameters
    ----------
    problem : Problem
    s : State
        Whose x, y, z, u and primal belong together.
    Lam : float, optional
        A bound > 0 on lambda_max(A'QA), by default the trace; Lam/gamma bounds the curvature of
        the mean loss. The gradient mapping that stands in for D is taken with steps of its inverse.
    conj : float, optional
        sum_i q_i (phi_i*(y_i) - y_i offset_i) if it is known already.

    Returns
    -------
    State
        The same with ``dual``, or with ``mismatch``, ``residual`` and ``smoothness``.
    """
    if repair_is_free(problem):
        y, u = repair_free(problem, s.y, s.u)
        if conj is None or y is not s.y:
            conj = problem.conjugate_sum(y)
        return replace(s, dual=-conj - problem.regularizer.conj(-u))
    if problem.loss.is_quadratic:  # where it takes no difference of large numbers
        mismatch = problem.mismatch(s.z, s.y)
    else:
        if conj is None:
            conj = problem.conjugate_sum(s.y)
        linear = s.z if problem.offset is None else s.z - problem.offset
        smooth = s.primal - problem.regularizer.value(s.x)
        mismatch = max(smooth + conj - problem.inner(s.y, linear), 0.0)
    smoothness = problem.smoothness(bound_on_gram(problem) if Lam is None else Lam, s.z)
    tau = 1.0 / smoothness
    mapping = (s.x - problem.regularizer.prox(s.x - tau * s.u, tau)) / tau
    residual = dot(mapping, mapping)
    return replace(s, mismatch=mismatch, residual=residual, smoothness=smoothness)


def bound_on_gram(problem: Problem) -> float:
    """A bound on lambda_max(A'QA): the trace.

    It serves nothing but estimates of the gap, and those are made only where D = -inf along the
    iterates; elsewhere it is not looked for.
    """
    if repair_is_free(problem):
        return 1.0
    return problem.constants.trace or 1.0  # all rows are zero: any positive number will do


def conjugate_at(problem: Problem, v: Array, y: Array, phi: float) -> float:
    """sum_i q_i (phi_i*(y_i) - y_i offset_i) where y = phi'(v) and the mean loss at v is phi.

    phi*(y) = y v - phi(v): no conjugate is evaluated.
    """
    shift = v if problem.offset is None else v - problem.offset
    return problem.inner(y, shift) - phi


def first_x(problem: Problem) -> Array:
    """x = 0; without gamma, the intercept at its best, for losses that grow like an exponential."""
    x = problem.zeros()
    if problem.loss.gamma is not None or not problem.fit_intercept:
        return x
    return problem.joined(x[: problem.d], problem.null_model[0])


def slope_and_dual(
    problem: Problem, s: State, x: Array, z: Array | None
) -> tuple[State, Array, Array]:
    """The state at x with P and the dual point that phi'(z) leads to; phi'(z) and A'Q phi'(z).

    z = A x + offset is found if it is not known.
    """
    z, phi, slope, gradient, products = _slope_at(problem, x, z)
    y, u, dual, cost = slope, gradient, -np.inf, 0.0
    if repair_is_free(problem):
        y, u, dual = _best_scale(problem, z, y, u, phi)
    else:  # an intercept, or more that nothing penalises: y has to be moved first
        point, cost = make_feasible(problem, z, y, products), 1.0
        if point is not None:
            y, u, dual = _best_scale(problem, z, point.y, point.u, None)
    new = replace(
        s, x=x, z=z, y=y, u=u, primal=phi + problem.regularizer.value(x), dual=dual,
        check_passes=s.check_passes + cost,
    )  # fmt: skip
    return new, slope, gradient


def _slope_at(
    problem: Problem, x: Array, z: Array | None
) -> tuple[Array, float, Array, Array, Products]:
    """z, the mean loss, its slope y = phi'(z), A'Qy, and how to make y feasible.

    z = A x + offset is found if it is not known. Of data that stream A'Qy' comes with A'Qy, for the
    y' that is next to be asked about.
    """
    if z is None and problem.design.streams:
        z, y, u = problem.slope_at(x)
        return z, problem.mean_loss(z, y), y, u, PLAIN
    z = problem.predict(x) if z is None else z
    phi, y = problem.mean_loss_grad(z)
    guess = None
    if problem.design.streams and y.ndim == 1 and not repair_is_free(problem):
        guess = asked_about(problem, y)
    if guess is None:
        return z, phi, y, problem.adjoint(y), PLAIN
    u, other = problem.adjoint(np.column_stack((y, guess))).T
    return z, phi, y, u, OneReading(guess, other)


def _best_scale(
    problem: Problem, z: Array, y: Array, u: Array, phi: float | None
) -> tuple[Array, Array, float]:
    """The better of y and y scaled until |A'Qy| <= l1, with its D.

    With l2 > 0 any y will do, but (|u_j| - l1_j)^2/(2 l2_j) is dear if l2 is small.
    """
    g = problem.regularizer
    feasible, at = (y, u) if phi is None else repair_free(problem, y, u)
    if phi is None or feasible is not y:
        conj = problem.conjugate_sum(feasible)
    else:
        conj = conjugate_at(problem, z, y, phi)
    above = g.conj(-at)
    longer = 1.0  # max |u_j|/l1_j where there is l2 as well; the rest is feasible
    if g.has_strengths:
        both = (problem.elastic_net.l1 > 0.0) & (problem.elastic_net.l2 > 0.0)
        ratios = np.abs(at[both]) / problem.elastic_net.l1[both]
        longer = float(np.max(ratios, initial=1.0))
    # -phi* is concave, so its first-order change bounds what scaling can give.
    linear = z if problem.offset is None else z - problem.offset
    if longer > 1.0 and above + (1.0 - 1.0 / longer) * problem.inner(feasible, linear) > 0.0:
        scaled, inside = feasible / longer, at / longer
        dual = -problem.conjugate_sum(scaled) - g.conj(-inside)
        if dual > -conj - above:
            return scaled, inside, dual
    return y, u, -conj - above


def gap_nearby(problem: Problem, x: Array, y: Array, u: Array, hess: Array) -> float:
    """About the gap at y = phi'(z) once it is feasible: scaled by t, or by 1 - s on one side.

    phi(z) + phi*(ty) - t yz is (1 - t)^2 y^2/(2 phi''(z)) to second order.
    """
    g, t = problem.elastic_net, 1.0
    if g.has_boxed:
        t = 1.0 / max(1.0, float(np.max(np.abs(u[g.boxed]) / g.l1[g.boxed])))
    if g.has_l1:
        gap = float(g.fenchel_gap(x, np.where(g.free, 0.0, -t * u)).sum())
    else:
        d = problem.d  # without the intercept
        r = u[:d] + g.l2[:d] * x[:d]
        gap = 0.5 * dot(r, r / g.l2[:d])
    shrunk = (1.0 - t) ** 2
    if isinstance(problem.design, InterceptDesign):
        mean = float(u[-1]) / problem.design.scale
        shrunk += (mean / (problem.mean(np.abs(y)) or 1.0)) ** 2
    if shrunk > 0.0:
        squares = np.divide(y * y, hess, out=np.zeros_like(y), where=hess > 0)
        gap += 0.5 * shrunk * problem.mean(squares)
    return gap
