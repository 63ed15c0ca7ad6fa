"""Designs: every verb, for every way to store the data, against extended precision."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dualgap.designs import DenseDesign, InterceptDesign, SparseDesign, as_design, contract, sparse
from dualgap.designs.columns import AllColumns, SparseColumns
from dualgap.designs.tasks import there_and_back

EPS = np.finfo(float).eps
N, D = 37, 11


def values(kind="real"):
    """Data with empty rows and columns, and one full row (32 bits or fewer, so all can hold it)."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.4)
    if kind == "integer":
        A = np.round(3 * A)
    elif kind == "bool":
        A = A > 0
    A[[5, N - 1]] = 0
    A[:, [3, D - 1]] = 0
    A[8, :D] = 1
    return A.astype(np.float32).astype(np.float64)


def with_duplicates(A, form=sp.csr_array):
    """The same matrix with every entry stored in two halves, in reverse order."""
    C = sp.coo_array(A)
    data = np.concatenate([C.data / 2, C.data / 2])[::-1]
    rows, columns = (np.concatenate([k, k])[::-1] for k in (C.row, C.col))
    order = np.lexsort((-columns, rows)) if form is sp.csr_array else np.lexsort((-rows, columns))
    along, across = (rows, columns) if form is sp.csr_array else (columns, rows)
    counts = np.bincount(along, minlength=A.shape[0] if form is sp.csr_array else A.shape[1])
    ends = np.concatenate([[0], np.cumsum(counts)])
    return form((data[order], across[order], ends), shape=A.shape)


def with_zeros(A):
    """The same matrix with explicit zeros stored."""
    S = sp.csr_array(np.where(A == 0, 7.0, A))
    S.data[S.data == 7.0] = 0.0
    return S


def with_indices(A, dtype):
    A.indices, A.indptr = A.indices.astype(dtype), A.indptr.astype(dtype)
    return A


def strided(A):
    return np.repeat(A, 2, axis=0)[::2]


REAL, INTEGER, BOOL = values(), values("integer"), values("bool")
STORED = {
    "C float64": (REAL, lambda A: np.array(A, order="C")),
    "F float64": (REAL, lambda A: np.array(A, order="F")),
    "C float32": (REAL, lambda A: np.array(A, np.float32, order="C")),
    "F float32": (REAL, lambda A: np.array(A, np.float32, order="F")),
    "strided": (REAL, strided),
    "big-endian": (REAL, lambda A: A.astype(">f8")),
    "float16": (INTEGER, lambda A: A.astype(np.float16)),
    "int64": (INTEGER, lambda A: A.astype(np.int64)),
    "int8 F": (INTEGER, lambda A: np.array(A, np.int8, order="F")),
    "bool": (BOOL, lambda A: A.astype(bool)),
    "list": (REAL, lambda A: A.tolist()),
    "data frame": (REAL, pd.DataFrame),
    "mixed data frame": (
        INTEGER,
        lambda A: pd.DataFrame(A).astype({0: "int32", 1: "float32", 2: "int8"}),
    ),
    "CSR": (REAL, sp.csr_array),
    "CSC": (REAL, sp.csc_array),
    "CSR matrix": (REAL, sp.csr_matrix),
    "CSC matrix": (REAL, sp.csc_matrix),
    "CSR float32": (REAL, lambda A: sp.csr_array(A, dtype=np.float32)),
    "CSC float32": (REAL, lambda A: sp.csc_array(A, dtype=np.float32)),
    "CSR int32 indices": (REAL, lambda A: with_indices(sp.csr_array(A), np.int32)),
    "CSR int64 indices": (REAL, lambda A: with_indices(sp.csr_array(A), np.int64)),
    "CSC int64 indices": (REAL, lambda A: with_indices(sp.csc_array(A, dtype="f4"), np.int64)),
    "CSR integers": (INTEGER, lambda A: sp.csr_array(A.astype(np.int32))),
    "CSC bool": (BOOL, lambda A: sp.csc_array(A.astype(bool))),
    "COO": (REAL, sp.coo_array),
    "LIL": (REAL, sp.lil_array),
    "DOK": (REAL, sp.dok_array),
    "DIA": (REAL, sp.dia_array),
    "BSR": (REAL, sp.bsr_array),
    "COO duplicates": (REAL, lambda A: with_duplicates(A).tocoo()),
    "CSR duplicates": (REAL, with_duplicates),
    "CSC duplicates": (REAL, lambda A: with_duplicates(A, sp.csc_array)),
    "CSR zeros": (REAL, with_zeros),
    "CSR empty": (np.zeros((4, 3)), sp.csr_array),
    "one column": (REAL[:, :1], np.array),
    "one row": (REAL[8:9], np.array),
}
each_storage = pytest.mark.parametrize("stored", STORED)
each_top = pytest.mark.parametrize("intercept", [False, True], ids=["alone", "intercept"])


