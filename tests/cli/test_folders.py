"""The commands on data that stay on disk."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dualgap
from tests.cli.runner import BAD_INPUT, CONVERGED, NOT_CONVERGED, run

RNG = np.random.default_rng(4)
A = np.round(RNG.standard_normal((80, 3)), 4)
LABELS = np.where(A[:, 0] + 0.5 * RNG.standard_normal(80) > 0, 2, 1)


@pytest.fixture
def files(tmp_path):
    """The same rows as CSV with a header, and as svmlight."""
    rows = [[*map(repr, row), str(label)] for row, label in zip(A.tolist(), LABELS, strict=True)]
    (tmp_path / "rows.csv").write_text("a,b,c,class\n" + "".join(",".join(r) + "\n" for r in rows))
    lines = [f"{r[-1]} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(r[:-1])) for r in rows]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", ["rows.csv", "rows.svm"])
def test_a_folder_takes_the_place_of_its_file(files, name):
    """Fit, certify and predict: the same answers, and the same fingerprint of the data."""
    folder, source = files / "f", files / name
    done = run("convert", source, folder)
    assert done.exit_code == CONVERGED and "80 rows, 3 columns" in done.stdout
    assert "sound" in run("check", folder).stdout
    models = {}
    for data in (folder, source):
        out = files / f"{data.name}.json"
        done = run("fit", data, "--loss", "logistic", "--l2", "0.1", "--out", out)
        assert done.exit_code == CONVERGED, done.stderr
        models[data] = json.loads(out.read_text())
    one, other = models.values()
    assert one["data_fingerprint"] == other["data_fingerprint"]
    assert one["labels"] == other["labels"] == [1.0, 2.0]
    assert one["feature_names"] == other["feature_names"]
    np.testing.assert_allclose(one["x"], other["x"], rtol=1e-6)
    for model in models:
        for data in models:
            path = files / f"{model.name}.json"
            # An svmlight file is read as the fitted one was; a folder does not say how it was.
            done = run("certify", path, data)
            assert done.exit_code == CONVERGED and "does not hold" not in done.stderr
            assert done.stdout.count("within the tolerance") == 1
            predictions = run("predict", path, data).stdout.split()
            assert set(predictions) == {"1", "2"} and len(predictions) == 80
    assert run("certify", files / "f.json", folder, "--tol", "1e-300").exit_code == NOT_CONVERGED


@pytest.mark.parametrize("name", ["rows.csv", "rows.svm"])
def test_predictions_of_a_folder_go_to_a_folder(files, name):
    """The numbers that are printed, in an array; what is there already is left alone."""
    assert run("convert", files / name, files / "f").exit_code == CONVERGED
    model = files / "m.json"
    assert (
        run("fit", files / "f", "--loss", "logistic", "--l2", "0.1", "--out", model).exit_code == 0
    )
    for option in ((), ("--scores",)):
        out = files / f"predictions{len(option)}"
        done = run("predict", model, files / "f", *option, "--out", out)
        assert done.exit_code == CONVERGED and done.stdout == f"written to {out}\n", done.stderr
        printed = run("predict", model, files / "f", *option).stdout.split()
        assert np.load(out / "predictions.npy").tolist() == [float(text) for text in printed]
        before = (out / "predictions.npy").read_bytes()
        done = run("predict", model, files / "f", "--out", out)
        assert done.exit_code == BAD_INPUT and "is there already" in done.stderr
        assert (out / "predictions.npy").read_bytes() == before
    done = run("predict", model, files / "f", "--out", files / "p", "--json")
    assert json.loads(done.stdout) == {"predictions": str(files / "p")}
    assert (
        run("predict", model, files / "f", "--out", "-").stdout.split()
        == run("predict", model, files / "f").stdout.split()
    )


def test_a_folder_without_targets_can_be_predicted(files):
    source = files / "rows.svm"
    model, plain = files / "m.json", files / "plain"
    assert run("fit", source, "--loss", "logistic", "--l2", "0.1", "--out", model).exit_code == 0
    dualgap.datasets.write_folder(plain, [A])
    weighted = dualgap.datasets.write_folder(files / "w", [(A, LABELS, np.ones(80))]).path
    for data in (plain, weighted):
        done = run("predict", model, data)
        assert done.exit_code == CONVERGED and done.stdout == run("predict", model, source).stdout
    assert "has no targets" in run("certify", model, plain).stderr
    assert "weights, which have no place" in run("certify", model, weighted).stderr
    shifted = dualgap.datasets.write_folder(files / "s", [(A, LABELS, None, LABELS)]).path
    assert "has offset, which has no place" in run("predict", model, shifted).stderr
    assert "target is for files" in run("predict", model, plain, "--target", "1").stderr


def test_text_weights_and_json(files):
    table = files / "text.csv"
    table.write_text("colour,w,size,y\nred,1,0.5,no\nblue,2,1.5,yes\nred,1,2.5,yes\n")
    done = run("convert", table, files / "t", "--category", "colour", "--weights", "w", "--json")
    assert json.loads(done.stdout) == {
        "folder": str(files / "t"),
        "rows": 3,
        "columns": 3,
        "entries": 6,
        "sparse": True,
        "arrays": ["data", "indices", "indptr", "b", "weights"],
        "classes": ["no", "yes"],
    }
    done = run("fit", files / "t", "--loss", "logistic", "--l2", "0.1")
    assert done.exit_code == BAD_INPUT and "has weights, which have no place" in done.stderr


def test_a_folder_with_other_values_of_a_category_is_refused_by_their_names(files):
    table, model = files / "cities.csv", files / "m.json"
    table.write_text("city,age,y\nRome,1,1\nOslo,2,2\nLima,3,2\n")
    done = run("fit", table)  # text is named with what can be done about it
    assert done.exit_code == BAD_INPUT and "`dualgap convert` makes columns" in done.stderr
    run("convert", table, files / "all", "--category", "city")
    assert run("fit", files / "all", "--l2", "1", "--out", model).exit_code == CONVERGED
    table.write_text("city,age,y\nRome,1,1\nBern,2,2\n")
    run("convert", table, files / "others", "--category", "city")
    done = run("predict", model, files / "others")
    assert done.exit_code == BAD_INPUT
    assert "it lacks 'city=Lima', 'city=Oslo'; it also has 'city=Bern'" in done.stderr


def test_what_is_refused(files):
    folder = files / "f"
    assert run("convert", files / "rows.csv", folder).exit_code == CONVERGED
    for arguments, message in (
        (("convert", files / "rows.csv", folder), "is there already; say overwrite"),
        (("convert", files / "none.csv", files / "g"), "neither a file nor a known data set"),
        (("convert", files / "rows.svm", files / "g", "--target", "1"), "target is for CSV"),
        (("check", files), "has no manifest.json"),
        (("fit", folder, "--format", "csv"), "format is for files"),
        (("fit", folder, "--target", "a"), "target is for files"),
        (("fit", folder, "--algorithm", "saga", "--l2", "1"), "the folder"),
    ):
        done = run(*arguments)
        assert done.exit_code == BAD_INPUT and message in done.stderr, done.stderr
    assert run("convert", files / "rows.svm", folder, "--overwrite").exit_code == CONVERGED
    model = files / "m.json"
    run("fit", files / "rows.csv", "--l2", "1", "--out", model)
    done = run("predict", model, folder)  # which has no names now
    assert done.exit_code == BAD_INPUT and "say --by-position" in done.stderr
    assert run("predict", model, folder, "--by-position").exit_code == CONVERGED
    values = np.load(folder / "b.npy", mmap_mode="r+")
    values[7] = 5.0
    values.flush()
    done = run("check", folder)
    assert done.exit_code == BAD_INPUT and "b.npy: its sha256 is" in done.stderr
