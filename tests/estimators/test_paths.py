"""Paths: every point certified, and the same as solving each alone."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as theirs

import dualgap
from dualgap.paths import largest_lambda
from dualgap.problem import Problem
from tests.estimators.data import labels, regression

X, Y, WEIGHTS = regression()
CODES = np.unique(labels(3), return_inverse=True)[1]
SIGNS = np.where(labels(2) == "ant", -1.0, 1.0)
CASES = [
    ("squared", Y, 1.0),
    ("squared", Y, 0.3),
    ("logistic", SIGNS, 1.0),
    ("multinomial", CODES, 0.5),
    ("smoothed_hinge", SIGNS, 1.0),
    ("huber", Y, 0.5),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "b", "ratio"), CASES)
def test_every_point_is_certified(loss, b, ratio, intercept):
    options = {"loss": loss, "fit_intercept": intercept, "sample_weight": WEIGHTS}
    path = dualgap.path(X, b, lambdas=8, l1_ratio=ratio, tol=1e-8, max_passes=10_000, **options)
    assert len(path) == 8
    assert path.converged
    assert "8 converged" in repr(path)
    assert (np.diff(path.lambdas) < 0).all()
    for k, strength in enumerate(path.lambdas):
        intercept = path.intercepts[k] if path.intercepts.ndim == 2 else float(path.intercepts[k])
        strengths = {"l1": strength * ratio, "l2": strength * (1 - ratio)}
        again = dualgap.certify(
            X, b, path.x[k], path.y[k], intercept=intercept, **strengths, **options
        )
        assert again == path.certificates[k]
        assert again.relative_gap <= 1e-8


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "b", "ratio"), CASES)
def test_the_path_begins_where_everything_is_0(loss, b, ratio, intercept):
    options = {"loss": loss, "fit_intercept": intercept, "sample_weight": WEIGHTS}
    top = largest_lambda(Problem(X, b, **options))
    zero = dualgap.solve(X, b, l1=1.001 * top, tol=1e-12, max_passes=20_000, **options)
    some = dualgap.solve(X, b, l1=0.99 * top, tol=1e-12, max_passes=20_000, **options)
    assert not zero.x.any()
    assert some.x.any()


def test_the_same_as_scikit_learns_path():
    lambdas, coefs, _ = theirs.lasso_path(X, Y, alphas=20, tol=1e-10)
    path = dualgap.path(X, Y, lambdas=20, tol=1e-12, max_passes=20_000)
    np.testing.assert_allclose(path.lambdas, lambdas, rtol=1e-12)
    np.testing.assert_allclose(path.x.T, coefs, atol=1e-5)


def test_a_path_takes_fewer_passes_than_its_points_alone():
    options = {"algorithm": "adf-bpd", "tol": 1e-8}
    path = dualgap.path(X, Y, lambdas=np.geomspace(1, 1e-3, 30), l1_ratio=0, **options)
    alone = sum(dualgap.solve(X, Y, l2=v, **options).passes for v in path.lambdas)
    assert path.passes.sum() < 0.6 * alone


def test_given_lambdas_are_sorted_and_0_is_allowed():
    path = dualgap.path(X, Y, lambdas=[0.0, 1.0, 0.1], tol=1e-10)
    assert path.lambdas.tolist() == [1.0, 0.1, 0.0]
    expected = theirs.LinearRegression(fit_intercept=False).fit(X, Y).coef_
    np.testing.assert_allclose(path.x[-1], expected, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambdas": 0}, "lambdas must be an integer of at least 1"),
        ({"lambdas": []}, "lambdas must be a number of points or a list"),
        ({"lambdas": [-1.0]}, "lambdas must not be negative"),
        ({"l1_ratio": 0.0}, "give the lambdas"),
        ({"l1_ratio": 1.5}, "l1_ratio must be at most 1"),
        ({"eps": 0.0}, "eps must be more than 0"),
        ({"x0": np.zeros(6)}, "x0 belongs to one solve"),
        ({"penalty_weights": [0, 1, 1, 1, 1, 1]}, "penalty_weights leave a column free"),
        ({"tol": -1.0}, "tol must be more than 0"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        dualgap.path(X, Y, **options)


def test_replace_shares_the_constants_and_nothing_else():
    problem = Problem(X, Y, l2=0.1, fit_intercept=True, sample_weight=WEIGHTS)
    first = problem.solve(tol=1e-9)
    other = problem.replace(b=2 * Y, l1=0.05, l2=0.0)
    assert other.constants is problem.constants
    assert (problem.l1, problem.l2) == (0.0, 0.1)
    fresh = Problem(X, 2 * Y, l1=0.05, fit_intercept=True, sample_weight=WEIGHTS)
    a, b = other.solve(tol=1e-9), fresh.solve(tol=1e-9)
    assert a.certificate == b.certificate
    assert np.array_equal(problem.solve(tol=1e-9).x, first.x)
    with pytest.raises(ValueError, match="make a new Problem"):
        problem.replace(b=CODES, loss="multinomial")


def test_no_extrapolation_from_points_that_lie_close():
    """Strides of very different length would magnify what is left of errors."""
    from dualgap.paths import _shares

    even = _shares([3.0, 2.0, 1.0], 0.0)
    np.testing.assert_allclose(even, [1.0, -3.0, 3.0])
    for at in ([0.001, 0.0, -1.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]):
        assert _shares(at, -2.0)[0] == 0.0
        assert np.abs(_shares(at, -2.0)).sum() <= 4.0
        assert sum(_shares(at, -2.0)) == pytest.approx(1.0)
