"""What a checkpoint holds, and what is refused: another run's, a damaged one, a place for none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.checkpoints import files
from dualgap.checkpoints.codec import Decoder, Encoder
from dualgap.driver.keeping import Every, as_every

from .runs import data, difference


def problem(**changes):
    A, b, weights = data("logistic")
    arguments = {"loss": "logistic", "l2": 0.05, "sample_weight": weights, **changes}
    return dualgap.Problem(arguments.pop("A", A), arguments.pop("b", b), **arguments)


OPTIONS = {"algorithm": "ada-bpd", "tol": 1e-9, "max_passes": 12}


@pytest.fixture
def file(tmp_path):
    """A checkpoint of a run that has reached its limit."""
    path = tmp_path / "run.npz"
    problem().solve(checkpoint=path, **OPTIONS)
    return path


def resume(path, given=None, **options):
    return (given or problem()).solve(checkpoint=path, resume=True, **{**OPTIONS, **options})


def refused(path, match, given=None, **options):
    """A sentence, and the file is as it was."""
    before = path.read_bytes()
    with pytest.raises(ValueError, match=match):
        resume(path, given, **options)
    assert path.read_bytes() == before


# ---- what is in it ----


def test_numpy_reads_it_and_nothing_in_it_is_pickled(file):
    with np.load(file, allow_pickle=False) as arrays:
        names = [name for name in arrays if name != files.MANIFEST]
        assert {"course.state.x", "course.state.y", "trace"} <= set(names)
        assert all(arrays[name].dtype.kind in "fiub" for name in names)
        manifest = json.loads(arrays[files.MANIFEST])
    assert manifest["format"] == "dualgap checkpoint"
    assert manifest["run"]["l2"] == (0.05).hex()
    assert manifest["sha256"].keys() == set(names)


def sizes(A, b, path, **options):
    """The entries of each array of a run but its trace."""
    options = {"loss": "logistic", "tol": 1e-12, "max_passes": 9, **options}
    dualgap.solve(A, b, checkpoint=path, **options)
    return [v.size for name, v in files.read(path).arrays.items() if name != "trace"]


def wide_or_tall(n, d):
    rng = np.random.default_rng(2)
    A = rng.standard_normal((n, d))
    return A, np.sign(A @ rng.standard_normal(d) + rng.standard_normal(n)), rng.random(A.shape)


@pytest.mark.parametrize("algorithm", dualgap.algorithms.ALGORITHMS)
def test_its_size_does_not_depend_on_the_entries_of_the_data(algorithm, tmp_path):
    """Law: vectors of n and of d, and matrices of side d, whether A has 2000 entries or 40 000."""
    n, d = 1000, 40
    A, b, random = wide_or_tall(n, d)
    strengths = {"l1": 1e-2} if algorithm in ("working-set", "prox-newton") else {"l2": 1e-2}
    for name, data_ in {"few": sp.csr_array(A * (random < 0.05)), "many": A}.items():
        found = sizes(data_, b, tmp_path / f"{name}.npz", algorithm=algorithm, **strengths)
        assert max(found) <= max(n, d * d)
        assert sum(found) <= 12 * (n + d) + 3 * d * d < A.size / 2


@pytest.mark.parametrize("algorithm", ["newton", "adf-bpd", "adf-spdc"])
@pytest.mark.parametrize("name", dualgap.preconditioners.PRECONDITIONERS)
def test_a_change_of_variables_holds_no_data(algorithm, name, tmp_path):
    """Law: no matrix with a row for each row and a column for each column; `rows`: of side n."""
    n, d = (40, 1000) if name == "rows" else (1000, 40)
    A, b, _ = wide_or_tall(n, d)
    options = {"algorithm": algorithm, "precondition": name, "l2": 1e-2}
    found = sizes(A, b, tmp_path / "run.npz", **options)
    assert max(found) <= max(n, d, min(n, d) ** 2)


# ---- whose run it is ----

OTHER = {
    "l2": ({"l2": 0.06}, r"l2 is 0\.05 there and 0\.06 here"),
    "loss": ({"loss": "smoothed_hinge"}, r"loss is Logistic\(\) there and SmoothedHinge\(width"),
    "b": ({"b": -data("logistic")[1]}, "the targets b are not the same"),
    "A": ({"A": data("logistic")[0] + 1e-300}, "the data A are not the same"),
    "layout": (
        {"A": np.asfortranarray(data("logistic")[0])},
        r"the data A are not the same \(order 'C' there, 'F' here\)",
    ),
    "dtype": ({"A": data("logistic")[0].astype(np.float32)}, r"\(dtype '<f8' there, '<f4' here\)"),
    "sparse": ({"A": data("logistic", "csr")[0]}, r"\(kind 'DenseDesign' there, 'SparseDesign'"),
    "weights": ({"sample_weight": None}, "sample_weight is not the same"),
    "intercept": ({"fit_intercept": True}, "fit_intercept is False there and True here"),
    "offset": ({"offset": np.ones(40)}, "offset is not the same"),
    "penalty": ({"penalty_weights": np.arange(6.0)}, "penalty_weights are not the same"),
}


@pytest.mark.parametrize(("changes", "match"), OTHER.values(), ids=OTHER)
def test_the_run_of_another_problem_is_refused(changes, match, file):
    refused(file, f"is of another run: .*{match}", problem(**changes))


ASKED = {
    "algorithm": ({"algorithm": "adf-bpd"}, r"algorithm is AdaBPD\(.*\) there and ADFBPD\("),
    "rule": ({"adapt": "simple"}, r"algorithm is AdaBPD\(adapt=Curvature\(.*AdaBPD\(adapt=Simple"),
    "mu": ({"mu": 0.5}, r"mu=None.*mu=0\.5"),
    "precondition": ({"precondition": "diagonal"}, r"precondition is None there and Diagonal\(\)"),
    "tol": ({"tol": 1e-8}, r"tol is 1e-09 there and 1e-08 here"),
    "x0": ({"x0": np.ones(6)}, "the x that it begins at is not the same"),
}


@pytest.mark.parametrize(("options", "match"), ASKED.values(), ids=ASKED)
def test_a_run_with_other_options_is_refused(options, match, file):
    refused(file, f"is of another run: .*{match}", **options)


def test_all_that_differs_is_told(file):
    refused(file, "l2 is .*; the targets b are", problem(l2=1.0, b=-data("logistic")[1]))


def test_another_seed_is_another_run(tmp_path):
    options = {"algorithm": "adf-spdc", "max_passes": 9, "tol": 1e-12}
    path = tmp_path / "run.npz"
    problem().solve(random_state=3, checkpoint=path, **options)
    refused(path, r"seed=3.*seed=4", random_state=4, **options)
    again = problem().solve(random_state=3, checkpoint=path, resume=True, **options)
    assert difference(problem().solve(random_state=3, **options), again) == []


def test_one_that_is_there_is_not_replaced(file):
    before = file.read_bytes()
    with pytest.raises(ValueError, match="holds a run already: resume=True goes on from it"):
        problem().solve(checkpoint=file, **OPTIONS)
    assert file.read_bytes() == before


def test_without_one_a_run_begins(tmp_path):
    assert difference(resume(tmp_path / "new.npz"), problem().solve(**OPTIONS)) == []
    assert (tmp_path / "new.npz").exists()


# ---- damaged and foreign files ----


def packed(path, texts, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.save(member, values, allow_pickle=False)


def rewritten(path, edit):
    """The file with another manifest."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members[files.MANIFEST])
    edit(manifest)
    members[files.MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("resumes", [False, True])
def test_one_that_is_cut_short(file, share, resumes):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="is no checkpoint of dualgap, or a damaged one"):
        problem().solve(checkpoint=file, resume=resumes, **OPTIONS)
    assert file.read_bytes() == whole[: int(share * len(whole))]


