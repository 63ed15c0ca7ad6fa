"""The compiled bounds of the logistic loss hold in real arithmetic, and are those of numpy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb

from dualgap import losses
from dualgap.enclosures import compiled_logistic as kernel
from dualgap.losses import logistic
from tests.enclosures import draws, exact
from tests.enclosures.exact import number

LOSS = losses.Logistic()
ENOUGH = logistic.WORTH_A_KERNEL


def compiled(z_lo, z_hi, y, b):
    gap, above, below = np.empty((3, z_lo.size))
    kernel.row_bounds(z_lo, z_hi, y, b, gap, above, below)
    return gap, above, below


def by_numpy(monkeypatch, *rows):
    """As it is where there is no numba."""
    with monkeypatch.context() as hidden:
        hidden.setattr(logistic, "can_compile", lambda: False)
        return LOSS.row_bounds(*rows)


def drawn(seed, n):
    """Rows of all kinds: `draws`, and p at 0, at 1, and a few floats around 0, 1/2 and 1."""
    rng = np.random.default_rng(seed)
    b = draws.targets(LOSS, rng, n)
    z = draws.predictions(LOSS, rng, b, n)
    y = draws.dual_points(LOSS, rng, z, b)
    special = [0.0, 2.0**-1074, 1e-310, 2.0**-54, 0.5 - 2.0**-54, 0.5, 0.5 + 2.0**-53]
    special += [1.0 - 2.0**-52, 1.0 - 2.0**-53, 1.0]
    y = np.where(rng.random(n) < 0.2, -b * rng.choice(special, n), y)
    near = rng.random(n) < 0.1  # where 0 is an end of the interval, or inside
    z = np.where(near, rng.choice([0.0, 2.0**-1074, 1e-300, 1e-17], n) * b, z)
    return *draws.ends(rng, z), y, b, z


def test_no_bound_of_the_kernel_is_broken():
    """5000 rows: h is convex in z, so that its ends are tried; phi also between them."""
    z_lo, z_hi, y, b, z = drawn(1, 5000)
    gap, above, below = compiled(z_lo, z_hi, y, b)
    assert (gap >= 0.0).all() and (above >= 0.0).all() and (below >= 0.0).all()
    broken = []
    for i in range(z.size):
        for v in (z_lo[i], z_hi[i], z[i]):
            true = exact.value(LOSS, v, b[i])
            fine = number(below[i]) <= true and number(above[i]) >= true
            if v != z[i] or z_lo[i] == z_hi[i]:
                fine &= gap[i] == np.inf or number(gap[i]) >= exact.gap(LOSS, v, y[i], b[i])
            if not fine:
                broken.append((z_lo[i], z_hi[i], y[i], b[i]))
    assert not broken


def test_the_kernel_and_numpy_agree(monkeypatch):
    """Same formulas: 1e-13 apart at the most, or both at the floor that 20 u of s make.

    At the floor x = (s - p)/p is rounding, and the gap is p x^2/2: a digit of x counts twice.
    """
    *rows, _ = drawn(2, 20000)
    for ours, theirs, floor in zip(
        compiled(*rows), by_numpy(monkeypatch, *rows), (1e-30, 1e-320, 1e-320), strict=True
    ):
        assert (np.isinf(ours) == np.isinf(theirs)).all()
        known = np.isfinite(theirs)
        ours, theirs = ours[known], theirs[known]
        assert known.mean() > 0.9
        assert (np.abs(ours - theirs) <= 1e-13 * theirs + floor).all()


def test_infinite_huge_and_missing_ends():
    """inf is allowed, nan is not; phi is known at the finite end that is nearest to its minimum."""
    ends = np.array([-np.inf, -1.7e308, -1e160, -745.2, -744.0, -600.1, 0.0])
    ends = np.concatenate((ends, -ends[::-1]))
    p = np.array([0.0, 2.0**-1074, 1e-300, 0.5 - 2.0**-54, 0.5, 0.7, 1.0 - 2.0**-53, 1.0])
    grid = np.meshgrid(ends, ends, p, [-1.0, 1.0], indexing="ij")
    low, high, p, b = (v.ravel()[(grid[0] <= grid[1]).ravel()] for v in grid)
    gap, above, below = compiled(low, high, -b * p, b)
    assert (gap >= 0.0).all() and (above >= 0.0).all() and (below >= 0.0).all()
    assert np.isfinite(below).all()
    for i in range(low.size):
        for v in (low[i], high[i]):
            if abs(v) < 1000.0:
                assert gap[i] == np.inf or number(gap[i]) >= exact.gap(LOSS, v, -b[i] * p[i], b[i])
                assert number(above[i]) >= exact.value(LOSS, v, b[i]) >= number(below[i])
                continue
            # With t = -b z: phi > max(t, 0), and h > (1 - p) t - log 2 or h > p |t| - log 2.
            right = -b[i] * v > 0.0
            share = 1 - Fraction(p[i]) if right else Fraction(p[i])
            if np.isinf(v):
                assert gap[i] == np.inf or share == 0
                assert above[i] == np.inf or not right
            else:
                assert gap[i] == np.inf or Fraction(gap[i]) >= share * abs(Fraction(v)) - 1
                assert above[i] > (abs(v) if right else 0.0)
                assert below[i] <= (abs(v) if right else 0.0)
    # The limits of both: at p = 0 the gap is the loss, which falls to 0.
    assert (gap[(p == 0.0) & (low == high) & (b * low == np.inf)] < 1e-300).all()
    nan = np.full(3, np.nan)
    for row in ((nan, nan), (nan, np.ones(3)), (np.ones(3), nan)):
        gap, above, below = compiled(*row, np.full(3, -0.5), np.ones(3))
        assert (gap == np.inf).all() and (above == np.inf).all() and (below == 0.0).all()


def test_powers_of_two_and_exponentials():
    """2^k is a float, made of its bits; e^x is enclosed down to where floats end."""
    assert all(kernel.power(k) == float(Fraction(2) ** k) for k in range(-1022, 1))
    rng = np.random.default_rng(3)
    x = np.concatenate((-rng.uniform(0.0, 2.0, 500), -rng.uniform(0.0, 760.0, 1500)))
    x = np.concatenate((x, [0.0, -(2.0**-1074), -1e-300, -744.0, np.nextafter(-744.0, 0.0), -1e9]))
    for v in x:
        low, high = kernel.exponential(v)
        true = number(v).exp()
        assert 0.0 <= low <= high <= 1.0
        assert number(low) <= true and (number(high) >= true or (high == 1.0 and v <= 0.0))
        assert high - low <= 5e-15 * high + 2.0**-1070


def test_logarithms_from_below():
    rng = np.random.default_rng(4)
    t = 2.0 ** rng.uniform(-1070.0, 1023.0, 1500) * rng.uniform(1.0, 2.0, 1500)
    t = np.concatenate((t, 1.0 + rng.normal(0.0, 1e-9, 500), [2.0**-1074, 2.0**-1000, 1.0]))
    for v in t[np.isfinite(t)]:
        low, true = kernel.log_down(v), number(v).log()
        assert number(low) <= true
        assert float(true.mid()) - low <= 2e-15 * abs(low) + 2.0**-1070
    assert kernel.log_down(0.0) == -np.inf


def test_five_terms_are_enough_near_the_optimum():
    """x - log(1 + x) on both sides of where the series gets longer, and far below it.

    The bound is at least that, and at most 40 u more.
    """
    rng = np.random.default_rng(5)
    edge = 2.0**-5
    x = [2.0 * s / (1.0 - s) for s in (edge, -edge)]
    x = np.concatenate(([v * (1.0 + d) for v in x for d in (-1e-9, 0.0, 1e-9)], [1.0, -0.5]))
    x = np.concatenate((x, 10.0 ** rng.uniform(-100.0, -1.5, 400) * rng.choice([-1.0, 1.0], 400)))
    x = np.concatenate((x, rng.uniform(-0.5, 1.0, 400)))
    for v in x:
        bound = kernel.excess_up(v, 1.0)
        true = gap_at(v)
        assert number(bound) >= true
        assert number(bound) <= true * (1 + arb(40) / 2**53)


def gap_at(v):
    with flint.ctx.workprec(exact.BITS):
        return number(v) - (1 + number(v)).log()


def test_many_rows_take_the_kernel_and_few_do_not(monkeypatch):
    """With numba hidden numpy answers, in pieces, with bounds of the same rows."""
    called = []

    def seen(*rows):
        called.append(rows[0].size)
        return compiled(*rows)

    monkeypatch.setattr(logistic, "_by_kernel", seen)
    *rows, _ = drawn(6, ENOUGH + 5)
    few = [v[:-6] for v in rows]
    gap, above, below = LOSS.row_bounds(*rows)
    LOSS.row_bounds(*few)
    assert called == [ENOUGH + 5]
    assert (LOSS.gap_above(*rows) == gap).all() and called == [ENOUGH + 5] * 2
    slow = by_numpy(monkeypatch, *rows)
    assert len(called) == 2
    np.testing.assert_allclose(slow[1], above, rtol=1e-13, atol=1e-320)
    np.testing.assert_allclose(slow[2], below, rtol=1e-13, atol=1e-320)


def test_the_loss_at_zero_is_as_tight_as_the_gap_there():
    """phi(z) is the gap at y = 0: the direct bound is within 1e-15 of it, or below it."""
    z_lo, z_hi, y, b, _ = drawn(7, 3000)
    above, gap = LOSS.value_above(z_lo, z_hi, b), LOSS.gap_above(z_lo, z_hi, 0.0 * y, b)
    assert (above <= gap * (1.0 + 1e-15) + 1e-320).all()


def test_bounds_of_another_function_are_not_inherited():
    """Twice the loss, told by the two methods that a loss needs: nothing else is of the base."""

    @dataclass(frozen=True)
    class Twice(losses.Logistic):
        def gap_above(self, z_lo, z_hi, y, b):
            return 2.0 * losses.Logistic.gap_above(self, z_lo, z_hi, 0.5 * y, b)

        def value_below(self, z_lo, z_hi, b):
            return 2.0 * losses.Logistic.value_below(self, z_lo, z_hi, b)

    *rows, _ = drawn(8, ENOUGH)
    gap, above, below = Twice().row_bounds(*rows)
    z_lo, z_hi, y, b = rows
    assert (above == 2.0 * LOSS.gap_above(z_lo, z_hi, 0.0 * y, b)).all()
    assert (gap == Twice().gap_above(*rows)).all() and (below <= above).all()


def test_who_has_an_infimum_of_zero():
    """All but the strong logistic loss; and nobody who defines `value_above` and keeps silent."""
    assert [k for k, v in losses.LOSSES.items() if not v.infimum_is_zero] == ["strong_logistic"]

    @dataclass(frozen=True)
    class Silent(losses.Logistic):
        def value_above(self, z_lo, z_hi, b):
            return 1.0 + losses.Logistic.value_above(self, z_lo, z_hi, b)

    assert not Silent.infimum_is_zero and losses.Logistic.infimum_is_zero
    z = np.zeros(2)
    assert (Silent().row_bounds(z, z, z, z + 1.0)[1] > 1.69).all()


@pytest.mark.parametrize("n", [10, ENOUGH])
def test_a_strong_loss_is_not_taken_for_its_gap_at_zero(n):
    """phi(0) = log 2 is above the gap at y = 0, which is log 2 less the infimum."""
    loss, z, b = losses.StrongLogistic(), np.zeros(n), np.ones(n)
    gap, above, below = loss.row_bounds(z, z, z, b)
    assert (above >= np.log(2.0)).all() and (below <= np.log(2.0)).all()
    assert (gap < 0.9 * np.log(2.0)).all()
