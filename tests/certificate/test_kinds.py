"""Every kind of certificate: reached, and right."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap
from dualgap.dual_points.refinement import newton_dual

from .cases import LOSSES, Case, build
from .honesty import assert_honest, certify, reference
from .test_bound import STABLE


def by_newton(case: Case, x: np.ndarray, c: float = 0.0) -> dualgap.Certificate | None:
    """The certificate at the dual point of a Newton step, also where another one is better."""
    problem = dualgap.Problem(case.A, case.b, **case.arguments)
    point = problem.join(x, c)
    y = newton_dual(problem, point, problem.predict(point))
    return None if y is None else certify(case, x, c, y)


def noisy(loss: str, *, n: int = 30, d: int = 3, seed: int = 0, **more: object) -> Case:
    """A problem with a minimiser also where nothing is penalised."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    b = A @ rng.standard_normal(d) + rng.standard_normal(n)
    if loss not in ("squared", "huber"):
        b = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return Case(A, b, loss, **more)


# ---- each kind, by the problem that asks for it ----


@pytest.mark.parametrize("loss", LOSSES)
def test_a_dual_point_that_needs_nothing_is_taken_as_it_is(loss: str) -> None:
    best = reference(noisy(loss, l2=0.1))
    assert certify(best.case, best.x, y=best.dual).kind == "gap"


@pytest.mark.parametrize("loss", LOSSES)
def test_an_intercept_asks_for_scaling(loss: str) -> None:
    assert certify(noisy(loss, l2=0.1, fit_intercept=True), np.ones(3)).kind == "gap_scaled_dual"


@pytest.mark.parametrize("loss", LOSSES)
def test_l1_asks_for_scaling_only_outside_its_box(loss: str) -> None:
    case = noisy(loss, l1=1e-3)
    problem = dualgap.Problem(case.A, case.b, **case.arguments)
    slopes = problem.loss.grad(case.A @ np.ones(3), problem.b)
    assert certify(case, np.ones(3), y=slopes).kind == "gap_scaled_dual"
    if loss != "squared":  # which scales to the best point of the ray in any case
        assert certify(case, np.ones(3), y=np.zeros(30)).kind == "gap"


@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge", "squared_hinge", "huber"])
def test_a_dual_point_outside_the_domain_is_brought_inside(loss: str) -> None:
    case = noisy(loss, l2=0.1)
    outside = 5.0 * np.sign(case.b)
    assert case.checker.outside_by(outside) > 0
    assert certify(case, np.zeros(3), y=outside).kind == "gap_scaled_dual"


@pytest.mark.parametrize("loss", LOSSES)
def test_without_regulariser_the_dual_point_is_projected(loss: str) -> None:
    case = noisy(loss)
    best = reference(case)
    assert assert_honest(best, best.x + 1e-3, 0.0, None).kind == "gap_projected_dual"


def test_no_dual_point_and_no_curvature_is_no_certificate() -> None:
    """Logistic data at a point far out, where neither projection nor the Newton bound works."""
    got = certify(noisy("logistic"), 50.0 * np.ones(3))
    assert got.kind in ("none", "gap_in_box")
    assert not got.certified and got.reason
    assert got.distance == math.inf and got.dual == -math.inf
    assert (got.kind == "none") == (got.gap == math.inf)


@pytest.mark.parametrize("loss", ["squared", "strong_logistic", "logistic"])
def test_at_the_optimum_the_gap_is_as_small_as_rounding(loss: str) -> None:
    """Where y = phi'(z) may show nothing, the dual point of a Newton step does."""
    case = noisy(loss)
    best = reference(case)
    got = assert_honest(best, best.x, 0.0, None)
    assert got.kind == "gap_projected_dual"
    assert got.relative_gap < 1e-15


# ---- squared loss without regulariser: the gap is P - P*, not only a bound ----


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(30, 3), (7, 7), (4, 9)])
def test_least_squares_gap_is_exact(shape: tuple[int, int], storage, fit_intercept: bool) -> None:
    rng = np.random.default_rng(sum(shape))
    A, b = rng.standard_normal(shape), rng.standard_normal(shape[0])
    weight = rng.uniform(0.1, 2.0, shape[0])
    case = Case(storage(A), b, sample_weight=weight, fit_intercept=fit_intercept)
    B = np.column_stack((A, np.ones(len(b)))) if fit_intercept else A
    root = np.sqrt(weight / weight.sum())
    solution = np.linalg.lstsq(root[:, None] * B, root * b, rcond=None)[0]
    least = case.checker.primal(solution[: shape[1]], solution[-1] if fit_intercept else 0.0)
    for scale in (0.0, 1.0, 1e3):
        x = scale * rng.standard_normal(shape[1])
        got = certify(case, x)
        assert got.certified
        assert got.gap == pytest.approx(float(case.checker.primal(x) - least), rel=1e-11)


def test_duplicated_and_empty_columns_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((20, 3)), rng.standard_normal(20)
    x = rng.standard_normal(3)
    wider = np.column_stack((A, A[:, 0], np.zeros(20)))
    got = dualgap.certify(wider, b, np.append(x, [0.0, 5.0]))
    assert got.gap == pytest.approx(dualgap.certify(A, b, x).gap, rel=1e-11)


