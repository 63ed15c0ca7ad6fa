"""Certificates against exact rationals where rounding is everything: attacks, and planted bugs.

All problems have squared loss and l2 or nothing, so that P(x), P* and x* are rational numbers.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

import dualgap
from dualgap.certificate import certifying, feasibility, proof, quadratic, ridge, rows
from dualgap.spans.span import GramSpan, Span

FEET = 3.28084


def exact(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(v)) for v in values]


def solved(M: list[list[Fraction]], r: list[Fraction]) -> list[Fraction]:
    """Gauss' elimination; M is regular."""
    n = len(r)
    rows = [[*M[i], r[i]] for i in range(n)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                f = rows[i][k] / rows[k][k]
                rows[i] = [a - f * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


class Exact:
    """P(x) and its minimiser in rationals."""

    def __init__(self, A: np.ndarray, b: np.ndarray, l2: float, intercept: bool) -> None:
        self.A, self.b, self.l2, self.intercept = A, b, Fraction(l2), intercept
        self.rows = [exact(row) + ([Fraction(1)] if intercept else []) for row in A]
        self.targets = exact(b)
        n, m = len(b), len(self.rows[0])
        self.strength = [self.l2] * A.shape[1] + [Fraction(0)] * intercept
        G = [
            [
                sum(r[j] * r[k] for r in self.rows) / n + (self.strength[j] if j == k else 0)
                for k in range(m)
            ]
            for j in range(m)
        ]
        right = [
            sum(r[j] * t for r, t in zip(self.rows, self.targets, strict=True)) / n
            for j in range(m)
        ]
        self.x = solved(G, right)
        self.least = self.primal(self.x)

    def primal(self, x: list[Fraction]) -> Fraction:
        residuals = [
            sum(a * v for a, v in zip(row, x, strict=True)) - t
            for row, t in zip(self.rows, self.targets, strict=True)
        ]
        penalty = sum(s * v * v for s, v in zip(self.strength, x, strict=True)) / 2
        return sum(r * r for r in residuals) / (2 * len(residuals)) + penalty

    def check(self, x: np.ndarray, c: float, y: np.ndarray | None) -> dualgap.Certificate:
        """Certify and compare with the truth."""
        got = dualgap.certify(
            self.A, self.b, x, y, l2=float(self.l2), intercept=c, fit_intercept=self.intercept
        )
        point = exact(x) + ([Fraction(float(c))] if self.intercept else [])
        above = self.primal(point) - self.least
        if got.certified:
            assert above <= Fraction(got.gap), f"{float(above)} above P*: {got}"
            assert Fraction(got.dual) <= self.least, f"P* = {float(self.least)}: {got}"
            for j, bound in enumerate(got.coef_error):
                if np.isfinite(bound):
                    assert abs(self.x[j] - point[j]) <= Fraction(float(bound))
        return got


def attacks() -> Iterator[tuple[Exact, np.ndarray, float, np.ndarray | None]]:
    """Points at which floats say nothing of P(x) - P*."""
    # Predictions cancel, where y is near 0.
    row = Exact(np.array([[1e8, 1.0, -1e8]]), np.zeros(1), 1e-25, False)
    yield row, np.array([1e8, 0.5, 1e8]), 0.0, np.zeros(1)
    yield row, np.array([1e8, 0.5, 1e8]), 0.0, None
    rng = np.random.default_rng(0)
    a = rng.standard_normal(20)
    twins, x = np.column_stack((a, a)), np.array([2.0**60, 1024.0 - 2.0**60])
    yield Exact(twins, twins @ x, 1e-30, False), x, 0.0, None
    # Columns that nearly depend on each other.
    metres = np.column_stack((a, FEET * a))
    near = Exact(metres, rng.standard_normal(20), 0.0, False)
    for point in (np.zeros(2), np.array([1.0, -1.0 / FEET]), np.array(near.x, float)):
        yield near, point, 0.0, None
    # Ridge regression in one unknown, at the float nearest to the solution.
    for _ in range(60):
        one = Exact(rng.standard_normal((1, 1)), rng.standard_normal(1), rng.uniform(0, 1), False)
        yield one, np.array([float(one.x[0])]), 0.0, None
    # A large intercept, and a dual point whose sum is not quite 0.
    for shift in (1e6, 1e9, 1e12):
        A = rng.standard_normal((15, 2))
        far = Exact(A, shift + A @ np.ones(2) + rng.standard_normal(15), 1e-3, True)
        best = np.array([float(v) for v in far.x])
        y = A @ best[:2] + best[2] - far.b
        yield far, np.zeros(2), 0.0, y
        yield far, best[:2], best[2], y
        yield far, best[:2], best[2], None
    # Free columns whose coefficients are large.
    for bits in (20, 26):
        u, v = np.round(8.0 * rng.standard_normal((2, 25))) / 8.0
        A = np.column_stack((u, u + v / 2.0**bits))
        free = Exact(A, v + rng.standard_normal(25), 0.0, False)
        best = np.array([float(t) for t in free.x])
        yield free, best, 0.0, None
        yield free, np.zeros(2), 0.0, A @ best - free.b
    # Large residuals, whose last bits do not sum to 0, and points a little off in free directions.
    for intercept in (True, False):
        A = rng.standard_normal((12, 2))
        b = 1e8 * rng.standard_normal(12)
        F = np.column_stack((A, np.ones(12)))
        b -= F @ np.linalg.lstsq(F, b, rcond=None)[0]  # so that predictions are small
        large = Exact(A, b, 1e6 if intercept else 0.0, intercept)
        best = np.array([float(t) for t in large.x] + [0.0])
        z = [sum(p * v for p, v in zip(row, large.x, strict=True)) for row in large.rows]
        y = np.array([float(p - t) for p, t in zip(z, large.targets, strict=True)])
        for off in (1e-6, -1e-6, 1e-7, -1e-7):
            if intercept:
                yield large, best[:2], best[2] + off, y
            else:
                yield large, best[:2] + off, 0.0, y
                yield large, best[:2] + np.array([off, -off]), 0.0, y
    # Sums of many terms with a tiny l2.
    for l2 in (1e-8, 1e-12):
        A = rng.standard_normal((40, 3)) * np.array([1.0, 1e4, 1e-4])
        small = Exact(A, A @ np.ones(3) + rng.standard_normal(40), l2, False)
        best = np.array([float(t) for t in small.x])
        yield small, np.zeros(3), 0.0, A @ best - small.b
        yield small, best, 0.0, None


def inspect() -> int:
    return sum(one.check(x, c, y).certified for one, x, c, y in attacks())


def test_every_claim_is_true() -> None:
    assert inspect() >= 70  # and not by silence


def test_near_dependence_is_said_to_be_no_bound() -> None:
    near, points = None, []
    for one, x, _, _ in attacks():
        if one.A.shape == (20, 2) and one.l2 == 0:
            near = one
            points.append(one.check(x, 0.0, None))
    assert near is not None
    for got in points:
        assert got.certified or (got.kind in ("gap_in_box", "none") and got.reason)
        if got.kind == "gap_in_box":
            assert got.box.shape == (2,) and np.isfinite(got.gap)


right_sweep, right_moved = rows.swept, proof.real_point


def without(**fields: Callable) -> Callable:
    """A sweep that forgets some of its errors."""

    def wrong(*args: object, **options: object) -> object:
        found = right_sweep(*args, **options)
        return found._replace(**{name: change(found) for name, change in fields.items()})

    return wrong


def sharp_without_error(problem: object, x: np.ndarray, c: float) -> tuple:
    z = problem.base.matvec(x) + c
    return z, z


BUGS = {
    "z taken as exact": [
        (rows, "swept", without(z_error=lambda found: 0.0 * found.z)),
        (rows, "_sharp_predictions", sharp_without_error),
    ],
    "the sum of y taken for 0": [
        (feasibility, "_by_heavier_sign", lambda problem, rows: feasibility.NOT_AT_ALL),
        (proof, "with_more_digits", lambda problem, rows, at: None),
        (certifying, "ridge_certificate", lambda *args: None),  # which has a sum of its own
    ],
    "sums of a ridge regression taken as exact": [(ridge, "gam", lambda k: 0.0)],
    "F'Qy taken for 0": [
        (GramSpan, "proved_by_sums", lambda self, rho, error: 0.0),
        (GramSpan, "proved_distance", lambda self, high, low=None: 0.0),
    ],
    "the columns taken for independent": [
        (feasibility, "_distances", lambda problem, span, rows, at: np.asarray(0.0)),
        (Span, "root", property(lambda self: np.zeros(len(self.q)))),
    ],
    "sums of losses rounded down": [
        (quadratic, "_square_up", lambda v, w: float(v @ v)),
        (quadratic, "_root_up", lambda square: float(np.sqrt(square)) * (1 - 1e-15)),
    ],
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, wrong in BUGS[bug]:
        monkeypatch.setattr(owner, name, wrong)
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        inspect()


def test_many_classes_sum_to_what_their_floats_sum_to() -> None:
    """Of 200 small entries a float sum loses 100 last bits: the own entry has to have them."""
    K = 200
    y = np.full((1, K), 2.0**-54 * 0.99)
    y[0, 1], y[0, 0] = 0.5, 0.0
    problem = dualgap.Problem(
        np.ones((1, 1)), [0], loss=dualgap.losses.Multinomial(classes=K), l2=0.25
    )
    found = rows.dual_rows(problem, y)
    truth = -sum((Fraction(float(v)) for v in found.y[0, 1:]), Fraction(0))
    for sharp in (False, True):
        at = rows.enclosed(problem, np.zeros((1, K)), found, sharp=sharp)
        assert abs(truth - Fraction(float(at.S[0, 0]))) <= Fraction(float(at.S_error[0, 0]))


def test_a_weight_that_vanishes_in_its_share_proves_no_zeros() -> None:
    """q = w/W is 0 there, and the row is long: the solution is not 0 though the norm seems tiny."""
    A, w = np.array([[1e-100], [1e100], [0.0]]), np.array([1.0, 2.0**-1074, 1.5])
    b = np.array([0.0, 1e100, 0.0])
    slope = Fraction(2) ** -1074 * Fraction(1e100) ** 2 / Fraction(2.5)
    got = dualgap.certify(A, b, np.zeros(1), l1=float(slope) / 2, sample_weight=w)
    assert not got.support.any()


def test_more_digits_do_not_leave_the_domain() -> None:
    """A slope at the end of Huber's domain has no room for a change that points outwards."""
    large = float(2**20)
    A, b = np.array([[2.0], [1.0]]), np.array([-large, large])

    def primal(l1: Fraction, x: Fraction) -> Fraction:
        sizes = [
            abs(Fraction(float(a)) * x - Fraction(float(t)))
            for a, t in zip(A[:, 0], b, strict=True)
        ]
        return sum(s * s / 2 if s <= 1 else s - Fraction(1, 2) for s in sizes) / 2 + l1 * abs(x)

    for k in range(1, 60):
        l1 = 0.5 * (1.0 + k * 2.0**-52)
        for size in (2e-14, 1e-12):
            x = np.array([large * size])
            y = np.array([1.0, -(1.0 - 2.0**-53)])
            got = dualgap.certify(A, b, x, y, loss=dualgap.losses.Huber(threshold=1.0), l1=l1)
            above = primal(Fraction(l1), Fraction(float(x[0]))) - primal(Fraction(l1), Fraction(0))
            assert not got.certified or above <= Fraction(got.gap)
