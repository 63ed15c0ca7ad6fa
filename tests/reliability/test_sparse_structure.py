"""Sparse arrays that do not fit together are refused before any compiled code reads them."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap

from .test_bad_input import refused

DENSE = np.array(
    [
        [1.0, 0.0, 2.0, 0.0, 0.0],
        [0.0, 3.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [4.0, 0.0, 0.0, 5.0, 0.0],
        [0.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 2.0, 7.0],
    ]
)
B = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
FORMATS = {"csr": ("column", 5, "row"), "csc": ("row", 6, "column")}


def valid(kind: str, index: Any = np.int32) -> Any:
    A = sp.csr_array(DENSE).asformat(kind)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    return A


def with_entry(name: str, at: int, value: int) -> Any:
    def spoil(A: Any) -> None:
        array = getattr(A, name).copy()
        array[at] = value
        setattr(A, name, array)

    return spoil


def with_array(name: str, change: Any) -> Any:
    return lambda A: setattr(A, name, change(getattr(A, name)))


SPOILED = {
    "beyond": (with_entry("indices", 3, 1_000_000), "indices[3] = 1000000"),
    "just beyond": (with_entry("indices", 3, 6), "indices[3] = 6"),  # 5 columns, 6 rows
    "negative": (with_entry("indices", 3, -1), "indices[3] = -1"),
    "most negative": (with_entry("indices", 0, -(2**31)), "indices[0] = -2147483648"),
    "first pointer": (with_entry("indptr", 0, 1), "indptr[0] = 1, not 0"),
    "falling": (with_entry("indptr", 2, 9), "indptr falls, from 9 to"),
    "negative pointer": (with_entry("indptr", 1, -5), "indptr falls, from 0 to -5"),
    "last pointer": (with_entry("indptr", -1, 1000), "indptr ends with 1000"),
    "short pointers": (with_array("indptr", lambda p: p[:-1]), "indptr has"),
    "long pointers": (with_array("indptr", lambda p: np.append(p, p[-1])), "indptr has"),
    "short values": (with_array("data", lambda v: v[:-2]), "data has 8 entries, and indices has"),
    "short indices": (with_array("indices", lambda i: i[:-2]), "data has 10 entries, and indices"),
    "float indices": (with_array("indices", lambda i: i.astype(float)), "indices has dtype float"),
    "float pointers": (with_array("indptr", lambda p: p.astype(float)), "indptr has dtype float"),
    "narrow indices": (with_array("indices", lambda i: i.astype(np.int8)), "dtype int8"),
    "swapped bytes": (with_array("indices", lambda i: i.astype(">i4")), "dtype >i4"),
    "list": (with_array("indices", lambda i: i.tolist()), "indices is no vector but of type list"),
    "matrix": (with_array("indices", lambda i: i.reshape(2, -1)), "an array of shape (2, 5)"),
    "wide values": (with_array("data", lambda v: v.reshape(2, -1)), "data is an array of shape"),
}


@pytest.mark.parametrize("name", SPOILED)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", FORMATS)
def test_spoiled_arrays_are_refused(kind, index, name):
    """Not even scipy's own look at the order of the entries, which is compiled, comes before."""
    spoil, words = SPOILED[name]
    A = valid(kind, index)
    spoil(A)
    looked = mock.PropertyMock(side_effect=AssertionError("compiled code has seen it"))
    with mock.patch.object(type(A), "has_canonical_format", looked):
        refused(lambda: dualgap.solve(A, B, l2=0.1), f"A is no valid {kind.upper()}", words, "anew")


@pytest.mark.parametrize("kind", FORMATS)
def test_the_message_says_what_the_places_are(kind):
    placed, count, _ = FORMATS[kind]
    A = valid(kind)
    A.indices[4] = 77
    refused(lambda: dualgap.Problem(A, B), f"{placed}s are numbered 0 to {count - 1}")


@pytest.mark.parametrize("kind", FORMATS)
def test_arrays_behind_memory_maps(tmp_path, kind):
    A = valid(kind)
    for name in ("data", "indices", "indptr"):
        getattr(A, name).tofile(tmp_path / name)
        dtype = getattr(A, name).dtype
        setattr(A, name, np.memmap(tmp_path / name, dtype=dtype, mode="r+"))
    assert dualgap.solve(A, B, l2=0.1).status.converged
    A.indices[2] = 99
    refused(lambda: dualgap.solve(A, B, l2=0.1), "indices[2] = 99")


