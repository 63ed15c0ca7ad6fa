"""Sums of products with an error that is known: held against sums of fractions."""

from fractions import Fraction

import numpy as np

from dualgap.designs import as_design
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.exact_sums import sums_of_products
from dualgap.spans.proofs import columns_times


def exact(a, b) -> Fraction:
    pairs = zip(a.high.tolist(), a.low.tolist(), b.high.tolist(), b.low.tolist(), strict=True)
    return sum(
        ((Fraction(x) + Fraction(dx)) * (Fraction(y) + Fraction(dy)) for x, dx, y, dy in pairs),
        Fraction(0),
    )


def test_the_error_of_a_sum_of_products_is_bounded_and_small() -> None:
    rng = np.random.default_rng(0)
    for case in range(1500):
        n = int(rng.integers(1, 30))
        x = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
        y = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
        if case % 3 == 1 and n > 2:  # what is left cancels to the last digits
            y[-1] = -float(x[:-1] @ y[:-1]) / x[-1]
        if case % 5 == 2:  # below the range in which products can be split
            x, y = x * 10.0 ** -float(rng.integers(100, 160)), y * 1e-150
        a, b = of(x), of(y)
        if case % 2:
            a = Double(x, x * rng.uniform(-1, 1, n) * 2.0**-54)
        if case % 4 == 3:
            b = Double(y, y * rng.uniform(-1, 1, n) * 2.0**-54)
        wide = (Double(v.high[:, None], v.low[:, None]) for v in (a, b))
        total, error = sums_of_products(*wide)
        truth = exact(a, b)
        said = Fraction(float(total.high[0])) + Fraction(float(total.low[0]))
        assert abs(said - truth) <= Fraction(float(error[0]))
        size = float(np.abs(x) @ np.abs(y))
        assert error[0] <= 1e-29 * size + n * 2.0**-898


def test_an_overflow_is_an_error_without_end() -> None:
    """Of a product, and of what splits a number in two, which is 2^27 times as large."""
    big = np.full((2, 1), 1e301)
    assert sums_of_products(of(big), of(big))[1][0] == np.inf
    assert sums_of_products(of(big), of(np.array([[1.0], [-1.0]])))[1][0] == np.inf


def test_columns_of_a_design_are_summed_over_blocks() -> None:
    """70 000 rows of 4 columns are several blocks; the judge adds up fractions of one column."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((70_000, 4))
    w, y = 10.0 ** rng.uniform(-6, 6, 70_000), rng.standard_normal(70_000)
    high, low = two_product(w, y)
    columns = np.array([False, True, False, True])
    rho, error = columns_times(as_design(A), columns, high, low)
    scaled = [int(Fraction(v) * 2**200) for v in A[:, 3].tolist()]
    alpha = [int((Fraction(a) + Fraction(b)) * 2**250) for a, b in zip(high, low, strict=True)]
    truth = Fraction(sum(a * b for a, b in zip(scaled, alpha, strict=True)), 2**450)
    assert rho.shape == (2,)
    assert abs(Fraction(float(rho[1])) - truth) <= Fraction(float(error[1]))
    assert error[1] <= 3e-16 * abs(rho[1]) + 1e-25 * float(np.abs(A[:, 3]) @ np.abs(high))