@pytest.fixture(params=["one block", "many blocks"])
def blocks(request, monkeypatch):
    """Also with blocks of three rows and pieces of five entries."""
    if request.param == "many blocks":
        monkeypatch.setattr(contract, "BLOCK_BYTES", 3 * 8 * D)
        monkeypatch.setattr(sparse, "PIECE_NONZEROS", 5)


def build(stored, intercept):
    """The design, and its matrix in extended precision."""
    A, store = STORED[stored]
    design = as_design(store(A))
    if intercept:
        design = InterceptDesign(design, np.full(len(A), 1 / len(A)))
        A = np.column_stack([A, np.full(len(A), design.scale)])
    return design, A.astype(np.longdouble)


def arguments(A):
    """x, r and weights of many magnitudes; some weights 0."""
    rng = np.random.default_rng(7)
    n, d = A.shape
    x, r = (rng.standard_normal(k) * 10.0 ** rng.integers(-3, 4, k) for k in (d, n))
    return x, r, rng.random(n) * (rng.random(n) < 0.8)


def assert_close(found, exact, magnitude, terms):
    """Within the a priori bound of any order of summation: terms * eps * sum of |terms|."""
    found = np.asarray(found)
    assert found.dtype == np.float64
    assert found.shape == exact.shape
    assert (abs(found - exact) <= (terms + 2) * EPS * magnitude).all()


@each_storage
@each_top
def test_products(stored, intercept, blocks):
    design, A = build(stored, intercept)
    n, d = A.shape
    x, r, _ = arguments(A)
    assert design.shape == A.shape
    assert_close(design.matvec(x), A @ x, abs(A) @ abs(x), d)
    assert_close(design.rmatvec(r), A.T @ r, abs(A).T @ abs(r), n)


@each_storage
@each_top
@pytest.mark.parametrize("columns", [None, 3], ids=["vector", "matrix"])
def test_there_and_back(stored, intercept, columns, blocks, monkeypatch):
    """Both products for one reading are the two products."""
    monkeypatch.setattr("dualgap.designs.dense.LEAST_ROWS", 1)
    design, A = build(stored, intercept)
    n, d = A.shape
    x, _, w = arguments(A)
    if columns is not None:
        x = np.outer(x, [1.0, -2.0, 0.5])
    (z, at), (u, count) = design.map_rows(there_and_back, (w, np.arange(n)), x, weigh_and_tell)
    assert (at == np.arange(n)).all() and count == n
    magnitude, w = abs(A) @ abs(x), w if columns is None else w[:, None]
    assert_close(z, A @ x, magnitude, d)
    assert_close(u, A.T @ (w * (A @ x)), abs(A).T @ (w * magnitude), n + d)


def weigh_and_tell(z, rows):
    """What it was asked for, and how much of it."""
    w, at = rows
    return (w if z.ndim == 1 else w[:, None]) * z, (at,), (len(z),)


