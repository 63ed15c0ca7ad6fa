"""The promise: gap >= P(x) - P*, whatever the problem, the point and the dual point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap

from .cases import LOSSES, PENALTIES, Case, generated
from .honesty import Reference, assert_honest, reference

# The same problems every time: a run of the tests says something about the code alone.
STABLE = settings(derandomize=True, database=None, deadline=None)


def pairs(best: Reference, seed: int) -> list[tuple[np.ndarray, float, np.ndarray | None]]:
    """Points far away, at the origin, near and at the optimum, with dual points of all sorts."""
    rng = np.random.default_rng(seed)
    n, d = best.case.shape
    far = rng.standard_normal(d) * 10.0 ** rng.integers(-2, 3)
    c = float(best.case.fit_intercept) * rng.standard_normal()
    zero, near = np.zeros(d), best.x + 1e-5 * rng.standard_normal(d)
    inside = best.case.checker.inside(rng.standard_normal(n)).astype(float)
    outside = 10.0 * rng.standard_normal(n)
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
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_bounds_the_suboptimality_everywhere(loss: str, penalty: str) -> None:
    @settings(STABLE, max_examples=72)
    @given(generated(loss, penalty), st.integers(0, 2**16), st.integers(1, 40))
    def check(case: Case, seed: int, passes: int) -> None:
        result = dualgap.solve(case.A, case.b, max_passes=passes, tol=1e-15, **case.arguments)
        best = reference(case).better(result.x, result.intercept)
        for x, c, y in pairs(best, seed):
            assert_honest(best, x, c, y)
        got = assert_honest(best, result.x, result.intercept, result.y)
        assert got == result.certificate

    check()


@settings(STABLE, max_examples=60)
@given(
    st.sampled_from(LOSSES).flatmap(
        lambda loss: st.sampled_from(list(PENALTIES)).flatmap(lambda p: generated(loss, p))
    ),
    st.sampled_from(["bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd"]),
)
def test_what_an_algorithm_ends_with_can_be_rechecked(case: Case, algorithm: str) -> None:
    result = dualgap.solve(
        case.A, case.b, algorithm=algorithm, tol=1e-9, max_passes=300, **case.arguments
    )
    best = reference(case).better(result.x, result.intercept)
    got = assert_honest(best, result.x, result.intercept, result.y)
    assert got == result.certificate
    if result.status is dualgap.Status.CONVERGED:
        assert got.certified
        assert got.relative_gap <= 1e-9


def test_the_distance_is_attained_where_the_data_say_nothing() -> None:
    """With fewer rows than columns, l2/2 |x - x*|^2 is all of P(x) - P* along a null vector."""
    rng = np.random.default_rng(5)
    case = Case(rng.standard_normal((3, 5)), rng.standard_normal(3), l2=0.3)
    best = reference(case)
    null = np.linalg.svd(case.A)[2][-1]
    got = assert_honest(best, best.x + 2.0 * null, 0.0, best.dual)
    assert got.distance == pytest.approx(2.0, rel=1e-9)
