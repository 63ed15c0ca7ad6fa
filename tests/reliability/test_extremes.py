"""Extreme but legal problems: a right and certified answer or a plain status; never NaN."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import Status

from .problems import ADAPTIVE, ALGORITHMS, LOSSES, regression, ridge, ridge_value, targets

A, B = regression()
STRENGTHS = ("loss", "l1", "l2", "penalty_weights", "sample_weight", "offset", "fit_intercept")

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
every_loss = pytest.mark.parametrize("loss", LOSSES)


def solved(A: Any, b: Any, *, converges: bool = True, **arguments: Any) -> dualgap.Result:
    """Solve, and check what must hold however extreme the problem is."""
    result = dualgap.solve(A, b, **arguments)
    assert result.status is not Status.DIVERGED
    assert np.isfinite(result.x).all()
    assert np.isfinite(result.y).all()
    assert math.isfinite(result.intercept)
    certificate = result.certificate
    for number in (certificate.primal, certificate.gap, certificate.relative_gap):
        assert number >= 0
    for column in ("primal", "dual", "gap", "strong_convexity", "tau", "theta"):
        assert not np.isnan(getattr(result.trace, column)).any(), column
    if converges:
        assert result.status is Status.CONVERGED
        assert certificate.certified
        assert certificate.relative_gap <= arguments.get("tol", 1e-6)
    again = {key: value for key, value in arguments.items() if key in STRENGTHS}
    again.setdefault("fit_intercept", False)
    again["intercept"] = result.intercept
    assert dualgap.certify(A, b, result.x, result.y, **again) == certificate
    return result


def ridge_solved(A: Any, b: Any, l2: float, **arguments: Any) -> dualgap.Result:
    """Solve least squares with l2, and compare with the normal equations."""
    result = solved(A, b, l2=l2, **arguments)
    dense = A.toarray() if sp.issparse(A) else A
    weights = arguments.get("sample_weight")
    exact = ridge(dense, b, l2, weights)
    least = ridge_value(dense, b, exact, l2, weights)
    above = ridge_value(dense, b, result.x, l2, weights) - least
    assert above <= result.certificate.gap + 1e-13 * least
    if l2 > 0:
        allowed = result.certificate.distance + 1e-12 * np.linalg.norm(exact)
        assert np.linalg.norm(result.x - exact) <= allowed
    return result


# ---- scale ----


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("what", ["A", "b", "sparse A"])
def test_scales_whose_squares_leave_float64_are_refused(what, scale):
    data = sp.csr_array(A * scale) if what == "sparse A" else A * scale if what == "A" else A
    b = B * scale if what == "b" else B
    name = what.removeprefix("sparse ")
    power = r"e\+150" if scale > 1 else "e-150"
    message = rf"^{name} has largest magnitude [\d.]+{power}; .* Rescale it to between 1e-100 and"
    with pytest.raises(ValueError, match=message):
        dualgap.Problem(data, b)


@every_algorithm
@pytest.mark.parametrize("scale", [1e90, 1e-90])
@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_A_in_extreme_units(algorithm, scale, l1):
    """x in units of 1/scale is the same problem."""
    usual = dualgap.solve(A, B, l1=l1, algorithm=algorithm, tol=1e-8)
    result = solved(A * scale, B, l1=l1 * scale, algorithm=algorithm, tol=1e-8)
    assert np.allclose(result.x * scale, usual.x, rtol=0, atol=1e-3)


@every_algorithm
@every_loss
def test_A_in_tiny_units(algorithm, loss):
    solved(A * 1e-90, targets(loss, B), loss=loss, l2=1e-181, algorithm=algorithm)


@every_algorithm
@every_loss
def test_A_in_huge_units_with_an_l2_of_no_account(algorithm, loss):
    """Condition 1e180: nothing converges, and nothing breaks."""
    arguments = {"loss": loss, "l2": 1.0, "algorithm": algorithm, "max_passes": 50}
    solved(A * 1e90, targets(loss, B), converges=False, **arguments)


@every_algorithm
@pytest.mark.parametrize("scale", [1e90, 1e-90])
def test_b_in_extreme_units(algorithm, scale):
    result = ridge_solved(A, B * scale, 0.1, algorithm=algorithm, tol=1e-10)
    assert np.allclose(result.x / scale, ridge(A, B, 0.1), rtol=0, atol=1e-4)


@every_algorithm
def test_A_and_b_in_huge_units(algorithm):
    result = solved(A * 1e90, B * 1e90, algorithm=algorithm, tol=1e-10)
    assert np.allclose(result.x, ridge(A, B, 0.0), rtol=0, atol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_denormal_entries(container):
    data, b = A.copy(), B.copy()
    data[0, 0], data[3, 2], b[5] = 5e-324, -1e-310, 5e-324
    ridge_solved(container(data), b, 0.1)


@every_algorithm
def test_columns_of_very_different_scale(algorithm):
    """Like cpuact's: slow for a first-order method, and the certificate must say so."""
    data = np.abs(A) * [1.0, 1e2, 1e4, 1e6, 10.0]
    result = ridge_solved(data, B, 0.1, algorithm=algorithm, converges=False, max_passes=200)
    assert result.status in (Status.CONVERGED, Status.PASS_LIMIT)


