"""Going on after max_iter is one long run; other data start from the last points."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import dualgap
from tests.estimators.data import labels, regression

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MODELS = [
    (dualgap.Ridge(tol=1e-14, solver="bpd"), None),
    (dualgap.Ridge(tol=1e-20, solver="ada-spdc", random_state=3), None),
    (dualgap.ElasticNet(0.1, tol=1e-20, solver="adf-bpd"), None),
    (dualgap.LogisticRegression(tol=1e-12, solver="agd"), 2),
    (dualgap.LogisticRegression(tol=1e-12, l1_ratio=0.5), 3),
    (dualgap.LogisticRegression(tol=1e-12, solver="dualgap-saga"), 3),
    (dualgap.LinearSVC(tol=1e-12, solver="ada-bpd"), 3),
    (dualgap.HuberRegressor(alpha=1.0, tol=1e-12), None),
]


@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_continuing_is_one_long_run(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    params = model.get_params()
    whole = type(model)(**{**params, "max_iter": 40}).fit(X, y)
    parts = type(model)(**{**params, "max_iter": 20, "warm_start": True}).fit(X, y)
    assert not np.array_equal(parts.coef_, whole.coef_)
    parts.fit(X, y)
    assert np.array_equal(parts.coef_, whole.coef_)
    assert np.array_equal(parts.intercept_, whole.intercept_)


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (dualgap.Lasso(0.01, tol=1e-12), None),
        (dualgap.LogisticRegression(tol=1e-12), 2),
        (dualgap.LogisticRegression(tol=1e-12), 3),
        (dualgap.LogisticRegression(l1_ratio=1.0, tol=1e-12), 2),
    ],
)
def test_small_parts_end_where_one_run_does(model, classes):
    """Solvers whose steps are several passes: part by part until the end."""
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    whole = type(model)(**model.get_params()).fit(X, y)
    parts = type(model)(**{**model.get_params(), "max_iter": 1, "warm_start": True}).fit(X, y)
    assert not parts.status_.converged
    for _ in range(40):
        parts.fit(X, y)
    assert parts.status_.converged
    assert np.array_equal(parts.coef_, whole.coef_)
    assert np.array_equal(parts.intercept_, whole.intercept_)


@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_a_converged_fit_stays(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    again = type(model)(**{**model.get_params(), "warm_start": True, "tol": 1e-6}).fit(X, y)
    coef, passes = again.coef_.copy(), np.max(again.n_iter_)
    again.fit(X, y)
    assert np.array_equal(again.coef_, coef)
    assert np.max(again.n_iter_) == 1 < passes


def test_other_strength_starts_from_the_last_points():
    X, y, _ = regression()
    cold = dualgap.ElasticNet(0.099, tol=1e-10).fit(X, y)
    warm = dualgap.ElasticNet(0.1, tol=1e-10, warm_start=True).fit(X, y)
    warm.set_params(alpha=0.099).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)


@pytest.mark.parametrize("change", ["rows", "features", "labels", "intercept"])
def test_other_data_are_another_problem(change):
    X, y = regression()[0], labels(3)
    model = dualgap.LogisticRegression(tol=1e-9, warm_start=True).fit(X, y)
    if change == "rows":
        X, y = X[:60], y[:60]
    elif change == "features":
        X = X[:, :4]
    elif change == "labels":
        y = np.roll(y, 5)
    else:
        model.set_params(fit_intercept=False)
    model.fit(X, y)
    fresh = dualgap.LogisticRegression(tol=1e-9, fit_intercept=change != "intercept").fit(X, y)
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-3)
    assert model.certificate_.relative_gap <= 1e-9


def test_zero_coefficients_do_not_fool_the_continuation():
    """With x = 0 the objective is the same for every alpha: only the strengths tell."""
    X, y, _ = regression()
    model = dualgap.Lasso(1e3, warm_start=True).fit(X, y)
    assert not model.coef_.any()
    model.set_params(alpha=0.01).fit(X, y)
    assert model.coef_.any()
    assert model.certificate_.relative_gap <= model.tol


# ---- from the coefficients alone: of a saved model, or of a fit without warm_start ----


def without_the_run(model):
    return pickle.loads(pickle.dumps(model))


def hard(classes):
    """Data that take many passes: columns of very different lengths, correlated."""
    rng = np.random.default_rng(4)
    X = np.cumsum(rng.standard_normal((200, 12)), axis=1) * np.geomspace(1.0, 0.05, 12)
    scores = X @ rng.standard_normal(12) + rng.standard_normal(200)
    if classes is None:
        return X, scores + 3.0
    return X, np.digitize(scores, np.quantile(scores, np.linspace(0, 1, classes + 1)[1:-1]))


FROM_COEFFICIENTS = [
    (dualgap.Ridge(solver="ada-bpd"), None),
    (dualgap.Ridge(solver="dualgap-saga", fit_intercept=False), None),
    (dualgap.Ridge(alpha=30.0, solver="sdca", fit_intercept=False), None),
    (dualgap.ElasticNet(0.01, solver="adf-bpd"), None),
    (dualgap.Lasso(0.01, solver="ada-bpd"), None),
    (dualgap.HuberRegressor(), None),
    (dualgap.LogisticRegression(solver="ada-bpd"), 2),
    (dualgap.LogisticRegression(C=100.0), 2),
    (dualgap.LogisticRegression(solver="liblinear", intercept_scaling=3.0, C=100.0), 2),
    (dualgap.LogisticRegression(solver="agd"), 3),
    (dualgap.LinearSVC(solver="ada-bpd", intercept_scaling=3.0), 2),
    (dualgap.LinearSVC(solver="ada-bpd", fit_intercept=False), 3),
]


@pytest.mark.parametrize(("model", "classes"), FROM_COEFFICIENTS)
@pytest.mark.parametrize("way", ["saved", "switched on"])
def test_a_warm_start_from_coefficients_alone(model, classes, way):
    """Law: at the minimiser there is less to do than at zero, and the answer is the same."""
    X, y = hard(classes)
    cold = clone(model).set_params(tol=1e-9, warm_start=way == "saved").fit(X, y)
    warm = without_the_run(cold).set_params(warm_start=True, tol=1e-8).fit(X, y)
    again = clone(model).set_params(tol=1e-8).fit(X, y)
    assert warm.certificate_.relative_gap <= 1e-8
    assert np.max(warm.n_iter_) < np.max(again.n_iter_)
    np.testing.assert_allclose(warm.coef_, again.coef_, atol=1e-2)


def test_targets_start_each_from_its_own_coefficients():
    X, y = hard(None)
    Y = np.column_stack([y, -2.0 * y, np.roll(y, 3)])
    cold = dualgap.Ridge(solver="ada-bpd", tol=1e-9, warm_start=True).fit(X, Y)
    warm = without_the_run(cold).set_params(tol=1e-8).fit(X, Y)
    assert (warm.n_iter_ < cold.n_iter_).all()


def test_coefficients_that_were_made_sparse_will_do():
    X, y = hard(2)
    model = dualgap.LogisticRegression(l1_ratio=1.0, C=0.1, tol=1e-9, warm_start=True).fit(X, y)
    coef = model.coef_.copy()
    warm = without_the_run(model.sparsify()).fit(X, y)
    np.testing.assert_allclose(warm.coef_, coef, atol=1e-3)


@pytest.mark.parametrize("change", ["features", "classes", "not finite"])
def test_coefficients_that_do_not_fit_are_left(change):
    """Equivalence: as a first fit."""
    X, y = hard(3)
    model = without_the_run(dualgap.LogisticRegression(warm_start=True).fit(X, y))
    if change == "features":
        X = X[:, :5]
    elif change == "classes":
        y = np.minimum(y, 1)
    else:
        model.coef_ = np.full_like(model.coef_, np.nan)
    fresh = dualgap.LogisticRegression().fit(X, y)
    assert np.array_equal(model.fit(X, y).coef_, fresh.coef_)
