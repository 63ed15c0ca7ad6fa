"""The race judges others: its optimum is certified, its times are the right ones, it resumes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from benchmarks.race import problems, report
from benchmarks.race.command import playoff
from benchmarks.race.measure import Contestant, Limits, measure
from benchmarks.race.peers import dualgap as ours
from benchmarks.race.peers import scikit_learn
from benchmarks.race.profile import factors
from benchmarks.race.reference import reference
from benchmarks.race.store import Store
from benchmarks.race.tasks import Task

ROOT = Path(__file__).resolve().parents[2]


def small(loss: str, *, l1: float = 0.0, sparse: bool = False, wide: bool = False) -> Task:
    rng = np.random.default_rng(3)
    n, d = (15, 40) if wide else (60, 8)
    A = rng.standard_normal((n, d))
    if sparse:
        A[rng.random(A.shape) < 0.6] = 0.0
    b = A @ rng.standard_normal(d) + rng.standard_normal(n)
    b = np.where(b > 0, 1.0, -1.0) if loss == "logistic" else b
    return Task("small", sp.csr_matrix(A) if sparse else A, b, loss, l2=1e-2 / n, l1=l1)


TASKS = [
    small("squared"),
    small("squared", l1=0.05, sparse=True),
    small("squared", wide=True),
    small("logistic", sparse=True),
    small("logistic", l1=0.02),
    small("logistic", wide=True, l1=0.02, sparse=True),
]


@pytest.mark.parametrize("task", TASKS)
def test_objective_is_ours(task):
    """Equivalence: two ways of writing P agree."""
    x = np.random.default_rng(1).standard_normal(task.d)
    problem = dualgap.Problem(task.A, task.b, loss=task.loss, l1=task.l1, l2=task.l2)
    assert task.primal(x) == pytest.approx(problem.certify(x).primal, rel=1e-13)


@pytest.mark.parametrize("task", TASKS)
def test_reference_is_optimal(task):
    """Certificate: the duality gap of the reference point, recomputed from the data."""
    assert reference(task).gap <= 1e-13 * task.primal_at_zero


def tight(knob) -> bool:
    """A tolerance below 1e-9, with iterations enough if they are limited; or no knob at all."""
    tol, most = knob if isinstance(knob, tuple) else (knob, np.inf)
    return tol is None or (tol < 1e-9 and most >= 10_000)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", [ours, scikit_learn])
@pytest.mark.filterwarnings("ignore")  # what a peer says when it is driven to its limits
def test_contestants_solve_this_objective(task, library):
    """Reference: at the tight end of the ladder every contestant that can, is at P*."""
    best = reference(task).primal
    some = library.contestants(task)
    assert some
    for name in ("auto",) if library is ours else some:
        contestant = some[name]()
        answer = contestant.fit(next(filter(tight, contestant.ladder)))
        x = answer[0] if isinstance(answer, tuple) else answer
        assert task.primal(x) - best <= 1e-6 * (task.primal_at_zero - best), name


def test_a_wrong_objective_is_caught():
    """Law: an answer to another strength is not the answer."""
    task = small("squared")
    other = Task("other", task.A, task.b, task.loss, l2=1.0)
    x = np.linalg.solve(task.A.T @ task.A / task.n + np.eye(task.d), task.A.T @ task.b / task.n)
    assert other.primal(x) - reference(other).primal < 1e-12
    rungs: list = []
    limits = Limits(reference(task).primal, seconds=1.0, give_up=1.0)
    note = measure(task, Contestant(lambda knob: x, [1.0, 2.0]), limits, rungs.append)
    entry = entry_of(task, {"wrong/one": {"rungs": rungs, "note": note}})
    assert "DOES NOT SOLVE" in report.line(entry, "wrong/one")
    assert report.seconds(entry, "wrong/one", 1e-3) == np.inf


def entry_of(task: Task, contestants: dict) -> dict:
    found = reference(task)
    return {
        "primal_at_zero": task.primal_at_zero,
        "reference": {"primal": found.primal, "gap": found.gap},
        "contestants": contestants,
    }


def test_the_fastest_sufficient_rung_counts():
    """Law: time to a target is the minimum over the answers that meet it, and grows with it."""
    entry = {
        "primal_at_zero": 1.0,
        "reference": {"primal": 0.0, "gap": 0.0},
        "contestants": {
            "peer/a": {"rungs": rungs((1.0, 1e-4), (3.0, 1e-7), (2.0, 1e-8)), "note": ""},
            "peer/b": {"rungs": rungs((0.1, 1e-2), (9.0, 0.0)), "note": ""},
            "dualgap/auto": {"rungs": rungs((4.0, 1e-6)), "note": ""},
        },
    }
    times = [report.seconds(entry, "peer/a", target) for target in (1e-3, 1e-6, 1e-9)]
    assert times == [1.0, 2.0, np.inf]
    assert report.best_peer(entry) == ("peer/a", 2.0)
    (row,) = report.rows({"p": entry})
    assert row["ratio"] == 2.0
    found = factors({"p": entry})
    assert found["peer/a"] == [1.0] and found["peer/b"] == [4.5]
    assert "geometric mean of the ratios 2.00" in report.text({"p": entry})


def rungs(*pairs: tuple[float, float]) -> list[dict]:
    return [
        {"knob": str(i), "seconds": s, "primal": p, "runs": 1, "extra": {}}
        for i, (s, p) in enumerate(pairs)
    ]


def test_a_slow_first_call_is_not_held_against_anyone():
    """Law: what is compiled once is not on the clock."""
    task, calls = small("squared"), []

    def fit(knob):
        calls.append(knob)
        if calls.count(2) == 1 and knob == 2:
            time.sleep(0.05)
        return np.zeros(task.d)

    told: list = []
    measure(task, Contestant(fit, [1, 2]), Limits(0.0, 10.0, give_up=0.02), told.append)
    assert calls == [1, 1, 2, 2]
    assert told[-1]["seconds"] < 0.05


def test_problem_names():
    """Law: a name leads to its task, a pattern to its names."""
    assert list(problems.select(["synthetic2"], ["1e-4"])) == ["synthetic2/unit/logistic/1e-4"]
    net = problems.make("synthetic2/unit/enet/1e-2")
    zero = dualgap.solve(net.A, net.b, loss="logistic", l1=net.l1 / problems.NET_RATIO, l2=net.l2)
    assert not zero.x.any()  # at the l1 of which it has 0.05


def test_store_is_atomic_and_refuses_other_files(tmp_path):
    path = tmp_path / "race.json"
    store = Store(path)
    store.problems["p"] = {"contestants": {}}
    store.save()
    assert Store(path).problems == store.problems
    assert list(tmp_path.iterdir()) == [path]
    path.write_text("[]")
    with pytest.raises(SystemExit, match="not a result of this command"):
        Store(path)


@pytest.mark.slow
def test_the_command_runs_and_resumes(tmp_path):
    """Equivalence: a second run measures nothing anew, and prints the same table."""
    out = tmp_path / "race.json"
    command = [sys.executable, "-m", "benchmarks", "race", "--problems", "synthetic2/*/logistic/1",
               "--peers", "scikit_learn", "--limit", "0.01", "--patience", "1",
               "--out", str(out)]  # fmt: skip
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    content = json.loads(out.read_text())
    assert "dualgap/auto" in content["problems"]["synthetic2/unit/logistic/1"]["contestants"]
    assert out.with_suffix(".png").stat().st_size > 10_000
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert json.loads(out.read_text()) == content
    assert second.stdout.strip() == first.stdout[first.stdout.index("time to") :].strip()


class Remembered:
    """A worker whose runs take what is written down, and that counts them."""

    def __init__(self, **times):
        self.times, self.calls = times, []

    def repeat(self, name, knob, clock, runs):
        self.calls.append((name, knob))
        return self.times[name]


def test_a_playoff_times_the_deciding_rungs_again():
    """Ours and the peers near the best, at the rung that decided; others keep their times."""
    found = {
        "dualgap/auto": rungs((0.02, 1e-9), (0.01, 1e-7)),
        "liblinear/dual": rungs((0.012, 1e-8)),
        "glum/irls": rungs((0.5, 1e-9)),  # far behind
        "celer/cd": rungs((0.011, 1e-8)),  # of another clock
    }
    entry = {
        "primal_at_zero": 1.0,
        "reference": {"primal": 0.0, "gap": 0.0},
        "contestants": {
            label: {"rungs": own, "note": "", "clock": "wall" if label == "celer/cd" else "cpu"}
            for label, own in found.items()
        },
    }
    workers = {
        "dualgap": Remembered(auto=0.03),
        "liblinear": Remembered(dual=0.02),
        "glum": Remembered(irls=0.1),
        "celer": Remembered(cd=0.001),
    }
    playoff(entry, workers, SimpleNamespace(playoff=2, clock="cpu"))
    assert report.seconds(entry, "liblinear/dual") == 0.02  # not the better time of another moment
    assert report.seconds(entry, "glum/irls") == 0.5 and not workers["glum"].calls
    assert report.seconds(entry, "celer/cd") == 0.011 and not workers["celer"].calls
    deciding = entry["contestants"]["dualgap/auto"]["rungs"][1]
    assert deciding["seconds"] == 0.03 and len(workers["dualgap"].calls) == 2
    assert {knob for _, knob in workers["dualgap"].calls} == {deciding["knob"]}
