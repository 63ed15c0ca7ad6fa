"""Where rounding could turn a bound into a wish: nearly dependent columns, rows of unlike size.

The truth is found in exact arithmetic, for the very numbers that the package is given.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import dualgap

from .cases import LOSSES, Case
from .honesty import assert_consistent, certify, reference


def least_squares_minimum(A: np.ndarray, b: np.ndarray) -> Fraction:
    """min (1/2n) |A x - b|^2 for two independent columns, by Cramer's rule in fractions."""
    u, v, t = ([Fraction(value) for value in column] for column in (*A.T, b))

    def dot(p: list[Fraction], r: list[Fraction]) -> Fraction:
        return sum(s * t for s, t in zip(p, r, strict=True))

    uu, uv, vv, ut, vt, tt = dot(u, u), dot(u, v), dot(v, v), dot(u, t), dot(v, t), dot(t, t)
    explained = (ut * ut * vv - 2 * ut * vt * uv + vt * vt * uu) / (uu * vv - uv * uv)
    return (tt - explained) / (2 * len(b))


def nearly_equal_columns(apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that differ by `apart`, and targets that their difference explains."""
    rng = np.random.default_rng(seed)
    a, v = rng.standard_normal(6), rng.standard_normal(6)
    return np.column_stack((a, a + apart * v)), v + 0.1 * rng.standard_normal(6)


APART = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13]


@pytest.mark.parametrize("apart", APART)
def test_nearly_equal_columns_are_not_taken_for_equal(apart: float) -> None:
    A, b = nearly_equal_columns(apart)
    best = least_squares_minimum(A, b)
    for x in (np.zeros(2), np.array([0.5, -0.5]), np.array([1.0, 1.0])):
        got = dualgap.certify(A, b, x)
        assert got.dual <= best, f"{got.dual} > P* = {float(best)}: {got}"


@pytest.mark.parametrize("apart", APART)
def test_solve_does_not_converge_to_the_wrong_value(apart: float) -> None:
    A, b = nearly_equal_columns(apart)
    result = dualgap.solve(A, b, tol=1e-6, max_passes=200)
    got = result.certificate
    best = least_squares_minimum(A, b)
    assert got.dual <= best, f"{got.dual} > P* = {float(best)}: {result}"


@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize("loss", ["squared", "huber", "strong_logistic"])
def test_a_small_row_counts_like_any_other(loss: str, size: float) -> None:
    """Fewer rows than columns: every target can be met, by a large x where the row is small."""
    A = np.array([[1.0, 0.0, 0.0], [0.0, size, 0.0]])
    b = np.array([1.0, -1.0])
    x = np.array([1.0, -1.0 / size, 0.0])
    case = Case(A, b, loss)
    low = float(case.checker.primal(x))
    for at in (np.zeros(3), np.array([1.0, 0.0, 0.0])):
        got = certify(case, at)
        assert got.dual <= low + 1e-9, f"P({x}) = {low} is below the lower bound: {got}"


@pytest.mark.parametrize("l2", [0.0, 0.1], ids=["", "third_column_penalised"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("bits", [5, 15, 20, 25, 30, 35, 38])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_ill_conditioned_basis_changes_no_minimum(
    loss: str, bits: int, fit_intercept: bool, l2: float
) -> None:
    """Columns (u, u + v/2^bits, w) span what (u, v, w) span, and have the same minimum.

    The entries are so short that the sum is exact: the well-conditioned problem is the truth.
    """
    rng = np.random.default_rng(bits)
    u, v, w = np.round(8.0 * rng.standard_normal((3, 25))) / 8.0
    z = u - v + 0.5 * w + 1.5 * rng.standard_normal(25)
    b = z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)
    plain = Case(
        np.column_stack((u, v, w)), b, loss, l2=l2, fit_intercept=fit_intercept,
        penalty_weights=np.array([0.0, 0.0, 1.0]),
    )  # fmt: skip
    skewed = replace(plain, A=np.column_stack((u, u + v / 2.0**bits, w)))
    assert (2.0**bits * (skewed.A[:, 1] - u) == v).all()
    best = reference(plain)
    for x in (np.zeros(3), np.array([1.0, 0.0, 0.5]), best.x * np.array([1.0, 0.0, 1.0])):
        for y in (None, best.dual):
            got = certify(skewed, x, y=y)
            over = got.dual - float(best.primal)
            assert over <= 1e-12, f"bound exceeds P* by {over}: {got}"
            assert got.certified or loss != "squared" or bits > 20  # not by silence alone


@pytest.mark.parametrize("level", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_dual_point_that_is_nearly_feasible_is_not_feasible(loss: str, level: float) -> None:
    """sum q y = 1e-12 |b| where it should be 0: times an intercept of 1e6, that is much."""
    rng = np.random.default_rng(9)
    A = rng.standard_normal((30, 2))
    case = Case(A, level + A.sum(axis=1) + rng.standard_normal(30), loss, fit_intercept=True)
    best = reference(case)
    for tilt in (1e-12, -1e-12):
        got = certify(case, np.zeros(2), 0.0, best.dual + tilt * level)
        over = got.dual - float(best.primal)
        floor = 1e-12 * level + 1e-15 * got.primal  # c* times the rounding of y; P(0) - gap
        assert over <= floor, f"the bound exceeds P* = {best.primal} by {over}: {got}"


@pytest.mark.parametrize("margin", [10.0, 600.0, 700.0, 740.0, 1e3])
def test_a_row_without_weight_spoils_nothing_at_extreme_margins(margin: float) -> None:
    """Its phi'' is not tiny where that of the row that counts is 1e-300."""
    A, b = np.array([[1.0], [0.1]]), np.array([1.0, 1.0])
    y = np.array([-0.5, -0.5])
    counted = Case(A[:1], b[:1], "logistic")
    both = Case(A, b, "logistic", sample_weight=np.array([1.0, 0.0]))
    x = np.array([margin])
    one, other = certify(both, x, y=y), certify(counted, x, y=y[:1])
    assert one.kind == other.kind and one.primal == other.primal
    # Bounds on rounding count rows, so that the last digits may differ.
    assert one.gap == pytest.approx(other.gap, rel=1e-12)
    assert one.dual == pytest.approx(other.dual, rel=1e-12)


# ---- large numbers that cancel ----


def ridge_by_exact_arithmetic(A: np.ndarray, b: np.ndarray, l2: float) -> tuple[mpf, np.ndarray]:
    """P* and the optimal residuals, with 60 digits."""
    with mp.workdps(60):
        n, d = A.shape
        M, t = mp.matrix(A.tolist()), mp.matrix(b.tolist())
        x = mp.lu_solve(M.T * M / n + mpf(l2) * mp.eye(d), M.T * t / n)
        r = M * x - t
        value = (r.T * r)[0] / (2 * n) + mpf(l2) / 2 * (x.T * x)[0]
        return value, np.array([float(v) for v in r])


def lasso_by_exact_arithmetic(A: np.ndarray, b: np.ndarray, l1: float) -> tuple[mpf, np.ndarray]:
    """The same for l1 and two columns that are both in use, with signs +-."""
    with mp.workdps(60):
        n = A.shape[0]
        M, t = mp.matrix(A.tolist()), mp.matrix(b.tolist())
        for signs in ((1, -1), (-1, 1), (1, 1), (-1, -1)):
            x = mp.lu_solve(M.T * M / n, M.T * t / n - mpf(l1) * mp.matrix(signs))
            if all(x[j] * signs[j] > 0 for j in range(2)):
                r = M * x - t
                value = (r.T * r)[0] / (2 * n) + mpf(l1) * (abs(x[0]) + abs(x[1]))
                return value, np.array([float(v) for v in r])
    raise AssertionError("choose another problem: a coefficient is 0")


@pytest.mark.parametrize(("apart", "strength"), [(1e-3, 1e-8), (1e-5, 1e-11), (2e-7, 2e-15)])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_rounding_covers_what_is_lost_when_x_is_large(
    penalty: str, apart: float, strength: float
) -> None:
    """A'Qy is known to eps |A|'Q|y| only, which a large x* turns into an error of D(y)."""
    exact = ridge_by_exact_arithmetic if penalty == "l2" else lasso_by_exact_arithmetic
    for seed in range(6):
        A, b = nearly_equal_columns(apart, seed)
        best, y = exact(A, b, strength)
        got = dualgap.certify(A, b, np.zeros(2), y, **{penalty: strength})
        over = float(mpf(got.dual) - best)
        assert over <= 0.0, f"the bound exceeds P* by {over}"


@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6])
def test_the_gap_bounds_the_exact_suboptimality(apart: float) -> None:
    """z = A x is known to eps |A||x| only, whichever way the gap was found."""
    for seed in range(12):
        A, b = nearly_equal_columns(apart, seed)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        residuals = [
            sum(Fraction(a) * Fraction(v) for a, v in zip(row, x, strict=True)) - Fraction(t)
            for row, t in zip(A, b, strict=True)
        ]
        primal = sum(r * r for r in residuals) / 12
        got = dualgap.certify(A, b, x)
        least = least_squares_minimum(A, b)
        assert primal - least <= got.gap, got
        assert got.dual <= least, got


# ---- numbers at the ends of float64 ----


def test_a_result_with_vanishing_duals_can_be_rechecked() -> None:
    """phi' underflows gently: duals of 1e-200 are as good as any."""
    A, b = np.array([[2000.0], [1000.0]]), np.array([1.0, 1.0])
    result = dualgap.solve(A, b, loss="logistic", x0=[0.5])
    assert 0.0 < np.abs(result.y).max() < 1e-100
    got = dualgap.certify(A, b, result.x, result.y, loss="logistic")
    assert got == result.certificate


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(
    ("scale", "l2", "y"), [(1.0, 1e-310, None), (1e90, 1.0, [1e90, -1e90, 1e90])]
)
def test_an_overflowing_gap_is_no_certificate(scale: float, l2: float, y: list[float]) -> None:
    case = Case(scale * np.array([[1.0, 2], [3, 4], [5, 7]]), np.array([1.0, -1, 1]), l2=l2)
    assert_consistent(case, certify(case, np.zeros(2), y=y))
