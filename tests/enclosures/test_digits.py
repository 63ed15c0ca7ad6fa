"""What a gap proves of coefficients: judged in exact rationals at solutions known exactly."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from dualgap.enclosures.digits import coefficient_error, proved_zeros
from dualgap.regularizers import Box, ElasticNet
from tests.enclosures import penalty_judge as judge


def up_to_float(v):
    """The least float that is at least v: a proved gap, as tight as one can be."""
    f = float(v)
    return f if Fraction(f) >= v else float(np.nextafter(f, inf))


@pytest.mark.parametrize("decades", [1.0, 60.0, 130.0])
def test_the_error_of_one_coefficient(decades):
    """(a x - b)^2/2 + (l2/2) x^2 has the solution a b/(a^2 + l2), and every x its exact gap.

    At x = fl(x*) the gap is about 1e-32 P or underflows, and the error is not 0 all the same.
    """
    rng = np.random.default_rng([1, int(decades)])
    violations = positive = 0
    for _ in range(400):
        a, b, l2 = (Fraction(float(v)) for v in judge.sizes(rng, 3, decades))
        solution = a * b / (a * a + l2)
        x = float(solution)
        if rng.random() < 0.5:
            x *= 1.0 + 10.0 ** rng.uniform(-16.0, 1.0)
        gap = (a * a + l2) / 2 * (Fraction(x) - solution) ** 2  # P is a parabola around x*
        if gap > 10**300:
            continue
        error = coefficient_error(
            up_to_float(gap), np.array([float(l2)]), np.array([x]), np.array([False])
        )[0]
        violations += error < abs(Fraction(x) - solution)
        positive += Fraction(x) != solution
    assert violations == 0 and positive > 300


def test_the_error_is_tight():
    """sqrt(2 gap/l2) to three units of the last bit."""
    rng = np.random.default_rng(2)
    gaps, l2 = judge.sizes(rng, 300, 60.0), judge.sizes(rng, 300, 60.0)
    for gap, strength in zip(gaps, l2, strict=True):
        for d in (1, 300):
            error = coefficient_error(
                float(gap), np.full(d, strength), np.ones(d), np.zeros(d, dtype=bool)
            )
            assert (error == error[0]).all()
            square = Fraction(error[0]) ** 2 * Fraction(strength) / (2 * Fraction(gap))
            assert 1 <= square <= 1 + Fraction(2) ** -49


def test_where_nothing_or_a_zero_is_proved():
    x = np.array([1.0, -2.0, 3.0, 0.0])
    l2 = np.array([0.0, 0.0, 1e-300, 0.0])
    zero = np.array([False, True, True, True])
    assert coefficient_error(0.1, l2, x, zero).tolist() == [inf, 2.0, 3.0, 0.0]
    assert coefficient_error(inf, np.array(1.0), x, zero).tolist() == [inf, 2.0, 3.0, 0.0]
    assert (coefficient_error(np.nan, np.array(1.0), x, ~zero & zero) == inf).all()
    nothing = coefficient_error(0.0, np.array(2.0), x, ~zero & zero)  # a gap of 0: x is x*
    assert ((nothing > 0.0) & (nothing < 1e-160)).all()


def solved(rng, lower, upper, l1, l2):
    """One coefficient, one row of weight 1, squared loss: a, b, x* and y* = a x* - b, exactly."""
    a, b = (Fraction(float(v)) for v in rng.standard_normal(2))
    slope = a * b  # -s at x = 0; the minimiser of (a^2 + l2) x^2/2 - a b x + l1 |x| on the box
    soft = max(slope - l1, Fraction(0)) + min(slope + l1, Fraction(0))
    x = soft / (a * a + l2)
    x = x if lower == -inf else max(x, Fraction(lower))
    x = x if upper == inf else min(x, Fraction(upper))
    return a, b, x


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(-inf, inf), (0.0, inf), (-1.0, 0.0), (-0.1, 0.2), (0.3, inf), (-1.0, -0.1)],
)
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_zeros_are_zeros(lower, upper, l2):
    """No coordinate is screened whose x* is not 0, and most of those with x* = 0 are."""
    rng = np.random.default_rng(3)
    l1 = 0.7
    g = ElasticNet(l1, l2) if lower == -inf else Box(lower, upper, l1, l2)
    ends = g.zero_interval()
    wrong = found = zeros = 0
    for _ in range(400):
        a, b, solution = solved(rng, lower, upper, Fraction(l1), Fraction(l2))
        star = a * solution - b
        # A dual point nearby, its slope, and D* - D(y) <= gap = P(x*) - D(y), all exact.
        y = star + Fraction(float(10.0 ** rng.uniform(-8.0, 0.0) * judge.signs(rng, 1)[0]))
        low, high = judge.dual_ends(Fraction(l1), Fraction(l2), lower, upper)
        s = -a * y
        if judge.into(s, low, high) != s:
            continue
        z = a * solution
        gap = (z - b - y) ** 2 / 2
        gap += judge.gap(solution, s, Fraction(l1), Fraction(l2), lower, upper)
        below, above = float(s), up_to_float(s)
        below = below if Fraction(below) <= s else float(np.nextafter(below, -inf))
        zero = proved_zeros(
            np.array([below]),
            np.array([above]),
            up_to_float(gap),
            1.0,
            np.array([abs(float(a))]),
            *ends,
        )[0]
        wrong += zero and solution != 0
        found += zero
        zeros += solution == 0
    assert wrong == 0
    assert found >= 0.3 * zeros
    assert (zeros > 100) == (lower <= 0.0 <= upper)


def test_the_reach_is_exact_to_the_last_bits():
    """s = 0, norm 1, gap 2, gamma 1: the reach is 2, and an interval that ends there too short."""
    zero, one = np.zeros(1), np.ones(1)
    for count in (1, 300):
        s, norm = np.zeros(count), np.ones(count)
        assert not proved_zeros(s, s, 2.0, 1.0, norm, -2.0, 2.0).any()
        assert proved_zeros(s, s, 2.0, 1.0, norm, -2.0 - 4e-15, 2.0 + 4e-15).all()
        assert not proved_zeros(s, s, 2.0, 1.0, norm, -2.0 - 4e-15, 2.0).any()
    assert not proved_zeros(zero, zero, 0.0, 1.0, zero, 0.0, 0.0).any()  # nothing is inside of {0}
    assert proved_zeros(zero, zero, 2.0, 1.0, one, -inf, 3.0).all()  # a box that begins at 0
    assert not proved_zeros(zero, zero, 2.0, 1.0, one, inf, -inf).any()  # one without 0


def test_nothing_is_proved_without_smoothness_or_a_gap():
    zero, one = np.zeros(2), np.ones(2)
    for gap, gamma in ((1e-3, None), (1e-3, 0.0), (inf, 1.0), (np.nan, 1.0), (1e-3, np.nan)):
        assert not proved_zeros(zero, zero, gap, gamma, one, -1.0, 1.0).any()
    assert not proved_zeros(zero * np.nan, zero, 1e-3, 1.0, one, -1.0, 1.0).any()
    assert not proved_zeros(zero - inf, zero + inf, 1e-3, 1.0, one, -inf, inf).any()
