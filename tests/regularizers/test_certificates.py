"""Certificates with bounds are never below the truth, and near it at the optimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.dual_points import intervals as dual_intervals
from dualgap.regularizers import Box, NonNegative
from dualgap.regularizers.wrappers import extended

from . import exact, outside

INF = np.inf
BOXES = {
    "nonnegative": NonNegative(),
    "nonnegative l1": NonNegative(0.125),
    "nonnegative l2": NonNegative(0.0, 0.25),
    "nonnegative net": NonNegative(0.0625, 0.5),
    "box": Box(-0.25, 0.5),
    "box l1": Box(-0.25, 0.5, 0.125),
    "off 0": Box(0.5, 2.0, 0.125, 0.25),
    "from below": Box(0.25, INF),
    "from above": Box(-INF, 0.25, 0.0625),
    "mixed": Box([0.0, -INF, -1.0], [INF, INF, 1.0], [0.0, 0.125, 0.0], [0.0, 0.0, 0.5]),
}
each_box = pytest.mark.parametrize("g", BOXES.values(), ids=BOXES.keys())
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])


def data(seed=0, n=9, d=3, scale=1.0):
    rng = np.random.default_rng(seed)
    A = scale * rng.standard_normal((n, d))
    return A, A @ rng.standard_normal(d) / scale + 0.3 + rng.standard_normal(n)


@each_intercept
@each_box
def test_no_gap_is_below_the_truth(g, intercept):
    """Truth in rational numbers, at points from far away to the last bit of the optimum."""
    for seed in range(4):
        A, b = data(seed)
        whole = extended(g, 3)
        best = exact.minimum(A, b, whole, intercept)
        solution = dualgap.solve(
            A, b, regularizer=g, fit_intercept=intercept, tol=1e-15, max_passes=500
        )
        rng = np.random.default_rng(seed)
        for k in (0, 1, 3, 6, 9, 12, 15, 17):
            x = whole.nearest(solution.x + 10.0**-k * rng.standard_normal(3))
            c = solution.intercept + intercept * 10.0**-k * rng.standard_normal()
            truth = exact.value(A, b, whole, x, c) - best
            assert truth >= 0
            for y in (None, solution.y, solution.y + 10.0**-k * rng.standard_normal(9)):
                certificate = dualgap.certify(
                    A, b, x, y, regularizer=g, intercept=c, fit_intercept=intercept
                )
                assert certificate.certified
                assert Fraction(certificate.gap) >= truth
                assert Fraction(certificate.dual) <= best


@each_intercept
@each_box
@pytest.mark.parametrize("algorithm", ["working-set", "ada-bpd"])
def test_the_gap_at_the_optimum_is_rounding(g, intercept, algorithm):
    A, b = data(7)
    tol = 1e-12 if algorithm == "working-set" else 1e-9
    result = dualgap.solve(
        A, b, regularizer=g, fit_intercept=intercept, algorithm=algorithm, tol=tol, max_passes=9999
    )
    assert result.status is dualgap.Status.CONVERGED
    truth = exact.value(A, b, extended(g, 3), result.x, result.intercept)
    truth -= exact.minimum(A, b, extended(g, 3), intercept)
    assert 0 <= truth <= Fraction(result.certificate.gap)
    assert result.certificate.relative_gap <= tol


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e5])
def test_units_do_not_matter(scale):
    A, b = data(3, scale=scale)
    g = NonNegative(0.01 * scale)
    result = dualgap.solve(A, b, regularizer=g, tol=1e-10)
    assert result.status is dualgap.Status.CONVERGED
    truth = exact.value(A, b, extended(g, 3), result.x) - exact.minimum(A, b, extended(g, 3))
    assert 0 <= truth <= Fraction(result.certificate.gap)


@pytest.mark.parametrize("loss", ["logistic", "huber", "smoothed_hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["nonnegative l1", "nonnegative net", "box", "off 0", "mixed"])
@each_intercept
def test_no_other_loss_is_certified_below_a_better_point(loss, name, intercept):
    """P(x) - P(x') <= gap(x) for every x', of which the best known is taken."""
    A, b = data(5, n=30)
    b = b if loss == "huber" else np.where(b > 0, 1.0, -1.0)
    problem = dualgap.Problem(A, b, loss=loss, regularizer=BOXES[name], fit_intercept=intercept)
    found = [problem.solve(algorithm=a, tol=1e-11, max_passes=20000) for a in ("auto", "adf-bpd")]
    assert all(result.status.converged for result in found)
    lowest = min(found, key=lambda result: result.certificate.primal)
    rng = np.random.default_rng(0)
    for k in (0, 1, 2, 4, 6, 9, 13):
        x = problem.penalty.nearest(lowest.x + 10.0**-k * rng.standard_normal(3))
        certificate = problem.certify(x, intercept=lowest.intercept)
        worse = certificate.primal - lowest.certificate.primal
        assert certificate.certified
        assert certificate.gap >= worse - 1e-14 * certificate.primal
        assert certificate.dual <= lowest.certificate.primal
    for result in found:
        apart = np.linalg.norm(result.x - lowest.x)
        assert apart <= result.certificate.distance + lowest.certificate.distance


def test_a_certificate_is_not_much_more_than_the_truth():
    A, b = data(1, n=40)
    for g in BOXES.values():
        best = dualgap.solve(A, b, regularizer=g, tol=1e-13)
        for k in (2, 4, 6):
            x = extended(g, 3).nearest(best.x + 10.0**-k)
            certificate = dualgap.certify(A, b, x, regularizer=g)
            # Scaled dual points are as far from optimal as x is, not as P(x) is.
            assert certificate.gap <= 50.0 * 10.0**-k


# ---- x outside of the domain ----


@pytest.mark.parametrize("g", [NonNegative(0.1), Box(-1.0, 1.0), outside.Positive()], ids=repr)
def test_a_point_outside_has_no_certificate(g):
    A, b = data()
    x = np.array([0.5, -2.0, 0.5])
    certificate = dualgap.certify(A, b, x, regularizer=g)
    assert certificate.primal == INF == certificate.gap
    assert certificate.kind == "none" and not certificate.certified


def test_the_least_bit_outside_is_outside():
    A, b = data()
    x = np.array([0.5, -5e-324, 0.5])
    assert not dualgap.certify(A, b, x, regularizer=NonNegative(0.1)).certified
    assert dualgap.certify(A, b, np.abs(x), regularizer=NonNegative(0.1)).certified


# ---- one-sided dual intervals that no scaling reaches ----


def test_columns_that_oppose_each_other_leave_the_weak_bound():
    """Of a and -a with x >= 0 a dual point needs a'Qy = 0: no float has it, y = 0 does."""
    a = np.array([1.0, 2.0, -1.0, 0.3])
    certificate = dualgap.certify(
        np.column_stack((a, -a)), [1.0, 0.0, 2.0, 1.0], [0.1, 0.0], regularizer=NonNegative()
    )
    assert certificate.certified and certificate.gap >= 0.0
    assert certificate.gap == pytest.approx(certificate.primal, rel=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    A = np.abs(rng.standard_normal((20, 60)))
    b = A @ np.maximum(rng.standard_normal(60), 0.0) + rng.standard_normal(20)
    for design in (A, sp.csr_array(A), sp.csc_array(A)):
        result = dualgap.solve(design, -b, regularizer=NonNegative(), tol=1e-8)
        assert result.status is dualgap.Status.CONVERGED


# ---- users' own ----


@pytest.mark.parametrize("g", [outside.Positive(0.1), outside.Smooth(0.2)], ids=repr)
@pytest.mark.parametrize(
    "algorithm", ["auto", "bpd", "opt-bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd"]
)
@each_intercept
def test_a_regulariser_from_outside_is_served_and_certified(g, algorithm, intercept):
    A, b = data(2, n=30)
    result = dualgap.solve(
        A, b, regularizer=g, fit_intercept=intercept, algorithm=algorithm, tol=1e-8, max_passes=9999
    )
    # It gives no enclosures, so that its gap is one in floats, and said not to be proved.
    assert result.status is dualgap.Status.ESTIMATED
    assert result.certificate.kind == "float" and "no enclosures" in result.certificate.reason
    assert result.certificate.relative_gap <= 1e-8
    assert result.algorithm == ("ada-bpd" if algorithm == "auto" else algorithm)
    if isinstance(g, outside.Positive):
        ours = dualgap.solve(A, b, regularizer=NonNegative(0.1), fit_intercept=intercept, tol=1e-12)
        assert result.certificate.primal - ours.certificate.primal <= result.certificate.gap
        assert ours.certificate.dual <= result.certificate.primal


@each_intercept
def test_it_goes_with_classes(intercept):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 4))
    b = np.arange(60) % 3
    options = {"loss": "multinomial", "fit_intercept": intercept, "tol": 1e-7, "max_passes": 9999}
    one = dualgap.solve(A, b, regularizer=outside.Positive(0.02), **options)
    two = dualgap.solve(A, b, regularizer=NonNegative(0.02), **options)
    assert one.status is dualgap.Status.ESTIMATED and two.status is dualgap.Status.CONVERGED
    assert one.x.shape == (4, 3) and (one.x >= 0).all() and (two.x >= 0).all()
    assert abs(one.certificate.primal - two.certificate.primal) <= max(
        one.certificate.gap, two.certificate.gap
    )


