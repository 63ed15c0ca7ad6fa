"""The same objective as scikit-learn, so the same coefficients, shapes and dtypes."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

import dualgap
from dualgap.losses import SmoothedHinge
from tests.estimators.data import LAYOUTS, labels, laid_out, regression

TIGHT = {"tol": 1e-12, "max_iter": 100_000}
SINGLE = {"tol": 1e-9, "max_iter": 100_000}


def same(ours, reference, *, rtol=1e-5):
    """Coefficients within rtol of the largest, and the shapes of scikit-learn."""
    assert ours.coef_.shape == reference.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(reference.intercept_)
    size = np.abs(reference.coef_).max() + np.abs(reference.intercept_).max()
    assert_allclose(ours.coef_, reference.coef_, atol=rtol * size, rtol=0)
    assert_allclose(ours.intercept_, reference.intercept_, atol=rtol * size, rtol=0)


REGRESSORS = [
    (dualgap.Ridge, theirs.Ridge, {"alpha": 2.0}),
    (dualgap.Ridge, theirs.Ridge, {"alpha": 0.0}),
    (dualgap.Lasso, theirs.Lasso, {"alpha": 0.1}),
    (dualgap.ElasticNet, theirs.ElasticNet, {"alpha": 0.2, "l1_ratio": 0.3}),
    (dualgap.HuberRegressor, theirs.HuberRegressor, {"alpha": 0.5, "epsilon": 1.2}),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("ours", "reference", "params"), REGRESSORS)
def test_regressors(ours, reference, params, intercept, weighted, layout):
    X, y, weights = regression()
    X = laid_out(X, layout)
    options = {**params, "fit_intercept": intercept}
    tight = {"tol": 1e-9, "max_iter": 100_000}
    other = {} if reference is theirs.Ridge else tight
    if reference is theirs.Ridge and layout in ("csr", "csc"):
        other = {"solver": "sparse_cg", "tol": 1e-12} if intercept else {"solver": "cholesky"}
    model = ours(**options, **(tight if ours is dualgap.HuberRegressor else TIGHT))
    model.fit(X, y, sample_weight=weights if weighted else None)
    expected = reference(**options, **other)
    expected.fit(X.tocsr() if hasattr(X, "tocsr") else X, y, weights if weighted else None)
    rtol = 3e-5 if ours is dualgap.HuberRegressor else 1e-5
    same(model, expected, rtol=rtol)
    if ours is dualgap.HuberRegressor:
        assert model.scale_ == pytest.approx(expected.scale_, rel=1e-4)
        assert (model.outliers_ == expected.outliers_).all()


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(
    ("ours", "reference"),
    [(dualgap.Ridge, theirs.Ridge), (dualgap.Lasso, theirs.Lasso)],
)
def test_several_targets(ours, reference, columns):
    X, y, weights = regression()
    Y = np.column_stack([y, y * y, X[:, 0] - y])[:, :columns]
    tight = {} if reference is theirs.Ridge else {"tol": 1e-10}
    model = ours(0.5, **TIGHT).fit(X, Y, weights)
    expected = reference(0.5, **tight).fit(X, Y, weights)
    same(model, expected)
    assert model.predict(X).shape == expected.predict(X).shape
    assert np.shape(model.n_iter_) == (np.shape(expected.n_iter_) or np.shape(model.n_iter_))
    assert model.dual_coef_.shape == Y.shape
    assert len(model.certificates_) == columns


def test_a_strength_for_each_target():
    X, y, _ = regression()
    Y = np.column_stack([y, 3 * y])
    same(dualgap.Ridge([1.0, 50.0], **TIGHT).fit(X, Y), theirs.Ridge([1.0, 50.0]).fit(X, Y))


PENALTIES = [
    ({}, "newton-cholesky"),
    ({"C": 0.1}, "newton-cholesky"),
    ({"C": np.inf}, "newton-cholesky"),
    ({"l1_ratio": 1.0, "C": 0.3}, "saga"),
    ({"l1_ratio": 0.5, "C": 0.3}, "saga"),
]


@pytest.mark.parametrize(("class_weight", "layout"), [(None, "csr"), ("balanced", "dense")])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("params", "solver"), PENALTIES)
def test_logistic(params, solver, classes, intercept, class_weight, layout):
    X, _, weights = regression()
    y = labels(classes)
    X = laid_out(X, layout)
    options = {**params, "fit_intercept": intercept, "class_weight": class_weight}
    model = dualgap.LogisticRegression(**options, **TIGHT).fit(X, y, weights)
    expected = theirs.LogisticRegression(
        **options, solver=solver, tol=1e-10, max_iter=20_000, random_state=0
    ).fit(X, y, weights)
    same(model, expected)
    assert (model.classes_ == expected.classes_).all()
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)
    assert (model.predict(X) == expected.predict(X)).all()
    assert model.n_iter_.shape == expected.n_iter_.shape


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_liblinear_penalises_the_intercept(ratio):
    X, _, weights = regression()
    y = labels(2)
    options = {"solver": "liblinear", "l1_ratio": ratio, "intercept_scaling": 2.0}
    model = dualgap.LogisticRegression(**options, **TIGHT).fit(X, y, weights)
    expected = theirs.LogisticRegression(**options, tol=1e-10, max_iter=20_000)
    same(model, expected.fit(X, y, weights))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"ant": 3.0}])
@pytest.mark.parametrize("intercept", [False, True])
def test_linear_svc(classes, penalty, class_weight, intercept):
    X, _, weights = regression()
    y = labels(classes)
    options = {
        "penalty": penalty,
        "class_weight": class_weight,
        "fit_intercept": intercept,
        "intercept_scaling": 2.0,
        "C": 0.5,
    }
    model = dualgap.LinearSVC(**options, **TIGHT).fit(X, y, weights)
    expected = LinearSVC(**options, dual=False, tol=1e-9, max_iter=1_000_000, random_state=0)
    same(model, expected.fit(X, y, weights))


def test_the_smoothed_hinge_goes_to_the_hinge():
    """With width h the loss is at most h/2 below the hinge: so is the optimal objective / (C W)."""
    X, y = regression()[0], labels(2)
    width = 1e-3
    model = dualgap.LinearSVC(loss=SmoothedHinge(width), tol=1e-5).fit(X, y)
    hinge = LinearSVC(loss="hinge", tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)

    def objective(fitted):
        margins = np.where(y == fitted.classes_[1], 1, -1) * fitted.decision_function(X)
        size = (fitted.coef_**2).sum() + (fitted.intercept_**2).sum()
        return np.maximum(0, 1 - margins).mean() + size / (2 * len(y))

    assert objective(model) <= objective(hinge) + width / 2 + 1e-4


FLOAT32 = [
    (dualgap.Ridge(**SINGLE), None),
    (dualgap.ElasticNet(0.1, **SINGLE), None),
    (dualgap.HuberRegressor(), None),
    (dualgap.LogisticRegression(**SINGLE), 2),
    (dualgap.LogisticRegression(l1_ratio=0.5, **SINGLE), 3),
    (dualgap.LinearSVC(**SINGLE), 3),
]


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("model", "classes"), FLOAT32)
def test_float32_is_kept(model, classes, layout):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    single = type(model)(**model.get_params()).fit(laid_out(X, layout, np.float32), y)
    double = type(model)(**model.get_params()).fit(laid_out(X, layout, np.float32).astype(float), y)
    assert single.coef_.dtype == np.float32
    assert double.coef_.dtype == np.float64
    assert_allclose(single.coef_, double.coef_, rtol=1e-5, atol=1e-5)
    assert single.certificate_.certified