@pytest.mark.parametrize("resumes", [False, True])
@pytest.mark.parametrize("kind", ["text", "npz", "problem"])
def test_files_of_others_are_not_touched(kind, resumes, tmp_path):
    path = tmp_path / "run.npz"
    if kind == "text":
        path.write_text("not mine")
    elif kind == "npz":
        np.savez(path, x=np.ones(3))
    else:
        problem().dump(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is no checkpoint of dualgap"):
        problem().solve(checkpoint=path, resume=resumes, **OPTIONS)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", files.VERSIONS)
def test_one_of_a_later_form(file, version):
    rewritten(file, lambda manifest: manifest.update({version: 99}))
    refused(file, rf"in another form \(.*{version} 99.* there.*Resume it with that version")


def test_an_array_that_was_changed(file):
    """zipfile knows other bytes by their checksum; this one has the right checksum there."""
    content = files.read(file)
    arrays = {**content.arrays, "course.state.x": content.arrays["course.state.x"] + 1.0}
    with zipfile.ZipFile(file) as archive:
        manifest = archive.read(files.MANIFEST)
    packed(file, {files.MANIFEST: manifest}, arrays)
    refused(file, "course.state.x has another checksum")


NO_RUN = {
    "a class of others": {"object": "pathlib:Path", "fields": {}, "number": 0},
    "a function": {"object": "dualgap.state:replace", "fields": {}, "number": 0},
    "imported elsewhere": {"object": "dualgap._files:Path", "fields": {}, "number": 0},
    "not imported": {"object": "dualgap.__main__:app", "fields": {}, "number": 0},
    "no field": {"object": "dualgap.state:Incumbent", "fields": {"x": None}, "number": 0},
    "no array": {"array": "nothing"},
    "no node": {"again": 12345},
    "a state alone": 3,
}


@pytest.mark.parametrize("tree", NO_RUN.values(), ids=NO_RUN)
def test_a_manifest_that_is_of_no_run(file, tree):
    """Nothing is made but values of classes that runs have."""
    rewritten(file, lambda manifest: manifest["values"].update(course=tree))
    refused(file, "is no checkpoint of dualgap, or a damaged one")


# ---- places where none can be ----


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path):
    def work(*_):
        pytest.fail("it has begun")

    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (folder, tmp_path / "nowhere" / "run.npz"):
        with pytest.raises(ValueError, match="checkpoint="):
            problem().solve(checkpoint=path, callback=work, **OPTIONS)
    with pytest.raises(TypeError, match="name of a file"):
        problem().solve(checkpoint=3, **OPTIONS)
    with pytest.raises(ValueError, match="name it, checkpoint="):
        problem().solve(resume=True, **OPTIONS)
    with pytest.raises(ValueError, match="regular file"):
        problem().solve(checkpoint="/dev/null", **OPTIONS)


