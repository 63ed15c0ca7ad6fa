"""What a bound is compared with, and that the package's own estimate is used where there is one."""

from typing import Any

import numpy as np
import pytest

from tests.certificate.cases import Case

from . import tightness as measured
from .examine import examine
from .problems import generate
from .tightness import float_gap, tightness

SQUARED = Case(np.eye(1), np.ones(1))
LOGISTIC = Case(np.eye(1), np.ones(1), "logistic")


@pytest.mark.parametrize(
    ("case", "gap", "above", "shown", "ratio"),
    [
        (SQUARED, 4e-6, 1e-6, 2e-6, 2.0),
        (SQUARED, 4e-6, 2e-6, 1e-6, 2.0),
        (SQUARED, 4e-6, 1e-6, None, 4.0),
        (SQUARED, 2e-13, 0.0, 0.0, 2.0),
        (LOGISTIC, 2e-11, 0.0, 0.0, 2.0),
    ],
    ids=["float gap", "truth", "no float gap", "floor", "floor of exponentials"],
)
def test_the_largest_counts(
    case: Case, gap: float, above: float, shown: float | None, ratio: float
) -> None:
    assert tightness(case, 1.0, gap, above, shown) == pytest.approx(ratio)


def test_nothing_is_compared_with_nothing() -> None:
    assert tightness(SQUARED, 0.0, 0.0, 0.0, None) is None
    assert tightness(SQUARED, 1.0, np.inf, 0.0, None) is None


def test_the_estimate_of_the_package_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def estimated(problem: Any, x: Any, y: Any) -> float:
        return 1e30 if np.ndim(x) else np.nan

    monkeypatch.setattr(measured.package, "estimated_gap", estimated, raising=False)
    assert float_gap(None, np.zeros(2), None) == 1e30
    rows = examine(generate("rigor", 0, 0)).record()["certificates"]
    assert rows
    for row in rows:
        if row["certified"]:
            assert row["float"] and row["tight"] < 1
    monkeypatch.delattr(measured.package, "estimated_gap")
    assert float_gap(None, np.zeros(2), None) is None
