"""Preconditioned runs: the user's points and certificates, exact continuation, right answers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.preconditioners import Whiten
from tests.precondition.cases import badly_scaled, labels

NAMES = ("diagonal", "whiten", "rows", "low-rank")


def case(loss="squared", n=80, d=6, **options):
    A, b = badly_scaled(n, d)
    target = labels(b) if loss == "logistic" else b
    return dualgap.Problem(
        A, target, loss=loss, **{"l2": 1e-2, "penalty_weights": (A * A).mean(axis=0), **options}
    )


@pytest.mark.parametrize("precondition", NAMES)
@pytest.mark.parametrize("algorithm", ["ada-bpd", "adf-bpd", "adf-spdc", "agd", "saga"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_answer_and_certificate_are_the_users(precondition, algorithm, loss):
    problem = case(loss, fit_intercept=True)
    seen = []

    def look(snapshot):
        x = problem.join(snapshot.x, snapshot.intercept)
        seen.append(problem.primal(x, problem.predict(x)) / snapshot.primal - 1.0)

    result = problem.solve(
        algorithm=algorithm, precondition=precondition, max_passes=5000, callback=look
    )
    assert result.status is dualgap.Status.CONVERGED
    again = problem.certify(result.x, result.y, intercept=result.intercept)
    assert again == result.certificate
    assert again.relative_gap <= 1e-6
    assert np.abs(seen).max() < 1e-9
    reference = problem.solve(algorithm="adf-bpd", precondition="whiten", tol=1e-10)
    assert result.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("precondition", NAMES)
@pytest.mark.parametrize("algorithm", ["ada-bpd", "adf-spdc"])
@pytest.mark.parametrize("cut", [4, 8, 10])
def test_two_runs_joined_are_one_run(precondition, algorithm, cut):
    """Also where the first run ends just before the variables change."""

    def run(state=None, passes=20):
        return case("logistic", fit_intercept=True).solve(
            algorithm=algorithm, precondition=precondition, tol=1e-15, max_passes=passes,
            state=state,
        )  # fmt: skip

    half = pickle.loads(pickle.dumps(run(passes=cut).state))
    joined, whole = run(half, 20 - cut), run()
    np.testing.assert_array_equal(joined.state.x, whole.state.x)
    np.testing.assert_array_equal(joined.state.y, whole.state.y)
    np.testing.assert_array_equal(joined.x, whole.x)


def test_a_state_belongs_to_its_variables():
    problem = case()
    state = problem.solve(algorithm="ada-bpd", precondition="diagonal", max_passes=3).state
    with pytest.raises(ValueError, match=r"precondition='diagonal', not to 'none'"):
        problem.solve(algorithm="ada-bpd", state=state)


@pytest.mark.parametrize("precondition", NAMES)
def test_starting_points_are_the_users(precondition):
    problem = case(fit_intercept=True)
    good = problem.solve(algorithm="ada-bpd", precondition="whiten", tol=1e-12)
    x0 = np.append(good.x, good.intercept)
    warm = problem.solve(algorithm="ada-bpd", precondition=precondition, x0=x0, max_passes=0)
    np.testing.assert_allclose(warm.certificate.primal, good.certificate.primal, rtol=1e-10)


@pytest.mark.parametrize("precondition", ["diagonal", "whiten"])
@pytest.mark.parametrize("algorithm", ["ada-bpd", "adf-spdc"])
@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_units_of_the_columns_do_not_matter(precondition, algorithm, l2):
    A, b = badly_scaled(200, 5)
    length = np.sqrt((A * A).mean(axis=0))
    raw, unit = (
        dualgap.solve(
            A * scale, b, l2=l2, penalty_weights=(length * scale) ** 2, fit_intercept=True,
            algorithm=algorithm, precondition=precondition, max_passes=5000,
        )
        for scale in (np.ones(5), 1.0 / length)
    )  # fmt: skip
    assert raw.status is unit.status is dualgap.Status.CONVERGED
    assert raw.passes <= 1.2 * unit.passes and unit.passes <= 1.2 * raw.passes
    assert raw.certificate.primal == pytest.approx(unit.certificate.primal, rel=1e-9)


def with_column(kind):
    A, b = badly_scaled(120, 5)
    A = np.round(A * 2.0**20) / 2.0**20  # so that a combination is one to the last bit
    column = {
        "duplicate": A[:, 2],
        "combination": A[:, 0] - A[:, 1],
        "constant": np.full(120, 0.1),
        "zero": np.zeros(120),
        "dominating": 1e12 * np.random.default_rng(5).standard_normal(120),
    }[kind]
    return np.column_stack((A, column)), b


@pytest.mark.parametrize("precondition", ["diagonal", "whiten"])
@pytest.mark.parametrize("kind", ["duplicate", "combination", "constant", "zero", "dominating"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_degenerate_columns(precondition, kind, layout):
    """Right and certified, with l2; whitened also without."""
    A, b = with_column(kind)
    for l2 in (1e-3, 0.0) if precondition == "whiten" else (1e-3,):
        weights = (A * A).mean(axis=0)
        result = dualgap.solve(
            layout(A), b, l2=l2, penalty_weights=weights, fit_intercept=True,
            algorithm="ada-bpd", precondition=precondition, max_passes=5000,
        )  # fmt: skip
        assert result.status is dualgap.Status.CONVERGED
        assert result.certificate.certified
        centred, target = A - A.mean(axis=0), b - b.mean()
        unit = np.where(weights > 0, np.sqrt(weights), 1.0)
        rows = np.vstack((centred / unit, np.sqrt(120 * l2) * np.diag((weights > 0) * 1.0)))
        beta = np.linalg.lstsq(rows, np.append(target, np.zeros(A.shape[1])), rcond=1e-12)[0]
        residual = np.append(target, np.zeros(A.shape[1])) - rows @ beta
        assert result.certificate.primal == pytest.approx(residual @ residual / 240, rel=2e-6)


@pytest.mark.parametrize("precondition", NAMES)
@pytest.mark.parametrize("algorithm", ["ada-bpd", "adf-spdc"])
def test_data_of_zeros(precondition, algorithm):
    b = np.array([1.0, 2.0, 4.0])
    for l2 in (0.0, 1.0) if precondition != "rows" else (1.0,):
        result = dualgap.solve(
            np.zeros((3, 2)), b, l2=l2, fit_intercept=True, algorithm=algorithm,
            precondition=precondition,
        )  # fmt: skip
        assert result.status is dualgap.Status.CONVERGED
        assert result.intercept == pytest.approx(b.mean(), rel=1e-3)


def test_refusals():
    problem = case(l1=0.1)
    for precondition in ("whiten", "rows", "low-rank"):
        with pytest.raises(ValueError, match=r"mixes the coordinates, and l1=0\.1"):
            problem.solve(precondition=precondition)
    with pytest.raises(ValueError, match=r"budget of 9\.31e-07 GiB.*precondition='diagonal'"):
        case().solve(precondition=Whiten(budget=1000))
    with pytest.raises(ValueError, match="needs l2 > 0 on every coefficient"):
        case(l2=0.0).solve(precondition="rows")
    with pytest.raises(TypeError, match="precondition must be a name"):
        case().solve(precondition=3)
    with pytest.raises(ValueError, match="Did you mean 'whiten'"):
        case().solve(precondition="witen")
    with pytest.raises(ValueError, match="again"):
        Whiten(again=(-1,))


def test_auto_leaves_a_named_algorithm_alone():
    problem = case()
    plain = problem.solve(algorithm="ada-bpd", precondition="none", max_passes=30)
    auto = problem.solve(algorithm="ada-bpd", max_passes=30)
    assert auto.state.change is None
    np.testing.assert_array_equal(auto.x, plain.x)


def test_conditioning_is_gone():
    """Logistic regression at 1e-6/n, nearly separable: hundreds of passes without whitening."""
    A, b = dualgap.datasets.synthetic2(400, 20)
    result = dualgap.solve(
        A, b, loss="logistic", l2=1e-6 / 400, algorithm="adf-spdc", precondition="whiten"
    )
    assert result.status is dualgap.Status.CONVERGED
    assert result.state.passes <= 20


def test_a_row_comes_as_often_as_its_probability_says():
    from dualgap.algorithms.primal_dual.sampling import make_sampler

    problem = case()
    sampler = make_sampler(problem, "balanced", 0)
    counts = np.bincount(sampler.rows(3), minlength=problem.n)
    assert counts.sum() == problem.n
    assert (np.abs(counts - problem.n * sampler.p) < 1.0).all()