@each_box
def test_rounding_is_in_the_gap(g):
    """Columns whose products cancel: A'Qy is known to 1e-8 of what it is held against."""
    for seed in range(6):
        A, b = data(seed)
        A[:, 0] += 1e8
        A[:, 1] = 1e8 * (1.0 + 1e-7 * A[:, 1])
        whole = extended(g, 3)
        best = exact.minimum(A, b, whole)
        rng = np.random.default_rng(seed)
        for k in (8, 10, 12, 14, 16):
            x = whole.nearest(10.0**-k * rng.standard_normal(3))
            truth = exact.value(A, b, whole, x) - best
            for y in (None, rng.standard_normal(9)):
                certificate = dualgap.certify(A, b, x, y, regularizer=g)
                assert Fraction(certificate.gap) >= truth
                assert Fraction(certificate.dual) <= best


@pytest.mark.parametrize(
    "g", [*BOXES.values(), outside.Positive(), outside.Smooth(0.3)], ids=[*BOXES, "own", "smooth"]
)
def test_the_terms_bound_every_s_within_the_error(g):
    """Law: convex in s, so the ends of the interval are enough; nothing between them is more."""
    A, b = data()
    problem = dualgap.Problem(A, b, regularizer=g)
    whole, rng = problem.regularizer, np.random.default_rng(0)
    for size in (1e-12, 1e-6, 1e-2, 1.0):
        x = whole.nearest(rng.standard_normal(3))
        s = np.clip(rng.standard_normal(3), whole.dual_low, whole.dual_high)
        error = size * rng.random(3)
        most, bare = dual_intervals.terms(problem, x, s, error)
        assert most >= bare == pytest.approx(float(whole.fenchel_gap(x, s).sum()))
        for _ in range(50):
            near = s + error * rng.uniform(-1.0, 1.0, 3)
            near = np.clip(near, whole.dual_low, whole.dual_high)
            assert float(whole.fenchel_gap(x, near).sum()) <= most


