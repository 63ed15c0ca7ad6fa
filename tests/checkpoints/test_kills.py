"""Fits in processes of their own: killed at random moments, terminated, interrupted, resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dualgap.checkpoints import files

from .kills import killed, same_end, start, write_data


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["adf-bpd", "newton", "adf-spdc"])
def test_killed_fits_end_as_if_nothing_had_been(algorithm, tmp_path):
    """`python -m tests.checkpoints.kills` kills more of them."""
    data = write_data(tmp_path, 20_000, 30)
    rng = np.random.default_rng(3)
    assert list(killed(data, algorithm, tmp_path, rng, 3))
    assert same_end(data, algorithm, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_a_fit_with_what_there_is(name, tmp_path):
    """The model is written, and a last checkpoint, and going on from it ends as without it."""
    data = write_data(tmp_path, 20_000, 30)
    checkpoint, out = tmp_path / "c.npz", tmp_path / "m.json"
    kept = ("--checkpoint", checkpoint, "--checkpoint-every", "20 passes")
    process = start(data, "adf-bpd", out, *kept)
    seen: set[int] = set()
    while len(seen) < 2 and process.poll() is None:
        if checkpoint.exists():
            seen.add(checkpoint.stat().st_mtime_ns)
        time.sleep(0.002)
    time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    assert process.wait() == 3
    spent = json.loads(out.read_text())["found_by"]["passes"]
    assert 0.0 <= spent - files.read(checkpoint).arrays["trace"][-1, 0] <= 2.0
    resumed = tmp_path / "adf-bpd-resumed.json"
    assert start(data, "adf-bpd", resumed, *kept, "--resume").wait() in (0, 3)
    assert same_end(data, "adf-bpd", tmp_path)


def test_what_is_no_checkpoint_is_refused_before_the_data_are_read(tmp_path):
    """And without --resume one that is there already."""
    other = tmp_path / "other.npz"
    np.savez(other, x=np.ones(3))
    for options in (("--checkpoint", other, "--resume"), ("--resume",), ("--checkpoint", tmp_path)):
        fit = [sys.executable, "-m", "dualgap", "fit", tmp_path / "missing.csv", *options]
        done = subprocess.run(list(map(str, fit)), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "checkpoint" in done.stderr
        assert done.stderr.count("\n") == 1
