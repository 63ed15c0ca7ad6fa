"""The README's main command: certified, checked again, drawn."""

import sys

import matplotlib.image
import pytest

from dualgap import __main__ as demo


def test_the_demonstration_certifies_everything(monkeypatch, capsys, tmp_path):
    picture = tmp_path / "gaps.png"
    monkeypatch.setattr(sys, "argv", ["dualgap", "--plot", str(picture)])
    assert demo.main() == 0
    lines = capsys.readouterr().out.splitlines()
    fits = [line for line in lines if " x " in line and line.rstrip().endswith("yes")]
    assert len(fits) == len(demo.problems())
    drawn = matplotlib.image.imread(picture)
    assert drawn[..., :3].std() > 0.01  # not an empty page


def test_a_fit_that_is_not_certified_shows_in_the_exit_code(monkeypatch, capsys):
    solve = demo.dualgap.solve
    monkeypatch.setattr(sys, "argv", ["dualgap"])
    monkeypatch.setattr(
        demo.dualgap,
        "solve",
        lambda A, b, **k: solve(A, b, **{**k, "max_passes": 1}),
        raising=False,
    )
    assert demo.main() == 3
    assert "pass limit" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--what"], ["--plot"]])
def test_bad_usage(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["dualgap", *arguments])
    with pytest.raises(SystemExit) as stop:
        demo.main()
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err
