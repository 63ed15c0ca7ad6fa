"""Claims that were made once and are false: each is withdrawn, or proved, and stays so.

The truth is known on paper or in exact arithmetic, for the very numbers that the package is given.
Nothing here reads `rounding`: the gap contains it.
"""

import io
from contextlib import redirect_stderr
from fractions import Fraction

import numpy as np
import pytest

import dualgap
from dualgap import Status, certify, solve

K = np.arange(20.0)


def exact_primal(A, b, x, c=0.0, weights=None) -> Fraction:
    """(1/2W) sum_i w_i (a_i'x + c - b_i)^2 in fractions."""
    x = [Fraction(float(v)) for v in x]
    total, W = Fraction(0), Fraction(0)
    for i, row in enumerate(np.asarray(A, dtype=float)):
        r = sum((Fraction(float(a)) * v for a, v in zip(row, x, strict=True)), Fraction(float(c)))
        w = Fraction(1) if weights is None else Fraction(float(weights[i]))
        total += w * (r - Fraction(float(b[i]))) ** 2
        W += w
    return total / (2 * W)


def exact_minimum(A, b) -> Fraction:
    """min_x (1/2n) |A x - b|^2, by elimination of the normal equations in fractions."""
    F = [[Fraction(float(a)) for a in row] for row in np.asarray(A, dtype=float)]
    t = [Fraction(float(v)) for v in b]
    d = len(F[0])
    G = [[sum(r[i] * r[j] for r in F) for j in range(d)] for i in range(d)]
    g = [sum(r[i] * v for r, v in zip(F, t, strict=True)) for i in range(d)]
    explained = Fraction(0)
    for k in range(d):  # pivots; a row that is 0 belongs to a dependent column
        if G[k][k] == 0:
            continue
        explained += g[k] * g[k] / G[k][k]
        for i in range(k + 1, d):
            f = G[i][k] / G[k][k]
            g[i] -= f * g[k]
            for j in range(k, d):
                G[i][j] -= f * G[k][j]
    return (sum(v * v for v in t) - explained) / (2 * len(t))


def assert_honest(result, A, b, least: Fraction, weights=None) -> None:
    """P(x) - P* <= gap in exact arithmetic, and CONVERGED only within tol."""
    got = result.certificate
    off = exact_primal(A, b, result.x, result.intercept, weights) - least
    assert off <= got.gap if got.certified else got.kind == "none"
    if result.status is Status.CONVERGED:
        assert got.relative_gap <= 1e-6


# ---- rank is never assumed ----


def test_a_column_near_1e15_and_an_intercept() -> None:
    """x = 1, c = -1e15 fits exactly; the two columns are 1e-15 from parallel, and not parallel."""
    A = (1e15 + K)[:, None]
    result = solve(A, K, fit_intercept=True)
    assert_honest(result, A, K, Fraction(0))
    assert result.status is Status.CONVERGED and result.certificate.primal == 0.0
    away = certify(A, K, [0.0], intercept=float(K.mean()), fit_intercept=True)
    assert away.gap >= 16.6  # P there, where P* = 0


def test_a_separating_column_near_1e15() -> None:
    A, labels = (1e15 + K)[:, None], np.where(K > 9.5, 1.0, -1.0)
    result = solve(A, labels, loss="logistic", fit_intercept=True)
    assert result.status is Status.NO_MINIMISER
    level = certify(A, labels, [0.0], loss="logistic", fit_intercept=True)
    assert not level.certified or level.gap >= np.log(2.0)  # the infimum is 0


def test_two_columns_that_differ_in_one_row() -> None:
    A = np.ones((20, 2))
    A[-1] = [0.0, 1e-14]
    b = np.eye(20)[-1]
    assert_honest(solve(A, b), A, b, Fraction(0))  # x = (-1e14, 1e14)
    assert certify(A, b, [0.0, 0.0]).gap >= 0.025


def test_tiny_weights_count() -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 3)), rng.standard_normal(20)
    w = np.where(K < 3, 1.0, 1e-28)
    result = solve(A, b, sample_weight=w)
    root = [Fraction(float(v)) for v in w]
    least = _weighted_minimum(A, b, root)
    assert_honest(result, A, b, least, w)


def _weighted_minimum(A, b, w) -> Fraction:
    """By the same elimination, with every sum weighted."""
    F = [[Fraction(float(a)) for a in row] for row in A]
    t = [Fraction(float(v)) for v in b]
    G = [
        [sum(wi * r[i] * r[j] for wi, r in zip(w, F, strict=True)) for j in range(3)]
        for i in range(3)
    ]
    g = [sum(wi * r[i] * v for wi, r, v in zip(w, F, t, strict=True)) for i in range(3)]
    explained = Fraction(0)
    for k in range(3):
        explained += g[k] * g[k] / G[k][k]
        for i in range(k + 1, 3):
            f = G[i][k] / G[k][k]
            g[i] -= f * g[k]
            for j in range(k, 3):
                G[i][j] -= f * G[k][j]
    return (sum(wi * v * v for wi, v in zip(w, t, strict=True)) - explained) / (2 * sum(w))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_vandermonde(seed: int) -> None:
    A = np.vander(np.linspace(1.0, 2.0, 25), 20)
    b = np.random.default_rng(seed).standard_normal(25)
    assert_honest(solve(A, b), A, b, exact_minimum(A, b))


