"""`gap_above`, `value_above` and `value_below` of every loss hold in real arithmetic, and tightly.

The judge takes the floats as exact numbers. The gap and phi are convex in z, so that a bound of the
gap is tried at the ends of the interval, and a lower bound of phi also between them.
"""

from __future__ import annotations

import flint
import numpy as np
import pytest
from flint import arb

from dualgap import losses
from tests.enclosures import draws, exact
from tests.enclosures.exact import number

ROWS = 1500


def holds(bound, true):
    return bound == np.inf or number(bound) >= true


def ratio(bound, true):
    """How much too large a bound is, where floats can tell."""
    true = float(true.upper())
    return bound / true if 1e-290 < true < 1e300 else np.nan


def seeded(loss):
    return np.random.default_rng(list(repr(loss).encode()))


@pytest.mark.parametrize("loss", draws.LOSSES, ids=repr)
def test_no_bound_is_broken(loss):
    rng = seeded(loss)
    b = np.concatenate(
        [draws.targets(loss, rng, ROWS), draws.extreme_targets(loss, rng, ROWS // 4)]
    )
    z = draws.predictions(loss, rng, b, b.size)
    y = draws.dual_points(loss, rng, z, b)
    z_lo, z_hi = draws.ends(rng, z)
    gap = loss.gap_above(z_lo, z_hi, y, b)
    above, below = loss.value_above(z_lo, z_hi, b), loss.value_below(z_lo, z_hi, b)
    assert (gap >= 0.0).all() and (above >= 0.0).all() and (below >= 0.0).all()
    seen, far = [], []
    for i in range(b.size):
        gaps = [exact.gap(loss, v, y[i], b[i]) for v in (z_lo[i], z_hi[i])]
        values = [exact.value(loss, v, b[i]) for v in (z_lo[i], z[i], z_hi[i])]
        row = (loss, z_lo[i], z_hi[i], y[i], b[i])
        assert all(holds(gap[i], true) for true in gaps), row
        assert all(holds(above[i], true) and number(below[i]) <= true for true in values), row
        largest = max(gaps, key=lambda v: float(v.upper()))
        seen.append(ratio(gap[i], largest))
        far.append(float(largest.upper()) > 1e-9 * float(values[1].upper()))
    seen, far = np.array(seen), np.array(far) & np.isfinite(seen)
    # Away from the optimum half of the bounds are the gap to some roundings. In wide intervals the
    # terms of a sum are largest at different ends, which may cost a factor of 2 or so.
    assert far.mean() > 0.3
    assert np.median(seen[far]) < 1.0 + 1e-14
    assert np.quantile(seen[far], 0.99) < 3.0 and seen[far].max() < 8.0
    assert not np.isinf(gap[~np.isnan(seen)]).any()


@pytest.mark.parametrize("loss", draws.EXAMPLES, ids=repr)
def test_bounds_of_the_examples_hold(loss):
    """As tight as plain code makes them: second order at the optimum, 1e-8 away from it."""
    rng = seeded(loss)
    b = draws.targets(loss, rng, ROWS)
    z = draws.predictions(loss, rng, b, ROWS)
    y = draws.dual_points(loss, rng, z, b)
    z_lo, z_hi = draws.ends(rng, z)
    gap, below = loss.gap_above(z_lo, z_hi, y, b), loss.value_below(z_lo, z_hi, b)
    seen = []
    for i in range(ROWS):
        row = (loss, z_lo[i], z_hi[i], y[i], b[i])
        gaps = [exact.gap(loss, v, y[i], b[i]) for v in (z_lo[i], z_hi[i])]
        values = [exact.gap(loss, v, 0.0, b[i]) for v in (z_lo[i], z[i], z_hi[i])]
        assert all(holds(gap[i], true) for true in gaps), row
        assert all(number(below[i]) <= true for true in values), row
        seen.append(ratio(gap[i], max(gaps, key=lambda v: float(v.upper()))))
    assert np.nanmedian(seen) < 1.0 + 1e-8


@pytest.mark.parametrize("loss", draws.LOSSES, ids=repr)
def test_values_are_known_to_some_roundings(loss):
    """At one z: relative 1e-14, and 1e-14/|x| where mu = (1 + x) b is near the minimum.

    There phi is b x^2/2, and the 20 u of mu are 40 u/|x| of it.
    """
    rng = seeded(loss)
    b = draws.targets(loss, rng, 600)
    z = rng.normal(0.0, 10.0, 600)
    above, below = loss.value_above(z, z, b), loss.value_below(z, z, b)
    true = np.array([float(exact.value(loss, a, c).mid()) for a, c in zip(z, b, strict=True)])
    bar = np.full(600, 1e-14)
    if loss.name in draws.FAMILIES:
        with np.errstate(divide="ignore"):
            t = z - np.log(b)
        bar *= 1.0 + 1.0 / np.abs(np.expm1(t if loss.name == "poisson" else -t))
    assert (above <= true * (1.0 + bar)).all() and (below >= true * (1.0 - bar)).all()
    positive = true > 0.0
    assert np.median(above[positive] / true[positive]) < 1.0 + 5e-15
    assert np.median(below[positive] / true[positive]) > 1.0 - 5e-15


FLOORS = {"squared": 4.0, "huber": 4.0, "smoothed_hinge": 16.0, "squared_hinge": 4.0}


@pytest.mark.parametrize("loss", draws.LOSSES, ids=repr)
def test_at_the_optimum_roundings_count_twice(loss):
    """At y = fl(phi'(z)) the gap is of the order u^2: a first-order loss would be 1e16 times more.

    The bar is (40 u)^2 in units of phi'' and of the slopes, and for the split of the strong loss
    the same over its strength.
    """
    rng = seeded(loss)
    b = draws.targets(loss, rng, 600)
    z = rng.normal(0.0, 4.0, 600)
    y = loss.into_domain(loss.grad(z, b), b)
    gap = loss.gap_above(z, z, y, b)
    unit = (40.0 * 2.0**-53) ** 2
    slopes = np.abs(y) + np.abs(b) + np.abs(z)
    stiff = min(getattr(loss, "strength", 1.0), getattr(loss, "width", 1.0), 1.0)
    if loss.name in draws.FAMILIES:
        most = unit * (loss.hess(z, b) + np.where(loss.hess(z, b) > 0.0, 1.0, 0.0) * slopes**2)
        most += unit * slopes**2 / np.maximum(loss.hess(z, b), 1e-30)
    else:
        most = unit * slopes**2 / stiff
    assert (gap <= most + 1e-300).all()
    if loss.name in FLOORS:
        true = [exact.gap(loss, *row) for row in zip(z, y, b, strict=True)]
        seen = np.array([ratio(a, t) for a, t in zip(gap, true, strict=True)])
        seen = seen[np.isfinite(seen)]
        if seen.size > 20:
            assert np.quantile(seen, 0.95) < FLOORS[loss.name]


def test_logistic_gaps_stay_tiny_where_the_loss_is():
    """At z = 600 b the loss is e^-600: its gap at the optimum is 1e-20 of that and less.

    1 - s is taken between the complements; between s and p it would be rounded to 1e-16.
    """
    z = np.linspace(10.0, 690.0, 200)
    b = np.ones(200)
    loss = losses.Logistic()
    gap = loss.gap_above(z, z, loss.grad(z, b), b)
    assert (gap <= 1e-20 * np.exp(-z) + 1e-320).all()
    strong = losses.StrongLogistic()
    gap = strong.gap_above(-z, -z, strong.grad(-z, b), b)
    assert (gap <= 1e-20).all()  # where p rounds to 1, and 1 - p counts


@pytest.mark.parametrize("loss", draws.LOSSES, ids=repr)
def test_infinite_and_huge_ends(loss):
    rng = seeded(loss)
    ends = np.array([-np.inf, -1e308, -1e160, -800.0, 0.0, 800.0, 1e160, 1e308, np.inf])
    low, high = (v.ravel() for v in np.meshgrid(ends, ends, indexing="ij"))
    low, high = low[low <= high], high[low <= high]
    for size in (1, 300):  # arrays of more than 256 are rounded by a formula
        b = np.repeat(draws.targets(loss, rng, low.size), size)
        z_lo, z_hi = np.repeat(low, size), np.repeat(high, size)
        inner = np.clip(0.0, z_lo, z_hi)
        with np.errstate(all="ignore"):
            y = loss.into_domain(np.clip(loss.grad(inner, b), -1e290, 1e290), b)
            known = np.where(np.isfinite(inner), loss.value(inner, b), 0.0)
        for dual in (y, np.zeros_like(y)):
            gap = loss.gap_above(z_lo, z_hi, dual, b)
            assert (gap >= 0.0).all()
        below = loss.value_below(z_lo, z_hi, b)
        finite = np.isfinite(inner) & np.isfinite(known)
        assert (below >= 0.0).all()
        assert (below[finite] <= known[finite] * (1.0 + 1e-9) + 1e-9).all()
        above = loss.value_above(z_lo, z_hi, b)
        assert (above[finite] >= known[finite] * (1.0 - 1e-9)).all()


def multinomial_rows(rng, n, K):
    """Boxes of scores, and dual points: near the softmax, far from it, at the ends."""
    z = rng.normal(0.0, 1.0, (n, K)) * 10.0 ** rng.uniform(-1.0, 2.3, (n, 1))
    z[rng.random(n) < 0.1] *= 30.0
    b = rng.integers(0, K, n)
    loss = losses.Multinomial(K)
    y = loss.grad(z, b.astype(float))
    kind = rng.integers(0, 5, n)
    y[kind == 1] *= 1.0 - 1e-9
    y[kind == 2] *= rng.random((n, 1))[kind == 2]
    y[kind == 3] = 0.0
    other = (b + 1) % K
    y[kind == 4] = 0.0
    y[kind == 4, other[kind == 4]] = rng.choice([1.0, 1.0 - 2.0**-53, 1e-300], np.sum(kind == 4))
    y[np.arange(n), b] = np.nan  # never read
    for i in range(n):  # the caller's promise
        while np.nextafter(np.nansum(y[i]), np.inf) * (1.0 + K * 2.0**-52) > 1.0 and kind[i] != 4:
            y[i] *= 1.0 - 2.0**-50
    half = np.where(rng.random((n, 1)) < 0.5, 0.0, 10.0 ** rng.uniform(-16.0, 0.0, (n, 1)))
    half = half * rng.random((n, K))
    return loss, z - half, z + half, y, b, half


@pytest.mark.parametrize("K", [2, 3, 7, 20])
def test_multinomial_bounds(K):
    rng = np.random.default_rng(K)
    n = 400 if K < 20 else 150
    loss, z_lo, z_hi, y, b, half = multinomial_rows(rng, n, K)
    slack = np.where(rng.random((n, 1)) < 0.5, 0.0, 10.0 ** rng.uniform(-18.0, -2.0, (n, 1)))
    slack = slack * rng.random((n, K))
    classes = b.astype(float)
    gap = loss.gap_above(z_lo, z_hi, y, classes)
    wider = loss.gap_above(z_lo, z_hi, y, classes, slack)
    above, below = loss.value_above(z_lo, z_hi, classes), loss.value_below(z_lo, z_hi, classes)
    assert np.isfinite(gap).all() and np.isfinite(wider).all() and (below >= 0.0).all()
    seen = []
    with flint.ctx.workprec(exact.BITS):
        for i in range(n):
            p = [number(v) for v in np.where(np.arange(K) == b[i], 0.0, y[i])]
            p[b[i]] = 1 - sum(p, arb(0))
            e = [arb(int(k == b[i])) for k in range(K)]
            truths = []
            for _ in range(3):  # corners of the box
                z = [number(v) for v in np.where(rng.random(K) < 0.5, z_lo[i], z_hi[i])]
                truths.append(exact.multinomial_gap(z, p))
                assert holds(gap[i], truths[-1]), (K, i)
                value = exact.multinomial_gap(z, e)
                assert holds(above[i], value), (K, i)
                assert below[i] == 0.0 or number(below[i]) <= value, (K, i)
                moved = shifted(rng, p, slack[i])
                assert holds(wider[i], exact.multinomial_gap(z, moved)), (K, i)
            if not half[i].any():
                seen.append(ratio(gap[i], truths[0]))
    assert np.nanmedian(seen) < 1.0 + 1e-6
    assert np.mean(np.array(seen) > 2.0) < 0.35  # those at the optimum itself


def shifted(rng, p, slack):
    """Another point of the simplex: t, at most both slacks, moves from one class to another."""
    j, k = rng.choice(len(p), 2, replace=False)
    t = min(number(min(slack[j], slack[k])), p[j], key=lambda v: float(v))
    out = list(p)
    out[j], out[k] = p[j] - t, p[k] + t
    return out


def test_multinomial_is_tight_near_the_optimum():
    """32 u from the optimum: the enclosures add some 20 u, which makes a factor of 4 or so.

    So also where one class has nearly everything, and where that is not the own one.
    """
    rng = np.random.default_rng(9)
    z = rng.normal(0.0, 3.0, (500, 5)) * 10.0 ** rng.uniform(-1.0, 1.5, (500, 1))
    b = rng.integers(0, 5, 500)
    loss = losses.Multinomial(5)
    y = loss.grad(z, b.astype(float))
    y[np.arange(500), b] = 0.0
    y *= 1.0 - 2.0**-48
    gap = loss.gap_above(z, z, y, b.astype(float))
    seen = []
    with flint.ctx.workprec(exact.BITS):
        for i in range(500):
            p = [number(v) for v in y[i]]
            p[b[i]] = 1 - sum(p, arb(0))
            true = exact.multinomial_gap([number(v) for v in z[i]], p)
            assert holds(gap[i], true)
            seen.append(ratio(gap[i], true))
    assert np.nanmedian(seen) < 2.0 and np.nanquantile(seen, 0.9) < 10.0


def test_a_loss_without_enclosures_says_so():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Bare(losses.Loss):
        pass

    @dataclass(frozen=True)
    class Full(Bare):
        def gap_above(self, z_lo, z_hi, y, b):
            return z_lo

        def value_below(self, z_lo, z_hi, b):
            return z_lo

    z = np.zeros(1)
    assert not Bare.has_enclosures and Full.has_enclosures
    assert all(loss.has_enclosures for loss in losses.LOSSES.values())
    with pytest.raises(TypeError, match=r"Bare does not define gap_above\(z_lo, z_hi, y, b\)"):
        Bare().gap_above(z, z, z, z)
    with pytest.raises(TypeError, match=r"Bare does not define value_below\(z_lo, z_hi, b\)"):
        Bare().value_below(z, z, z)
