"""fit, predict, certify: what they print, write and return."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes

import dualgap
from dualgap.algorithms import AdaBPD
from dualgap.cli.model import load_model

from .runner import BAD_INPUT, CONVERGED, NOT_CONVERGED, run


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Diabetes as svmlight files: numbers, two labels 3 and 7, classes 1, 2, 5."""
    folder = tmp_path_factory.mktemp("data")
    A, b = load_diabetes(return_X_y=True)
    A = 10.0 * A
    targets = {
        "numbers": b,
        "labels": np.where(b > 140, 7.0, 3.0),
        "classes": np.select([b < 100, b < 180], [1.0, 2.0], 5.0),
    }
    for name, values in targets.items():
        dump_svmlight_file(A, values, str(folder / f"{name}.svm"), zero_based=False)
    table = np.column_stack((A, b)).tolist()
    (folder / "numbers.csv").write_text("\n".join(",".join(map(repr, row)) for row in table))
    rows = A.tolist()
    (folder / "no_target.csv").write_text("\n".join(",".join(map(repr, row)) for row in rows))
    return folder


@pytest.fixture(scope="module")
def model(data):
    """A fitted ridge regression."""
    path = data / "ridge.json"
    done = run("fit", data / "numbers.svm", "--l2", 0.1, "--fit-intercept", "--out", path)
    assert done.exit_code == CONVERGED, done.output
    return path


@pytest.fixture(scope="module")
def first_order_model(data):
    """The same by a first-order method: its gap is within the tolerance, but not far below."""
    path = data / "ridge-by-bpd.json"
    options = ("--l2", 0.1, "--fit-intercept", "--algorithm", "ada-bpd", "--out", path)
    assert run("fit", data / "numbers.svm", *options).exit_code == CONVERGED
    return path


