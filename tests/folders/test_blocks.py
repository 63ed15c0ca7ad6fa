"""Rows that are read by chunks: the laws of designs, and the same bits wherever and by whom."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.designs import BlockDesign, Cuts, DenseDesign, InterceptDesign, Threads, as_design
from dualgap.designs.files import FileArray
from tests.folders.data import MATRICES, OFFSET, A, B, N, S, W, folder, in_memory
from tests.laws.test_reduce import CALLS, bits

CUTS = [Cuts((0, N), N), Cuts((0, N), 20), Cuts((0, 40, 80, 120, N), 20), Cuts((0, 1, 9, N), 7)]


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("cuts", CUTS)
def test_folders_obey_the_laws(tmp_path, kind, cuts):
    design = folder(tmp_path / "f", MATRICES[kind]).design
    dualgap.check_design(design.arranged(cuts=cuts))
    dualgap.check_design(InterceptDesign(design.arranged(cuts=cuts), np.full(N, 1 / N)))


@pytest.mark.parametrize("kind", MATRICES)
def test_a_folder_holds_the_numbers_that_it_was_given(tmp_path, kind):
    opened = folder(tmp_path / "f", MATRICES[kind], B, W, OFFSET)
    found = np.vstack([block for _, block in opened.design.blocks(13)])
    expected = in_memory(MATRICES[kind])
    assert np.array_equal(found, expected.toarray() if sp.issparse(expected) else expected)
    for vector, given in ((opened.b, B), (opened.weights, W), (opened.offset, OFFSET)):
        assert np.array_equal(vector, given)
    opened.check()


@pytest.mark.parametrize("cuts", [cuts for cuts in CUTS if cuts.any])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("stored", ["dense", "CSR"])
def test_memory_disk_and_threads_have_the_same_bits(tmp_path, stored, call, cuts):
    """The cuts decide, and nothing else does: for every task of the package.

    Without a cut, data in memory have products of their own.
    """
    task, rows, args = call
    columns = 7  # as many as the tasks are called with
    matrix = np.resize(A, (N, columns)) if stored == "dense" else sp.csr_array(S[:, :columns])
    on_disk = folder(tmp_path / "f", matrix).design
    found = set()
    for base in (as_design(matrix), BlockDesign(matrix), on_disk):
        for executor in (None, Threads(1), Threads(2), Threads(5)):
            design = base.arranged(cuts=cuts, executor=executor)
            if rows is None:
                found.add(bits(design.reduce(task, *args)))
            else:
                found.add(bits(design.map_rows(task, tuple(np.resize(r, N) for r in rows), *args)))
    assert len(found) == 1


@pytest.mark.parametrize("options", [{"l2": 1e-3, "loss": "logistic"}, {"l1": 0.02}, {"l2": 0.1}])
@pytest.mark.parametrize("stored", ["float64", "int16", "CSR"])
def test_a_fit_has_the_same_bits_with_any_number_of_threads(tmp_path, stored, options):
    on_disk = folder(tmp_path / "f", MATRICES[stored], B, W).design
    design = on_disk.arranged(cuts=Cuts((0, 40, 80, 120, N), 20))
    found = [
        dualgap.solve(design, B, sample_weight=W, fit_intercept=True, n_threads=n, **options)
        for n in (None, 1, 2, 7)
    ]
    assert found[0].status.converged
    for other in found[1:]:
        assert np.array_equal(other.x, found[0].x) and np.array_equal(other.y, found[0].y)
        assert other.intercept == found[0].intercept and other.passes == found[0].passes
        assert other.certificate.gap == found[0].certificate.gap


@pytest.mark.parametrize("stored", MATRICES)
@pytest.mark.parametrize("with_rows", [False, True], ids=["plain", "weights and offset"])
@pytest.mark.parametrize(
    "options",
    [
        {"l2": 1e-3, "loss": "logistic"},
        {"l2": 0.1},
        {"l1": 0.02},
        {"l1": 0.02, "l2": 0.01, "loss": "huber"},
        {"l2": 1e-2, "loss": "smoothed_hinge", "algorithm": "newton"},
    ],
)
def test_a_fit_from_a_folder_is_the_fit_in_memory(tmp_path, stored, with_rows, options):
    """Each point is certified by its own data, and neither objective is below the other's bound."""
    rows = (B, W, OFFSET) if with_rows else (B,)
    given = {"sample_weight": W, "offset": OFFSET} if with_rows else {}
    ours = dualgap.solve(
        folder(tmp_path / "f", MATRICES[stored], *rows), fit_intercept=True, **options
    )
    matrix = in_memory(MATRICES[stored])
    same = dualgap.solve(matrix, B, fit_intercept=True, **given, **options)
    assert ours.status.converged and same.status.converged
    assert ours.certificate.dual <= same.certificate.primal
    assert same.certificate.dual <= ours.certificate.primal
    judged = {k: v for k, v in options.items() if k != "algorithm"}
    again = dualgap.certify(
        matrix, B, ours.x, ours.y, intercept=ours.intercept, fit_intercept=True, **given, **judged
    )
    assert again.certified and again.relative_gap <= 1.01e-6