# ---- weights ----


@every_algorithm
@pytest.mark.parametrize("decades", [6, 12])
def test_sample_weights_over_many_decades(algorithm, decades):
    weights = 10.0 ** np.random.default_rng(1).uniform(0, decades, len(B))
    ridge_solved(A, B, 0.1, sample_weight=weights, algorithm=algorithm)


@pytest.mark.parametrize("decades", [6, 12])
@pytest.mark.parametrize("strength", ["l1", "l2"])
def test_penalty_weights_over_many_decades(strength, decades):
    weights = 10.0 ** np.linspace(-decades / 2, decades / 2, A.shape[1])
    solved(A, B, penalty_weights=weights, **{strength: 0.1})


@every_loss
@pytest.mark.parametrize("outlier", [1.0, 1e60])
def test_weight_zero_is_removal(loss, outlier):
    b = targets(loss, B)
    out = np.zeros(len(b), dtype=bool)
    out[::3] = True
    data = A.copy()
    data[out] *= outlier
    arguments = {"loss": loss, "l2": 0.1, "fit_intercept": True, "tol": 1e-8}
    weighted = solved(data, b, sample_weight=np.where(out, 0.0, 2.5), **arguments)
    removed = solved(A[~out], b[~out], **arguments)
    assert weighted.certificate.primal == pytest.approx(removed.certificate.primal, rel=1e-8)
    assert np.allclose(weighted.x, removed.x, rtol=0, atol=1e-4)


# ---- degenerate data ----


@every_algorithm
def test_zero_rows(algorithm):
    data = A.copy()
    data[:7] = 0.0
    ridge_solved(data, B, 0.1, algorithm=algorithm)


@every_algorithm
@pytest.mark.parametrize("strengths", [{"l2": 0.1}, {"l1": 0.1}], ids=str)
def test_zero_column_gets_no_coefficient(algorithm, strengths):
    data = A.copy()
    data[:, 2] = 0.0
    assert solved(data, B, algorithm=algorithm, **strengths).x[2] == 0.0


@every_loss
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("strengths", [{"l2": 0.1}, {"l1": 0.1}, {}], ids=str)
def test_all_zero_A(loss, fit_intercept, strengths):
    b = targets(loss, B)
    result = solved(0.0 * A, b, loss=loss, fit_intercept=fit_intercept, **strengths)
    assert not result.x.any()
    if loss == "squared" and fit_intercept:
        assert result.intercept == pytest.approx(b.mean(), abs=1e-3)


@every_algorithm
def test_all_zero_A_by_every_algorithm(algorithm):
    assert not solved(0.0 * A, B, l2=0.1, algorithm=algorithm).x.any()


@every_algorithm
def test_constant_column_beside_an_intercept(algorithm):
    data = A.copy()
    data[:, 0] = 3.0
    result = solved(data, B, l2=0.1, fit_intercept=True, algorithm=algorithm, tol=1e-9)
    assert result.x[0] == pytest.approx(0.0, abs=1e-3)  # the intercept does it for nothing


@every_algorithm
@pytest.mark.parametrize("strengths", [{"l2": 0.1}, {"l1": 0.05}, {"l1": 0.05, "l2": 0.01}, {}])
def test_duplicate_columns(algorithm, strengths):
    data = np.column_stack([A, A[:, 0]])
    result = solved(data, B, algorithm=algorithm, **strengths)
    if "l2" in strengths:
        assert result.x[0] == pytest.approx(result.x[-1], abs=1e-2)


