"""Threads over partitions: who may have how many, and what goes through them."""

from __future__ import annotations

import os
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info

import dualgap
from dualgap.designs import (
    BlockDesign,
    Cuts,
    SparseDesign,
    Threads,
    as_design,
    contract,
    narrow,
    parted,
    parts,
    threads,
)
from dualgap.designs.cuts import Tree, plus
from dualgap.designs.parted import PartedDesign
from dualgap.designs.tasks import there_and_back
from dualgap.limits import Limits, OutOfTime, within
from dualgap.losses import as_loss
from dualgap.losses.tasks import loss_slope
from tests.folders.data import A, B, N, S

CUTS = Cuts((0, 40, 80, 120, N), 20)


def design(executor=None):
    return BlockDesign(A).arranged(cuts=CUTS, executor=executor)


def neighbours(parts):
    """The law: neighbours are added, and these again, and one that has no neighbour waits."""
    while len(parts) > 1:
        pairs = [plus(one, other) for one, other in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


@pytest.mark.parametrize("count", range(1, 40))
def test_a_tree_that_grows_is_the_tree_of_all(count):
    rng = np.random.default_rng(count)
    pieces = [(np.exp(rng.normal(0.0, 9.0, 3)), float(rng.normal())) for _ in range(count)]
    tree = Tree()
    for sums in pieces:
        tree.add(sums)
    found, expected = tree.total(), neighbours(pieces)
    assert np.array_equal(found[0], expected[0]) and found[1] == expected[1]


def test_a_tree_holds_few_sums():
    tree = Tree()
    for _ in range(1000):
        tree.add((1.0,))
        assert len(tree._trees) <= 10
    assert tree.total() == (1000.0,)


def where(chunk):
    """The thread of each row, and its time; a task of `map_rows`."""
    time.sleep(0.01)
    return np.full(chunk.shape[0], threading.get_ident())


def threads_of(chunk, rows):
    return (where(chunk),), (1,)


@pytest.mark.parametrize("workers", [1, 2, 4, 9])
def test_as_many_threads_as_were_asked_for_and_no_more(workers):
    (seen,), (chunks,) = design(Threads(workers)).map_rows(threads_of, ())
    assert chunks == 8 and len(set(seen)) <= min(workers, CUTS.partitions)
    assert (len(set(seen)) > 1) == (workers > 1)
    for part in range(CUTS.partitions):
        first, last = CUTS.bounds(part)
        assert len(set(seen[first:last])) == 1  # a partition is one thread's
    assert not [t for t in threading.enumerate() if t.name.startswith("dualgap")]


class Wrong(Exception):
    """What a task raises."""


def fails(chunk, at):
    if chunk.rows.start >= at:
        raise Wrong(chunk.rows.start)
    return (1,)


@pytest.mark.parametrize("at", [0, 60, 140])
def test_what_a_task_raises_is_raised_here(at):
    """The first partition's, as with one thread."""
    found = []
    for workers in (1, 3):
        with pytest.raises(Wrong) as raised:
            design(Threads(workers)).reduce(fails, at)
        found.append(raised.value.args)
    assert found[0] == found[1]


def overflows(chunk):
    return (float(np.exp(1000.0 + chunk.shape[0])),)


def test_limits_and_states_of_floats_are_those_of_the_call():
    with np.errstate(over="ignore"):
        assert design(Threads(3)).reduce(overflows) == (np.inf,)
    with pytest.raises(OutOfTime), within(Limits(-1.0)):
        design(Threads(3)).reduce(fails, N)


def blas():
    """How many threads the linear algebra libraries have."""
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def blas_of(chunk):
    return (max(blas()),)


def test_the_linear_algebra_library_has_one_thread_beside_ours():
    before = blas()
    assert design(Threads(2)).reduce(blas_of)[0] == 8  # one for each chunk
    with threads.one_blas_thread():
        with threads.one_blas_thread():
            assert set(blas()) == {1}
        assert set(blas()) == {1}
    assert blas() == before
    seen = []
    dualgap.solve(A, B, l2=0.1, n_threads=3, callback=lambda _: seen.append(blas()))
    assert seen and all(set(each) == {1} for each in seen) and blas() == before


# ---- how many ----


def test_as_many_threads_as_the_process_may_use(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_quota", lambda: sys.maxsize)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert threads.cores() == threads.available() == 3
    monkeypatch.setattr(threads, "_quota", lambda: 2)
    assert threads.available() == 2
    for given, expected in (("1", 1), ("8", 2), ("1,4", 1), ("", 2), ("x", 2), ("0", 2)):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        assert threads.available() == expected, given
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads.current_threads().workers == 2
    with threads.within_threads(5):
        assert threads.current_threads().workers == 5
    with threads.within_threads(None):
        assert threads.current_threads().workers == 2


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, sys.maxsize),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, sys.maxsize),
        ({"cpu.max": "nonsense\n"}, sys.maxsize),
        ({}, sys.maxsize),
    ],
)
def test_the_quota_of_a_control_group(tmp_path, monkeypatch, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    real = threads.Path

    def elsewhere(path):
        return tmp_path / real(path).relative_to("/sys/fs/cgroup")

    monkeypatch.setattr(threads, "Path", elsewhere)
    assert threads._quota.__wrapped__() == expected


def available_there():
    return threads.available()


@pytest.mark.slow
def test_joblib_workers_share_the_cores(monkeypatch):
    """Its threads have one each; its processes as many as it leaves them."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for backend in ("threading", "loky"):
        call = joblib.Parallel(n_jobs=2, backend=backend)
        found = call(joblib.delayed(available_there)() for _ in range(2))
        share = 1 if backend == "threading" else max(1, joblib.cpu_count() // 2)
        assert found == [share, share]
    assert threads.available() == threads.cores()


def test_designs_whose_parts_are_not_apart_stay_with_one_thread():
    """A design of a user's may have one file to read its blocks from, and no second place in it."""

    class Own(dualgap.designs.Design):
        shape = A.shape

        def blocks(self, rows):
            for start in range(0, N, rows):
                yield slice(start, min(start + rows, N)), A[start : start + rows]

    with threads.within_threads(4):
        (seen,), _ = Own().arranged(cuts=CUTS).map_rows(threads_of, ())
        assert set(seen) == {threading.get_ident()}
        (seen,), _ = design().map_rows(threads_of, ())
        assert len(set(seen)) > 1


# ---- many sparse rows in memory ----


def large(matrix):
    """A design as of large data, in five partitions."""
    design = PartedDesign(sp.csr_array(matrix))
    design._own_cuts = Cuts((0, 10, 50, 90, 120, N), N)
    return design


def test_large_sparse_data_are_parted_by_their_size_alone(monkeypatch):
    """Not where sums of partitions would be as long as the partitions."""
    assert type(as_design(S)) is SparseDesign
    monkeypatch.setattr(parted, "LARGE", 12 * S.nnz)
    monkeypatch.setattr(parted, "PARTITION_BYTES", 12 * S.nnz // 7)
    monkeypatch.setattr(parted, "ENTRIES_PER_COLUMN", 1)
    assert type(as_design(S)) is PartedDesign and as_design(S).cuts.partitions == 7
    assert type(as_design(S.tocsc())) is SparseDesign
    monkeypatch.setattr(parted, "ENTRIES_PER_COLUMN", S.nnz)
    assert type(as_design(S)) is SparseDesign


@pytest.mark.parametrize("verb", ["matvec", "rmatvec", "weighted_sweep"])
def test_products_by_partitions_have_the_same_bits_with_any_number_of_threads(verb):
    x, w = np.linspace(-1.0, 1.0, S.shape[1]), np.linspace(0.0, 2.0, N)
    arguments = {"matvec": (x,), "rmatvec": (w,), "weighted_sweep": (x, w, 0.5)}[verb]
    found = []
    for workers in (1, 2, 5):
        with threads.within_threads(workers):
            found.append(getattr(large(S), verb)(*arguments))
    expected = getattr(SparseDesign(S), verb)(*arguments)
    for other in (*found, expected):
        for one, two in zip(_parts(found[0]), _parts(other), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
            assert other is expected or np.array_equal(one, two)


def _parts(product):
    return product if isinstance(product, tuple) else (product,)


@pytest.mark.parametrize(
    "options",
    [
        {"l2": 1e-3, "loss": "logistic"},
        {"l1": 0.02},
        {"l2": 0.1, "loss": "logistic", "algorithm": "adf-bpd"},
        {"l2": 0.1, "loss": "logistic", "algorithm": "saga"},
    ],
)
def test_fits_to_parted_data(options):
    found = [
        dualgap.solve(large(S), B, fit_intercept=True, n_threads=n, max_passes=5000, **options)
        for n in (1, 3)
    ]
    same = dualgap.solve(S, B, fit_intercept=True, max_passes=5000, **options)
    assert found[0].status.converged and np.array_equal(found[0].x, found[1].x)
    assert found[0].certificate.dual <= same.certificate.primal
    assert same.certificate.dual <= found[0].certificate.primal


# ---- many dense rows in memory ----


@pytest.fixture
def small_parts(monkeypatch):
    """Sizes with which the data of these tests are large."""
    monkeypatch.setattr(parts, "LARGE", 1000)
    monkeypatch.setattr(parts, "PARTITION_BYTES", 1500)
    monkeypatch.setattr(contract, "BLOCK_BYTES", 8 * A.shape[1] * 5)


DENSE = {
    "C": A,
    "Fortran": np.asfortranarray(A),
    "float32": A.astype(np.float32),
    "Fortran float32": np.asfortranarray(A, dtype=np.float32),
}


@pytest.mark.parametrize("stored", DENSE)
def test_large_dense_data_are_parted_by_their_size_alone(stored, small_parts, monkeypatch):
    """Not where a Gram matrix would be as large as a partition."""
    for workers in (1, 3, None):
        with threads.within_threads(workers):
            assert as_design(DENSE[stored]).cuts == Cuts((0, 20, 60, 80, 120, N), 20)
    assert as_design(DENSE[stored].T).cuts.partitions == 1
    monkeypatch.setattr(parts, "LARGE", 8 * A.size + 1)
    assert as_design(DENSE[stored]).cuts.partitions == 1


X, R = np.linspace(-1.0, 1.0, A.shape[1]), np.linspace(0.0, 2.0, N)
VERBS = {
    "A x": lambda design: design.matvec(X),
    "A X": lambda design: design.matvec(np.outer(X, [1.0, 2.0])),
    "A' r": lambda design: design.rmatvec(R),
    "A' R": lambda design: design.rmatvec(np.outer(R, [1.0, 2.0])),
    "A' diag(r) A x": lambda design: design.weighted_sweep(X, R, 0.5),
    "Gram matrix": lambda design: design.gram(R),
    "lengths of rows": lambda design: design.row_norms_sq(X * X),
    "lengths of columns": lambda design: design.column_norms_sq(R),
    "lengths found by the check": lambda design: (design.row_norms_sq(), design.column_squares()),
    "|A| x and |A|' r": lambda design: design.absolute_product(X, R),
    "with columns": lambda design: _with_columns(design.columns(np.arange(A.shape[1]))),
    "there and back": lambda design: sum(
        design.map_rows(there_and_back, (B, R), X, loss_slope, as_loss("logistic")), ()
    ),
}


def _with_columns(columns):
    some = np.array([0, 3])
    every = np.arange(columns.at.size)
    cross = columns.cross_gram(R, some, every)
    return columns.matvec(X), columns.rmatvec(R), columns.gram(R), cross


@pytest.mark.parametrize("stored", DENSE)
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_dense_verbs_have_the_same_bits_with_any_number_of_threads(stored, verb, small_parts):
    """And are those of data that are not parted, but for rounding."""
    found = []
    for workers in (1, 2, 3, None):
        with threads.within_threads(workers):
            design = as_design(DENSE[stored])
            assert design.cuts.partitions == 5
            found.append(_parts(verb(design)))
    whole = _parts(verb(as_design(DENSE[stored]).arranged(cuts=Cuts.whole(N))))
    for other in (*found, whole):
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
            assert other is whole or np.array_equal(one, two)


def test_a_narrow_copy_has_the_same_bits_with_any_number_of_threads(small_parts, monkeypatch):
    monkeypatch.setattr(narrow, "LEAST_ENTRIES", 1)
    found = []
    for workers in (1, 2, 3):
        with threads.within_threads(workers):
            copy = as_design(A).narrowed()
            found.append((*copy.weighted_sweep(X, R, 0.5), copy.gram(R)))
    for other in found[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))
    np.testing.assert_allclose(found[0][2], as_design(A).gram(R), rtol=1e-5, atol=1e-4)


def where_between(z, rows):
    """The thread of each row, and its time; it lies between two products."""
    time.sleep(0.01)
    return z, (np.full(len(z), threading.get_ident()),), ()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_parts_of_dense_data_are_the_threads_of_the_call(workers, small_parts):
    with threads.within_threads(workers):
        (_, seen), _ = as_design(A).map_rows(there_and_back, (), X, where_between)
    assert len(set(seen)) <= workers and (len(set(seen)) > 1) == (workers > 1)


@pytest.mark.parametrize(
    "options",
    [
        {"l2": 1e-3, "loss": "logistic", "algorithm": "newton"},
        {"l2": 1e-3},
        {"l1": 0.02, "algorithm": "working-set"},
        {"l1": 0.02, "l2": 1e-3, "loss": "logistic", "algorithm": "working-set"},
        {"l2": 0.1, "loss": "logistic", "algorithm": "adf-bpd"},
        {"l2": 0.1, "loss": "logistic", "algorithm": "saga", "precondition": "whiten"},
    ],
)
@pytest.mark.parametrize("stored", DENSE)
def test_fits_to_parted_dense_data(stored, options, small_parts, monkeypatch):
    """Points and certificates bit for bit, also with the default number of threads."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    found = [
        dualgap.solve(DENSE[stored], B, fit_intercept=True, n_threads=n, max_passes=5000, **options)
        for n in (1, 2, 3, None)
    ]
    first = found[0]
    assert first.status.converged
    for other in found[1:]:
        assert np.array_equal(first.x, other.x) and np.array_equal(first.y, other.y)
        assert first.intercept == other.intercept and first.passes == other.passes
        for name in ("primal", "dual", "gap", "relative_gap", "coef_error"):
            one, two = (getattr(found.certificate, name) for found in (first, other))
            assert np.array_equal(one, two)
    monkeypatch.setattr(parts, "LARGE", 1 << 26)
    same = dualgap.solve(DENSE[stored], B, fit_intercept=True, max_passes=5000, **options)
    assert first.certificate.dual <= same.certificate.primal
    assert same.certificate.dual <= first.certificate.primal


def test_paths_over_parted_dense_data(small_parts):
    found = [dualgap.path(A, B, lambdas=8, n_threads=n) for n in (1, 2, 3)]
    for other in found[1:]:
        assert np.array_equal(found[0].x, other.x)
        assert np.array_equal(found[0].relative_gaps, other.relative_gaps)


def test_the_linear_algebra_library_has_one_thread_where_threads_share_the_data(small_parts):
    """By default, too; small data leave it alone."""
    before, seen = blas(), []
    dualgap.solve(A, B, l2=0.1, callback=lambda _: seen.append(blas()))
    assert seen and all(set(each) == {1} for each in seen) and blas() == before
    seen.clear()
    dualgap.solve(A[:12], B[:12], l2=0.1, callback=lambda _: seen.append(blas()))
    assert seen and all(each == before for each in seen)
