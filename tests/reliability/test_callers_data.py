"""The caller's data are read, never written; they may be read-only, on disk, shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import dualgap

from .problems import ALGORITHMS, labels, regression, targets

A, B = regression(60, 6)
RNG = np.random.default_rng(7)
MIXED = np.where(RNG.random(A.shape) < 0.5, A, 0.0)  # half of it zeros
WEIGHTS = RNG.uniform(0.5, 2.0, len(B))
OFFSET = 0.1 * RNG.standard_normal(len(B))
START = 0.1 * RNG.standard_normal(A.shape[1])

DENSE = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "float32": lambda M: M.astype(np.float32),
    "float32 Fortran": lambda M: np.asfortranarray(M.astype(np.float32)),
    "strided": lambda M: np.repeat(M, 2, axis=1)[:, ::2],
    "reversed": lambda M: M[::-1].copy()[::-1],
    "big-endian": lambda M: M.astype(">f8"),
}


def unsorted(M: np.ndarray) -> Any:
    """A CSR array with each row's entries in reverse order, the first of them in two halves."""
    C = sp.csr_array(M)
    data, indices, indptr = [], [], [0]
    for i in range(M.shape[0]):
        row = slice(C.indptr[i], C.indptr[i + 1])
        values, at = list(C.data[row])[::-1], list(C.indices[row])[::-1]
        if values:
            values, at = [values[0] / 2, values[0] / 2, *values[1:]], [at[0], *at]
        data += values
        indices += at
        indptr.append(len(data))
    return sp.csr_array((np.array(data), np.array(indices), np.array(indptr)), shape=M.shape)


def wide_indices(M: np.ndarray) -> Any:
    C = sp.csr_array(M)
    C.indices, C.indptr = C.indices.astype(np.int64), C.indptr.astype(np.int64)
    return C


SPARSE = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "coo_matrix": sp.coo_matrix,
    "bsr_array": sp.bsr_array,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "dia_array": sp.dia_array,
    "int64 indices": wide_indices,
    "unsorted": unsorted,
    "float32 csr": lambda M: sp.csr_array(M.astype(np.float32)),
    "float32 csc": lambda M: sp.csc_array(M.astype(np.float32)),
}


def parts(value: Any) -> list[np.ndarray]:
    """The arrays that make up a value."""
    if sp.issparse(value):
        names = [n for n in ("data", "indices", "indptr", "coords", "offsets") if hasattr(value, n)]
        if value.format in ("lil", "dok"):
            return [value.toarray()]
        found = [getattr(value, name) for name in names]
        return [a for f in found for a in (f if isinstance(f, tuple) else (f,))]
    return [value.to_numpy() if hasattr(value, "to_numpy") else value]


def fingerprint(values: dict[str, Any]) -> dict[str, list[tuple[str, bytes]]]:
    return {k: [(a.dtype.str, a.tobytes()) for a in parts(v)] for k, v in values.items()}


def use(values: dict[str, Any], loss: str, algorithm: str = "auto") -> dualgap.Result:
    """Everything one does with data: a Problem, a solve, a certificate."""
    options = {k: values[k] for k in ("sample_weight", "offset", "penalty_weights")}
    problem = dualgap.Problem(values["A"], values["b"], loss=loss, l1=0.01, l2=0.1, **options)
    start = {"x0": values["x0"], "y0": values["y0"]}
    result = problem.solve(algorithm=algorithm, **start)
    dualgap.certify(
        values["A"], values["b"], values["x0"], values["y0"], loss=loss, l1=0.01, **options
    )
    return result


def everything(data: Any, loss: str = "squared") -> dict[str, Any]:
    b = targets(loss, B)
    return {
        "A": data,
        "b": b.copy(),
        "sample_weight": WEIGHTS.copy(),
        "offset": OFFSET.copy(),
        "penalty_weights": np.linspace(0.5, 1.5, A.shape[1]),
        "x0": START.copy(),
        "y0": -0.1 * b,
    }


# ---- never written to ----


