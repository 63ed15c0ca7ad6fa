"""Newton's method for coefficients and scale of a Huber regression at once."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as theirs

import dualgap
from dualgap.api import Problem
from dualgap.estimators import _joint_search
from dualgap.estimators._joint_newton import joint_newton
from dualgap.estimators._joint_scale import best_scale
from dualgap.losses import Huber


def data(n=80, d=6, far=0.0):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d)) + far
    y = X @ rng.normal(size=d) + 3.0 + rng.normal(size=n)
    y[::9] += 40.0
    return X, y, rng.integers(1, 4, n).astype(float)


@pytest.fixture
def solves(monkeypatch):
    """The inner solves of the searches."""
    done = []
    solve = _joint_search.JointSearch._solve
    monkeypatch.setattr(
        _joint_search.JointSearch, "_solve", lambda self, *a: done.append(a) or solve(self, *a)
    )
    return done


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_it_ends_where_the_search_does(alpha, weighted, intercept, solves):
    X, y, weights = data()
    weights = weights if weighted else None
    tol = 1e-10 if alpha else 1e-8
    options = {"alpha": alpha, "fit_intercept": intercept, "tol": tol}
    model = dualgap.HuberRegressor(**options).fit(X, y, weights)
    assert not solves
    searched = dualgap.HuberRegressor(**options, solver="newton", max_iter=99).fit(X, y, weights)
    assert solves
    assert model.certificate_.certified and model.certificate_.relative_gap <= tol
    assert model.certificate_.dual <= searched.certificate_.primal * (1.0 + 1e-15)
    assert searched.certificate_.dual <= model.certificate_.primal * (1.0 + 1e-15)
    np.testing.assert_allclose(model.coef_, searched.coef_, atol=1e-4)
    assert model.scale_ == pytest.approx(searched.scale_, rel=1e-4)


@pytest.mark.parametrize("epsilon", [1.1, 1.35, 5.0])
def test_it_is_a_point_where_the_gradient_is_0(epsilon):
    """With s the best scale, X'Q clip(r, -e s, e s) + lam s w = 0; so for the constant."""
    X, y, weights = data(far=2.0)
    problem = Problem(X, y, loss=Huber(), fit_intercept=True, sample_weight=weights)
    found = joint_newton(problem, epsilon, 1e-3, 1e-14)
    w, c = problem.split(found.x)
    r = X @ w + c - y
    assert found.scale == pytest.approx(best_scale(r, problem.q, epsilon), rel=1e-12)
    psi = np.clip(r, -epsilon * found.scale, epsilon * found.scale)
    gradient = X.T @ (problem.q * psi) + 1e-3 * found.scale * w
    assert np.abs([*gradient, problem.q @ psi]).max() <= 1e-8
    other = theirs.HuberRegressor(
        epsilon=epsilon, alpha=1e-3 * weights.sum(), tol=1e-10, max_iter=10_000
    ).fit(X, y, weights)
    np.testing.assert_allclose(w, other.coef_, atol=2e-3)  # where its own search ends


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_data_that_are_fitted_exactly_are_left_to_the_search():
    X, _, _ = data()
    y = X @ np.arange(6.0)
    problem = Problem(X, y, loss=Huber())
    assert joint_newton(problem, 1.35, 0.0, 1e-8) is None or not np.isnan(
        best_scale(y, problem.q, 1.35)
    )
    model = dualgap.HuberRegressor(alpha=0.0, fit_intercept=False)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, np.arange(6.0), atol=1e-6)
