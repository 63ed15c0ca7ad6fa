"""Class sums brought to 0 by a few rows: the lemma of `class_sums`, followed in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from dualgap.dual_points.simplex import balance, closed
from dualgap.enclosures import class_sums
from dualgap.enclosures.class_sums import class_moves, residual_sums, sums_moved


def points(balanced: bool):
    rng = np.random.default_rng(int(balanced))
    for case in range(900):
        n, K = int(rng.integers(2, 12)), int(rng.integers(2, 6))
        w = None if case % 3 == 0 else 10.0 ** rng.uniform(-6, 6, n)
        if w is not None and case % 2:
            w[rng.random(n) < 0.2] = 0.0
            w[0] = 1.0
        b = rng.integers(0, K, n)
        p = rng.dirichlet(np.full(K, 10.0 ** rng.uniform(-2, 1)), n)
        y = p * (1.0 - 1e-15)  # so that the real own entry, 1 less the others, is not below 0
        y[np.arange(n), b] = 0.0
        y = closed(y, b)
        if balanced:
            y = balance(y, np.full(n, 1.0 / n) if w is None else w / w.sum(), b)
        yield rng, w, y, b


def followed(w, y, b, low, high):
    """p before and after the step, in fractions, with the shares that the functions chose."""
    n, K = y.shape
    weights = [Fraction(1)] * n if w is None else [Fraction(v) for v in w.tolist()]
    p = [[Fraction(v) for v in row] for row in y.tolist()]
    for i in range(n):
        p[i][b[i]] = 1 - sum(v for k, v in enumerate(p[i]) if k != b[i])
    r = [sum(weights[i] * (p[i][k] - (k == b[i])) for i in range(n)) for k in range(K)]
    assert sum(r) == 0
    for k in range(K):
        assert Fraction(float(low[k])) <= r[k] <= Fraction(float(high[k]))
        assert (low[k] == high[k] == 0.0) == (r[k] == 0)
    total = sum(v for v in r if v > 0)
    after = [row.copy() for row in p]
    others = class_sums._others(y, b)
    floats = np.ones(n) if w is None else w
    for k in range(K):
        if r[k] <= 0:
            continue
        room = class_sums._room(floats, others, b, k)
        rows = class_sums._rows_with_room(room, float(high[k]))[0]
        room = [Fraction(float(room[i])) for i in rows]
        for i, has in zip(rows, room, strict=True):
            assert has <= weights[i] * p[i][k]
            step = (has / sum(room) if len(rows) > 1 else 1) * r[k] / weights[i]
            after[i][k] -= step
            for m in range(K):
                if r[m] < 0:
                    after[i][m] += step * -r[m] / total
    return weights, p, after


@pytest.mark.parametrize("balanced", [True, False])
def test_the_step_ends_in_the_simplices_with_sums_of_zero(balanced: bool) -> None:
    """As `balance` leaves y, or far from sums of 0, where many rows have to help."""
    moved, several = 0, 0
    for rng, w, y, b in points(balanced):
        n, K = y.shape
        low, high = residual_sums(w, y, b)
        moves = class_moves(w, y, b, low, high)
        if moves is None:
            assert not balanced  # a rounding has room in some row
            continue
        weights, p, after = followed(w, y, b, low, high)
        moved += 1
        several += len(moves.rows) > 1
        for k in range(K):
            assert sum(weights[i] * (after[i][k] - (k == b[i])) for i in range(n)) == 0
        amounts = dict(zip(moves.rows.tolist(), moves.amounts, strict=True))
        for i in range(n):
            assert sum(after[i]) == 1 and min(after[i]) >= 0
            for k in range(K):
                most = Fraction(float(amounts[i][k])) if i in amounts else 0
                assert abs(after[i][k] - p[i][k]) <= most
        A = rng.standard_normal((n, 2)) * 10.0 ** rng.integers(-5, 6, 2)
        bound = sums_moved(moves, w, A[moves.rows])
        for j in range(2):
            for k in range(K):
                parts = (
                    weights[i] * Fraction(float(A[i, j])) * (after[i][k] - p[i][k])
                    for i in range(n)
                )
                assert abs(sum(parts)) <= Fraction(float(bound[j, k]))
        if balanced and len(moves.rows):
            top = float(np.max(w)) if w is not None else 1.0
            assert moves.amounts.max() <= 1e-12 * top / (1.0 if w is None else w[w > 0].min())
    assert moved >= (890 if balanced else 300) and several >= 100


def test_without_room_there_is_no_step() -> None:
    """Both rows have all of their mass at class 0, which makes 2: 2.5 cannot be taken off it."""
    y, b = np.array([[1.0, -1.0], [0.0, 0.0]]), np.array([1, 0])
    low, high = residual_sums(None, y, b)
    assert low[0] <= 1.0 <= high[0] and low[1] <= -1.0 <= high[1]
    assert class_moves(None, y, b, np.array([2.5, -2.5]), np.array([2.5, -2.5])) is None


def test_products_below_the_range_are_counted() -> None:
    y, b = np.array([[-1e-200, 1e-200], [1e-200, -1e-200]]), np.array([0, 1])
    low, high = residual_sums(np.array([1e-90, 1e-95]), y, b)
    truth = (Fraction(1e-95) - Fraction(1e-90)) * Fraction(1e-200)
    assert Fraction(float(low[0])) <= truth <= Fraction(float(high[0]))
    assert Fraction(float(low[1])) <= -truth <= Fraction(float(high[1]))
    assert high[0] <= 4 * 2.0**-899
