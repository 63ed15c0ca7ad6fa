"""Certificates of losses whose phi'' has no bound: true, tight, and of every kind."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap
from dualgap import Status
from dualgap.dual_points.loss_errors import largest_within, steepest

from .cases import PENALTIES, Case, generated
from .checker import STEEP
from .honesty import Reference, assert_honest, certify, reference
from .test_bound import STABLE
from .test_kinds import by_newton

each_loss = pytest.mark.parametrize("loss", STEEP)
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)
each_way = pytest.mark.parametrize("algorithm", ["newton", "working-set", "prox-newton"])


def problem(loss: str, penalty: str, fit_intercept: bool = False, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((50, 4))
    mean = np.exp(A @ np.array([0.7, -0.7, 0.4, 0.0]) + 0.5)
    b = rng.poisson(mean) * 1.0 if loss == "poisson" else rng.gamma(2.0, mean / 2.0)
    has_l1, has_l2 = PENALTIES[penalty]
    return Case(
        A, b, loss, l1=0.03 * has_l1, l2=0.1 * has_l2, fit_intercept=fit_intercept,
        sample_weight=rng.uniform(0.5, 2.0, 50), offset=0.3 * rng.standard_normal(50),
    )  # fmt: skip


def pairs(best: Reference, seed: int) -> list[tuple[np.ndarray, float, np.ndarray | None]]:
    """Points near and far, as far as e^z is no more than 1e12, with dual points of all sorts."""
    rng = np.random.default_rng(seed)
    case = best.case
    n, d = case.shape
    A = np.asarray(case.checker.A, float)
    far = rng.standard_normal(d) * 10.0 ** rng.integers(-2, 3)
    far *= min(1.0, 25.0 / max(np.abs(A @ far).max(), 1e-300))
    c = float(case.fit_intercept) * rng.standard_normal()
    near = best.x + 1e-5 * rng.standard_normal(d) / np.maximum(np.abs(A).max(axis=0), 1.0)
    inside = case.checker.inside(rng.standard_normal(n)).astype(float)
    outside = 10.0 * rng.standard_normal(n)
    zero = np.zeros(d)
    return [
        (far, c, None),
        (far, c, best.dual),
        (zero, 0.0, best.dual),
        (zero, 0.0, inside),
        (near, best.c, None),
        (near, best.c, outside),
        (best.x, best.c, None),
    ]


@pytest.mark.slow
@each_penalty
@each_loss
def test_the_gap_bounds_the_suboptimality_everywhere(loss: str, penalty: str) -> None:
    @settings(STABLE, max_examples=60)
    @given(generated(loss, penalty), st.integers(0, 2**16), st.integers(1, 40))
    def check(case: Case, seed: int, passes: int) -> None:
        result = dualgap.solve(case.A, case.b, max_passes=passes, tol=1e-15, **case.arguments)
        best = reference(case).better(result.x, result.intercept)
        for x, c, y in pairs(best, seed):
            assert_honest(best, x, c, y)
        got = assert_honest(best, result.x, result.intercept, result.y)
        assert got == result.certificate

    check()


@each_way
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
@each_penalty
@each_loss
def test_a_tight_solve_ends_with_a_tight_gap(
    loss: str, penalty: str, fit_intercept: bool, algorithm: str
) -> None:
    case = problem(loss, penalty, fit_intercept)
    if algorithm == "newton" and case.l1:
        pytest.skip("newton takes no l1")
    result = dualgap.solve(case.A, case.b, algorithm=algorithm, tol=1e-12, **case.arguments)
    assert result.status is Status.CONVERGED
    best = reference(case).better(result.x, result.intercept)
    got = assert_honest(best, result.x, result.intercept, result.y)
    assert got == result.certificate
    assert got.relative_gap <= 1e-12


@each_loss
def test_every_kind_is_reached(loss: str) -> None:
    best = reference(problem(loss, "l2"))
    assert assert_honest(best, best.x + 0.1, 0.0, None).kind == "gap"
    best = reference(problem(loss, "l1"))
    x = best.x + 0.1
    given = dualgap.Problem(best.case.A, best.case.b, **best.case.arguments)
    slopes = given.loss.grad(given.predict(x), given.b)
    assert assert_honest(best, x, 0.0, slopes).kind == "gap_scaled_dual"
    assert assert_honest(best, x, 0.0, None).certified
    best = reference(problem(loss, "none"))
    assert assert_honest(best, best.x + 1e-3, 0.0, None).kind == "gap_projected_dual"
    assert assert_honest(best, best.x, 0.0, None).relative_gap < 1e-15


@each_loss
def test_the_dual_point_of_a_newton_step_bounds_it(loss: str) -> None:
    best = reference(problem(loss, "none"))
    for t in (0.0, 1e-8, 1e-4, 1e-2, 0.05):
        x = best.x + t * np.array([1.0, -0.5, 0.5, 1.0])
        found = by_newton(best.case, x)
        assert found is not None and found.certified
        floor = best.case.checker.primal_floor(x) + best.case.checker.primal_floor(best.x)
        assert float(best.case.checker.primal(x) - best.primal) <= found.gap + floor
        assert found.gap <= 1e-16 + 5.0 * t * t


@each_loss
def test_the_gap_falls_as_the_square_of_the_distance(loss: str) -> None:
    case = problem(loss, "l2")
    best = reference(case)
    direction = np.array([1.0, 0.5, -0.5, 1.0])
    gaps = [certify(case, best.x + t * direction).gap for t in (1e-2, 1e-3, 1e-4)]
    assert gaps[0] / gaps[1] == pytest.approx(100.0, rel=0.2)
    assert gaps[1] / gaps[2] == pytest.approx(100.0, rel=0.05)


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e6, 1e9])
def test_large_counts_are_certified_to_their_last_digits(largest: float) -> None:
    rng = np.random.default_rng(3)
    A = rng.standard_normal((40, 3))
    b = np.round(largest * np.exp(A @ np.array([1.0, -1.0, 0.5])))
    case = Case(A, b, "poisson", l2=1e-3, fit_intercept=True)
    result = dualgap.solve(A, b, tol=1e-11, **case.arguments)
    assert result.status is Status.CONVERGED
    best = reference(case).better(result.x, result.intercept)
    assert_honest(best, result.x, result.intercept, result.y)


# ---- the bound on what an error of z does, against exact arithmetic ----


def exact_h(loss: str, z: Fraction, y: Fraction, b: Fraction) -> mp.mpf:
    z, y, b = (mp.mpf(v.numerator) / v.denominator for v in (z, y, b))
    if loss == "poisson":
        m, log_mu = y + b, z
    else:
        m, log_mu = 1 - y, mp.log(b) - z
    return mp.exp(log_mu) - m - (m * (log_mu - mp.log(m)) if m > 0 else 0)


@settings(STABLE, max_examples=150)
@given(
    st.sampled_from(STEEP),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-15, 1e-9, 1e-4, 0.3]),
    st.booleans(),
)
def test_an_error_of_z_is_bounded(loss: str, seed: int, error: float, weighted: bool) -> None:
    """sum_i q_i h_i(z_i + e_i) for |e|_Q = error, all of it on one row among others."""
    rng = np.random.default_rng(seed)
    n = 4
    b = rng.choice([0.0, 1.0, 7.0, 1e5], n) if loss == "poisson" else rng.uniform(0.1, 9.0, n)
    w = 10.0 ** rng.uniform(-3, 3, n) if weighted else None
    p = dualgap.Problem(rng.standard_normal((n, 2)), b, loss=loss, sample_weight=w)
    z = rng.uniform(-3.0, 8.0, n)
    near = p.loss.grad(z + rng.choice([0.0, 1e-8, 0.2]) * rng.standard_normal(n), b)
    y = p.loss.into_domain(near, b)

    def total(e: np.ndarray) -> mp.mpf:
        return sum(
            mp.mpf(float(p.q[i]))
            * exact_h(loss, Fraction(z[i]) + Fraction(e[i]), Fraction(y[i]), Fraction(b[i]))
            for i in range(n)
        )

    with mp.workdps(50):
        value = float(total(np.zeros(n))) * (1 + 1e-15)
        bound = largest_within(p, value, z, error, y)
        for direction in (*np.eye(n), rng.standard_normal(n), np.ones(n)):
            for sign in (1.0, -1.0):
                e = sign * direction * error / np.sqrt(p.q @ (direction * direction))
                assert total(e * (1 - 1e-14)) <= bound


def test_the_steepest_curvature_within_reach() -> None:
    p = dualgap.Problem(np.eye(2), [1.0, 2.0], loss="poisson", sample_weight=[1.0, 3.0])
    z = np.array([1.0, 0.0])
    assert steepest(p, z, 0.5) == pytest.approx(np.exp(1.0 + 0.5 / 0.5))
    smooth = dualgap.Problem(np.eye(2), [1.0, -1.0], loss="logistic")
    assert steepest(smooth, z, 0.5) == 0.25


# ---- no minimiser ----


def test_rows_of_a_category_without_counts_have_no_minimiser() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 60)
    A = np.eye(3)[group]
    b = rng.poisson(2.0, 60) * (group != 1) + (group == 0) * 1.0
    for storage in (np.asarray, sp.csr_array):
        result = dualgap.solve(storage(A), b, loss="poisson", tol=1e-10)
        assert result.status is Status.NO_MINIMISER
    for more in ({"l2": 1e-3}, {"l1": 1e-3}):
        result = dualgap.solve(A, b, loss="poisson", tol=1e-9, **more)
        assert result.status is Status.CONVERGED


def test_counts_of_nothing_but_zero_have_no_minimiser_beside_an_intercept() -> None:
    A = np.random.default_rng(0).standard_normal((20, 2))
    result = dualgap.solve(A, np.zeros(20), loss="poisson", l2=0.1, fit_intercept=True)
    assert result.status is Status.NO_MINIMISER
    result = dualgap.solve(A, np.zeros(20), loss="poisson", l2=0.1)
    assert result.status is Status.CONVERGED


@each_loss
def test_equal_targets_have_a_minimiser(loss: str) -> None:
    """One class has none where the loss is logistic; a count that never varies has one."""
    A = np.random.default_rng(0).standard_normal((20, 2))
    result = dualgap.solve(A, np.full(20, 3.0), loss=loss, l2=0.1, fit_intercept=True)
    # P* = 0, and log 3 is no float: there is nothing that a relative gap could be held against.
    assert result.status in (Status.CONVERGED, Status.ROUNDING)
    assert result.intercept == pytest.approx(np.log(3.0), rel=1e-15)
    assert result.certificate.gap <= 1e-28
    result = dualgap.solve(A, [2.0] * 10 + [3.0] * 10, loss=loss, fit_intercept=True)
    assert result.status is Status.CONVERGED


def test_a_minimiser_is_never_denied() -> None:
    """Zeros and counts mixed on rows that span everything: the infimum is attained."""
    rng = np.random.default_rng(7)
    for seed in range(30):
        A = rng.integers(-2, 3, (8, 2)) * 1.0
        b = rng.poisson(1.0, 8) * 1.0
        result = dualgap.solve(A, b, loss="poisson", tol=1e-9, max_passes=300)
        if result.status is not Status.NO_MINIMISER:
            continue
        some = np.linspace(0.0, 2.0 * np.pi, 100001)
        v = np.column_stack((np.cos(some), np.sin(some)))
        z = v @ A.T
        still = np.abs(z[:, b > 0]).max(axis=1, initial=0.0) <= 1e-3
        falls = z[:, b == 0].max(axis=1, initial=-1.0) <= 1e-3
        assert (still & falls & (z.min(axis=1) < -0.1)).any(), seed


@pytest.mark.parametrize(
    "counts",
    [
        [1.8591553597377245e96, 1.7479301455243588e96, 1.7221091688734796e96],
        [9.622279397939107e17, 6.091474636267908e17],
    ],
)
def test_the_lower_bound_allows_for_what_formulas_make_of_huge_counts(counts: list[float]) -> None:
    """With nothing but an intercept P* is known: at c = log of the mean count."""
    n = len(counts)
    got = dualgap.solve(
        np.zeros((n, 1)), counts, loss="poisson", l2=1.0, fit_intercept=True, tol=1e-13
    ).certificate
    with mp.workdps(60):
        m = [mp.mpf(v) for v in counts]
        c = mp.log(sum(m) / n)
        least = sum(mp.exp(c) - v * c + v * mp.log(v) - v for v in m) / n
        assert mp.mpf(got.dual) <= least <= mp.mpf(got.primal) * (1 + mp.mpf(10) ** -12)


def test_an_offset_that_all_rows_have_is_the_intercepts_business() -> None:
    """Equivalence: the same problem without it, but for the intercept."""
    A, b = np.arange(1.0, 5.0)[:, None], [1.0, 2.0, 0.0, 5.0]
    options = {"loss": "poisson", "l2": 1.0, "fit_intercept": True, "tol": 1e-9}
    plain = dualgap.solve(A, b, **options)
    for shift in (-300.0, -800.0, 200.0):
        moved_ = dualgap.solve(A, b, offset=np.full(4, shift), **options)
        assert moved_.status is Status.CONVERGED
        assert moved_.intercept == pytest.approx(plain.intercept - shift, rel=1e-9)
        np.testing.assert_allclose(moved_.x, plain.x, rtol=1e-6)
