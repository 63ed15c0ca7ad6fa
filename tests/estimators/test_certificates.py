"""What an estimator claims can be checked by anybody, and scikit-learn's points do not beat it."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

import dualgap
from dualgap import Status
from dualgap.estimators._joint_scale import SMALLEST_SCALE, best_scale
from tests.estimators.data import labels, regression


def test_ridge_certificate_is_that_of_certify():
    X, y, weights = regression()
    model = dualgap.Ridge(3.0).fit(X, y, weights)
    again = dualgap.certify(
        X,
        y,
        model.coef_,
        model.dual_coef_,
        l2=3.0 / weights.sum(),
        intercept=model.intercept_,
        sample_weight=weights,
        fit_intercept=True,
    )
    assert again == model.certificate_
    objective = weights @ (y - model.predict(X)) ** 2 + 3.0 * model.coef_ @ model.coef_
    assert model.certificate_.primal == pytest.approx(objective / (2 * weights.sum()))
    assert model.certificate_.relative_gap <= model.tol
    assert model.status_ is Status.CONVERGED


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_certificate_is_that_of_certify(classes):
    X, _, weights = regression()
    y = labels(classes)
    model = dualgap.LogisticRegression(C=0.7, l1_ratio=0.4).fit(X, y, weights)
    codes = np.searchsorted(model.classes_, y)
    two = classes == 2
    again = dualgap.certify(
        X,
        codes,
        model.coef_[0] if two else model.coef_.T,
        model.dual_coef_,
        loss="logistic" if two else "multinomial",
        l1=0.4 / (0.7 * weights.sum()),
        l2=0.6 / (0.7 * weights.sum()),
        intercept=float(model.intercept_[0]) if two else model.intercept_,
        sample_weight=weights,
        fit_intercept=True,
    )
    assert again.gap == pytest.approx(model.certificate_.gap, rel=1e-6, abs=1e-15)
    assert again.relative_gap <= 1.0001 * model.tol


def test_float32_certificate_belongs_to_the_rounded_point():
    X, y, _ = regression()
    single = X.astype(np.float32)
    model = dualgap.Ridge(1.0, tol=1e-10).fit(single, y)
    again = dualgap.certify(
        single,
        y,
        model.coef_.astype(float),
        model.dual_coef_,
        l2=1.0 / len(y),
        intercept=float(model.intercept_),
        fit_intercept=True,
    )
    assert again == model.certificate_


# ---- Huber: the joint problem ----


def huber_objective(X, y, weights, epsilon, alpha, w, c, scale):
    """scikit-learn's objective, from its definition, over W."""
    t = np.abs(X @ w + c - y) / scale
    H = np.where(t < epsilon, t * t, 2 * epsilon * t - epsilon**2)
    return (weights @ (scale + H * scale) + alpha * w @ w) / weights.sum()


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0, 30.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_huber_certificate_bounds_the_joint_objective(alpha, intercept):
    X, y, weights = regression()
    y = y.copy()
    y[:10] += 30.0
    model = dualgap.HuberRegressor(alpha=alpha, fit_intercept=intercept, tol=1e-7)
    model.fit(X, y, weights)
    certificate = model.certificate_
    args = (X, y, weights, 1.35, alpha)
    ours = huber_objective(*args, model.coef_, model.intercept_, model.scale_)
    assert certificate.primal == pytest.approx(ours, rel=1e-12)
    assert certificate.certified
    assert certificate.relative_gap <= 1e-7
    other = theirs.HuberRegressor(alpha=alpha, fit_intercept=intercept, tol=1e-9, max_iter=10_000)
    other.fit(X, y, weights)
    reference = huber_objective(*args, other.coef_, other.intercept_, other.scale_)
    assert certificate.dual <= reference * (1 + 1e-12)
    assert ours <= reference * (1 + 2e-7)


def test_huber_certificate_is_honest_far_from_the_optimum():
    """After few passes the bound must still hold: compare with the optimum found later."""
    X, y, weights = regression()
    best = dualgap.HuberRegressor(alpha=0.5, tol=1e-9).fit(X, y, weights).certificate_
    for passes in (1, 2, 4, 8, 16):
        model = dualgap.HuberRegressor(alpha=0.5, max_iter=passes, tol=1e-9)
        with pytest.warns(ConvergenceWarning, match="HuberRegressor"):
            model.fit(X, y, weights)
        early = model.certificate_
        assert early.dual <= best.primal
        assert early.primal - best.primal <= early.gap


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 3.0])
def test_best_scale_minimises(epsilon):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(1, 30))
        r = rng.normal(size=n) * rng.choice([0.0, 1.0, 20.0], n)
        q = rng.uniform(size=n) * (rng.uniform(size=n) > 0.2) + 1e-12
        q /= q.sum()

        def objective(log_scale, r=r, q=q):
            s = np.exp(log_scale)
            t = np.abs(r) / s
            H = np.where(t < epsilon, t * t, 2 * epsilon * t - epsilon**2)
            return float(q @ (s + H * s))

        found = best_scale(r, q, epsilon)
        span = (np.log(SMALLEST_SCALE), np.log(100.0))
        reference = minimize_scalar(
            objective, bounds=span, method="bounded", options={"xatol": 1e-10}
        )
        assert objective(np.log(found)) <= reference.fun * (1 + 1e-9) + 1e-12


# ---- what is said when it is not certified ----


def test_warning_says_gap_cause_and_remedy():
    X = regression()[0] * [1e4, 1, 1, 1, 1, 1e-3]
    with pytest.warns(ConvergenceWarning) as caught:
        dualgap.LogisticRegression(max_iter=3, solver="agd").fit(X, labels(2))
    (message,) = [str(w.message) for w in caught]
    assert "certified relative gap is" in message
    assert "very different scales" in message
    assert "StandardScaler" in message
    assert "max_iter (now 3)" in message


def test_separable_data_without_penalty():
    X = np.linspace(-1, 1, 20)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = dualgap.LogisticRegression(C=np.inf)
    with pytest.warns(ConvergenceWarning, match="No minimiser exists"):
        model.fit(X, y)
    assert model.status_ is Status.NO_MINIMISER
    assert model.score(X, y) == 1.0


def test_tol_0_asks_for_what_float64_can_give():
    X, y = load_diabetes(return_X_y=True)
    model = dualgap.Ridge(1.0, tol=0, max_iter=3000).fit(X, y)
    assert model.certificate_.relative_gap < 1e-12