@pytest.mark.parametrize("container", [*DENSE.values(), *SPARSE.values()], ids=[*DENSE, *SPARSE])
def test_data_are_not_modified(container):
    values = everything(container(MIXED))
    before = fingerprint(values)
    assert use(values, "squared").status.converged
    assert fingerprint(values) == before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "smoothed_hinge"])
def test_no_algorithm_modifies_the_data(algorithm, loss):
    values = everything(A.copy(), loss)
    before = fingerprint(values)
    assert use(values, loss, algorithm).status.converged
    assert fingerprint(values) == before


def test_the_result_does_not_share_memory_with_the_start():
    values = everything(A.copy())
    result = dualgap.solve(A, B, l2=0.1, x0=values["x0"], y0=values["y0"], max_passes=0)
    for array in (result.x, result.y, result.state.x, result.state.y):
        assert not np.shares_memory(array, values["x0"])
        assert not np.shares_memory(array, values["y0"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_state_is_not_used_up(algorithm):
    problem = dualgap.Problem(A, B, l2=0.01)
    state = problem.solve(algorithm=algorithm, max_passes=5).state
    first, second = (problem.solve(algorithm=algorithm, state=state) for _ in range(2))
    assert first.status.converged
    assert first.x.tobytes() == second.x.tobytes()
    assert first.trace.gap.tobytes() == second.trace.gap.tobytes()


# ---- read-only, and on disk ----


def read_only(value: Any) -> Any:
    for array in parts(value):
        array.flags.writeable = False
    return value


@pytest.mark.parametrize(
    "container",
    [*DENSE.values(), sp.csr_array, sp.csc_array, sp.coo_array, unsorted, SPARSE["float32 csr"]],
    ids=[*DENSE, "csr", "csc", "coo", "unsorted", "float32 csr"],
)
def test_read_only_arrays(container):
    writeable = use(everything(container(MIXED)), "squared")
    frozen = {k: read_only(v) for k, v in everything(container(MIXED)).items()}
    result = use(frozen, "squared")
    assert result.x.tobytes() == writeable.x.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_memory_mapped_files(tmp_path: Path, dtype, order, loss):
    inner = np.asarray(A, dtype=dtype, order=order)
    mapped = np.memmap(tmp_path / "A", dtype=dtype, mode="w+", shape=A.shape, order=order)
    mapped[:] = inner
    mapped.flush()
    b = np.memmap(tmp_path / "b", dtype=np.float64, mode="w+", shape=B.shape)
    b[:] = targets(loss, B)
    b.flush()
    on_disk = np.memmap(tmp_path / "A", dtype=dtype, mode="r", shape=A.shape, order=order)
    b_on_disk = np.memmap(tmp_path / "b", dtype=np.float64, mode="r", shape=B.shape)
    result = dualgap.solve(on_disk, b_on_disk, loss=loss, l2=0.1)
    expected = dualgap.solve(inner, targets(loss, B), loss=loss, l2=0.1)
    assert result.status.converged
    assert result.x.tobytes() == expected.x.tobytes()
    assert type(result.x) is np.ndarray


# ---- other containers ----


@pytest.mark.parametrize("container", [*SPARSE.values()], ids=[*SPARSE])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sparse_formats_give_the_dense_answer(container, fit_intercept):
    arguments = {"l1": 0.01, "l2": 0.1, "fit_intercept": fit_intercept, "tol": 1e-10}
    dense = dualgap.solve(MIXED, B, **arguments)
    result = dualgap.solve(container(MIXED), B, **arguments)
    assert result.status.converged
    assert np.allclose(result.x, dense.x, rtol=0, atol=1e-4)


def test_index_width_changes_no_bit():
    arguments = {"loss": "logistic", "l2": 0.1}
    narrow = dualgap.solve(sp.csr_array(MIXED), labels(B), **arguments)
    wide = dualgap.solve(wide_indices(MIXED), labels(B), **arguments)
    assert narrow.x.tobytes() == wide.x.tobytes()


def test_explicit_zeros_and_sparse_blocks():
    """Zeros that are stored are zeros."""
    stored = sp.csr_array(np.where(MIXED == 0, 1.0, MIXED))
    stored.data[(np.where(MIXED == 0, 1.0, MIXED) == 1.0).ravel()] = 0.0
    assert stored.nnz == MIXED.size
    plain = dualgap.solve(MIXED, B, l2=0.1, tol=1e-10)
    assert np.allclose(dualgap.solve(stored, B, l2=0.1, tol=1e-10).x, plain.x, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(A),
        pd.DataFrame(A.astype(np.float32)),
        pd.DataFrame(A, columns=list("abcdef"), index=np.arange(60)[::-1]),
        pd.DataFrame(np.rint(3 * A).astype(int)),
        pd.DataFrame({"whole": np.rint(3 * A[:, 0]).astype(np.int16), "real": A[:, 1]}),
        pd.DataFrame(A > 0),
    ],
    ids=["float64", "float32", "named", "integers", "mixed", "bool"],
)
def test_data_frames(frame):
    before = frame.copy()
    result = dualgap.solve(
        frame, pd.Series(B, name="target"), l2=0.1, sample_weight=pd.Series(WEIGHTS)
    )
    expected = dualgap.solve(frame.to_numpy().astype(float), B, l2=0.1, sample_weight=WEIGHTS)
    assert result.status.converged
    assert np.allclose(result.x, expected.x, rtol=0, atol=1e-6)
    pd.testing.assert_frame_equal(frame, before)


def test_lists_and_columns():
    expected = dualgap.solve(A, B, l2=0.1)
    assert dualgap.solve(A.tolist(), B.tolist(), l2=0.1).x.tobytes() == expected.x.tobytes()
    assert dualgap.solve(A, B[:, None], l2=0.1).x.tobytes() == expected.x.tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, bool])
