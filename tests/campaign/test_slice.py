"""A slice of the campaign: no call on any of these problems is convicted of anything."""

import pytest

from . import runs
from .examine import examine
from .problems import generate

SEED = 0
PROBLEMS = {"old": 150, "new": 100, "rigor": 250}


@pytest.mark.parametrize(
    ("family", "index"),
    [(family, index) for family, count in PROBLEMS.items() for index in range(count)],
)
def test_nothing_false_is_said(family: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "TIMEOUT", 120.0)  # only a call that hangs; kernels may be compiled
    found = examine(generate(family, SEED, index)).verdict.convictions
    assert not found, "\n".join(f"{c.what} by {c.label}: {c.details}" for c in found)
