"""The timing gate compares what it says it compares, and leaves nothing behind."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

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


def gate_command(monkeypatch, tmp_path, *arguments, changed="", **seconds):
    """Run the command with a fake machine and a fake git; what git was asked is returned."""
    asked = []

    def git(*words: str) -> str:
        asked.append(words)
        if words[0] == "status":
            return changed
        return {"HEAD": "a" * 40}.get(words[-1], "b" * 40) if words[0] == "rev-parse" else ""

    def machine(tree: Path, *_: object, **__: object) -> dict[str, float]:
        return seconds["head" if tree == gate.ROOT else "base"]

    monkeypatch.setattr(gate, "git", git)
    monkeypatch.setattr(gate, "run_in", machine)
    monkeypatch.setattr(gate, "HISTORY", tmp_path / "history")
    monkeypatch.setattr(sys, "argv", ["gate", "v0", *arguments])
    gate.main()
    return asked


def test_a_recorded_table_is_the_printed_one(monkeypatch, tmp_path, capsys):
    """Equivalence: the file of the release holds the lines that were printed, and what it needs."""
    same = {"m": 1.0, "n": 2.0}
    gate_command(monkeypatch, tmp_path, "--record", base=same, head=same)
    (file,) = (tmp_path / "history").iterdir()
    assert file.name == f"{gate.release()}.md"
    text = file.read_text()
    printed = [line for line in capsys.readouterr().out.splitlines() if "recorded in" not in line]
    shown = text[text.index("```text\n") :].splitlines()[1:-1]
    assert printed[1:] == shown
    assert printed[0] in text  # the name of base and its commit
    assert "commit " + "a" * 12 + "." in text
    for library in ("numpy", "scipy", "numba"):
        assert f"{library} {version(library)}" in text


def test_without_the_option_nothing_is_recorded(monkeypatch, tmp_path):
    gate_command(monkeypatch, tmp_path, base={"m": 1.0}, head={"m": 1.0})
    assert not (tmp_path / "history").exists()


def test_a_slower_case_is_recorded_too(monkeypatch, tmp_path):
    """A table that could only be good would be no record."""
    with pytest.raises(SystemExit, match="slower: m"):
        gate_command(monkeypatch, tmp_path, "--record", base={"m": 1.0}, head={"m": 2.0})
    (file,) = (tmp_path / "history").iterdir()
    assert "beyond 1.15" in file.read_text()


def test_nothing_is_recorded_of_a_tree_that_no_commit_holds(monkeypatch, tmp_path):
    """Law: what a table says was measured can be checked out again."""
    with pytest.raises(SystemExit, match="commit these changes first"):
        gate_command(monkeypatch, tmp_path, "--record", changed=" M src/a.py", base={}, head={})
    assert not (tmp_path / "history").exists()


def test_fits_are_recorded_in_a_file_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setattr(gate, "data_folder", lambda: tmp_path)
    same = {"gas, no penalty": 1.0}
    gate_command(monkeypatch, tmp_path, "--fits", "--record", base=same, head=same)
    assert [f.name for f in (tmp_path / "history").iterdir()] == [f"{gate.release()}-fits.md"]


def test_one_real_case_from_the_processes_to_the_file(monkeypatch, tmp_path):
    """Equivalence: this tree over itself, measured once in processes, is in the file."""
    cases = tmp_path / "cases.py"
    cases.write_text(
        "from benchmarks.gate_cases import main\n"
        "main((lambda: {'a sum': lambda: sum(range(1000))},))\n"
    )
    monkeypatch.setattr(gate, "ROUNDS", 1)
    monkeypatch.setattr(gate, "MORE_ROUNDS", 0)
    best = gate.compare(ROOT, ROOT, tmp_path / "caches", 1.15, cases)
    assert best.keys() == {"a sum"}
    assert all(map(math.isfinite, best["a sum"]))
    lines = gate.table(best, 1.15)
    file = gate.record(tmp_path, "9.9", "head over v0", "c" * 40, lines)
    assert lines[1] in file.read_text().splitlines()


def test_an_unknown_base_is_refused():
    command = [sys.executable, "-m", "benchmarks", "gate", "no-such-ref"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no-such-ref" in done.stderr
