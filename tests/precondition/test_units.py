"""Columns far from 0, or too small to be squared: as good an answer as in columns that are not.

The reference is the same problem in columns from which the shift is taken (exactly, for they are
integers): what float64 loses on the shifted data is the solver's doing. P is evaluated exactly at
the floats that come back.
"""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.designs import as_design
from dualgap.designs.moved import column_shifts, moved
from dualgap.preconditioners import Units, asked
from tests.precondition.exact import exact_P

EPOCH = 1.7e9
K = np.arange(20.0)
NOISE = np.random.default_rng(0).standard_normal(20)
LOSSES = ("squared", "huber", "logistic", "smoothed_hinge", "squared_hinge")
PENALTIES = ({}, {"l2": 1e-3}, {"l1": 1e-3}, {"l1": 1e-3, "l2": 1e-3})
each_loss = pytest.mark.parametrize("loss", LOSSES)


def targets(loss):
    """With a minimiser: noise makes labels overlap, and some residuals are Huber's outliers."""
    if loss in ("squared", "huber"):
        return 0.3 * K + NOISE
    return np.where(K + 4.0 * NOISE > 9.5, 1.0, -1.0)


def near(loss, column, **options):
    """P where the column is near 0, certified."""
    result = dualgap.solve(
        np.reshape(column, (20, -1)), targets(loss), loss=loss, fit_intercept=True,
        **{"tol": 1e-9, **options},
    )  # fmt: skip
    assert result.status.converged
    return result.certificate.primal


# ---- seconds since 1970 ----


@each_loss
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("shift", [EPOCH, -1e12], ids="{:.2g}".format)
def test_a_column_far_from_zero(loss, penalty, shift):
    """c is of the size of the shift, so that its last digit is what is left: eps shift in z."""
    A = (shift + K)[:, None]
    result = dualgap.solve(
        A, targets(loss), loss=loss, fit_intercept=True, tol=1e-9, **penalty
    )  # fmt: skip
    P = exact_P(A, targets(loss), result.x, result.intercept, loss=loss, **penalty)
    least = near(loss, K, **penalty)
    rounding = (np.finfo(float).eps * abs(shift)) ** 2
    assert P <= least * (1.0 + 2e-9) + rounding
    assert result.passes <= 100  # none is spent on a gradient that is all rounding


def test_the_lasso_that_ran_for_minutes():
    result = dualgap.solve((EPOCH + K)[:, None], targets("squared"), l1=1e-3, fit_intercept=True)
    assert result.status.converged
    assert result.passes <= 3


def test_integers_near_1e15():
    """x = 1 and c = -1e15 are floats, so that P = 0 can be had exactly."""
    A = (1e15 + K)[:, None]
    result = dualgap.solve(A, K, fit_intercept=True)
    assert exact_P(A, K, result.x, result.intercept) <= 1e-20


@pytest.mark.parametrize(
    "algorithm",
    ["newton", "working-set", "ada-bpd", "adf-bpd", "agd", "spdc", "adf-spdc", "saga", "svrg"],
)
def test_named_algorithms(algorithm):
    """Each does in the far column what it does near 0: the same iterates, but for rounding."""
    middle = K - 10.0
    options = {"l2": 0.1, "fit_intercept": True, "algorithm": algorithm, "max_passes": 60}
    here = dualgap.solve(middle[:, None], targets("squared"), **options)
    there = dualgap.solve((EPOCH + K)[:, None], targets("squared"), **options)
    np.testing.assert_allclose(there.state.x, here.state.x, rtol=1e-9)
    assert there.passes == pytest.approx(here.passes, abs=3)


