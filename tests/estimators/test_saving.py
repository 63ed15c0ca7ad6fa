"""Fitted models survive copying and saving."""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import dualgap
from tests.estimators.data import labels, regression

MODELS = [
    (dualgap.Ridge(), None),
    (dualgap.ElasticNet(0.1, warm_start=True), None),
    (dualgap.HuberRegressor(warm_start=True), None),
    (dualgap.LogisticRegression(warm_start=True), 3),
    (dualgap.LinearSVC(loss=dualgap.losses.SmoothedHinge(0.5)), 2),
    (dualgap.RidgeCV(), None),
    (dualgap.LassoCV(alphas=4, cv=3), None),
    (dualgap.LogisticRegressionCV(Cs=3, cv=3), 2),
]


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(model):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("dualgap.", "numpy.", "scipy.")) for name in unknown)
    return skops.loads(data, trusted=unknown)


@pytest.mark.parametrize("through", [through_pickle, through_joblib, through_skops])
@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_saved_models_are_the_same(model, classes, through):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    model = clone(model).fit(X, y)
    copy = through(model)
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.certificate_ == model.certificate_
    assert str(copy.status_) == str(model.status_)
    assert repr(copy) == repr(model)
    assert np.array_equal(copy.trace_.gap, model.trace_.gap)
    if getattr(model, "warm_start", False):
        assert np.array_equal(copy.fit(X, y).coef_, model.fit(X, y).coef_)


@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_clone_forgets(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    fresh = clone(clone(model).fit(X, y))
    assert not hasattr(fresh, "coef_")
    assert "_memory" not in vars(fresh)
    assert repr(fresh) == repr(model)