def test_a_folder_that_must_not_be_written_to(tmp_path, monkeypatch):
    """As the operating system says it; a superuser is never told so."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ValueError, match="cannot be written to; choose another place"):
        problem().solve(checkpoint=tmp_path / "run.npz", **OPTIONS)


FULL = """
import resource, sys, numpy as np, dualgap
from tests.checkpoints.test_files import problem, OPTIONS
limit = int(sys.argv[2])
def look(seen):
    if seen.passes == 6:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    problem().solve(checkpoint=sys.argv[1], checkpoint_every=0, callback=look, **OPTIONS)
except OSError as error:
    print(error)
"""


def test_a_disk_that_is_full(tmp_path):
    """A sentence; the checkpoint before it is whole, and resuming it comes to the same end."""
    path = tmp_path / "run.npz"
    done = subprocess.run(
        [sys.executable, "-c", FULL, path, "2000"], capture_output=True, text=True, check=True
    )
    assert f"checkpoint={path} cannot be written: File too large." in done.stdout
    assert "The one that was there is as it was." in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    assert files.read(path).arrays["trace"][-1, 0] == 5.0
    assert difference(problem().solve(**OPTIONS), resume(path)) == []


def test_a_last_checkpoint_that_cannot_be_written_is_a_note(tmp_path, monkeypatch):
    """The result is not to be lost to it."""
    path = tmp_path / "run.npz"

    def full(*_):
        raise OSError(28, "No space left on device")

    def look(seen):
        if seen.passes == 6:
            monkeypatch.setattr(files, "write_members", full)

    result = problem().solve(checkpoint=path, checkpoint_every="1 h", callback=look, **OPTIONS)
    assert "No space left on device" in result.notes[-1]
    assert difference(problem().solve(**OPTIONS), result) == ["notes"]
    assert len(files.read(path).arrays["trace"]) == 1


# ---- when ----


@pytest.mark.parametrize(
    ("given", "every"),
    [
        (30, Every(seconds=30.0)),
        ("30", Every(seconds=30.0)),
        ("2.5 min", Every(seconds=150.0)),
        ("1h", Every(seconds=3600.0)),
        ("1 pass", Every(passes=1.0)),
        ("50 passes", Every(passes=50.0)),
    ],
)
def test_how_often(given, every):
    assert as_every(given) == every


@pytest.mark.parametrize("given", ["", "often", "-1 s", "3 days", "1.2.3 s", "nan s", -1.0, np.inf])
def test_no_such_interval(given, tmp_path):
    with pytest.raises(ValueError, match="checkpoint_every"):
        problem().solve(checkpoint=tmp_path / "run.npz", checkpoint_every=given, **OPTIONS)


@pytest.mark.parametrize(("every", "count"), [("5 passes", 4), ("1 h", 2), (0, 13), ("1 pass", 13)])
def test_the_first_follows_the_set_up_and_the_last_the_end(every, count, tmp_path, monkeypatch):
    written = []
    write = files.write
    monkeypatch.setattr(files, "write", lambda *both: (written.append(both), write(*both)))
    problem().solve(checkpoint=tmp_path / "run.npz", checkpoint_every=every, **OPTIONS)
    assert len(written) == count


def test_an_interrupt_writes_the_last_one(tmp_path):
    path = tmp_path / "run.npz"

    def interrupt(seen):
        if seen.passes == 7:
            raise KeyboardInterrupt

    result = problem().solve(checkpoint=path, callback=interrupt, **OPTIONS)
    assert result.status is dualgap.Status.INTERRUPTED
    assert files.read(path).arrays["trace"][-1, 0] == 6.0
    assert difference(problem().solve(**OPTIONS), resume(path)) == []


def test_an_interrupt_while_a_run_is_taken_up_leaves_the_file(file, monkeypatch):
    """Nothing was done, and the best point is in the file: there is no result to return."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = file.read_bytes()
    monkeypatch.setattr(dualgap.algorithms.AdaBPD, "prepare", interrupt)
    with pytest.raises(KeyboardInterrupt):
        resume(file)
    assert file.read_bytes() == before


