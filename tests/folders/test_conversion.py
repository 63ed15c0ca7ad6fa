"""Conversion: the numbers of the loaders in memory, bit for bit, and text with its names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.datasets import DataError, convert, load, load_npz
from dualgap.datasets import svmlight as reader
from dualgap.datasets.conversion import encoding
from tests.folders.data import A, B, S

COMPRESSED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def arrays(opened):
    """The arrays of a folder, as they lie in its files."""
    return {name: np.load(opened.path / e.file) for name, e in opened.manifest.arrays.items()}


def same(opened, dataset):
    """Whether a folder holds what a loader has made of the same file."""
    found = arrays(opened)
    assert opened.shape == dataset.A.shape
    if sp.issparse(dataset.A):
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(found[name], getattr(dataset.A, name)), name
    else:
        assert found["A"].tobytes() == np.ascontiguousarray(dataset.A).tobytes()
    assert found["b"].tobytes() == dataset.b.tobytes()
    opened.check()


def svmlight_text(first, rows=400):
    rng = np.random.default_rng(5)
    lines = []
    for _ in range(rows):
        at = first + np.sort(rng.choice(30, rng.integers(0, 6), replace=False))
        entries = " ".join(f"{j}:{rng.standard_normal():.17g}" for j in at)
        lines.append(f"{rng.standard_normal():.6g} {entries} # note\n")
    return "# a comment\n\n" + "".join(lines)


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("block", [1 << 20, 64])
def test_svmlight_is_what_the_loader_reads(tmp_path, monkeypatch, ending, first, block):
    monkeypatch.setattr(reader, "BLOCK", block)
    path = tmp_path / f"rows.svm{ending}"
    path.write_bytes(COMPRESSED[ending](svmlight_text(first).encode()))
    for options in ({}, {"n_features": 50}, {"zero_based": first == 0}):
        opened = convert(path, tmp_path / "f", overwrite=True, **options)
        same(opened, load(path, **options))


def test_rows_without_entries_and_a_last_line_without_end(tmp_path):
    path = tmp_path / "rows"
    path.write_text("1\n2\n-1 3:4\n0")
    same(convert(path, tmp_path / "f"), load(path))


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("names", [None, ["one", "two", "y"]])
def test_csv_is_what_the_loader_reads(tmp_path, ending, names):
    rows = "\n".join(",".join(map(repr, row)) for row in A[:, :3].tolist())
    text = (",".join(names) + "\n" if names else "") + rows
    path = tmp_path / f"table.csv{ending}"
    path.write_bytes(COMPRESSED[ending](text.encode()))
    for target in (None, 0, *(["two"] if names else [])):
        opened = convert(path, tmp_path / "f", target=target, overwrite=True)
        dataset = load(path, target=target)
        same(opened, dataset)
        assert opened.columns == dataset.feature_names
        assert opened.manifest.target_name == dataset.target_name


@pytest.mark.parametrize(
    "matrix", [A, np.asfortranarray(A), A.astype(np.float32), (9 * A).astype(np.int8), S, S.tocsc()]
)
def test_npz_is_what_the_loader_reads(tmp_path, matrix):
    path = tmp_path / "data.npz"
    if sp.issparse(matrix):
        sp.save_npz(tmp_path / "sparse.npz", matrix)
        with np.load(tmp_path / "sparse.npz") as parts:
            np.savez(path, b=B, **parts)
    else:
        np.savez_compressed(path, A=matrix, b=B)
    opened, (A_, b) = convert(path, tmp_path / "f"), load_npz(path)
    found = np.vstack([block for _, block in opened.design.blocks(50)])
    assert np.array_equal(found, A_.toarray() if sp.issparse(A_) else A_)
    assert np.array_equal(opened.b, b)
    assert next(iter(opened.manifest.arrays.values())).dtype == matrix.dtype


# ---- text ----

TABLE = "size,colour,weight,shift,verdict\n1.5,red,1,0.1,yes\n0,blue,2,0,no\n2,red,1,-1,maybe\n"


def parquet(path, columns, **options):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table(columns), path, **options)
    return path


def as_parquet(path):
    """The same table, with a dictionary of colours."""
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "size": [1.5, 0.0, 2.0],
        "colour": pyarrow.array(["red", "blue", "red"]).dictionary_encode(),
        "weight": np.array([1, 2, 1], dtype=np.int8),
        "shift": np.array([0.1, 0.0, -1.0]),
        "verdict": ["yes", "no", "maybe"],
    }
    return parquet(path, columns)


def as_csv(path):
    path.write_text(TABLE)
    return path


KINDS = {"table.csv": as_csv, "table.parquet": as_parquet}


@pytest.mark.parametrize("name", KINDS)
def test_text_is_encoded_and_its_names_are_kept(tmp_path, name):
    path = KINDS[name](tmp_path / name)
    opened = convert(path, tmp_path / "f", weights="weight", offset="shift", categories=["colour"])
    opened.check()
    assert opened.columns == ["size", "colour=blue", "colour=red"]
    assert opened.manifest.categories == {"colour": ["blue", "red"]}
    assert opened.classes == ["maybe", "no", "yes"]
    assert np.asarray(opened.b).tolist() == [2.0, 1.0, 0.0]
    assert np.asarray(opened.weights).tolist() == [1.0, 2.0, 1.0]
    assert np.asarray(opened.offset).tolist() == [0.1, 0.0, -1.0]
    found = next(opened.design.blocks(9))[1]
    assert found.tolist() == [[1.5, 0.0, 1.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]]
    again = dualgap.open(tmp_path / "f")
    assert again.columns == opened.columns and again.classes == opened.classes
    result = dualgap.solve(
        convert(path, tmp_path / "g", categories=["colour"]), loss="multinomial", l2=0.1
    )
    assert result.status.converged


@pytest.mark.parametrize("name", KINDS)
def test_a_column_of_text_that_nobody_asked_for_is_named(tmp_path, name):
    path = KINDS[name](tmp_path / name)
    for options, message in (
        ({}, r"column 'colour' holds text.*categories=\['colour'\] \(--category colour"),
        ({"target": "size", "categories": ["colour"]}, "column 'verdict' holds text"),
        ({"weights": "colour"}, "'colour'.* text|'colour' is of the type|column 2: 'red' is not"),
        ({"target": "size", "categories": ["size"]}, "column 'size' cannot have two roles"),
        ({"categories": ["form"]}, "categories='form'.* has no such column"),
        ({"target": 9}, "target=9.*has 5 columns"),
    ):
        with pytest.raises(DataError, match=message):
            convert(path, tmp_path / "f", **options)
    assert os.listdir(tmp_path) == [name]


def test_many_categories_in_many_columns(tmp_path):
    """Against a plain construction; codes are given in the order of rows, and sorted in the end."""
    rng = np.random.default_rng(1)
    size = np.round(rng.standard_normal(700), 3) * (rng.random(700) < 0.7)
    one, two = rng.integers(0, 60, 700), rng.integers(0, 9, 700)
    lines = [
        f"{a},v{i},{s!r},w{j}\n" for i, a, s, j in zip(one, B[one], size.tolist(), two, strict=True)
    ]
    path = tmp_path / "t.csv"
    path.write_text("y,one,size,two\n" + "".join(lines))
    opened = convert(path, tmp_path / "f", target="y", categories=["two", "one"])
    opened.check()
    values = [sorted({f"v{i}" for i in one}), sorted({f"w{j}" for j in two})]
    names = ["size", *(f"one={v}" for v in values[0]), *(f"two={v}" for v in values[1])]
    assert opened.columns == names
    expected = np.zeros((700, len(names)))
    expected[:, 0] = size
    for k, (i, j) in enumerate(zip(one, two, strict=True)):
        expected[k, names.index(f"one=v{i}")] = expected[k, names.index(f"two=w{j}")] = 1.0
    assert np.array_equal(np.vstack([b for _, b in opened.design.blocks(99)]), expected)
    found = arrays(opened)
    rows = sp.csr_array((found["data"], found["indices"], found["indptr"]), shape=expected.shape)
    assert rows.has_canonical_format


def test_a_column_with_a_name_for_each_row_is_no_category(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "MOST_VALUES", 2)
    (tmp_path / "t.csv").write_text("a,b\nx,1\ny,2\nz,3\n")
    with pytest.raises(DataError, match="column 'a' has more than 2 different values"):
        convert(tmp_path / "t.csv", tmp_path / "f", categories=["a"])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1,2\n3,x\n", {}, "line 2: column 2: 'x' is not a number"),
        ("1,2\n3,nan\n", {}, "line 2: column 2: nan is not finite"),
        ("a,5\nb\n", {"categories": [0]}, "line 2: 1 columns; the first row has 2"),
        ("a,5\nb,x\n", {"categories": [0]}, "line 2: column 2: 'x' is not a number"),
        ("a,5\nb,\n", {"categories": [0]}, "line 2: column 2: an empty cell"),
        ("b,5\na,1_0\n", {"categories": [0]}, "line 2: column 2: '1_0' is not a number"),
        ("1,2,3\n1,-2,3\n", {"weights": 1}, "column 1 has the weight -2"),
        ("1,2\n", {"weights": 0}, "no column left that is a feature"),
        ("", {}, "line 1: the file is empty"),
        ("0,1\n", {}, "may be the numbers of the columns or the first row"),
    ],
)
def test_tables_that_are_none_are_refused_with_the_place(tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        convert(tmp_path / "t.csv", tmp_path / "f", **options)
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": [1.0, None], "y": [1, 2]}, {}, "column 'a' is empty in row 1"),
        ({"a": [1.0, np.nan], "y": [1, 2]}, {}, "column 'a' is not finite in row 1"),
        ({"a": ["u", None], "y": [1, 2]}, {"categories": ["a"]}, "column 'a' is empty in row 1"),
        ({"a": [[1.0]], "y": [1]}, {}, r"column 'a' is of the type list<.*which is no number"),
        ({"a": [b"x"], "y": [1]}, {}, "column 'a' is of the type binary"),
        ({"a": [1.0]}, {}, "has one column"),
        ({"a": np.empty(0), "y": np.empty(0)}, {}, "has no row"),
    ],
)
def test_parquet_files_that_cannot_be_converted(tmp_path, columns, options, message):
    path = parquet(tmp_path / "t.parquet", columns)
    with pytest.raises(DataError, match=message):
        convert(path, tmp_path / "f", **options)
    assert os.listdir(tmp_path) == ["t.parquet"]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_parquet_keeps_all_digits(tmp_path, compression):
    columns = {f"x{k}": A[:, k] for k in range(4)}
    columns |= {"few": A[:, 4].astype(np.float32), "whole": np.arange(len(A)), "yes": A[:, 5] > 0}
    path = parquet(
        tmp_path / "t.pq", columns | {"y": B}, compression=compression, row_group_size=40
    )
    opened = convert(path, tmp_path / "f")
    opened.check()
    found = np.vstack([block for _, block in opened.design.blocks(50)])
    assert np.array_equal(found, np.column_stack([v.astype(float) for v in columns.values()]))
    assert opened.columns == list(columns) and np.array_equal(opened.b, B)
    whole = convert(path, tmp_path / "w", target="y", categories=["whole"])
    assert whole.shape == (len(A), 6 + len(A))


def test_what_is_no_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no, not really")
    with pytest.raises(DataError, match="cannot be read as a Parquet file"):
        convert(tmp_path / "t.parquet", tmp_path / "f")
    with pytest.raises(DataError, match="neither a file nor"):
        convert(tmp_path / "none.parquet", tmp_path / "f")
    with pytest.raises(DataError, match="standard input"):
        convert("-", tmp_path / "f", format="parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r'pip install "dualgap\[parquet\]"'):
        convert(tmp_path / "t.parquet", tmp_path / "f")
    assert os.listdir(tmp_path) == ["t.parquet"]


# ---- options and faults ----


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rows.svm", {"target": 1}, "target is for CSV and Parquet files, not for svmlight"),
        ("rows.svm", {"categories": ["a"]}, "categories is for CSV"),
        ("rows.svm", {"header": True}, "header is for CSV files, not for svmlight"),
        ("rows.csv", {"n_features": 3}, "n_features and zero_based are for svmlight"),
        ("rows.npz", {"weights": 1}, "weights is for CSV"),
        ("rows.arff", {}, "ARFF files are not converted"),
        ("none.svm", {}, "neither a file nor a known data set"),
        ("rows.svm", {"format": "other"}, "format"),
        ("rows.svm", {"n_features": 2}, "line 2: '3:4': the index is beyond"),
        ("rows.svm", {"zero_based": False, "n_features": 2}, "the index is beyond"),
    ],
)
def test_options_are_refused_where_they_mean_nothing(tmp_path, name, options, message):
    for known in ("rows.svm", "rows.csv", "rows.npz", "rows.arff"):
        (tmp_path / known).write_text("1 1:2\n-1 3:4\n")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / name, tmp_path / "f", **options)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n1 1:x\n", "line 2: '1:x': the value is not a number"),
        ("1 1:2\n1 1:nan\n", "line 2: '1:nan' is not finite"),
        ("1 2:2 1:1\n", "indices must ascend"),
        ("", "there was no row of data"),
        ("1 3000000000:1\n", "makes 3000000000 columns"),
        ("1 1:1e999\n", "is too large for float64"),
    ],
)
def test_faults_of_svmlight_files_are_those_of_the_loader(tmp_path, text, message):
    path = tmp_path / "rows"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        load(path)
    with pytest.raises(DataError, match=message.replace("makes 3000000000 columns", "3000000000")):
        convert(path, tmp_path / "f")
    assert os.listdir(tmp_path) == ["rows"]


def test_a_compressed_file_that_breaks_off(tmp_path):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(svmlight_text(1).encode())[:-20])
    with pytest.raises(DataError, match="the data break off here"):
        convert(path, tmp_path / "f")
    assert os.listdir(tmp_path) == ["rows.svm.gz"]


def test_standard_input(tmp_path, monkeypatch):
    text = svmlight_text(1)
    (tmp_path / "rows").write_text(text)

    class Given:
        buffer = io.BufferedReader(io.BytesIO(text.encode()))

    monkeypatch.setattr("sys.stdin", Given)
    same(convert("-", tmp_path / "f"), load(tmp_path / "rows"))


@pytest.mark.parametrize("kind", ["svmlight", "csv", "labels"])
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    """Arrays are counted by tracemalloc; five times the rows take no more of them."""
    peaks = []
    for rows in (20_000, 100_000):
        path = tmp_path / f"{rows}"
        line = {"svmlight": "1 1:2.5 3:4 9:8\n", "csv": "1.5,2,3\n", "labels": "1.5,2,a\n"}[kind]
        path.write_text(line * rows)
        options = {"format": "svmlight" if kind == "svmlight" else "csv"}
        convert(path, tmp_path / "f", overwrite=True, **options)
        tracemalloc.start()
        convert(path, tmp_path / "f", overwrite=True, **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + 3e6


LIMITED = """
import resource, sys
from dualgap.datasets import convert
convert(sys.argv[2], sys.argv[3])
used = dict(l.split(":", 1) for l in open("/proc/self/status") if l.startswith("Vm"))
more = int(used["VmData"].split()[0]) * 1024 + 8_000_000
resource.setrlimit(resource.RLIMIT_DATA, (more, more))
convert(sys.argv[1], sys.argv[3], overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="private memory is limited there")
def test_a_file_larger_than_the_memory_is_converted(tmp_path):
    """40 MB of entries with 8 MB of private memory beside what the process has already."""
    assert resource.RLIMIT_DATA
    block = svmlight_text(1, rows=2000)
    (tmp_path / "small").write_text(block)
    with (tmp_path / "large").open("w") as file:
        for _ in range(300):
            file.write(block)
    arguments = [tmp_path / name for name in ("large", "small", "f")]
    subprocess.run([sys.executable, "-c", LIMITED, *arguments], check=True)
    opened = dualgap.open(tmp_path / "f")
    assert opened.shape[0] == 600_000
    small = load(tmp_path / "small")
    np.testing.assert_array_equal(opened.b[-2000:], small.b)
