"""Compiling is said aloud once, and its time is set-up wherever in a run it falls."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest
from numba.core import event

import dualgap
import dualgap.kernels  # listens to numba from here on
from dualgap.compiled import clock as compiling
from tests.reliability.problems import regression

LOGISTIC = """
import numpy as np
import dualgap

rng = np.random.default_rng(0)
A = rng.standard_normal((4096, 2))
b = np.where(A[:, 0] + rng.standard_normal(4096) > 0, 1.0, -1.0)
for _ in range(2):
    result = dualgap.solve(A, b, loss="logistic", l2=0.1, algorithm="adf-bpd")
    print(result.setup.kernels, result.setup.seconds, result.seconds, len(result.notes))
"""


def in_a_process(cache):
    """Set-up in kernels, set-up, all (seconds) and notes of two solves; and standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOGISTIC],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [[float(v) for v in line.split()] for line in done.stdout.splitlines()], done.stderr


@pytest.mark.slow
def test_a_first_call_says_so_and_counts_it_as_set_up(tmp_path):
    """Law: kernels <= set-up <= all; without compiling there is no word and no such time."""
    (first, second), said = in_a_process(tmp_path)
    assert 0 < first[0] <= first[1] <= first[2]
    assert first[0] > 0.5 * first[2]  # the run itself is milliseconds, compiling is not
    assert second[0] == 0.0
    (line,) = said.splitlines()
    assert line.startswith("dualgap: kernels are being compiled")
    assert str(tmp_path) in line
    assert first[3] == second[3] == 0
    # Kept on disk, kernels are loaded in silence; that is set-up, too.
    (again, _), said = in_a_process(tmp_path)
    assert said == ""
    assert 0 < again[0] <= again[1]


# ---- within this process: a callback that compiles stands in for a step that does ----


class Compiles:
    """A callback that compiles at these checks, and knows by numba's own clock how long it took."""

    def __init__(self, *checks):
        self.checks, self.seen, self.seconds = checks, 0, []

    def __call__(self, snapshot):
        self.seen += 1
        if self.seen in self.checks:
            with event.install_timer("numba:compiler_lock", self.seconds.append):
                numba.njit(lambda v: v + 1.0)(1.0)


A, B = regression()


def solve(**options):
    return dualgap.solve(A, B, l2=1e-3, algorithm="ada-bpd", **options)


def test_compiling_within_the_run_is_set_up():
    """Law: both clocks count the same spans, but that one may be asked a little later."""
    plain = solve()
    assert plain.setup.kernels == 0.0
    compiles = Compiles(2, 4)
    result = solve(callback=compiles)
    assert len(compiles.seconds) == 2
    assert 0.5 * sum(compiles.seconds) < result.setup.kernels < 2.0 * sum(compiles.seconds)
    assert result.setup.kernels <= result.setup.seconds <= result.seconds
    assert np.array_equal(result.x, plain.x)
    # As if it had come first: no row is before the end of the set-up, and times ascend.
    times = result.trace.seconds
    assert result.setup.seconds <= times[0]
    assert (np.diff(times) >= 0).all()
    assert times[-1] <= result.seconds
    assert result.setup.passes == plain.setup.passes
    assert np.array_equal(result.trace.gap, plain.trace.gap)


def test_the_time_is_shown():
    compiles = Compiles(1)
    result = solve(callback=compiles, max_passes=3)
    assert f"({result.setup.kernels:.3g} s to compile or load kernels)" in repr(result)
    assert "kernels" not in repr(solve(max_passes=3))


def test_other_threads_do_not_count():
    """Law: what another thread compiles is not in the set-up of this one."""

    def elsewhere(snapshot):
        thread = threading.Thread(target=Compiles(1), args=(snapshot,))
        thread.start()
        thread.join()

    assert solve(callback=elsewhere, max_passes=3).setup.kernels == 0.0


def test_the_clock_stands_still():
    """Equivalence: it loses on the other clock what numba has timed."""
    compiles = Compiles(1)
    lost = time.perf_counter() - compiling.clock()
    compiles(None)
    lost = time.perf_counter() - compiling.clock() - lost
    assert 0.5 * sum(compiles.seconds) < lost < 2.0 * sum(compiles.seconds)


def test_an_end_without_a_beginning_is_nothing():
    """Who is imported while a kernel is being compiled hears of its end only."""
    before = compiling.clock()
    compiling.end()
    compiling.begin()
    compiling.end()
    assert compiling.clock() >= before


def test_said_once_and_only_of_our_kernels(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "_said", threading.Event())
    with caplog.at_level(logging.WARNING, logger="dualgap"):
        Compiles(1)(None)  # a kernel of the user's
        assert caplog.records == []
        compiling.say_once(None)
        compiling.say_once("somewhere")
    (record,) = caplog.records
    assert "kept in" not in record.getMessage()


@pytest.mark.filterwarnings("error")
def test_it_is_no_warning_of_pythons(monkeypatch, recwarn):
    monkeypatch.setattr(compiling, "_said", threading.Event())
    compiling.say_once("somewhere")
    assert not recwarn.list
