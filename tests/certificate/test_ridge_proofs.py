"""Proofs of many ridge regressions at once, held against exact rationals, and fits with them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dualgap
from dualgap.api import Problem
from dualgap.certificate import ridge
from dualgap.certificate.ridge import is_ridge, ridge_proofs
from dualgap.driver.together import solve_together
from dualgap.linalg.ridge import RidgeSystem

SHAPES = [(7, 3), (4, 6)]
TARGETS = 3


def exact(values):
    return [Fraction(float(v)) for v in values]


def solved(H, g):
    """H^(-1) g for a positive definite H of fractions."""
    rows = [[*row, value] for row, value in zip(H, g, strict=True)]
    for i in range(len(rows)):
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i]
                rows[k] = [u - factor * v for u, v in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


class Exact:
    """P of one target in rationals, and its minimum."""

    def __init__(self, A, b, l2, weights, intercept):
        w = exact(np.ones(len(b)) if weights is None else weights)
        self.q = [v / sum(w) for v in w]
        self.A = [exact(row) + ([Fraction(1)] if intercept else []) for row in A]
        self.b, self.l2, self.d = exact(b), Fraction(float(l2)), len(A[0])
        size = range(len(self.A[0]))
        H = [
            [sum(q * r[j] * r[k] for q, r in zip(self.q, self.A, strict=True)) for k in size]
            for j in size
        ]
        for j in range(self.d):
            H[j][j] += self.l2
        g = [
            sum(q * r[j] * t for q, r, t in zip(self.q, self.A, self.b, strict=True)) for j in size
        ]
        self.least = self.at(solved(H, g))

    def at(self, x):
        z = [sum(a * v for a, v in zip(row, x, strict=True)) for row in self.A]
        loss = sum(q * (s - t) ** 2 for q, s, t in zip(self.q, z, self.b, strict=True)) / 2
        return loss + self.l2 / 2 * sum(v * v for v in x[: self.d])


def data(shape, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 3, shape[1]) + rng.normal()
    return rng, A, rng.normal(size=(shape[0], TARGETS)) + 2.0


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_gaps_are_at_least_the_real_ones_and_hardly_more(shape, intercept, weighted, off):
    """Three ways to the gradient; where it is not 0 they agree to what rounding is next to it."""
    rng, A, B = data(shape, seed=len(shape) + intercept)
    weights = rng.integers(0, 4, shape[0]) + 0.1 * (np.arange(shape[0]) % 2) if weighted else None
    l2 = np.array([0.3, 1e-3, 5.0])
    problem = Problem(A, B[:, 0], l2=1.0, fit_intercept=intercept, sample_weight=weights)
    assert is_ridge(problem)
    x, c, left, a = RidgeSystem(A, problem.q, intercept).solve(B, l2)
    ways = [{"left": left, "a": a}, {}]
    if off:
        x = x * (1.0 + off)
        c = problem.q @ (B - A @ x) if intercept else c
        y = A @ x + c - B + off * rng.normal(size=B.shape)
        ways = [{}, {"y": y - problem.q @ y if intercept else y}]
    for way in ways:
        proofs = ridge_proofs(problem, B, l2, x, c, **way)
        certificates = proofs.certificates(shape[1])
        for k, certificate in enumerate(certificates):
            truth = Exact(A, B[:, k], l2[k], weights, intercept)
            point = exact(x[:, k]) + (exact(c[k : k + 1]) if intercept else [])
            primal = truth.at(point)
            assert primal - truth.least <= certificate.gap
            assert certificate.dual <= truth.least
            assert proofs.primal_low[k] <= primal
            assert certificate.primal == pytest.approx(float(primal), rel=1e-12)
            assert certificate.gap / certificate.primal <= certificate.relative_gap <= np.inf
            if not off:
                assert certificate.relative_gap <= 1e-9
            elif off == 1e-3:  # rounding is no part of it that matters
                assert certificate.gap <= proofs.bare[k] * (1.0 + 1e-6)


def test_a_residual_dual_point_gives_the_bound_of_the_definition():
    """certify takes the same way, so that a fit and its certificate can be compared to the bit."""
    _, A, B = data((40, 5), seed=4)
    problem = Problem(A, B[:, 0], l2=0.01, fit_intercept=True)
    result = problem.solve(tol=1e-9)
    again = problem.certify(result.x, result.y, intercept=result.intercept)
    assert again == result.certificate and again.certified


@pytest.mark.parametrize("counted", [True, False])
def test_a_dual_point_whose_sum_is_not_0(counted, monkeypatch):
    """With columns of mean 0 and an intercept off by t, P is t^2/2 too large and g is 0."""
    A = np.array([[1.0, 2.0], [-1.0, 0.0], [2.0, -1.0], [-2.0, -1.0]])
    B = np.array([[1.0], [2.0], [-1.0], [4.0]])
    problem = Problem(A, B[:, 0], l2=0.5, fit_intercept=True)
    x, c, _, _ = RidgeSystem(A, problem.q, True).solve(B, np.array([0.5]))
    if not counted:
        monkeypatch.setattr(ridge, "_off_balance", lambda problem, y, off: np.zeros(1))
    gap = ridge_proofs(problem, B, np.array([0.5]), x, c + 0.25).gap[0]
    assert (gap >= 0.25**2 / 2.0) == counted


@pytest.mark.parametrize("unsaid", ["zero", "fitted", "nan", "huge", "light"])
def test_nothing_is_said_where_floats_cannot_tell(unsaid):
    rng, A, B = data((7, 3), seed=9)
    weights, x, c = np.ones(7), rng.normal(size=(3, TARGETS)), np.zeros(TARGETS)
    if unsaid == "zero":
        B[:] = x[:] = 0.0
    elif unsaid == "fitted":
        B, x = A @ x, x * (1.0 + 1e-13)
    elif unsaid == "nan":
        x[0] = np.nan
    elif unsaid == "huge":
        x[0] = 1e150
    else:
        weights[0] = 1e-60
    problem = Problem(A, np.ones(7), l2=1e-9, fit_intercept=True, sample_weight=weights)
    if unsaid == "light":
        assert not is_ridge(problem)
        return
    assert (ridge_proofs(problem, B, np.full(TARGETS, 1e-9), x, c).relative == np.inf).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(60, 9), (15, 40)])
def test_targets_together_are_those_one_by_one(shape, intercept, weighted):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=shape) + 1.0, rng.normal(size=(shape[0], 6))
    weights = rng.integers(0, 3, shape[0]).astype(float) if weighted else None
    alpha = np.geomspace(0.1, 10.0, 6)
    both = dualgap.Ridge(alpha, fit_intercept=intercept, tol=1e-10).fit(X, Y, weights)
    assert len(both.certificates_) == 6
    assert both.certificate_ == max(both.certificates_, key=lambda c: c.relative_gap)
    for k in range(6):
        alone = dualgap.Ridge(alpha[k], fit_intercept=intercept, tol=1e-10, solver="agd")
        alone.fit(X, Y[:, k], weights)
        assert both.certificates_[k].certified and both.certificates_[k].relative_gap <= 1e-10
        np.testing.assert_allclose(both.coef_[k], alone.coef_, atol=2e-5)
        np.testing.assert_allclose(both.dual_coef_[:, k], alone.dual_coef_, atol=2e-4)
        problem = Problem(
            X, Y[:, k], l2=alpha[k] / (weights.sum() if weighted else shape[0]),
            fit_intercept=intercept, sample_weight=weights,
        )  # fmt: skip
        c = both.intercept_[k] if intercept else 0.0
        again = problem.certify(both.coef_[k], both.dual_coef_[:, k], intercept=c)
        assert again.primal == pytest.approx(both.certificates_[k].primal, rel=1e-12)
        assert again.relative_gap <= 1e-10


def test_columns_far_from_0_are_left_to_runs_that_know_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) + np.array([0.0, 1e9, 0.0, 0.0])
    problem = Problem(X, X[:, 0], l2=0.1, fit_intercept=True)
    assert solve_together(problem, X[:, :2] * 1e-9, np.full(2, 0.1), 1e-6) is None
