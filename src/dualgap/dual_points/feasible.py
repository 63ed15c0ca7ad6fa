"""From any y to a dual point: one at which D(y) is finite and bounds P* from below.

In this order, each step keeping what the ones before it achieved:

1. into the domains of phi_i* (each an interval that contains 0, or a simplex around it);
2. free coordinates (an intercept, or no regulariser) need (A'Qy)_j = 0:
   squared loss with an intercept: subtract the mean; other losses: scale the heavier sign;
   several free coordinates: y - W A beta, W = diag(phi'') at x, beta from weighted least squares;
   (vector predictions: the same two steps in `simplex`);
3. coordinates with l1 but no l2 need |(A'Qy)_j| <= l1_j: scale y.

Other regularisers have intervals of their own for -(A'Qy)_j (`intervals`), into which y is
scaled as well; where one ends at 0, y is moved before step 2.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from dualgap._arrays import dot, per_row, within
from dualgap._types import Array, Mask
from dualgap.dual_points import intervals as dual_intervals
from dualgap.dual_points import simplex
from dualgap.dual_points.products import PLAIN, Precise, Products
from dualgap.linalg.rounding import UNIT, gamma
from dualgap.objective.constants import GRAM_LIMIT
from dualgap.problem import Problem
from dualgap.spans.contract import Span

Kind = Literal["gap", "gap_scaled_dual", "gap_projected_dual"]

INSIDE = 1.0 - 1e-9
"""A y that was shrunk into its domain is a little inside, so that it has room for its last bit."""


class DualPoint(NamedTuple):
    """A y near which there is a feasible point, with u = A'Qy and how it came about.

    Sums that have to be 0 are so in real arithmetic only at a real y' beside the floats y.
    """

    y: Array
    u: Array
    kind: Kind
    length: Array
    """|y|_Q, one per class."""
    error: Array
    """By how much each entry of u may be off, the way to the real point included."""
    extra: float = 0.0
    """sum_i q_i phi-terms of the gap are at most this much more at the real dual point near y."""
    reach: float = 0.0
    """|(A'Qy)_j| changes by at most this times |a_j|_Q on the way to it."""
    shift: float = 0.0
    """For squared loss: the distance |.|_Q from y to the real dual point, in place of `extra`."""
    shrunk: float = 1.0
    """y is so many times what it would be if A'Qy were known exactly."""
    span: Span | None = None
    """That of the free columns, out of which the step to the real point leads; see `spans`."""


def repair_is_free(problem: Problem) -> bool:
    """Whether `repair_free` can make any y feasible, at a cost of O(n + d)."""
    if problem.regularizer.has_one_sided:
        return False
    if not problem.regularizer.has_free:
        return True
    return problem.free_intercept_only and problem.loss.is_quadratic


def needs_factorisation(problem: Problem) -> bool:
    """Whether a dual point takes a factorisation and not only products with A."""
    return problem.regularizer.has_free and not problem.free_intercept_only


def repair_free(problem: Problem, y: Array, u: Array) -> tuple[Array, Array]:
    """Feasible (y, u) without touching the data; y must be in the domains.

    Only where `repair_is_free` says so.
    """
    if problem.regularizer.has_free:
        mean = problem.mean(y)
        y, u = y - mean, u - mean * problem.column_means
        u[-1] = 0.0  # a multiple of sum_i q_i y_i, but for rounding
    if problem.regularizer.may_scale:
        t = l1_scale(problem, y, u)
        if t != 1.0:
            y, u = t * y, t * u
        u = _into_box(problem, u)
    return y, u


def _into_box(problem: Problem, u: Array) -> Array:
    """The factor of `l1_scale` brings u there but for the last bit; this takes care of that bit."""
    if not problem.regularizer.has_strengths:
        return dual_intervals.into(problem, u)
    return within(u, problem.elastic_net.box)


def l1_scale(problem: Problem, y: Array, u: Array) -> float:
    """The factor that brings -(A'Qy)_j to where g* is finite; best for squared loss."""
    return l1_scales(problem, y, u, None)[0]


def l1_scales(problem: Problem, y: Array, u: Array, error: Array | None) -> tuple[float, float]:
    """The factor where ``error``, that of u, has its say, and the one where it has none."""
    if not problem.regularizer.has_strengths:
        return dual_intervals.scales(problem, y, u, error)
    g, size = problem.elastic_net, np.abs(u)
    over = [float((size / g.box).max())]
    over.append(over[0] if error is None else float(((size + error) / g.box).max()))
    limits = [1.0 / value if value > 0 else np.inf for value in over]
    best, least = 1.0, 0.0
    if problem.loss.is_quadratic and not g.has_l2:
        # D along the ray is -sum q (t^2 y^2/2 + t (b - offset) y): its maximiser, kept feasible.
        b = problem.b if problem.offset is None else problem.b - problem.offset
        curvature = problem.mean(y * y)
        if curvature > 0 and math.isfinite(limits[1]):
            best, least = -problem.mean(b * y) / curvature, -1.0
    exact, blurred = (min(max(best, least * limit), limit) for limit in limits)
    return blurred, exact


def make_feasible(
    problem: Problem,
    z: Array,
    y: Array,
    products: Products = PLAIN,
    phi: float | None = None,
    *,
    with_sums: bool = True,
) -> DualPoint | None:
    """A dual point made from y, or None where this cannot be done.

    Parameters
    ----------
    problem : Problem
    z : array of shape (n,)
        Predictions of the primal point; their phi'' weigh the projection.
    y : array of shape (n,)
        Where to start from.
    products : Products
        How A'Qy is computed.
    phi : float, optional
        sum_i q_i phi_i(z_i), if it is known.
    with_sums : bool
        Whether u = A'Qy and its error are wanted; without, they may be empty, which saves a
        product with the data, and y is scaled as if u were exact.
    """
    inside = problem.loss.into_domain(y, problem.b)
    counts = None if problem.uniform else per_row(problem.q, y) > 0  # None: all
    changed = False
    if inside is not y:
        outside = inside != y
        changed = bool(outside.any() if counts is None else (outside & counts).any())
    y = _where(counts, inside)
    if y.ndim == 2:
        y = simplex.closed(y, problem.b)
    kind: Kind = "gap_scaled_dual" if changed else "gap"
    if problem.regularizer.has_one_sided:
        before, y = y, _where(counts, dual_intervals.moved_inside(problem, z, y, products))
        kind = kind if y is before else "gap_projected_dual"
    u: Array | None = None
    last, shrunk, length, error = _LastStep(), 1.0, None, None
    if problem.free_intercept_only:
        mean = problem.mean(y) if problem.loss.is_quadratic else 0.0
        y = y - mean if problem.loss.is_quadratic else _balance(problem, y)
        y = products.balanced(problem, _where(counts, y))
        kind = "gap_scaled_dual"
        length = lengths(problem, y)
        last = _imbalance(problem, y, length, mean, products)
    elif problem.regularizer.has_free:
        projected = _project(problem, z, y)
        if projected is None:
            return None
        y, u, last = projected
        kind = "gap_projected_dual"
    if not with_sums and not problem.regularizer.may_scale:
        return DualPoint(y, np.empty(0), kind, np.empty(0), np.empty(0), span=last.span)
    if u is None or isinstance(products, Precise):
        u = products.adjoint(problem, y)
    if length is None:
        length = lengths(problem, y)
    if problem.regularizer.may_scale:
        error = products.adjoint_error(problem, length, u, last.reach)
        t, exact = l1_scales(problem, y, u, error)
        if not with_sums:  # a proof knows the errors of its own sums, and scales by these
            t = exact
        shrunk = t / exact if exact else 1.0
        if t != 1.0:
            y, u, length, last = t * y, t * u, abs(t) * length, last.times(abs(t))
            error = abs(t) * error
            kind = "gap_scaled_dual" if kind == "gap" else kind
        u = _into_box(problem, u)
    extra = 0.0 if last.is_shift(problem) else last.cost(problem, z, y, phi)
    if extra is None:
        return None
    if problem.free_intercept_only:
        u = u.copy()
        u[-1] = 0.0
    elif problem.regularizer.has_free:
        u = np.where(problem.regularizer.free, 0.0, u)
    shift = last.nu if last.is_shift(problem) else 0.0
    if error is None:
        error = products.adjoint_error(problem, length, u, last.reach)
    return DualPoint(y, u, kind, length, error, extra, last.reach, shift, shrunk, last.span)


def needs_predictions(problem: Problem) -> bool:
    """Whether `make_feasible` looks at z: where dual points are moved in proportion to phi''."""
    return problem.regularizer.has_one_sided or needs_factorisation(problem)


def asked_about(problem: Problem, y: Array) -> Array | None:
    """The y whose A'Qy `make_feasible` begins with, where that can be told without z."""
    g = problem.regularizer
    if g.has_one_sided or (g.has_free and not problem.free_intercept_only):
        return None
    counts = None if problem.uniform else per_row(problem.q, y) > 0
    y = _where(counts, problem.loss.into_domain(y, problem.b))
    if y.ndim == 2:
        y = simplex.closed(y, problem.b)
    if problem.free_intercept_only:
        quadratic = problem.loss.is_quadratic
        y = _where(counts, y - problem.mean(y) if quadratic else _balance(problem, y))
    return y


def lengths(problem: Problem, y: Array) -> Array:
    """|y|_Q, one per class; an array without axes for one prediction a row."""
    if y.ndim == 1 and problem.uniform:
        return np.asarray(math.sqrt(dot(y, y) / problem.n))
    return np.asarray(np.sqrt(problem.q @ (y * y)))


class _LastStep(NamedTuple):
    """From the float y to a real y' with F'Qy' = 0: what it does to the bound.

    Either y is multiplied, where it has its heavier sign, by 1 - tau; or it moves by at most
    nu sqrt(D_i/q_i), see `spans`.
    """

    tau: float = 0.0
    nu: float = 0.0
    D: Array | None = None
    reach: float = 0.0
    """`DualPoint.reach` of the step."""
    span: Span | None = None
    """`DualPoint.span` of the step."""

    def times(self, t: float) -> _LastStep:
        """The last step from t y; tau is a ratio and stays."""
        return _LastStep(self.tau, t * self.nu, self.D, t * self.reach, self.span)

    def is_shift(self, problem: Problem) -> bool:
        """Squared loss where every row moves: phi* is y^2/2, and nu is like an error of z."""
        return self.D is None and problem.loss.is_quadratic

    def cost(self, problem: Problem, z: Array, y: Array, phi: float | None = None) -> float | None:
        """The `extra` of `DualPoint`; None if y has no room for the step."""
        if self.tau > 0.0:  # h(z, (1 - tau) y) <= (1 - tau) h(z, y) + tau phi(z)
            return self.tau * (problem.mean_loss(z) if phi is None else phi)
        if self.nu == 0.0:
            return 0.0
        if y.ndim == 2:
            return simplex.cost(problem, z, y, self.nu, self.D)
        if not math.isfinite(self.nu):
            return None
        D = np.ones_like(y) if self.D is None else self.D
        moving = (D > 0.0) & (problem.q > 0.0)
        move = self.nu * np.sqrt(D[moving] / problem.q[moving])
        loss = problem.loss
        room = _room(problem, y)[moving]
        bend = loss.bend(y[moving], problem.b[moving], D[moving], move, room)
        if bend is None:
            return None if loss.knows_bend else _by_ends(problem, z, y, moving, move)
        # The terms of the gap are convex in y_i with derivative phi*'(y_i) - z_i.
        slope = problem.loss.conj_grad(y, problem.b) - z
        steep = math.sqrt(problem.mean(np.where(moving, D * slope * slope, 0.0)))
        return self.nu * steep + 0.5 * bend * self.nu * self.nu


def _where(counts: Mask | None, y: Array) -> Array:
    """y, and 0 where it does not count."""
    return y if counts is None else np.where(counts, y, 0.0)


def _balance(problem: Problem, y: Array) -> Array:
    """Scale the heavier sign of y so that sum_i q_i y_i = 0; stays in every domain."""
    if y.ndim == 2:
        return simplex.balance(y, problem.q, problem.b)
    positive = problem.mean_of(lambda some: np.maximum(some, 0.0), y)
    negative = problem.mean_of(lambda some: np.maximum(-some, 0.0), y)
    out = y.copy()
    if positive > negative:
        np.multiply(out, negative / positive, out=out, where=out > 0.0)
    elif negative > positive:
        np.multiply(out, positive / negative, out=out, where=out < 0.0)
    return out


def _imbalance(
    problem: Problem, y: Array, length: Array, mean: float, products: Products
) -> _LastStep:
    """From a sum of rounding to 0: a shift for squared loss; else the heavier sign gives in.

    ``mean`` is what was taken off y.
    """
    size = float(np.linalg.norm(length)) if y.ndim == 2 else float(length)
    if size == 0.0:
        return _LastStep()
    if y.ndim == 2:  # see `simplex.balance`: its t is right to a few roundings a class
        tau = 2.0 * gamma(64 + 8 * y.shape[1] ** 2)
        return _LastStep(tau=tau, reach=tau * size)
    if problem.loss.is_quadratic:
        off = products.mean_size(problem, y, size + abs(mean))
        return _LastStep(nu=off, reach=off)
    tau = products.imbalance(problem, y)
    return _LastStep(tau=tau, reach=tau * size)


def _project(problem: Problem, z: Array, y: Array) -> tuple[Array, Array, _LastStep] | None:
    """Bring (A'Qy)_j to 0 on the free coordinates without leaving the domains, if possible.

    y, u = A'Qy, and what is left to do.
    """
    if y.ndim == 2:
        of_classes = simplex.project(problem, z, y)
        if of_classes is None:
            return None
        y, u, nu, D, span = of_classes
        return y, u, _LastStep(nu=nu, D=D, reach=nu, span=span)
    few = int(problem.regularizer.free.sum()) <= min(problem.n, GRAM_LIMIT)
    if problem.loss.is_quadratic or not few:
        return _move(problem, z, y, problem.free_span)
    # D = phi'': a sample at the end of its domain stays there. This is the Newton step of the dual.
    D = problem.loss.hess(z, problem.b)
    for _ in range(3):
        found = _move(problem, z, y, problem.weighted_span(D, (D == 0.0) & (y == 0.0)))
        if found is not None:
            return found
        # Rows without room do not move; those that have some may do it without them.
        stay = _room(problem, y) <= 1e-6 * float(np.abs(y).max(initial=0.0))
        if not (stay & (D > 0.0)).any():
            break
        D = np.where(stay, 0.0, D)
    # Without weights every sample moves, which suits losses whose domain is everything, and a y
    # that is far from phi'(z).
    return _move(problem, z, y, problem.free_span)


def _move(
    problem: Problem, z: Array, y: Array, span: Span | None
) -> tuple[Array, Array, _LastStep] | None:
    """y moved by the span, u = A'Qy, and the last step to F'Qy = 0, one of real numbers."""
    if span is None:
        return None
    moved = _into_domain(problem, span.projected(y))
    if moved is None:
        return None
    u = problem.adjoint(moved)
    nu = span.distance(moved, u) if moved.any() else 0.0
    most = 1.0 if span.D is None else float(span.D.max())
    last = _LastStep(nu=nu, D=span.D, reach=nu * math.sqrt(most), span=span)
    return None if last.cost(problem, z, moved) is None else (moved, u, last)


def _room(problem: Problem, y: Array) -> Array:
    """How far y_i is from the ends of its domain."""
    low, high = problem.loss.domain(problem.b)
    return np.minimum(y - low, high - y)


def _by_ends(problem: Problem, z: Array, y: Array, moving: Mask, move: Array) -> float | None:
    """What the terms of the gap, which are convex in y_i, gain at most; None out of the domain.

    For a loss that says nothing of phi*'': one end of the interval has the largest value.
    """
    loss, b, z, y = problem.loss, problem.b[moving], z[moving], y[moving]
    low, high = loss.domain(b)
    ends = y - move, y + move
    if (ends[0] < low).any() or (ends[1] > high).any():
        return None
    largest = np.maximum(*(loss.fenchel_gap(z, end, b) for end in ends))
    more = np.maximum(largest - loss.fenchel_gap(z, y, b), 0.0)
    return float(problem.q[moving] @ (more + 64.0 * UNIT * loss.terms(z, y, b)))


def _into_domain(problem: Problem, y: Array) -> Array | None:
    """Shrink y as a whole, which keeps A'Qy = 0, until it is in the domains; None if it cannot."""
    low, high = problem.loss.domain(problem.b)
    y = np.where(problem.q > 0, y, 0.0)
    outside = (y < low) | (y > high)
    if not outside.any():
        return y
    bound = np.where(y < low, low, high)[outside]
    if (bound == 0.0).any():
        return None
    return float(np.min(bound / y[outside])) * INSIDE * y