def several(rng, n=40):
    """Columns of all kinds: far from 0, constant, ordinary."""
    near = np.column_stack(
        [rng.integers(0, 50, n), np.zeros(n), rng.standard_normal(n), rng.integers(-9, 9, n)]
    )
    return near, near + np.array([EPOCH, 3.0, 0.0, -1e9])


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_several_columns_weights_and_an_offset(layout, loss):
    rng = np.random.default_rng(3)
    here, there = several(rng)
    z = 0.1 * here[:, 0] - here[:, 2] + rng.standard_normal(40)
    b = z if loss == "squared" else np.where(z > np.median(z), 1.0, -1.0)
    offset = rng.standard_normal((40, 3) if loss == "multinomial" else 40)
    if loss == "multinomial":
        b = np.digitize(z, np.quantile(z, [0.3, 0.6]))
    weights = rng.uniform(0.5, 2.0, 40)
    weights[::7] = 0.0
    options = {"loss": loss, "l2": 1e-2, "fit_intercept": True, "offset": offset, "tol": 1e-9}
    options["sample_weight"] = weights
    one = dualgap.solve(layout(here), b, **options)
    other = dualgap.solve(layout(there), b, **options)
    assert one.status.converged
    assert other.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-8)
    np.testing.assert_allclose(other.x, one.x, rtol=1e-4, atol=1e-5)


def test_float32_is_widened():
    """1.6e7 + k are float32 numbers; their differences are too, their products are not."""
    A = (np.float32(1.6e7) + K.astype(np.float32))[:, None]
    result = dualgap.solve(A, targets("squared"), fit_intercept=True, tol=1e-9)
    assert exact_P(A, targets("squared"), result.x, result.intercept) <= near("squared", K) + 1e-12


# ---- what is moved, and what is not ----


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
def test_the_moved_data_are_exact(layout):
    rng = np.random.default_rng(5)
    A = np.column_stack([1.7e9 + rng.random(30), -3e5 - 1e-3 * rng.random(30), rng.random(30)])
    base = as_design(layout(A))
    shifts = column_shifts(base, np.full(30, 1 / 30))
    assert shifts is not None and shifts[2] == 0.0
    B = moved(base, shifts, np.ones(3)).A
    B = B.toarray() if sp.issparse(B) else B
    for j in range(3):
        assert shifts[j] in (0.0, *A[:, j])
        exact = [Fraction(v) - Fraction(shifts[j]) for v in A[:, j]]
        assert [Fraction(v) for v in B[:, j]] == exact


def test_sparse_data_with_a_column_that_is_almost_full():
    """A missing entry of such a column is a 0, and becomes an entry."""
    A = np.column_stack([EPOCH + np.arange(2.0**21), np.zeros(2**21)])
    A[5, 0], A[7, 1] = 0.0, 1.0
    base = as_design(sp.csr_array(A))
    shifts = column_shifts(base, np.full(2**21, 2.0**-21))
    assert shifts is not None and shifts[1] == 0.0
    B = moved(base, shifts, np.ones(2)).A
    assert B[5, 0] == -shifts[0] and B[7, 1] == 1.0 and B[8, 1] == 0.0


