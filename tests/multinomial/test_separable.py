"""No penalty: is there a minimiser at all? Where the answer is no, linear programming agrees."""

import numpy as np
import pytest
from scipy.optimize import linprog

import dualgap
from dualgap import Status
from dualgap.losses import Multinomial


def is_separable(A, b, K):
    """Whether some x has a_i'(x_b - x_k) >= 0 for all rows and classes, and not always 0."""
    n, d = A.shape
    rows = []
    for i in range(n):
        for k in set(range(K)) - {int(b[i])}:
            row = np.zeros((d, K))
            row[:, b[i]] += A[i]
            row[:, k] -= A[i]
            rows.append(row.ravel())
    B = np.array(rows)
    found = linprog(
        -B.sum(axis=0),
        A_ub=np.vstack((-B, B)),
        b_ub=np.append(np.zeros(len(B)), np.ones(len(B))),
        bounds=(None, None),
    )
    return -found.fun > 1e-6


@pytest.mark.parametrize("algorithm", ["adf-bpd", "agd", "adf-spdc", "saga"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
def test_classes_that_overlap_are_never_called_separable(algorithm, fit_intercept, shifted):
    verdicts = set()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, d, K = rng.integers(3, 9), rng.integers(1, 5), rng.integers(2, 4)
        A, b = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(0, K, n)
        A[0, 0], b[0] = 1.0, K - 1
        x0 = 1e9 * np.ones((d, K)) if seed % 3 == 0 else None  # the same for all classes
        result = dualgap.solve(
            A, b, loss=Multinomial(classes=K), fit_intercept=fit_intercept, algorithm=algorithm,
            offset=10.0 * rng.standard_normal((n, K)) if shifted else None, x0=x0,
            tol=1e-8, max_passes=60,
        )  # fmt: skip
        B = np.column_stack((A, np.ones(n))) if fit_intercept else A
        verdicts.add(result.status is Status.NO_MINIMISER)
        assert result.status is not Status.NO_MINIMISER or is_separable(B, b, K)
    assert verdicts == {False, True}


@pytest.mark.parametrize("algorithm", ["adf-bpd", "agd", "adf-spdc"])
def test_an_offset_does_not_hide_a_row_on_the_wrong_side(algorithm):
    """The second row's own class loses by 1e-9 x, which is lost in z - offset."""
    A, b = np.array([[1.0], [1e-9]]), np.array([0, 1])
    offset = np.array([[0.0, 0.0], [-1e8, 1e8]])
    result = dualgap.solve(
        A, b, loss="multinomial", offset=offset, algorithm=algorithm, max_passes=20
    )
    assert result.status is not Status.NO_MINIMISER


def test_scores_that_rounding_makes_equal_prove_nothing():
    """x_0 - x_1 = 1e-9 and the second row is on the wrong side, by less than z is rounded by."""
    A, b = np.array([[1.0], [1e-3]]), np.array([0, 1])
    x0 = np.array([[1e6 + 1e-9, 1e6]])
    result = dualgap.solve(A, b, loss="multinomial", x0=x0, max_passes=0)
    assert result.status is not Status.NO_MINIMISER