FITS = {
    "ridge": ("numbers", "squared", ("--l2", 0.1)),
    "lasso": ("numbers", "squared", ("--l1", 2)),
    "huber": ("numbers", "huber", ("--l2", 0.1, "--loss-parameter", 20)),
    "logistic": ("labels", "logistic", ("--l2", 0.01)),
    "classes": ("classes", "multinomial", ("--l2", 0.05)),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_saved_predicts_and_is_certified_again(data, tmp_path, name):
    kind, loss, options = FITS[name]
    file, out = data / f"{kind}.svm", tmp_path / "model.json"
    fit = ["fit", file, "--loss", loss, *options, "--fit-intercept", "--out", out]
    done = run(*fit, "--max-passes", 5000, "--json")
    assert done.exit_code == CONVERGED, done.output
    said = json.loads(done.output)
    assert said["converged"] and said["certificate"]["relative_gap"] <= said["tol"]

    # The saved point is the one that was certified: checked again it gives the same bound.
    done = run("certify", out, file, "--json")
    assert done.exit_code == CONVERGED
    again = json.loads(done.output)
    assert again["within_tol"] and again["same_data"]
    assert again["certificate"] == said["certificate"]

    loaded = load_model(out)
    A, b = dualgap.datasets.load(file)
    done = run("predict", out, file)
    assert done.exit_code == CONVERGED
    printed = np.array([float(line) for line in done.output.split()])
    assert printed.tobytes() == loaded.predict(A).tobytes()
    scores = np.loadtxt(io.StringIO(run("predict", out, file, "--scores").output))
    assert np.array_equal(scores, A @ loaded.x + loaded.intercept)
    if loaded.labels is None:
        assert np.array_equal(printed, scores)
    else:
        assert loaded.labels == np.unique(b).tolist()
        # Better than the largest class alone: labels are not mixed up.
        assert np.mean(printed == b) > 0.1 + np.unique(b, return_counts=True)[1].max() / len(b)


def test_the_same_fit_as_the_library(data, model):
    A, b = dualgap.datasets.load(data / "numbers.svm")
    result = dualgap.solve(A, b, l2=0.1, fit_intercept=True)
    loaded = load_model(model)
    assert loaded.x.tobytes() == result.x.tobytes()
    assert loaded.y.tobytes() == result.y.tobytes()
    assert loaded.intercept == result.intercept


def test_the_certificate_is_printed(data):
    done = run("fit", data / "numbers.svm", "--l2", 0.1)
    assert "numbers.svm: 442 rows, 10 columns" in done.output
    assert "min (1/n) sum_i phi(a_i'x; b_i) + (0.1/2) |x|^2,  phi: squared" in done.output
    assert "P(x) - P* <= " in done.output


def test_not_converged(data, tmp_path):
    out = tmp_path / "model.json"
    fit = ("fit", data / "numbers.svm", "--l2", 0.01, "--algorithm", "ada-bpd", "--max-passes", 2)
    done = run(*fit, "--out", out)
    assert done.exit_code == NOT_CONVERGED
    assert "pass limit" in done.output
    done = run("certify", out, data / "numbers.svm")
    assert done.exit_code == NOT_CONVERGED
    assert "NOT within the tolerance 1e-06" in done.output
    assert run("certify", out, data / "numbers.svm", "--tol", 100).exit_code == CONVERGED


def test_randomised_algorithms_take_a_seed(data, tmp_path):
    points = []
    for seed in (1, 1, 2):
        out = tmp_path / "model.json"
        options = ("--l2", 0.1, "--algorithm", "saga", "--max-passes", 3, "--seed", seed)
        run("fit", data / "numbers.svm", *options, "--out", out)
        points.append(load_model(out).x)
    assert np.array_equal(points[0], points[1])
    assert not np.array_equal(points[0], points[2])


def test_standard_input_and_output(data, model):
    text = (data / "numbers.svm").read_bytes()
    done = run("fit", "-", "--l2", 0.1, "--fit-intercept", "--out", "-", stdin=text)
    assert done.exit_code == CONVERGED
    written, expected = json.loads(done.stdout), json.loads(model.read_text())
    assert written == expected
    assert "442 rows" in done.stderr
    assert run("certify", model, "-", stdin=text).exit_code == CONVERGED
    assert run("predict", model, "-", stdin=text).output.count("\n") == 442


def test_tables(data, model):
    done = run("fit", data / "numbers.csv", "--l2", 0.1, "--fit-intercept", "--json")
    assert done.exit_code == CONVERGED
    assert run("certify", model, data / "numbers.csv").exit_code == CONVERGED
    by_table = run("predict", model, data / "numbers.csv").stdout
    assert by_table == run("predict", model, data / "no_target.csv").stdout
    assert len(by_table.split()) == 442


def test_predictions_to_a_file(data, model, tmp_path):
    out = tmp_path / "predictions.txt"
    assert run("predict", model, data / "numbers.svm", "--out", out).output == ""
    assert out.read_text() == run("predict", model, data / "numbers.svm").output
    said = json.loads(run("predict", model, data / "numbers.svm", "--json").output)
    assert said["predictions"] == [float(v) for v in out.read_text().split()]
    assert [p.name for p in tmp_path.iterdir()] == ["predictions.txt"]


# ---- models that are not what they say ----

HUGE = 10**400
"""An integer of 401 digits, which JSON allows and float64 does not."""


def changed(model, tmp_path, **changes):
    content = json.loads(model.read_text())
    for key, value in changes.items():
        home = content["objective"] if key in content["objective"] else content
        home[key] = value(home[key]) if callable(value) else value
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"l2": 0.2},
        {"l1": 0.1},
        {"x": lambda x: [1.01 * v for v in x]},
        {"intercept": lambda c: c + 1.0},
        {"loss": "huber", "loss_parameter": 10.0},
        {"tol": 1e-12},
    ],
)
def test_a_tampered_model_is_not_certified(data, first_order_model, tmp_path, changes):
    done = run("certify", changed(first_order_model, tmp_path, **changes), data / "numbers.svm")
    assert done.exit_code == NOT_CONVERGED
    assert "NOT within" in done.output


def test_a_wrong_dual_point_can_only_weaken_the_bound(data, model, tmp_path):
    path = changed(model, tmp_path, y=lambda y: [0.0] * len(y))
    done = run("certify", path, data / "numbers.svm", "--json")
    assert done.exit_code == NOT_CONVERGED
    before = json.loads(run("certify", model, data / "numbers.svm", "--json").output)
    assert json.loads(done.output)["certificate"]["primal"] == before["certificate"]["primal"]


