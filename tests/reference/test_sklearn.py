"""scikit-learn, in its own units: the same objective within the gap, the same x within distance."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import dualgap

INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
WEIGHTS = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
TOL = 1e-10


def regression(n: int = 60, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d)) * np.geomspace(0.3, 3.0, d)
    return A, A @ rng.standard_normal(d) + 2.0 + rng.standard_normal(n)


def classification(n: int = 80, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((n, d)) * np.geomspace(0.3, 3.0, d)
    return A, np.where(A @ rng.standard_normal(d) + 0.5 + 2.0 * rng.standard_normal(n) > 0, 1, -1)


def weights(n: int, weighted: bool) -> np.ndarray | None:
    return np.random.default_rng(2).uniform(0.2, 3.0, n) if weighted else None


def compare(A: Any, b: np.ndarray, model: Any, *, slack: float = 0.0, **problem: Any) -> None:
    """Solve, certify scikit-learn's point as well, and hold the two against each other.

    ``slack`` is what scikit-learn's own stopping rule may leave, in units of x.
    """
    x, c = np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])
    theirs = dualgap.certify(A, b, x, intercept=c, **problem)
    for adapt in ("curvature", None):  # a primal-dual method, and what auto picks
        ours = dualgap.solve(A, b, tol=TOL, max_passes=20000, adapt=adapt, **problem)
        assert ours.status is dualgap.Status.CONVERGED
        # Each point's P is at least P*, which is at least the other's P less its gap.
        # (P itself is rounded in both; the lower bounds are not.)
        assert ours.certificate.dual <= theirs.primal
        best = min(ours.certificate.primal, theirs.primal)
        for certificate in (ours.certificate, theirs):
            assert certificate.certified
            assert certificate.dual <= best + 1e-13 * best
        assert theirs.primal - ours.certificate.dual <= slack * (1.0 + best) + ours.certificate.gap
        if np.isfinite(ours.certificate.distance):
            apart = np.linalg.norm(ours.x - x)
            assert apart <= ours.certificate.distance + theirs.distance
        np.testing.assert_allclose(ours.x, x, atol=1e-4 * (1.0 + np.abs(x).max()))
        if problem.get("fit_intercept"):
            assert ours.intercept == pytest.approx(c, abs=1e-4 * (1.0 + abs(c)))


@WEIGHTS
@INTERCEPT
@pytest.mark.parametrize("l2", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_ridge(storage: Any, l2: float, fit_intercept: bool, weighted: bool) -> None:
    A, b = regression()
    w = weights(len(b), weighted)
    total = len(b) if w is None else w.sum()
    model = Ridge(alpha=l2 * total, fit_intercept=fit_intercept, tol=1e-12, max_iter=10000)
    # scikit-learn reads sparse matrices with an intercept through other solvers: give it dense
    model.fit(A, b, sample_weight=w)
    compare(storage(A), b, model, l2=l2, fit_intercept=fit_intercept, sample_weight=w, slack=1e-12)


@WEIGHTS
@INTERCEPT
def test_linear_regression(fit_intercept: bool, weighted: bool) -> None:
    A, b = regression()
    w = weights(len(b), weighted)
    model = LinearRegression(fit_intercept=fit_intercept).fit(A, b, sample_weight=w)
    compare(A, b, model, fit_intercept=fit_intercept, sample_weight=w, slack=1e-12)


@WEIGHTS
@INTERCEPT
@pytest.mark.parametrize("l1", [1e-3, 0.1, 1.0])
def test_lasso(l1: float, fit_intercept: bool, weighted: bool) -> None:
    A, b = regression()
    w = weights(len(b), weighted)
    model = Lasso(alpha=l1, fit_intercept=fit_intercept, tol=1e-13, max_iter=100000)
    model.fit(A, b, sample_weight=w)
    compare(A, b, model, l1=l1, fit_intercept=fit_intercept, sample_weight=w, slack=1e-10)


@WEIGHTS
@INTERCEPT
@pytest.mark.parametrize("ratio", [0.1, 0.9])
def test_elastic_net(ratio: float, fit_intercept: bool, weighted: bool) -> None:
    A, b = regression()
    w = weights(len(b), weighted)
    alpha = 0.2
    model = ElasticNet(
        alpha=alpha, l1_ratio=ratio, fit_intercept=fit_intercept, tol=1e-13, max_iter=100000
    )
    model.fit(A, b, sample_weight=w)
    l1, l2 = alpha * ratio, alpha * (1 - ratio)
    compare(A, b, model, l1=l1, l2=l2, fit_intercept=fit_intercept, sample_weight=w, slack=1e-10)


def logistic(A: Any, b: np.ndarray, w: np.ndarray | None, **options: Any) -> LogisticRegression:
    model = LogisticRegression(tol=1e-12, max_iter=20000, **options)
    with warnings.catch_warnings():  # it may stop at rounding before its tol: judged below
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(A, b, sample_weight=w)


@WEIGHTS
@INTERCEPT
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("l2", [1e-3, 0.1])
def test_logistic_l2(l2: float, solver: str, fit_intercept: bool, weighted: bool) -> None:
    A, b = classification()
    w = weights(len(b), weighted)
    C = 1.0 / (l2 * (len(b) if w is None else w.sum()))
    model = logistic(A, b, w, C=C, solver=solver, fit_intercept=fit_intercept)
    compare(
        A, b, model, loss="logistic", l2=l2, fit_intercept=fit_intercept, sample_weight=w,
        slack=1e-8,
    )  # fmt: skip


@INTERCEPT
def test_logistic_without_regulariser(fit_intercept: bool) -> None:
    A, b = classification()
    model = logistic(A, b, None, C=np.inf, solver="newton-cholesky", fit_intercept=fit_intercept)
    compare(A, b, model, loss="logistic", fit_intercept=fit_intercept, slack=1e-9)


@pytest.mark.parametrize("l1", [1e-3, 0.03])
def test_logistic_l1(l1: float) -> None:
    A, b = classification()
    C = 1.0 / (l1 * len(b))
    model = logistic(A, b, None, C=C, l1_ratio=1.0, solver="liblinear", fit_intercept=False)
    compare(A, b, model, loss="logistic", l1=l1, slack=1e-7)


@INTERCEPT
@pytest.mark.parametrize("ratio", [0.2, 1.0])
def test_logistic_elastic_net(ratio: float, fit_intercept: bool) -> None:
    A, b = classification()
    alpha = 0.05
    model = logistic(
        A, b, None, C=1.0 / (alpha * len(b)), l1_ratio=ratio, solver="saga",
        fit_intercept=fit_intercept, random_state=0,
    )  # fmt: skip
    compare(
        A, b, model, loss="logistic", l1=alpha * ratio, l2=alpha * (1 - ratio),
        fit_intercept=fit_intercept, slack=1e-7,
    )  # fmt: skip


@WEIGHTS
@pytest.mark.parametrize("l2", [1e-2, 1.0])
def test_linear_svc(l2: float, weighted: bool) -> None:
    """Its loss is max(0, 1 - m)^2, without our 1/2: C = 1/(2 n l2)."""
    A, b = classification()
    w = weights(len(b), weighted)
    C = 1.0 / (2.0 * l2 * (len(b) if w is None else w.sum()))
    model = LinearSVC(C=C, fit_intercept=False, dual=False, tol=1e-12, max_iter=100000)
    model.fit(A, b, sample_weight=w)
    compare(A, b, model, loss="squared_hinge", l2=l2, sample_weight=w, slack=1e-8)


def test_linear_svc_penalises_its_intercept() -> None:
    """So to us it is a column of ones like any other."""
    A, b = classification()
    l2 = 0.1
    model = LinearSVC(C=1.0 / (2.0 * l2 * len(b)), dual=False, tol=1e-12, max_iter=100000)
    model.fit(A, b)
    ones = np.column_stack((A, np.ones(len(b))))
    model.coef_, model.intercept_ = np.append(model.coef_, model.intercept_), 0.0
    compare(ones, b, model, loss="squared_hinge", l2=l2, slack=1e-8)
    doubled = dualgap.solve(ones, b, loss="squared_hinge", l2=l2, sample_weight=np.full(80, 2.0))
    single = dualgap.solve(ones, b, loss="squared_hinge", l2=l2).certificate
    assert doubled.certificate.primal == pytest.approx(single.primal, rel=1e-15)
    assert doubled.certificate.gap == pytest.approx(single.gap, rel=1e-9)  # but for its rounding
