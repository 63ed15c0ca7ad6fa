"""The certificate bounds P(x) - P* for any x and any y, and is tight at the optimum."""

from functools import cache

import numpy as np
import pytest

import dualgap

from .data import PENALTIES, case

each_penalty = pytest.mark.parametrize("penalty", PENALTIES)
each_intercept = pytest.mark.parametrize("fit_intercept", [False, True])
each_weights = pytest.mark.parametrize("weights", [False, True])


@cache
def reference(penalty, fit_intercept, weights, seed):
    """A problem and its minimum, evaluated in longdouble."""
    one = case(penalty, fit_intercept=fit_intercept, weights=weights, offset=weights, seed=seed)
    best = one.problem().solve(tol=1e-12, max_passes=20000)
    return one, best, one.primal(best.x, best.intercept)


def points(one, best, rng):
    """x near and far from the optimum, and y of every kind."""
    n, K = len(one.b), one.K
    e = np.eye(K)[one.b]
    for size in (0.0, 1e-8, 1e-4, 1e-2, 1.0, 30.0):
        x = best.x + size * rng.standard_normal(best.x.shape)
        c = best.intercept + size * rng.standard_normal(K) * one.fit_intercept
        for y in (
            None,
            best.y,
            np.zeros((n, K)),
            rng.standard_normal((n, K)),
            rng.dirichlet(np.full(K, 0.3), n) - e,
            best.y + 0.1 * size * rng.standard_normal((n, K)),
        ):
            yield x, c, y


@each_penalty
@each_intercept
@each_weights
@pytest.mark.parametrize("seed", range(3))
def test_gap_bounds_the_suboptimality(penalty, fit_intercept, weights, seed):
    one, best, least = reference(penalty, fit_intercept, weights, seed)
    problem = one.problem()
    certified = 0
    for x, c, y in points(one, best, np.random.default_rng(seed)):
        certificate = problem.certify(x, y, intercept=c if fit_intercept else 0.0)
        over = float(one.primal(x, c) - least)
        if certificate.certified:
            certified += 1
            assert certificate.gap >= over - 1e-15 and certificate.dual <= float(least)
        assert certificate.primal == pytest.approx(float(one.primal(x, c)), rel=1e-13)
    assert certified >= (8 if penalty == "none" else 36)


@each_penalty
@each_intercept
@each_weights
def test_tight_at_the_optimum(penalty, fit_intercept, weights):
    one, best, _ = reference(penalty, fit_intercept, weights, 0)
    assert best.status.converged
    certificate = one.problem().certify(best.x, intercept=best.intercept if fit_intercept else 0.0)
    kinds = {"none": "gap_projected_dual", "l1": "gap_scaled_dual"}
    kind = kinds.get(penalty, "gap_scaled_dual" if fit_intercept else "gap")
    assert certificate.certified and certificate.kind == kind
    assert certificate.gap <= 1e-5 if penalty == "l1" else certificate.gap <= 1e-9


@each_intercept
def test_dual_value_written_out(fit_intercept):
    """With l2 alone: D(y) = -sum q p log p - |A'Qy|^2/(2 l2), and primal - gap is that."""
    one, best, _ = reference("l2", fit_intercept, False, 1)
    y = best.y
    p = y + np.eye(one.K)[one.b]
    u = one.A.T @ y / len(y)
    D = -np.mean(np.sum(p * np.log(p), axis=1)) - np.sum(u * u) / (2 * one.l2)
    certificate = one.problem().certify(best.x, y, intercept=best.intercept)
    assert certificate.dual == pytest.approx(D, abs=1e-12 if not fit_intercept else 1e-9)


def test_beyond_the_limit_the_columns_alone_are_factorised(monkeypatch):
    one, best, least = reference("none", False, False, 0)
    monkeypatch.setattr("dualgap.dual_points.simplex.SIDE_LIMIT", 5)
    certificate = one.problem().certify(best.x)
    assert certificate.kind == "gap_projected_dual" and certificate.gap <= 1e-9
    assert certificate.dual <= least


def test_no_projection_where_the_columns_are_not_factorised(monkeypatch):
    one, best, _ = reference("none", False, False, 0)
    for limit in ("GRAM_LIMIT", "DENSE_LIMIT"):
        monkeypatch.setattr(f"dualgap.spans.span.{limit}", 1)
    certificate = one.problem().certify(best.x)
    assert not certificate.certified and certificate.kind == "none"


def test_twin_columns_without_regulariser():
    one = case("none", fit_intercept=True)
    one.A = np.column_stack((one.A, one.A[:, 0], np.ones(len(one.b))))
    result = one.problem().solve(tol=1e-9, max_passes=5000)
    assert result.status.converged and result.certificate.kind == "gap_projected_dual"


def test_certify_guesses_the_intercept_from_an_array():
    one, best, _ = reference("l2", True, False, 0)
    guessed = dualgap.certify(
        one.A, one.b, best.x, loss="multinomial", l2=one.l2, intercept=best.intercept
    )
    said = one.problem().certify(best.x, intercept=best.intercept)
    assert guessed == said
