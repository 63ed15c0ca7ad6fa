"""What memory a call may take: how it is said and measured, and what is done without."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import memory
from dualgap.designs import BlockDesign, DenseDesign, SparseDesign, as_design, columns, narrow
from dualgap.designs.columns import DenseColumns
from dualgap.designs.ungathered import UngatheredColumns
from dualgap.linalg import hessian_factor
from dualgap.memory import Memory, as_bytes, within_memory

RNG = np.random.default_rng(3)
N, D = 200, 30
A = RNG.standard_normal((N, D)) + RNG.standard_normal((N, 1))
Z = A @ (RNG.standard_normal(D) * (RNG.random(D) < 0.4)) + RNG.standard_normal(N)
SIGNS = np.where(Z > 0, 1.0, -1.0)
S = sp.random_array((N, 50), density=0.1, format="csr", rng=np.random.default_rng(4))

NEEDED = memory.row_vectors(N, None)
"""With so much, a fit on these rows is not refused, and no copy is made of A."""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, None),
        (1, 1),
        (np.int64(7), 7),
        ("512", 512),
        ("2GB", 2e9),
        ("2 gib", 2 * 2**30),
        (" .5 MB ", 5e5),
        ("1.5kB", 1500),
    ],
)
def test_bytes_are_a_number_or_have_a_unit(said, meant):
    assert as_bytes("memory_limit", said) == meant


@pytest.mark.parametrize("said", [0, -1, True, 1.5, "", "GB", "2 G", "-1 GB", "1e9", "inf", [1]])
@pytest.mark.parametrize("call", [dualgap.solve, dualgap.path])
def test_what_is_no_memory_is_refused(said, call):
    with pytest.raises(ValueError, match=r"memory_limit=.*must be a number of bytes"):
        call(A, SIGNS, memory_limit=said)


def test_a_copy_is_made_where_it_is_small_beside_the_memory():
    given = Memory(1000.0)
    assert given.spares(250) and not given.spares(251)
    assert given.holds(1000) and not given.holds(1001)
    assert given.holds_easily(500) and not given.holds_easily(501)


def test_the_memory_of_a_call_is_that_of_the_calls_within_it():
    with within_memory(5.0) as outer:
        with within_memory(None) as inner:
            assert inner is outer is memory.current()
        with within_memory(3.0):
            assert memory.current().limit == 3.0
        assert memory.current() is outer


def test_what_there_is_is_measured_once_a_call(monkeypatch):
    asked = []
    monkeypatch.setattr(memory, "available", lambda: asked.append(1) or 1e12)
    monkeypatch.setattr(memory, "UNASKED", 0)
    dualgap.solve(A, SIGNS, loss="logistic", l2=1e-2)
    assert len(asked) == 1


# ---- what there is ----


def group(folder, unified, most, used, file_pages=0):
    """The files of a control group."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current") if unified else (
        "memory.limit_in_bytes", "memory.usage_in_bytes"
    )  # fmt: skip
    for name, value in zip(names, (most, used), strict=True):
        (folder / name).write_text(f"{value}\n")
    prefix = "" if unified else "total_"
    stat = f"anon 5\n{prefix}inactive_file {file_pages}\n{prefix}active_file 0\n"
    (folder / "memory.stat").write_text(stat)


