"""The timing gate compares what it says it compares, and leaves nothing behind."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

from benchmarks import gate, gate_cases

ROOT = Path(__file__).resolve().parents[2]


class Machine:
    """Stands in for the processes: says what each tree takes, and who was asked for what."""

    def __init__(self, **seconds: dict[str, float]) -> None:
        self.seconds, self.calls = seconds, []

    def __call__(self, tree: Path, cache: Path, wanted: list[str], *, whole: bool, cases: Path):
        assert cases == gate.CASES
        assert (cache.name == "head") == whole == (tree.name == "head")  # no shared kernels
        self.calls.append((tree.name, tuple(wanted)))
        known = self.seconds[tree.name]
        return {name: known[name] for name in wanted or known}


def compared(monkeypatch, tmp_path, **seconds):
    machine = Machine(**seconds)
    monkeypatch.setattr(gate, "run_in", machine)
    best = gate.compare(tmp_path / "base", tmp_path / "head", tmp_path, 1.25)
    compiling, calls = machine.calls[:2], machine.calls[2:]
    assert compiling == [("base", ()), ("head", ())]
    return best, calls


def test_equal_trees_are_measured_in_every_round_and_no_more(monkeypatch, tmp_path):
    same = {"m": 1.0, "n": 2.0}
    best, calls = compared(monkeypatch, tmp_path, base=same, head=same)
    assert best == {"m": gate.Seconds(1.0, 1.0, 1.0), "n": gate.Seconds(2.0, 2.0, 2.0)}
    assert calls.count(("head", ())) == gate.ROUNDS
    assert calls.count(("base", ())) == 2 * gate.ROUNDS  # base against base, too
    assert len(calls) == 3 * gate.ROUNDS


def test_suspects_alone_are_measured_again(monkeypatch, tmp_path):
    """Law: a ratio beyond the limit costs more rounds, of that case; one within it does not."""
    best, calls = compared(
        monkeypatch, tmp_path, base={"m": 1.0, "n": 1.0}, head={"m": 2.0, "n": 1.2}
    )
    assert best["m"].ratio == 2.0
    assert best["m"].spread == 1.0
    assert {wanted for _, wanted in calls[: 3 * gate.ROUNDS]} == {()}
    assert {wanted for _, wanted in calls[3 * gate.ROUNDS :]} == {("m",)}
    assert len(calls) == 3 * (gate.ROUNDS + gate.MORE_ROUNDS)


def test_no_side_is_always_the_first(monkeypatch, tmp_path):
    """Law: a machine that warms up or slows down within a round favours nobody."""
    _, calls = compared(monkeypatch, tmp_path, base={"m": 1.0}, head={"m": 1.0})
    places = {k % 3 for k, (tree, _) in enumerate(calls) if tree == "head"}
    assert places == {0, 1, 2}


def test_a_case_that_base_cannot_run_is_shown_and_does_not_count(monkeypatch, tmp_path):
    best, _ = compared(
        monkeypatch, tmp_path, base={"new": math.inf, "m": 1.0}, head={"new": 5.0, "m": 1.1}
    )
    lines = gate.table(best, 1.25)
    (new,) = (line for line in lines if "new" in line)
    assert "base cannot run it" in new
    (mean,) = (line for line in lines if "geometric mean" in line)
    assert mean.split() == ["geometric", "mean", "1.100", "1.000"]


def test_the_table_shows_both_ratios_and_their_means():
    """Reference: sqrt(2 * 0.5) = 1 for head, sqrt(1.21 * 1) = 1.1 for base against itself."""
    best = {"slow": gate.Seconds(1.0, 2.0, 1.21), "fast": gate.Seconds(2.0, 1.0, 2.0)}
    head, *lines = gate.table(best, 1.25)
    assert head.split() == ["base", "head", "head/base", "base/base"]
    assert [line.split() for line in lines] == [
        ["slow", "1000.00", "2000.00", "ms", "2.000", "1.210", "beyond", "1.25"],
        ["fast", "2000.00", "1000.00", "ms", "0.500", "1.000"],
        ["geometric", "mean", "1.000", "1.100"],
        ["median", "1.250", "1.105"],
        ["largest", "2.000", "1.210"],
        ["smallest", "0.500", "1.000"],
    ]


def test_the_cases_cover_the_package():
    names = [name for part in gate_cases.PARTS for name in part()]
    assert len(names) == len(set(names)) >= 24
    parts = ("path", "CV", "Regress", "multinomial", "unregularised", "2500 x 600", "sparse")
    for kind in (*parts, "certify, squared", "certify, sparse, squared", "certify, logistic"):
        assert any(kind in name for name in names), kind


def test_the_cases_run_in_a_process_of_their_own(tmp_path):
    """Equivalence: what the gate starts measures the named case of the tree it is given."""
    best = gate.run_in(ROOT, tmp_path, ["ridge, 30 x 5"], whole=True)
    assert best.keys() == {"ridge, 30 x 5"}
    assert 0 < best["ridge, 30 x 5"] < math.inf


def test_a_case_that_cannot_be_run_is_null(capsys):
    def fails():
        raise TypeError("no such argument")

    best = gate_cases.measured((lambda: {"a": fails, "b": lambda: None},), [])
    assert best["a"] is None
    assert best["b"] is not None
    assert "a: TypeError: no such argument" in capsys.readouterr().err


def test_an_unknown_base_is_refused():
    command = [sys.executable, "-m", "benchmarks", "gate", "no-such-ref"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no-such-ref" in done.stderr