def test_other_data_are_not_certified(data, model, tmp_path):
    lines = (data / "numbers.svm").read_text().splitlines()
    other = tmp_path / "other.svm"
    other.write_text("\n".join([lines[0].replace("151 ", "999 ", 1), *lines[1:]]))
    done = run("certify", model, other)
    assert done.exit_code == NOT_CONVERGED
    assert "does not hold the data" in done.stderr
    other.write_text("\n".join(lines[1:]))
    done = run("certify", model, other)
    assert done.exit_code == BAD_INPUT
    assert "441 rows and 10 columns" in done.stderr and "442 rows" in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "pickle"}, "is no dualgap model"),
        ({"format_version": 4}, "format_version 4"),
        ({"loss": "os.system"}, "the loss is unknown"),
        ({"loss_parameter": 3.0}, "takes none"),
        ({"x": [1.0]}, "x has shape (1,), not (10,)"),
        ({"x": "12"}, "x is not an array of numbers"),
        ({"x": lambda x: [None, *x[1:]]}, "x is not an array of numbers"),
        ({"x": lambda x: ["1", *x[1:]]}, "x is not an array of numbers"),
        ({"x": lambda x: [[1.0], *x[1:]]}, "x is not an array of numbers"),
        ({"x": lambda x: [float("1e999"), *x[1:]]}, "Infinity is not a number"),
        ({"y": lambda y: y[1:]}, "y has shape (441,), not (442,)"),
        ({"l2": -1.0}, "l2=-1.0 must be finite and at least 0"),
        ({"l1": "0"}, "l1='0' is not a number"),
        ({"tol": None}, "tol=None is not a number"),
        ({"fit_intercept": 1}, "fit_intercept=1 must be true or false"),
        ({"zero_based": "no"}, "zero_based='no' must be true or false"),
        ({"labels": [1.0, 2.0]}, "do not go with the loss 'squared'"),
        ({"intercept": [1.0]}, "intercept has shape (1,)"),
        ({"intercept": 1e308}, "intercept has largest magnitude 1e+308"),
        ({"x": lambda x: [1e200, *x[1:]]}, "x has largest magnitude 1e+200"),
        ({"x": lambda x: [HUGE, *x[1:]]}, "x is not an array of numbers"),
        ({"intercept": HUGE}, "intercept is not an array of numbers"),
        ({"l1": HUGE}, f"l1={str(HUGE)[:40]}... must be finite"),
        ({"tol": HUGE}, f"tol={str(HUGE)[:40]}... must be finite"),
        ({"loss": "huber", "loss_parameter": HUGE}, "loss_parameter=1000"),
        ({"loss": "huber", "loss_parameter": [1.0]}, "loss_parameter=[1.0] is not a number"),
        ({"format_version": HUGE}, f"format_version {str(HUGE)[:40]}..."),
        ({"format_version": [2]}, "format_version [2]"),
        ({"rows": HUGE}, "y has shape (442,), not (10000"),
        ({"features": 10.5}, "features=10.5 is not an integer"),
        ({"objective": ["squared"]}, "objective=['squared'] is no JSON object"),
        ({"loss": ["squared"]}, "the loss is unknown"),
        ({"loss": {"squared": 1}}, "the loss is unknown"),
        ({"data_fingerprint": ["sha256"]}, "data_fingerprint=['sha256'] is not a string"),
        ({"labels": [[1.0, 2.0]]}, "labels must be a list of ascending numbers"),
        ({"feature_names": "abc"}, "feature_names is not a list of strings"),
        ({"feature_names": [["a"]] * 10}, "feature_names is not a list of strings"),
        ({"feature_names": ["a"] * 10}, "feature_names are not 10 different names"),
        ({"target_name": ["y"]}, "target_name=['y'] is not a string"),
        ({"target_column": 11}, "target_column=11 is more than 10"),
        ({"target_column": True}, "target_column=True is not an integer"),
        ({"fit_intercept": False}, "fit_intercept=false, and there is an intercept"),
    ],
)
def test_an_invalid_model_is_refused(data, model, tmp_path, changes, message):
    path = changed(model, tmp_path, **changes)
    for command in ("certify", "predict"):
        done = run(command, path, data / "numbers.svm")
        assert done.exit_code == BAD_INPUT
        assert done.stderr.startswith(f"dualgap: {path}") and message in done.stderr
        assert done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00\x01", '{"format": NaN}', "[" * 100000])
def test_what_is_no_model_is_refused(data, tmp_path, text):
    path = tmp_path / "model.json"
    path.write_text(text)
    done = run("certify", path, data / "numbers.svm")
    assert done.exit_code == BAD_INPUT and "is no dualgap model" in done.stderr


def test_a_model_without_a_part_is_refused(data, model, tmp_path):
    content = json.loads(model.read_text())
    for key in ("objective", "tol", "labels", "x", "y", "intercept", "rows", "features"):
        part = {k: v for k, v in content.items() if k != key}
        (tmp_path / "part.json").write_text(json.dumps(part))
        done = run("certify", tmp_path / "part.json", data / "numbers.svm")
        assert done.exit_code == BAD_INPUT and f"'{key}' is missing" in done.stderr


# ---- bad usage and input ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--l2", -1), "l2 must be at least 0, got -1"),
        (("--l1", "nan"), "l1 must be finite"),
        (("--tol", 0), "tol must be more than 0"),
        (("--loss", "logstic"), "Did you mean 'logistic'?"),
        (("--loss", "logistic"), "takes two labels"),
        (("--loss-parameter", 2), "the loss 'squared' takes none"),
        (("--algorithm", "adam"), "algorithm='adam' is not known"),
        (("--out", "no/such/folder.json"), "make it first"),
        (("--out", "."), "is a directory"),
        (("--out", "-", "--json"), "both want standard output"),
        (("--features", 3), "line 1: '4:"),
        (("--target", "x"), "target is for CSV"),
    ],
)
def test_bad_arguments(data, arguments, message):
    done = run("fit", data / "numbers.svm", *arguments)
    assert done.exit_code == BAD_INPUT
    assert message in done.stderr
    assert done.stderr.count("\n") == 1  # one line, no traceback


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--l1", -1), "l1 must be at least 0"),
        (("--l2", "inf"), "l2 must be finite"),
        (("--tol", "nan"), "tol must be finite, got nan"),
        (("--max-passes", "nan"), "max_passes must be finite"),
        (("--max-time", -1), "max_time must be at least 0"),
        (("--algorithm", "adam"), "algorithm='adam' is not known"),
        (("--loss", "log"), "loss='log' is not known"),
    ],
)
def test_arguments_are_looked_at_before_the_file(data, arguments, message):
    """Of two faults the cheap one is told: reading a large file may take minutes."""
    done = run("fit", data / "none.svm", *arguments)
    assert done.exit_code == BAD_INPUT and message in done.stderr


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1e-6"])
def test_a_tolerance_that_is_none(data, model, value):
    done = run("certify", model, data / "numbers.svm", "--tol", value)
    assert done.exit_code == BAD_INPUT
    assert "tol must be" in done.stderr and "got" in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_predictions_are_of_real_and_finite_data(model, tmp_path):
    A = np.ones((3, 10))
    for value, words in ((np.nan, "A[1, 4] = nan"), (1e300, "A has largest magnitude 1e+300")):
        A[1, 4] = value
        np.savez(tmp_path / "x.npz", A=A, b=np.ones(3))
        done = run("predict", model, tmp_path / "x.npz")
        assert done.exit_code == BAD_INPUT and words in done.stderr and done.stdout == ""


