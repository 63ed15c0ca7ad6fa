"""Logistic loss where nothing holds the coefficients: is there a minimiser at all?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import dualgap
from dualgap import Status

from .test_bound import STABLE

ALGORITHMS = ["auto", "bpd", "opt-bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd"]


def separated(seed: int, *, n: int = 30, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    z = A @ rng.standard_normal(d)
    return A, np.where(z > 0, 1.0, -1.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_separable_classes_have_no_minimiser(algorithm: str, fit_intercept: bool) -> None:
    A, b = separated(6)
    result = dualgap.solve(
        A, b, loss="logistic", fit_intercept=fit_intercept, algorithm=algorithm, max_passes=5000
    )
    assert result.status is Status.NO_MINIMISER
    assert (b * (A @ result.x + result.intercept) >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_newton_ends_with_the_first_iterate_that_separates(seed: int) -> None:
    """An x with positive margins is the proof: no step after it has anything to find."""
    A, b = separated(seed, n=60, d=20)
    margins = []
    result = dualgap.solve(
        A, b, loss="logistic", algorithm="newton",
        callback=lambda snapshot: margins.append((b * (A @ snapshot.x)).min()),
    )  # fmt: skip
    assert result.status is Status.NO_MINIMISER
    assert margins[-1] > 0.0 >= max(margins[:-1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_separable_classes_have_no_minimiser_even_if_two_rows_are_all(algorithm: str) -> None:
    """P is tiny within a few steps; what ends the run is still that it has no minimiser."""
    A, b = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    result = dualgap.solve(A, b, loss="logistic", algorithm=algorithm, tol=1e-8)
    assert result.status is Status.NO_MINIMISER


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_that_stalls_at_rounding_has_a_gap_that_small(algorithm: str) -> None:
    """Status ROUNDING speaks of a small gap: without a certificate there is none."""
    for seed in range(12):
        A, b = separated(seed)
        result = dualgap.solve(
            A, b, loss="logistic", fit_intercept=seed % 2 == 0, algorithm=algorithm
        )
        assert result.status is not Status.ROUNDING or result.certificate.certified


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("penalty", [{"l2": 0.1}, {"l1": 0.05}, {"l1": 0.05, "l2": 0.1}])
def test_one_class_drives_a_free_intercept_to_infinity(algorithm: str, penalty: dict) -> None:
    A, _ = separated(7)
    b = np.ones(30)
    result = dualgap.solve(
        A, b, loss="logistic", fit_intercept=True, algorithm=algorithm, max_passes=500, **penalty
    )
    assert result.status is Status.NO_MINIMISER
    bounded = dualgap.solve(A, b, loss="logistic", algorithm=algorithm, max_passes=5000, **penalty)
    assert bounded.status is Status.CONVERGED


def test_rows_without_weight_do_not_stand_in_the_way() -> None:
    A, b = separated(8)
    wrong = np.vstack((A, A[:1])), np.append(b, -b[0])
    weight = np.append(np.ones(30), 0.0)
    result = dualgap.solve(*wrong, loss="logistic", sample_weight=weight, max_passes=5000)
    assert result.status is Status.NO_MINIMISER
    counted = dualgap.solve(*wrong, loss="logistic", max_passes=5000)
    assert counted.status is not Status.NO_MINIMISER


def is_separable(B: np.ndarray) -> bool:
    """Whether some v has B v >= 0 and B v != 0, by linear programming on small integers."""
    rows = len(B)
    found = linprog(
        -B.sum(axis=0),
        A_ub=np.vstack((-B, B)),
        b_ub=np.append(np.zeros(rows), np.ones(rows)),
        bounds=(None, None),
    )
    return -found.fun > 1e-6


@pytest.mark.slow
@settings(STABLE, max_examples=250)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 8),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.sampled_from(ALGORITHMS),
)
def test_classes_that_overlap_are_never_called_separable(
    seed: int, n: int, d: int, fit_intercept: bool, shifted: bool, algorithm: str
) -> None:
    rng = np.random.default_rng(seed)
    A, b = rng.integers(-2, 3, (n, d)).astype(float), rng.choice([-1.0, 1.0], n)
    if not A.any():
        A[0, 0] = 1.0
    offset = 10.0 * rng.standard_normal(n) if shifted else None
    result = dualgap.solve(
        A, b, loss="logistic", fit_intercept=fit_intercept, offset=offset,
        algorithm=algorithm, tol=1e-8, max_passes=100,
    )  # fmt: skip
    if result.status is Status.NO_MINIMISER:
        B = np.column_stack((A, np.ones(n))) if fit_intercept else A
        assert is_separable(b[:, None] * B)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_offset_does_not_hide_a_row_on_the_wrong_side(algorithm: str) -> None:
    """x > 0 has the second row at -1e-9 x, which is lost in z - offset; a minimiser exists."""
    A, b = np.array([[1.0], [1e-9]]), np.array([1.0, -1.0])
    offset = np.array([0.0, -1e8])
    result = dualgap.solve(A, b, loss="logistic", offset=offset, algorithm=algorithm, max_passes=20)
    assert result.status is not Status.NO_MINIMISER
