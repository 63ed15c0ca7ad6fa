"""Other tuning values of the second-order algorithms, for the length of a test."""

from dataclasses import replace

import pytest

from dualgap.algorithms.second_order import tuning


def tuned(monkeypatch: pytest.MonkeyPatch, group: str, **values: float) -> None:
    """In this group of `tuning` these values hold until the test ends."""
    monkeypatch.setattr(tuning, group, replace(getattr(tuning, group), **values))
