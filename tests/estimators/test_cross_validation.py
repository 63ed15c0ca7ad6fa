"""The same choices, errors and scores as scikit-learn, with every fit certified."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

import dualgap
from tests.estimators.data import labels, regression

X, Y, WEIGHTS = regression()
WIDE = np.random.default_rng(5).normal(size=(30, 50))
TIGHT = {"tol": 1e-11, "max_iter": 50_000}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5, [0.2, 0.9]])
def test_elastic_net(ratio, intercept, weighted):
    options = {"l1_ratio": ratio, "fit_intercept": intercept, "alphas": 12, "cv": 4}
    weights = WEIGHTS if weighted else None
    ours = dualgap.ElasticNetCV(**options, **TIGHT).fit(X, Y, weights)
    expected = theirs.ElasticNetCV(**options, tol=1e-10, max_iter=50_000).fit(X, Y, weights)
    assert ours.alpha_ == pytest.approx(expected.alpha_)
    assert ours.l1_ratio_ == expected.l1_ratio_
    assert_allclose(ours.alphas_, expected.alphas_)
    assert_allclose(ours.mse_path_, expected.mse_path_, rtol=1e-4)
    assert_allclose(ours.coef_, expected.coef_, atol=1e-5)
    assert ours.gap_path_.shape == ours.mse_path_.shape
    assert (ours.gap_path_ <= 1e-11).all()


def test_lasso_on_sparse_data():
    options = {"alphas": [0.01, 0.1, 1.0], "cv": 3}
    ours = dualgap.LassoCV(**options, **TIGHT).fit(sp.csc_matrix(X), Y)
    expected = theirs.LassoCV(**options, tol=1e-10).fit(X, Y)
    assert ours.alpha_ == expected.alpha_
    assert_allclose(ours.mse_path_, expected.mse_path_, rtol=1e-4)
    assert not hasattr(ours, "l1_ratio_")


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("data", ["tall", "wide", "sparse", "targets"])
def test_ridge(data, intercept, cv, scoring):
    A, b, weights = X, Y, WEIGHTS
    if data == "wide":
        A, b, weights = WIDE, WIDE[:, 0] + np.sin(np.arange(30)), WEIGHTS[:30]
    if data == "targets":
        b = np.column_stack([Y, np.exp(Y / 5)])
    A = sp.csr_matrix(A) if data == "sparse" else A
    options = {"alphas": [0.1, 3.0, 50.0], "fit_intercept": intercept, "cv": cv, "scoring": scoring}
    options["store_cv_results"] = cv is None
    ours = dualgap.RidgeCV(**options, **TIGHT).fit(A, b, weights)
    dense = A.toarray() if data == "sparse" else A
    expected = theirs.RidgeCV(**options).fit(dense, b, weights)
    assert ours.alpha_ == expected.alpha_
    assert ours.best_score_ == pytest.approx(expected.best_score_, rel=1e-5)
    assert_allclose(ours.coef_, expected.coef_, atol=1e-4)
    if cv is None:
        assert ours.cv_results_.shape == expected.cv_results_.shape
        assert_allclose(ours.cv_results_, expected.cv_results_, rtol=1e-6, atol=1e-9)
    else:
        assert (ours.gap_path_ <= 1e-11).all()


def test_a_strength_for_each_target():
    both = np.column_stack([Y, np.exp(Y)])
    options = {"alphas": [0.1, 3.0, 500.0], "alpha_per_target": True}
    ours = dualgap.RidgeCV(**options).fit(X, both)
    expected = theirs.RidgeCV(**options).fit(X, both)
    assert_allclose(ours.alpha_, expected.alpha_)
    assert_allclose(ours.best_score_, expected.best_score_)


def test_leaving_one_out_is_what_the_formula_says():
    """Against the definition: fit without the row, predict it."""
    model = dualgap.RidgeCV([2.0], store_cv_results=True).fit(X[:12], Y[:12], WEIGHTS[:12])
    for i in range(12):
        keep = np.arange(12) != i
        without = theirs.Ridge(2.0).fit(X[:12][keep], Y[:12][keep], WEIGHTS[:12][keep])
        error = Y[i] - without.predict(X[i : i + 1])[0]
        assert model.cv_results_[i, 0] == pytest.approx(WEIGHTS[i] * error**2, rel=1e-8)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced", "scoring": "neg_log_loss"},
        {"refit": False},
        {"fit_intercept": False},
        {"l1_ratios": [0.0]},
    ],
)
def test_logistic(options, legacy, classes):
    y = labels(classes)
    shared = {"Cs": [0.01, 1.0, 30.0], "cv": 3, "use_legacy_attributes": legacy, **options}
    ours = dualgap.LogisticRegressionCV(**shared, **TIGHT).fit(X, y, WEIGHTS)
    expected = theirs.LogisticRegressionCV(
        **shared, tol=1e-10, max_iter=20_000, solver="newton-cholesky"
    ).fit(X, y, WEIGHTS)
    assert_allclose(ours.C_, expected.C_)
    assert np.shape(ours.C_) == np.shape(expected.C_)
    assert ours.n_iter_.shape == expected.n_iter_.shape
    assert_allclose(ours.coef_, expected.coef_, atol=2e-5)
    assert_allclose(ours.intercept_, expected.intercept_, atol=2e-5)
    assert ours.gap_path_.shape == (3, 1, 3)
    pairs = [(ours.scores_, expected.scores_), (ours.coefs_paths_, expected.coefs_paths_)]
    for mine, other in pairs:
        if legacy:
            assert list(mine) == list(other)
            mine, other = np.stack(list(mine.values())), np.stack(list(other.values()))
        assert_allclose(mine, other, atol=1e-4)
    assert hasattr(ours, "certificate_") == options.get("refit", True)


def test_folds_in_parallel_are_the_same():
    for cls, y in ((dualgap.LassoCV, Y), (dualgap.LogisticRegressionCV, labels(2))):
        few = {"alphas": 5} if cls is dualgap.LassoCV else {"Cs": 3}
        one = cls(**few, cv=3).fit(X, y)
        two = cls(**few, cv=3, n_jobs=2).fit(X, y)
        assert np.array_equal(one.coef_, two.coef_)
        assert np.array_equal(one.gap_path_, two.gap_path_)


def test_one_warning_for_all_folds():
    with pytest.warns(ConvergenceWarning) as caught:
        dualgap.LassoCV(alphas=5, cv=3, max_iter=1).fit(X, Y)
    messages = [str(w.message) for w in caught]
    assert sum("fits in the cross-validation are not certified" in m for m in messages) == 1