@pytest.mark.parametrize(
    "column",
    [np.full(20, EPOCH), np.append(np.zeros(19), EPOCH), 2000.0 + 5.0 * K, K - 3.0, 0.0 * K],
    ids=["constant", "one large entry", "years", "near", "zeros"],
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_other_columns_stay(column, layout):
    A = np.column_stack([column, np.cos(K)])
    problem = dualgap.Problem(layout(A), targets("squared"), fit_intercept=True)
    assert asked(problem) is None


def test_without_an_intercept_nothing_is_shifted():
    assert asked(dualgap.Problem((EPOCH + K)[:, None], K)) is None


def test_it_can_be_refused_and_asked_for():
    problem = dualgap.Problem((EPOCH + K)[:, None], targets("squared"), fit_intercept=True)
    assert problem.solve(precondition="none", max_passes=5).state.change is None
    assert (
        problem.solve(precondition="diagonal", max_passes=5).state.change.preconditioner
        == "diagonal"
    )
    named = problem.solve(precondition="units")
    assert named.x == problem.solve().x


def test_data_are_moved_once_for_all_strengths():
    problem = dualgap.Problem((EPOCH + K)[:, None], targets("squared"), fit_intercept=True)
    change = Units().begin(problem)
    one, two = change.inner(problem), change.inner(problem.replace(l2=0.1))
    assert one.base is two.base and one.constants is two.constants


# ---- runs ----


@pytest.mark.parametrize("algorithm", ["auto", "ada-bpd", "adf-spdc"])
def test_two_runs_joined_are_one_run(algorithm):
    def run(state=None, passes=9):
        return dualgap.Problem(
            (EPOCH + K)[:, None], targets("logistic"), loss="logistic", l2=1e-4, fit_intercept=True
        ).solve(algorithm=algorithm, tol=1e-15, max_passes=passes, state=state)

    half = pickle.loads(pickle.dumps(run(passes=4).state))
    joined, whole = run(half, 5), run()
    np.testing.assert_array_equal(joined.state.x, whole.state.x)
    np.testing.assert_array_equal(joined.x, whole.x)


def test_a_start_is_the_users():
    problem = dualgap.Problem((EPOCH + K)[:, None], targets("squared"), fit_intercept=True)
    good = problem.solve()
    warm = problem.solve(x0=np.append(good.x, good.intercept), max_passes=0)
    assert warm.x == good.x and warm.intercept == good.intercept


def test_snapshots_are_the_users():
    A, b = (EPOCH + K)[:, None], targets("squared")
    seen = []
    dualgap.solve(
        A, b, l2=0.1, fit_intercept=True, algorithm="ada-bpd", max_passes=20,
        callback=lambda s: seen.append((s.primal, exact_P(A, b, s.x, s.intercept, l2=0.1))),
    )  # fmt: skip
    reported, exact = np.array(seen).T
    np.testing.assert_allclose(reported, exact, rtol=1e-6)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_path(loss, l1_ratio):
    options = {"loss": loss, "fit_intercept": True, "l1_ratio": l1_ratio, "tol": 1e-8}
    options["lambdas"] = 8 if l1_ratio else [1.0, 0.1, 0.01, 1e-3, 1e-4]
    rng = np.random.default_rng(4)
    here, there = several(rng)
    z = here @ [0.1, 0.0, 1.0, 0.2] + rng.standard_normal(40)
    b = z if loss == "squared" else np.where(z > np.median(z), 1.0, -1.0)
    one, other = dualgap.path(here, b, **options), dualgap.path(there, b, **options)
    np.testing.assert_allclose(other.lambdas, one.lambdas, rtol=1e-7)
    primal = [[c.primal for c in walked.certificates] for walked in (one, other)]
    np.testing.assert_allclose(primal[1], primal[0], rtol=1e-7)


# ---- offsets and targets ----


@each_loss
@pytest.mark.parametrize("size", [1e6, -1e12], ids="{:.0g}".format)
@pytest.mark.parametrize("penalty", [{"l2": 3e-10}, {"l1": 1e-4}, {"l2": 1e-3}], ids=str)
def test_a_large_offset_is_the_intercepts(loss, size, penalty):
    rng = np.random.default_rng(2)
    A = np.column_stack([K - 9.5, rng.standard_normal(20)])
    own = rng.integers(-4, 5, 20) / 8.0
    b = targets(loss)
    plain = dualgap.solve(A, b, loss=loss, fit_intercept=True, offset=own, tol=1e-9, **penalty)
    assert plain.status.converged
    result = dualgap.solve(
        A, b, loss=loss, fit_intercept=True, offset=size + own, tol=1e-9, **penalty
    )
    P = exact_P(
        A, b, result.x, result.intercept, loss=loss, offset=size + own, **penalty
    )  # fmt: skip
    rounding = (np.finfo(float).eps * abs(size)) ** 2
    assert P <= plain.certificate.primal * (1.0 + 2e-9) + rounding


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_large_targets_are_the_intercepts(loss, penalty):
    """Integers, so that taking 1e12 from them leaves what was there."""
    b = np.round(targets(loss))
    options = {"loss": loss, "fit_intercept": True, "tol": 1e-9, **penalty}
    plain = dualgap.solve(K[:, None], b, **options)
    result = dualgap.solve(K[:, None], 1e12 + b, **options)
    P = exact_P(K[:, None], 1e12 + b, result.x, result.intercept, loss=loss, **penalty)
    assert P <= plain.certificate.primal * (1.0 + 2e-9) + (1e12 * np.finfo(float).eps) ** 2


# ---- columns too small to be squared ----


@each_loss
@pytest.mark.parametrize("unit", [1e-130, 1e-163, 1e-290], ids="{:.0g}".format)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_tiny_column(loss, unit, layout):
    """Free of penalty, it matters as much as in any other unit."""
    rng = np.random.default_rng(6)
    A = np.column_stack([np.arange(1.0, 21) % 7, K % 5 - 2, rng.standard_normal(20)])
    b = targets(loss)
    plain = dualgap.solve(A, b, loss=loss, fit_intercept=True, tol=1e-9)
    assert plain.status.converged
    tiny = A * np.array([1.0, unit, 1.0])
    result = dualgap.solve(layout(tiny), b, loss=loss, fit_intercept=True, tol=1e-9)
    P = exact_P(tiny, b, result.x, result.intercept, loss=loss)
    assert P <= plain.certificate.primal * (1.0 + 2e-9)


def test_a_tiny_column_that_is_all_there_is_to_say():
    A = np.column_stack([np.arange(1.0, 21) % 7, (K % 5 - 2) * 1e-170])
    result = dualgap.solve(A, K % 5 - 2)
    assert exact_P(A, K % 5 - 2, result.x) <= 1e-30


@pytest.mark.parametrize("penalty", [{"l1": 1e-3}, {"l2": 1e-3}], ids=str)
@pytest.mark.parametrize("algorithm", ["auto", "ada-bpd", "newton", "working-set", "adf-spdc"])
def test_a_tiny_column_with_a_penalty_is_nothing(penalty, algorithm):
    if "l1" in penalty and algorithm == "newton":
        pytest.skip("newton takes no l1")
    A = np.column_stack([np.arange(1.0, 21) % 7 - 3.0, (K % 5 - 2) * 1e-160])
    one = dualgap.solve(A[:, :1], K % 5, algorithm=algorithm, max_passes=5000, **penalty)
    both = dualgap.solve(A, K % 5, algorithm=algorithm, max_passes=5000, **penalty)
    assert one.status.converged and both.status.converged
    assert both.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-6)
    assert abs(both.x[1]) < 1e-150