# ---- values ----


def through(value, homes=frozenset()):
    encoder = Encoder(set(homes))
    tree = json.loads(json.dumps(encoder.tree(value, "v"), allow_nan=False))
    return Decoder(encoder.arrays, set(homes)).value(tree)


@pytest.mark.parametrize(
    "value",
    [None, True, 0, 2**70, "words", 0.1 + 0.2, -0.0, np.inf, -np.inf, 5e-324, (1, (2.0, "3")), [1]],
)
def test_values_are_the_same_bits_again(value):
    again = through(value)
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("scalar", [np.float64(0.1), np.float32(0.1), np.int64(3), np.bool_(True)])
def test_scalars_of_numpy_stay_what_they_are(scalar):
    assert type(through(scalar)) is type(scalar)
    assert through(scalar) == scalar


LAYOUTS = {
    "rows": np.arange(12.0).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "every second": np.arange(12.0)[::2],
    "a column": np.arange(12.0).reshape(3, 4)[:, 1],
    "backwards": np.arange(5.0)[::-1],
    "a part": np.arange(60.0).reshape(3, 4, 5)[:, 1:3, ::2],
    "spread": np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),
    "nothing": np.empty((0, 3)),
    "a number": np.array(3.0),
    "bools": np.array([True, False]),
}


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS)
def test_arrays_lie_as_they_lay(array):
    """The last bits of products with them depend on it."""
    again = through(array)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert array.size == 0 or again.strides == array.strides
    assert np.array_equal(again, array)


def test_what_is_one_is_one_again():
    x = np.ones(3)
    pair = through((x, (x, dualgap.state.Incumbent(x=x))))
    assert pair[0] is pair[1][0] is pair[1][1].x


@pytest.mark.parametrize(
    "value", [{"a": 1}, {1, 2}, np.array(["a"]), np.array([None]), len, 1j, dualgap.Status.ROUNDING]
)
def test_what_is_unknown_is_refused(value):
    with pytest.raises(TypeError, match=r"v\.0 of this run is .*which a checkpoint cannot hold"):
        through((value,))
