"""Planted lies about P*, distances, supports and boxes are convicted; the truth is not."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dualgap
from tests.certificate.cases import Case

from . import runs
from .bounded import BoundedCase
from .decimals import rational_value
from .judge import judge
from .runs import Claim

RIDGE = Case(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), l2=1.0)
# P(x) = ((x - 1)^2 + (2x - 1)^2)/4 + x^2/2 = 1/2 - (3/2) x + (7/4) x^2: x* = 3/7, P* = 5/28.
LASSO = Case(np.eye(2), np.array([1.0, 0.1]), l1=0.2)
# P is a sum over coordinates: x* = (1 - 2 l1, 0).


def claim(**given: Any) -> Claim:
    given = {"x": np.array([1.0]), "gap": 10.0, "kind": "gap", **given}
    return Claim("planted", certified=True, **given)


def whats(case: Case, *claims: Claim) -> list[str]:
    return [c.what for c in judge(case, list(claims)).convictions]


def neighbours(value: Fraction) -> tuple[float, float]:
    """The floats below and above a number that is none."""
    near = float(value)
    if Fraction(near) < value:
        return near, math.nextafter(near, math.inf)
    return math.nextafter(near, -math.inf), near


def test_a_dual_above_the_optimum_is_convicted() -> None:
    below, above = neighbours(Fraction(5, 28))
    assert whats(RIDGE, claim(dual=below)) == []
    assert whats(RIDGE, claim(dual=above)) == ["false dual"]
    assert whats(RIDGE, claim(dual=math.nan)) == ["false dual"]
    assert whats(RIDGE, claim(dual=math.inf)) == ["false dual"]


def test_a_distance_that_is_too_short_is_convicted() -> None:
    """|1 - 3/7| = 4/7: a thousandth less is false, as is nan; nothing claimed is nothing false."""
    for error, found in ((0.9999, ["false coef_error"]), (1.0001, []), (math.inf, [])):
        assert whats(RIDGE, claim(coef_error=np.array([error * 4 / 7]), gap=0.6)) == found
    assert whats(RIDGE, claim(coef_error=np.array([math.nan]))) == ["false coef_error"]


def test_distances_are_judged_below_rounding() -> None:
    """At x = fl(3/7) the distance is some 1e-17, and 0 is a lie."""
    x = 3 / 7
    off = abs(Fraction(x) - Fraction(3, 7))
    true = neighbours(off)[1]
    gap = math.nextafter(float(Fraction(7, 4) * off * off), 1.0)
    at = {"x": np.array([x]), "gap": gap}
    assert whats(RIDGE, claim(coef_error=np.array([1.1 * true]), **at)) == []
    assert whats(RIDGE, claim(coef_error=np.array([0.0]), **at)) == ["false coef_error"]


def test_a_support_without_a_solution_is_convicted() -> None:
    x = np.array([0.5, 0.0])
    assert whats(LASSO, claim(x=x, support=np.array([False, True]))) == []
    assert whats(LASSO, claim(x=x, support=np.array([True, True]))) == ["false support"]


def test_classes_have_supports_too() -> None:
    """With l1 above every slope at 0 all of x* is 0; without any l1 none of it is."""
    A, b = np.array([[1.0], [2.0], [3.0], [-1.0]]), np.array([0, 1, 0, 1])
    case = Case(A, b, "multinomial", l1=5.0, l2=0.1)
    said = claim(x=np.zeros((1, 2)), c=np.zeros(2), support=np.ones((1, 2), dtype=bool))
    assert whats(case, said) == []
    assert whats(replace(case, l1=0.0), said) == ["false support"]


def test_nothing_is_asked_of_what_is_not_certified() -> None:
    lies = {"dual": 5.0, "coef_error": np.zeros(1), "support": np.ones(1, dtype=bool), "gap": 0.0}
    assert len(whats(RIDGE, claim(**lies))) == 4
    for kind in ("none", "float"):
        assert whats(RIDGE, replace(claim(**lies), certified=False, kind=kind)) == []


def test_a_gap_a_thousandth_too_small_is_convicted() -> None:
    """P(1) - P* = 4/7."""
    assert whats(RIDGE, claim(gap=0.999 * 4 / 7)) == ["false gap, gross"]
    assert whats(RIDGE, claim(gap=1.001 * 4 / 7)) == []


def test_a_box_is_held_against_what_is_in_it() -> None:
    """Within |x' - 1| <= 1/4 the best is 3/4: a gap below P(1) - P(3/4) = 25/64 is false."""
    at = [rational_value(RIDGE, np.array([v])) for v in (1.0, 0.75)]
    most = at[0] - at[1]
    assert most == Fraction(25, 64)
    below, above = float(most) * 0.999, float(most) * 1.001
    inside = {"kind": "gap_in_box", "box": np.array([0.25])}
    assert whats(RIDGE, claim(gap=above, **inside)) == []
    assert whats(RIDGE, claim(gap=below, **inside)) == ["false gap, gross"]
    assert whats(RIDGE, claim(gap=above, kind="gap_in_box", box=np.array([1.0]))) != []
    assert whats(RIDGE, claim(dual=float(at[1]) * 0.999, **inside)) == []
    assert whats(RIDGE, claim(dual=float(at[1]) * 1.001, **inside)) == ["false dual"]