@each_storage
@each_top
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shift", [0.0, -1.5])
def test_weighted_sweep(stored, intercept, compiled, shift, blocks, monkeypatch):
    if compiled:
        monkeypatch.setattr("dualgap.designs.sparse.WORTH_A_KERNEL", 0)
    design, A = build(stored, intercept)
    n, d = A.shape
    x, _, w = arguments(A)
    z, u = design.weighted_sweep(x, w, shift)
    magnitude = abs(A) @ abs(x) + abs(shift)
    assert_close(z, A @ x + shift, magnitude, d + 1)
    assert_close(u, A.T @ (w * (A @ x + shift)), abs(A).T @ (w * magnitude), n + d + 1)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_frequent_columns_first_changes_no_bit(index, monkeypatch):
    """Where a few columns have most of the entries, and where none stands out."""
    from dualgap.designs import sparse

    monkeypatch.setattr(sparse, "WORTH_A_KERNEL", 0)
    monkeypatch.setattr(sparse, "FREQUENT", 4)
    rng = np.random.default_rng(0)
    for share in (0.9, 0.05):
        density = np.where(np.arange(30) % 10 == 7, share, 0.05)
        A = sp.csr_array(rng.standard_normal((50, 30)) * (rng.random((50, 30)) < density))
        A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
        design, x, w = as_design(A), rng.standard_normal(30), rng.random(50)
        for _ in range(sparse.SWEEPS_TO_SORT):
            first = design.weighted_sweep(x, w, 0.5)
        assert "_by_frequency" not in design.__dict__
        later = design.weighted_sweep(x, w, 0.5)
        assert (design._by_frequency is None) == (share == 0.05)
        for one, other in zip(first, later, strict=True):
            assert (one == other).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [(), (3,)], ids=["vector", "matrix"])
