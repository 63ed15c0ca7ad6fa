"""Randomised runs take O(n + d) beside the data, whatever the layout and width of the data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import RANDOMISED

VECTORS = 30
"""Vectors of n + d numbers that a run may hold at once; a copy of the data is far more."""


def dense(dtype):
    A = np.random.default_rng(0).standard_normal((1000, 500)).astype(dtype)
    return A, A.nbytes


def sparse(dtype):
    A = sp.random_array((2000, 500), density=0.15, format="csr", rng=0, dtype=np.float64)
    A = A.astype(dtype)
    return A, A.data.nbytes


def run(A, b, name):
    problem = dualgap.Problem(A, b, loss="logistic", l2=1e-3)
    problem.solve(algorithm=name, tol=1e-15, max_passes=6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [dense, sparse])
@pytest.mark.parametrize("name", [c.name for c in RANDOMISED if not c.name.startswith("opt-")])
def test_a_run_holds_a_few_vectors(name, layout, dtype):
    """The oracles are left out: they compute eigenvalues of the d x d Gram matrix."""
    A, size = layout(dtype)
    n, d = A.shape
    b = np.where(np.random.default_rng(1).random(n) < 0.5, 1.0, -1.0)
    allowed = VECTORS * 8 * (n + d)
    assert allowed < size  # a copy of the data would be seen
    run(A, b, name)  # compiles
    tracemalloc.start()
    try:
        run(A, b, name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= allowed, f"{peak / (8 * (n + d)):.1f} vectors of n + d"
