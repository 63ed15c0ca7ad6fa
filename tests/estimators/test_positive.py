"""positive=True: scikit-learn's objective and answer, certified."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

import dualgap
from dualgap.regularizers import NonNegative


def data(n=80, d=12, seed=0, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(0.5, 3.0, d)
    W = rng.standard_normal((d, targets or 1))
    Y = X @ W + 1.5 + rng.standard_normal((n, targets or 1))
    return X, Y if targets else Y[:, 0]


MODELS = {
    "Lasso": {"alpha": 0.1},
    "Lasso weak": {"alpha": 1e-3},
    "ElasticNet": {"alpha": 0.2, "l1_ratio": 0.3},
    "Ridge": {"alpha": 2.0},
    "Ridge none": {"alpha": 0.0},
}
each_model = pytest.mark.parametrize("name", MODELS)
each_intercept = pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])


def both(name, **options):
    cls = name.split()[0]
    ours = getattr(dualgap, cls)(**MODELS[name], positive=True, **options)
    reference = getattr(theirs, cls)(
        **MODELS[name], positive=True, tol=1e-12, max_iter=100_000, **options
    )
    return ours, reference


@each_model
@each_intercept
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_as_scikit_learn(name, fit_intercept, weighted):
    X, y = data()
    w = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else None
    ours, reference = both(name, fit_intercept=fit_intercept)
    ours.set_params(tol=1e-12).fit(X, y, sample_weight=w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reference.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(reference.intercept_, abs=1e-5)
    assert (ours.coef_ >= 0).all() and (ours.coef_ == 0).any()
    assert ours.certificate_.certified and ours.certificate_.relative_gap <= 1e-12
    # Theirs, judged by the same certificate: no lower than ours less its gap.
    total = len(y) if w is None else w.sum()
    l1, l2 = ours._strengths(1, total)[0]
    judged = dualgap.certify(
        X, y, reference.coef_, regularizer=NonNegative(l1, l2), sample_weight=w,
        intercept=reference.intercept_, fit_intercept=fit_intercept,
    )  # fmt: skip
    assert judged.primal >= ours.certificate_.dual


def test_no_penalty_is_nnls():
    X, y = data()
    ours = dualgap.Ridge(0.0, positive=True, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, nnls(X, y)[0], atol=1e-9)
    assert ours.certificate_.relative_gap <= 1e-12


@each_model
def test_sparse_data_and_targets(name):
    X, Y = data(targets=3)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense = both(name)[0].set_params(tol=1e-11).fit(X, Y)
    assert dense.coef_.shape == (3, 12) and len(dense.certificates_) == 3
    for k in range(3):
        alone = both(name)[0].set_params(tol=1e-11).fit(sp.csr_array(X), Y[:, k])
        np.testing.assert_allclose(alone.coef_, dense.coef_[k], atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "adf-bpd", "agd", "working-set", "bpd", "lbfgs"])
def test_solvers(solver):
    X, y = data()
    model = dualgap.Lasso(0.05, positive=True, solver=solver, tol=1e-9).fit(X, y)
    reference = dualgap.Lasso(0.05, positive=True, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-3)
    assert model.certificate_.relative_gap <= 1e-9


def test_single_precision_stays_in_the_domain():
    X, y = data()
    model = dualgap.Lasso(0.1, positive=True).fit(X.astype(np.float32), y.astype(np.float32))
    assert model.coef_.dtype == np.float32 and (model.coef_ >= 0).all()
    assert model.certificate_.certified


def test_warm_starts_between_signs():
    X, y = data()
    model = dualgap.Lasso(0.1, warm_start=True, tol=1e-10).fit(X, y)
    assert (model.coef_ < 0).any()
    model.set_params(positive=True).fit(X, y)
    fresh = dualgap.Lasso(0.1, positive=True, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-4)
    model.set_params(alpha=0.2).fit(X, y)
    assert (model.coef_ >= 0).all() and model.certificate_.relative_gap <= 1e-10
    model.set_params(positive=False, alpha=0.1).fit(X, y)
    assert (model.coef_ < 0).any()


def test_early_stopping_and_saving():
    X, y = data(200)
    model = dualgap.ElasticNet(0.01, positive=True, early_stopping=True, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.coef_ >= 0).all() and again.certificate_ == model.certificate_


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, [0.3, 0.9]])
def test_cross_validation_chooses_as_scikit_learn_does(l1_ratio):
    X, y = data(120)
    options = {"positive": True, "cv": 4, "alphas": 30}
    if l1_ratio == 1.0:
        ours, reference = dualgap.LassoCV(**options), theirs.LassoCV(**options, tol=1e-8)
    else:
        options["l1_ratio"] = l1_ratio
        ours, reference = dualgap.ElasticNetCV(**options), theirs.ElasticNetCV(**options, tol=1e-8)
    ours.set_params(tol=1e-9).fit(X, y)
    reference.set_params(max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, reference.alphas_, rtol=1e-10)
    np.testing.assert_allclose(ours.mse_path_, reference.mse_path_, rtol=1e-3)
    assert ours.alpha_ == pytest.approx(reference.alpha_)
    assert (ours.coef_ >= 0).all() and (ours.gap_path_ <= 1e-9).all()
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-3)


def test_targets_that_no_column_helps_with():
    """Every column points away: the grid is at its end, and all coefficients are 0."""
    X = np.abs(data()[0])
    y = -X.sum(axis=1)
    model = dualgap.LassoCV(positive=True, fit_intercept=False, alphas=5).fit(X, y)
    assert not model.coef_.any()
    np.testing.assert_array_equal(model.alphas_, np.full(5, np.finfo(float).resolution))
