"""Commands on a cluster: one of their own, and one that is there."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import dualgap
from tests.cli.runner import BAD_INPUT, CONVERGED, NOT_CONVERGED, run
from tests.streamed.data import TARGETS, A, D

pytest.importorskip("distributed", reason="commands on a cluster need the extra dask")
pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
LABELS = np.where(TARGETS["logistic"] > 0.0, 2, 1)
NAMES = [f"x{j}" for j in range(D)]
OBJECTIVE = ("--loss", "logistic", "--l2", "0.01", "--fit-intercept")


@pytest.fixture
def files(tmp_path):
    """The same rows in three Parquet files, and in a folder of arrays."""
    frame = pd.DataFrame(A, columns=NAMES).assign(y=LABELS)
    (tmp_path / "parts").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(tmp_path / "parts" / f"{k}.parquet", index=False)
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    done = run("convert", tmp_path / "all.parquet", tmp_path / "folder", "--target", "y")
    assert done.exit_code == CONVERGED, done.stderr
    return tmp_path


def fitted(data, out, *options):
    done = run("fit", data, *OBJECTIVE, *options, "--out", out)
    assert done.exit_code == CONVERGED, done.stderr
    assert re.search(r"; \d+ rounds on the cluster", done.stdout)
    return json.loads(out.read_text())


def test_files_are_fitted_and_certified_on_a_cluster(files, processes):
    """By workers of the command and by those of a scheduler: what a fit in memory comes to."""
    parts, there = f"{files}/parts/*.parquet", processes.scheduler_address
    own = fitted(parts, files / "own.json", "--target", "y", "--workers", "2")
    one = fitted(parts, files / "one.json", "--target", "y", "--scheduler", there)
    other = fitted(files / "folder", files / "other.json", "--scheduler", there)
    alone = dualgap.solve(
        A, np.where(LABELS == 2, 1.0, -1.0), loss="logistic", l2=0.01, fit_intercept=True
    )
    for model in (own, one, other):
        assert model["labels"] == [1.0, 2.0] and model["feature_names"] == NAMES
        # P is 0.01-strongly convex: two points whose gaps are 1e-6 P are so near to each other.
        gap = 1e-6 * alone.certificate.primal
        assert np.linalg.norm(model["x"] - alone.x) <= 2.0 * np.sqrt(2.0 * gap / 0.01)
    np.testing.assert_array_equal(own["x"], one["x"])
    for name, data in (("one", parts), ("one", files / "folder"), ("other", files / "folder")):
        done = run("certify", files / f"{name}.json", data, "--scheduler", there)
        assert done.exit_code == CONVERGED, done.stderr
        assert ("only its" in done.stderr) == (name == "one" and data != parts)
    wrong = run("certify", files / "one.json", parts, "--scheduler", there, "--tol", "1e-300")
    assert wrong.exit_code == NOT_CONVERGED
    pd.read_parquet(files / "parts/2.parquet").assign(x0=1.0).to_parquet(files / "parts/2.parquet")
    done = run("certify", files / "one.json", parts, "--scheduler", there)
    assert done.exit_code == NOT_CONVERGED and "does not hold the data" in done.stderr


def test_the_line_says_rounds_and_ends_with_the_gap_of_the_certificate(client, capsys):
    import dask.array as da

    data = dualgap.open(da.from_array(A, chunks=(50, D)), LABELS * 2.0 - 3.0, gather=False)
    result = dualgap.solve(data, loss="logistic", l2=0.01, verbose=True)
    line = capsys.readouterr().err.splitlines()[-1]
    assert len(line) < 80
    said = re.fullmatch(r"newton (\d+) rounds  gap (\S+)  \S+ s a round  .*  done", line)
    assert said, line
    assert 0 < int(said[1]) <= result.rounds
    assert said[2] == f"{result.certificate.gap:.1e}"


def test_what_is_refused_before_any_work(files, tmp_path):
    parts = f"{files}/parts/*.parquet"
    (tmp_path / "rows.csv").write_text("a,y\n1,2\n")
    for arguments, message in (
        ((parts, "--target", "y"), "say --workers 2"),
        ((parts, "--workers", "2", "--scheduler", "tcp://a:1"), "exclude each other"),
        ((parts, "--target", "y", "--workers", "0"), "--workers=0: from 1"),
        ((parts, "--target", "y", "--scheduler", "here"), "is no address such as tcp://"),
        ((parts, "--target", "y", "--workers", "2", "--threads", "2"), "on a cluster say"),
        ((parts, "--target", "y", "--workers", "2", "--max-bytes", "9"), "--max-bytes is for"),
        ((tmp_path / "rows.csv", "--workers", "2"), "neither Parquet nor a folder"),
    ):
        done = run("fit", *arguments)
        assert done.exit_code == BAD_INPUT and message in done.stderr, done.stderr


def test_what_is_found_wrong_there(files, processes):
    there = ("--scheduler", processes.scheduler_address)
    for arguments, message in (
        ((f"{files}/parts/*.parquet",), "need --target"),
        ((f"{files}/parts/*.parquet", "--target", "z"), "there is no column 'z'"),
        ((files / "folder", "--target", "y"), "target is for files"),
        ((f"{files}/parts/*.parquet", "--target", "x0", "--loss", "logistic"), "distinct values"),
    ):
        done = run("fit", *arguments, *there)
        assert done.exit_code == BAD_INPUT and message in done.stderr, done.stderr
