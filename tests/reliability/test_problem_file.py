"""A dumped problem is the same problem; what is no dumped problem is refused in a sentence."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import losses
from tests.reliability.problems import labels, regression

WITH_OPTIONS = [
    losses.Squared(),
    losses.Logistic(),
    losses.SmoothedHinge(width=0.3),
    losses.SquaredHinge(),
    losses.Huber(threshold=0.1 + 0.2),  # a number with all its digits
    losses.StrongLogistic(strength=1 / 3),
    losses.Multinomial(classes=5),
    losses.Multinomial(),
]


def targets(loss, b):
    if loss.is_vector:
        return np.arange(b.size) % 4
    return b if loss.name in ("squared", "huber") else labels(b)


def example(loss, A=None, **arguments):
    """A problem with every argument."""
    data, b = regression()
    rng = np.random.default_rng(5)
    n, d = data.shape
    classes = (5 if loss == losses.Multinomial(5) else 4,) if loss.is_vector else ()
    every = {
        "l1": 0.1 / 3,
        "l2": 1e-3 / 7,
        "fit_intercept": True,
        "penalty_weights": rng.uniform(size=d).round(1),
        "sample_weight": rng.uniform(size=n),
        "offset": rng.standard_normal((n, *classes)),
    }
    A = data if A is None else A
    return dualgap.Problem(A, targets(loss, b), loss=loss, **{**every, **arguments})


def through_file(problem, tmp_path):
    problem.dump(tmp_path / "p.npz")
    return dualgap.Problem.load(tmp_path / "p.npz")


def assert_same(one, other):
    """Law: bit for bit, in the same types and layouts."""
    assert repr(one) == repr(other)
    assert one.loss == other.loss
    for name in ("l1", "l2", "fit_intercept", "n", "d", "outputs", "uniform"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("b", "q", "offset", "penalty_weights", "sample_weight"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or (a.dtype == b.dtype and np.array_equal(a, b)), name
    A, B = one.base.A, other.base.A
    assert type(A) is type(B)
    assert A.dtype == B.dtype
    for name in ("data", "indices", "indptr") if sp.issparse(A) else ():
        a, b = getattr(A, name), getattr(B, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    if not sp.issparse(A):
        assert np.array_equal(A, B)
        assert (A.flags.c_contiguous, A.flags.f_contiguous) == (
            B.flags.c_contiguous,
            B.flags.f_contiguous,
        )


@pytest.mark.parametrize("loss", WITH_OPTIONS, ids=repr)
def test_every_loss_with_every_argument(loss, tmp_path):
    problem = example(loss)
    again = through_file(problem, tmp_path)
    assert_same(problem, again)
    one, other = (p.solve(max_passes=30) for p in (problem, again))
    assert np.array_equal(one.x, other.x)
    assert one.certificate == other.certificate


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_sparse_data_stay_as_they_are(form, index, dtype, tmp_path):
    A = form(np.where(regression()[0] > 0.5, regression()[0], 0.0).astype(dtype))
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    assert_same(problem := example(losses.Squared(), A), through_file(problem, tmp_path))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_data_stay_as_they_are(order, dtype, tmp_path):
    A = np.array(regression()[0], order=order, dtype=dtype)
    assert_same(problem := example(losses.Squared(), A), through_file(problem, tmp_path))


def test_nothing_but_the_data(tmp_path):
    A, b = regression()
    problem = dualgap.Problem(A, b)
    assert_same(problem, through_file(problem, tmp_path))
    with zipfile.ZipFile(tmp_path / "p.npz") as archive:
        assert set(archive.namelist()) == {"arguments.json", "A.npy", "b.npy"}


def test_other_strengths_and_targets_are_dumped(tmp_path):
    problem = example(losses.Squared()).replace(l1=0.25, b=np.arange(40.0), loss="huber")
    assert_same(problem, through_file(problem, tmp_path))


def test_weights_are_those_of_the_making(tmp_path):
    """Law: q does not follow what the caller does to his array later, nor does the file."""
    weights = np.arange(1.0, 41.0)
    problem = example(losses.Squared(), sample_weight=weights)
    weights[:] = 1.0
    assert_same(problem, through_file(problem, tmp_path))
    assert np.array_equal(problem.sample_weight, np.arange(1.0, 41.0))


def test_numpy_reads_it_without_pickle(tmp_path):
    problem = example(losses.Squared())
    problem.dump(str(tmp_path / "p"))  # a string, and no ending of our own
    with np.load(tmp_path / "p", allow_pickle=False) as archive:
        assert np.array_equal(archive["A"], problem.base.A)
        arguments = json.loads(archive["arguments.json"])
    assert arguments["loss"] == {"name": "squared"}
    assert arguments["l1"] == problem.l1
    assert arguments["written_by"]["dualgap"] == dualgap.__version__


# ---- what cannot be written ----


def test_a_loss_of_the_users_own_is_refused(tmp_path):
    class Mine(losses.Squared):
        pass

    with pytest.raises(TypeError, match="not one of dualgap's"):
        example(Mine()).dump(tmp_path / "p")
    assert os.listdir(tmp_path) == []


def test_other_variables_are_refused(tmp_path):
    from dualgap.designs import ScaledDesign

    problem = example(losses.Squared())
    inner = problem.in_variables(ScaledDesign(problem.base, np.ones(5)), problem.penalty)
    with pytest.raises(TypeError, match="ScaledDesign, which no file can hold"):
        inner.dump(tmp_path / "p")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    problem = example(losses.Squared())
    with pytest.raises(ValueError, match=r"path=.* is a directory"):
        problem.dump(tmp_path)
    with pytest.raises(ValueError, match=r"path=.* make it first"):
        problem.dump(tmp_path / "none" / "p")


# ---- what cannot be read ----


def members_of(problem, tmp_path):
    problem.dump(tmp_path / "whole")
    with zipfile.ZipFile(tmp_path / "whole") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def refused(path):
    with pytest.raises(dualgap.datasets.DataError, match="path=") as caught:
        dualgap.Problem.load(path)
    return str(caught.value)


def refused_members(members, tmp_path, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(tmp_path / "p", "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return refused(tmp_path / "p")


def test_what_is_no_archive(tmp_path):
    assert "no such file" in refused(tmp_path / "none")
    assert "is no file" in refused(tmp_path)
    (tmp_path / "text").write_text("A, b\n1, 2\n")
    assert "no dualgap problem" in refused(tmp_path / "text")
    np.savez(tmp_path / "other.npz", A=np.ones((2, 1)), b=np.ones(2))
    assert "'arguments.json' is missing" in refused(tmp_path / "other.npz")


def test_every_cut_and_every_flipped_byte_is_noticed(tmp_path):
    """Law: checksums and lengths leave no byte of the arrays unguarded; nothing else is raised."""
    A, b = regression(6, 2)
    problem = dualgap.Problem(A, b, l2=0.5)
    problem.dump(tmp_path / "p")
    whole = (tmp_path / "p").read_bytes()
    broken = tmp_path / "broken"
    for cut in range(0, len(whole), 7):
        broken.write_bytes(whole[:cut])
        refused(broken)
    for at in range(0, len(whole), 3):
        broken.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            again = dualgap.Problem.load(broken)
        except dualgap.datasets.DataError:
            continue
        assert_same(problem, again)  # dates, attributes: what says nothing of the problem


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "model"}, "does not say that its format"),
        ({"format_version": 3}, "format_version is 3"),
        ({"l1": -1.0}, "l1 must be at least 0"),
        ({"l1": "0"}, "l1 must be a real number"),
        ({"l1": 10**400}, "l1 must be finite"),
        ({"l2": float("nan")}, "NaN is not a number"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"loss": {"name": "cubic"}}, "'cubic' is unknown"),
        ({"loss": {"name": "huber", "threshold": -1.0}}, "threshold must be more than 0"),
        ({"loss": {"name": "huber", "width": 1.0}}, "width"),
        ({"loss": "huber"}, "no dualgap problem"),
        ({"loss": {}}, "'name' is missing"),
        ({"A": {"kind": "pickle"}}, "unknown kind 'pickle'"),
        ({"A": []}, "no dualgap problem"),
    ],
)
def test_arguments_that_make_no_problem(change, message, tmp_path):
    members = members_of(example(losses.Squared()), tmp_path)
    arguments = json.loads(members["arguments.json"]) | change
    members["arguments.json"] = json.dumps(arguments).encode()
    assert message in refused_members(members, tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_arguments_that_are_none(content, tmp_path):
    members = members_of(example(losses.Squared()), tmp_path)
    assert "no dualgap problem" in refused_members({**members, "arguments.json": content}, tmp_path)


def npy(values, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(values), **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("b", npy(np.ones(3)), "b has shape (3,)"),
        ("b", npy(np.full(40, np.nan)), "b is not finite"),
        ("b", npy(np.ones(40)).replace(b"(40,)", b"(41,)"), "another number of bytes"),
        ("b", npy(np.ones(40)).replace(b"(40,), } ", b"(-40,), }"), "another number of bytes"),
        (
            "b",
            npy(np.ones(40)).replace(b"(40,), }   ", b"(" + b"9" * 4 + b",), } "),
            "no dualgap problem",
        ),
        ("b", npy(np.array([None] * 40)), "dtype object"),
        ("b", npy(np.array(["1"] * 40)), "dtype <U1"),
        ("b", npy(np.ones(40), version=(2, 0)), "version (2, 0)"),
        ("b", b"", "no dualgap problem"),
        ("offset", npy(np.ones((40, 2))), "offset has shape (40, 2)"),
        ("A", npy(np.ones(40)), "two dimensions"),
    ],
)
def test_arrays_that_make_no_problem(name, content, message, tmp_path):
    members = members_of(example(losses.Squared()), tmp_path)
    assert message in refused_members({**members, f"{name}.npy": content}, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.int32([0, 9])}, "ind"),
        ({"indices": np.int32([0, -1])}, "ind"),
        ({"indptr": np.int32([0, 1, 1, 5])}, "ind"),
        ({"indptr": np.int32([0, 5, 1, 2])}, "ind"),
        ({"indptr": np.int32([0, 1])}, "indptr has shape (2,)"),
        ({"data": np.ones(3)}, "ind"),
        ({"indices": np.array([0.0, 1.0])}, "indices of dtype float64"),
        ({"indices": np.int64([0, 1])}, "indices of dtype int64 and indptr of int32"),
    ],
)
def test_sparse_arrays_that_make_no_matrix(change, message, tmp_path):
    """An index outside of the shape must not come to compiled code; "ind" is in scipy's words."""
    problem = dualgap.Problem(sp.csr_array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), [1.0, 2.0, 3.0])
    members = members_of(problem, tmp_path)
    members |= {f"{name}.npy": npy(values) for name, values in change.items()}
    assert message in refused_members(members, tmp_path)


def test_a_missing_array_is_named(tmp_path):
    members = members_of(example(losses.Squared()), tmp_path)
    del members["b.npy"]
    assert "'b.npy' is missing" in refused_members(members, tmp_path)


def test_nothing_is_unpacked(tmp_path):
    """Law: a file takes no more memory than it is long, so that compressed members are refused."""
    members = members_of(example(losses.Squared()), tmp_path)
    message = refused_members(members, tmp_path, zipfile.ZIP_DEFLATED)
    assert "compressed" in message
