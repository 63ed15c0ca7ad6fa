"""Small files that stand for enormous data: refused, or read without what nobody asked for."""

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.datasets import DataError, _limits, load, load_csv, load_npz, load_svmlight
from dualgap.designs import as_design

COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
REMEDY = r"raise the limit by max_bytes \(--max-bytes"


def peak_of(function):
    """What a call returns, and the most bytes that were allocated in it."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- compressed text ----


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize(
    ("name", "line"), [("x.csv", b"0,0\n"), ("x.svm", b"1 1:1\n"), ("x.arff", b"% a\n")]
)
def test_a_compressed_file_may_not_grow_without_limit(tmp_path, monkeypatch, kind, name, line):
    monkeypatch.setattr(_limits, "ALWAYS", 100_000)
    path = tmp_path / f"{name}.{kind}"
    path.write_bytes(COMPRESSORS[kind](line * (3_000_000 // len(line))))
    size = path.stat().st_size
    limit = max(100_000, 100 * size)
    assert limit < 3_000_000  # else there is nothing to refuse
    with pytest.raises(DataError, match=REMEDY) as raised:
        load(path)
    said = str(raised.value)
    assert str(path) in said and " bytes once it is decompressed, which is the limit" in said


def test_the_default_limit_is_64_mebibytes(tmp_path):
    path = tmp_path / "bomb.svm.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(65):
            file.write(b"#" * (1 << 20))
    assert 100 * path.stat().st_size < 1 << 26
    with pytest.raises(DataError, match="holds more than 67108864 bytes"):
        load_svmlight(path)


def test_the_limit_is_in_proportion_to_the_file(tmp_path, monkeypatch):
    """Numbers hardly compress: no limit stands in the way of a large file of them."""
    monkeypatch.setattr(_limits, "ALWAYS", 1000)
    values = np.random.default_rng(0).standard_normal((500, 3)).tolist()
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress("\n".join(",".join(map(repr, v)) for v in values).encode()))
    assert load_csv(path)[0].shape == (500, 2)


@pytest.mark.parametrize("name", ["x.csv", "x.svm"])
def test_the_limit_can_be_raised_and_lowered(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_limits, "ALWAYS", 1000)
    line = {"x.csv": "5,6\n", "x.svm": "6 1:5\n"}[name]
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(line.encode() * 10_000))
    with pytest.raises(DataError, match=REMEDY):
        load(path)
    held = len(line) * 10_000
    assert load(path, max_bytes=held).b.tolist() == [6.0] * 10_000
    with pytest.raises(DataError, match=f"holds more than {held - 1} bytes"):
        load(path, max_bytes=held - 1)


def test_standard_input_has_the_same_limit(monkeypatch):
    monkeypatch.setattr(_limits, "ALWAYS", 1000)
    content = gzip.compress(b"1 1:1\n" * 100_000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(DataError, match=f"standard input holds more than .*{REMEDY}"):
        load_svmlight("-")


def test_a_plain_file_has_no_limit(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("5,6\n" * 100)
    assert len(load(path, max_bytes=1).b) == 100


@pytest.mark.parametrize("value", [0, -1, 1.5, "1 GB", True])
@pytest.mark.parametrize("reader", [load_csv, load_svmlight, load_npz])
def test_a_limit_that_is_none(tmp_path, reader, value):
    path = tmp_path / "x"
    np.savez(path, A=np.eye(2), b=np.ones(2))
    with pytest.raises(ValueError, match="max_bytes must be an integer of at least 1"):
        reader(tmp_path / "x.npz", max_bytes=value)


def test_lines_of_a_table_are_not_kept(tmp_path):
    """Of 400 000 short lines the numbers stay, and a few copies of them; not the text."""
    path = tmp_path / "long.csv"
    path.write_bytes(b"7,8\n" * 400_000)
    (A, b), peak = peak_of(lambda: load_csv(path))
    assert A.shape == (400_000, 1) and b.tolist() == [8.0] * 400_000
    assert peak < 4 * (A.nbytes + b.nbytes)


# ---- archives ----


def test_members_that_are_not_needed_are_not_read(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, A=np.eye(2), b=np.ones(2), more=np.zeros(5_000_000))
    (A, _), peak = peak_of(lambda: load_npz(path))
    assert A.tolist() == np.eye(2).tolist()
    assert peak < 1_000_000  # the third takes 40 million


def test_a_compressed_array_may_not_grow_without_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(_limits, "ALWAYS", 100_000)
    path = tmp_path / "x.npz"
    np.savez_compressed(path, A=np.zeros((20_000, 5)), b=np.ones(20_000))
    assert 100 * path.stat().st_size < 800_000

    def refused():
        with pytest.raises(DataError, match=REMEDY):
            load_npz(path)

    _, peak = peak_of(refused)
    assert peak < 400_000  # nothing of the 800 000 bytes was made room for
    assert load_npz(path, max_bytes=10**6)[0].shape == (20_000, 5)
    np.savez(path, A=np.zeros((20_000, 5)), b=np.ones(20_000))  # as large as it says
    assert load_npz(path)[0].shape == (20_000, 5)


def test_an_array_must_be_as_large_as_it_says(tmp_path):
    """A header may announce any shape: room is made once the bytes are known to be there."""
    header = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
    np.lib.format.write_array_header_1_0(header, about)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("A.npy", header.getvalue() + b"\0" * 64)
        archive.writestr("b.npy", header.getvalue())
    with pytest.raises(DataError, match="A should have 24000000000000 bytes and has 64"):
        load_npz(path)


# ---- columns ----


def test_an_index_may_not_make_columns_without_limit(tmp_path):
    path = tmp_path / "x.svm"
    path.write_text("1 1:1\n2 1000000000:1\n")
    assert path.stat().st_size == 21
    with pytest.raises(DataError) as raised:
        load(path)
    said = str(raised.value)
    assert "1000000000 columns for 2 entries; the limit is 1000000" in said
    assert "say n_features=1000000000 (--features" in said
    assert load(path, n_features=10**9).A.shape == (2, 10**9)


def test_columns_in_proportion_to_the_entries_are_fine(tmp_path, monkeypatch):
    monkeypatch.setattr(_limits, "COLUMNS", 10)
    path = tmp_path / "x.svm"
    path.write_text("1 1:1 2:1 40:1\n")
    with pytest.raises(DataError, match="the limit is 30"):
        load(path)
    path.write_text("1 1:1 2:1 30:1\n")
    assert load(path).A.shape == (1, 30)


@pytest.mark.parametrize("value", [0, -3, 2.5, "4"])
def test_n_features(tmp_path, value):
    path = tmp_path / "x.svm"
    path.write_text("1 1:1\n")
    with pytest.raises(ValueError, match="n_features must be an integer of at least 1"):
        load(path, n_features=value)
    with pytest.raises(ValueError, match="n_features must be at most 4611686018427387904"):
        load(path, n_features=10**30)


def test_what_was_loaded_is_valid_data(tmp_path):
    """The reader's arrays pass the check that all sparse data go through."""
    path = tmp_path / "x.svm"
    path.write_text("1 3:1 5:2\n-1\n1 1:7\n")
    A, b = load(path)
    assert sp.issparse(as_design(A).A)
    assert dualgap.solve(A, b, l2=1.0).status.converged
