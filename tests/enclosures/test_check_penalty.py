"""check_regularizer finds enclosures that are wrong, and names the law; the example's are right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dualgap
from dualgap.checks import LawError
from dualgap.regularizers import Box, ElasticNet, NonNegative
from dualgap.regularizers.wrappers import Extended
from tests.enclosures import penalty_judge as judge
from tests.enclosures.test_penalty_bounds import BLURS, assert_bounds
from tests.regularizers.outside import Smooth
from tests.reliability.from_examples import load

INF = np.inf


class Net(ElasticNet):
    """Right; what is planted below is wrong in one place."""

    def __init__(self):
        super().__init__(0.3, 0.2)


class OneEnd(Net):
    def gap_above(self, x, s_lo, s_hi, blur=0.0):
        return super().gap_above(x, s_lo, s_lo, blur)


class Undefined(Net):
    def gap_above(self, x, s_lo, s_hi, blur=0.0):
        return super().gap_above(x, s_lo, s_hi, blur) * np.where(x == 0.0, np.nan, 1.0)


class OneNumber(Net):
    def gap_above(self, x, s_lo, s_hi, blur=0.0):
        return super().gap_above(x, s_lo, s_hi, blur).sum()


class LowValue(Net):
    def value_above(self, x, blur=0.0):
        return (1.0 - 1e-9) * super().value_above(x, blur)


class HighValue(Net):
    def value_below(self, x, blur=0.0):
        return super().value_below(x, blur) + 1e-9


class FiniteOutside(NonNegative):
    def value_above(self, x, blur=0.0):
        return super().value_above(np.maximum(x, 0.0), blur)


class WideInner(NonNegative):
    def inner_interval(self, blur=0.0):
        low, high = super().inner_interval(blur)
        return low, high * (1.0 + 2.0**-52)


class InnerForgetsBlur(NonNegative):
    def inner_interval(self, blur=0.0):
        return super().inner_interval(0.0)


class Stronger(Net):
    def strength_below(self, blur=0.0):
        return super().strength_below(blur) * (1.0 + 2.0**-52)


class DualAsSlopes(Net):
    def zero_interval(self, blur=0.0):
        return self.inner_interval(blur)


def test_what_the_faults_are_planted_in_is_right():
    dualgap.check_regularizer(Net())


@pytest.mark.parametrize(
    ("g", "law", "numbers"),
    [
        (OneEnd(), "enclosure of the gap", "should be at least fenchel_gap"),
        (Undefined(), "enclosure of the gap", "none of them nan"),
        (OneNumber(), "enclosure of the gap", "4 numbers"),
        (LowValue(), "enclosure of g", "should be between"),
        (HighValue(), "enclosure of g", "should be between"),
        (FiniteOutside(0.3), "enclosure of g", r"value\(x\) = inf"),
        (WideInner(0.3), "enclosure of the dual interval", "of every strength in the blur"),
        (InnerForgetsBlur(0.3), "enclosure of the dual interval", "blur=0.001"),
        (Stronger(), "enclosure of the strength", "at most smooth_part"),
        (DualAsSlopes(), "enclosure of the slopes at 0", "is less than"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, (ElasticNet, Box)) else "",
)
def test_a_planted_fault_is_found_and_its_law_named(g, law, numbers):
    assert g.has_enclosures
    with pytest.raises(LawError, match=numbers) as error:
        dualgap.check_regularizer(g)
    assert f"breaks the law {law!r}" in str(error.value)


@pytest.mark.parametrize("blur", BLURS)
def test_the_enclosures_of_the_example(blur):
    """It is the box [0, inf) with l1 alone, so that the same judge serves."""
    count, l1 = 300, 0.3
    rng = np.random.default_rng(9)
    p, no = np.full(count, l1), np.full(count, INF)
    x, s = judge.points(rng, p, 0.0 * p, 2.0)
    s_lo, s_hi = judge.intervals(rng, s)
    g = load("non_negative").Positive(l1)
    share = Fraction(blur)
    assert g.has_enclosures and g.inner_interval(blur)[1] <= Fraction(l1) * (1 - share)
    args = (np.abs(x), s_lo, s_hi, p, 0.0 * p, 0.0 * p, no, blur)
    assert assert_bounds(g, *args, finite=True) > 200
    for part in (np.abs(x), np.abs(x[:5])):
        exact = Fraction(l1) * sum(map(Fraction, part))
        assert g.value_below(part, blur) <= exact * (1 - share)
        assert g.value_above(part, blur) >= exact * (1 + share)


def test_with_an_intercept_beside():
    """The wrapper bounds what it wraps, and 0 on the coordinate that is free."""
    inner = load("non_negative").Positive(0.3)
    g = Extended(inner, 3, 1, False)
    assert g.has_enclosures and not Extended(Smooth(), 3, 1, False).has_enclosures
    dualgap.check_regularizer(g)
    x, s = np.array([0.0, 1.0, 2.0, -5.0]), np.array([0.3, 0.1, -0.1, 0.0])
    gap = g.gap_above(x, s, s)
    assert (gap[:3] == inner.gap_above(x[:3], s[:3], s[:3])).all() and gap[3] == 0.0
    assert g.inner_interval()[1].tolist() == [0.3, 0.3, 0.3, 0.0]
    by_class = Extended(inner, 3, 1, True)
    both = by_class.gap_above(*(np.stack([v, v], axis=1) for v in (x, s, s)))
    assert (both == gap[:, None]).all()
    assert by_class.value_above(np.stack([x, x], axis=1)) >= 2.0 * inner.value_below(x[:3])