def test_metres_and_feet() -> None:
    m = np.random.default_rng(0).standard_normal(20)
    A, b = np.column_stack((m, 3.28084 * m)), np.random.default_rng(1).standard_normal(20)
    result = solve(A, b, tol=1e-9)
    assert_honest(result, A, b, exact_minimum(A, b))
    assert result.status is not Status.CONVERGED  # P* needs |x| = 1e16, which floats cannot say


def test_exact_relations_are_proved() -> None:
    """Duplicates, a one-hot code with the constant, small multiples: left out, and certified."""
    rng = np.random.default_rng(2)
    codes, a = np.eye(4)[rng.integers(0, 4, 40)], rng.standard_normal(40)
    A = np.column_stack((codes, a, a, 3.0 * np.round(64 * a) / 64, np.round(64 * a) / 64))
    for loss in ("squared", "logistic", "huber", "smoothed_hinge"):
        z = a + rng.standard_normal(40)
        b = z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)
        result = solve(A, b, loss=loss, fit_intercept=True)
        assert result.status is Status.CONVERGED and result.certificate.certified, (loss, result)


# ---- scales are never lost ----


@pytest.mark.parametrize("size", [1e-163, 1e-170, 1e-200, 1e-290])
def test_columns_whose_squares_underflow(size: float) -> None:
    A = np.column_stack([np.arange(1.0, 21) % 7, (K % 5 - 2) * size])
    b = K % 5 - 2  # x = (0, 1/size) but for rounding: P* is of the order of 1e-32
    result = solve(A, b)
    assert exact_primal(A, b, result.x) <= Fraction(1, 10**6)
    assert result.status is Status.CONVERGED
    away = certify(A, b, [0.0, 0.0])
    assert away.gap >= 0.99 * away.primal


# ---- rounding is in the gap ----


def test_cancellation_in_z_is_in_the_gap() -> None:
    """y is near 0 and so is its product with the error of z; the square of that error is not."""
    A, b, x = [[0.1, 0.1]], [0.0], [1e8, -1e8 + 1]
    truth = exact_primal(A, b, x)  # P* = 0
    assert certify(A, b, x).gap >= truth
    got = certify([[1e8, 1.0, -1e8]], [0.0], [1e8, 0.5, 1e8], l2=1e-25)
    assert not got.certified or got.gap >= 0.124
    a = np.random.default_rng(0).standard_normal(20)
    A, x = np.column_stack((a, a)), np.array([2.0**60, 1024 - 2.0**60])
    b = A @ x
    off = exact_primal(A, b, x) - exact_minimum(A, b)
    assert off > 100 and certify(A, b, x).gap >= off


@pytest.mark.parametrize("seed", range(10))
def test_interpolation_is_converged_only_within_tol(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 9)) * 10.0 ** rng.integers(-4, 5, 9)
    b = A @ rng.standard_normal(9)
    result = solve(A, b, tol=1e-9)
    off = exact_primal(A, b, result.x)  # P* = 0: more columns than rows
    assert off <= result.certificate.gap
    if result.status is Status.CONVERGED:
        assert off <= 1e-9 * max(float(off), 1e-12 * 0.5 * float(b @ b) / 6)


# ---- a certificate where there is one, and the unit of tol ----


