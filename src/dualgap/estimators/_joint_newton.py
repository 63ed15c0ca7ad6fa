"""Newton's method for coefficients and scale of a Huber regression at once, on small dense data.

With r = Xw + c - b, e = epsilon, psi_i = clip(r_i, -e s, e s) and lam = alpha/W the objective is

    F = s + (1/s) sum_i q_i psi_i (2 r_i - psi_i) + lam |w|^2,

and s is always the best one for r (`_joint_scale.best_scale`). What is left is a function of (w, c)
alone, whose gradient is that of F at fixed s and whose Hessian is a Schur complement: with the sums
over the rows inside, |r_i| <= e s,

    M = sum q_i a_i a_i' + lam s I,   p = sum q_i r_i a_i,   S = sum q_i r_i^2,
    g = (2/s) A'Q psi + 2 lam w,      H = (2/s) (M - p p'/S).

M changes by the rows that come in or go out. Nothing rests on where this ends: the point is judged
like any other, and a search goes on from it if it does not do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._types import Array, Mask
from dualgap.designs import DenseDesign
from dualgap.estimators._joint_scale import best_scale
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.hessian_factor import cost
from dualgap.linalg.ridge import RidgeSystem
from dualgap.objective.constants import SMALL_GRAM
from dualgap.problem import Problem

STEPS = 30
"""A run has so many steps at most; five to ten are usual."""
FIRST = 12
"""So many steps with M of all rows come first at most: they need no factorisation of their own."""
LITTLE = 3e-3
"""The first steps end where one has lowered F by no more than this share."""
HALVINGS = 20
"""A step that does not lower F is halved so often at most."""
SHARE = 1e-4
"""A step is taken if it lowers F by this share of what its slope says (Armijo's condition)."""
WITHIN = 0.01
"""The run ends where the gradient bounds the gap by this share of tol."""
LEVEL = 1e-12
"""Where a step would lower F by no more than this share of it, F does not tell steps apart: whole
steps are taken,"""
FALLING = 0.25
"""while each makes the square of the gradient smaller than this share of what it was."""
SINGULAR = 1e-10
"""It gives up where no more than this share of S is left in H: the data are fitted exactly."""


class JointNewton(NamedTuple):
    """Where a run ended."""

    x: Array
    """The coefficients, with the intercept as the problem has it."""
    scale: float
    passes: float


def is_small(base: Problem) -> bool:
    """Whether steps with factorisations are the way, and columns near enough to 0 for them."""
    return bool(
        isinstance(base.base, DenseDesign)
        and base.d <= SMALL_GRAM
        and base.d < base.n
        and base.idle is None
        and base.constants.column_shifts is None
    )


def joint_newton(base: Problem, epsilon: float, lam: float, tol: float) -> JointNewton | None:
    """Minimise F from where least squares lead; None where H is singular.

    Parameters
    ----------
    base : Problem
        Data, weights and intercept, of which `is_small` is true.
    epsilon, lam, tol : float
        e, alpha/W and the relative gap to aim at.
    """
    run = _Run(base, epsilon, lam)
    x, r, scale, value = run.beginning()
    least = math.inf
    for _ in range(STEPS):
        psi = np.clip(r, -epsilon * scale, epsilon * scale)
        gradient = 2.0 / scale * run.adjoint(psi) + 2.0 * run.lam * x
        run.passes += 1.0
        square = float(gradient @ gradient)
        if run.is_near(gradient, psi, scale, WITHIN * tol * value):
            break
        d = run.direction(r, psi, scale, gradient)
        if d is None:
            return None
        slope = float(gradient @ d)
        tells = slope < -LEVEL * value
        if not (tells or square < FALLING * least):
            break
        least = math.inf if tells else square
        moved, t = base.design.matvec(d), 1.0
        for _ in range(HALVINGS):
            new = r + t * moved
            size = best_scale(new, base.q, epsilon)
            lower = run.value(x + t * d, new, size)
            if lower <= value + SHARE * t * slope or not tells:
                break
            t *= 0.5
        else:
            break
        x, r, scale, value = x + t * d, new, size, lower
    return JointNewton(x, scale, run.passes)


class _Run:
    """The data, and M of the rows that are inside, without lam s I; all of them at first."""

    def __init__(self, base: Problem, epsilon: float, lam: float) -> None:
        assert isinstance(base.base, DenseDesign)
        self.base, self.epsilon, self.root = base, epsilon, np.sqrt(base.q)
        self.A = base.base.A
        self.lam = np.zeros(base.size)
        self.lam[: base.d] = lam
        self.inside = np.ones(base.n, dtype=bool)
        self.gram = self._bordered(RidgeSystem(self.A, base.q, base.fit_intercept))
        self.passes = cost(base.design, self.lam)

    def _bordered(self, system: RidgeSystem) -> Array:
        """The Gram matrix of all rows, with the column of the intercept."""
        gram = system.gram()
        if not system.fit_intercept:
            return gram
        d, s = len(gram), self.base.intercept_scale
        whole = np.empty((d + 1, d + 1))
        whole[:d, :d], whole[d, d] = gram, s * s
        whole[d, :d] = whole[:d, d] = s * system.means
        return whole

    def adjoint(self, v: Array) -> Array:
        """A'Qv, with the column of the intercept."""
        return self.base.design.rmatvec(self.base.q * v)

    def value(self, x: Array, r: Array, scale: float) -> float:
        """F."""
        psi = np.clip(r, -self.epsilon * scale, self.epsilon * scale)
        smooth = float(self.base.q @ (psi * (2.0 * r - psi)))
        return scale + smooth / scale + float((self.lam * x) @ x)

    def beginning(self) -> tuple[Array, Array, float, float]:
        """w, r, s and F from least squares, by steps with M of all rows, which never raise F."""
        factor = cholesky(self.gram, self.lam)
        x = self.base.zeros()
        r, scale, value = -self.base.b, math.inf, math.inf
        for _ in range(FIRST):
            psi = np.clip(r, -self.epsilon * scale, self.epsilon * scale)
            d = factor.solve(self.adjoint(psi) + self.lam * min(scale, 1.0) * x)
            new = r - self.base.design.matvec(d)
            size = best_scale(new, self.base.q, self.epsilon)
            lower = self.value(x - d, new, size)
            self.passes += 1.0
            if not lower < value:
                break
            gained, x, r, scale, value = value - lower, x - d, new, size, lower
            if gained <= LITTLE * value:
                break
        return x, r, scale, value

    def is_near(self, gradient: Array, psi: Array, scale: float, gap: float) -> bool:
        """Whether the gap at the dual point psi is about as small as that.

        Of coefficients it is |g|^2/(4 lam); psi is scaled by about |sum q psi|/mean |psi| to bring
        the sum of an intercept to 0, a share of F.
        """
        d, lam = self.base.d, float(self.lam[0])
        if not (lam > 0.0 and float(gradient[:d] @ gradient[:d]) <= 4.0 * lam * gap):
            return False
        sums = 0.5 * scale * np.abs(gradient[d:]).sum() / self.base.intercept_scale
        return bool(sums * scale <= gap * float(self.base.q @ np.abs(psi)))

    def direction(self, r: Array, psi: Array, scale: float, gradient: Array) -> Array | None:
        """-H^(-1) g, by the formula of Sherman and Morrison."""
        inside = psi == r
        self._change(inside & ~self.inside, 1.0)
        self._change(self.inside & ~inside, -1.0)
        self.inside = inside
        here = np.where(inside, r, 0.0)
        p, S = self.adjoint(here), float(self.base.q @ (here * r))
        right = np.stack((0.5 * scale * gradient, p), axis=1)
        u, v = cholesky(self.gram, scale * self.lam).solve(right).T
        left = S - float(p @ v)
        if not left > SINGULAR * S:
            return None
        return np.asarray(-(u + v * (float(p @ u) / left)))

    def _change(self, rows: Mask, sign: float) -> None:
        """Rows that come in, or go out."""
        at = np.flatnonzero(rows)
        if not at.size:
            return
        some = np.empty((at.size, self.base.size))
        some[:, : self.base.d] = self.A[at]
        some[:, self.base.d :] = self.base.intercept_scale
        some *= self.root[at, None]
        self.gram += sign * (some.T @ some)
