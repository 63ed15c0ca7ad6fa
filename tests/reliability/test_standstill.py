"""A second-order method that repeats itself ends, and does not repeat itself to the pass limit.

Each problem came from the campaign, where its runs took from two seconds to minutes: unregularised,
at the end of what float64 can tell, with a bound that is true and not within tol.
"""

from __future__ import annotations

import pytest

import dualgap
from dualgap import Status
from tests.campaign.problems import generate

FEW = 150
"""Rows of a trace: 20 steps that lowered nothing, a few times over, and what led there."""


@pytest.mark.parametrize(
    ("family", "index", "tol"),
    [
        ("new", 256, 1e-6),  # one quantity in two units, with classes
        ("new", 342, 1e-9),  # integers near 1e15, with classes
        ("new", 427, 1e-6),  # two columns nearly alike, interpolation
        ("new", 931, 1e-6),  # Hilbert's matrix, Huber's loss
        ("new", 1085, 1e-6),  # rows that weigh 1e-28 of the others
        ("new", 1309, 1e-6),
        ("new", 6696, 1e-6),  # P = 0 in the basis that the run is in, and not at the user's x
        ("new", 6722, 1e-6),
        ("new", 8905, 1e-9),
        ("old", 920, 1e-6),  # classes separated but for a row and its opposite
    ],
)
def test_a_run_that_stands_still_ends(family: str, index: int, tol: float) -> None:
    case = generate(family, 1, index).case
    result = dualgap.solve(case.A, case.b, tol=tol, **case.arguments)
    assert result.status in (Status.ROUNDING, Status.NO_MINIMISER, Status.STATIONARY)
    assert len(result.trace) < FEW
    assert result.certificate.gap > tol * result.certificate.primal
