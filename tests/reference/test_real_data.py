"""Real data sets, certified to tol, against scikit-learn.

They lie next to the clone, in ../shared/data; without them there is nothing to test.
"""

import lzma
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import dualgap

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FEATURES = {"qsar10012": 1024}
TOL = 1e-6

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}")


@cache
def load(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    with lzma.open(DATA / f"{name}.svm.xz", "rb") as file:
        A, b = load_svmlight_file(file, n_features=FEATURES.get(name))
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)  # for liblinear
    if name == "mushrooms":  # labels 1 and 2
        b = 2.0 * b - 3.0
    return A, b


def compare(
    A: Any, b: np.ndarray, model: Any, max_passes: float = 3000, **problem: Any
) -> dualgap.Result:
    """Certified to tol, and scikit-learn's point is not below what was certified."""
    ours = dualgap.solve(A, b, tol=TOL, max_passes=max_passes, **problem)
    got = ours.certificate
    assert ours.status is dualgap.Status.CONVERGED, ours
    assert got.certified
    assert got.relative_gap <= TOL
    again = dualgap.certify(A, b, ours.x, ours.y, intercept=ours.intercept, **problem)
    assert again == got
    x, c = np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])
    theirs = dualgap.certify(A, b, x, intercept=c, **problem)
    assert theirs.certified
    assert got.dual <= theirs.primal * (1 + 1e-12)
    assert theirs.dual <= got.primal * (1 + 1e-12)
    assert theirs.primal - got.dual <= 1e-4 * theirs.primal  # scikit-learn's own tolerance
    return ours


def dense(A: sp.csr_matrix) -> np.ndarray:
    return np.asarray(A.toarray())


@pytest.mark.parametrize("l2", [1e-4, 1e-1])
def test_german_ridge_and_logistic(l2: float) -> None:
    A, b = load("german.numer_scale")
    X = dense(A)
    ridge = Ridge(alpha=l2 * len(b)).fit(X, b)
    compare(X, b, ridge, l2=l2, fit_intercept=True)
    logistic = LogisticRegression(C=1.0 / (l2 * len(b)), tol=1e-8, max_iter=2000).fit(X, b)
    compare(X, b, logistic, loss="logistic", l2=l2, fit_intercept=True)


def test_german_logistic_without_regulariser() -> None:
    A, b = load("german.numer_scale")
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(dense(A), b)
    compare(A, b, model, loss="logistic", fit_intercept=True)


def test_german_squared_hinge() -> None:
    A, b = load("german.numer_scale")
    l2 = 1e-2
    model = LinearSVC(C=0.5 / (l2 * len(b)), fit_intercept=False, dual=False, tol=1e-8).fit(A, b)
    compare(A, b, model, loss="squared_hinge", l2=l2)


@pytest.mark.parametrize("storage", ["csr", "float32"])
def test_cpusmall_lasso_and_elastic_net(storage: str) -> None:
    A, b = load("cpusmall_scale")
    A = A if storage == "csr" else dense(A).astype(np.float32)
    lasso = Lasso(alpha=0.1, tol=1e-8, max_iter=10000).fit(dense_again(A), b)
    compare(A, b, lasso, l1=0.1, fit_intercept=True)
    net = ElasticNet(alpha=0.05, l1_ratio=0.5, tol=1e-8, max_iter=10000).fit(dense_again(A), b)
    compare(A, b, net, l1=0.025, l2=0.025, fit_intercept=True)


def dense_again(A: Any) -> np.ndarray:
    return dense(A) if sp.issparse(A) else A.astype(np.float64)


def test_cpusmall_least_squares() -> None:
    A, b = load("cpusmall_scale")
    ones = np.column_stack((dense(A), np.ones(len(b))))
    best = 0.5 * np.mean((ones @ np.linalg.lstsq(ones, b, rcond=None)[0] - b) ** 2)
    got = dualgap.certify(A, b, np.zeros(12), fit_intercept=True)
    assert got.dual == pytest.approx(best, rel=1e-10)
    assert got.dual <= best * (1 + 1e-13)


def test_mushrooms_one_hot_columns_are_dependent() -> None:
    A, b = load("mushrooms")
    l2 = 1e-3
    C = 1.0 / (l2 * len(b))
    model = LogisticRegression(C=C, fit_intercept=False, tol=1e-8, max_iter=2000).fit(A, b)
    compare(A, b, model, loss="logistic", l2=l2)
    svc = LinearSVC(C=0.5 * C, fit_intercept=False, dual=False, tol=1e-8).fit(A, b)
    compare(A, b, svc, loss="squared_hinge", l2=l2)


def test_mushrooms_are_separable() -> None:
    A, b = load("mushrooms")
    result = dualgap.solve(A, b, loss="logistic", max_passes=2000)
    assert result.status is dualgap.Status.NO_MINIMISER
    assert (b * (A @ result.x) >= 0).all()


def test_a9a_logistic() -> None:
    A, b = load("a9a")
    l2 = 1e-3
    model = LogisticRegression(
        C=1.0 / (l2 * len(b)), solver="newton-cholesky", tol=1e-8, fit_intercept=False
    ).fit(dense(A), b)
    ours = compare(A, b, model, loss="logistic", l2=l2)
    assert np.linalg.norm(ours.x - model.coef_) <= ours.certificate.distance * 1.01 + 1e-6


def test_a9a_lasso_logistic() -> None:
    A, b = load("a9a")
    l1 = 1e-3
    model = LogisticRegression(
        C=1.0 / (l1 * len(b)), l1_ratio=1.0, solver="liblinear", tol=1e-6, fit_intercept=False
    ).fit(A, b)
    compare(A, b, model, loss="logistic", l1=l1)


@pytest.mark.parametrize("l1", [1e-2, 3e-2])
def test_qsar_lasso_with_more_columns_than_rows(l1: float) -> None:
    A, b = load("qsar10012")
    model = Lasso(alpha=l1, tol=1e-8, max_iter=100000).fit(dense(A), b)
    compare(A, b, model, l1=l1, fit_intercept=True, max_passes=20000)


def test_qsar_ridge_and_huber() -> None:
    A, b = load("qsar10012")
    l2 = 1e-2
    model = Ridge(alpha=l2 * len(b), fit_intercept=False).fit(dense(A), b)
    compare(A, b, model, l2=l2)
    # With a threshold above every residual Huber's loss is the squared one.
    compare(A, b, model, l2=l2, loss=dualgap.losses.Huber(threshold=10.0))


def test_qsar_ridge_with_an_intercept() -> None:
    """The intercept's direction is flatter than l2; AGD takes 2700 passes."""
    A, b = load("qsar10012")
    l2 = 1e-2
    model = Ridge(alpha=l2 * len(b)).fit(dense(A), b)
    compare(A, b, model, l2=l2, fit_intercept=True, max_passes=6000)
