"""Poisson and gamma regression: scikit-learn's optimum, exposure, weights, and the command line."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

import dualgap

THEIRS = {"poisson": PoissonRegressor, "gamma": GammaRegressor}
DEVIANCE = {"poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance}
each_loss = pytest.mark.parametrize("loss", THEIRS)


def data(loss, n=300, d=6, seed=0, base=0.5):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    mean = np.exp(A @ rng.uniform(-0.5, 0.5, d) + base)
    b = rng.poisson(mean) * 1.0 if loss == "poisson" else rng.gamma(2.0, mean / 2.0)
    return A, b


@pytest.mark.parametrize("solver", ["newton", "working-set", "prox-newton", "auto"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
@each_loss
def test_scikit_learns_optimum(loss, alpha, fit_intercept, solver):
    A, b = data(loss)
    w = np.arange(len(b)) % 4 * 1.0
    theirs = THEIRS[loss](alpha=alpha, fit_intercept=fit_intercept, tol=1e-10, max_iter=10000)
    theirs.set_params(solver="newton-cholesky").fit(A, b, sample_weight=w)
    ours = dualgap.solve(
        A, b, loss=loss, l2=alpha, fit_intercept=fit_intercept, sample_weight=w, tol=1e-13,
        algorithm=solver,
    )  # fmt: skip
    assert ours.certificate.relative_gap <= 1e-12
    np.testing.assert_allclose(ours.x, theirs.coef_, rtol=1e-5, atol=1e-7)
    assert ours.intercept == pytest.approx(float(theirs.intercept_), rel=1e-5, abs=1e-7)
    judged = dualgap.certify(
        A, b, theirs.coef_, loss=loss, l2=alpha, sample_weight=w, fit_intercept=fit_intercept,
        intercept=float(theirs.intercept_),
    )  # fmt: skip
    assert judged.certified
    assert ours.certificate.primal - judged.primal <= ours.certificate.gap + 1e-14
    assert judged.dual <= ours.certificate.primal * (1 + 1e-14)


@each_loss
def test_the_objective_is_half_the_deviance(loss):
    A, b = data(loss)
    x = np.linspace(-0.3, 0.3, A.shape[1])
    w = np.arange(len(b)) % 3 + 1.0
    got = dualgap.certify(A, b, x, loss=loss, l2=0.7, sample_weight=w).primal
    half = 0.5 * DEVIANCE[loss](b, np.exp(A @ x), sample_weight=w)
    assert got == pytest.approx(half + 0.35 * x @ x, rel=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", [{"l2": 0.01}, {"l1": 0.02}], ids=str)
def test_an_offset_is_the_log_of_the_exposure(storage, penalty):
    """Counts over an exposure e are rates, b/e, with the weights e."""
    A, b = data("poisson")
    e = np.random.default_rng(1).uniform(0.2, 5.0, len(b))
    options = {"loss": "poisson", "fit_intercept": True, "tol": 1e-12}
    counts = dualgap.solve(storage(A), b, offset=np.log(e), **penalty, **options)
    shrunk = {name: value / e.mean() for name, value in penalty.items()}
    rates = dualgap.solve(storage(A), b / e, sample_weight=e, **shrunk, **options)
    np.testing.assert_allclose(counts.x, rates.x, atol=2e-6)
    assert counts.intercept == pytest.approx(float(rates.intercept), abs=2e-6)


def test_an_offset_of_gamma_divides_the_targets():
    A, b = data("gamma")
    e = np.random.default_rng(1).uniform(0.2, 5.0, len(b))
    options = {"loss": "gamma", "l2": 0.01, "fit_intercept": True, "tol": 1e-12}
    plain = dualgap.solve(A, b / e, **options)
    offset = dualgap.solve(A, b, offset=np.log(e), **options)
    np.testing.assert_allclose(plain.x, offset.x, atol=1e-6)


@each_loss
def test_l1_is_sparse_and_satisfies_its_conditions(loss):
    A, b = data(loss, d=40)
    result = dualgap.solve(A, b, loss=loss, l1=0.08, fit_intercept=True, tol=1e-12)
    assert result.algorithm == "working-set"
    assert 0 < np.count_nonzero(result.x) < 40
    mu = np.exp(A @ result.x + result.intercept)
    y = (mu - b if loss == "poisson" else 1.0 - b / mu) / len(b)
    slope = A.T @ y
    on = result.x != 0
    np.testing.assert_allclose(slope[on], -0.08 * np.sign(result.x[on]), atol=1e-6)
    assert np.abs(slope[~on]).max() <= 0.08 + 1e-6
    assert abs(y.sum()) <= 1e-6


@pytest.mark.parametrize("base", [-4.0, 0.0, 8.0, 14.0])
@each_loss
def test_any_size_of_the_targets(loss, base):
    """Rare events and large counts, from 0 and without an intercept that could help."""
    A, b = data(loss, base=base)
    for algorithm in ("newton", "working-set", "prox-newton"):
        for fit_intercept in (False, True):
            result = dualgap.solve(
                A, b, loss=loss, l2=1e-3, fit_intercept=fit_intercept, algorithm=algorithm
            )
            assert result.status.converged, (algorithm, result)
            assert result.passes <= 200


@each_loss
def test_a_path_is_certified(loss):
    A, b = data(loss)
    path = dualgap.path(A, b, loss=loss, fit_intercept=True, lambdas=20)
    assert all(status.converged for status in path.statuses)
    assert np.count_nonzero(path.x[0]) == 0


@each_loss
def test_a_start_and_an_interrupted_run(loss):
    A, b = data(loss)
    problem = dualgap.Problem(A, b, loss=loss, l2=1e-3, fit_intercept=True)
    whole = problem.solve(tol=1e-12)
    half = problem.solve(tol=1e-12, max_passes=5)
    rest = problem.solve(tol=1e-12, state=half.state)
    assert rest.x.tobytes() == whole.x.tobytes()
    warm = problem.solve(tol=1e-9, x0=np.append(whole.x, whole.intercept))
    assert warm.status.converged
    assert warm.passes <= 5
