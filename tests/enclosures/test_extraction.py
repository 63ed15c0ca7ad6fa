"""Sums by extraction against exact rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.enclosures import extraction
from dualgap.enclosures.extraction import accurate_sum


def exactly(v: np.ndarray) -> Fraction:
    return sum((Fraction(value) for value in v.tolist()), Fraction(0))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 1025, 40_000])
@pytest.mark.parametrize("spread", [0.0, 3.0, 40.0])
@pytest.mark.parametrize("cancels", [False, True])
def test_the_sum_is_within_its_error(n, spread, cancels):
    """Law: |total - sum| <= error, and the error is about the last bit of what was added."""
    rng = np.random.default_rng([n, int(spread), cancels])
    v = rng.standard_normal(n) * 10.0 ** rng.uniform(-spread, spread, n)
    if cancels:
        v = rng.permutation(np.concatenate((v, -v, rng.standard_normal(3) * 1e-20)))
    total, error = accurate_sum(v)
    assert abs(exactly(v) - Fraction(total)) <= Fraction(error)
    assert error <= 2.0**-52 * abs(total) + 1e-24 * np.abs(v).max()


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1, max_size=40)
)
def test_floats_of_all_sizes(values):
    """Law: from the least float to numbers whose sum is just finite."""
    v = np.array(values) / 64.0
    total, error = accurate_sum(v)
    assert abs(exactly(v) - Fraction(total)) <= Fraction(error)


def test_zero_is_said_only_of_zero():
    """Law: (0, 0) means that the sum is 0; the least float is not lost in between."""
    v = np.zeros(5000)
    assert accurate_sum(v) == (0.0, 0.0)
    v[[7, 4000]] = 1e300, -1e300
    assert accurate_sum(v) == (0.0, 0.0)
    v[2000] = 2.0**-1074
    total, error = accurate_sum(v)
    assert abs(exactly(v) - Fraction(total)) <= Fraction(error)
    assert (total, error) != (0.0, 0.0)


def test_a_sum_that_is_no_float_has_no_bound():
    assert accurate_sum(np.full(2, 1.7e308)) == (0.0, np.inf)


def test_a_forgotten_rest_would_be_seen(monkeypatch):
    """Planted bug: without what the extractions leave, the error is too small."""
    monkeypatch.setattr(extraction, "gam", lambda k: 0.0)
    monkeypatch.setattr(extraction, "UNIT", 0.0)
    monkeypatch.setattr(extraction, "LEVELS", 1)
    rng = np.random.default_rng(5)
    v = rng.standard_normal(20_000) * 10.0 ** rng.uniform(-20.0, 0.0, 20_000)
    total, error = accurate_sum(v)
    assert abs(exactly(v) - Fraction(total)) > Fraction(error)
