"""From any y to a dual point: one at which D(y) is finite and bounds P* from below.

In this order, each step keeping what the ones before it achieved:

1. into the domains of phi_i* (each an interval that contains 0, or a simplex around it);
2. free coordinates (an intercept, or no regulariser) need (A'Qy)_j = 0:
   squared loss with an intercept: subtract the mean; other losses: scale the heavier sign;
   several free coordinates: y - W A beta, W = diag(phi'') at x, beta from weighted least squares;
   (vector predictions: the same two steps in `simplex`);
3. coordinates with l1 but no l2 need |(A'Qy)_j| <= l1_j: scale y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dualgap import simplex
from dualgap._arrays import per_row, within
from dualgap._types import Array, Mask
from dualgap.constants import GRAM_LIMIT
from dualgap.normal_equations import NormalEquations
from dualgap.problem import Problem

Kind = Literal["gap", "gap_scaled_dual", "gap_projected_dual"]


@dataclass(frozen=True)
class DualPoint:
    """A feasible y, with u = A'Qy and how it came about."""

    y: Array
    u: Array
    kind: Kind
    residual: float
    """|part of y in the range of the free columns|: 0 but for rounding, and reported as such."""


def repair_is_free(problem: Problem) -> bool:
    """Whether `repair_free` can make any y feasible, at a cost of O(n + d)."""
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
    if problem.regularizer.has_boxed:
        t = l1_scale(problem, y, u)
        if t != 1.0:
            y, u = t * y, t * u
        u = _into_box(problem, u)
    return y, u


def _into_box(problem: Problem, u: Array) -> Array:
    """The factor of `l1_scale` brings u there but for the last bit; this takes care of that bit."""
    box = np.where(problem.regularizer.boxed, problem.regularizer.l1, np.inf)
    return within(u, box)


def l1_scale(problem: Problem, y: Array, u: Array) -> float:
    """The factor that brings |(A'Qy)_j| below l1_j where there is no l2; best for squared loss."""
    boxed = problem.regularizer.boxed.reshape(-1)
    over = float(np.max(np.abs(u[boxed]) / problem.regularizer.l1[boxed]))
    limit = 1.0 / over if over > 0 else np.inf
    if problem.loss.is_quadratic and not problem.regularizer.has_l2:
        # D along the ray is -sum q (t^2 y^2/2 + t (b - offset) y): its maximiser, kept feasible.
        b = problem.b if problem.offset is None else problem.b - problem.offset
        curvature = problem.mean(y * y)
        if curvature > 0 and np.isfinite(limit):
            return min(max(-problem.mean(b * y) / curvature, -limit), limit)
    return min(1.0, limit)


def make_feasible(problem: Problem, z: Array, y: Array) -> DualPoint | None:
    """A dual point made from y, or None where this cannot be done.

    Parameters
    ----------
    problem : Problem
    z : array of shape (n,)
        Predictions of the primal point; their phi'' weigh the projection.
    y : array of shape (n,)
        Where to start from.
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
    if problem.free_intercept_only:
        y = y - problem.mean(y) if problem.loss.is_quadratic else _balance(problem, y)
        y = _where(counts, y)
        kind = "gap_scaled_dual"
    elif problem.regularizer.has_free:
        projected = _project(problem, z, y, problem.adjoint(y))
        if projected is None:
            return None
        y, kind = projected, "gap_projected_dual"
    u = problem.adjoint(y)
    if problem.regularizer.has_boxed:
        t = l1_scale(problem, y, u)
        if t != 1.0:
            y, u = t * y, t * u
            kind = "gap_scaled_dual" if kind == "gap" else kind
        u = _into_box(problem, u)
    free = problem.regularizer.free
    residual = 0.0
    if kind == "gap_projected_dual" and y.any():
        size = problem.free_range.size
        if y.ndim == 1:
            residual = size(y, u)
        else:  # class by class: <y, A_F x> is a sum over the classes
            residual = float(np.linalg.norm([size(*pair) for pair in zip(y.T, u.T, strict=True)]))
    return DualPoint(y, np.where(free, 0.0, u), kind, residual)


def _where(counts: Mask | None, y: Array) -> Array:
    """y, and 0 where it does not count."""
    return y if counts is None else np.where(counts, y, 0.0)


def _balance(problem: Problem, y: Array) -> Array:
    """Scale the heavier sign of y so that sum_i q_i y_i = 0; stays in every domain."""
    if y.ndim == 2:
        return simplex.balance(y, problem.q, problem.b)
    positive = problem.mean(np.maximum(y, 0.0))
    negative = problem.mean(np.maximum(-y, 0.0))
    least = min(positive, negative)
    up = least / positive if positive > 0 else 0.0
    down = least / negative if negative > 0 else 0.0
    return np.where(y > 0, up * y, down * y)


def _project(problem: Problem, z: Array, y: Array, u: Array) -> Array | None:
    """Bring (A'Qy)_j to 0 on the free coordinates without leaving the domains, if possible."""
    if y.ndim == 2:
        return simplex.project(problem, z, y, u)
    low, high = problem.loss.domain(problem.b)
    free = problem.regularizer.free
    if not problem.free_range.known:
        return None
    if not problem.loss.is_quadratic and free.sum() <= min(problem.n, GRAM_LIMIT):
        # y - W A beta with W = diag(phi''): a sample at the end of its domain stays there. This is
        # the Newton step of the dual.
        hess = problem.loss.hess(z, problem.b)
        equations = NormalEquations(problem.design, problem.q * hess, free)
        if equations.definite:
            new, v = y, u
            for _ in range(3):  # refined until what is left is rounding
                beta = np.zeros(problem.size)
                beta[free] = equations.solve(v[free])
                new = new - hess * problem.design.matvec(beta)
                v = problem.adjoint(new)
            feasible = _into_domain(problem, new, low, high)
            if feasible is not None:
                return feasible
    # Without weights every sample moves, which suits losses whose domain is everything, and a y
    # that is far from phi'(z).
    return _into_domain(problem, problem.free_range.remove(y), low, high)


def _into_domain(problem: Problem, y: Array, low: Array, high: Array) -> Array | None:
    """Shrink y as a whole, which keeps A'Qy = 0, until it is in the domains; None if it cannot."""
    y = np.where(problem.q > 0, y, 0.0)
    outside = (y < low) | (y > high)
    if not outside.any():
        return y
    bound = np.where(y < low, low, high)[outside]
    if (bound == 0.0).any():
        return None
    return float(np.min(bound / y[outside])) * y
