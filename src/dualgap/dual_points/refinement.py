"""Newton steps as exact as float64 allows, for points that rounding holds up.

On the coordinates J where g is smooth at x (no l1, or x_j != 0) let H d = -grad P, H the Hessian of
P on J.

- `newton_dual`: y = phi'(z) + phi''(z) A_J d has A'Qy = -(gradient of g at x + d) on J. It meets to
  first order what a dual point must meet, and its gap is d'H d/2 to leading order: the distance to
  the optimum itself, where y = phi'(z) may show nothing. With l1, coordinates that d would take
  past 0 are put there and leave J, others join it, as in the minimum of the quadratic model.
- `refined`: x + d, and so on while P falls, with signs kept.

Neither forms H, whose condition is the square of that of the data: d comes from the singular values
of the weighted columns, brought to unit length; gradients have twice the digits where they may.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.linalg

from dualgap import _validation as check
from dualgap import limits
from dualgap._types import Array, Mask, Places
from dualgap.designs.contract import block_rows
from dualgap.dual_points.products import PLAIN, PRECISE, Products, may_be_precise
from dualgap.linalg.conjugate_gradients import ConjugateGradients
from dualgap.linalg.line_search import Trial, first_that_falls
from dualgap.linalg.normal_equations import NormalEquations
from dualgap.objective.constants import GRAM_LIMIT
from dualgap.problem import Problem

MOST_COLUMNS = 512
"""Singular values are computed of no more columns than this."""
MOST_ENTRIES = 1 << 18
"""The copy of the columns J has no more entries n |J| than this (2 MiB)."""
MOST_PRODUCTS = 60
"""Conjugate gradients make no more products than this, where a Newton step is worth them."""
ENOUGH = 1e-4
"""Conjugate gradients end where the residual, in the norm of the diagonal, is this share of what it
was."""
MOST_ROUNDS = 16
"""One quadratic model with l1 gets so many steps, on one guess of the support after the other."""
LOUD = 1.0 + 1e-3
"""Coordinates at 0 leave it where |A'Qy|_j is more than this times l1_j."""
STEPS = 60
"""A point is refined by no more steps than this."""
SHORTER = tuple(0.25**k for k in range(8))
"""The lengths of a step that are tried, one after the other; then more damping is tried instead."""
LONGEST = 1e12
"""A step is lengthened no further than this: P falls without end there."""
DAMPING = (0.0, 1e-10, 1e-6, 1e-3, 0.1)
"""These shares of the largest squared singular value are added to all, until a step lowers P."""


class _Model:
    """P to second order at x, on J, from phi' and phi'' of the rows."""

    def __init__(
        self,
        problem: Problem,
        x: Array,
        signs: Array,
        slope: Array,
        hess: Array,
        products: Products,
    ) -> None:
        g = problem.elastic_net
        self.problem, self.x = problem, x
        self.J: Places = np.flatnonzero((g.l1 == 0.0) | (signs != 0.0))
        smooth = products.adjoint(problem, slope)
        self.gradient = (smooth + g.l2 * x + g.l1 * signs)[self.J]
        root = np.sqrt(problem.q * hess)
        M = np.empty((problem.n, self.J.size))
        for at, block in problem.design.blocks(block_rows(problem.size)):
            M[at] = root[at, None] * block[:, self.J]
        l2 = g.l2[self.J]
        if l2.any():
            M = np.concatenate((M, np.diag(np.sqrt(l2))))
        size = np.abs(M).max(axis=0)
        size = np.where(size > 0.0, size, 1.0)
        M /= size
        size *= (lengths := np.maximum(np.linalg.norm(M, axis=0), 1e-300))
        M /= lengths
        self.unit = 1.0 / size
        _, self.sigma, self.V = scipy.linalg.svd(M, full_matrices=False, check_finite=False)

    def step(self, damping: float) -> Array:
        """d, with zeros outside J."""
        squares = self.sigma**2
        if not squares.size or not squares[0] > 0.0:
            return np.zeros(self.problem.size)
        kept = squares > np.finfo(float).eps ** 2 * squares[0]
        along = self.V[kept] @ (self.unit * self.gradient)
        d = np.zeros(self.problem.size)
        d[self.J] = -self.unit * (self.V[kept].T @ (along / (squares[kept] + damping * squares[0])))
        return d


def is_refinable(problem: Problem, x: Array) -> bool:
    """Whether a step costs little, and rows have one prediction."""
    if problem.loss.is_vector or not problem.regularizer.has_strengths:
        return False
    count = int(((problem.elastic_net.l1 == 0.0) | (x != 0.0)).sum())
    return 0 < count <= MOST_COLUMNS and problem.n * count <= MOST_ENTRIES


