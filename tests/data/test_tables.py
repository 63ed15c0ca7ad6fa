"""CSV and npz files: what is read, and what is refused."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.datasets import DataError, _text, load, load_csv, load_npz


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["", "# note\n", 'one{0}"two"{0}out\n'])
def test_delimiters_and_headers(tmp_path, delimiter, header):
    rows = ["1{0}2.5{0}3", "", "4{0} 5 {0}-6e1"]
    text = header.format(delimiter) + "\n".join(row.format(delimiter) for row in rows)
    A, b = load_csv(write(tmp_path, text))
    assert A.tolist() == [[1, 2.5], [4, 5]]
    assert b.tolist() == [3, -60]


@pytest.mark.parametrize(
    ("target", "expected"), [("a", [1, 4]), ("1", [2, 5]), (0, [1, 4]), (-1, [3, 6])]
)
def test_target_column(tmp_path, target, expected):
    data = load(write(tmp_path, "a,b,c\n1,2,3\n4,5,6\n"), target=target)
    assert data.b.tolist() == expected
    assert sorted([*data.A.ravel().tolist(), *expected]) == [1, 2, 3, 4, 5, 6]


def test_numbers_keep_all_their_digits(tmp_path):
    values = np.random.default_rng(0).standard_normal((20, 3))
    text = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    A, b = load_csv(write(tmp_path, text))
    assert np.column_stack((A, b)).tobytes() == values.tobytes()


def test_compressed(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n3,4\n"))
    assert load(path).b.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file is empty"),
        ("a,b\n", "line 1: there is a header, and no row"),
        ("1\n2\n", "line 1: one column"),
        ("1,2\n3\n", "line 2: 1 columns; the first row has 2"),
        ("a,b\n\n1,2\n3,x\n", "line 4: column 2: 'x' is not a number"),
        ("1,2\n3,\n", "line 2: column 2: an empty cell"),
        ("1,2\n3,nan\n", "line 2: column 2: nan is not finite"),
        ("1,2\n-inf,3\n", "line 2: column 1: -inf is not finite"),
        ("1,2\n3,1_0\n", "line 2: column 2: '1_0' is not a number"),
        ("1,2\n\x00\x01\n", "line 2: bytes that are no text"),
        ("1,2\n3," + "x" * 200_000 + "\n", "line 2: column 2: 'xxxxxxxxxx"),
        ('1,2\n3,"4\n5,6\n', "line 2: column 2:"),  # a quote that is never closed
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(DataError) as raised:
        load_csv(path)
    assert str(raised.value).startswith(f"{path}, {message}")


@pytest.mark.parametrize("target", ["d", "3", -4])
def test_no_such_target(tmp_path, target):
    with pytest.raises(DataError, match=f"target={target!r}"):
        load_csv(write(tmp_path, "a,b,c\n1,2,3\n"), target=target)


def test_npz_dense_and_sparse(tmp_path):
    A, b = np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([1.0, -1.0])
    for names in (("A", "b"), ("X", "y")):
        np.savez(tmp_path / "d.npz", **dict(zip(names, (A, b), strict=True)))
        got, targets = load_npz(tmp_path / "d.npz")
        assert got.tolist() == A.tolist() and targets.tolist() == b.tolist()
    S = sp.csr_array(A)
    np.savez(
        tmp_path / "s.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, b=b
    )
    data = load(tmp_path / "s.npz")
    assert sp.issparse(data.A) and data.A.toarray().tolist() == A.tolist()


def bad_archives(folder):
    folder.mkdir()
    np.savez(folder / "no_b.npz", A=np.eye(2))
    np.savez(folder / "no_a.npz", b=np.ones(2))
    np.savez(folder / "objects.npz", A=np.array([{}], dtype=object), b=np.ones(1))
    np.savez(folder / "broken.npz", data=[1.0], indices=[9], indptr=[0, 1], shape=(1, 2), b=[1.0])
    np.save(folder / "array.npz.npy", np.eye(2))
    (folder / "array.npz.npy").rename(folder / "array.npz")
    whole = (folder / "no_a.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "text.npz").write_text("hello")
    return sorted(folder.glob("*.npz"))


def test_bad_archives_are_refused(tmp_path):
    paths = bad_archives(tmp_path / "bad")
    assert len(paths) == 7
    for path in paths:
        with pytest.raises(DataError, match=path.name):
            load_npz(path)


def test_options_of_other_formats_are_refused(tmp_path):
    path = write(tmp_path, "1,2\n")
    with pytest.raises(DataError, match="n_features and zero_based are for svmlight"):
        load(path, n_features=3)
    with pytest.raises(DataError, match="target is for CSV"):
        load(write(tmp_path, "1 1:1\n", "x.svm"), target="a")
    with pytest.raises(
        ValueError, match=r"format='svmligth' is not known. Did you mean 'svmlight'"
    ):
        load(path, format="svmligth")
    with pytest.raises(DataError, match="cannot be read from standard input"):
        load("-", format="npz")


@pytest.mark.parametrize("piece", [1, 2, 7, 64])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pieces_do_not_show(tmp_path, monkeypatch, piece, end):
    """However little is read at a time: the same numbers, and the same line is at fault."""
    lines = ["\ufeff# größe", "", "ä,b,c", *(f"{i},{i / 7!r},-{i}e3" for i in range(20)), " # end"]
    good = tmp_path / "good.csv"
    good.write_bytes(end.join(lines).encode())
    bad = tmp_path / "bad.csv"
    bad.write_bytes(end.join([*lines, "1,2,3", "", "4,x,6", "7,8,9"]).encode())
    A, b = load_csv(good)
    monkeypatch.setattr(_text, "PIECE", piece)
    C, c = load_csv(good)
    assert A.shape == (20, 2) and A.tobytes() == C.tobytes() and b.tobytes() == c.tobytes()
    assert load(good).feature_names == ["ä", "b"]
    with pytest.raises(DataError, match="line 27: column 2: 'x' is not a number"):
        load_csv(bad)
    bad.write_bytes(end.join(lines).encode() + end.encode() + b"1,2,\xff\n")
    with pytest.raises(DataError, match="line 25: bytes that are no text"):
        load_csv(bad)


def test_a_compressed_table_that_breaks_off(tmp_path):
    path = tmp_path / "cut.csv.gz"
    rng = np.random.default_rng(0)
    text = "\n".join(",".join(map(repr, row)) for row in rng.standard_normal((2000, 3)).tolist())
    path.write_bytes(gzip.compress(text.encode())[:-2000])
    with pytest.raises(DataError, match=r"line \d+: the data break off here") as raised:
        load_csv(path)
    assert int(str(raised.value).split("line ")[1].split(":")[0]) > 1000
