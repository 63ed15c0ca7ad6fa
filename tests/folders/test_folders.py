"""Folders of arrays: what is written, what is refused, what stands there when all goes wrong."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.datasets import DataError, write_folder
from dualgap.datasets.folders import writing
from tests.folders.data import OFFSET, A, B, D, N, S, W, blocks, folder


def manifest_of(opened):
    path = opened.path / "manifest.json"
    return path, json.loads(path.read_text())


def without_part(path):
    """Nothing is left beside a folder of what was written aside."""
    return not [name for name in os.listdir(path) if name.startswith(".")]


def test_arrays_are_plain_files_of_numpy(tmp_path):
    opened = folder(tmp_path / "f", A, B, W)
    for name, expected in (("A", A), ("b", B), ("weights", W)):
        found = np.load(tmp_path / "f" / f"{name}.npy")
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
    assert sorted(os.listdir(tmp_path / "f")) == ["A.npy", "b.npy", "manifest.json", "weights.npy"]
    assert opened.manifest.rows == N and opened.manifest.columns == D
    assert without_part(tmp_path)
    where = folder(tmp_path / "s", S).path
    parts = [np.load(where / f"{name}.npy") for name in ("data", "indices", "indptr")]
    assert np.array_equal(sp.csr_array(tuple(parts), shape=S.shape).toarray(), S.toarray())


def test_names_are_kept(tmp_path):
    names = [f"x{k}" for k in range(D)]
    opened = folder(tmp_path / "f", columns=names, target="y", classes=["no", "yes"])
    again = dualgap.open(str(tmp_path / "f"))
    assert again.columns == opened.columns == names and again.classes == ["no", "yes"]
    assert again.manifest.target_name == "y" and again.weights is None and again.offset is None
    assert repr(again) == f"Folder({str(tmp_path / 'f')!r}, 157 x 6)"
    with pytest.raises(DataError, match="columns has 1 names for 6"):
        folder(tmp_path / "g", columns=["one"])
    assert not (tmp_path / "g").exists()


def test_a_folder_without_targets_is_for_predictions(tmp_path):
    opened = write_folder(tmp_path / "f", iter([A]))
    assert opened.b is None
    np.testing.assert_allclose(opened.design.matvec(np.ones(D)), A.sum(axis=1))
    with pytest.raises(TypeError, match="b is missing"):
        dualgap.solve(opened)


def test_the_bits_do_not_depend_on_how_blocks_came(tmp_path):
    """Chunks are cut by the manifest, not by the blocks of whoever wrote the folder."""
    found = []
    for rows in (1, 13, N):
        opened = write_folder(tmp_path / f"{rows}", blocks(A, B, rows=rows))
        found.append(dualgap.solve(opened, loss="logistic", l2=1e-3).x)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[1], found[2])


# ---- blocks that do not fit ----


def _nan(values, at):
    out = values.astype(float)
    out[at] = np.nan
    return out


WRONG = {
    "block 1 has 5 columns; the first has 6": [(A, B), (A[:, :5], B)],
    "block 1 is sparse; the first is dense": [(A, B), (sp.csr_array(A), B)],
    "block 1 is dense; the first is sparse": [(sp.csr_array(A), B), (A, B)],
    "block 1 is of float64, which the first one's float32": [(A.astype(np.float32), B), (A, B)],
    "block 1 has weights, and block 0 has none": [(A, B), (A, B, W)],
    "block 0 has b, and block 1 has none": [(A, B), A],
    "block 1: A is not finite in row 3 of the block": [(A, B), (_nan(A, (3, 2)), B)],
    "block 0: A is not finite in row 0 of the block": [(sp.csr_array([[np.inf, 0.0]]), [1.0])],
    "block 0: b is not finite in row 7": [(A, _nan(B, 7))],
    "block 0: weights are negative in row 2": [(A, B, np.where(np.arange(N) == 2, -1.0, 1.0))],
    "block 0: b has shape \\(156,\\), not \\(157,\\)": [(A, B[1:])],
    "block 0: A must have two dimensions": [(B, B)],
    "block 0: A has dtype": [(np.array([["x"]]), [1.0])],
    "block 0: A is complex": [(1j * A, B)],
    "block 0 has 5 parts": [(A, B, W, OFFSET, A)],
    "there is no row": [(A[:0], B[:0])],
    "no row in any": [],
}


@pytest.mark.parametrize("message", WRONG)
def test_blocks_that_do_not_fit_are_named_and_nothing_is_left(tmp_path, message):
    with pytest.raises(DataError, match=message):
        write_folder(tmp_path / "f", WRONG[message])
    assert os.listdir(tmp_path) == []


def test_empty_blocks_and_narrower_numbers_are_taken(tmp_path):
    given = [(A[:0], B[:0]), (A[:50], B[:50]), (A[:0], B[:0]), (A[50:].astype(np.float32), B[50:])]
    opened = write_folder(tmp_path / "f", given)
    expected = np.vstack((A[:50], A[50:].astype(np.float32)))
    assert np.array_equal(np.load(tmp_path / "f" / "A.npy"), expected)
    assert opened.shape == (N, D)


# ---- what stands there ----


def test_nothing_is_overwritten_that_was_not_asked_for(tmp_path):
    first = folder(tmp_path / "f")
    before = (first.path / "manifest.json").read_bytes()
    with pytest.raises(DataError, match="is there already; say overwrite=True"):
        folder(tmp_path / "f", S)
    assert (first.path / "manifest.json").read_bytes() == before
    assert folder(tmp_path / "f", S, overwrite=True).manifest.is_sparse
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    for name in ("notes", "file", "link"):
        with pytest.raises(DataError, match="is no folder of arrays, and is not replaced"):
            folder(tmp_path / name, overwrite=True)
    (tmp_path / "f" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match=r"holds 'mine\.txt' as well"):
        folder(tmp_path / "f", overwrite=True)
    assert (tmp_path / "f" / "mine.txt").read_text() == "mine" and without_part(tmp_path)
    with pytest.raises(DataError, match="there is no directory"):
        folder(tmp_path / "none" / "f")


class Stopped(Exception):
    """As if somebody had interrupted."""


def test_an_interrupted_writing_leaves_what_was_there(tmp_path):
    def interrupted():
        yield from blocks(S, B)
        raise Stopped

    kept = folder(tmp_path / "f")
    for target in ("f", "g"):
        with pytest.raises(Stopped):
            write_folder(tmp_path / target, interrupted(), overwrite=True)
    kept.check()
    assert not dualgap.open(tmp_path / "f").manifest.is_sparse
    assert os.listdir(tmp_path) == ["f"]


def test_what_a_killed_process_leaves_is_no_folder(tmp_path, monkeypatch):
    """Before the last file is there, the manifest, nothing can be opened."""
    seen = []

    def killed(part, manifest):
        seen.append(sorted(os.listdir(part)))
        with pytest.raises(DataError, match=r"has no manifest\.json"):
            dualgap.open(part)
        assert not (tmp_path / "f").exists()
        raise Stopped

    monkeypatch.setattr("dualgap.datasets.folders.building.write_manifest", killed)
    with pytest.raises(Stopped):
        folder(tmp_path / "f")
    assert seen == [["A.npy", "b.npy"]]


def test_a_failed_move_brings_the_old_folder_back(tmp_path, monkeypatch):
    kept = folder(tmp_path / "f")
    rename = writing.Path.rename

    def failing(self, target):
        if self.name.endswith(".part"):
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(writing.Path, "rename", failing)
    with pytest.raises(OSError, match="no"):
        folder(tmp_path / "f", S, overwrite=True)
    kept.check()
    assert os.listdir(tmp_path) == ["f"]


def test_a_full_disk_is_said_in_a_sentence(tmp_path, monkeypatch):
    def full(self, values):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.ArrayFile, "append", full)
    with pytest.raises(DataError, match="there is no space left for it"):
        folder(tmp_path / "f")
    assert os.listdir(tmp_path) == []


# ---- manifests that do not fit ----


def _set(*path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def _drop(*path):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return change


MANIFESTS = {
    r'its "format" is not "dualgap folder"': _set("format", value="other"),
    "format_version 2; this dualgap reads 1": _set("format_version", value=2),
    "format_version True": _set("format_version", value=True),
    "rows is -1": _set("rows", value=-1),
    "rows is None": _drop("rows"),
    "columns is '6'": _set("columns", value="6"),
    "rows_per_chunk is 0": _set("rows_per_chunk", value=0),
    "arrays is no JSON object": _set("arrays", value=[]),
    "arrays has 'C', which": _set("arrays", "C", value={}),
    "arrays has either A, or data": _drop("arrays", "A"),
    "A is no JSON object": _set("arrays", "A", value=3),
    "A: file is '../A.npy', and no name": _set("arrays", "A", "file", value="../A.npy"),
    "A: file is None": _drop("arrays", "A", "file"),
    "A: shape is 'x', and no list": _set("arrays", "A", "shape", value="x"),
    "A: dtype is 'what', which numpy": _set("arrays", "A", "dtype", value="what"),
    r"A has dtype \|O; real numbers": _set("arrays", "A", "dtype", value="|O"),
    "A: sha256 is 'abc'": _set("arrays", "A", "sha256", value="abc"),
    r"A has shape \[157, 7\], and \[157, 6\] is expected": _set(
        "arrays", "A", "shape", value=[157, 7]
    ),
    r"b has shape \[156\], and \[157\]": _set("arrays", "b", "shape", value=[156]),
    r"A\.npy: dtype is <f8, and the manifest says <f4": _set("arrays", "A", "dtype", value="<f4"),
    r"b\.npy: shape is \[157\]": lambda content: [
        _set(*path, value=value)(content)
        for path, value in (
            (("rows",), 156),
            (("arrays", "A", "shape"), [156, 6]),
            (("arrays", "b", "shape"), [156]),
            (("arrays", "A", "file"), "b.npy"),
            (("arrays", "b", "file"), "b.npy"),
        )
    ],
    r"lost\.npy is missing, and the manifest has it": _set("arrays", "b", "file", value="lost.npy"),
    "column_names has 1 names for 6": _set("column_names", value=["a"]),
    "column_names has a name twice": _set("column_names", value=["a"] * 6),
    "classes is no list of strings": _set("classes", value=[1, 2]),
    "categories is no JSON object": _set("categories", value=["a"]),
    "target_name is no string": _set("target_name", value=3),
}


@pytest.mark.parametrize("message", MANIFESTS)
def test_a_manifest_that_does_not_fit_is_refused_with_the_field(tmp_path, message):
    path, content = manifest_of(folder(tmp_path / "f"))
    MANIFESTS[message](content)
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        dualgap.open(tmp_path / "f")


SPARSE_MANIFESTS = {
    "arrays has no indptr": _drop("arrays", "indptr"),
    r"indptr has shape \[157\], and \[158\]": _set("arrays", "indptr", "shape", value=[157]),
    r"indices has shape \[3\]": _set("arrays", "indices", "shape", value=[3]),
    "indices has dtype <f8; integers": _set("arrays", "indices", "dtype", value="<f8"),
}


@pytest.mark.parametrize("message", SPARSE_MANIFESTS)
def test_so_is_that_of_sparse_rows(tmp_path, message):
    path, content = manifest_of(folder(tmp_path / "f", S))
    SPARSE_MANIFESTS[message](content)
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        dualgap.open(tmp_path / "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no JSON"), ("[]", "no JSON object"), ("[" * 100_000, "is no JSON")],
)
def test_text_that_is_no_manifest_is_refused(tmp_path, text, message):
    opened = folder(tmp_path / "f")
    (opened.path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=message):
        dualgap.open(opened.path)


def test_files_that_are_others_are_refused(tmp_path):
    opened = folder(tmp_path / "f")
    file = opened.path / "A.npy"
    content = file.read_bytes()
    for other, message in (
        (content[:-1], "has 7663 bytes; with shape"),
        (content + b"0", "has 7665 bytes; with shape"),
        (content[:60], "is no .npy file"),
        (b"foreign" * 40, "is no .npy file"),
        (b"", "is no .npy file"),
    ):
        file.write_bytes(other)
        with pytest.raises(DataError, match=rf"A\.npy {message}"):
            dualgap.open(opened.path)
    np.save(file, np.asfortranarray(A))
    with pytest.raises(DataError, match="fortran_order is True"):
        dualgap.open(opened.path)
    file.unlink()
    file.mkdir()
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        dualgap.open(opened.path)
    for place, message in ((tmp_path / "none", "is no folder"), (tmp_path, "has no manifest")):
        with pytest.raises(DataError, match=message):
            dualgap.open(place)


# ---- check ----


def _write(path, at, value):
    array = np.load(path, mmap_mode="r+")
    array[at] = value
    array.flush()


def test_numbers_that_are_others_have_another_sum(tmp_path):
    for name, matrix in (("A", A), ("b", A), ("data", S), ("indices", S), ("indptr", S)):
        opened = folder(tmp_path / name, matrix)
        opened.check()
        file = opened.path / f"{name}.npy"
        values = np.load(file)
        if name == "indices":
            _write(file, 0, (values[0] + 1) % 40)
        elif name == "indptr":
            _write(file, 3, values[4])
        else:
            _write(file, (3, 2) if values.ndim == 2 else 3, 0.125)
        with pytest.raises(DataError, match=rf"{name}\.npy: its sha256 is .*manifest says"):
            dualgap.open(opened.path).check()


def test_numbers_that_are_not_finite_are_named_with_their_place(tmp_path):
    path, content = manifest_of(folder(tmp_path / "f"))
    content["rows_per_chunk"] = 20
    path.write_text(json.dumps(content))
    _write(tmp_path / "f" / "A.npy", (93, 4), np.nan)
    with pytest.raises(DataError, match=r"A\.npy is not finite in chunk 4, row 93, column 4: nan"):
        dualgap.open(tmp_path / "f").check()
    _write(tmp_path / "f" / "A.npy", (93, 4), A[93, 4])
    _write(tmp_path / "f" / "b.npy", 41, -np.inf)
    with pytest.raises(DataError, match=r"b\.npy is not finite in chunk 2, row 41: -inf"):
        dualgap.open(tmp_path / "f").check()
    opened = folder(tmp_path / "s", S)
    _write(opened.path / "data.npy", S.indptr[93], np.inf)
    with pytest.raises(DataError, match=r"data\.npy is not finite in chunk 0, row 93: inf"):
        opened.check()


def test_places_that_are_none_are_named(tmp_path):
    for name, at, value, message in (
        ("indices", 5, 40, r"indices\.npy has column 40 in chunk 0, row \d+; columns are"),
        ("indices", 5, -3, "has column -3"),
        ("indptr", 7, 10_000, r"indptr\.npy falls at row 7"),
        ("indptr", 0, 1, "begins with 1, not with 0"),
        ("indptr", N, S.nnz + 1, f"ends with {S.nnz + 1}, and there are {S.nnz} entries"),
    ):
        opened = folder(tmp_path / f"{name}{at}{value}", S)
        _write(opened.path / f"{name}.npy", at, value)
        with pytest.raises(DataError, match=message):
            opened.check()
    opened = folder(tmp_path / "w", A, B, W)
    file = opened.path / "weights.npy"
    _write(file, 4, -1.0)
    path, content = manifest_of(opened)
    content["arrays"]["weights"]["sha256"] = writing.sha256_of(file).hexdigest()
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="weights must not be negative"):
        dualgap.open(opened.path).check()
