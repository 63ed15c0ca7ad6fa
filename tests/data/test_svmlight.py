"""The svmlight reader: equal to scikit-learn's and to float(), strict, small in memory."""

import bz2
import gzip
import io
import lzma
import re
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dualgap.datasets import DataError, load_svmlight, svmlight

STABLE = settings(max_examples=100, derandomize=True, database=None, deadline=None)
COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def write(folder, content, name="file.svm"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


# ---- equivalence ----

finite = st.floats(-1e300, 1e300)  # the largest float64, to 16 digits, is none
rows = st.lists(
    st.tuples(finite, st.dictionaries(st.integers(0, 40), finite, max_size=6)),
    min_size=1,
    max_size=8,
)


@STABLE
@given(rows=rows, zero_based=st.booleans())
def test_what_scikit_learn_writes_is_read_as_scikit_learn_reads_it(rows, zero_based):
    A = sp.lil_matrix((len(rows), 41))
    for i, (_, entries) in enumerate(rows):
        for j, value in entries.items():
            A[i, j] = value
    file = io.BytesIO()
    dump_svmlight_file(A.tocsr(), [b for b, _ in rows], file, zero_based=zero_based)
    text = file.getvalue()
    options = {"n_features": 41, "zero_based": zero_based}
    theirs, c = load_svmlight_file(io.BytesIO(text), **options)
    ours, b, _ = svmlight.Reader("it", **options).read(io.BytesIO(text))
    assert ours.shape == theirs.shape
    assert same_bits(ours.data, theirs.data) and same_bits(b, c)
    assert (ours.indices == theirs.indices).all() and (ours.indptr == theirs.indptr).all()


digits = st.text("0123456789", min_size=1, max_size=24)
numbers = st.builds(
    lambda sign, whole, rest, power: sign + whole + rest + power,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(lambda d: "." + d)),
    st.one_of(st.just(""), st.integers(-340, 285).map(lambda e: f"e{e:+d}")),
)


@STABLE
@given(tokens=st.lists(numbers, min_size=1, max_size=20))
def test_numbers_are_rounded_as_float_rounds_them(tokens):
    expected = np.array([float(token) for token in tokens])
    text = "".join(f"{token} 1:{token}\n" for token in tokens)
    if not np.isfinite(expected).all():
        with pytest.raises(DataError, match=r"line \d+: .* too large"):
            read(text)
        return
    A, b = read(text)
    assert same_bits(A.data, expected)
    assert same_bits(b, expected)


def test_numbers_between_two_floats_go_to_the_even_one():
    """2m + 1 half-units, scaled by powers of ten that keep it exact: ties, and their neighbours."""
    rng = np.random.default_rng(0)
    tokens = []
    for m in rng.integers(2**53, 2**54, size=500).tolist():
        for scale in (0, 1, 2, 3):
            tie = (m | 1) * 5**scale
            tokens += [f"{tie + step}e-{scale}" for step in (-1, 0, 1)]
    A, _ = read("".join(f"1 1:{token}\n" for token in tokens))
    assert same_bits(A.data, np.array([float(token) for token in tokens]))


def read(text, **options):
    content = text if isinstance(text, bytes) else text.encode()
    options = {"n_features": None, "zero_based": None, **options}
    return svmlight.Reader("it", **options).read(io.BytesIO(content))[:2]


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("postponed", [1, 1024])
def test_blocks_do_not_show(monkeypatch, block, postponed):
    """However small the blocks, and however few numbers may wait for float()."""
    lines = [
        "# head",
        "",
        "1 2:0.12345678901234567890123 7:1 # tail",
        "-2.5\t1:4e-310 3:5e-324 9:1",
    ]
    lines += [f"{i} {i + 1}:{i / 7!r}" for i in range(20)]
    text = "\r\n".join(lines)  # the last line without an end
    A, b = read(text)
    monkeypatch.setattr(svmlight, "BLOCK", block)
    monkeypatch.setattr(svmlight, "POSTPONED", postponed)
    C, c = read(text)
    assert same_bits(A.data, C.data) and same_bits(b, c)
    assert (A.indices == C.indices).all() and (A.indptr == C.indptr).all()
    theirs, targets = load_svmlight_file(io.BytesIO(text.encode()))
    assert same_bits(A.data, theirs.data) and same_bits(b, targets)


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def plain_number(token):
    if not NUMBER.fullmatch(token) or not np.isfinite(float(token)):
        raise ValueError(token)
    return float(token)


