"""Designs whose constants are prescribed: A'QA has exactly the eigenvalues that one asks for.

    A = Q^{-1/2} U diag(e)^{1/2} V',   U (n x d) and V (d x d) with orthonormal columns
    A'QA = V diag(e) V',   Lam = max e,   M = min e,   L/mu = sqrt(Lam/M)

for any weights q. And losses with a prescribed conditioning gamma delta: squared loss has 1,
logistic loss 0, and logistic plus (k/2) z^2 has k/(1/4 + k), for gamma = 1/(1/4 + k) and delta = k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap import Problem
from dualgap.losses import Logistic, Loss, Squared, StrongLogistic


def design(rng, eigenvalues, q):
    """A with A'QA = V diag(eigenvalues) V' for a random rotation V."""
    e = np.asarray(eigenvalues, dtype=float)
    U = np.linalg.qr(rng.standard_normal((len(q), e.size)))[0]
    V = np.linalg.qr(rng.standard_normal((e.size, e.size)))[0]
    return ((U * np.sqrt(e)) @ V.T) / np.sqrt(q)[:, None]


def uneven_weights(rng, n):
    """Weights that sum to one and span a factor of ten."""
    w = 10.0 ** rng.uniform(-1.0, 0.0, n)
    return w / w.sum()


def loss_with(conditioning: float) -> Loss:
    """The loss with gamma delta = conditioning."""
    if conditioning == 1.0:
        return Squared()
    if conditioning == 0.0:
        return Logistic()
    return StrongLogistic(strength=0.25 * conditioning / (1.0 - conditioning))


@dataclass(frozen=True)
class Case:
    """A problem whose constants are known because they were chosen."""

    problem: Problem
    A: np.ndarray
    Lam: float
    M: float

    @property
    def mu(self):
        """The paper's mu, which the algorithms are given: mu^2/n = M."""
        return np.sqrt(self.problem.n * self.M)


def case(seed, *, kappa, conditioning, l2=0.0, l1=0.0, weighted=False, n=9, d=4, Lam=3.0, b=None):
    """n x d problem with L/mu = kappa, gamma delta = conditioning, l2 in units of Lam/gamma."""
    rng = np.random.default_rng(seed)
    q = uneven_weights(rng, n) if weighted else np.full(n, 1.0 / n)
    M = Lam / kappa**2
    A = design(rng, np.geomspace(M, Lam, d), q)
    loss = loss_with(conditioning)
    if b is None:
        noise = rng.standard_normal(n)
        b = noise if isinstance(loss, Squared) else np.sign(noise)
    problem = Problem(
        A, b, loss=loss, l1=l1, l2=l2 * Lam / loss.gamma, sample_weight=q if weighted else None
    )
    return Case(problem, A, Lam, M)


def planted_lasso(seed, eigenvalues, *, l1, l2=0.0, n=24, weighted=False):
    """Squared loss, l1 > 0, and the x* that solves it: b is made to fit x*.

    Optimality is A'Qy* = -(l1 s + l2 x*) with s in sign(x*), and y* = A x* - b. So take x* with
    every third coordinate 0, s to match, y* = -A (A'QA)^{-1} (l1 s + l2 x*) + r with A'Qr = 0.
    """
    rng = np.random.default_rng(seed)
    d = len(eigenvalues)
    q = uneven_weights(rng, n) if weighted else np.full(n, 1.0 / n)
    A = design(rng, eigenvalues, q)
    zero = np.arange(d) % 3 == 0
    s = np.where(zero, rng.uniform(-0.8, 0.8, d), rng.choice([-1.0, 1.0], d))
    x = np.where(zero, 0.0, s * rng.uniform(0.5, 1.5, d))
    gram = A.T @ (q[:, None] * A)
    r = rng.standard_normal(n)
    r -= A @ np.linalg.solve(gram, A.T @ (q * r))
    y = r - A @ np.linalg.solve(gram, l1 * s + l2 * x)
    problem = Problem(A, A @ x - y, l1=l1, l2=l2, sample_weight=q if weighted else None)
    return Case(problem, A, max(eigenvalues), min(eigenvalues)), x
