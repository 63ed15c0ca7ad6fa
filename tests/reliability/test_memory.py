"""Randomised runs take O(n + d) beside the data, whatever the layout and width of the data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import RANDOMISED
from dualgap.designs import contract, sparse

VECTORS = 30
"""Vectors of n + d numbers that a run may hold at once."""
NAMES = [c.name for c in RANDOMISED if not c.name.startswith("opt-")]
"""The oracles are left out: they compute eigenvalues of the d x d Gram matrix."""


def dense(dtype):
    A = np.random.default_rng(0).standard_normal((1000, 500)).astype(dtype)
    return A, A.nbytes


def compressed(dtype):
    A = sp.random_array(
        (2000, 500), density=0.2, format="csr", random_state=np.random.default_rng(0)
    ).astype(dtype)
    return A, A.data.nbytes


def peak(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [dense, compressed])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_holds_a_few_vectors(name, layout, dtype, monkeypatch):
    """Float32 data are widened in pieces of fixed size, made small here."""
    monkeypatch.setattr(contract, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(sparse, "PIECE_NONZEROS", 1 << 9)
    A, size = layout(dtype)
    n, d = A.shape
    b = np.where(np.random.default_rng(1).random(n) < 0.5, 1.0, -1.0)
    vectors = VECTORS * 8 * (n + d)
    assert vectors < size  # a copy of the data would be seen

    def run(problem):
        problem.solve(algorithm=name, tol=1e-15, max_passes=6)

    run(dualgap.Problem(A, b, loss="logistic", l2=1e-3))  # compiles
    problem = dualgap.Problem(A, b, loss="logistic", l2=1e-3)
    # Constants of sparse data (squares, absolute values) pass through one copy of the values.
    passing = 8 * A.nnz if sp.issparse(A) else 0
    assert peak(lambda: run(problem)) <= vectors + passing
    assert peak(lambda: run(problem)) <= vectors
