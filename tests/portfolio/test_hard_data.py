"""Data that break solvers: auto gives the right answer, certified, without a warning."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.certificate import estimated_pair

RNG = np.random.default_rng(11)
BASE = RNG.standard_normal((80, 6))
NOISE = RNG.standard_normal(80)


def data(kind):
    A = BASE.copy()
    if kind == "duplicate columns":
        A[:, 3] = A[:, 1]
    elif kind == "constant column":
        A[:, 2] = 5.0
    elif kind == "columns of zeros":
        A[:, [0, 4]] = 0.0
    elif kind == "rank one":
        A = np.outer(np.round(1024.0 * A[:, 0]) / 1024.0, np.arange(1.0, 7.0))  # exactly
    elif kind == "one column of 1e12":
        A[:, 5] *= 1e12
    elif kind == "rows of zeros":
        A[::3] = 0.0
    elif kind == "more columns than rows":
        A = np.hstack([A, A**2, np.sin(3 * A)] * 6)[:40]
    return A


KINDS = (
    "duplicate columns",
    "constant column",
    "columns of zeros",
    "rank one",
    "one column of 1e12",
    "rows of zeros",
    "more columns than rows",
)


def targets(A, loss):
    z = A @ (1.0 / (1.0 + abs(A).max(axis=0))) + NOISE[: len(A)]
    if loss == "multinomial":
        return np.digitize(z, np.quantile(z, [0.3, 0.6]))
    return z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "multinomial"])
@pytest.mark.parametrize("penalty", [{"l2": 1e-3}, {"l1": 1e-2}, {"l1": 1e-2, "l2": 1e-3}], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_certified(kind, loss, penalty, storage):
    if kind == "rank one" and loss == "multinomial" and penalty == {"l1": 1e-2}:
        pytest.skip("columns that are multiples of one another, no l2: takes thousands of passes")
    A = data(kind)
    b = targets(A, loss)
    result = dualgap.solve(storage(A), b, loss=loss, fit_intercept=True, **penalty)
    again = dualgap.certify(
        A, b, result.x, result.y, loss=loss, intercept=result.intercept, **penalty
    )
    assert again.certified
    if kind == "one column of 1e12":
        # The last bits of y are 1e-4 in A'y there: the bound may end at that.
        assert result.status.converged or result.status is dualgap.Status.ROUNDING
        assert result.status.converged == (again.relative_gap <= 1e-6)
        problem = dualgap.Problem(A, b, loss=loss, fit_intercept=True, **penalty)
        at = problem.join(result.x, result.intercept)
        estimate, _ = estimated_pair(problem, at, result.y)
        assert again.gap <= max(1e-6 * again.primal, 4.0 * estimate.rounding)
        # With classes a row that is moved for one sum moves those of all classes.
        assert again.relative_gap <= (5e-3 if loss != "multinomial" else 0.2)
        units = np.append(np.ones(5), 1e-12)
        weights = {"penalty_weights": units} if "l2" not in penalty else {}
        if weights:  # l1 alone: the same problem with that column in other units
            same = dualgap.solve(
                A * units, b, loss=loss, fit_intercept=True, **penalty, **weights
            ).certificate  # fmt: skip
            assert again.primal == pytest.approx(same.primal, rel=1e-5)
    else:
        assert result.status.converged and again.relative_gap <= 1e-6


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "more columns than rows"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_without_a_regulariser(kind, loss):
    A = data(kind)
    b = targets(A, loss)
    result = dualgap.solve(A, b, loss=loss)
    assert result.status.converged
    # The same problem in the coordinates of an orthonormal basis of the columns is well behaved.
    units = A / np.maximum(abs(A).max(axis=0), 1e-300)
    U, s, _ = np.linalg.svd(units, full_matrices=False)
    other = dualgap.solve(U[:, s > 1e-10 * s[0]], b, loss=loss)
    assert result.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-6)