def coordinates() -> Any:
    A = sp.coo_array(DENSE)
    A.coords = (A.coords[0], np.where(np.arange(10) == 3, 88, A.coords[1]))
    return A


def blocks() -> Any:
    A = sp.csr_array(DENSE).tobsr(blocksize=(2, 5))
    A.indices = A.indices + 1
    return A


def diagonals() -> Any:
    A = sp.dia_array(DENSE)
    A.offsets = A.offsets[:-1]
    return A


def lists() -> Any:
    A = sp.lil_array(DENSE)
    A.rows[3] = [0, 55]
    return A


def uneven_lists() -> Any:
    A = sp.lil_array(DENSE)
    A.data[3] = [1.0]
    return A


OTHERS = {
    coordinates: "col[3] = 88, but columns are numbered 0 to 4",
    blocks: "indices[0] = 1, but block columns are numbered 0 to 0",
    diagonals: "offsets has",
    lists: "row 3 has the columns [0, 55]",
    uneven_lists: "row 3 has 2 columns and 1 values",
}


@pytest.mark.parametrize("make", OTHERS, ids=lambda make: make.__name__)
def test_other_formats_are_refused_before_they_are_converted(make):
    A = make()
    with mock.patch.object(type(A), "tocsr", side_effect=AssertionError("it was converted")):
        refused(lambda: dualgap.Problem(A, B), OTHERS[make], A.format.upper())


ESTIMATORS = [
    dualgap.Ridge(),
    dualgap.Lasso(alpha=0.1),
    dualgap.HuberRegressor(alpha=1.0),
    dualgap.LogisticRegression(),
    dualgap.LinearSVC(),
    dualgap.RidgeCV(),
    dualgap.LassoCV(alphas=3, cv=2),
    dualgap.LogisticRegressionCV(Cs=2, cv=2),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)
def test_estimators(model):
    """`predict` multiplies by scipy's code, which reads wherever an index points to."""
    bad = valid("csr")
    bad.indices[3] = 1_000_000
    refused(lambda: model.fit(bad, B), "X is no valid CSR matrix", "indices[3] = 1000000")
    model = type(model)(**model.get_params()).fit(valid("csr"), B)
    for data in (bad, lists(), coordinates()):
        refused(lambda data=data: model.predict(data), "X is no valid")


# ---- what is valid ----


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_ends_of_the_range_are_valid(kind, index):
    """The largest place that fits, empty rows and columns: solved like the same numbers dense."""
    mine = dualgap.solve(valid(kind, index), B, l2=0.1)
    assert mine.x == pytest.approx(dualgap.solve(DENSE, B, l2=0.1).x, abs=1e-4)


@pytest.mark.parametrize("kind", FORMATS)
def test_room_beyond_the_last_entry_means_nothing(kind):
    """scipy keeps arrays with room to spare; what lies in it is no data, not even if not finite."""
    plain = valid(kind)
    roomy = valid(kind)
    roomy.data = np.append(roomy.data, [np.nan, 1e300])
    roomy.indices = np.append(roomy.indices, [999, -7]).astype(np.int32)
    mine, expected = (dualgap.solve(A, B, l2=0.1) for A in (roomy, plain))
    assert np.array_equal(mine.x, expected.x)
    assert mine.certificate == expected.certificate
    assert roomy.data.size == 12  # the caller's arrays are as they were


def test_a_matrix_without_entries_is_valid():
    A = sp.csr_array((6, 5))
    assert dualgap.solve(A, B, l2=0.1).x == pytest.approx(np.zeros(5))


@pytest.mark.parametrize("shape", [(6, 2**40), (6, 2**31)])
def test_more_columns_than_a_vector_can_have(shape):
    A = sp.csr_array((B, (np.arange(6), np.arange(6))), shape=shape)
    words = (str(shape), "at most 2147483647", "Leave out the columns without entries")
    refused(lambda: dualgap.solve(A, B, l2=0.1), "A has shape", *words)
    refused(partial(dualgap.Ridge().fit, A, B), "X has shape", *words)
