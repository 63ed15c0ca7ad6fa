"""At the optimum the gap goes to rounding: the certificates are tight, and not only safe."""

import numpy as np
import pytest

import dualgap
from dualgap import Status

from .cases import LOSSES, PENALTIES, Case
from .honesty import assert_honest, certify, reference

INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])


def problem(loss: str, penalty: str, fit_intercept: bool) -> Case:
    """Well conditioned, with overlapping classes, weights and an offset."""
    rng = np.random.default_rng(len(loss) + 10 * len(penalty))
    A = rng.standard_normal((40, 4))
    z = A @ np.array([1.0, -1.0, 0.5, 0.0]) + 0.5
    noise = rng.standard_normal(40)
    b = z + noise if loss in ("squared", "huber") else np.where(z + 2.0 * noise > 0, 1.0, -1.0)
    has_l1, has_l2 = PENALTIES[penalty]
    return Case(
        A, b, loss, l1=0.03 * has_l1, l2=0.1 * has_l2, fit_intercept=fit_intercept,
        sample_weight=rng.uniform(0.5, 2.0, 40), offset=0.1 * rng.standard_normal(40),
    )  # fmt: skip


@INTERCEPT
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_tight_solve_ends_with_a_tight_gap(loss: str, penalty: str, fit_intercept: bool) -> None:
    case = problem(loss, penalty, fit_intercept)
    result = dualgap.solve(case.A, case.b, tol=1e-12, max_passes=3000, **case.arguments)
    assert result.status is Status.CONVERGED
    best = reference(case).better(result.x, result.intercept)
    got = assert_honest(best, result.x, result.intercept, result.y)
    assert got == result.certificate
    assert got.relative_gap <= 1e-12


@INTERCEPT
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_vanishes_at_a_solution_found_elsewhere(
    loss: str, penalty: str, fit_intercept: bool
) -> None:
    """scipy's solution, and no dual point given."""
    best = reference(problem(loss, penalty, fit_intercept))
    got = assert_honest(best, best.x, best.c, None)
    assert got.relative_gap <= 1e-11


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_falls_as_the_square_of_the_distance(loss: str) -> None:
    """With l2 the dual point phi'(z) costs no more than a constant times P(x) - P*."""
    case = problem(loss, "l2", False)
    best = reference(case)
    direction = np.array([1.0, 0.5, -0.5, 1.0])
    gaps = [certify(case, best.x + t * direction).gap for t in (1e-2, 1e-3, 1e-4)]
    assert gaps[0] / gaps[1] == pytest.approx(100.0, rel=0.2)
    assert gaps[1] / gaps[2] == pytest.approx(100.0, rel=0.05)


def test_data_that_are_fitted_exactly_have_a_gap_of_nothing() -> None:
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((5, 8)), rng.standard_normal(8)
    got = dualgap.certify(A, A @ x, x)
    assert got.certified
    assert got.primal <= 1e-29
    assert got.gap <= 1e-28  # z = A x is known to eps, and that counts by its square