@pytest.mark.parametrize("unified", [True, False], ids=["v2", "v1"])
def test_control_groups_leave_what_the_tightest_of_them_leaves(tmp_path, monkeypatch, unified):
    """Pages of files, which can go at any time, are not counted as used."""
    if not sys.platform.startswith("linux"):
        pytest.skip("control groups are Linux's")
    line = "0::/a/b" if unified else "4:memory:/a/b"
    real = memory._lines

    def lines(path):
        return [line, "9:pids:/"] if str(path) == "/proc/self/cgroup" else real(path)

    monkeypatch.setattr(memory, "_lines", lines)
    top = tmp_path if unified else tmp_path / "memory"
    assert memory._of_control_group(tmp_path) == math.inf
    group(top / "a" / "b", unified, "max" if unified else 2**63, 100)
    assert memory._of_control_group(tmp_path) > 1e18
    group(top / "a", unified, 1000, 800, file_pages=300)
    assert memory._of_control_group(tmp_path) == 500
    group(top, unified, 400, 100)
    assert memory._of_control_group(tmp_path) == 300


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
@pytest.mark.parametrize("limit", ["RLIMIT_DATA", "RLIMIT_AS"])
def test_a_limit_of_the_process_leaves_what_it_does_not_use(limit):
    code = f"""
        import resource
        from dualgap.memory import available, Memory
        before = available()
        most = 3 * 2**30
        resource.setrlimit(resource.{limit}, (most, most))
        found = Memory().limit
        assert found < most, found
        if before > 2 * most:
            held = bytearray(300 * 2**20)
            held[::4096] = bytes([1]) * len(held[::4096])
            less = available()
            assert abs(found - less - 300 * 2**20) < 30 * 2**20, (found, less)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


# ---- what is done without ----


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_float32_copy_is_done_without(monkeypatch, loss):
    monkeypatch.setattr(narrow, "LEAST_ENTRIES", 1)
    size = 4.0 * A.size
    for limit, made in ((4 * size, True), (4 * size - 4, False)):
        with within_memory(limit):
            assert (DenseDesign(A).narrowed() is not None) is made
    b = Z if loss == "squared" else SIGNS
    for limit in (int(1e9), int(max(NEEDED, size))):
        result = dualgap.solve(A, b, loss=loss, l2=1e-4, memory_limit=limit)
        assert result.status.converged and result.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("data", ["dense", "sparse"])
def test_gathered_columns_are_done_without(loss, intercept, data):
    """Both runs are certified by their own data, and neither is below the bound of the other."""
    matrix = A if data == "dense" else S
    b = Z if loss == "squared" else SIGNS
    given = {"loss": loss, "l1": 0.02, "fit_intercept": intercept, "algorithm": "working-set"}
    plenty = dualgap.solve(matrix, b, memory_limit="1 GB", **given)
    little = dualgap.solve(matrix, b, memory_limit=int(NEEDED), **given)
    for result in (plenty, little):
        assert result.status.converged and result.certificate.certified
    assert little.certificate.dual <= plenty.certificate.primal
    assert plenty.certificate.dual <= little.certificate.primal


def test_the_same_limit_gives_the_same_run():
    runs = [dualgap.solve(A, SIGNS, loss="logistic", l1=0.01, memory_limit=60_000) for _ in "ab"]
    assert np.array_equal(runs[0].x, runs[1].x) and np.array_equal(runs[0].y, runs[1].y)


@pytest.mark.parametrize("design", [DenseDesign(A), DenseDesign(np.asfortranarray(A))])
@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_columns_that_are_not_gathered_are_those_that_are(design, constant):
    at = np.array([3, 1, 17, 29] + [D] * bool(constant))
    with within_memory(1e9):
        here = design.columns(at, constant)
    with within_memory(8.0 * N * at.size):
        there = design.columns(at, constant)
    assert isinstance(here, DenseColumns) and isinstance(there, UngatheredColumns)
    w, r, x = RNG.random(N), RNG.standard_normal(N), RNG.standard_normal(at.size)
    np.testing.assert_allclose(there.matvec(x), here.matvec(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.rmatvec(r), here.rmatvec(r), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.norms_sq(w), here.norms_sq(w), rtol=1e-12)
    np.testing.assert_allclose(there.gram(w), here.gram(w), rtol=1e-11, atol=1e-11)
    some, others = np.array([0, 2]), np.arange(at.size)
    np.testing.assert_allclose(
        there.cross_gram(w, some, others), here.cross_gram(w, some, others), rtol=1e-11, atol=1e-11
    )
    h, zero = here.norms_sq(w), np.zeros(at.size)
    points = []
    for gathered in (here, there):
        point = np.zeros(at.size)
        with within_memory(8.0 * N * at.size):
            gathered.sweeps(w, r.copy(), point, h, zero + 0.1, zero, 3.0, 0.0)
        points.append(point)
    np.testing.assert_allclose(points[0], points[1], rtol=1e-12)
    with within_memory(8.0), pytest.raises(ValueError, match="copy of them"):
        there.sweeps(w, r.copy(), zero.copy(), h, zero, zero, 3.0, 0.0)


def test_room_for_more_columns_is_set_aside_where_there_is_memory():
    at = np.arange(2)
    for limit, count in ((1e9, D + 1), (4 * 8.0 * N * 3, 2)):
        with within_memory(limit):
            found = DenseDesign(A).columns(at)
        assert isinstance(found, DenseColumns) and found.room is not None
        assert len(found.room.T) == count


def test_sparse_data_are_not_laid_out_by_columns_without_memory():
    at, weights = np.array([1, 5, 30]), RNG.random(50)
    rich, poor = SparseDesign(S.copy()), SparseDesign(S.copy())
    with within_memory(1e9):
        full = rich.columns(at).gram(np.ones(N))
        sizes, outer = rich.column_sizes(at), rich.outer(weights)
    with within_memory(10.0):
        some = poor.columns(at)
        assert isinstance(some, columns.SparseColumns) and poor._csc is None
        np.testing.assert_allclose(some.gram(np.ones(N)), full, rtol=1e-13)
        np.testing.assert_array_equal(poor.column_sizes(at), sizes)
        np.testing.assert_allclose(poor.outer(weights), outer, rtol=1e-12, atol=1e-14)
        assert poor._by_frequency is None and poor._csc is None


def test_a_factor_of_the_hessian_is_done_without():
    size = 8.0 * hessian_factor.MATRICES * D * D
    for limit, can in ((4 * size, True), (4 * size - 4, False)):
        with within_memory(limit):
            assert np.isfinite(hessian_factor.cost(DenseDesign(A), np.ones(D))) is np.bool_(can)


def test_integers_are_converted_by_blocks_without_memory():
    integers = (10 * A).astype(np.int16)
    with within_memory(8.0 * A.size):
        assert isinstance(as_design(integers), BlockDesign)
    little = dualgap.solve(integers, Z, l2=0.1, memory_limit=int(NEEDED))
    plenty = dualgap.solve(integers.astype(float), Z, l2=0.1)
    assert little.status.converged
    assert little.certificate.dual <= plenty.certificate.primal
    assert plenty.certificate.dual <= little.certificate.primal


# ---- what is refused ----


def test_rows_that_do_not_fit_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(DenseDesign, "rmatvec", None)
    with pytest.raises(ValueError, match=r"200 rows needs 51.2 kB.* 50 kB that memory_limit.*open"):
        dualgap.solve(A, Z, l2=0.1, memory_limit="50 kB")


def test_rows_in_another_order_are_refused_where_their_copy_does_not_fit():
    wide = np.asfortranarray(np.tile(A, 20))
    given = {"l2": 0.1, "algorithm": "saga", "max_passes": 2}
    with pytest.raises(ValueError, match=r"a copy of A in it needs 960 kB.*C order"):
        dualgap.solve(wide, Z, memory_limit="500 kB", **given)
    dualgap.solve(wide, Z, memory_limit="2 MB", **given)


def test_memory_that_has_run_out_is_said_in_a_sentence(monkeypatch):
    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(DenseDesign, "matvec", fail)
    with pytest.raises(MemoryError, match=r"run out \(no room\).* 1 GB that memory_limit.*folder"):
        dualgap.solve(A, Z, l2=0.1, memory_limit="1 GB")
