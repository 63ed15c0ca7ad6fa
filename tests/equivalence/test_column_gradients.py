"""Conjugate gradients on the support: the minimiser there, by brute force; P never rises."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.set_models import ColumnModel
from dualgap.designs import as_design
from dualgap.linalg.penalised import Penalty
from tests.tuned import tuned


def model(seed=0, n=40, d=12, sparse=False):
    """A, W and a point whose signs are those of the minimiser, or nearly."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.35)  # sparse enough to stay so
    w = rng.uniform(0.2, 1.0, n) / n
    v = rng.standard_normal(n) / n
    l1, l2 = np.full(d, 0.02), rng.uniform(0.0, 0.1, d)
    l1[-1] = 0.0
    x = rng.standard_normal(d) * (rng.random(d) < 0.7)
    columns = as_design(sp.csr_array(A) if sparse else A).columns(np.arange(d))
    return columns, A, w, v, x, l1, l2


def value(A, w, v, x, l1, l2, t):
    z = A @ (t - x)
    return v @ z + 0.5 * z @ (w * z) + l1 @ abs(t) + 0.5 * l2 @ (t * t)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_model_falls_and_zeros_stay(seed, sparse):
    columns, A, w, v, x, l1, l2 = model(seed, sparse=sparse)
    h = A.T**2 @ w
    left = v.copy()
    t, products = ColumnModel(columns, w, left, x, Penalty(l1, l2), h).finish(0.0)
    np.testing.assert_allclose(left, v + w * (A @ (t - x)), atol=1e-13)
    assert value(A, w, v, x, l1, l2, t) < value(A, w, v, x, l1, l2, x)
    assert 0 < products <= tuning.SYSTEMS.most_products + 1
    penalised = l1 > 0
    assert (t[penalised & (x == 0)] == 0).all()
    assert (t * x >= 0)[penalised].all()  # no coordinate on the other side of 0


@pytest.mark.parametrize("sparse", [False, True])
def test_the_minimiser_where_no_sign_changes(sparse):
    columns, A, w, v, x, l1, l2 = model(sparse=sparse)
    x = np.where(x != 0, np.sign(x), 0.0) * 10.0  # far from 0
    v = w * (A @ (x - 0.9 * x))  # so that the minimiser is near 0.9 x
    left = v.copy()
    weak = Penalty(0.0 * l1 + 1e-9 * (l1 > 0), 0.0 * l2)
    t, _ = ColumnModel(columns, w, left, x, weak, A.T**2 @ w).finish(0.0)
    assert (np.sign(t) == np.sign(x))[x != 0].all()
    F = (x != 0) | (l1 == 0)
    slope = (A.T @ (v + w * (A @ (t - x))))[F]
    assert slope == pytest.approx(np.zeros(F.sum()), abs=1e-7)


def test_what_would_cross_ends_at_zero():
    """One coordinate: its minimiser lies beyond 0."""
    columns = as_design(np.ones((1, 1))).columns(np.arange(1))
    one = np.ones(1)
    penalty = Penalty(0.5 * one, 0.0 * one)
    t, _ = ColumnModel(columns, one, 5.0 * one, 0.1 * one, penalty, one).finish(0.0)
    assert t == [0.0]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("l2", [0.0, 1e-4])
def test_the_same_optimum_in_fewer_sweeps(loss, l2, monkeypatch):
    """Correlated columns and no H: hundreds of sweeps without it."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((300, 40)) + 5.0 * rng.standard_normal((300, 1))
    b = A[:, :20] @ rng.standard_normal(20) + rng.standard_normal(300)
    b = b if loss == "squared" else np.where(b > 0, 1.0, -1.0)
    problem = dualgap.Problem(A, b, loss=loss, l1=1e-3, l2=l2, fit_intercept=True)
    by_gram = problem.solve(algorithm="working-set", tol=1e-9)
    tuned(monkeypatch, "GRAMS", largest_side=0)
    ours = problem.solve(algorithm="working-set", tol=1e-9, max_passes=20000)
    P = ours.trace.primal
    assert (np.diff(P) <= 4e-15 * P[:-1]).all()
    assert ours.status.converged and by_gram.status.converged
    assert ours.certificate.primal == pytest.approx(by_gram.certificate.primal, rel=2e-9)
    tuned(monkeypatch, "GRAMS", sign_changes=-1.0)  # never
    crawls = problem.solve(algorithm="working-set", tol=1e-9, max_passes=1.5 * ours.passes)
    assert not crawls.status.converged


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_sweeps_carry_the_slopes_along(sparse, same):
    """`finish` starts from what they leave: v + W A (t - x)."""
    columns, A, w, v, x, l1, l2 = model(sparse=sparse)
    w = np.full_like(w, w[0]) if same else w
    t, left = x.copy(), v.copy()
    columns.sweeps(w, left, t, A.T**2 @ w, l1, l2, 3.0, 0.0)
    assert (t != x).any()
    np.testing.assert_allclose(left, v + w * (A @ (t - x)), atol=1e-14)