@every_algorithm
@pytest.mark.parametrize("shape", [(1, 5), (40, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("l2", [0.1, 0.0])
def test_one_row_or_one_column(algorithm, shape, l2):
    data, b = A[: shape[0], : shape[1]], B[: shape[0]]
    if l2 > 0 or shape[1] == 1:
        ridge_solved(data, b, l2, algorithm=algorithm)
    else:  # interpolation
        assert np.allclose(data @ solved(data, b, algorithm=algorithm).x, b, rtol=1e-5)


@every_loss
def test_one_row_of_every_loss(loss):
    solved(
        A[:1], targets(loss, B)[:1], loss=loss, l2=0.1, fit_intercept=loss in ("squared", "huber")
    )


@every_algorithm
def test_fewer_rows_than_columns(algorithm):
    data, b = regression(10, 30)
    ridge_solved(data, b, 0.1, algorithm=algorithm)
    assert np.allclose(data @ solved(data, b, algorithm=algorithm).x, b, atol=1e-4)


@every_algorithm
@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("strengths", [{"l2": 0.1}, {"l1": 0.1}, {}], ids=str)
def test_b_of_zeros(algorithm, loss, strengths):
    result = solved(A, np.zeros(len(B)), loss=loss, algorithm=algorithm, **strengths)
    assert not result.x.any()
    assert result.certificate.gap == 0.0


@every_algorithm
@pytest.mark.parametrize("strengths", [{"l2": 0.1}, {}], ids=str)
def test_b_of_zeros_from_elsewhere(algorithm, strengths):
    """P* = 0 and P(0) = 0, so no gap is small relative to P; still no point is too small."""
    arguments = {"x0": np.ones(A.shape[1]), "algorithm": algorithm, **strengths}
    result = solved(A, np.zeros(len(B)), converges=False, **arguments)
    assert np.abs(result.x).max() < 1e-6


@every_algorithm
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge", "squared_hinge", "strong_logistic"])
@pytest.mark.parametrize("label", [1.0, -1.0])
def test_labels_of_one_class(algorithm, loss, label):
    solved(A, np.full(len(B), label), loss=loss, l2=0.1, algorithm=algorithm)


@every_algorithm
@pytest.mark.parametrize("loss", ["smoothed_hinge", "squared_hinge"])
def test_labels_of_one_class_with_an_intercept(algorithm, loss):
    b = np.ones(len(B))
    result = solved(A, b, loss=loss, l2=0.1, fit_intercept=True, algorithm=algorithm)
    assert result.certificate.primal <= 1e-12


# ---- strengths and limits ----


@every_loss
@pytest.mark.parametrize("l1", [1e6, 1e90])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_very_large_l1_gives_exactly_zero(loss, l1, fit_intercept):
    result = solved(A, targets(loss, B), loss=loss, l1=l1, fit_intercept=fit_intercept)
    assert not result.x.any()


@every_algorithm
@every_loss
def test_very_large_l2(algorithm, loss):
    result = solved(A, targets(loss, B), loss=loss, l2=1e12, algorithm=algorithm)
    assert np.abs(result.x).max() < 1e-9


@every_algorithm
@pytest.mark.parametrize("l2", [1e4, 1e6, 1e12])
def test_very_large_l2_with_an_intercept(algorithm, l2):
    """The easiest of problems: x is 0 but for rounding, and the intercept is the mean."""
    result = solved(A, B, l2=l2, fit_intercept=True, algorithm=algorithm, tol=1e-8)
    assert result.intercept == pytest.approx(B.mean(), abs=1e-3)


@pytest.mark.parametrize("algorithm", [*ADAPTIVE, "opt-bpd", "agd"])
@pytest.mark.parametrize("l2", [1e-6, 1e-12])
def test_small_l2(algorithm, l2):
    ridge_solved(A, B, l2, algorithm=algorithm)


@every_loss
@pytest.mark.parametrize("l2", [1e-30, 1e-300])
def test_l2_far_below_rounding(loss, l2):
    """D(y) = -inf but for rounding: a plain status, and no warning from `certify` either."""
    arguments = {"loss": loss, "l2": l2, "converges": False, "max_passes": 200}
    result = solved(A, targets(loss, B), **arguments)
    plain = dualgap.solve(A, targets(loss, B), loss=loss)
    assert result.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-4)


@every_algorithm
@every_loss
def test_no_passes(algorithm, loss):
    x0 = np.full(A.shape[1], 0.25)
    arguments = {"loss": loss, "l2": 0.1, "x0": x0, "algorithm": algorithm, "max_passes": 0}
    result = solved(A, targets(loss, B), converges=False, **arguments)
    assert result.status is Status.PASS_LIMIT
    assert result.certificate.certified
    assert np.array_equal(result.x, x0)
    assert result.passes == 0


@every_algorithm
@pytest.mark.parametrize("strengths", [{"l2": 0.1}, {"l1": 0.1}, {}], ids=str)
def test_huge_tol_ends_at_once(algorithm, strengths):
    result = solved(A, B, algorithm=algorithm, tol=1e300, **strengths)
    assert len(result.trace) == 2  # the start, and the certificate


def test_certify_of_far_away_points():
    """A bound that overflows is infinite or absent; it is no warning and not NaN."""
    x, y = np.full(A.shape[1], 1e90), np.full(len(B), 1e90)
    certify = partial(dualgap.certify, A, B)
    for certificate in (
        dualgap.certify(A * 1e90, B, x),
        certify(x, l2=1e99),
        certify(np.ones(A.shape[1]), y, l2=1e-99),
    ):
        # y = 0 proves P(x) - P* <= P(x), whatever y was given.
        assert certificate.gap > 1e90 or certificate.gap == pytest.approx(certificate.primal)
        numbers = (certificate.primal, certificate.dual, certificate.relative_gap)
        assert not np.isnan(numbers).any()


def test_certify_of_tiny_points():
    """Points that an iteration may well reach."""
    tiny = dualgap.certify(A, B, np.full(A.shape[1], 1e-120), np.full(len(B), 1e-120), l2=0.1)
    zero = dualgap.certify(A, B, np.zeros(A.shape[1]), np.zeros(len(B)), l2=0.1)
    assert tiny.gap == pytest.approx(zero.gap)
