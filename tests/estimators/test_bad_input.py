"""What cannot be fitted is refused with a sentence, before any work."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import dualgap
from tests.estimators.data import labels, regression

X, Y, _ = regression()
TWO, THREE = labels(2), labels(3)

HUGE = 10**400
"""An integer beyond float64."""

PARAMETERS = [
    (dualgap.Ridge(alpha=-1), "'alpha' parameter of Ridge must be a float in the range"),
    (dualgap.Ridge(alpha="1"), "'alpha' parameter of Ridge"),
    (dualgap.Ridge(alpha=[1.0, 2.0]), "Number of targets and number of penalties"),
    (dualgap.Ridge(alpha=[-1.0]), "'alpha' parameter of Ridge"),
    (dualgap.Ridge(tol=-1), "'tol' parameter of Ridge"),
    (dualgap.Ridge(max_iter=-1), "'max_iter' parameter of Ridge must be an int"),
    (dualgap.Ridge(max_iter=1.5), "'max_iter' parameter of Ridge must be an int"),
    (dualgap.Ridge(max_iter=0), r"'max_iter' parameter of Ridge must be .* \[1, inf\). Got 0"),
    (dualgap.Lasso(max_iter=0), r"'max_iter' parameter of Lasso must be .* \[1, inf\). Got 0"),
    (dualgap.ElasticNetCV(max_iter=0), "'max_iter' parameter of ElasticNetCV"),
    (dualgap.RidgeCV(max_iter=0), "'max_iter' parameter of RidgeCV"),
    (dualgap.Ridge(max_iter=HUGE), r"'max_iter' parameter of Ridge must be .* \[1, 9223372036"),
    (dualgap.HuberRegressor(max_iter=HUGE), "'max_iter' parameter of HuberRegressor"),
    (dualgap.Ridge(alpha=HUGE), "'alpha' parameter of Ridge"),
    (dualgap.Ridge(alpha=["a"]), "'alpha' parameter of Ridge"),
    (dualgap.Ridge(tol=HUGE), "'tol' parameter of Ridge"),
    (dualgap.Ridge(verbose="loud"), "'verbose' parameter of Ridge.*Got 'loud'"),
    (dualgap.HuberRegressor(verbose=-1), "'verbose' parameter of HuberRegressor"),
    (dualgap.LassoCV(verbose=None), "'verbose' parameter of LassoCV"),
    (dualgap.Ridge(random_state="x"), "'random_state' parameter of Ridge.*Got 'x'"),
    (dualgap.Lasso(random_state=-1), "'random_state' parameter of Lasso"),
    (dualgap.Lasso(random_state=True), "'random_state' parameter of Lasso"),
    (dualgap.Lasso(random_state=2**32), "'random_state' parameter of Lasso"),
    (dualgap.Ridge(solver=np.ones(2)), "solver must be a name"),
    (dualgap.Ridge(validation_fraction=2.0), "'validation_fraction' parameter of Ridge"),
    (dualgap.Ridge(n_iter_no_change="x"), "'n_iter_no_change' parameter of Ridge"),
    (dualgap.Lasso(precompute="auto"), "'precompute' parameter of Lasso"),
    (dualgap.Lasso(precompute=[1.0]), "'precompute' parameter of Lasso"),
    (dualgap.ElasticNetCV(precompute="loud"), "'precompute' parameter of ElasticNetCV"),
    (dualgap.LassoCV(eps=1.0), r"'eps' parameter of LassoCV must be .* \(0.0, 1.0\). Got 1.0"),
    (dualgap.LassoCV(eps=2), "'eps' parameter of LassoCV"),
    (dualgap.LassoCV(alphas=10**9), r"'alphas' parameter of LassoCV must be .*\[1, 100000\]"),
    (dualgap.LassoCV(alphas=[HUGE]), "alphas == 1.*must be >= 0.0 and at most 1e\\+100"),
    (dualgap.ElasticNetCV(l1_ratio="x"), "'l1_ratio' parameter of ElasticNetCV"),
    (dualgap.LassoCV(n_jobs=0), "'n_jobs' parameter of LassoCV"),
    (dualgap.LassoCV(n_jobs=2.5), "'n_jobs' parameter of LassoCV"),
    (dualgap.RidgeCV(n_jobs=HUGE), "'n_jobs' parameter of RidgeCV"),
    (dualgap.LassoCV(cv=1), "'cv' parameter of LassoCV.*Got 1"),
    (dualgap.LassoCV(cv=True), "'cv' parameter of LassoCV"),
    (dualgap.LassoCV(cv=[]), "'cv' parameter of LassoCV"),
    (dualgap.RidgeCV(cv=[1.0]), "'cv' parameter of RidgeCV"),
    (dualgap.RidgeCV(cv="5"), "'cv' parameter of RidgeCV"),
    (dualgap.Ridge(fit_intercept="yes"), "'fit_intercept' parameter of Ridge"),
    (dualgap.Ridge(positive="yes"), "'positive' parameter of Ridge"),
    (
        dualgap.Ridge(positive=True, solver="newton"),
        "solver='newton' does not fit positive=True.*Solvers that fit: 'auto', 'bpd'",
    ),
    (dualgap.Ridge(keep_run="yes"), "'keep_run' parameter of Ridge"),
    (dualgap.Ridge(solver="choleski"), "solver='choleski' is not known. Did you mean 'cholesky'"),
    (dualgap.Ridge(solver="sdca"), "needs an l2 penalty on every.*fit_intercept=False.*'newton'"),
    (dualgap.Ridge(0.0, solver="working-set"), "needs a penalty.*'newton'"),
    (dualgap.Lasso(solver="newton"), "does not fit a penalty with l1.*'auto', 'bpd'"),
    (dualgap.ElasticNetCV(solver="newton"), "does not fit a penalty with l1"),
    (dualgap.RidgeCV(cv=3, solver="sdca"), "needs an l2 penalty on every"),
    (
        dualgap.HuberRegressor(solver="dualgap-saga"),
        "solver='dualgap-saga' does not fit the search for the scale.*'ada-bpd'",
    ),
    (dualgap.HuberRegressor(solver="svrg"), "does not fit the search for the scale.*'newton'"),
    (dualgap.Ridge(solver=3), "solver must be a name or a dualgap algorithm"),
    (dualgap.Ridge(early_stopping=True, validation_fraction=1.0), "'validation_fraction'"),
    (dualgap.Ridge(early_stopping=True, n_iter_no_change=0), "'n_iter_no_change'"),
    (dualgap.Lasso(alpha=np.nan), "'alpha' parameter of Lasso"),
    (dualgap.Lasso(positive=1), "'positive' parameter of Lasso"),
    (dualgap.Lasso(positive=True, solver="sdca"), "does not fit positive=True.*'working-set'"),
    (dualgap.LassoCV(positive=True, solver="dualgap-saga"), "does not fit positive=True"),
    (dualgap.Lasso(selection="all"), "'selection' parameter of Lasso"),
    (dualgap.ElasticNet(l1_ratio=1.5), "'l1_ratio' parameter of ElasticNet"),
    (dualgap.HuberRegressor(epsilon=0.9), "'epsilon' parameter of HuberRegressor"),
    (dualgap.HuberRegressor(alpha=-1.0), "'alpha' parameter of HuberRegressor"),
    (dualgap.RidgeCV(alphas=[0.0, 1.0]), r"alphas\[0\] == 0.0, must be > 0.0"),
    (dualgap.RidgeCV(alphas=["1", 2]), r"alphas\[0\] must be an instance of float"),
    (dualgap.RidgeCV(cv=3, store_cv_results=True), "incompatible"),
    (dualgap.RidgeCV(gcv_mode="fast"), "'gcv_mode'"),
    (dualgap.LassoCV(alphas=[-1.0, 1.0]), r"alphas\[0\] == -1.0, must be >= 0.0"),
    (dualgap.LassoCV(alphas=[]), "alphas is empty"),
    (dualgap.LassoCV(eps=0), "'eps' parameter of LassoCV"),
    (dualgap.ElasticNetCV(l1_ratio=0), "Automatic alpha grid generation is not supported"),
    (dualgap.ElasticNetCV(l1_ratio=[0.1, 2.0]), "'l1_ratio' parameter of ElasticNetCV"),
]


@pytest.mark.parametrize(("model", "message"), PARAMETERS)
def test_regressors(model, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


CLASSIFIERS = [
    (dualgap.LogisticRegression(C=0), "'C' parameter of LogisticRegression"),
    (dualgap.LogisticRegression(C=-1.0), "'C' parameter of LogisticRegression"),
    (dualgap.LogisticRegression(l1_ratio=2), "'l1_ratio' parameter of LogisticRegression"),
    (dualgap.LogisticRegression("l3"), "'penalty' parameter of LogisticRegression"),
    (dualgap.LogisticRegression("elasticnet", l1_ratio=None), "l1_ratio must be specified"),
    (dualgap.LogisticRegression(class_weight="even"), "class_weight must be a dict"),
    (dualgap.LogisticRegression(class_weight={"eel": 2.0}), "not in class_weight"),
    (dualgap.LogisticRegression(intercept_scaling=0), "'intercept_scaling'"),
    (dualgap.LogisticRegression(dual="no"), "'dual' parameter"),
    (
        dualgap.LogisticRegression(solver="spdc"),
        "does not fit the multinomial.*'adf-bpd'.*'dualgap-saga'",
    ),
    (dualgap.LogisticRegression(solver="katyusha"), "Solvers that fit: 'auto'"),
    (dualgap.LogisticRegression(solver="working-set"), "does not fit the multinomial.*'newton'"),
    (dualgap.LogisticRegression(solver="liblinear"), "does not support multiclass"),
    (dualgap.LinearSVC("l1", solver="newton"), "does not fit a penalty with l1.*'working-set'"),
    (dualgap.LinearSVC(C=0.0), "'C' parameter of LinearSVC"),
    (dualgap.LinearSVC(loss="hinge"), "loss='hinge' is not smooth.*SmoothedHinge"),
    (dualgap.LinearSVC(loss="log"), "'loss' parameter of LinearSVC"),
    (dualgap.LinearSVC(multi_class="crammer_singer"), "another objective"),
    (dualgap.LinearSVC("elasticnet"), "'penalty' parameter of LinearSVC"),
    (dualgap.LinearSVC(dual="yes"), "'dual' parameter of LinearSVC"),
    (dualgap.LinearSVC(multi_class=np.ones(2)), "'multi_class' parameter of LinearSVC"),
    (dualgap.LogisticRegression(solver=np.ones(2)), "solver must be a name"),
    (dualgap.LogisticRegression(n_jobs="all"), "'n_jobs' parameter of LogisticRegression"),
    (dualgap.LogisticRegression(C=HUGE), "'C' parameter of LogisticRegression"),
    (dualgap.LogisticRegressionCV(cv=b"x"), "'cv' parameter of LogisticRegressionCV"),
    (dualgap.LogisticRegressionCV(scoring=0), "'scoring' parameter of LogisticRegressionCV"),
    (dualgap.LogisticRegressionCV(Cs=10**9), r"'Cs' parameter .*\[1, 100000\]"),
    (dualgap.LogisticRegressionCV(l1_ratios=[HUGE]), "numbers between 0 and 1"),
    (dualgap.LogisticRegressionCV(Cs=0), "'Cs' parameter"),
    (dualgap.LogisticRegressionCV(Cs=[0.0, 1.0]), r"Cs\[0\] == 0.0, must be > 0.0"),
    (dualgap.LogisticRegressionCV(l1_ratios=[2.0]), "numbers between 0 and 1"),
    (dualgap.LogisticRegressionCV(penalty="elasticnet"), "l1_ratios must be an array-like"),
]


@pytest.mark.parametrize(("model", "message"), CLASSIFIERS)
def test_classifiers(model, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, THREE)
    assert not hasattr(model, "coef_")


def test_what_scikit_learn_allows_is_allowed():
    """An iterable of pairs for cv; 0 iterations, where its own range begins there."""
    halves = [(np.arange(0, 30), np.arange(30, 60)), (np.arange(30, 60), np.arange(0, 30))]
    for cv in (halves, iter(halves), np.array(halves)):
        model = dualgap.RidgeCV(cv=cv).fit(X[:60], Y[:60])
        assert model.gap_path_.shape == (1, 3, 2)
    for model in (dualgap.LogisticRegression(max_iter=0), dualgap.LinearSVC(max_iter=0)):
        with pytest.warns(ConvergenceWarning):
            assert not model.fit(X, TWO).coef_.any()
    with pytest.warns(ConvergenceWarning):
        dualgap.HuberRegressor(max_iter=0).fit(X, Y)
    assert dualgap.HuberRegressor(max_iter=None).fit(X, Y).status_.converged


def test_liblinear_without_penalty():
    with pytest.raises(ValueError, match="not supported for the liblinear solver"):
        dualgap.LogisticRegression(solver="liblinear", C=np.inf).fit(X, TWO)


ALL = [
    dualgap.Ridge(),
    dualgap.Lasso(),
    dualgap.HuberRegressor(),
    dualgap.LogisticRegression(),
    dualgap.LinearSVC(),
    dualgap.RidgeCV(),
    dualgap.LassoCV(alphas=3, cv=2),
    dualgap.LogisticRegressionCV(Cs=2, cv=2),
]


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_data(model):
    y = TWO if hasattr(model, "decision_function") else Y
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(np.arange(6) == 1, np.nan, X), y)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.fit(X[:, 0], y)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        model.fit(X, y, sample_weight=np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="all zero"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="expected"):
        model.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match=r"2 features|has 2 features|expecting 6"):
        type(model)(**model.get_params()).fit(X, y).predict(X[:, :2])


@pytest.mark.parametrize(
    "model",
    [dualgap.LogisticRegression(), dualgap.LinearSVC(), dualgap.LogisticRegressionCV(cv=2)],
    ids=lambda m: type(m).__name__,
)
def test_labels(model):
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="only one class: 'ant'"):
        model.fit(X, np.full(len(Y), "ant"))
    weights = (TWO == "bee").astype(float)
    with pytest.raises(ValueError, match="only one class: 'bee'"):
        model.fit(X, TWO, sample_weight=weights)


def test_unseen_labels_score_as_errors():
    model = dualgap.LogisticRegression().fit(X, TWO)
    assert model.score(X, np.full(len(TWO), "zebra")) == 0.0


def test_sparse_nan_is_refused():
    A = sp.csr_matrix(X)
    A.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        dualgap.Ridge().fit(A, Y)


def test_the_callers_data_are_not_touched():
    for data in (X.copy(), sp.csr_matrix(X)):
        before = data.copy()
        for model in ALL:
            y = TWO if hasattr(model, "decision_function") else Y
            type(model)(**model.get_params()).fit(data, y)
        assert (data != before).sum() == 0