def plain_rows(text):
    """The format in plain Python: a list of (target, {index: value}); ValueError at a fault."""
    rows = []
    for line in text.split("\n"):
        tokens = [t for t in re.split(r"[ \t\r]+", line.partition("#")[0]) if t]
        if not tokens:
            continue
        target, entries = plain_number(tokens[0]), {}
        features = tokens[1:]
        if features and features[0].startswith("qid:"):
            plain_number(features.pop(0)[4:])
        for token in features:
            index, colon, value = token.partition(":")
            if not (colon and re.fullmatch(r"\d{1,18}", index, re.ASCII)):
                raise ValueError(token)
            if entries and int(index) <= max(entries):
                raise ValueError(token)
            entries[int(index)] = plain_number(value)
        rows.append((target, entries))
    if not rows:
        raise ValueError("empty")
    return rows


WORDS = ["1 ", "2:3 ", "4:-.5", " 7:1e2", "\n", "#", "qid:1 ", " ", "\t", "\r\n", "0:", "-", "+1"]
pieces = st.sampled_from([*WORDS, "\n", *"0123456789:.eqidnax"])


@settings(STABLE, max_examples=1000)
@given(text=st.lists(pieces, max_size=12).map("".join))
def test_any_text_is_read_as_plain_python_reads_it(text):
    try:
        expected = plain_rows(text)
    except ValueError:
        with pytest.raises(DataError, match=r"line \d+: "):
            read(text)
        return
    A, b = read(text)
    assert b.tolist() == [target for target, _ in expected]
    first = 0 if any(0 in entries for _, entries in expected) else 1
    for i, (_, entries) in enumerate(expected):
        part = slice(A.indptr[i], A.indptr[i + 1])
        found = zip((A.indices[part] + first).tolist(), A.data[part].tolist(), strict=True)
        assert dict(found) == entries


# ---- the format ----


def test_comments_blank_lines_and_queries_are_no_data():
    A, b = read("# all\n\n1 qid:3 1:2 # 5:6\n   \n2\n-3 qid:-1 2:0\n")
    assert b.tolist() == [1, 2, -3]
    assert A.toarray().tolist() == [[2, 0], [0, 0], [0, 0]]
    assert A.nnz == 2  # a zero that was written stays


def test_where_columns_start():
    assert read("1 1:5\n")[0].toarray().tolist() == [[5]]
    assert read("1 1:5\n1 0:1\n")[0].toarray().tolist() == [[0, 5], [1, 0]]
    assert read("1 1:5\n", zero_based=True)[0].toarray().tolist() == [[0, 5]]
    assert read("1 1:5\n", n_features=3)[0].shape == (1, 3)
    with pytest.raises(DataError, match="index 0"):
        read("1 0:5\n", zero_based=False)
    with pytest.raises(DataError, match="start at 0: 4 columns, not 3"):
        read("1 0:1 3:5\n", n_features=3)


def test_indices_are_as_narrow_as_they_can_be():
    narrow = read(f"1 1:1\n2 {2**31 - 1}:3\n", n_features=2**31 - 1)[0]
    assert narrow.indices.dtype == narrow.indptr.dtype == np.int32
    wide = read(f"1 1:1\n2 {2**31 + 5}:3\n3 2:1\n", n_features=2**31 + 5)[0]
    assert wide.indices.dtype == wide.indptr.dtype == np.int64
    assert wide.indices.tolist() == [0, 2**31 + 4, 1]
    assert wide.shape == (3, 2**31 + 5)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_recognised_by_content(tmp_path, kind):
    text = b"1 1:0.5\n-1 2:3\n"
    path = write(tmp_path, COMPRESSORS[kind](text), "no_ending")
    A, b, zero_based = load_svmlight(path)
    assert A.toarray().tolist() == [[0.5, 0], [0, 3]] and b.tolist() == [1, -1]
    assert zero_based is False


