"""Estimators inside scikit-learn's tools, and data frames in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dualgap
from tests.estimators.data import labels, regression


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_grid_search(backend):
    X, y = regression()[0], labels(3)
    grid = {"C": [0.01, 1.0], "l1_ratio": [0.0, 0.5]}
    alone = GridSearchCV(dualgap.LogisticRegression(), grid, cv=3).fit(X, y)
    with parallel_backend(backend, n_jobs=2):
        search = GridSearchCV(dualgap.LogisticRegression(), grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_ == alone.best_params_
    for key in ("mean_test_score", "split0_test_score"):
        assert np.array_equal(search.cv_results_[key], alone.cv_results_[key])
    assert search.best_estimator_.certificate_.certified


def test_pipeline_and_column_transformer():
    X, y, _ = regression()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["kind"] = labels(3)
    columns = ColumnTransformer(
        [("number", StandardScaler(), ["x0", "x1", "x2"]), ("kind", OneHotEncoder(), ["kind"])]
    )
    model = make_pipeline(columns, dualgap.Ridge()).fit(frame, y)
    assert model.score(frame, y) > 0.3
    assert model[-1].certificate_.relative_gap <= 1e-6


def test_one_against_the_rest_of_a_binary_model():
    X, y = regression()[0], labels(3)
    model = OneVsRestClassifier(dualgap.LogisticRegression(solver="liblinear")).fit(X, y)
    assert set(model.predict(X)) <= set(y)


MODELS = [dualgap.Ridge(), dualgap.Lasso(0.1), dualgap.HuberRegressor(), dualgap.RidgeCV()]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_data_frames(model, library):
    frames = pytest.importorskip(library)
    X, y, weights = regression()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = type(model)(**model.get_params())
    model.fit(frame, frames.Series(y), sample_weight=frames.Series(weights))
    assert list(model.feature_names_in_) == names
    plain = type(model)(**model.get_params()).fit(X, y, sample_weight=weights)
    # A frame's columns are laid out one after the other: sums differ in the last digits.
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict(frame), plain.predict(X), rtol=1e-9, atol=1e-9)


def test_feature_names_must_match():
    X, y, _ = regression()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = dualgap.Ridge().fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))


# ---- metadata routing ----


@pytest.mark.parametrize("enabled", [False, True])
def test_weights_through_a_grid_search(enabled):
    X, y, weights = regression()
    with config_context(enable_metadata_routing=enabled):
        model = dualgap.Ridge()
        if enabled:
            model = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.1, 10.0]}, cv=3)
        search.fit(X, y, sample_weight=weights)
    expected = dualgap.Ridge(search.best_params_["alpha"]).fit(X, y, sample_weight=weights)
    assert np.array_equal(search.best_estimator_.coef_, expected.coef_)


def test_weights_without_a_request_are_refused():
    X, y, weights = regression()
    with config_context(enable_metadata_routing=True), pytest.raises(Exception, match="request"):
        cross_val_score(dualgap.Ridge(), X, y, params={"sample_weight": weights})


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (dualgap.LassoCV(alphas=4, cv=GroupKFold(3)), None),
        (dualgap.ElasticNetCV(alphas=4, cv=GroupKFold(3)), None),
        (dualgap.RidgeCV(cv=GroupKFold(3)), None),
        (dualgap.LogisticRegressionCV(Cs=3, cv=GroupKFold(3)), 2),
    ],
    ids=lambda v: type(v).__name__,
)
def test_groups_reach_the_splitter(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    groups = np.arange(len(y)) % 7
    model = type(model)(**model.get_params())
    with config_context(enable_metadata_routing=True):
        model.fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    by_hand = type(model)(**{**model.get_params(), "cv": folds}).fit(X, y)
    assert np.array_equal(model.coef_, by_hand.coef_)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.fit(X, y, groups=groups)


def test_weights_reach_the_scorer():
    X, _, weights = regression()
    y = labels(2)
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        model = dualgap.LogisticRegressionCV(Cs=3, cv=3, scoring=scorer)
        model.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weights)
        score = model.score(X, y, sample_weight=weights)
    assert score == accuracy_score(y, model.predict(X), sample_weight=weights)
