"""Columns without a penalty that nearly depend on each other: as good as float64 allows.

What counts is P, evaluated exactly at the floats that come back. A reference is numpy's lstsq, or
the same problem in columns that are far from dependent and have the same span, exactly.
"""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import dualgap
from dualgap.linalg import double
from dualgap.linalg.double import Double
from dualgap.preconditioners import Orthonormal
from dualgap.preconditioners.orthonormal import Triangular
from tests.precondition.exact import exact_P

SQUARED = ("squared", "huber")


def with_ones(A, intercept):
    return np.column_stack((A, np.ones(len(A)))) if intercept else A


def assert_as_good_as_lstsq(A, b, *, fit_intercept=False, weights=None):
    """Within what tol = 1e-6 asks for: of P, or of 1e-12 of what the null model has."""
    result = dualgap.solve(A, b, fit_intercept=fit_intercept, sample_weight=weights)
    P = exact_P(A, b, result.x, result.intercept, weights=weights)
    root = np.ones(len(b)) if weights is None else np.sqrt(weights)
    M = with_ones(A, fit_intercept)
    x = np.linalg.lstsq(M * root[:, None], b * root, rcond=None)[0]
    c = x[-1] if fit_intercept else 0.0
    theirs = exact_P(A, b, x[: A.shape[1]], c, weights=weights)
    null = 0.5 * np.mean(b * b)
    assert P <= theirs * (1.0 + 1e-6) + 1e-18 * null
    return result


# ---- against lstsq ----


@pytest.mark.parametrize("n", range(5, 13))
@pytest.mark.parametrize("right", ["ones", "noise"])
def test_hilbert(n, right):
    b = np.ones(n) if right == "ones" else np.random.default_rng(n).standard_normal(n)
    assert_as_good_as_lstsq(scipy.linalg.hilbert(n), b)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_vandermonde(fit_intercept):
    A = np.vander(np.linspace(1.0, 2.0, 25), 20, increasing=True)
    A = A[:, 1:] if fit_intercept else A
    b = np.random.default_rng(0).standard_normal(25)
    assert_as_good_as_lstsq(A, b, fit_intercept=fit_intercept)


@pytest.mark.parametrize("digits", range(5, 16))
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_columns_that_differ_in_their_last_digits(digits, fit_intercept):
    rng = np.random.default_rng(digits)
    A = rng.standard_normal((30, 4))
    A[:, 3] = A[:, 0] + 10.0**-digits * A[:, 3]
    weights = rng.uniform(0.5, 2.0, 30)
    b = rng.standard_normal(30)
    assert_as_good_as_lstsq(A, b, fit_intercept=fit_intercept, weights=weights)


def test_metres_and_feet():
    """One in other units is no new column: its coefficients stay small."""
    metres = np.random.default_rng(1).uniform(1.0, 2.0, 40)
    A = np.column_stack([metres, 3.280839895 * metres])
    b = metres + 0.1 * np.random.default_rng(2).standard_normal(40)
    result = assert_as_good_as_lstsq(A, b)
    assert np.abs(result.x).max() < 10.0


def test_the_system_that_never_moved():
    A = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1e-10]])
    result = assert_as_good_as_lstsq(A, np.array([1.0, 2.0, 1.0]))
    assert result.x[1] == pytest.approx(1e10)
    # b in the span of the columns: P = 0 is attained at x = (1 - 1e10, 1e10), which are floats.
    result = assert_as_good_as_lstsq(A, np.ones(3))
    assert exact_P(A, np.ones(3), result.x) <= 1e-30


def test_dates_without_an_intercept():
    k = np.arange(20.0)
    A = np.column_stack([1.7e9 + k, 1.7e9 + k * k, np.ones(20)])
    assert_as_good_as_lstsq(A, np.cos(k))


@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 25)), int(rng.integers(2, 8))
    n = max(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((m, d)))[0] for m in (n, d))
    A = U * 10.0 ** np.linspace(0.0, -rng.uniform(4.0, 16.0), d) @ V.T
    A *= 10.0 ** rng.uniform(-8.0, 8.0, d) if seed % 3 == 0 else 1.0
    b = A @ rng.standard_normal(d) if seed % 4 == 0 else rng.standard_normal(n)
    assert_as_good_as_lstsq(A, b, fit_intercept=bool(seed % 2))


# ---- other losses, other columns ----


