"""Newton steps as exact as float64 allows, for points that rounding holds up.

On the coordinates J where g is smooth at x (no l1, or x_j != 0) let H d = -grad P, H the Hessian of
P on J.

- `newton_dual`: y = phi'(z) + phi''(z) A_J d has A'Qy = -(gradient of g at x + d) on J. It meets to
  first order what a dual point must meet, and its gap is d'H d/2 to leading order: the distance to
  the optimum itself, where y = phi'(z) may show nothing.
- `refined`: x + d, and so on while P falls, with signs kept.

Neither forms H, whose condition is the square of that of the data: d comes from the singular values
of the weighted columns, brought to unit length; gradients have twice the digits where they may.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dualgap._types import Array, Places
from dualgap.designs._base import block_rows
from dualgap.problem import Problem
from dualgap.products import PLAIN, PRECISE, Products, may_be_precise

MOST_COLUMNS = 1024
MOST_WORK = 1e9
"""n |J|^2: multiplications of a singular value decomposition."""
STEPS = 30
SHORTEST = 1e-4
"""Of a step: below it, more damping is tried instead."""
DAMPING = (0.0, 1e-10, 1e-6, 1e-3, 0.1)
"""Of the largest singular value's square, added to all of them where a step does not lower P."""


class _Model:
    """P to second order at x, on J."""

    def __init__(self, problem: Problem, x: Array, z: Array, products: Products) -> None:
        g = problem.regularizer
        self.problem, self.x = problem, x
        self.J: Places = np.flatnonzero((g.l1 == 0.0) | (x != 0.0))
        self.slope = problem.loss.grad(z, problem.b)
        self.hess = problem.loss.hess(z, problem.b)
        smooth = products.adjoint(problem, self.slope)
        self.gradient = (smooth + g.l2 * x + g.l1 * np.sign(x))[self.J]
        root = np.sqrt(problem.q * self.hess)
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
        kept = squares > np.finfo(float).eps ** 2 * squares[0]
        along = self.V[kept] @ (self.unit * self.gradient)
        d = np.zeros(self.problem.size)
        d[self.J] = -self.unit * (self.V[kept].T @ (along / (squares[kept] + damping * squares[0])))
        return d


def _fits(problem: Problem, x: Array) -> bool:
    """Whether a step costs little, and rows have one prediction."""
    if problem.loss.is_vector:
        return False
    count = int(((problem.regularizer.l1 == 0.0) | (x != 0.0)).sum())
    return 0 < count <= MOST_COLUMNS and problem.n * count**2 <= MOST_WORK


def newton_dual(problem: Problem, x: Array, z: Array) -> Array | None:
    """The dual point of a Newton step from x, or None where it would cost too much."""
    if not _fits(problem, x):
        return None
    model = _Model(problem, x, z, PLAIN)
    if model.sigma.size == 0 or not model.sigma[0] > 0.0:
        return None
    y = model.slope + model.hess * problem.design.matvec(model.step(0.0))
    return np.asarray(y) if np.isfinite(y).all() else None


def refined(problem: Problem, x: Array) -> Array:
    """A point with a lower P near x, or x itself."""
    products = PRECISE if may_be_precise(problem) else PLAIN
    for _ in range(STEPS):
        if not _fits(problem, x):
            break
        z = products.predict(problem, x).z
        primal = problem.primal(x, z)
        model = _Model(problem, x, z, products)
        if model.sigma.size == 0 or not model.sigma[0] > 0.0:
            break
        new = _lower(problem, x, primal, model, products)
        if new is None:
            break
        x = new
    return x


def _lower(
    problem: Problem, x: Array, primal: float, model: _Model, products: Products
) -> Array | None:
    """x + t d with a lower P; a coordinate that would change its sign stops at 0."""
    has_l1 = problem.regularizer.l1 > 0.0
    for damping in DAMPING:
        d, t = model.step(damping), 1.0
        while t >= SHORTEST:
            new = x + t * d
            new = np.where(has_l1 & (new * x < 0.0), 0.0, new)
            if np.isfinite(new).all():
                value = problem.primal(new, products.predict(problem, new).z)
                if value < primal:
                    return new
            t *= 0.25
    return None
