"""Newton: the same optimum as other methods, whatever the units, and certified."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import dualgap
from dualgap import factorised
from dualgap.algorithms import Newton
from dualgap.designs import as_design

RNG = np.random.default_rng(5)
TALL = RNG.standard_normal((120, 7))
WIDE = RNG.standard_normal((12, 60))
KINKED = ("huber", "smoothed_hinge", "squared_hinge")
UNITS = 10.0 ** np.linspace(-4, 4, 7)


def targets(A, loss):
    z = A @ np.linspace(-1, 1, A.shape[1]) + np.random.default_rng(8).standard_normal(len(A))
    return z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["squared", "logistic", "strong_logistic", *KINKED])
@pytest.mark.parametrize("A", [TALL, WIDE, TALL * UNITS], ids=["tall", "wide", "units"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_certified_to_the_last_digits(loss, A, storage, fit_intercept, weighted):
    b = targets(A, loss)
    w = np.arange(len(b)) % 3 + 1.0 if weighted else None
    result = dualgap.solve(
        storage(A), b, loss=loss, l2=1e-3, fit_intercept=fit_intercept, sample_weight=w,
        algorithm="newton", tol=1e-10,
    )  # fmt: skip
    assert result.status.converged
    again = dualgap.certify(
        A, b, result.x, result.y, loss=loss, l2=1e-3, intercept=result.intercept,
        fit_intercept=fit_intercept, sample_weight=w,
    )  # fmt: skip
    assert again.certified and again.relative_gap <= 1e-10


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_penalty_weights_with_zeros(loss):
    p = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 0.0, 3.0])
    b = targets(TALL, loss)
    arguments = {"loss": loss, "l2": 0.1, "penalty_weights": p, "fit_intercept": True}
    ours = dualgap.solve(TALL, b, algorithm="newton", tol=1e-9, **arguments)
    slow = dualgap.solve(TALL, b, algorithm="adf-bpd", tol=1e-9, max_passes=20000, **arguments)
    assert ours.status.converged and slow.status.converged
    assert abs(ours.certificate.primal - slow.certificate.primal) <= 2e-9 * slow.certificate.primal


def test_units_do_not_count():
    """Columns in other units, with the penalty that makes the problems equal."""
    b = targets(TALL, "logistic")
    plain = dualgap.solve(TALL, b, loss="logistic", l2=0.01, algorithm="newton", tol=1e-9)
    other = dualgap.solve(
        TALL * UNITS, b, loss="logistic", l2=0.01, penalty_weights=UNITS**2,
        algorithm="newton", tol=1e-9,
    )  # fmt: skip
    assert other.status.converged
    assert other.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)
    assert other.passes <= 1.2 * plain.passes + 3


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("cut", [3, 8])
def test_a_state_goes_on_bitwise(loss, cut):
    A = np.random.default_rng(1).standard_normal((300, 200))  # several systems, or chunks of one
    b = targets(A, loss)
    problem = dualgap.Problem(A, b, loss=loss, l2=1e-4)
    whole = problem.solve(algorithm="newton", tol=1e-10)
    first = problem.solve(algorithm="newton", tol=1e-10, max_passes=cut)
    assert not first.status.converged
    second = problem.solve(algorithm="newton", tol=1e-10, state=first.state)
    np.testing.assert_array_equal(second.x, whole.x)


def test_l1_is_refused():
    with pytest.raises(ValueError, match=r"algorithm='newton' needs a smooth.*l1=0\.1"):
        dualgap.solve(TALL, targets(TALL, "squared"), l1=0.1, algorithm="newton")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("A", [TALL, WIDE], ids=["columns", "rows"])
@pytest.mark.parametrize("free", [False, True])
def test_the_factor_inverts(storage, A, free):
    """Against the dense inverse."""
    n, d = A.shape
    rng = np.random.default_rng(n)
    w, l2 = rng.random(n), 0.1 + rng.random(d)
    if free:
        A = np.column_stack((A, np.ones(n)))
        l2 = np.append(l2, 0.0)
    factor = factorised.HessianFactor(as_design(storage(A)), w, l2)
    H = A.T @ (w[:, None] * A) + np.diag(l2)
    r = rng.standard_normal(len(l2))
    np.testing.assert_allclose(factor.solve(r), scipy.linalg.solve(H, r), rtol=1e-9, atol=1e-12)


def test_flat_directions_are_left_alone():
    """Duplicate and zero columns without a regulariser: H is singular."""
    A = np.column_stack((TALL, TALL[:, 0], np.zeros(len(TALL))))
    b = targets(TALL, "squared")
    result = dualgap.solve(A, b, algorithm="newton", tol=1e-8)
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    assert result.certificate.primal == pytest.approx(0.5 * np.mean((A @ best - b) ** 2), rel=1e-8)


def test_multinomial():
    b = np.random.default_rng(6).integers(0, 3, len(TALL))
    arguments = {"loss": "multinomial", "l2": 0.01, "fit_intercept": True}
    ours = dualgap.solve(TALL, b, algorithm="newton", tol=1e-8, **arguments)
    slow = dualgap.solve(TALL, b, algorithm="adf-bpd", tol=1e-8, max_passes=20000, **arguments)
    assert ours.status.converged
    assert abs(ours.certificate.primal - slow.certificate.primal) <= 2e-8 * slow.certificate.primal


def test_it_knows_what_it_aims_at():
    assert Newton().aiming_at(1e-3).tol == 1e-3


@pytest.mark.parametrize("loss", KINKED)
@pytest.mark.parametrize("l2", [0.0, 1e-6])
def test_kinks_and_hardly_a_regulariser(loss, l2):
    """Directions in which no row has curvature: a plain Newton step would be endless."""
    b = targets(TALL, loss)
    result = dualgap.solve(TALL * UNITS, 5.0 * b if loss == "huber" else b, loss=loss, l2=l2,
                           algorithm="newton", tol=1e-8)  # fmt: skip
    assert result.status.converged and result.passes < 150


def test_a_full_step_may_overshoot():
    """The start is confident and wrong: phi'' is tiny there, and the Newton step far too long."""
    A, b = np.ones((40, 1)), np.where(np.arange(40) < 10, 1.0, -1.0)
    start = np.array([30.0])
    result = dualgap.solve(A, b, loss="logistic", l2=1e-6, x0=start, algorithm="newton", tol=1e-10)
    assert result.status.converged
    assert (np.diff(result.trace.primal) <= 1e-12).all()


def test_auto_takes_the_options_of_the_paper():
    """An option of the primal-dual steps asks for a primal-dual method."""
    b = targets(TALL, "squared")
    assert dualgap.solve(TALL, b, l2=0.1).algorithm == "newton"
    assert dualgap.solve(TALL, b, l2=0.1, adapt="robust").algorithm == "ada-bpd"
    assert dualgap.solve(TALL, b, l2=0.1, mu=0.1).algorithm == "ada-bpd"