def test_standard_input(monkeypatch):
    raw = io.BytesIO(lzma.compress(b"1 1:2\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    assert load_svmlight("-")[0].toarray().tolist() == [[2]]


# ---- bad input ----

GOOD = "1 1:1 2:2\n# comment\n\n"  # three lines
BAD = {
    "1 1:1 x:2": "'x:2' is not of the form index:value",
    "1 -1:2": "'-1:2' is not of the form",
    "1 1.5:2": "'1.5:2' is not of the form",
    "1 3": "'3' is not of the form",
    "1 3: 4": "'3:': the value is not a number",
    "1 3:4x": "'3:4x': the value is not a number",
    "1 3:0x10": "the value is not a number",
    "1 3:1_0": "the value is not a number",
    "1 3:--1": "the value is not a number",
    "1 3:1e": "the value is not a number",
    "1 3:.": "the value is not a number",
    "1 3:4:5": "the value is not a number",
    "1 3:nan": "'3:nan' is not finite",
    "1 3:-Infinity": "is not finite",
    "1 3:1e400": "'1e400' is too large",
    "1 3:1 3:2": "'3:2': indices must ascend",
    "1 3:1 2:2": "'2:2': indices must ascend",
    "1 99999999999999999999:1": "is not of the form",
    "1 qid:x 1:1": "the value is not a number",
    "1,2 1:1": "the target '1,2' is not a number",
    "one 1:1": "the target 'one' is not a number",
    "nan 1:1": "'nan' is not finite",
    "1e999 1:1": "is too large",
    "1 1:\xff": "is not a number",
    "1 1:1\x001": "a zero byte; this is a binary file",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_named(tmp_path, line):
    path = write(tmp_path, (GOOD + line + "\n1 1:1\n").encode("latin-1"))
    with pytest.raises(DataError) as raised:
        load_svmlight(path)
    assert str(raised.value).startswith(f"{path}, line 4: ")
    assert BAD[line] in str(raised.value)


def test_an_index_beyond_the_columns_is_named(tmp_path):
    path = write(tmp_path, GOOD + "1 5:1\n")
    with pytest.raises(DataError, match="line 4: '5:1': the index is beyond the last of 4 columns"):
        load_svmlight(path, n_features=4)


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n"])
def test_a_file_without_rows(tmp_path, content):
    with pytest.raises(DataError, match=r"line \d: the file ends, and there was no row"):
        load_svmlight(write(tmp_path, content))


def test_no_file_and_a_directory(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load_svmlight(tmp_path / "none.svm")
    with pytest.raises(DataError, match="is a directory"):
        load_svmlight(tmp_path)


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("fault", ["truncated", "corrupt"])
def test_broken_compression_is_named_with_its_line(tmp_path, monkeypatch, kind, fault):
    monkeypatch.setattr(svmlight, "BLOCK", 1000)
    rng = np.random.default_rng(0)
    text = "".join(f"1 1:{v!r}\n" for v in rng.standard_normal(3000).tolist())
    whole = bytearray(COMPRESSORS[kind](text.encode()))
    if fault == "truncated":
        del whole[len(whole) // 2 :]
    else:
        middle = len(whole) // 2
        whole[middle : middle + 8] = bytes(255 - v for v in whole[middle : middle + 8])
    path = write(tmp_path, bytes(whole))
    with pytest.raises(DataError, match=r"line \d+: ") as raised:
        load_svmlight(path)
    assert str(path) in str(raised.value)


# ---- memory ----


def test_peak_memory_is_within_half_of_the_matrix(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "BLOCK", 1 << 14)
    row = " ".join(f"{j}:0.{j}" for j in range(1, 100))
    path = write(tmp_path, f"1 {row}\n" * 4000)
    load_svmlight(write(tmp_path, "1 1:1\n", "small.svm"))  # imports and compiled code
    tracemalloc.start()
    A, b, _ = load_svmlight(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    matrix = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + b.nbytes
    assert A.shape == (4000, 99)
    assert peak <= 1.5 * matrix
