"""npz archives: which matrix they hold, and one sentence for everything that may be wrong."""

import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.datasets import DataError, load, load_npz

SQUARE = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 4.0, 0.0]])
B = np.array([1.0, -1.0, 1.0])


def save_sparse(path, A, **more):
    arrays = {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape, "b": B}
    np.savez(path, **{**arrays, **more})
    return path


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("text", [str, str.encode])
def test_the_format_is_heeded(tmp_path, kind, text):
    """The same three arrays are a square matrix or its transpose: the format tells."""
    A = sp.csr_array(SQUARE).asformat(kind)
    path = save_sparse(tmp_path / "x.npz", A, format=text(kind))
    got = load(path).A
    assert got.format == kind
    assert got.toarray().tolist() == SQUARE.tolist()


def test_what_scipy_saves_is_read_as_scipy_reads_it(tmp_path):
    """`save_npz` and targets beside it, as one puts them together by hand."""
    for kind in ("csr", "csc"):
        sp.save_npz(tmp_path / "saved.npz", sp.csr_array(SQUARE).asformat(kind))
        with np.load(tmp_path / "saved.npz") as saved:
            np.savez(tmp_path / "x.npz", b=B, **saved)
        expected = sp.load_npz(tmp_path / "saved.npz")
        assert (load_npz(tmp_path / "x.npz")[0] != expected).nnz == 0


def test_without_a_format_rows_are_compressed(tmp_path):
    wide = sp.csr_array(np.vstack((SQUARE, SQUARE))[:3, :2])
    assert (
        load(save_sparse(tmp_path / "x.npz", wide)).A.toarray().tolist() == wide.toarray().tolist()
    )
    with pytest.raises(DataError, match=r"indptr|index pointer"):  # it has columns
        load(save_sparse(tmp_path / "x.npz", wide.tocsc()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "coo"}, "format 'coo'; save it as A.tocsr()"),
        ({"indices": [0, 1, 2, 9]}, "indices[3] = 9"),
        ({"indices": [0, 1, 2, -1]}, "indices[3] = -1"),
        ({"indices": [0.0, 1.0, 2.0, 1.0]}, "indices is no vector of integers"),
        ({"indptr": [0, 2, 1, 4]}, "indptr falls"),
        ({"indptr": np.array([0, 2, 3, 4], dtype=object)}, "indptr holds objects"),
        ({"shape": [3]}, "shape has 1 entries, not 2"),
        ({"shape": [3, -3]}, "x.npz"),
        ({"data": ["a", "b", "c", "d"]}, "x.npz"),
        ({"b": ["a", "b", "c"]}, "b has dtype <U1"),
        ({"b": [1.0, np.nan, 1.0]}, "b is not finite: b[1] = nan"),
        ({"b": [1.0, 2.0]}, "b has shape (2,); expected (3,)"),
    ],
)
def test_arrays_that_make_no_data(tmp_path, changes, message):
    path = save_sparse(tmp_path / "x.npz", sp.csr_array(SQUARE), **changes)
    with pytest.raises(DataError) as raised:
        load_npz(path)
    assert str(raised.value).startswith(str(path)) and message in str(raised.value)


@pytest.mark.parametrize("A", [np.ones(3), np.ones((3, 1, 1)), np.array(5.0)])
def test_a_matrix_has_two_dimensions(tmp_path, A):
    np.savez(tmp_path / "x.npz", A=A, b=B)
    with pytest.raises(DataError, match="A must have two dimensions"):
        load_npz(tmp_path / "x.npz")


# ---- archives that cannot be opened ----

LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


def patched(folder, offsets, value):
    """An archive with a 16-bit field of every member's two headers overwritten."""
    path = folder / "x.npz"
    np.savez_compressed(path, A=np.random.default_rng(0).standard_normal((40, 3)), b=np.ones(40))
    content = bytearray(path.read_bytes())
    for mark, offset in zip((LOCAL, CENTRAL), offsets, strict=True):
        at = content.find(mark)
        while at >= 0:
            struct.pack_into("<H", content, at + offset, value)
            at = content.find(mark, at + 4)
    path.write_bytes(content)
    return path


def encrypted(folder):
    return patched(folder, (6, 8), 1)  # general purpose flags: bit 0


def of_unknown_compression(folder):
    return patched(folder, (8, 10), 97)


def with_flipped_bytes(folder):
    path = patched(folder, (6, 8), 0)
    content = bytearray(path.read_bytes())
    for at in range(200, 400):
        content[at] ^= 0x5A
    path.write_bytes(content)
    return path


def with_an_early_end(folder):
    """The list of members is there; the bytes of the first are not."""
    path = folder / "x.npz"
    np.savez(path, A=np.ones((400, 3)), b=np.ones(400))
    content = path.read_bytes()
    start = content.find(CENTRAL)
    path.write_bytes(content[:300] + content[start:])
    return path


def with_a_member_that_is_text(folder):
    path = folder / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("A.npy", "hello")
        archive.writestr("b.npy", "hello")
    return path


def with_a_broken_header(folder):
    path = folder / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        text = b"{'descr': '<f8', 'fortran_order': Fal((".ljust(118)
        archive.writestr("A.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
        archive.writestr("b.npy", b"")
    return path


BROKEN = [
    encrypted,
    of_unknown_compression,
    with_flipped_bytes,
    with_an_early_end,
    with_a_member_that_is_text,
    with_a_broken_header,
]


@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
def test_archives_that_cannot_be_read(tmp_path, make):
    path = make(tmp_path)
    with pytest.raises(DataError) as raised:
        load_npz(path)
    said = str(raised.value)
    assert said.startswith(str(path)) and "\n" not in said