@pytest.mark.parametrize("g", [*BOXES.values(), outside.Positive()], ids=[*BOXES, "own"])
def test_scaled_points_are_inside_whatever_the_error(g):
    A, b = data()
    problem = dualgap.Problem(A, b, regularizer=g)
    whole, rng = problem.regularizer, np.random.default_rng(0)
    for _ in range(20):
        y = rng.standard_normal(9)
        u, error = problem.adjoint(y), 0.1 * rng.random(3)
        t, plain = dual_intervals.scales(problem, y, u, error)
        assert 0.0 <= t <= plain
        for end in (-error, error):
            s = -t * (u + end)
            assert (s >= whole.dual_low - 1e-15).all() and (s <= whole.dual_high + 1e-15).all()


def test_rounding_that_makes_nothing_of_a_dual_point_is_a_number():
    """Columns of 1e6 and a one-sided interval: where y = 0 is all that is left, nothing is nan."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n, d = rng.integers(3, 9), rng.integers(1, 4)
        A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(4, 7, d)
        b = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        problem = dualgap.Problem(
            A, b, loss="logistic", regularizer=NonNegative(), fit_intercept=True
        )
        x = np.abs(rng.standard_normal(d)) / 1e6
        for point in (x, np.zeros(d)):
            got = problem.certify(point, intercept=0.1)
            assert got.gap >= 0.0 and not np.isnan([got.gap, got.relative_gap]).any()
