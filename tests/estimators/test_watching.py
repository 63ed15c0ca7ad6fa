"""Callbacks, early stopping, and what is shown."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import dualgap
from dualgap import Status
from dualgap.estimators._stopping import hold_back
from tests.estimators.data import labels, regression

matplotlib.use("Agg")
X, Y, WEIGHTS = regression()
MODELS = [
    (dualgap.Ridge(1e-3), Y),
    (dualgap.Lasso(0.01), Y),
    (dualgap.LogisticRegression(), labels(2)),
    (dualgap.LogisticRegression(l1_ratio=0.5), labels(3)),
    (dualgap.LogisticRegression(solver="liblinear", intercept_scaling=3.0), labels(2)),
    (dualgap.LinearSVC(), labels(2)),
    (dualgap.LinearSVC(), labels(3)),
]


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_early_stopping_keeps_the_best_score(model, y):
    options = {"early_stopping": True, "validation_fraction": 0.25, "random_state": 0}
    if model.solver == "auto":  # which is done before it can be stopped
        options["solver"] = "adf-bpd"
    stopped = type(model)(**{**model.get_params(), **options, "n_iter_no_change": 2, "tol": 1e-12})
    stopped.fit(X, y, sample_weight=WEIGHTS)
    assert stopped.status_ in (Status.CALLBACK, Status.CONVERGED)
    assert stopped.dual_coef_.shape[0] == 60  # of the rows that were fitted
    patient = type(stopped)(**{**stopped.get_params(), "n_iter_no_change": 10**6, "tol": 1e-9})
    patient.fit(X, y, sample_weight=WEIGHTS)
    assert np.max(stopped.n_iter_) < np.max(patient.n_iter_)
    if len(stopped.certificates_) == 1:  # the best of more points
        split = {"fraction": 0.25, "seed": 0, "stratify": y if y.dtype.kind == "U" else None}
        _, (A, b, w) = hold_back(X, y, WEIGHTS, **split)
        assert patient.score(A, b, w) >= stopped.score(A, b, w)


def test_the_point_kept_is_the_one_that_was_certified():
    options = {"early_stopping": True, "random_state": 0, "n_iter_no_change": 1, "tol": 1e-14}
    model = dualgap.Ridge(1e-3, solver="adf-bpd", **options).fit(X, Y)
    assert model.status_ is Status.CALLBACK
    assert model.certificate_.certified
    assert model.certificate_.relative_gap > 1e-14


def test_scikit_learns_callbacks():
    pytest.importorskip("sklearn.callback")

    class Recorder:
        def __init__(self, stop_after=None):
            self.ends, self.scores, self.stop_after = 0, [], stop_after
            self.events = []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            if context.task_name != "check" or fitted_estimator is None:
                return False
            self.ends += 1
            self.scores.append(fitted_estimator.score(X, y))
            return self.stop_after is not None and self.ends >= self.stop_after

    for model, y in [*MODELS[:6], (dualgap.HuberRegressor(), Y)]:
        fresh = type(model)(**model.get_params())
        watching = Recorder()
        fresh.set_callbacks(watching).fit(X, y)
        assert watching.events == ["setup", "teardown"]
        assert len(watching.scores) == watching.ends > 1
        assert watching.scores[-1] == pytest.approx(fresh.score(X, y), abs=0.05)
        stopping = Recorder(stop_after=1)
        fresh.set_callbacks(stopping).fit(X, y)
        assert stopping.ends == 1
        assert fresh.status_ is Status.CALLBACK


def test_progress_bar_and_monitor():
    """scikit-learn's own callbacks run."""
    callbacks = pytest.importorskip("sklearn.callback")
    monitor = callbacks.ScoringMonitor(scoring="r2")
    dualgap.Ridge().set_callbacks(monitor).fit(X, Y)


@pytest.mark.parametrize(("model", "y"), MODELS[:4])
def test_notebooks_show_the_certificate(model, y):
    model = type(model)(**model.get_params())
    assert "dualgap-certificate" not in model._repr_html_()
    model.fit(X, y)
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert shown.count('class="dualgap-certificate"') == 1
        assert "P(x) - P* &lt;=" in shown


def test_plot_convergence():
    from matplotlib import pyplot

    model = dualgap.Ridge().fit(X, Y)
    upper, lower = model.plot_convergence()
    assert upper.get_ylabel() and lower.get_xlabel()
    pyplot.close("all")


def test_sparsify_and_densify():
    model = dualgap.LogisticRegression(l1_ratio=1.0, C=0.05).fit(X, labels(3))
    scores = model.decision_function(X)
    sparse = model.sparsify().coef_
    assert sparse.nnz < sparse.shape[0] * sparse.shape[1]
    np.testing.assert_allclose(model.decision_function(X), scores)
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(X), scores)
    assert (dualgap.Lasso(0.5).fit(X, Y).sparse_coef_.toarray() != 0).any()


def test_verbose_shows_a_line(capsys):
    dualgap.Ridge(verbose=1).fit(X, Y)
    shown = capsys.readouterr()
    assert "passes" in shown.out + shown.err
    dualgap.Ridge().fit(X, Y)
    assert capsys.readouterr() == ("", "")
