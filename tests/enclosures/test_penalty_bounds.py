"""Bounds on regularisers hold for real numbers: judged in exact rationals, 0 violations."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from dualgap.regularizers import Box, ElasticNet, NonNegative
from dualgap.regularizers.bounds import CHUNK
from tests.enclosures import penalty_judge as judge
from tests.enclosures.penalty_judge import ETA, U

BLURS = (0.0, 2.0**-53, 1e-3)


def assert_bounds(g, x, s_lo, s_hi, l1, l2, lower, upper, blur, *, finite):
    """At least the exact maximum, and at most that over s moved by some units of the last bit.

    The second says that nothing is lost but to the rounding of s, l1 and l2 x themselves, which
    moves G by its slope x_s - x and half its curvature 1/l2: nothing to first order at the optimum.
    """
    bound = g.gap_above(x, s_lo, s_hi, blur)
    assert bound.shape == x.shape and not np.isnan(bound).any()
    judged = violated = loose = 0
    for j in range(x.size):
        case = (x[j], s_lo[j], s_hi[j], l1[j], l2[j], lower[j], upper[j], blur)
        exact = judge.largest_gap(*case)
        if exact is None:
            continue
        judged += 1
        if bound[j] == inf:
            # Only where a product overflows, which these sizes have to be large for.
            assert not finite, case
            continue
        got = Fraction(bound[j])
        violated += got < exact
        size = max(abs(Fraction(s_lo[j])), abs(Fraction(s_hi[j]))) + Fraction(l1[j])
        size += Fraction(l2[j]) * abs(Fraction(x[j]))
        moved = (16 * U + Fraction(2.001) * Fraction(blur)) * size + 16 * ETA
        allowed = judge.largest_gap(*case, wider=moved) * (1 + Fraction(1e-14)) + 64 * ETA
        if l2[j] > 0.0:  # at an end of the box, where moving s may change nothing
            allowed += moved * moved / (2 * Fraction(l2[j]) * (1 - Fraction(blur)))
        loose += got > allowed
    assert (violated, loose) == (0, 0)
    return judged


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize(("decades", "count"), [(3.0, 700), (300.0, 300)])
def test_the_gap_of_an_elastic_net(decades, count, blur):
    rng = np.random.default_rng([int(decades), 1])
    l1, l2 = judge.strengths(rng, count, decades), judge.strengths(rng, count, decades)
    x, s = judge.points(rng, l1, l2, decades)
    s_lo, s_hi = judge.intervals(rng, s)
    no = np.full(count, inf)
    args = (x, s_lo, s_hi, l1, l2, -no, no, blur)
    assert assert_bounds(ElasticNet(l1, l2), *args, finite=decades < 10.0) > 0.6 * count


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize(("decades", "count"), [(3.0, 700), (90.0, 300)])
def test_the_gap_of_a_box(decades, count, blur):
    rng = np.random.default_rng([int(decades), 2])
    l1, l2 = judge.strengths(rng, count, decades), judge.strengths(rng, count, decades)
    x, s = judge.points(rng, l1, l2, decades)
    lower, upper = judge.boxes(rng, x, decades)
    s_lo, s_hi = judge.intervals(rng, s)
    g = Box(lower, upper, l1, l2)
    args = (x, s_lo, s_hi, l1, l2, lower, upper, blur)
    assert assert_bounds(g, *args, finite=decades < 10.0) > 0.8 * count


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.1), (0.3, 0.0), (0.0, 0.7), (0.0, 0.0)])
def test_numbers_for_all_coordinates(l1, l2, blur):
    """Scalars and short arrays, which take other ways through numpy, give the same bounds."""
    count = 60
    rng = np.random.default_rng(3)
    p, q, no = np.full(count, l1), np.full(count, l2), np.full(count, inf)
    x, s = judge.points(rng, p, q, 2.0)
    s_lo, s_hi = judge.intervals(rng, s)
    ends = {
        NonNegative(l1, l2): (np.abs(x), 0.0 * no.clip(0, 0), no),
        Box(-2.0, 3.0, l1, l2): (x.clip(-2.0, 3.0), no.clip(-2.0, -2.0), no.clip(3.0, 3.0)),
        Box(1.0, inf, l1, l2): (x.clip(1.0, inf), no.clip(1.0, 1.0), no),
        Box(-inf, inf, l1, l2): (x, -no, no),
    }
    for g, (at, lower, upper) in ends.items():
        assert_bounds(g, at, s_lo, s_hi, p, q, lower, upper, blur, finite=True)


@pytest.mark.parametrize("blur", BLURS)
def test_between_the_ends_the_gap_is_no_larger(blur):
    """The judge looks at corners; this looks inside, at strengths and slopes drawn at random."""
    rng = np.random.default_rng(4)
    count = 300
    l1, l2 = judge.strengths(rng, count, 2.0), judge.strengths(rng, count, 2.0)
    x, s = judge.points(rng, l1, l2, 2.0)
    lower, upper = judge.boxes(rng, x, 2.0)
    s_lo, s_hi = judge.intervals(rng, s)
    bound = Box(lower, upper, l1, l2).gap_above(x, s_lo, s_hi, blur)
    for j in range(count):
        for _ in range(3):
            share, p, q = (Fraction(float(v)) for v in rng.random(3))
            s = Fraction(s_lo[j]) + share * (Fraction(s_hi[j]) - Fraction(s_lo[j]))
            p = Fraction(l1[j]) * (1 + Fraction(blur) * (2 * p - 1))
            q = Fraction(l2[j]) * (1 + Fraction(blur) * (2 * q - 1))
            low, high = judge.dual_ends(p, q, lower[j], upper[j])
            if judge.into(s, low, high) == s:
                assert bound[j] >= judge.gap(Fraction(x[j]), s, p, q, lower[j], upper[j])


@pytest.mark.parametrize("blur", BLURS)
def test_slopes_of_the_ends(blur):
    """Where s is the slope of g at an end to a few bits, x elsewhere: s - l1 - l2 hi cancels."""
    rng = np.random.default_rng(10)
    count = 500
    l1, l2 = judge.strengths(rng, count, 2.0), judge.strengths(rng, count, 2.0)
    x, _ = judge.points(rng, l1, l2, 2.0)
    lower, upper = judge.boxes(rng, x, 6.0)  # wide ones: the room beside x makes errors show
    end = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower, 1.0))
    s = np.sign(end) * l1 + l2 * end
    s += rng.integers(-3, 4, count) * np.spacing(s)
    args = (x, s, s, l1, l2, lower, upper, blur)
    assert assert_bounds(Box(lower, upper, l1, l2), *args, finite=True) > 400


def test_products_below_the_normal_range():
    """With l2 the least float, l2 x rounds by up to half of it, which l2 x^2/2 shows."""
    x = np.array([100.5, 101.5, 7.25, -2000.5, 3.0])
    zero, l2, no = np.zeros(5), np.full(5, 2.0**-1074), np.full(5, inf)
    for blur in (0.0, 2.0**-53):
        bound = ElasticNet(zero, l2).gap_above(x, zero, zero, blur)
        for j in range(5):
            assert bound[j] >= judge.largest_gap(x[j], 0.0, 0.0, 0.0, l2[j], -no[j], no[j], blur)
        lower, upper = np.minimum(x, 0.0), np.maximum(x, 0.0)
        for s in (0.0, 2.0**-1074, 99 * 2.0**-1074, -2001 * 2.0**-1074, 1e-300):
            bound = Box(lower, upper, zero, l2).gap_above(zero, zero + s, zero + s, blur)
            for j in range(5):
                assert bound[j] >= judge.largest_gap(
                    0.0, s, s, 0.0, l2[j], lower[j], upper[j], blur
                )


def test_the_ratio_to_the_exact_gap():
    """Where s is not near the slope of x, the bound is the exact gap to 1e-14."""
    rng = np.random.default_rng(5)
    count = 400
    l1, l2 = judge.strengths(rng, count, 3.0), judge.strengths(rng, count, 3.0)
    x, s = judge.points(rng, l1, l2, 3.0)
    bound = ElasticNet(l1, l2).gap_above(x, s, s)
    looked = 0
    for j in range(count):
        exact = judge.largest_gap(x[j], s[j], s[j], l1[j], l2[j])
        if not exact or exact < 0.5 * judge.value(Fraction(x[j]), Fraction(l1[j]), Fraction(l2[j])):
            continue  # cancellation between s and the slope at x
        looked += 1
        assert bound[j] / exact <= 1 + 1e-14
    assert looked > 100


def test_free_coordinates_and_points_outside():
    """G = 0 where nothing is penalised, whatever x: s is 0 there. Outside of the box g is inf."""
    x = np.array([1e300, -3.0, 0.0, 1e-320])
    wide = np.full(4, 1e5)
    assert (ElasticNet(np.zeros(4), np.zeros(4)).gap_above(x, -wide, wide) == 0.0).all()
    assert (Box().gap_above(x, -wide, wide) == 0.0).all()
    out = Box(-1.0, 1.0, 0.5, 0.5).gap_above(np.array([-2.0, -1.0, 1.0, 1.5]), 0 * wide, 0 * wide)
    assert (np.isinf(out) == [True, False, False, True]).all()
    assert NonNegative(1.0).value_above(np.array([-1e-320, 1.0])) == inf
    assert NonNegative(1.0).value_below(np.array([-1e-320, 1.0])) == inf


@pytest.mark.parametrize("g", [Box(-1.0, 2.0, 0.5, 0.5), Box(0.0, inf), ElasticNet(0.5, 0.5)])
@pytest.mark.parametrize("count", [3, 300])
def test_never_nan(g, count):
    """Infinite, huge and undefined slopes say nothing: inf, and not a number that is none."""
    x = np.resize([0.0, 1.0, 0.5], count)
    for s_lo, s_hi in ((-inf, inf), (np.nan, 1.0), (-1e308, 1e308), (-inf, -inf)):
        lows, highs = np.full(count, s_lo), np.full(count, s_hi)
        out = g.gap_above(x, lows, highs)
        assert not np.isnan(out).any()
        if not np.isfinite(s_lo):
            assert (out[x > 0.0] == inf).all()


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("decades", [3.0, 150.0, 320.0])
def test_values(decades, blur):
    """g(x) is between its bounds, which are within 1e-13 (and the blur) of each other."""
    rng = np.random.default_rng([6, int(decades)])
    for count in (1, 7, 300):
        for _ in range(12):
            l1, l2 = (judge.strengths(rng, count, min(decades, 300.0)) for _ in range(2))
            x, _ = judge.points(rng, l1, l2, min(decades, 300.0))
            if decades > 300.0:  # below the normal range
                x *= 1e-300
                l2 *= 1e-12
            g = ElasticNet(l1, l2)
            above, below = g.value_above(x, blur), g.value_below(x, blur)
            exact = sum(
                judge.value(Fraction(a), Fraction(p), Fraction(q))
                for a, p, q in zip(x, l1, l2, strict=True)
            )
            assert above == inf or above >= exact * (1 + Fraction(blur))
            assert below <= exact * (1 - Fraction(blur))
            if decades < 10.0:
                assert above - below <= (1e-13 + 2.1 * blur) * above + 1e-300


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("count", [4, 400])
def test_inner_intervals(count, blur):
    """Inside of the dual interval of every strength in the blur, and by at most two floats."""
    rng = np.random.default_rng(7)
    l1, l2 = judge.strengths(rng, count, 300.0), judge.strengths(rng, count, 3.0)
    l1[:2] = 2.0**-1074, 1.0
    l2[:2] = 0.0
    low, high = ElasticNet(l1, l2).inner_interval(blur)
    assert (low == -high).all() and (np.isinf(high) == (l2 > 0.0)).all()
    for j in np.flatnonzero(l2 == 0.0):
        true = Fraction(l1[j]) * (1 - Fraction(blur))
        assert 0 <= high[j] <= true
        assert true - Fraction(high[j]) <= (0 if not blur else 6 * U * true + 2 * ETA)
    low, high = Box(0.0, np.where(l2 > 0.0, 1.0, inf), np.minimum(l1, 1e90)).inner_interval(blur)
    assert (low == -inf).all() and (np.isinf(high) == (l2 > 0.0)).all()


@pytest.mark.parametrize("blur", BLURS)
def test_strengths_from_below(blur):
    l2 = np.append(judge.sizes(np.random.default_rng(8), 300, 300.0), [0.0, 1.0, 2.0**-1074])
    for part in (l2, l2[-5:]):
        below = ElasticNet(0.0 * part, part).strength_below(blur)
        for least, v in zip(below, part, strict=True):
            assert 0 <= least <= Fraction(v) * (1 - Fraction(blur))
    assert Box(l2=0.5).strength_below() == 0.5


def test_slopes_at_0():
    """s is a slope at 0 iff s x <= g(x) for all x of the box: then 0 is its own maximiser."""
    lower = np.array([-inf, -1.0, 0.0, -1.0, 0.0, 0.5, -2.0])
    upper = np.array([inf, 1.0, 2.0, 0.0, 0.0, 2.0, -1.0])
    low, high = Box(lower, upper, 0.25, 1.0).zero_interval()
    assert low.tolist() == [-0.25, -0.25, -inf, -0.25, -inf, inf, inf]
    assert high.tolist() == [0.25, 0.25, 0.25, inf, inf, -inf, -inf]
    low, high = ElasticNet(np.array([0.25, 0.0]), np.array([0.0, 1.0])).zero_interval(2.0**-53)
    assert (-low[0] == high[0] < 0.25) and low[1] == high[1] == 0.0


def test_a_changed_function_does_not_inherit_enclosures():
    """A subclass of the elastic net with a value of its own is another function."""

    class Other(ElasticNet):
        def value(self, x):
            return 2.0 * super().value(x)

    class Named(ElasticNet):
        pass

    assert ElasticNet.has_enclosures and NonNegative.has_enclosures and Named.has_enclosures
    assert not Other.has_enclosures


def test_many_coordinates_are_bounded_like_few():
    """Long vectors are taken piece by piece; no piece is lost, or given the strengths of others."""
    rng = np.random.default_rng(11)
    count = 2 * CHUNK + 77
    l1, l2 = judge.strengths(rng, count, 2.0), judge.strengths(rng, count, 2.0)
    x, s = judge.points(rng, l1, l2, 2.0)
    lower, upper = judge.boxes(rng, x, 2.0)
    some = rng.permutation(count)[:500]
    nets = ElasticNet(l1, l2), ElasticNet(l1[some], l2[some])
    boxes = (
        Box(lower, upper, l1, l2),
        Box(lower[some], upper[some], l1[some], l2[some]),
    )
    for every, few in (nets, boxes):
        bound = every.gap_above(x, s, s)
        assert (bound[some] == few.gap_above(x[some], s[some], s[some])).all()
