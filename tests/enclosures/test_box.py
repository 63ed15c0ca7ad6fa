"""The gap to points in a box, squared loss and l2, in fractions."""

from fractions import Fraction

import numpy as np

from dualgap.enclosures.box import default_radius, gap_in_box
from dualgap.enclosures.directed import up


def above(value: Fraction) -> float:
    """A float that is not below a fraction."""
    v = float(value)
    return v if Fraction(v) >= value else up(v)


def test_no_point_of_the_box_is_better_by_more_than_the_bound() -> None:
    """Corners, the corner that the sums S point to, and the best point of the box along it.

    h = (r - y)^2/2 and G = (l2 x + S/W)^2/(2 l2); P is evaluated in fractions.
    """
    rng = np.random.default_rng(0)
    tight = 0
    for _ in range(250):
        n, d, m = int(rng.integers(2, 8)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
        A = rng.standard_normal((n, d + m)) * 10.0 ** rng.integers(-4, 5, d + m)
        b, w = rng.standard_normal(n), 10.0 ** rng.uniform(-3, 3, n)
        x = rng.standard_normal(d + m) / np.abs(A).max(axis=0)
        y = A @ x - b + (10.0 ** -float(rng.integers(1, 17))) * rng.standard_normal(n)
        l2 = Fraction(float(10.0 ** rng.uniform(-3, 3)))
        a = [[Fraction(v) for v in row] for row in A.tolist()]
        bs, ws, ys = ([Fraction(v) for v in u.tolist()] for u in (b, w, y))
        W, free = sum(ws), range(d, d + m)

        def primal(point, a=a, bs=bs, ws=ws, W=W, l2=l2, d=d):
            z = (sum(u * v for u, v in zip(row, point, strict=True)) for row in a)
            loss = sum(q * (v - t) ** 2 / 2 for q, v, t in zip(ws, z, bs, strict=True)) / W
            return loss + l2 / 2 * sum(v * v for v in point[:d])

        xs = [Fraction(v) for v in x.tolist()]
        z = [sum(u * v for u, v in zip(row, xs, strict=True)) for row in a]
        S = [sum(a[i][j] * ws[i] * ys[i] for i in range(n)) for j in range(d + m)]
        H = sum(q * (v - t - e) ** 2 / 2 for q, v, t, e in zip(ws, z, bs, ys, strict=True)) / W
        G = sum((l2 * xs[j] + S[j] / W) ** 2 / (2 * l2) for j in range(d))
        lengths = np.sqrt((w @ (A * A)) / w.sum())
        R = default_radius(x[d:], float(np.sqrt(w @ (A @ x) ** 2 / w.sum())), lengths[d:])
        assert (R >= 1000.0 * np.abs(x[d:])).all() and np.isfinite(R).all()
        R *= 10.0 ** -float(rng.integers(0, 16))
        size = np.array([above(abs(S[j])) for j in free])
        bound = gap_in_box(above(H), above(G), size, R, float(np.nextafter(float(W), 0.0)))
        signs = [1 if S[j] > 0 else -1 for j in free]
        largest = Fraction(0)
        for turn in range(6):
            other = [Fraction(float(v)) for v in rng.standard_normal(d)]
            if turn % 2:  # where the dual point says the best penalised coefficients are
                other = [-S[j] / W / l2 for j in range(d)]
            way = signs if turn < 4 else [-s for s in signs]
            share = Fraction(1) if turn < 2 else Fraction(float(rng.random()))
            moved = [xs[j] - share * way[k] * Fraction(float(R[k])) for k, j in enumerate(free)]
            largest = max(largest, primal(xs) - primal(other + moved))
            assert primal(xs) - primal(other + moved) <= Fraction(bound)
        tight += largest >= Fraction(bound) / 4
    assert tight >= 40  # the bound is reached, or the test would say little


def test_sums_of_zero_allow_any_radius() -> None:
    assert gap_in_box(1.0, 0.5, np.array([0.0]), np.array([np.inf]), 2.0) <= 1.5 + 1e-15
    assert gap_in_box(1.0, 0.5, np.array([1e-300]), np.array([np.inf]), 2.0) == np.inf
    assert default_radius(np.array([1.0]), 1.0, np.array([0.0]))[0] == np.inf
