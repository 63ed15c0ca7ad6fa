"""The README's main command: certified, next to scikit-learn, drawn."""

import json

import matplotlib.image
import pytest

import dualgap
from dualgap.cli import demonstration

from .runner import BAD_INPUT, CONVERGED, NOT_CONVERGED, run


def test_the_demonstration_certifies_everything(tmp_path):
    picture = tmp_path / "gaps.png"
    done = run("demo", "--plot", picture)
    assert done.exit_code == CONVERGED
    problems = [problem.name for problem in demonstration.comparisons()]
    assert all(f" {name} " in done.output for name in problems)
    assert done.output.count(" dualgap ") == len(problems)
    drawn = matplotlib.image.imread(picture)
    assert drawn[..., :3].std() > 0.01  # not an empty page
    assert [p.name for p in tmp_path.iterdir()] == ["gaps.png"]


def test_both_solve_the_same_problem():
    """Neither objective is below what is proved to be the least possible of the other."""
    done = run("demo", "--no-plot", "--json")
    fits = json.loads(done.output)["fits"]
    for ours, theirs in zip(fits[::2], fits[1::2], strict=True):
        assert ours["problem"] == theirs["problem"]
        assert ours["relative_gap"] <= 1e-6
        # scikit-learn's default tolerances are loose, but a factor mistaken would show.
        assert theirs["relative_gap"] <= 1e-3
        assert ours["primal"] - ours["gap"] <= theirs["primal"] + 1e-12
        assert theirs["primal"] - theirs["gap"] <= ours["primal"] + 1e-12


def test_a_fit_that_is_not_certified_shows_in_the_exit_code(monkeypatch):
    solve = dualgap.solve
    monkeypatch.setattr(
        demonstration.dualgap,
        "solve",
        lambda A, b, **k: solve(A, b, **{**k, "max_passes": 1}),
        raising=False,
    )
    done = run("demo", "--no-plot", "--json")
    assert done.exit_code == NOT_CONVERGED
    assert "pass limit" in done.output


@pytest.mark.parametrize("arguments", [("--what",), ("--plot",), ("--plot", "picture.exe")])
def test_bad_usage(arguments):
    assert run("demo", *arguments).exit_code == BAD_INPUT
