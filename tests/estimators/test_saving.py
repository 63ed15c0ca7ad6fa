"""Fitted models survive copying and saving."""

from __future__ import annotations

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

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


FILES = [through_pickle, through_joblib, through_skops]


def fitted(model, classes, **params):
    X, y, _ = regression()
    return clone(model).set_params(**params).fit(X, y if classes is None else labels(classes))


def refitted(model, classes):
    X, y, _ = regression()
    return model.fit(X, y if classes is None else labels(classes))


@pytest.mark.parametrize("through", FILES)
@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_saved_models_predict_and_are_certified(model, classes, through):
    """Law: what is saved by default is the model and its certificate, and not the run."""
    X = regression()[0]
    model = fitted(model, classes)
    copy = through(model)
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.certificate_ == model.certificate_
    assert str(copy.status_) == str(model.status_)
    assert repr(copy) == repr(model)
    for name in ("trace_", "dual_coef_"):
        assert not hasattr(copy, name)
        with pytest.raises(AttributeError, match=f"without its run, and {name} .*keep_run=True"):
            getattr(copy, name)
        with pytest.raises(AttributeError, match="without its run"):
            getattr(through(copy), name)  # saved again, it is still known
    with pytest.raises(AttributeError, match="without its run"):
        copy.plot_convergence()
    refitted(copy, classes)
    assert len(copy.trace_) >= 1
    assert copy.dual_coef_.shape == model.dual_coef_.shape


@pytest.mark.parametrize("through", FILES)
@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_saved_models_keep_the_run_if_asked(model, classes, through):
    model = fitted(model, classes, keep_run=True)
    copy = through(model)
    assert np.array_equal(copy.predict(regression()[0]), model.predict(regression()[0]))
    assert copy.certificate_ == model.certificate_
    assert str(copy.status_) == str(model.status_)
    assert repr(copy) == repr(model)
    assert np.array_equal(copy.trace_.gap, model.trace_.gap)
    assert np.array_equal(copy.dual_coef_, model.dual_coef_)
    if getattr(model, "warm_start", False):
        again = refitted(copy, classes)
        assert np.array_equal(again.coef_, refitted(model, classes).coef_)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_copies_in_memory_are_whole(model, classes, copied):
    model = fitted(model, classes)
    other = copied(model)
    assert vars(other).keys() == vars(model).keys()
    assert np.array_equal(other.trace_.gap, model.trace_.gap)
    assert np.array_equal(other.dual_coef_, model.dual_coef_)
    assert (other.dual_coef_ is model.dual_coef_) == (copied is copy.copy)
    if getattr(model, "warm_start", False):
        again = refitted(other, classes)
        assert np.array_equal(again.coef_, refitted(model, classes).coef_)


@pytest.mark.parametrize(
    "model",
    [
        dualgap.Ridge(),
        dualgap.Lasso(0.1, warm_start=True),
        dualgap.LogisticRegression(warm_start=True),
        dualgap.LinearSVC(),
        dualgap.RidgeCV(),
    ],
)
def test_a_saved_model_is_as_short_as_its_coefficients(model):
    """Law: 20 000 rows leave no trace in a file; with the run they take 8 bytes each."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    b = X @ [1.0, -1.0, 0.5] + rng.standard_normal(20_000)
    model = clone(model).fit(X, b if is_regressor(model) else b > 0)
    assert len(pickle.dumps(model)) < 1500
    assert len(pickle.dumps(model.set_params(keep_run=True))) > 8 * 20_000


def test_an_unfitted_model_has_lost_nothing():
    model = through_pickle(dualgap.Ridge(alpha=2.0))
    assert model.alpha == 2.0
    with pytest.raises(AttributeError, match="'Ridge' object has no attribute 'trace_'"):
        model.trace_  # noqa: B018
    with pytest.raises(NotFittedError):
        model.plot_convergence()


@pytest.mark.parametrize(("model", "classes"), MODELS)
def test_clone_forgets(model, classes):
    X, y, _ = regression()
    y = y if classes is None else labels(classes)
    fresh = clone(clone(model).fit(X, y))
    assert not hasattr(fresh, "coef_")
    assert "_memory" not in vars(fresh)
    assert repr(fresh) == repr(model)
