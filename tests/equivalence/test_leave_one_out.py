"""Errors of ridge regression on rows left out, by formulas and by fits without these rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.linalg.leave_one_out import FACTORS, LeaveOneOut


def fitted_without(X, y, w, alpha, intercept):
    """y_i less the prediction of a fit to the other rows, each by its own normal equations."""
    errors = np.empty_like(y)
    for i in range(len(y)):
        v = np.where(np.arange(len(y)) == i, 0.0, w)
        mean = (v @ X / v.sum(), v @ y / v.sum()) if intercept else (0.0 * X[0], 0.0 * y[0])
        B = X - mean[0]
        H = (B * v[:, None]).T @ B + alpha * np.eye(X.shape[1])
        x = np.linalg.solve(H, (B * v[:, None]).T @ (y - mean[1]))
        errors[i] = y[i] - mean[1] - B[i] @ x
    return errors


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("count", [1, 2 * FACTORS])
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("weights", ["none", "even", "some without"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(20, 4), (9, 9), (8, 15)])
def test_formulas_are_fits(shape, intercept, weights, alpha, count, layout):
    rng = np.random.default_rng(sum(shape))
    X, y = rng.normal(size=shape) + 0.5, rng.normal(size=(shape[0], 2))
    w = np.ones(shape[0])
    if weights != "none":
        w = rng.uniform(0.5, 2.0, shape[0])
    if weights == "some without":
        w[[0, 3, 4]] = 0.0
    given = None if weights == "none" else w
    found = LeaveOneOut(layout(X), y, given, intercept, count).errors(alpha)
    np.testing.assert_allclose(found, fitted_without(X, y, w, alpha, intercept), rtol=1e-6)
