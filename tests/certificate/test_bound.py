"""The promise: gap >= P(x) - P*, whatever the problem, the point and the dual point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap

from .cases import LOSSES, PENALTIES, Case, generated
from .honesty import Reference, assert_honest, reference

STABLE = settings(derandomize=True, database=None, deadline=None)


def points(case: Case, best: Reference, seed: int) -> list[tuple[np.ndarray, float]]:
    """Far, at the origin, near and at the optimum."""
    rng = np.random.default_rng(seed)
    n, d = case.shape
    far = rng.standard_normal(d) * 10.0 ** rng.integers(-2, 3)
    near = best.x + 1e-5 * rng.standard_normal(d)
    c = float(case.fit_intercept) * rng.standard_normal()
    return [(far, c), (np.zeros(d), 0.0), (near, best.c), (best.x, best.c)]


def dual_points(case: Case, best: Reference, seed: int) -> list[np.ndarray | None]:
    """phi'(z), the optimal one, and random ones inside and outside the domains."""
    rng = np.random.default_rng(seed)
    inside = case.checker.inside(rng.standard_normal(case.shape[0])).astype(float)
    outside = 10.0 * rng.standard_normal(case.shape[0])
    optimal = case.checker.gradient_dual(best.x, best.c).astype(float)
    optimal[np.abs(optimal) < 1e-90] = 0.0
    return [None, optimal, inside, outside]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_gap_bounds_the_suboptimality_everywhere(loss: str, penalty: str) -> None:
    @STABLE
    @settings(max_examples=100)
    @given(generated(loss, penalty), st.integers(0, 2**16), st.integers(1, 60))
    def check(case: Case, seed: int, passes: int) -> None:
        result = dualgap.solve(case.A, case.b, max_passes=passes, tol=1e-15, **case.arguments)
        best = reference(case).better(case, result.x, result.intercept)
        for x, c in points(case, best, seed):
            for y in dual_points(case, best, seed):
                assert_honest(case, x, c, y, best)
        got = assert_honest(case, result.x, result.intercept, result.y, best)
        assert got == result.certificate

    check()
