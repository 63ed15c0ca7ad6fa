"""The optimum, by a method that is not in the race: Newton on the support, then a certificate.

With l1 = 0 Newton's method runs from zero. With l1 > 0 a proximal Newton method, whose quadratic
models scikit-learn's coordinate descent solves, finds the support; Newton's method on it, with the
signs held, gives the last digits. Nothing relies on this having worked: the duality gap of the
answer, recomputed from the data, bounds its error.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit
from sklearn.linear_model import ElasticNet

import dualgap
from benchmarks.race.tasks import Task

FACTORISE_TO = 4000
"""Columns up to which Newton's equations are factorised; conjugate gradients beyond."""


@dataclass(frozen=True)
class Reference:
    """P(x) of the reference point, and a bound on P(x) - P*."""

    primal: float
    gap: float


def reference(task: Task) -> Reference:
    """The best point found, with its certificate."""
    if task.l1:
        x = _newton(task, _sparse_start(task))
    elif task.n < task.d and task.n <= FACTORISE_TO:  # the answer is in the span of the rows
        A = task.A.toarray() if task.sparse else task.A
        Q, R = scipy.linalg.qr(A.T, mode="economic")
        inner = Task(task.name, np.ascontiguousarray(R.T), task.b, task.loss, task.l2)
        x = Q @ _newton(inner, np.zeros(task.n))
    else:
        x = _newton(task, np.zeros(task.d))
    certificate = dualgap.certify(task.A, task.b, x, loss=task.loss, l1=task.l1, l2=task.l2)
    gap = certificate.gap
    return Reference(task.primal(x), float(gap))


def _derivatives(task: Task, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """phi' and phi'' at z."""
    if task.loss == "squared":
        return z - task.b, np.ones(task.n)
    p = expit(-task.b * z)
    return -task.b * p, p * (1.0 - p)


def _newton(task: Task, x: np.ndarray, most: int = 60) -> np.ndarray:
    """Damped Newton steps on the support of x (everywhere if l1 = 0), with its signs held."""
    support = np.flatnonzero(x) if task.l1 else np.arange(task.d)
    if not support.size:
        return x
    A = task.A[:, support] if task.l1 else task.A
    signs = task.l1 * np.sign(x[support])
    best, value = x.copy(), task.primal(x)
    for _ in range(most):
        slopes, curvatures = _derivatives(task, A @ best[support])
        gradient = A.T @ slopes / task.n + task.l2 * best[support] + signs
        direction = -_solve(A, curvatures / task.n, task.l2, gradient)
        slope, step = float(gradient @ direction), 1.0
        at_rounding = -slope <= 1e-15 * value
        while True:
            trial = best.copy()
            trial[support] += step * direction
            new = task.primal(trial)
            if at_rounding or step < 1e-8:  # the last step, if it helps
                return trial if new < value else best
            if new <= value + 1e-4 * step * slope:
                break
            step /= 2
        best, value = trial, new
    return best


def _solve(A, weights: np.ndarray, l2: float, right: np.ndarray) -> np.ndarray:
    """(A'diag(weights)A + l2 I)^-1 right."""
    d = A.shape[1]
    if d <= FACTORISE_TO:
        if sp.issparse(A):
            H = (A.T @ sp.diags(weights) @ A).toarray()
        else:
            H = A.T @ (weights[:, None] * A)
        H.flat[:: d + 1] += l2
        try:
            return scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), right)
        except scipy.linalg.LinAlgError:
            return scipy.linalg.lstsq(H, right)[0]
    squares = A.multiply(A) if sp.issparse(A) else A * A
    scale = np.asarray(squares.T @ weights).reshape(-1) + l2
    H = LinearOperator((d, d), lambda v: A.T @ (weights * (A @ v)) + l2 * v)
    return cg(H, right, rtol=1e-8, maxiter=2000, M=LinearOperator((d, d), lambda v: v / scale))[0]


def _sparse_start(task: Task, rounds: int = 40) -> np.ndarray:
    """Proximal Newton: sum_i h_i (a_i'x - t_i)^2 / 2 as least squares with scaled rows."""
    x, value = np.zeros(task.d), task.primal_at_zero
    model = ElasticNet(
        alpha=task.strength,
        l1_ratio=task.l1_ratio,
        fit_intercept=False,
        warm_start=True,
        tol=1e-12,
        max_iter=20000,
    )
    model.coef_ = x.copy()
    for _ in range(1 if task.loss == "squared" else rounds):
        z = task.A @ x
        slopes, curvatures = _derivatives(task, z)
        root = np.sqrt(np.maximum(curvatures, 1e-10))
        rows = sp.csc_matrix(sp.diags(root) @ task.A) if task.sparse else root[:, None] * task.A
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows, root * z - slopes / root)
        direction, step = model.coef_ - x, 1.0
        while step > 1e-6 and task.primal(x + step * direction) > value:
            step /= 2
        new = task.primal(x + step * direction)
        if new >= value:
            break
        done = value - new <= 1e-14 * value
        x, value = x + step * direction, new
        if done:
            break
    return model.coef_ if task.loss == "squared" else x