def test_an_x_outside_of_its_bounds_has_no_gap() -> None:
    case = BoundedCase(np.eye(1), np.ones(1), l2=1.0, lower=0.0, upper=np.inf)
    assert whats(case, claim(x=np.array([-1.0]))) == ["false gap, gross"]
    assert whats(case, claim(x=np.array([0.25]))) == []


@pytest.mark.parametrize("loss", ["squared", "poisson", "gamma"])
@pytest.mark.parametrize("box", [(0.0, np.inf), (-0.2, 0.3)], ids=["non-negative", "box"])
def test_the_library_is_not_convicted_within_bounds(loss: str, box: tuple[float, float]) -> None:
    """And a thousandth less than the truth is: x = 0 has P(0) - P* that no half of it bounds."""
    rng = np.random.default_rng(5)
    b = rng.poisson(3.0, 10) + 1.0
    case = BoundedCase(rng.standard_normal((10, 3)), b, loss, l2=0.1, lower=box[0], upper=box[1])
    end = runs.solve(case, tol=1e-10)
    found = judge(case, [end])
    assert found.convictions == [] and end.certified
    at_zero = runs.certify(case, "certify", np.zeros(3), 0.0, None)
    above = judge(case, [end, at_zero]).above[1]
    assert above > 0
    assert whats(case, end, replace(at_zero, gap=0.999 * above)) == ["false gap, gross"]


@pytest.mark.parametrize(
    ("certified", "kind", "gap", "guilty"),
    [
        (True, "gap", 1.0, False),
        (False, "none", math.inf, False),
        (False, "float", 1.0, False),
        (False, "gap_in_box", 1.0, False),
        (True, "gap_in_box", 1.0, False),
        (True, "none", 1.0, True),
        (True, "float", 1.0, True),
        (True, "gap", math.inf, True),
        (False, "gap", 1.0, True),
    ],
)
def test_a_certificate_that_contradicts_itself(
    certified: bool, kind: str, gap: float, guilty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = type(
        "Certificate", (), {"gap": gap, "primal": 1.0, "certified": certified, "kind": kind}
    )
    monkeypatch.setattr(dualgap, "certify", lambda *args, **given: fake)
    found = runs.certify(RIDGE, "", np.zeros(1), 0.0, None).faults
    assert [what for what, _ in found] == (["inconsistent"] if guilty else [])


# ---- what certificates without proof have said ----


def test_cancellation_where_the_dual_point_is_0_is_convicted() -> None:
    """z = 1e8 1e8 + 1/2 - 1e8 1e8 = 1/2 where float64 may say 0: P(x) - P* is at least 1/8."""
    case = Case(np.array([[1e8, 1.0, -1e8]]), np.zeros(1), l2=1e-25)
    x = np.array([1e8, 0.5, 1e8])
    assert whats(case, claim(x=x, gap=1e-9)) == ["false gap, gross"]
    assert judge(case, [claim(x=x)]).above[0] == pytest.approx(0.125, rel=1e-6)


def test_twins_at_large_coefficients_are_convicted() -> None:
    """b = A x in floats only: exactly, the residuals are what float64 has rounded away."""
    a = np.random.default_rng(0).standard_normal(20)
    A, x = np.column_stack((a, a)), np.array([2.0**60, 1024.0 - 2.0**60])
    case = Case(A, A @ x)
    assert rational_value(case, x) > 1000
    assert whats(case, claim(x=x, gap=0.0)) == ["false gap, gross"]


def test_one_length_in_two_units_is_convicted() -> None:
    """Two columns that differ by rounding alone fit better than one, and the judge sees it."""
    rng = np.random.default_rng(3)
    m, b = rng.standard_normal(20), rng.standard_normal(20)
    case = Case(np.column_stack((m, 3.28084 * m)), b)
    x = np.array([m @ b / (m @ m), 0.0])  # the best that one column does
    assert whats(case, claim(x=x, gap=1e-9)) == ["false gap, gross"]
    box = {"kind": "gap_in_box", "box": np.full(2, 1e6)}
    assert whats(case, claim(x=x, gap=1e-9, **box)) == []