# ---- the dual point of a Newton step ----


@pytest.mark.parametrize("l2", [0.0, 1e-3, 1.0])
def test_a_newton_step_is_exact_for_squared_loss(l2: float) -> None:
    """P is quadratic: one step leads to the optimum, and its dual point is the optimal one."""
    case = noisy("squared", l2=l2)
    best = reference(case)
    for x in np.random.default_rng(2).standard_normal((20, 3)):
        got = by_newton(case, x)
        truth = float(case.checker.primal(x) - best.primal)
        assert truth <= got.gap * (1 + 1e-12)
        assert got.gap == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("strength", [1e-3, 0.1, 10.0])
def test_it_holds_for_strongly_convex_losses(strength: float, l2: float) -> None:
    case = noisy("strong_logistic", parameter=strength, l2=l2)
    best = reference(case)
    for x in 3.0 * np.random.default_rng(3).standard_normal((20, 3)):
        got = by_newton(case, x)
        if got.certified:
            assert got.gap >= float(case.checker.primal(x) - best.primal)


@pytest.mark.slow
@settings(STABLE, max_examples=150)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 14),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0.0, 0.0, 1e-4, 0.1]),
    st.sampled_from(["none", "zeros", "wide"]),
)
def test_it_is_never_below_the_truth(
    seed: int, n: int, d: int, fit_intercept: bool, l2: float, sample_weight: str
) -> None:
    case = build(
        seed, loss="logistic", penalty="none", n=n, d=d, sample_weight=sample_weight,
        fit_intercept=fit_intercept, offset=seed % 3 == 0,
    )  # fmt: skip
    case = Case(**{**case.__dict__, "l2": l2})
    best = reference(case)
    rng = np.random.default_rng(seed)
    for spread in (1e-6, 1e-3, 0.03, 0.3, 1.0, 10.0):
        x = best.x + spread * rng.standard_normal(d)
        got = by_newton(case, x, best.c)
        if got is None or not got.certified:
            continue
        truth = float(case.checker.primal(x, best.c) - best.primal)
        floor = case.checker.primal_floor(x, best.c) + case.checker.primal_floor(best.x, best.c)
        assert truth <= got.gap + floor


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_it_is_tight_near_the_optimum(l1: float) -> None:
    """Also with l1, where the step keeps the zeros and the signs of x."""
    case = noisy("logistic", l1=l1)
    best = reference(case)
    step = np.where(best.x != 0.0, [1.0, -2.0, 0.5], 0.0)
    assert step.any()
    for t in (1e-4, 1e-3, 1e-2):
        x = best.x + t * step
        got = by_newton(case, x)
        truth = float(case.checker.primal(x) - best.primal)
        assert truth <= got.gap <= truth * (1 + 10 * t) + 1e-13
        assert certify(case, x).gap <= got.gap * (1 + 1e-9)  # which is what `certify` finds


def test_separable_data_have_no_bound_but_the_value_itself() -> None:
    """P* = 0 is not attained, so that nothing below P(x) is true."""
    A = np.array([[1.0], [2.0], [-1.0]])
    case = Case(A, np.array([1.0, 1.0, -1.0]), "logistic")
    for t in (0.0, 0.1, 1.0, 10.0, 30.0):
        got = certify(case, np.array([t]))
        if got.certified:
            assert got.gap >= float(case.checker.primal(np.array([t])))


def test_twin_columns_are_one_column() -> None:
    """The Hessian is singular, and the relation between the columns is exact."""
    rng = np.random.default_rng(4)
    a = rng.standard_normal(12)
    b = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    twins = Case(np.column_stack((a, a)), b, "logistic")
    best = reference(Case(a[:, None], b, "logistic"))
    got = certify(twins, np.append(0.5 * best.x, 0.5 * best.x))
    assert got.certified and got.relative_gap <= 1e-12


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "gamma"])
def test_a_support_that_is_wrong_is_judged_sharply(loss: str, l2: float) -> None:
    """Noise on coordinates that should be 0, and 0 on one that should not be: no dual point given.

    On the support of such an x alone the Newton step leads elsewhere, and its gap was some hundred
    times P(x) - P*.
    """
    rng = np.random.default_rng(5)
    A = rng.standard_normal((200, 20)) * np.geomspace(1.0, 1e-3, 20)
    z = A @ rng.standard_normal(20)
    b = {
        "squared": z + rng.standard_normal(200),
        "logistic": np.where(z + rng.standard_normal(200) > 0.0, 1.0, -1.0),
        "poisson": rng.poisson(np.exp(z.clip(-3.0, 3.0))).astype(float),
        "gamma": np.exp(z.clip(-3.0, 3.0)) * rng.gamma(2.0, 0.5, 200),
    }[loss]
    problem = dualgap.Problem(A, b, loss=loss, l1=1e-2, l2=l2)
    best = problem.solve(tol=1e-12)
    support = np.flatnonzero(best.x)
    assert 0 < support.size < 20
    x = best.x + 1e-3 * rng.standard_normal(20)
    x[support[np.abs(best.x[support]).argmin()]] = 0.0
    found = problem.certify(x)
    true = found.primal - best.certificate.primal
    assert 0.0 < true <= found.gap <= 1.5 * true