def test_many_products_change_no_bit_of_the_next(kind, columns, monkeypatch):
    from dualgap.designs import sparse

    for name, value in {"WORTH_A_KERNEL": 0, "FREQUENT": 4, "PIECE_NONZEROS": 64}.items():
        monkeypatch.setattr(sparse, name, value)
    rng = np.random.default_rng(0)
    for share in (0.9, 0.05):
        density = np.where(np.arange(30) % 10 == 7, share, 0.05)
        A = sp.csr_array(rng.standard_normal((50, 30)) * (rng.random((50, 30)) < density))
        design = as_design(A.astype(kind))
        x, r = rng.standard_normal((30, *columns)), rng.standard_normal((50, *columns))
        for _ in range(sparse.PRODUCTS_TO_SORT // 2):
            z, u = design.matvec(x), design.rmatvec(r)
        assert "_by_frequency" not in design.__dict__
        assert np.array_equal(design.matvec(x), z) and np.array_equal(design.rmatvec(r), u)
        assert (design._pieces_by_frequency is None) == (share == 0.05)
        np.testing.assert_allclose(z, A.astype(kind) @ x, rtol=1e-12, atol=1e-12)


@each_storage
@each_top
def test_outer(stored, intercept, blocks):
    """A diag(w) A', with weights of its own for each column and one for all."""
    design, A = build(stored, intercept)
    d = A.shape[1]
    for w in (np.linspace(0.0, 2.0, d), np.full(d, 0.7)):
        assert_close(design.outer(w), (A * w) @ A.T, (abs(A) * w) @ abs(A).T, 2 * d)


@each_storage
@each_top
def test_some_of_the_rows(stored, intercept, blocks):
    design, A = build(stored, intercept)
    rows = np.arange(len(A)) % 3 != 1
    x, r, _ = arguments(A)
    some = design.take(rows)
    assert some.shape == A[rows].shape
    assert_close(some.matvec(x), A[rows] @ x, abs(A[rows]) @ abs(x), A.shape[1])
    assert_close(some.rmatvec(r[rows]), A[rows].T @ r[rows], abs(A[rows]).T @ abs(r[rows]), len(A))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_narrow_copy_knows_six_digits(order, intercept, unit, blocks, monkeypatch):
    """Of every verb, whatever the units of data, vectors and weights."""
    monkeypatch.setattr("dualgap.designs.narrow.LEAST_ENTRIES", 0)
    A = np.array(unit * REAL, order=order)
    design = as_design(A)
    if intercept:
        design = InterceptDesign(design, np.full(N, 1.0 / N))
        A = np.column_stack((A, np.full(N, design.scale)))
    narrow = design.narrowed()
    x, _, w = arguments(A)
    x, w = 1e-60 * x, 1e-60 * w
    z, u = narrow.weighted_sweep(x, w, 0.5 * unit * 1e-60)
    exact = A @ x + 0.5 * unit * 1e-60
    np.testing.assert_allclose(z, exact, rtol=0, atol=1e-6 * abs(exact).max())
    u_exact = A.T @ (w * exact)
    np.testing.assert_allclose(u, u_exact, rtol=0, atol=1e-6 * abs(u_exact).max())
    G = (A.T * w) @ A
    np.testing.assert_allclose(narrow.gram(w), G, rtol=0, atol=1e-6 * abs(G).max())


@pytest.mark.parametrize(
    ("A", "why"),
    [
        (REAL, "too small"),
        (REAL.astype(np.float32), "narrow already"),
        (1e30 * REAL, "beyond float32 when squared"),
        (1e-30 * REAL, "below float32 when squared"),
        (sp.csr_array(REAL), "sparse"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_narrow_copy(A, why, monkeypatch):
    if why != "too small":
        monkeypatch.setattr("dualgap.designs.narrow.LEAST_ENTRIES", 0)
    assert as_design(A).narrowed() is None


@each_storage
@each_top
def test_absolute_products(stored, intercept, blocks):
    design, A = build(stored, intercept)
    n, d = A.shape
    x, r, _ = arguments(A)
    z, u = design.absolute_product(x, r)
    assert_close(z, abs(A) @ x, abs(A) @ abs(x), d)
    assert_close(u, abs(A).T @ r, abs(A).T @ abs(r), n)


@each_storage
@each_top
def test_norms(stored, intercept, blocks):
    design, A = build(stored, intercept)
    n, d = A.shape
    _, _, w = arguments(A)
    rows, columns = (A * A).sum(axis=1), w @ (A * A)
    assert_close(design.row_norms_sq(), rows, rows, d)
    assert_close(design.column_norms_sq(w), columns, columns, n)


@each_storage
@each_top
def test_gram(stored, intercept, blocks):
    design, A = build(stored, intercept)
    _, _, w = arguments(A)
    assert_close(design.gram(w), (A.T * w) @ A, (abs(A).T * w) @ abs(A), len(A))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_all_columns_are_the_gathered_ones(form, constant):
    """Sparse columns that are not copied, against copies of them: every verb."""
    A = np.where(np.arange(N)[:, None] % 3 == np.arange(D) % 3, REAL + 0.1, 0.0)
    at = np.arange(D + bool(constant))
    design = as_design(form(A))
    whole = design.columns(at, constant)
    copied = SparseColumns(at, sp.csc_array(A), constant)
    assert isinstance(whole, AllColumns) and whole.nonzeros == copied.nonzeros
    assert whole.gram_sweeps == pytest.approx(copied.gram_sweeps)
    rng = np.random.default_rng(0)
    x, r, w = rng.standard_normal(at.size), rng.standard_normal(N), rng.random(N)
    near = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(whole.matvec(x), copied.matvec(x), **near)
    np.testing.assert_allclose(whole.rmatvec(r), copied.rmatvec(r), **near)
    np.testing.assert_allclose(whole.norms_sq(w), copied.norms_sq(w), **near)
    np.testing.assert_allclose(whole.gram(w), copied.gram(w), **near)
    l1, l2, h = np.full(at.size, 0.1), np.full(at.size, 0.2), copied.norms_sq(w)
    ends = []
    for columns in (whole, copied):
        x0, r0 = np.zeros(at.size), r.copy()
        columns.sweeps(w, r0, x0, h, l1, l2, 5.0, 0.0)
        ends.append(np.concatenate((x0, r0)))
    np.testing.assert_allclose(ends[0], ends[1], **near)


@each_storage
@each_top
@pytest.mark.parametrize("rows", [1, 4, 10_000])
def test_blocks_cover_the_rows_in_order(stored, intercept, rows):
    design, A = build(stored, intercept)
    at = 0
    for where, block in design.blocks(rows):
        assert where.start == at and where.stop - where.start == len(block) <= rows
        assert block.dtype == np.float64
        np.testing.assert_array_equal(block, A[where])
        at = where.stop
    assert at == len(A)


def test_gram_over_several_blocks():
    # At least 256 rows make a block there.
    A = np.random.default_rng(0).standard_normal((700, 3))
    w = np.random.default_rng(1).random(700)
    exact = A.astype(np.longdouble).T @ (w[:, None] * A)
    for store in (np.asarray, np.asfortranarray, np.float32):
        B = store(A)
        exact = B.astype(np.longdouble).T @ (w[:, None] * B)
        magnitude = abs(B).T.astype(float) @ (w[:, None] * abs(B))
        assert_close(as_design(B).gram(w), exact, magnitude, 700)


# ---- float32: as accurate as the widened data, and never widened as a whole ----


def test_float32_beyond_real_blocks():
    """Data larger than BLOCK_BYTES and PIECE_NONZEROS, as they are."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((1500, 100)).astype(np.float32)
    assert A.size * 8 > 2 * contract.BLOCK_BYTES and A.size > sparse.PIECE_NONZEROS
    x, r = rng.standard_normal(100), rng.standard_normal(1500)
    wide = A.astype(np.longdouble)
    for store in (np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array):
        design = as_design(store(A))
        assert_close(design.matvec(x), wide @ x, abs(wide) @ abs(x), 100)
        assert_close(design.rmatvec(r), wide.T @ r, abs(wide).T @ abs(r), 1500)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_data_are_kept_as_they_lie(dtype, order):
    A = np.array(REAL, dtype, order=order)
    design = as_design(A)
    assert isinstance(design, DenseDesign)
    assert design.A.dtype == dtype
    assert np.shares_memory(design.A, A)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_data_are_kept_as_they_lie(dtype, form, index):
    A = with_indices(form(REAL, dtype=dtype), index)
    design = as_design(A)
    assert isinstance(design, SparseDesign)
    assert design.A.dtype == dtype and design.A.format == A.format
    assert np.shares_memory(design.A.data, A.data)
    assert np.shares_memory(design.A.indices, A.indices)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_building_a_design_copies_no_data(form):
    """Also not where float32 data come in pieces (scipy copies a view of less than half)."""
    A = form(np.ones((1500, 300), dtype=np.float32))
    assert A.nnz > 3 * sparse.PIECE_NONZEROS
    tracemalloc.start()
    design = as_design(A)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert design.shape == A.shape
    # Its own arrays are of the size of the row or column pointers.
    assert grown < 0.1 * A.data.nbytes


@pytest.mark.parametrize("stored", ["C float32", "F float32", "CSR float32", "CSC float32"])
def test_float32_data_are_never_widened_as_a_whole(stored, monkeypatch):
    """What a product allocates, its result included, is far less than the data in float64."""
    monkeypatch.setattr(contract, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(sparse, "PIECE_NONZEROS", 1 << 9)
    A, store = STORED[stored]
    design = as_design(store(np.tile(A, (10, 30))))
    widened = 8 * (design.A.nnz if sp.issparse(design.A) else design.A.size)
    for verb, length in ((design.matvec, design.shape[1]), (design.rmatvec, design.shape[0])):
        argument = np.ones(length)
        verb(argument)
        tracemalloc.start()
        verb(argument)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # Blocks of 4 kB, results of 3 kB, and what numpy keeps on the way.
        assert peak < 0.2 * widened


# ---- the caller's data ----


def arrays_of(A):
    """Every array in which the caller's data lie."""
    if sp.issparse(A):
        names = ("data", "indices", "indptr", "row", "col", "offsets")
        return [getattr(A, k) for k in names if isinstance(getattr(A, k, None), np.ndarray)]
    return [A] if isinstance(A, np.ndarray) else []


@each_storage
@each_top
def test_the_callers_data_are_not_written_to(stored, intercept):
    A, store = STORED[stored]
    given = store(A)
    before = [part.copy() for part in arrays_of(given)]
    if isinstance(given, np.ndarray):  # whoever writes is told
        given.flags.writeable = False
    design = as_design(given)
    if intercept:
        design = InterceptDesign(design, np.full(len(A), 1 / len(A)))
    n, d = design.shape
    x, r, w = np.ones(d), np.ones(n), np.ones(n)
    for array in (x, r, w):
        array.flags.writeable = False
    design.matvec(x), design.rmatvec(r), design.absolute_product(x, r)
    design.row_norms_sq(), design.column_norms_sq(w), design.gram(w), list(design.blocks(4))
    after = arrays_of(given)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)
    if isinstance(given, pd.DataFrame):
        pd.testing.assert_frame_equal(given, store(A))


# ---- the intercept's column ----


@pytest.mark.parametrize("unit", [1e-95, 1e-7, 0.3, 1.0, 2.0, 1e5, 1e95])
def test_the_constant_column_is_as_long_as_the_others_and_a_power_of_2(unit):
    weights = np.random.default_rng(0).random(N)
    weights /= weights.sum()
    scale = InterceptDesign(as_design(unit * REAL), weights).scale
    assert np.frexp(scale)[0] == 0.5  # so c = scale * x_last is exact
    typical = unit * np.sqrt((weights @ (REAL * REAL)).mean())
    # To the nearest power of 2 on a log scale.
    assert 2**-0.5 * (1 - 8 * EPS) <= scale / typical <= 2**0.5 * (1 + 8 * EPS)


def test_the_constant_column_beside_zeros_is_1():
    assert InterceptDesign(as_design(np.zeros((3, 2))), np.full(3, 1 / 3)).scale == 1.0


def test_a_design_stays_itself():
    design = as_design(REAL)
    assert as_design(design) is design


@pytest.mark.parametrize(
    ("bad", "error", "named"),
    [
        (np.ones(3), ValueError, r"reshape\(-1, 1\)"),
        (np.ones((2, 2, 2)), ValueError, "two dimensions"),
        (np.ones((0, 2)), ValueError, "empty"),
        (np.ones((2, 0)), ValueError, "empty"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), ValueError, r"A\[1, 1\] = nan"),
        (np.array([[1.0, -np.inf]], order="F"), ValueError, r"A\[0, 1\] = -inf"),
        (sp.csr_array([[0.0, 1.0], [np.inf, 0.0]]), ValueError, r"A\[1, 0\] = inf"),
        (sp.csc_array([[0.0, 1.0], [np.nan, 0.0]]), ValueError, r"A\[1, 0\] = nan"),
        (np.array([[1j]]), TypeError, "complex"),
        (sp.csr_array([[1j]]), TypeError, "complex"),
        (np.array([["a"]]), TypeError, "dtype"),
        (np.array([[1e200]]), ValueError, "1e\\+200"),
        (sp.csr_array([[1e-200]]), ValueError, "1e-200"),
    ],
)
def test_bad_data_are_refused_by_name(bad, error, named):
    with pytest.raises(error, match=named):
        as_design(bad)
