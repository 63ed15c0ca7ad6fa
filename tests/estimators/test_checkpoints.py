"""Fits that are kept in files: the same models as fits that nobody interrupts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import dualgap
from dualgap.checkpoints import files

from .data import labels, regression


class Stop(Exception):
    """What ends a fit in the middle."""


def numbers():
    """A regression problem."""
    return regression()[:2]


def two_classes():
    """The same data, with labels."""
    return regression()[0], labels(2)


ONE_RUN = {
    "Ridge": (dualgap.Ridge(1e-3, solver="ada-bpd"), numbers),
    "Lasso": (dualgap.Lasso(0.01), numbers),
    "ElasticNet": (dualgap.ElasticNet(0.01, solver="adf-bpd"), numbers),
    "LogisticRegression": (dualgap.LogisticRegression(solver="adf-spdc"), two_classes),
    "LinearSVC": (dualgap.LinearSVC(), two_classes),
}


@pytest.mark.parametrize(("model", "data"), ONE_RUN.values(), ids=ONE_RUN)
def test_a_fit_that_is_resumed_is_the_same_fit(model, data, tmp_path, monkeypatch):
    """Equivalence, to the last bit, of coefficients, dual point and certificate."""
    X, y = data()
    alone, file = clone(model).fit(X, y), tmp_path / "fit.npz"
    write, left = files.write, iter(range(2))

    def only_one(*both):
        if next(left):
            raise Stop
        write(*both)

    kept = clone(model)
    assert kept.set_checkpoint(file, checkpoint_every=0) is kept
    with monkeypatch.context() as patch:
        patch.setattr(files, "write", only_one)
        with pytest.raises(Stop):
            kept.fit(X, y)
    resumed = clone(model).set_checkpoint(file, resume=True).fit(X, y)
    for name in ("coef_", "intercept_", "dual_coef_"):
        ours, theirs = (np.asarray(getattr(fitted, name)) for fitted in (resumed, alone))
        assert ours.tobytes() == theirs.tobytes(), name
    assert resumed.certificate_.plain() == alone.certificate_.plain()
    assert resumed.status_ is alone.status_


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    X, y = numbers()
    dualgap.Ridge().set_checkpoint(tmp_path / "fit.npz").fit(X, y)
    with pytest.raises(ValueError, match="the targets b are not the same"):
        dualgap.Ridge().set_checkpoint(tmp_path / "fit.npz", resume=True).fit(X, -y)


@pytest.mark.parametrize(
    "model",
    [
        dualgap.HuberRegressor(),
        dualgap.RidgeCV(),
        dualgap.LassoCV(),
        dualgap.ElasticNetCV(),
        dualgap.LogisticRegressionCV(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_many_runs_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="and a checkpoint is of a single run"):
        model.set_checkpoint(tmp_path / "fit.npz")
    assert model.set_checkpoint(None) is model


def test_many_targets_classes_and_scores_are_refused_before_any_work(tmp_path):
    X, y = numbers()
    file = tmp_path / "fit.npz"
    with pytest.raises(ValueError, match="Ridge is 2 runs, one for each target or class"):
        dualgap.Ridge().set_checkpoint(file).fit(X, np.column_stack((y, y)))
    with pytest.raises(ValueError, match="LinearSVC is 3 runs"):
        dualgap.LinearSVC().set_checkpoint(file).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="scores that a checkpoint does not hold"):
        dualgap.Ridge(early_stopping=True).set_checkpoint(file).fit(X, y)
    assert not file.exists()


def test_copies_and_saved_models_are_not_kept(tmp_path):
    """One file is for one run."""
    X, y = numbers()
    model = dualgap.Ridge().set_checkpoint(tmp_path / "fit.npz").fit(X, y)
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        other.fit(X, y)
    with pytest.raises(ValueError, match="holds a run already"):
        model.fit(X, y)
    model.set_checkpoint(None).fit(X, y)
