"""Runs take a few vectors beside the data, whatever the layout and width of the data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import _arrays
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
    monkeypatch.setattr(_arrays, "ROWS_AT_ONCE", 1 << 6)
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


TALL, SIDE, ENTRIES = 60_000, 20, 8
"""Many rows and few columns, so that nothing but what belongs to rows counts."""
MOST = {
    ("newton", "squared", "l2"): 8,
    ("newton", "logistic", "l2"): 10,
    ("newton", "huber", "l2"): 11,
    ("newton", "squared_hinge", "l2"): 11,
    ("working-set", "squared", "l1"): 9,
    ("working-set", "squared", "both"): 9,
    ("working-set", "logistic", "l1"): 12,
    ("adf-spdc", "squared", "l2"): 13,
    ("adf-spdc", "squared", "l1"): 13,
    ("adf-spdc", "logistic", "l2"): 13,
    ("sdca", "squared", "l2"): 11,
    ("sdca", "logistic", "l2"): 10,
    ("sdca", "squared_hinge", "l2"): 12,
}
"""The most n-vectors of float64 from the problem to the certificate, beside A and b, a copy of A
in float32, and the columns that working sets gather. What is made of some rows at a time is up to 3
of them here, and as long where there are more rows."""
STRENGTHS = {"l2": {"l2": 1e-3}, "l1": {"l1": 0.05}, "both": {"l1": 0.05, "l2": 1e-3}}


def tall(layout):
    rng = np.random.default_rng(0)
    columns = rng.permuted(np.tile(np.arange(SIDE), (TALL, 1)), axis=1)[:, :ENTRIES]
    values = rng.standard_normal((TALL, ENTRIES))
    starts = np.arange(0, TALL * ENTRIES + 1, ENTRIES)
    A = sp.csr_array((values.ravel(), np.sort(columns, axis=1).ravel(), starts))
    z = A @ rng.standard_normal(SIDE)
    return (A if layout == "csr" else A.toarray()), z, rng.standard_normal(TALL)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("name", "loss", "penalty"), MOST)
def test_vectors_of_the_rows(name, loss, penalty, fit_intercept, layout, monkeypatch):
    """The problem, the run and its certificate, whose temporaries are of some rows at a time."""
    if name == "sdca" and fit_intercept:
        pytest.skip("it needs l2 > 0 on every coordinate")
    A, z, noise = tall(layout)
    b = z + noise if loss in ("squared", "huber") else np.where(z + 3.0 * noise > 0.0, 1.0, -1.0)

    def fit():
        problem = dualgap.Problem(
            A, b, loss=loss, fit_intercept=fit_intercept, **STRENGTHS[penalty]
        )
        result = problem.solve(algorithm=name, max_passes=30)
        assert result.status.converged

    monkeypatch.setattr("dualgap.designs.narrow.LEAST_ENTRIES", 10**9)  # no copy in float32
    fit()  # compiles
    gathered = SIDE if name == "working-set" else 0
    assert peak(fit) / (8.0 * TALL) <= MOST[name, loss, penalty] + gathered
