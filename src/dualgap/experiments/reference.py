"""Reference optima: Newton's method to the floor of float64, certified, and checked by L-BFGS.

    x <- x - s H^-1 grad P(x),   H = A' diag(q phi'') A + lambda I,   s in {1, 1/2, 1/4, ...}

H^-1 by Cholesky where d is at most n and a few thousand, else by conjugate gradients. For the
squared loss the first step is the solution and the next ones refine it. The duality gap of
`dualgap.certify` then bounds P(x) - P*: it knows nothing of how x was found. L-BFGS from 0 is the
second opinion: its P must not lie below the certified bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from dualgap._types import Array
from dualgap.api import Problem

CHOLESKY_LIMIT = 4096
NEWTON_STEPS = 60
LBFGS_STEPS = 3000


@dataclass(frozen=True)
class Reference:
    """An optimum and how well it is known.

    Attributes
    ----------
    start : float
        P(0).
    optimum : float
        P at the best point found.
    bound : float
        Certified: optimum - P* <= bound.
    kind : str
        Which certificate.
    second : float
        P where L-BFGS ended.
    """

    start: float
    optimum: float
    bound: float
    kind: str
    second: float

    @property
    def floor(self) -> float:
        """Relative gaps below this mean nothing: the bound, and the rounding of P."""
        rounding = 8.0 * float(np.finfo(float).eps) * abs(self.optimum)
        return (self.bound + rounding) / (self.start - self.optimum)

    @property
    def relative_bound(self) -> float:
        """The bound over P*."""
        return self.bound / self.optimum if self.optimum > 0 else np.inf

    @property
    def disagreement(self) -> float:
        """By how much L-BFGS ended above the optimum, over P(0) - P*."""
        return (self.second - self.optimum) / (self.start - self.optimum)


def reference(problem: Problem) -> Reference:
    """Solve and certify."""
    x = newton(problem)
    certificate = problem.certify(x)
    second = lbfgs(problem)
    lower = certificate.primal - certificate.gap
    if not second >= lower - 1e-12 * abs(lower):
        raise ArithmeticError(
            f"L-BFGS reached P = {second!r}, below the certified lower bound {lower!r} of "
            f"{problem!r}: please report this."
        )
    return Reference(
        start=problem.primal_at_zero,
        optimum=certificate.primal,
        bound=certificate.gap,
        kind=certificate.kind,
        second=second,
    )


def gradient(problem: Problem, x: Array, z: Array) -> Array:
    """grad P(x) from z = A x."""
    return problem.adjoint(problem.loss.grad(z, problem.b)) + problem.elastic_net.l2 * x


def newton(problem: Problem) -> Array:
    """Newton's method from 0 until the gradient no longer falls."""
    x = problem.zeros()
    z = problem.predict(x)
    value, slope = problem.primal(x, z), gradient(problem, x, z)
    best, least, stalled = x, np.inf, 0
    solve: Callable[[Array], Array] | None = None
    for _ in range(NEWTON_STEPS):
        if solve is None or not problem.loss.is_quadratic:
            solve = _hessian_inverse(problem, z)
        direction = solve(slope)
        s = 1.0
        while True:
            trial = x - s * direction
            z = problem.predict(trial)
            new = problem.primal(trial, z)
            # At the floor P no longer tells; the gradient does.
            if new <= value * (1.0 + 1e-15) or s < 1e-4:
                break
            s *= 0.5
        x, value, slope = trial, new, gradient(problem, trial, z)
        size = float(np.linalg.norm(slope))
        if size < 0.9 * least:
            best, least, stalled = x, size, 0
        else:
            stalled += 1
        if stalled == 3:
            break
    return best


def _hessian_inverse(problem: Problem, z: Array) -> Callable[[Array], Array]:
    """v -> H^-1 v at z = A x."""
    weights = problem.q * problem.loss.hess(z, problem.b)
    design, l2 = problem.design, problem.elastic_net.l2
    if problem.size <= min(problem.n, CHOLESKY_LIMIT):
        H = design.gram(weights) + np.diag(l2)
        factor = scipy.linalg.cho_factor(H, overwrite_a=True, check_finite=False)
        return lambda v: np.asarray(scipy.linalg.cho_solve(factor, v))

    def product(v: Array) -> Array:
        v = v.reshape(-1)
        return design.rmatvec(weights * design.matvec(v)) + l2 * v

    operator = LinearOperator((problem.size, problem.size), matvec=product, dtype=np.float64)
    return lambda v: np.asarray(cg(operator, v, rtol=1e-3, maxiter=500)[0])


def lbfgs(problem: Problem) -> float:
    """P where scipy's L-BFGS-B ends from 0."""

    def both(x: Array) -> tuple[float, Array]:
        z = problem.predict(x)
        return problem.primal(x, z), gradient(problem, x, z)

    limits = {"maxiter": LBFGS_STEPS, "maxfun": 2 * LBFGS_STEPS, "ftol": 1e-16, "gtol": 1e-14}
    arguments: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": limits}
    return float(minimize(both, problem.zeros(), **arguments).fun)
