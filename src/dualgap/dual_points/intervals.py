"""Dual points and gaps of any separable regulariser, from its dual intervals.

g_j*(s_j) is finite for low_j <= s_j <= high_j, s = -A'Qy, and 0 lies between the two.

- `scales`: the largest t <= 1 for which t s is inside, whatever error s has, or a smaller one at
  which g* is 0 if that proves more. Where an end is 0 and s on its wrong side, it is t = 0:
- `moved_inside` brings y there first, where it can: y + D A_S beta with (A'Qy)_S = a margin, D =
  phi'', S what is outside or nearly so. It is believed only where `scales` finds it inside.
- `terms`: the regulariser's part of the gap from above. g_j(x_j) + g_j*(s) - s x_j is convex in s,
  so that over all s within an error of s_j it is largest at one of the two ends.

For the elastic net, whose intervals are symmetric, `feasible` and `certificate` have formulas of
their own.
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.dual_points.products import Products
from dualgap.linalg.normal_equations import NormalEquations
from dualgap.linalg.rounding import UNIT
from dualgap.problem import Problem

ROUNDS = 8
"""So often at most a set S is solved for; each time it grows by what came to be outside."""
LARGEST_SIDE = 2000
"""No set S is larger than this, for a matrix of that side is factorised."""
FAR = 1e-2
"""While some s_j is outside by more than this share of max |a_j| |y|, nothing is factorised."""
MARGIN = 4.0
"""Where an end is 0, s is brought inside by this times the error of s."""
WIDE_MARGIN = 256.0
"""The margin is this where free coordinates will move y once more, by a rounding of their own."""
RIDGE = 1e-10
"""Columns that depend on each other, such as equal ones, get this share of the diagonal added."""
SOLVABLE = 1e-14
"""The least reciprocal condition number with which something may be solved."""
NEARLY = 2.0
"""Also brought inside is what is nearer to its end than this times the largest distance outside."""
EVALUATION = 16.0
"""A term of g, of g* or of their sum is taken to have so many roundings."""


def into(problem: Problem, u: Array) -> Array:
    """u clipped to where g* is finite: what is left to do after scaling is a last bit."""
    g = problem.regularizer
    return -np.minimum(np.maximum(-u, g.dual_low), g.dual_high)


def scales(problem: Problem, y: Array, u: Array, error: Array | None) -> tuple[float, float]:
    """The factor where ``error``, that of u, has its say, and the one where it has none."""
    g, best = problem.regularizer, 1.0
    ends = (g.dual_low, g.dual_high)
    exact = _limit(problem, -u, np.zeros(()), *ends)
    blurred = exact if error is None else _limit(problem, -u, error, *ends)
    if problem.loss.is_quadratic and g.is_homogeneous:
        # g* is 0 along the ray, and D is -sum q (t^2 y^2/2 + t (b - offset) y).
        b = problem.b if problem.offset is None else problem.b - problem.offset
        curvature = problem.mean(y * y)
        if curvature > 0.0 and math.isfinite(blurred):
            best = max(-problem.mean(b * y) / curvature, 0.0)
    t = min(best, blurred)
    if g.flat is not None:
        inner = _limit(problem, -u, np.zeros(()) if error is None else error, *g.flat)
        if inner < t and _dual(problem, y, u, inner) > _dual(problem, y, u, t):
            return inner, min(best, exact, _limit(problem, -u, np.zeros(()), *g.flat))
    return t, min(best, exact)


def _dual(problem: Problem, y: Array, u: Array, t: float) -> float:
    """D(t y)."""
    return -problem.conjugate_sum(t * y) - problem.regularizer.conj(-into(problem, t * u))


def _limit(problem: Problem, s: Array, error: Array, low: Array, high: Array) -> float:
    """The largest t for which t (s +- error) is inside; free coordinates have no say."""
    g = problem.regularizer
    above, below = s + error, s - error
    up = (above > 0.0) & ~g.free
    down = (below < 0.0) & ~g.free
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.min(np.where(up, high / above, np.inf))
        return float(min(t, np.min(np.where(down, low / below, np.inf))))


def moved_inside(problem: Problem, z: Array, y: Array, products: Products) -> Array:
    """A y near by with (A'Qy)_j on the right side of 0 where a side is asked for, if there is one.

    On free coordinates it is left at 0, but for rounding.
    """
    g, design = problem.regularizer, problem.design
    if y.ndim == 2:
        return y
    side = g.one_sided
    D = np.ones_like(y) if problem.loss.is_quadratic else problem.loss.hess(z, problem.b)
    chosen = np.zeros(problem.size, dtype=bool)
    start, last = y, np.inf
    margin = WIDE_MARGIN if g.has_free else MARGIN
    for _ in range(ROUNDS):
        u = products.adjoint(problem, y)
        length = np.asarray(math.sqrt(problem.mean(y * y)))
        error = products.adjoint_error(problem, length, u, 0.0)
        outside = np.where(side != 0.0, error - side * u, -np.inf)
        worst = float(outside.max())
        if worst <= 0.0:
            return y
        if worst > FAR * float(length) * float(problem.column_norms.max()):
            break
        before = int(chosen.sum())
        chosen |= (outside >= -NEARLY * worst) & (side != 0.0)
        S = chosen | g.free
        if int(S.sum()) > min(problem.n, LARGEST_SIDE):
            break
        if int(chosen.sum()) == before and worst > 0.5 * last:
            break  # solved for already, in vain
        last = worst
        weights = problem.q * D
        equations = NormalEquations(design, weights, S)
        if not equations.definite:
            ridge = RIDGE * float(D.max()) * problem.column_norms**2
            equations = NormalEquations(design, weights, S, ridge)
        if equations.rcond < SOLVABLE:
            break
        beta = np.zeros(problem.size)
        beta[S] = equations.solve((margin * error * side - u)[S])
        y = problem.loss.into_domain(y + D * design.matvec(beta), problem.b)
    return _along_ones(problem, start, products)


def _along_ones(problem: Problem, y: Array, products: Products) -> Array:
    """y + t 1, which serves where the means of all columns have the side that is asked for."""
    g = problem.regularizer
    towards = g.one_sided * problem.column_means
    asked = g.one_sided != 0.0
    if g.has_free or not problem.loss.is_quadratic or not (towards[asked] > 0.0).all():
        return y
    u = products.adjoint(problem, y)
    length = np.asarray(math.sqrt(problem.mean(y * y)))
    error = MARGIN * products.adjoint_error(problem, length, u, 0.0)
    t = float(np.max((error - g.one_sided * u)[asked] / towards[asked]))
    return y + t if t > 0.0 else y


def terms(problem: Problem, x: Array, s: Array, error: Array) -> tuple[float, float]:
    """The sum of g(x) + g*(s) - s x from above, s being off by ``error``; and as it is."""
    g = problem.regularizer

    def at(point: Array) -> Array:
        inside = np.minimum(np.maximum(point, g.dual_low), g.dual_high)
        return np.where(g.free, 0.0, g.fenchel_gap(x, inside))

    size = np.abs(x)
    blurred = error + EVALUATION * UNIT * (np.abs(s) + g.smooth_part() * size)
    bare = float(at(s).sum())
    most = np.maximum(at(s - blurred), at(s + blurred))
    penalty = float(np.maximum(most, at(s)).sum()) * (1.0 + EVALUATION * UNIT)
    penalty += EVALUATION * UNIT * g.value(x)
    if not g.has_exact_gap:  # a difference of terms that are larger than itself
        penalty += EVALUATION * UNIT * (abs(g.conj(s)) + dot(np.abs(s), size))
    return penalty, bare


def last_bits(problem: Problem, moved: Array, gap: float) -> float:
    """About what a move of s by ``moved`` makes of the gap where it does most."""
    g = problem.regularizer
    smooth = np.broadcast_to(g.smooth_part(), moved.shape)
    total = float(
        np.sum(np.where(smooth > 0.0, moved * moved, 0.0) / (2.0 * smooth + (smooth == 0)))
    )
    ends = np.minimum(np.abs(g.dual_low), np.abs(g.dual_high))
    ends = np.where(g.free | (ends == 0.0), np.inf, ends)
    total += min(1.0, float(np.max(moved / ends, initial=0.0))) * problem.null_value
    return min(total, gap)