def sheared(k, seed=0):
    """B, and columns with its span that are 2^-k apart: integers, so that nothing is rounded."""
    rng = np.random.default_rng(seed)
    B = rng.integers(-9, 10, (40, 3)).astype(float)
    far = 2.0**k * B[:, 0]
    z = B @ [0.3, -0.2, 0.1] + rng.standard_normal(40)
    return B, np.column_stack([far, far + B[:, 1], far + B[:, 2]]), z


@pytest.mark.parametrize(
    "loss", ["squared", "huber", "logistic", "smoothed_hinge", "squared_hinge"]
)
@pytest.mark.parametrize("k", [20, 30, 40])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_loss(loss, k, fit_intercept):
    B, A, z = sheared(k)
    b = z if loss in SQUARED else np.where(z > 0, 1.0, -1.0)
    options = {"loss": loss, "fit_intercept": fit_intercept, "tol": 1e-8}
    near = dualgap.solve(B, b, **options)
    assert near.status.converged
    far = dualgap.solve(A, b, **options)
    P = exact_P(A, b, far.x, far.intercept, loss=loss)
    assert P <= near.certificate.primal * (1.0 + 2e-8)


@pytest.mark.parametrize("penalty", [{"l2": 1e-2}, {"l1": 1e-2}, {"l1": 1e-2, "l2": 1e-2}], ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_beside_columns_with_a_penalty(penalty, loss, layout):
    B, A, z = sheared(30)
    rng = np.random.default_rng(1)
    others = rng.standard_normal((40, 2))
    b = z + others[:, 0]
    b = b if loss == "squared" else np.where(b > 0, 1.0, -1.0)
    options = {"penalty_weights": np.array([0.0, 1.0, 0.0, 0.0, 1.0]), "loss": loss, "tol": 1e-8}
    options |= {"fit_intercept": True, "offset": 0.1 * others[:, 1], **penalty}
    place = [0, 3, 1, 2, 4]  # free, penalised, free, free, penalised
    near = dualgap.solve(layout(np.column_stack((B, others))[:, place]), b, **options)
    far = dualgap.solve(layout(np.column_stack((A, others))[:, place]), b, **options)
    assert near.status.converged
    assert isinstance(far.state.change, Triangular)
    assert far.certificate.primal == pytest.approx(near.certificate.primal, rel=1e-7)


def test_several_classes():
    B, A, z = sheared(30)
    classes = np.digitize(z, np.quantile(z, [0.3, 0.6]))
    options = {"loss": "multinomial", "fit_intercept": True}
    near, far = (dualgap.solve(X, classes, **options) for X in (B, A))
    assert isinstance(far.state.change, Triangular)
    assert far.certificate.primal == pytest.approx(near.certificate.primal, rel=1e-5)


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((10, 20))
    A[5] = A[4] + 1e-9 * A[5]
    assert_as_good_as_lstsq(A, rng.standard_normal(10))


# ---- when ----


def change_of(A, b, **options):
    return dualgap.solve(A, b, **options).state.change


def test_only_where_columns_are_nearly_dependent():
    rng = np.random.default_rng(5)
    A, b = rng.standard_normal((50, 6)), rng.standard_normal(50)
    assert change_of(A, b) is None
    twice = np.column_stack((A, A[:, 0]))
    assert change_of(twice, b) is None
    levels = np.eye(4)[rng.integers(0, 4, 50)]
    assert change_of(levels, b, fit_intercept=True) is None
    assert change_of(A * 10.0 ** np.arange(-9, 9, 3), b) is None
    near = np.column_stack((A, A[:, 0] + 1e-9 * rng.standard_normal(50)))
    assert isinstance(change_of(near, b), Triangular)
    assert change_of(near, b, precondition="none", max_passes=30) is None
    assert change_of(near, b, l2=1e-3) is None


def test_dummies_are_judged_without_extended_precision(monkeypatch):
    """Data of some size whose columns depend on each other exactly cost one factorisation more."""
    rng = np.random.default_rng(6)
    levels = np.eye(12)[rng.integers(0, 12, 900)]
    monkeypatch.setattr("dualgap.preconditioners.orthonormal._gram_schmidt", None)
    assert change_of(levels, rng.standard_normal(900), fit_intercept=True) is None


def test_it_can_be_asked_for():
    B, A, z = sheared(30)
    result = dualgap.solve(A, z, precondition="orthonormal", algorithm="ada-bpd")
    near = dualgap.solve(B, z)
    assert exact_P(A, z, result.x) <= near.certificate.primal * (1.0 + 2e-6)
    assert change_of(A, z, l2=0.1, precondition="orthonormal") is None  # no column without one


@pytest.mark.parametrize("cut", [1, 2, 4, 7])
@pytest.mark.parametrize("shift", [0.0, 1.7e9])
def test_two_runs_joined_are_one_run(cut, shift):
    """Before the change, at it, and after; also where columns were moved first."""
    _, A, z = sheared(20)

    def run(state=None, passes=14):
        return dualgap.Problem(
            A + shift, np.where(z > 0, 1.0, -1.0), loss="logistic", fit_intercept=True
        ).solve(tol=1e-15, max_passes=passes, state=state)

    half = pickle.loads(pickle.dumps(run(passes=cut).state))
    joined, whole = run(half, 14 - half.passes), run()
    assert isinstance(whole.state.change, Triangular)
    np.testing.assert_array_equal(joined.state.x, whole.state.x)
    np.testing.assert_array_equal(joined.x, whole.x)


# ---- laws ----


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("with_penalty", [False, True])
def test_values_and_points_are_kept(fit_intercept, outputs, with_penalty):
    rng = np.random.default_rng(7)
    A = rng.standard_normal((30, 5))
    A[:, 2] = A[:, 0] + 1e-6 * A[:, 2]
    b = rng.standard_normal(30) if outputs is None else rng.integers(0, 3, 30)
    weights = np.array([0.0, 1.0, 0.0, 0.0, 2.0]) if with_penalty else None
    user = dualgap.Problem(
        A, b, loss="squared" if outputs is None else "multinomial", fit_intercept=fit_intercept,
        l2=0.1 if with_penalty else 0.0, penalty_weights=weights,
        sample_weight=rng.uniform(0.5, 2.0, 30),
    )  # fmt: skip
    change = Orthonormal().begin(user)
    inner = change.inner(user)
    w = rng.standard_normal(inner.shape)
    x = change.to_user(user, inner, w)
    np.testing.assert_allclose(inner.predict(w), user.predict(x), atol=1e-8)
    P = user.primal(x, user.predict(x))
    assert inner.primal(w, inner.predict(w)) == pytest.approx(P, rel=1e-8)
    np.testing.assert_allclose(change.to_inner(user, inner, x), w, rtol=1e-9, atol=1e-9)
    free = inner.regularizer.free.reshape(-1)
    H = inner.design.gram(user.q)[np.ix_(free, free)]
    if not with_penalty:
        np.testing.assert_allclose(H, np.eye(len(H)), atol=1e-14)


def test_back_substitution_makes_up_for_rounding():
    """R x is t but for half a last digit of R_kk x_k, though |R||x| is 1e12 times larger."""
    A = np.vander(np.linspace(1.0, 2.0, 12), 10, increasing=True)
    user = dualgap.Problem(A, np.ones(12))
    change = Orthonormal().begin(user)
    t = np.random.default_rng(8).standard_normal(change.rank)
    x = change._back(t)
    exact = change.R.at(slice(None), slice(change.rank)).scaled(x)
    left = Double(exact.high.T, exact.low.T).sum().minus(double.of(t)).high
    pivots = np.diag(change.R.high)
    assert (np.abs(left) <= 4.0 * np.finfo(float).eps * np.abs(pivots * x)).all()


def test_arithmetic_with_32_digits():
    """Against 60 digits."""
    rng = np.random.default_rng(9)
    a, b = (
        Double(*double.two_sum(rng.standard_normal(50), 1e-17 * rng.standard_normal(50)))
        for _ in range(2)
    )

    def numbers(value):
        return [mpmath.mpf(float(h)) + mpmath.mpf(float(v)) for h, v in zip(*value, strict=True)]

    with mpmath.workdps(60):
        x, y = numbers(a), numbers(b)
        for found, wanted in (
            (a.plus(b), [p + q for p, q in zip(x, y, strict=True)]),
            (a.minus(b), [p - q for p, q in zip(x, y, strict=True)]),
            (a.times(b), [p * q for p, q in zip(x, y, strict=True)]),
            (a.over(b), [p / q for p, q in zip(x, y, strict=True)]),
            (a.scaled(b.high), [p * mpmath.mpf(float(q)) for p, q in zip(x, b.high, strict=True)]),
            (a.times(a).root(), [abs(p) for p in x]),
        ):
            for p, q in zip(numbers(found), wanted, strict=True):
                assert abs(p - q) <= 1e-31 * abs(q)
        total = a.sum()
        off = mpmath.mpf(float(total.high)) + mpmath.mpf(float(total.low)) - sum(x)
        assert abs(off) <= 1e-30 * sum(abs(p) for p in x)