def test_whatever_takes_data_and_targets_takes_a_folder(tmp_path):
    opened = folder(tmp_path / "f", A, B, W, OFFSET)
    problem = dualgap.Problem(opened, loss="logistic", l2=1e-2)
    result = problem.solve()
    same = dualgap.Problem(A, B, loss="logistic", l2=1e-2, sample_weight=W, offset=OFFSET)
    np.testing.assert_allclose(result.x, same.solve().x, rtol=1e-6, atol=1e-9)
    certificate = dualgap.certify(opened, x=result.x, y=result.y, loss="logistic", l2=1e-2)
    assert certificate.relative_gap <= 1e-6
    path = dualgap.path(opened, lambdas=5)
    assert path.converged
    plain = dualgap.open(folder(tmp_path / "g").path)
    design, b = plain
    assert design is plain.design and np.array_equal(b, B)
    with pytest.raises(TypeError, match="b is missing"):
        dualgap.solve(A)
    with pytest.raises(TypeError, match="x is missing"):
        dualgap.certify(opened)
    other = dualgap.solve(opened, np.abs(B), l2=0.1, sample_weight=np.ones(N))
    assert np.array_equal(other.x, dualgap.solve(plain.design, np.abs(B), l2=0.1, offset=OFFSET).x)


@pytest.mark.parametrize("estimator", ["Ridge", "Lasso", "ElasticNet", "LogisticRegression"])
def test_estimators_take_a_folder(tmp_path, estimator):
    opened = folder(tmp_path / "f")
    kind = getattr(dualgap, estimator)
    ours, same = kind().fit(*opened), kind().fit(A, B)
    np.testing.assert_allclose(ours.coef_, same.coef_, rtol=1e-5, atol=1e-7)
    assert ours.certificate_.certified and ours.n_features_in_ == A.shape[1]
    assert np.array_equal(kind().fit(opened, None).coef_, ours.coef_)
    assert ours.predict(opened.design).shape == (N,)


def test_estimators_say_what_a_folder_lacks_for_them(tmp_path):
    with pytest.raises(ValueError, match=r"sample_weight=data\.weights"):
        dualgap.Ridge().fit(folder(tmp_path / "g", A, B, W), None)
    with pytest.raises(ValueError, match="has 6 features, but Ridge is expecting 2"):
        dualgap.Ridge().fit(A[:, :2], B).predict(folder(tmp_path / "h").design)


@pytest.mark.parametrize("algorithm", ["saga", "sdca", "adf-spdc", "svrg"])
def test_algorithms_that_visit_rows_refuse_a_folder_by_name(tmp_path, algorithm):
    with pytest.raises(ValueError, match=rf"{algorithm}.*the folder '.*f'.*'newton'"):
        dualgap.solve(folder(tmp_path / "f"), loss="logistic", l2=0.1, algorithm=algorithm)


# ---- what is copied ----


def test_a_problem_holds_nothing_of_the_length_of_the_data_that_it_need_not(tmp_path):
    opened = dualgap.open(folder(tmp_path / "f", A, B, W, OFFSET).path, holds_rows=False)
    problem = dualgap.Problem(opened)
    for name in ("b", "sample_weight", "offset"):
        assert isinstance(getattr(problem, name).source, FileArray), name
    plain = dualgap.Problem(folder(tmp_path / "g"))
    assert plain.q.strides == (0,)
    assert np.array_equal(plain.q, dualgap.Problem(A, B).q)


def test_large_maps_of_integers_are_read_block_by_block(tmp_path):
    """From 64 MiB of float64 on; smaller ones, and maps of floats, are as they were."""
    for columns, kind in ((6, DenseDesign), (60_000, BlockDesign)):
        path = tmp_path / f"{columns}"
        whole = np.memmap(path, np.int16, "w+", shape=(N, columns))
        whole[:] = np.resize(np.arange(-50, 50), (N, columns))
        design = as_design(np.memmap(path, np.int16, "r", shape=(N, columns)))
        assert type(design) is kind
        x = np.linspace(-1.0, 1.0, columns)
        np.testing.assert_allclose(design.matvec(x), whole.astype(float) @ x, atol=1e-8)
    np.asarray(A).tofile(tmp_path / "floats")
    assert type(as_design(np.memmap(tmp_path / "floats", np.float64, "r", shape=A.shape))) is (
        DenseDesign
    )


