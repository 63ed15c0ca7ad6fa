"""The gap in floats of a point, from the sums of one reading there.

At y = phi'(z) every loss has phi(z) + phi*(y) = y z, so that the gap is a sum over coordinates,

    P - D = sum_j g_j(x_j) + g_j*(-u_j) + x_j u_j,   u = A'Qy.

Where y has to be changed first, so that sums over free columns are 0 and the others are where g* is
finite, it is multiplied by factors f <= 1 of the sign, or of the class, of a row. That costs

    phi(z) + phi*(f y) - f y z <= (1 - f) phi(z),   (1 - f)^2 phi(z) for squared loss.

Where columns without penalty are more than an intercept, y moves by D F beta, which costs half the
square of its length: rho'(F'QDF)^(-1) rho/2, with rho = F'Qy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualgap._types import Array, Places
from dualgap.dual_points.feasible import needs_factorisation
from dualgap.dual_points.simplex import class_factors
from dualgap.linalg.cholesky import cholesky
from dualgap.problem import Problem
from dualgap.streamed.reading import Look
from dualgap.streamed.sums import Slopes

INSIDE = 1.0 - 1e-13
"""Dual points are scaled to a little inside of where g* is finite, so that a proof finds room."""


class Dual(NamedTuple):
    """A dual point and what it says."""

    gap: float
    """P(x) - D there, in floats."""
    slopes: Slopes
    u: Array
    """A'Qy."""
    primal: float = np.nan
    """P(x), where it was found in the same reading."""


def gap_is_known(problem: Problem) -> bool:
    """Whether the gap that sums tell is one but for rounding, and not so to leading order only."""
    return problem.loss.is_quadratic or not needs_factorisation(problem)


def dual_at(problem: Problem, x: Array, found: Look, at: Places | None = None) -> Dual:
    """The dual point at the slopes of x, made feasible as far as sums can tell.

    Parameters
    ----------
    problem : Problem
    x : array
    found : Look
        Of a reading at x, with its signs if there is an intercept.
    at : array of int, optional
        The coordinates of the Gram matrix in it; all of them by default.
    """
    g, u, extra = problem.regularizer, found.u, 0.0
    bend: Array | None = None
    factors = np.ones(problem.outputs or 2)
    parts = found.mean_loss / factors.size * factors
    if problem.free_intercept_only and problem.loss.is_quadratic:
        mean = float(u[-1])  # of y, which moves by it
        u, extra = u - mean * problem.column_means, 0.5 * mean * mean
        bend = np.zeros_like(u)
        bend[-1] = -mean
    elif problem.free_intercept_only and problem.outputs is None:
        above, below = found.masses[:2]
        if above > below:
            factors[0] = below / above
        elif below > above:
            factors[1] = above / below
        u, parts = factors[0] * found.parts + factors[1] * (u - found.parts), found.masses[2:]
    elif problem.free_intercept_only:
        K = problem.outputs or 1
        factors, parts = class_factors(found.masses[:, :K]), found.masses[:, K]
        u = np.einsum("c,cjk->jk", factors, found.parts)
    elif needs_factorisation(problem):
        u, extra, bend = _projected(problem, found, at)
    u = np.where(g.free, 0.0, u)
    best = Dual(np.inf, Slopes(x, factors, bend, found.damping), u)
    for t in _lengths(problem, x, u, found.mean_loss):
        short = 1.0 - t * factors
        cost = parts @ (short * short if problem.loss.is_quadratic else short)
        inside = np.minimum(np.maximum(-t * u, g.dual_low), g.dual_high)
        each = np.where(g.free, 0.0, g.fenchel_gap(x, inside))
        gap = float(cost) + extra + float(each.sum())
        if gap < best.gap:
            best = Dual(gap, Slopes(x, t * factors, bend, found.damping), t * u)
    return best


def _lengths(problem: Problem, x: Array, u: Array, loss: float) -> list[float]:
    """What y may be multiplied by, all of it."""
    g = problem.regularizer
    most = _limit(problem, -u, g.dual_low, g.dual_high)
    out = [min(1.0, most)]
    if problem.loss.is_quadratic and g.is_homogeneous and loss > 0.0:
        # (1 - t)^2 loss + t <x, u> is least there.
        out.append(min(max(1.0 - 0.5 * float(np.sum(x * u)) / loss, 0.0), most))
    if g.has_l1:  # beyond its strengths g* may be finite and steep
        low, high = g.zero_interval()
        flat = _limit(problem, -u, np.asarray(low), np.asarray(high))
        if flat < out[0]:
            out.append(flat)
    return out


def _limit(problem: Problem, s: Array, low: Array, high: Array) -> float:
    """The largest t for which t s is between low and high; free coordinates have no say."""
    free = problem.regularizer.free
    up, down = (s > 0.0) & ~free, (s < 0.0) & ~free
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.min(np.where(up, high / s, np.inf), initial=np.inf)
        t = min(t, np.min(np.where(down, low / s, np.inf), initial=np.inf))
    return float(t) * INSIDE


def _projected(
    problem: Problem, found: Look, at: Places | None
) -> tuple[Array, float, Array | None]:
    """A'Qy after the step out of the span of the free columns, what it costs, and the step.

    Of coordinates outside of the Gram matrix nothing is known, and little changes near the end.
    """
    free = np.broadcast_to(problem.regularizer.free, found.u.shape).ravel()
    u, K = found.u.astype(np.float64).ravel(), problem.outputs or 1
    places = np.arange(problem.size) if at is None else at
    places = (places[:, None] * K + np.arange(K)).ravel()
    on = free[places]
    if found.gram.ndim < 2 or on.sum() < free.sum():
        return found.u, np.inf, None
    rho = u[places[on]]
    beta = cholesky(found.gram[np.ix_(on, on)]).solve(rho)
    u[places] -= found.gram[:, on] @ beta
    bend = np.zeros(u.size)
    bend[places[on]] = -beta
    shape = found.u.shape
    return u.reshape(shape), 0.5 * float(rho @ beta), bend.reshape(shape)
