"""Fits of folders whose rows are not held: models without arrays of their length, and the line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import dualgap
from dualgap.cli.targets import Coded, encode, labels_of
from dualgap.driver.progress import ReadingLine, bytes_of_reading
from dualgap.losses import as_loss
from dualgap.memory import row_vectors
from tests.cli.runner import BAD_INPUT, CONVERGED, NOT_CONVERGED, run

N, D = 300, 4
RNG = np.random.default_rng(12)
A = RNG.standard_normal((N, D))
Z = A @ RNG.standard_normal(D) + RNG.standard_normal(N)
TARGETS = {
    "squared": Z,
    "logistic": np.where(Z > 0.0, 7.0, 3.0),
    "multinomial": 2.0 + np.digitize(Z, [-1.0, 1.0]),
    "poisson": RNG.poisson(np.exp(np.clip(Z, -2.0, 2.0))).astype(float),
}
LITTLE = str(int(row_vectors(N, None)))
"""Too little for rows to be held easily."""
PENALTIES = {
    "ridge": ("--l2", "0.01"),
    "intercept": ("--l2", "0.01", "--fit-intercept"),
    "elastic net": ("--l1", "0.01", "--l2", "0.01", "--fit-intercept"),
    "free": ("--fit-intercept",),
}


def folder(path, b):
    dualgap.datasets.write_folder(path, ((A[i : i + 50], b[i : i + 50]) for i in range(0, N, 50)))
    return path


def changed(path, out, **changes):
    """A model with other numbers in its dual point."""
    content = json.loads(path.read_text())
    content["dual_point"] |= changes
    out.write_text(json.dumps(content))
    return out


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_fit_and_certify(tmp_path, loss, penalty):
    """The same gap is proved from the model and the data alone, with rows held and without."""
    data, out = folder(tmp_path / "f", TARGETS[loss]), tmp_path / "m.json"
    options = ("--loss", loss, *PENALTIES[penalty], "--memory-limit", LITTLE)
    done = run("fit", data, *options, "--out", out)
    assert done.exit_code == CONVERGED, done.stderr
    assert "rows are not held" in done.stdout
    model = json.loads(out.read_text())
    assert model["y"] is None and model["rows"] == N
    longest = max(
        np.size(part) for part in (model["x"], *model["dual_point"].values()) if part is not None
    )
    assert longest <= 3 * (D + 1)
    for limit, held in ((LITTLE, False), ("1 GB", True)):
        done = run("certify", out, data, "--memory-limit", limit, "--json", "--threads", "1")
        assert done.exit_code == CONVERGED, done.stderr
        said = json.loads(done.stdout)
        assert said["same_data"] and said["within_tol"]
        if not held:
            assert said["certificate"]["gap"] == model["found_by"]["gap"]
    if loss == "squared" and penalty == "ridge":
        other = folder(tmp_path / "g", TARGETS[loss] + 1.0)
        done = run("certify", out, other, "--memory-limit", LITTLE)
        assert done.exit_code == NOT_CONVERGED and "does not hold the data" in done.stderr


def test_a_model_is_certified_on_the_file_that_the_folder_was_made_of(tmp_path):
    rows = [[*map(repr, row), repr(b)] for row, b in zip(A.tolist(), Z.tolist(), strict=True)]
    table = tmp_path / "rows.csv"
    table.write_text("a,b,c,d,y\n" + "".join(",".join(row) + "\n" for row in rows))
    assert run("convert", table, tmp_path / "f").exit_code == CONVERGED
    out = tmp_path / "m.json"
    assert (
        run("fit", tmp_path / "f", "--l2", "1", "--memory-limit", LITTLE, "--out", out).exit_code
        == CONVERGED
    )
    done = run("certify", out, table)
    assert done.exit_code == CONVERGED and "only its folder can tell" in done.stderr
    done = run("certify", out, table, "--json")
    assert json.loads(done.stdout)["same_data"] is None


def test_nothing_of_the_dual_point_is_believed(tmp_path):
    data, out = folder(tmp_path / "f", TARGETS["logistic"]), tmp_path / "m.json"
    options = ("--loss", "logistic", "--l2", "0.01", "--memory-limit", LITTLE)
    assert run("fit", data, *options, "--out", out).exit_code == CONVERGED
    true = json.loads(out.read_text())["found_by"]["primal"]
    for change in ({"at": [9.0] * D}, {"factors": [0.5, 1.0]}, {"bend": [1.0] * D}):
        wrong = changed(out, tmp_path / "wrong.json", **change)
        done = run("certify", wrong, data, "--memory-limit", LITTLE, "--json")
        certificate = json.loads(done.stdout)["certificate"]
        assert not certificate["certified"] or certificate["dual"] <= true
        assert done.exit_code == NOT_CONVERGED or certificate["relative_gap"] <= 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": [1.0]}, "dual_point has at of shape (1,), not (4,)"),
        ({"factors": [1.0]}, "dual_point has factors of shape (1,), not (2,)"),
        ({"bend": [[1.0]]}, "dual_point has bend of shape (1, 1), not (4,)"),
        ({"damping": -1.0}, "damping=-1.0 must be finite and at least 0"),
        ({"at": ["a"] * D}, "at is not an array of numbers"),
    ],
)
def test_a_dual_point_that_does_not_fit_is_refused(tmp_path, change, message):
    data, out = folder(tmp_path / "f", Z), tmp_path / "m.json"
    assert run("fit", data, "--l2", "1", "--memory-limit", LITTLE, "--out", out).exit_code == 0
    done = run("certify", changed(out, tmp_path / "wrong.json", **change), data)
    assert done.exit_code == BAD_INPUT and message in done.stderr, done.stderr


def test_what_is_no_memory_or_too_little_is_refused(tmp_path):
    data = folder(tmp_path / "f", Z)
    done = run("fit", data, "--memory-limit", "much")
    assert done.exit_code == BAD_INPUT and "memory_limit='much' must be" in done.stderr
    done = run("fit", data, "--l2", "1", "--algorithm", "adf-bpd", "--memory-limit", "50kB")
    assert done.exit_code == BAD_INPUT and "300 rows needs 76.8 kB" in done.stderr


def test_a_resumed_fit_is_the_same(tmp_path):
    data, kept = folder(tmp_path / "f", TARGETS["logistic"]), tmp_path / "run.npz"
    options = ("--loss", "logistic", "--l2", "1e-4", "--memory-limit", LITTLE, "--tol", "1e-9")
    assert run("fit", data, *options, "--out", tmp_path / "whole.json").exit_code == CONVERGED
    done = run("fit", data, *options, "--checkpoint", kept, "--max-passes", "2")
    assert done.exit_code == NOT_CONVERGED, done.stderr
    more = ("--checkpoint", kept, "--resume", "--out", tmp_path / "resumed.json")
    assert run("fit", data, *options, *more).exit_code == CONVERGED
    assert (tmp_path / "whole.json").read_text() == (tmp_path / "resumed.json").read_text()


# ---- targets ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_targets_of_data_on_disk_are_encoded_where_they_are_read(name, monkeypatch):
    monkeypatch.setattr("dualgap.cli.targets.PIECE", 7)
    loss, b = as_loss(name), TARGETS[name]
    labels = labels_of(loss, b)
    assert labels == np.unique(b).tolist()
    whole = encode(loss, labels, b)
    coded = Coded(loss, labels, b)
    assert np.array_equal(np.asarray(coded), whole) and len(coded) == N
    assert np.array_equal(coded[40:90], whole[40:90])
    b = b.copy()
    b[77] = 5.5
    with pytest.raises(ValueError, match=r"row 78 has the label 5\.5"):
        Coded(loss, labels, b)[50:100]


# ---- the line ----

LINE = re.compile(
    r"(newton|working-set) [0-9.]+ readings  gap [0-9.e+-]+  [0-9.]+ (bytes|kB|MB|GB)/s  "
    r"[0-9.]+ s  (left \?|left ~[0-9.]+ s|done)"
)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("given", [{"loss": "logistic", "l2": 1e-4}, {"l1": 0.05}], ids=str)
def test_the_line_of_readings_ends_with_the_gap_of_the_certificate(tmp_path, capsys, given):
    name = "logistic" if "loss" in given else "squared"
    data = dualgap.open(folder(tmp_path / "f", TARGETS[name]), holds_rows=False)
    b = np.where(TARGETS[name] > 5.0, 1.0, -1.0) if "loss" in given else Z
    result = dualgap.solve(data.design, b, verbose=True, **given)
    (line,) = capsys.readouterr().err.splitlines()
    assert LINE.fullmatch(line) and len(line) <= 80
    assert f"gap {result.certificate.gap:.1e} " in line and line.endswith("done")


@pytest.mark.usefixtures("plain")
def test_the_time_left_follows_from_the_readings_and_the_gap(tmp_path, monkeypatch, capsys):
    """A hundredth a reading, each of which takes a second: two more for 1e-6, and the proof."""
    design = dualgap.open(folder(tmp_path / "f", Z)).design
    assert bytes_of_reading(design) == 8 * A.size
    times = iter([0.0, *range(1, 20)])
    monkeypatch.setattr("dualgap.driver.progress.time.perf_counter", lambda: float(next(times)))
    line = ReadingLine("newton", design)
    for gap in (1.0, 1e-2):
        design.ledger.rows += N
        line.update(0.0, 1.0, gap, 0.0, 0.0, 1e-6)
    assert line._text == "newton 2.0 readings  gap 1.0e-02  9.6 kB/s  2.0 s  left ~3.0 s"
    line.update(0.0, 1.0, np.inf, 0.0, 0.0, 1e-6)
    line.close()
    assert capsys.readouterr().err.endswith("done\n")


def test_the_line_fits_the_terminal_however_long_it_takes(tmp_path, monkeypatch):
    design = dualgap.open(folder(tmp_path / "f", Z)).design
    times = iter([0.0] + [86_400.0] * 9)
    monkeypatch.setattr("dualgap.driver.progress.time.perf_counter", lambda: next(times))
    line = ReadingLine("working-set", design)
    for gap in (1.0, 0.999):
        design.ledger.rows += 500 * N
        line.update(0.0, 1.0, gap, 0.0, 0.0, 1e-6)
    assert len(line._text) <= 80, line._text