def test_a_design_goes_to_another_process_as_a_path(tmp_path):
    for matrix in (A, S):
        design = folder(tmp_path / str(matrix.shape[1]), matrix).design
        x = np.ones(matrix.shape[1])
        expected = design.matvec(x)
        sent = pickle.dumps(design)
        assert len(sent) < 4000
        assert np.array_equal(pickle.loads(sent).matvec(x), expected)
    mapped = np.memmap(tmp_path / "m", np.int8, "w+", shape=(4, 3))
    mapped[:] = 2
    assert np.array_equal(
        pickle.loads(pickle.dumps(BlockDesign(mapped))).matvec(np.ones(3)), np.full(4, 6.0)
    )


# ---- what is wrong with data ----


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("matrix", [A, S], ids=["dense", "CSR"])
def test_a_number_that_is_missing_in_one_block_is_named_with_its_row(matrix, loss):
    bad = matrix.copy()
    if sp.issparse(bad):
        bad.data[bad.indptr[93]] = np.nan
        column = int(bad.indices[bad.indptr[93]])
    else:
        bad[93, 2], column = np.inf, 2
    design = BlockDesign(bad, rows_per_chunk=20).arranged(cuts=Cuts((0, 60, N), 20))
    with pytest.raises(ValueError, match=rf"A is not finite: 1 .*column {column};.*in row 93"):
        dualgap.solve(design, B, loss=loss, l2=0.1)


@pytest.mark.parametrize("held", [True, False], ids=["rows are held", "rows are not held"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_so_is_one_that_has_got_into_a_folder(tmp_path, kind, held):
    path = folder(tmp_path / "f", A.astype(kind)).path
    np.lib.format.open_memmap(path / "A.npy", "r+")[93, 2] = np.nan
    with pytest.raises(ValueError, match=r"A is not finite: 1 .*column 2;.*in row 93"):
        dualgap.solve(dualgap.open(path, holds_rows=held), l2=0.1, loss="logistic")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": (5, 40)}, r"indices\[5\] = 40, but columns are numbered 0 to 39"),
        ({"indices": (5, -1)}, r"indices\[5\] = -1"),
        ({"indptr": (7, 10_000)}, "indptr falls at row 7"),
        ({"indptr": (N, 10_000)}, "indptr points to entry 10000"),
        ({"indptr": (0, -1)}, "indptr points to entry"),
    ],
)
def test_places_outside_of_the_shape_are_refused_before_compiled_code_sees_them(change, message):
    bad = S.copy()
    for name, (at, value) in change.items():
        getattr(bad, name)[at] = value
    with pytest.raises(ValueError, match=message):
        dualgap.solve(BlockDesign(bad, rows_per_chunk=N), B, l2=0.1)


def test_entries_that_are_there_twice_or_out_of_order_are_added_up():
    twice = sp.csr_array((N, 40))
    twice.indptr = 2 * S.indptr
    twice.indices = np.concatenate(
        [np.tile(S.indices[lo:hi][::-1], 2) for lo, hi in zip(S.indptr, S.indptr[1:], strict=False)]
    )
    twice.data = np.concatenate(
        [np.tile(S.data[lo:hi][::-1], 2) for lo, hi in zip(S.indptr, S.indptr[1:], strict=False)]
    )
    design = BlockDesign(twice, rows_per_chunk=20)
    for _ in range(2):
        np.testing.assert_allclose(design.gram(W), 4.0 * (S.T @ (W[:, None] * S.toarray())))


@pytest.mark.parametrize(
    "given",
    [np.ones(3), np.ones((0, 3)), np.array([["a"]]), np.ones((2, 2)) * 1j, sp.csc_array((2, 2))],
)
def test_what_is_no_matrix_of_rows_is_refused(given):
    with pytest.raises((ValueError, TypeError), match="A "):
        BlockDesign(given)


@pytest.mark.parametrize("name", ["A", "data"])
def test_a_file_that_shrinks_while_it_is_read_is_an_error_and_no_crash(tmp_path, name):
    matrix = np.tile(A, (2000, 1)) if name == "A" else sp.vstack([S] * 2000, format="csr")
    b = np.resize(B, matrix.shape[0])
    opened = folder(tmp_path / "f", matrix, b)
    x = np.ones(matrix.shape[1])
    opened.design.matvec(x)
    file = tmp_path / "f" / f"{name}.npy"
    with file.open("r+b") as handle:
        handle.truncate(file.stat().st_size // 2)
    with pytest.raises(ValueError, match=rf"{name}\.npy has become shorter"):
        opened.design.matvec(x)
    mapped = np.memmap(tmp_path / "m", np.int8, "w+", shape=(40_000, 3))
    design = BlockDesign(mapped, rows_per_chunk=1000)
    design.matvec(np.ones(3))
    with (tmp_path / "m").open("r+b") as handle:
        handle.truncate(100)
    with pytest.raises(ValueError, match="m has become shorter"):
        design.matvec(np.ones(3))