def test_other_dtypes(dtype):
    data = np.abs(np.rint(2 * A)).astype(dtype)
    result = dualgap.solve(data, B, l2=0.1)
    expected = dualgap.solve(data.astype(np.float64), B, l2=0.1)
    assert result.x.tobytes() == expected.x.tobytes()


def test_labels_may_be_bool_or_0_and_1():
    signs = labels(B)
    expected = dualgap.solve(A, signs, loss="logistic", l2=0.1).x.tobytes()
    assert dualgap.solve(A, signs > 0, loss="logistic", l2=0.1).x.tobytes() == expected
    assert (
        dualgap.solve(A, (signs > 0).astype(int), loss="logistic", l2=0.1).x.tobytes() == expected
    )


# ---- threads ----

RUNS = [
    {"loss": "squared", "l2": 0.01},
    {"loss": "squared", "l1": 0.02, "fit_intercept": True},
    {"loss": "squared"},
    {"loss": "logistic"},
    {"loss": "smoothed_hinge", "l2": 0.01, "fit_intercept": True},
    {"loss": "huber", "l1": 0.01, "l2": 0.01},
]


def outcome(result: dualgap.Result) -> tuple[Any, ...]:
    """Everything about a run that no clock enters."""
    trace = result.trace
    columns = (trace.primal, trace.dual, trace.strong_convexity, trace.tau, trace.theta)
    arrays = (result.x, result.y, *columns)
    return (*(a.tobytes() for a in arrays), result.intercept, result.certificate, result.status)


@pytest.mark.parametrize("arguments", RUNS, ids=str)
def test_one_problem_in_many_threads(arguments):
    def fresh() -> dualgap.Problem:
        return dualgap.Problem(A, targets(arguments["loss"], B), **arguments)

    alone = {name: outcome(fresh().solve(algorithm=name)) for name in ALGORITHMS}
    shared = fresh()  # nothing cached yet: the threads race for the constants
    names = list(ALGORITHMS) * 2
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda name: outcome(shared.solve(algorithm=name)), names))
    assert results == [alone[name] for name in names]


def test_many_problems_in_many_threads():
    def run(arguments: dict[str, Any]) -> tuple[Any, ...]:
        return outcome(dualgap.solve(A, targets(arguments["loss"], B), **arguments))

    alone = [run(arguments) for arguments in RUNS]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, RUNS * 3)) == alone * 3
