"""The timing gate compares what it says it compares, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import gate

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("head", "turns"), [(1.0, gate.ROUNDS), (2.0, 3 * gate.ROUNDS)])
def test_suspects_are_measured_again(monkeypatch, tmp_path, head, turns):
    """Law: a ratio beyond the limit costs more rounds, one within it does not."""
    calls = []

    def fake(tree: Path, cache: Path) -> dict[str, float]:
        calls.append(tree.name)
        return {"m": head if tree.name == "head" else 1.0}

    monkeypatch.setattr(gate, "run_in", fake)
    best = gate.compare(tmp_path / "base", tmp_path / "head", tmp_path, 1.25)
    assert best == {"m": (1.0, head)}
    assert calls == ["base", "head"] * turns


def test_an_unknown_base_is_refused():
    command = [sys.executable, "-m", "benchmarks", "gate", "no-such-ref"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no-such-ref" in done.stderr
