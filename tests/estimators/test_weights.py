"""A weight k is k copies, and a weight 0 is no row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dualgap
from tests.estimators.data import labels, regression

TIGHT = {"tol": 1e-12, "max_iter": 100_000}
MODELS = [
    (dualgap.Ridge(**TIGHT), None),
    (dualgap.Lasso(0.05, **TIGHT), None),
    (dualgap.ElasticNet(0.05, **TIGHT), None),
    (dualgap.HuberRegressor(tol=1e-9), None),
    (dualgap.LogisticRegression(**TIGHT), 2),
    (dualgap.LogisticRegression(l1_ratio=1.0, class_weight="balanced", **TIGHT), 2),
    (dualgap.LogisticRegression(l1_ratio=0.5, **TIGHT), 3),
    (dualgap.LogisticRegression(C=np.inf, **TIGHT), 3),
    (dualgap.LinearSVC(**TIGHT), 3),
    (dualgap.LinearSVC("l1", class_weight="balanced", **TIGHT), 2),
]
IDS = [" ".join(repr(model).split()) for model, _ in MODELS]


@pytest.mark.parametrize(("model", "classes"), MODELS, ids=IDS)
def test_weights_are_copies(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    counts = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = type(model)(**model.get_params()).fit(X, y, sample_weight=counts)
    copied = type(model)(**model.get_params()).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert (counts == 0).any()
    assert_allclose(weighted.coef_, copied.coef_, rtol=1e-5, atol=1e-5)
    assert_allclose(weighted.intercept_, copied.intercept_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("model", "classes"), MODELS, ids=IDS)
def test_a_number_stands_for_equal_weights(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    one = type(model)(**model.get_params()).fit(X, y, sample_weight=1.0)
    none = type(model)(**model.get_params()).fit(X, y)
    assert_allclose(one.coef_, none.coef_, rtol=1e-6, atol=1e-7)