def test_an_x_beyond_float64_is_cut():
    """1e-290 x = 1e60 asks for x = 1e350: the nearest float is the largest."""
    problem = dualgap.Problem(np.column_stack([np.ones(20), (K % 5 - 2) * 1e-290]), K)
    change = Units().begin(problem)
    with np.errstate(over="ignore"):  # as inside a solve
        x = change.to_user(problem, change.inner(problem), np.array([1.0, -1e60]))
    np.testing.assert_array_equal(x, [1.0, -np.finfo(float).max])


# ---- estimators ----


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_on_shifted_columns():
    """The same coefficients; whether they are certified is another question."""
    from dualgap.estimators import HuberRegressor, Lasso, LogisticRegression, Ridge

    rng = np.random.default_rng(9)
    here, there = several(rng, 60)
    y = here @ [0.1, 0.0, 1.0, 0.2] + rng.standard_normal(60)
    for model, target in (
        (Ridge(alpha=0.0), y), (Ridge(alpha=1.0), y), (Lasso(alpha=0.01), y),
        (LogisticRegression(), y > np.median(y)), (HuberRegressor(tol=1e-8), y),
    ):  # fmt: skip
        coefficients = model.fit(here, target).coef_
        np.testing.assert_allclose(
            model.fit(there, target).coef_, coefficients, rtol=1e-4, atol=1e-6
        )


def test_leave_one_out_on_shifted_columns():
    from dualgap.estimators.ridge_cv import LeaveOneOut

    rng = np.random.default_rng(10)
    for n in (30, 3):
        here, there = several(rng, n)
        y = here @ [0.1, 0.0, 1.0, 0.2] + rng.standard_normal(n)
        for layout in (np.asarray, sp.csr_array):
            errors = [LeaveOneOut(layout(X), y, None, True).errors(0.5) for X in (here, there)]
            np.testing.assert_allclose(errors[1], errors[0], rtol=1e-9, atol=1e-10)