def test_a_file_that_is_out_of_proportion(data, model, tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text("1 1:1\n2 1000000000:1\n")
    done = run("fit", path, "--l2", 0.1)
    assert done.exit_code == BAD_INPUT and "--features" in done.stderr
    done = run("fit", path, "--l2", 0.1, "--features", 2**40)
    assert done.exit_code == BAD_INPUT and "at most 2147483647" in done.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("fit",), ("fit", "a", "b"), ("what",), ("fit", "a", "--l2", "x")]
)
def test_bad_usage(arguments):
    assert run(*arguments).exit_code == BAD_INPUT


def test_a_bad_file_is_named_with_its_line(data, model, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("1 1:1\n2 1:x\n")
    for command in (("fit", path), ("predict", model, path), ("certify", model, path)):
        done = run(*command)
        assert done.exit_code == BAD_INPUT
        assert done.stderr == f"dualgap: {path}, line 2: '1:x': the value is not a number.\n"


def test_a_label_that_the_model_does_not_know(data, tmp_path):
    out = tmp_path / "model.json"
    run("fit", data / "labels.svm", "--loss", "logistic", "--l2", 0.1, "--out", out)
    done = run("certify", out, data / "numbers.svm")
    assert done.exit_code == BAD_INPUT
    assert "row 1 has the label 151; the model knows 3, 7" in done.stderr


def test_predicting_other_columns(data, model, tmp_path):
    path = tmp_path / "narrow.csv"
    path.write_text("1,2,3\n")
    done = run("predict", model, path)
    assert done.exit_code == BAD_INPUT
    assert "has 2 columns of data; the model takes 10" in done.stderr


# ---- refusals, interruptions, pipes ----


def test_an_interrupted_fit_ends_with_what_there_is(data, tmp_path, monkeypatch):
    step, calls = AdaBPD.step, []

    def interrupted(self, problem, state):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return step(self, problem, state)

    monkeypatch.setattr(AdaBPD, "step", interrupted)
    out = tmp_path / "model.json"
    fit = ("fit", data / "numbers.svm", "--l2", 0.1, "--algorithm", "ada-bpd", "--out", out)
    done = run(*fit)
    assert done.exit_code == NOT_CONVERGED
    assert "Interrupted; this is the best point so far." in done.output
    assert load_model(out).x.any()


def test_an_interrupted_load(data, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("dualgap.cli.clusters.load", interrupted)
    done = run("fit", data / "numbers.svm")
    assert done.exit_code == 130
    assert done.stderr == "dualgap: interrupted\n"


def shell(*arguments, **options):
    command = [sys.executable, "-m", "dualgap", *(str(a) for a in arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_broken_pipe_is_quiet(data, model, tmp_path):
    many = tmp_path / "many.svm"
    many.write_bytes((data / "numbers.svm").read_bytes() * 20)
    process = shell("predict", model, many)
    assert float(process.stdout.readline())
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert complaints == b""


@pytest.mark.slow
def test_no_colours_into_a_pipe(data):
    environment = {
        k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")
    }
    for arguments in (("--help",), ("fit", data / "numbers.svm", "--l2", "1"), ("fit", "--what")):
        output, complaints = shell(*arguments, env=environment).communicate()
        assert (output or complaints) and b"\x1b[" not in output + complaints


def test_without_typer_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from dualgap.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == BAD_INPUT
    assert done.stderr == 'dualgap: the command line needs typer: pip install "dualgap[cli]"\n'


def test_version():
    assert run("--version").output.strip() == dualgap.__version__


def test_paper_hands_its_options_over(monkeypatch, tmp_path):
    """The experiments have their own tests; this is what the command asks of them."""
    asked = {}

    class Experiments:
        @staticmethod
        def run(**options):
            asked.update(options)
            return "the report"

    monkeypatch.setitem(sys.modules, "dualgap.experiments", Experiments)
    options = ("--quick", "--seeds", 2, "--fresh", "--data-folder", tmp_path)
    done = run("paper", "--out", tmp_path / "r", *options)
    assert done.exit_code == CONVERGED and done.output == "the report\n"
    assert asked == {
        "out": tmp_path / "r",
        "quick": True,
        "data_folder": tmp_path,
        "seeds": 2,
        "resume": False,
        "progress": False,
    }


def test_counts_are_fitted_predicted_and_certified(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 3))
    b = rng.poisson(np.exp(A[:, 0] + 0.5)) * 1.0
    table = np.column_stack((A, b)).tolist()
    file, model = tmp_path / "counts.csv", tmp_path / "model.json"
    file.write_text("\n".join(",".join(map(repr, row)) for row in table))
    options = ("--loss", "poisson", "--l2", 0.01, "--fit-intercept", "--out", model)
    assert run("fit", file, *options).exit_code == CONVERGED
    assert run("certify", model, file).exit_code == CONVERGED
    means = [float(line) for line in run("predict", model, file).stdout.split()]
    scores = [float(line) for line in run("predict", model, file, "--scores").stdout.split()]
    assert means == pytest.approx(np.exp(scores))
    assert sum(means) == pytest.approx(b.sum(), rel=1e-2)
