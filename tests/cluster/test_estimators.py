"""Estimators on data of dask: those of the same data in memory, with predictions left lazy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dualgap
from tests.cluster.test_fits import lazy
from tests.streamed.data import TARGETS, A

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
dask = pytest.importorskip("dask")

NAMES = np.array(["ham", "spam"])[(TARGETS["logistic"] > 0).astype(int)]
WEIGHTS = np.random.default_rng(3).integers(0, 4, len(A)).astype(float)
CLASSIFIERS = {
    "two classes": (dualgap.LogisticRegression(C=0.1), NAMES, None),
    "several": (dualgap.LogisticRegression(C=0.1), TARGETS["multinomial"], WEIGHTS),
    "balanced": (dualgap.LogisticRegression(l1_ratio=0.5, class_weight="balanced"), NAMES, WEIGHTS),
}
REGRESSORS = {
    "ridge": (dualgap.Ridge(0.5), None),
    "lasso": (dualgap.Lasso(0.05), WEIGHTS),
    "elastic net": (dualgap.ElasticNet(0.05, l1_ratio=0.3), None),
    "of signs": (dualgap.Lasso(0.05, positive=True), WEIGHTS),
}


@pytest.fixture(autouse=True)
def not_gathered(client):
    with dask.config.set({"dualgap.gather": False}):
        yield


def fitted(model, b, weights):
    """Of the same parameters, in memory and on the cluster."""
    from sklearn.base import clone

    here = clone(model).set_params(tol=1e-10).fit(A, b, weights)
    there = clone(model).set_params(tol=1e-10)
    return here, there.fit(lazy(A), lazy(b), None if weights is None else lazy(weights))


@pytest.mark.parametrize("case", CLASSIFIERS)
def test_classifiers_are_those_of_data_in_memory(case):
    model, b, weights = CLASSIFIERS[case]
    here, there = fitted(model, b, weights)
    np.testing.assert_array_equal(there.classes_, here.classes_)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)
    assert there.certificate_.relative_gap <= 1e-10
    above = here.certificate_.primal - there.certificate_.primal
    rounding = 1e-12 * abs(there.certificate_.primal)
    assert -there.certificate_.gap - rounding <= above <= here.certificate_.gap + rounding
    X = lazy(A)
    for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        found = getattr(there, name)(X)
        assert dask.is_dask_collection(found)
        np.testing.assert_array_equal(found.compute(), getattr(there, name)(A))
        assert found.shape == getattr(there, name)(A).shape
    given = None if weights is None else lazy(weights)
    assert there.score(X, lazy(b), given) == pytest.approx(there.score(A, b, weights), rel=1e-14)
    assert dask.is_dask_collection(there.dual_coef_)


@pytest.mark.parametrize("case", REGRESSORS)
def test_regressors_are_those_of_data_in_memory(case):
    model, weights = REGRESSORS[case]
    b = TARGETS["squared"]
    here, there = fitted(model, b, weights)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)
    assert there.certificate_.relative_gap <= 1e-10
    found = there.predict(lazy(A))
    assert dask.is_dask_collection(found)
    np.testing.assert_array_equal(found.compute(), there.predict(A))
    given = None if weights is None else lazy(weights)
    expected = there.score(A, b, weights)
    assert there.score(lazy(A), lazy(b), given) == pytest.approx(expected, rel=1e-12)


def doubled(X):
    return 2.0 * X


def test_in_a_pipeline():
    X, y = lazy(A), lazy(NAMES)
    here = make_pipeline(FunctionTransformer(doubled), dualgap.LogisticRegression(tol=1e-10))
    there = make_pipeline(FunctionTransformer(doubled), dualgap.LogisticRegression(tol=1e-10))
    here.fit(A, NAMES)
    there.fit(X, y)
    np.testing.assert_array_equal(there.predict(X).compute(), here.predict(A))
    assert there.score(X, y) == here.score(A, NAMES)


def test_of_a_data_frame_the_names_of_features_are_known():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(A, columns=[f"c{k}" for k in range(A.shape[1])]).assign(label=NAMES)
    data = dd.from_pandas(frame, npartitions=4)
    X, y = data.drop(columns="label"), data["label"]
    model = dualgap.LogisticRegression().fit(X, y)
    assert list(model.feature_names_in_) == [f"c{k}" for k in range(A.shape[1])]
    assert list(model.classes_) == ["ham", "spam"]
    assert model.score(X, y) == model.score(frame.drop(columns="label"), frame["label"])


def test_small_data_are_gathered_for_any_estimator():
    with dask.config.set({"dualgap.gather": "auto"}):
        there = dualgap.HuberRegressor().fit(lazy(A), lazy(TARGETS["squared"]))
    here = dualgap.HuberRegressor().fit(A, TARGETS["squared"])
    np.testing.assert_array_equal(there.coef_, here.coef_)


@pytest.mark.parametrize(
    "model", [dualgap.HuberRegressor(), dualgap.LassoCV(), dualgap.LinearSVC()]
)
def test_estimators_that_hold_rows_say_which_do_not(model):
    with pytest.raises(TypeError, match=r"needs the rows of X in memory.*LogisticRegression"):
        model.fit(lazy(A), lazy(TARGETS["logistic"]))


def test_what_cannot_be_done_is_said():
    with pytest.raises(ValueError, match=r"early_stopping=True\) needs the rows of X in memory"):
        dualgap.Ridge(early_stopping=True).fit(lazy(A), lazy(TARGETS["squared"]))
    with pytest.raises(TypeError, match=r"y is a ndarray, and X is of dask: give y as a dask"):
        dualgap.Ridge().fit(lazy(A), TARGETS["squared"])
    with pytest.raises(ValueError, match=r"X has 2 features, and"):
        model = dualgap.Ridge().fit(lazy(A), lazy(TARGETS["squared"]))
        model.predict(lazy(A[:, :2]))
    with pytest.raises(ValueError, match="at least 2 classes"):
        dualgap.LogisticRegression().fit(lazy(A), lazy(np.ones(len(A))))


def test_a_path_of_data_of_dask():
    b = TARGETS["logistic"]
    options = {"loss": "logistic", "lambdas": 5, "eps": 0.1, "fit_intercept": True, "tol": 1e-9}
    there = dualgap.path(lazy(A), lazy(b), **options)
    here = dualgap.path(A, b, **options)
    np.testing.assert_allclose(there.lambdas, here.lambdas, rtol=1e-12)
    np.testing.assert_allclose(there.x, here.x, atol=1e-4)
    assert there.y.size == 0 and there.converged and all(c.certified for c in there.certificates)
