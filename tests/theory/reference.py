"""The saddle point (x*, y*) by Newton's method in extended precision, and distances from it.

Nothing here uses the package's losses: phi is (z - b)^2/2, or log(1 + exp(-bz)) + (k/2) z^2, whose
formulas are written out again in np.longdouble. All differences are evaluated as sums of terms
>= 0 without cancellation, so that they are meaningful down to the rounding of the iterates.

    D_phi*(y*, y) = phi(v) - phi(v*) - phi'(v*)(v - v*)          y = phi'(v),  v* = z*
    L(x,y*) - L(x*,y) = [g(x) - g(x*) + u*'(x - x*)] + sum_i q_i D_phi*(y_i, y_i*),   u* = A'Qy*
    P(x) - P* = sum_i q_i D_phi(z_i, z_i*) + [g(x) - g(x*) + u*'(x - x*)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.losses import Logistic, Squared, StrongLogistic

LONG = np.longdouble


def long(values):
    return np.asarray(values, dtype=LONG)


@dataclass(frozen=True)
class Phi:
    """phi, phi', phi'' and the Bregman divergence of phi for the targets b."""

    b: np.ndarray
    quadratic: bool
    k: LONG

    @classmethod
    def of(cls, problem):
        assert isinstance(problem.loss, (Squared, Logistic, StrongLogistic))
        quadratic = isinstance(problem.loss, Squared)
        return cls(long(problem.b), quadratic, long(problem.loss.delta))

    def _p(self, z):
        """expit(-b z)."""
        return 1 / (1 + np.exp(self.b * z))

    def value(self, z):
        if self.quadratic:
            return (z - self.b) ** 2 / 2
        return np.logaddexp(0, -self.b * z) + self.k / 2 * z**2

    def grad(self, z):
        return z - self.b if self.quadratic else -self.b * self._p(z) + self.k * z

    def hess(self, z):
        if self.quadratic:
            return np.ones_like(z)
        p = self._p(z)
        return p * (1 - p) + self.k

    def bregman(self, to, at):
        """phi(to) - phi(at) - phi'(at)(to - at); with m = b z the logistic part is
        log1p(p expm1(-dm)) + p dm, p = expit(-m): relative error eps/dm instead of eps/dm^2.
        """
        dz = to - at
        if self.quadratic:
            return dz**2 / 2
        p, dm = self._p(at), self.b * dz
        near = np.abs(dm) < 1
        close = np.log1p(p * np.expm1(-np.where(near, dm, 0))) + p * dm
        m = self.b * at
        far = np.logaddexp(0, -m - dm) - np.logaddexp(0, -m) + p * dm
        return np.where(near, close, far) + self.k / 2 * dz**2

    def inverse_grad(self, y, v):
        """The v with phi'(v) = y, from a v that is right to double precision."""
        if self.quadratic:
            return y + self.b
        for _ in range(2):
            v = v - (self.grad(v) - y) / self.hess(v)
        return v


@dataclass(frozen=True)
class Saddle:
    """(x*, y*), z* = A x* = v*, and the distances from them; rows of X, Y, V are iterates."""

    A: np.ndarray
    q: np.ndarray
    phi: Phi
    l1: np.ndarray
    l2: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray

    def primal_distance(self, X):
        """|x - x*|^2."""
        return ((long(X) - self.x) ** 2).sum(axis=-1)

    def dual_distance(self, Y):
        """sum q_i (y_i - y_i*)^2."""
        return (self.q * (long(Y) - self.y) ** 2).sum(axis=-1)

    def divergence(self, V):
        """B = sum q_i D_phi*(y_i*, y_i) at y = phi'(v)."""
        return (self.q * self.phi.bregman(long(V), self.z)).sum(axis=-1)

    def regularizer_part(self, X):
        """g(x) - g(x*) + u*'(x - x*), with -u* = l2 x* + l1 s, s in sign(x*)."""
        X = long(X)
        u = self.A.T @ (self.q * self.y)
        s = np.clip(-(u + self.l2 * self.x), -self.l1, self.l1)
        return (self.l2 / 2 * (X - self.x) ** 2 + self.l1 * np.abs(X) - s * X).sum(axis=-1)

    def lagrangian_gap(self, X, V):
        """G = L(x, y*) - L(x*, y) at y = phi'(v)."""
        dual = (self.q * self.phi.bregman(self.z, long(V))).sum(axis=-1)
        return self.regularizer_part(X) + dual

    def suboptimality(self, X):
        """P(x) - P*."""
        Z = long(X) @ self.A.T
        return (self.q * self.phi.bregman(Z, self.z)).sum(axis=-1) + self.regularizer_part(X)


def dense(problem):
    """A in extended precision, with the column of ones if there is an intercept."""
    return long(np.column_stack([problem.design.matvec(e) for e in np.eye(problem.size)]))


def saddle_at(problem, x):
    """The saddle point whose primal part is known."""
    A, phi, x = dense(problem), Phi.of(problem), long(x)
    z = A @ x
    g = problem.regularizer
    return Saddle(A, long(problem.q), phi, long(g.l1), long(g.l2), x, phi.grad(z), z)


def newton(problem):
    """Minimise P (l1 = 0) by Newton's method; residuals in extended precision.

    The direction comes from a double precision solve, which makes the end of the iteration
    iterative refinement: every step gains ten digits or more on these well-conditioned problems.
    """
    assert not problem.regularizer.has_l1
    A, phi, q = dense(problem), Phi.of(problem), long(problem.q)
    l2 = long(problem.regularizer.l2)

    def value(x):
        return (q * phi.value(A @ x)).sum() + (l2 / 2 * x**2).sum()

    x = np.zeros(problem.size, dtype=LONG)
    best, size = x, np.inf
    for _ in range(60):
        z = A @ x
        grad = A.T @ (q * phi.grad(z)) + l2 * x
        new = float(np.abs(grad).max())
        if new >= size and size < 1e-14:  # at rounding level it no longer falls
            return saddle_at(problem, best)
        best, size = x, new
        H = (A.T * (q * phi.hess(z))) @ A + np.diag(l2)
        step = long(np.linalg.solve(H.astype(float), -grad.astype(float)))
        t = 1.0
        while size > 1e-6 and value(x + t * step) > value(x):
            t /= 2
        x = x + t * step
    raise AssertionError("Newton's method did not converge")
