"""One tridiagonal form for many shifts, against a solve for each."""

import numpy as np
import pytest

from dualgap.linalg import shifted as module
from dualgap.linalg.shifted import REDUCTION, Shifted


def semidefinite(rng, side, rank):
    B = rng.normal(size=(side, rank))
    return B @ B.T / rank


@pytest.mark.parametrize("count", [REDUCTION - 1, REDUCTION])
@pytest.mark.parametrize("shape", [(), (2,)], ids=["vector", "matrix"])
@pytest.mark.parametrize("side, rank", [(1, 1), (2, 1), (2, 2), (3, 3), (17, 30), (40, 12)])
def test_solutions_are_those_of_each_shift(side, rank, shape, count, monkeypatch):
    rng = np.random.default_rng(side)
    M = semidefinite(rng, side, rank)
    r = rng.normal(size=(side, *shape))
    shifted = Shifted(M, count)
    if count >= REDUCTION and side > 1:  # and no factorisation stands in
        monkeypatch.setattr(module, "cholesky", None)
    for shift in (1e3, 1.0, 1e-3, 1e-6):
        w = shifted.solve(shift, r)
        assert w.shape == r.shape
        residual = r - shift * w - M @ w
        assert np.abs(residual).max() <= 1e-13 * (np.abs(r).max() + 10 * np.abs(w).max())
        np.testing.assert_allclose(w, np.linalg.solve(M + shift * np.eye(side), r), rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (2,)], ids=["vector", "matrix"])
def test_very_different_sizes_are_factorised_at_their_own_scale(shape, monkeypatch):
    rng = np.random.default_rng(0)
    unit = 10.0 ** np.linspace(-9, 9, 12)
    B = rng.normal(size=(30, 12))
    M, exact = unit[:, None] * (B.T @ B) * unit, rng.normal(size=(12, *shape))
    exact = (exact.T / unit).T
    r = M @ exact + 1e-25 * exact
    calls, cholesky = [], module.cholesky

    def counted(*arguments):
        calls.append(1)
        return cholesky(*arguments)

    monkeypatch.setattr(module, "cholesky", counted)
    w = Shifted(M, 50).solve(1e-25, r)
    assert calls
    np.testing.assert_allclose(w, exact, rtol=1e-8)


def test_the_matrix_is_left_alone():
    M = semidefinite(np.random.default_rng(1), 9, 20)
    kept = M.copy()
    shifted = Shifted(M, 50)
    shifted.solve(0.1, np.ones(9))
    assert np.array_equal(M, kept)
