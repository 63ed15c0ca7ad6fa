"""Points of a lasso path that share one run: within the tolerance each, and scikit-learn's errors.

The three shapes are those on which cross-validated lassos are timed, in small.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose

import dualgap
from dualgap.api import Problem
from dualgap.certificate import estimate_at
from dualgap.certificate import estimates as together
from dualgap.paths import _sets, _squared, _walk

SHAPES = [(40, 80), (90, 20), (25, 300)]


def data(n, d):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(n, 1))
    w = np.zeros(d)
    w[:5] = rng.normal(size=5)
    return X, X @ w + 2.0 + rng.normal(size=n), rng.integers(0, 3, n).astype(float)


@pytest.fixture
def solves(monkeypatch):
    """The solves that a walk leaves points to."""
    done = []
    solve = _walk.solve_problem
    monkeypatch.setattr(_walk, "solve_problem", lambda p, **o: done.append(p) or solve(p, **o))
    return done


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_point_is_within_its_tolerance(shape, ratio, intercept, weighted, layout, solves):
    X, y, weights = data(*shape)
    path = dualgap.path(
        sp.csr_array(X) if layout == "csr" else X, y, lambdas=25, l1_ratio=ratio, tol=1e-7,
        fit_intercept=intercept, sample_weight=weights if weighted else None,
    )  # fmt: skip
    assert path.converged and not solves
    for relative, certificate in zip(path.relative_gaps, path.certificates, strict=True):
        assert certificate.certified and certificate.relative_gap <= 1e-7
        assert relative <= 1e-7


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_errors_of_scikit_learn(shape, ratio, intercept, weighted, positive):
    X, y, weights = data(*shape)
    options = {"l1_ratio": ratio, "fit_intercept": intercept, "positive": positive}
    options |= {"alphas": 8, "eps": 0.02, "cv": 3}
    weights = weights if weighted else None
    ours = dualgap.ElasticNetCV(**options, tol=1e-9).fit(X, y, weights)
    expected = theirs.ElasticNetCV(**options, tol=1e-10, max_iter=100_000).fit(X, y, weights)
    assert_allclose(ours.mse_path_, expected.mse_path_, rtol=1e-3)
    assert ours.alpha_ == pytest.approx(expected.alpha_)
    assert (ours.gap_path_ <= 1e-9).all()


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_a_lasso_on_sparse_and_dense_data_is_the_same(layout):
    X, y, _ = data(40, 80)
    A = np.where(np.random.default_rng(0).random(X.shape) < 0.3, X, 0.0)
    options = {"alphas": 12, "cv": 4}
    ours = dualgap.LassoCV(**options, tol=1e-10).fit(sp.csc_array(A) if layout == "csr" else A, y)
    expected = theirs.LassoCV(**options, tol=1e-10, max_iter=100_000).fit(A, y)
    assert_allclose(ours.mse_path_, expected.mse_path_, rtol=1e-3)
    assert ours.alpha_ == pytest.approx(expected.alpha_)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_gaps_of_many_points_are_those_of_each(shape, intercept, offset):
    """Also far from the solution, at 0, without l1, and where rows do not count."""
    X, y, weights = data(*shape)
    rng = np.random.default_rng(1)
    problem = Problem(
        X, y, fit_intercept=intercept, sample_weight=weights,
        offset=rng.normal(size=len(y)) if offset else None,
        penalty_weights=rng.uniform(0.5, 2.0, X.shape[1]),
    )  # fmt: skip
    strengths = [(0.1, 0.0), (0.1, 0.2), (0.0, 0.3), (0.2, 0.0), (1e-3, 0.0), (0.05, 0.05)]
    points = rng.normal(size=(len(strengths), problem.size)) * 1e-2
    points[3] = 0.0
    for k in (0, 1):
        at = problem.with_strengths(*strengths[k])
        result = at.solve(tol=1e-9)
        points[k] = at.joined(result.x, result.intercept)
    judged, dual = together.estimates(problem, strengths, points)
    for pair, x, estimate, y in zip(strengths, points, judged, dual, strict=True):
        at = problem.with_strengths(*pair)
        alone = estimate_at(at, x)[0]
        assert estimate.certified
        assert estimate.primal == pytest.approx(alone.primal, rel=1e-12)
        assert estimate.gap == pytest.approx(alone.gap, rel=1e-6, abs=1e-13 * alone.primal)
        assert estimate.relative_gap == estimate.gap / at.scale(estimate.primal)
        found = dualgap.api.certify_point(at, x, y)
        assert found.gap <= estimate.gap * (1.0 + 1e-9)


def test_a_point_that_is_not_finite_has_no_gap():
    X, y, _ = data(40, 80)
    problem = Problem(X, y)
    points = np.zeros((2, problem.size))
    points[1, 3] = np.nan
    judged, _ = together.estimates(problem, [(0.1, 0.0), (0.1, 0.0)], points)
    assert judged[0].certified
    assert not judged[1].certified and judged[1].gap == np.inf


def test_points_in_several_lots_are_the_same(monkeypatch):
    X, y, _ = data(40, 80)
    options = {"lambdas": 15, "fit_intercept": True}
    at_once = dualgap.path(X, y, **options)
    monkeypatch.setattr(together, "ENTRIES", 500)
    in_lots = dualgap.path(X, y, **options)
    assert_allclose(in_lots.x, at_once.x, rtol=1e-12)
    assert_allclose(in_lots.relative_gaps, at_once.relative_gaps, atol=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_what_has_too_many_columns_for_sets_goes_on_otherwise(ratio, monkeypatch):
    X, y, _ = data(25, 300)
    options = {"lambdas": 12, "l1_ratio": ratio, "fit_intercept": True, "tol": 1e-9}
    before = dualgap.path(X, y, **options)
    monkeypatch.setattr(_sets, "COLUMNS_PER_ROW", 0.4)
    monkeypatch.setattr(_sets, "GRAMS", replace(_sets.GRAMS, small_side=0))
    after = dualgap.path(X, y, **options)
    assert len(after) == 12 and after.converged
    assert_allclose(after.x, before.x, atol=1e-3)


def test_sets_that_have_grown_too_large_are_chosen_anew():
    """Down and up again: what mattered once does not have to matter for ever."""
    X, y, _ = data(25, 300)
    problem = Problem(X, y, fit_intercept=True)
    model = _sets.Sets(problem)
    top = float(np.abs(model.v).max())
    sizes = []
    for share in (0.5, 0.05, 0.7):
        model.solve(problem, share * top, 0.0, 1e-8)
        sizes.append(model.at.size)
        centred = X[:, model.at] - X[:, model.at].mean(axis=0)
        assert_allclose(model.G, centred.T @ centred / len(y), atol=1e-12)
    assert sizes[1] > 2 * sizes[0] and sizes[2] < sizes[1]


def test_which_paths_are_walked_on_gram_matrices():
    lasso = [(v, 0.0) for v in np.geomspace(1.0, 0.1, 10)]
    small, large = data(40, 80), np.random.default_rng(0).normal(size=(1500, 2000))
    assert _squared.pays(Problem(*small[:2]), lasso)
    assert not _squared.pays(Problem(large, large[:, 0]), lasso)
