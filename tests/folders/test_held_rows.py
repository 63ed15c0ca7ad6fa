"""Whether the rows of data on disk are held follows from memory, where nothing else decides."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import memory
from dualgap.algorithms.needs import is_served
from dualgap.algorithms.streamed import points
from dualgap.algorithms.streamed.inexact import InexactState
from dualgap.designs import BlockDesign, DenseDesign, maps
from dualgap.memory import row_vectors, within_memory
from tests.folders.data import MATRICES, A, B, N, S, W, folder, in_memory

LITTLE = int(row_vectors(N, None))
"""The vectors of a fit that holds rows take all of it."""
MUCH = 2 * LITTLE
"""They take half of it."""
LOGISTIC = {"loss": "logistic", "l2": 1e-2}


def is_held(result):
    """As the result says it, and as its dual point is."""
    held = result.slopes is None
    assert held == isinstance(result.state.y, np.ndarray)
    (note,) = [note for note in result.notes if note.startswith("rows are")]
    assert note.startswith("rows are held" if held else "rows are not held")
    return held


@pytest.mark.parametrize("rows", [A, S], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "given", [LOGISTIC, {"l2": 0.1}, {"l1": 0.02, "fit_intercept": True}], ids=str
)
def test_memory_decides(tmp_path, rows, given):
    """Both ways come to solutions of which neither is below the certified bound of the other."""
    opened = folder(tmp_path / "f", rows, B, W)
    assert opened.design.holds_rows is None
    little = dualgap.solve(opened, memory_limit=MUCH - 1, **given)
    much = dualgap.solve(opened, memory_limit=MUCH, **given)
    assert not is_held(little) and is_held(much)
    assert little.status.converged and much.status.converged
    assert little.certificate.dual <= much.certificate.primal
    assert much.certificate.dual <= little.certificate.primal
    assert little.y.shape == much.y.shape == (N,)
    judged = dualgap.certify(
        in_memory(rows), B, little.x, little.y, intercept=little.intercept, sample_weight=W,
        **{"fit_intercept": False, **given},
    )  # fmt: skip
    assert judged.certified and judged.relative_gap <= 1.01e-6


@pytest.mark.parametrize("held", [True, False])
def test_what_is_said_goes_before_memory(tmp_path, held):
    folder(tmp_path / "f")
    opened = dualgap.open(tmp_path / "f", holds_rows=held)
    for limit in (LITTLE, 10**9):
        result = dualgap.solve(opened, memory_limit=limit, **LOGISTIC)
        assert (result.slopes is None) is held
        assert not [note for note in result.notes if note.startswith("rows are")]


def test_a_problem_decides_and_each_call_decides_again(tmp_path):
    opened = folder(tmp_path / "f")
    with within_memory(LITTLE):
        problem = dualgap.Problem(opened, **LOGISTIC)
    assert problem.streamed is not None
    assert not is_held(problem.solve(memory_limit=LITTLE))
    assert is_held(problem.solve(memory_limit=MUCH))
    other = dualgap.Problem(opened, **LOGISTIC)
    assert other.streamed is None and not is_held(other.solve(memory_limit=LITTLE))
    changed = other.replace(b=-np.asarray(opened.b))
    one, two = (changed.solve(memory_limit=limit, tol=1e-12) for limit in (LITTLE, MUCH))
    assert not is_held(one) and is_held(two)
    np.testing.assert_allclose(one.x, two.x, rtol=1e-4)


@pytest.mark.parametrize(
    ("given", "because"),
    [
        ({"algorithm": "adf-bpd"}, "which algorithm='adf-bpd' needs"),
        ({"y0": np.zeros(N)}, "for y0 has an entry for each"),
        ({"precondition": "diagonal"}, "which precondition='diagonal' looks at"),
    ],
)
def test_what_needs_rows_has_them_if_they_fit(tmp_path, given, because):
    opened = folder(tmp_path / "f")
    result = dualgap.solve(opened, memory_limit=LITTLE, **LOGISTIC, **given)
    assert is_held(result) and any(because in note for note in result.notes)
    with pytest.raises(ValueError, match=r"needs 40.2 kB.* 30 kB that memory_limit allows"):
        dualgap.solve(opened, memory_limit="30 kB", **LOGISTIC, **given)


def test_a_problem_that_no_reading_solves_has_its_rows_held(tmp_path):
    class Odd(dualgap.regularizers.NonNegative):
        """One without strengths to go by."""

        has_strengths = False

    opened = folder(tmp_path / "f")
    given = {"loss": "logistic", "regularizer": Odd(l2=0.1)}
    with within_memory(LITTLE):
        problem = dualgap.Problem(opened, **given)
    result = problem.solve(memory_limit=LITTLE)
    assert is_held(result) is not is_served(problem)


def test_classes_count_as_often_as_there_are(tmp_path):
    codes = (np.arange(N) % 4).astype(float)
    opened = folder(tmp_path / "f", A, codes)
    given = {"loss": "multinomial", "l2": 0.1}
    assert not is_held(dualgap.solve(opened, memory_limit=4 * MUCH - 1, **given))
    assert is_held(dualgap.solve(opened, memory_limit=4 * MUCH, **given))


@pytest.mark.parametrize("begun", [LITTLE, MUCH])
def test_a_run_goes_on_as_it_began(tmp_path, begun):
    opened = folder(tmp_path / "f")
    given = {"loss": "logistic", "l1": 1e-3, "l2": 1e-4, "tol": 1e-12}
    first = dualgap.solve(opened, memory_limit=begun, max_passes=2, **given)
    for limit in (LITTLE, MUCH):
        then = dualgap.solve(opened, memory_limit=limit, state=first.state, **given)
        assert is_held(then) == is_held(first) and then.status.converged


@pytest.mark.parametrize("begun", [LITTLE, MUCH])
def test_a_checkpoint_goes_on_as_it_began(tmp_path, begun):
    opened, kept = folder(tmp_path / "f"), tmp_path / "run.npz"
    given = {"loss": "logistic", "l2": 1e-4, "tol": 1e-10}
    whole = dualgap.solve(opened, memory_limit=begun, **given)
    dualgap.solve(opened, memory_limit=begun, checkpoint=kept, max_passes=2, **given)
    for limit in (MUCH, LITTLE):
        then = dualgap.solve(opened, memory_limit=limit, checkpoint=kept, resume=True, **given)
        assert is_held(then) == is_held(whole)
        assert np.array_equal(then.x, whole.x)


def test_certificates_hold_rows_where_y_is_given(tmp_path):
    opened = folder(tmp_path / "f")
    best = dualgap.solve(A, B, **LOGISTIC)
    with within_memory(LITTLE):
        for y in (None, best.y):
            found = dualgap.certify(opened, None, best.x, y, **LOGISTIC)
            assert found.certified and found.relative_gap <= 1e-5


def test_paths_hold_rows_or_refuse(tmp_path):
    opened = folder(tmp_path / "f")
    given = {"lambdas": 5, "loss": "logistic"}
    found = dualgap.path(opened, memory_limit=LITTLE, **given)
    assert found.converged and found.y.shape == (5, N)
    with pytest.raises(ValueError, match="that memory_limit allows"):
        dualgap.path(opened, memory_limit=LITTLE - 1, **given)


@pytest.mark.parametrize("name", ["Ridge", "Lasso", "LogisticRegression", "HuberRegressor"])
def test_estimators_leave_it_to_memory(tmp_path, name):
    """HuberRegressor, which looks for a scale as well, has its rows held."""
    pytest.importorskip("sklearn")
    opened = folder(tmp_path / "f")
    model = getattr(dualgap.estimators, name)()
    with within_memory(LITTLE):
        ours = model.fit(*opened).coef_.copy()
    np.testing.assert_allclose(ours, model.fit(A, B).coef_, atol=1e-2)


# ---- matrices of readings ----


def test_the_matrix_of_a_reading_follows_from_memory():
    """All matrices of its side that are alive at once take their share, but for small ones."""
    for limit in (1e6, 5e7, 1e9, np.inf):
        with within_memory(limit):
            side = points.largest_matrix(2000, 4)
        assert points.ALWAYS_FORMED <= side <= 2000
        fits = 4 * 8.0 * points.MATRICES * np.array([side, side + 1]) ** 2 <= limit
        assert fits[0] or side == points.ALWAYS_FORMED
        assert not fits[1] or side == 2000


def test_a_matrix_that_does_not_fit_is_done_without(tmp_path):
    """By conjugate gradients; neither objective is below the certified bound of the other."""
    rng = np.random.default_rng(2)
    wide = sp.random_array((N, 600), density=0.05, format="csr", rng=rng)
    opened = folder(tmp_path / "f", wide, B)
    runs = [dualgap.solve(opened, memory_limit=limit, **LOGISTIC) for limit in (LITTLE, 10**9)]
    assert isinstance(runs[0].state.own, InexactState) and is_held(runs[1])
    for one, other in (runs, runs[::-1]):
        assert one.status.converged and one.certificate.dual <= other.certificate.primal


# ---- memory maps ----


@pytest.mark.parametrize("stored", ["float64", "float32", "int16"])
def test_a_memory_map_that_is_given_as_an_array_has_the_same_choice(tmp_path, monkeypatch, stored):
    monkeypatch.setattr(maps, "LARGE", 0)
    np.save(tmp_path / "A.npy", MATRICES[stored])
    A_map = np.load(tmp_path / "A.npy", mmap_mode="r")
    bases = []
    for limit in (LITTLE, MUCH):
        with within_memory(limit):
            problem = dualgap.Problem(A_map, B, **LOGISTIC)
        bases.append(problem.base)
        result = problem.solve(memory_limit=limit)
        assert is_held(result) == (limit == MUCH) and result.status.converged
        best = dualgap.solve(in_memory(MATRICES[stored]), B, **LOGISTIC)
        assert result.certificate.dual <= best.certificate.primal
        assert best.certificate.dual <= result.certificate.primal
    assert isinstance(bases[0], BlockDesign)
    if stored != "int16":
        assert isinstance(bases[1], DenseDesign)
    walked = dualgap.solve(A_map, B, algorithm="saga", memory_limit=10**7, max_passes=5, **LOGISTIC)
    assert is_held(walked) and walked.readings > 0.0


def test_small_maps_and_arrays_are_used_as_they_are(tmp_path):
    np.save(tmp_path / "A.npy", A)
    A_map = np.load(tmp_path / "A.npy", mmap_mode="r")
    for matrix in (A_map, A):
        assert dualgap.Problem(matrix, B).open is None


def test_targets_stay_in_the_type_of_their_file(tmp_path):
    """Converted all at once they would be a vector with an entry for each row."""
    path = tmp_path / "f"
    folder(path, A, B)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["arrays"]["b"]["dtype"] = "|i1"
    (path / "manifest.json").write_text(json.dumps(manifest))
    np.save(path / "b.npy", B.astype(np.int8))
    opened = dualgap.open(path)
    assert opened.b.dtype == np.int8
    for limit in (LITTLE, MUCH):
        result = dualgap.solve(opened, memory_limit=limit, **LOGISTIC)
        assert result.status.converged
        np.testing.assert_allclose(result.x, dualgap.solve(A, B, **LOGISTIC).x, atol=1e-3)


# ---- private memory ----

ALONE = """
import json, resource, sys, threading, time
import numpy as np
import dualgap