@pytest.mark.parametrize("loss", ["smoothed_hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(5))
def test_separable_hinges_without_a_penalty_converge(loss: str, seed: int) -> None:
    """The infimum 0 is attained; y = 0 proves it, whatever the columns are."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 4))
    b = np.where(A @ rng.standard_normal(4) + 0.3 > 0, 1.0, -1.0)
    result = solve(A, b, loss=loss, fit_intercept=True)
    assert result.status is Status.CONVERGED and result.certificate.primal <= 1e-12


def test_the_unit_of_tol_is_the_null_model() -> None:
    """Targets near 1e12 with noise 1: an error of 293 is not small next to P = 0.5."""
    rng = np.random.default_rng(20)
    A = rng.standard_normal((40, 3))
    b = 1e12 + A.sum(axis=1) + rng.standard_normal(40)
    problem = dualgap.Problem(A, b, fit_intercept=True)
    assert problem.null_value == pytest.approx(0.5 * np.var(b), rel=1e-3)
    result = problem.solve(tol=1e-9)
    got = result.certificate
    assert got.gap <= 1e-3 * got.primal
    if result.status is Status.CONVERGED:
        assert got.gap <= 1e-9 * got.primal


@pytest.mark.parametrize("loss", ["logistic", "huber", "squared_hinge", "multinomial"])
def test_the_null_model_is_the_best_intercept(loss: str) -> None:
    """Against a solve on a column of zeros, where nothing but the intercept can move."""
    rng = np.random.default_rng(3)
    b = rng.standard_normal(30) if loss == "huber" else rng.integers(0, 2, 30)
    offset = rng.standard_normal((30, 2) if loss == "multinomial" else 30)
    arguments = {"loss": loss, "fit_intercept": True, "offset": offset}
    P0 = dualgap.Problem(rng.standard_normal((30, 2)), b, **arguments).null_value
    alone = solve(np.zeros((30, 1)), b, l2=1.0, tol=1e-9, **arguments).certificate.primal
    assert alone * (1 - 1e-9) <= P0 <= alone * 1.01


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "multinomial"])
@pytest.mark.parametrize("offset", [False, True])
def test_a_quick_look_at_the_null_model_says_what_it_says(loss: str, offset: bool) -> None:
    """P(0) >= P0 settles most questions without it; the answers are those of the definition."""
    rng = np.random.default_rng(5)
    A, b = rng.standard_normal((20, 2)), rng.integers(0, 2, 20)
    shifts = None if not offset else 3.0 * rng.standard_normal((20, 2) if "multi" in loss else 20)
    for targets in (b, np.arange(20) * 1e6) if loss in ("squared", "huber") else (b,):
        problem = dualgap.Problem(A, targets, loss=loss, fit_intercept=True, offset=shifts)
        P0, zero = problem.null_value, problem.primal_at_zero
        assert P0 <= 1.001 * zero
        for share in (1e-12, 1e-3):
            for P in (*(k * share * P0 for k in (0.0, 0.999, 1.001)), share * zero, zero):
                assert problem.is_below_null(P, share) == (share * P0 > P)
                assert problem.scale(P) == max(P, 1e-12 * P0)


def test_targets_that_the_intercept_fits_are_seen() -> None:
    """P0 = 0: constant targets, targets that the offset explains, one label for hinges."""
    A, offset = np.arange(8.0)[:, None], np.array([1.0, 2.0, 0.0, 5.0, 1.0, 1.0, 2.0, 3.0])

    def seen(b, loss="squared", **arguments) -> bool:
        made = dualgap.Problem(A, b, loss=loss, fit_intercept=True, **arguments)
        return made.is_solved_by_null

    label = np.where(offset > 1.5, 1.0, -1.0)
    assert seen(np.full(8, 3.0)) and seen(offset + 1.0, offset=offset)
    assert seen(np.ones(8), "squared_hinge") and seen(label, "squared_hinge", offset=9.0 * offset)
    assert not seen(offset) and not seen(label, "squared_hinge")
    weights = np.r_[0.0, np.ones(7)]  # a row without weight has no say
    assert seen(np.r_[1.0, np.full(7, 3.0)], sample_weight=weights)


def test_the_null_model_is_found_between_kinks() -> None:
    """Nothing but straight lines around the best intercept: Newton's step goes to -131217 here."""
    b = np.array([-1.0, -1.0, 1.0, -1.0])
    offset, w = np.array([1.9, 0.1, -0.4, 1.2]), np.array([0.3, 0.3, 3e-9, 0.3])
    loss = dualgap.losses.SmoothedHinge(width=0.2)
    problem = dualgap.Problem(
        np.ones((4, 1)), b, loss=loss, fit_intercept=True, sample_weight=w, offset=offset
    )
    grid = np.linspace(-4.0, 1.0, 50_001)
    values = sum(
        q * loss.value(grid + o, np.full_like(grid, label))
        for q, o, label in zip(w / w.sum(), offset, b, strict=True)
    )
    assert values.min() * (1 - 1e-9) <= problem.null_value <= 1.002 * values.min()


def test_constant_targets_are_fitted_exactly() -> None:
    A = np.random.default_rng(0).standard_normal((12, 3))
    result = solve(A, np.full(12, 0.1), fit_intercept=True)
    assert result.status is Status.CONVERGED and result.certificate.gap == 0.0


# ---- what is shown ----


@pytest.mark.parametrize("algorithm", ["auto", "ada-bpd", "working-set"])
@pytest.mark.parametrize("tol", [1e-6, 1e-15])
def test_no_negative_gap_is_shown_and_the_last_row_is_the_certificate(algorithm, tol) -> None:
    rng = np.random.default_rng(1)
    A, b, seen = rng.standard_normal((40, 5)), rng.standard_normal(40), []
    line = io.StringIO()
    with redirect_stderr(line):
        result = solve(
            A, b, l2=0.1, algorithm=algorithm, tol=tol, callback=seen.append, verbose=True
        )
    assert all(snapshot.gap >= 0.0 for snapshot in seen) and (result.trace.gap >= 0.0).all()
    last, got = result.trace.to_dict(), result.certificate
    for name in ("primal", "dual", "gap"):
        assert last[name][-1] == getattr(got, name)
    assert f"gap {got.gap:.1e}" in line.getvalue()