def newton_dual(problem: Problem, x: Array, z: Array, *, dear: bool = False) -> Array | None:
    """The dual point of a Newton step from x, or None where it would cost too much.

    Parameters
    ----------
    problem : Problem
    x, z : array
        The point, with the intercept in it, and its predictions.
    dear : bool
        Whether it may cost some dozens of products with the data.
    """
    if problem.loss.is_vector or not np.isfinite(z).all():
        return None
    slope, hess = problem.loss.grad(z, problem.b), problem.loss.hess(z, problem.b)
    signs = np.sign(x)
    for left in range(MOST_ROUNDS if dear and problem.regularizer.has_l1 else 1, 0, -1):
        step = _step(problem, x, signs, slope, hess, dear)
        if step is None:
            return None
        new = x + step
        passing = _passing(problem, new, signs) if left > 1 else np.zeros(0, dtype=bool)
        if passing.any():
            new[passing] = 0.0
            step = new - x
        x, slope = new, np.asarray(slope + hess * problem.design.matvec(step))
        if passing.any():
            signs = np.where(passing, 0.0, signs)
        elif left > 1:
            woken = _woken(problem, signs, slope)
            if not woken.any():
                break
            signs = signs + woken
    y = problem.loss.into_domain(slope, problem.b)
    return y if float(np.abs(y).max(initial=0.0)) <= check.LARGEST else None  # not for nan, either


def _passing(problem: Problem, new: Array, signs: Array) -> Mask:
    """The coordinates with l1 that a step takes past 0: they end there."""
    return (problem.bounded_net.l1 > 0.0) & (new * signs < 0.0)


def _woken(problem: Problem, signs: Array, slope: Array) -> Array:
    """The signs of coordinates at 0 that the slopes would move away from there."""
    l1 = problem.bounded_net.l1
    sums = problem.adjoint(slope)
    return np.where((signs == 0.0) & (l1 > 0.0) & (np.abs(sums) > LOUD * l1), -np.sign(sums), 0.0)


def _step(
    problem: Problem, x: Array, signs: Array, slope: Array, hess: Array, dear: bool
) -> Array | None:
    """By singular values where these are cheap."""
    if is_refinable(problem, signs):
        return _Model(problem, x, signs, slope, hess, PLAIN).step(0.0)
    return _plain_step(problem, x, signs, slope, hess, dear)


def _plain_step(
    problem: Problem, x: Array, signs: Array, slope: Array, hess: Array, dear: bool
) -> Array | None:
    """The step by normal equations, or by conjugate gradients where columns are too many."""
    g = problem.regularizer
    if not (g.has_strengths or g.has_bounds):
        return None
    net = problem.bounded_net
    smooth = (net.l1 == 0.0) | (signs != 0.0)
    if not g.has_strengths:
        smooth &= (x > np.asarray(getattr(net, "lower"))) & (x < np.asarray(getattr(net, "upper")))  # noqa: B009
    J = np.broadcast_to(smooth, x.shape).copy()
    count = int(J.sum())
    if count == 0:
        return np.zeros_like(x)
    l2 = np.broadcast_to(net.l2, x.shape)
    gradient = problem.adjoint(slope) + l2 * x + net.l1 * signs
    weights, step = problem.q * hess, np.zeros_like(x)
    if count <= min(problem.n, GRAM_LIMIT):
        equations = NormalEquations(problem.design, weights, J, l2)
        if equations.definite:
            step[J] = -equations.solve(gradient[J])
            return step
    if not dear:
        return None
    diagonal = problem.design.column_norms_sq(weights) + l2
    diagonal = np.where(J & (diagonal > 0.0), diagonal, np.inf)  # the others stay where they are
    run = ConjugateGradients.begun(np.where(J, -gradient, 0.0))
    run.turn(run.r / diagonal)
    least = ENOUGH**2 * run.rho
    for _ in range(MOST_PRODUCTS):
        if not run.rho > least:
            break
        assert run.p is not None
        product = problem.design.rmatvec(weights * problem.design.matvec(run.p))
        if not run.advance(np.where(J, product + l2 * run.p, 0.0)):
            break
        run.turn(run.r / diagonal)
    return run.d


def refined(problem: Problem, x: Array) -> Array:
    """A point with a lower P near x, or x itself."""
    products = PRECISE if may_be_precise(problem) else PLAIN
    for _ in range(STEPS):
        if not is_refinable(problem, x):
            break
        limits.check_time()
        z = products.predict(problem, x).z
        new = _lower(problem, x, z, products)
        if new is None:
            break
        x = new
    return x


def _lower(problem: Problem, x: Array, z: Array, products: Products) -> Array | None:
    """x + t d with a lower P: by the Hessian, damped, and by its bound, which always gives one."""

    def at(d: Array, t: float) -> Trial:
        """P there; a coordinate that would change its sign stops at 0."""
        new = x + t * d
        new = np.where(has_l1 & (new * x < 0.0), 0.0, new)
        if not np.isfinite(new).all():
            return Trial(np.inf, 0.0, new)
        return Trial(problem.primal(new, products.predict(problem, new).z), 0.0, new)

    has_l1 = problem.elastic_net.l1 > 0.0
    below = float(np.nextafter(problem.primal(x, z), -np.inf))
    for majorise in (False, True):
        slope, hess = problem.loss.grad(z, problem.b), problem.loss.hess(z, problem.b)
        if majorise:  # phi'' everywhere at its bound: where it is 0 there is no other guide
            hess = np.full_like(z, problem.loss.secant(z, problem.b, slope))
        model = _Model(problem, x, np.sign(x), slope, hess, products)
        for damping in DAMPING:
            d = model.step(damping)
            if not d.any():
                break
            found = first_that_falls(partial(at, d), SHORTER, below, decrease=0.0, rounding=0.0)
            if found is None:
                continue
            t, end = found
            while t < LONGEST:  # kinks are far where there is no curvature
                t *= 4.0
                further = at(d, t)
                if not further.value < end.value:
                    break
                end = further
            return np.asarray(end.point)
    return None