folder, kind, gib, given = sys.argv[1], sys.argv[2], float(sys.argv[3]), json.loads(sys.argv[4])


most = 0


def watch():
    global most
    while True:
        words = open("/proc/self/status").read().split("RssAnon:")[1].split()
        most = max(most, int(words[0]) / 1024)
        time.sleep(0.01)


def fit():
    if kind == "folder":
        return dualgap.solve(dualgap.open(folder), **given)
    A, b = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in "Ab")
    return dualgap.solve(A, b, **given)


resource.setrlimit(resource.RLIMIT_DATA, (int(gib * 2**30),) * 2)
threading.Thread(target=watch, daemon=True).start()
try:
    result = fit()
    said = {"status": result.status.name, "gap": result.certificate.relative_gap,
            "notes": result.notes, "private": most}
except ValueError as refused:
    said = {"refused": str(refused)}
print(json.dumps(said))
"""
"""A fit with limited private memory, of which pages of mapped files are none."""


def alone(path, kind, gib, **given):
    """What a process says that may have so much."""
    command = [sys.executable, "-c", ALONE, str(path), kind, str(gib), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """3e6 x 4, of which a vector takes 24 MB, and its first half."""
    path = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(8)
    x = rng.standard_normal(4)

    def blocks(count):
        for _ in range(count):
            rows = rng.standard_normal((250_000, 4))
            yield rows, np.where(rows @ x + rng.standard_normal(250_000) > 0.0, 1.0, -1.0)

    dualgap.datasets.write_folder(path / "whole", blocks(12))
    dualgap.datasets.write_folder(path / "half", blocks(6))
    return path


linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="private memory is limited there"
)


@linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("map", {"loss": "logistic", "l2": 1e-6}),
        ("map", {"l1": 0.01}),
        ("folder", {"loss": "logistic", "l2": 1e-6, "algorithm": "newton"}),
        ("map", {"loss": "logistic", "l2": 1e-6, "algorithm": "adf-spdc", "max_passes": 2}),
    ],
    ids=["auto", "lasso", "newton", "adf-spdc"],
)
def test_a_fit_under_a_limit_fits_or_says_why_not(large, kind, given):
    """Under 0.5 GiB, where the vectors of a fit that holds rows would take 0.8 GB."""
    said = alone(large / "whole", kind, 0.5, **given)
    if given.get("algorithm") == "adf-spdc":
        assert "needs 768 MB" in said["refused"]
        return
    assert said["status"] == "CONVERGED" and said["gap"] <= 1e-6
    assert any("rows are not held" in note for note in said["notes"])


@linux
@pytest.mark.slow
def test_private_memory_does_not_grow_with_the_rows(large):
    """One vector of the rows that are more takes 12 MB; what is left is the allocator's."""
    given = {"loss": "logistic", "l2": 1e-6, "fit_intercept": True}
    half, whole = (alone(large / name, "folder", 0.5, **given) for name in ("half", "whole"))
    assert half["status"] == whole["status"] == "CONVERGED"
    assert whole["private"] <= half["private"] + 6.0
    assert memory.row_vectors(3_000_000, None) / 2**20 > 4.0 * whole["private"]
