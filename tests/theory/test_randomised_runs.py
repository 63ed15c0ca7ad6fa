"""Whole runs of the SPDC family: certified from default settings, and adaptation that costs little.

Seeds are fixed, and a pass of a randomised algorithm is a count, so nothing here is timed.
"""

from __future__ import annotations

import numpy as np
import pytest

from dualgap import Problem
from dualgap.adaptation import Robust, Simple
from dualgap.algorithms import RANDOMISED, SPDC
from dualgap.status import Status

NAMES = [cls.name for cls in RANDOMISED if issubclass(cls, SPDC)]


def problem(loss="squared", n=200, d=10, *, decay=0.0, noise=1.0, spread=0.0, **more):
    """Gaussian rows: columns of length 1 to 10^-decay, rotated; rows scaled by 10^(+-spread)."""
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = rng.standard_normal((n, d)) * np.geomspace(1.0, 10.0**-decay, d) @ rotation
    A *= 10.0 ** rng.uniform(-spread, spread, n)[:, None]
    z = A @ rng.standard_normal(d) + noise * rng.standard_normal(n)
    return Problem(A, z if loss in ("squared", "huber") else np.sign(z), loss=loss, **more)


REGULARIZERS = {"l2": {"l2": 1e-2}, "elastic net": {"l1": 1e-2, "l2": 1e-3}, "none": {}}
LOSSES = {
    "squared": lambda z, b: (z - b) ** 2 / 2,
    "logistic": lambda z, b: np.logaddexp(0, -b * z),
    "smoothed_hinge": lambda z, b: np.where(
        b * z <= 0, 0.5 - b * z, np.maximum(1 - b * z, 0) ** 2 / 2
    ),
}


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_default_settings_reach_a_certified_tol(name, loss, regularizer):
    p = problem(loss, n=100, noise=3.0, **REGULARIZERS[regularizer])
    result = p.solve(algorithm=name)
    assert result.status is Status.CONVERGED
    again = p.certify(result.x, result.y)
    assert again.certified
    # P by the formulas of section 1, to the rounding of a sum of 100 terms.
    x, g = result.x, p.regularizer
    P = LOSSES[loss](p.design.A @ x, p.b).mean() + (g.l1 * np.abs(x) + g.l2 / 2 * x**2).sum()
    assert result.certificate.primal == pytest.approx(P, rel=1e-12)
    assert again.gap <= 1e-6 * P
    # No other algorithm finds a point below the lower bound.
    batch = p.solve(algorithm="adf-bpd", tol=1e-9)
    assert batch.certificate.primal >= P - again.gap


PROBLEMS = {
    "well conditioned, strong l2": {"l2": 1.0},
    "well conditioned, l2": {"l2": 1e-2},
    "well conditioned, weak l2": {"l2": 1e-5},
    "badly conditioned, strong l2": {"decay": 2.0, "l2": 0.1},
    "badly conditioned, l2": {"decay": 2.0, "l2": 1e-3},
    "badly conditioned, weak l2": {"decay": 2.0, "l2": 1e-6},
    "badly conditioned, none": {"decay": 1.0},
    "very strong l2": {"l2": 100.0},
    "few rows, strong l2": {"n": 40, "d": 80, "l2": 10.0},
    "few rows, weak l2": {"n": 40, "d": 80, "l2": 1e-4},
    "uneven rows": {"spread": 1.0, "l2": 1e-2},
    "elastic net": {"d": 30, "l1": 0.05, "l2": 1e-3},
    "lasso, most coordinates 0": {"l1": 1.0},
    "lasso, all coordinates 0": {"l1": 10.0},
    "intercept": {"l2": 1e-2, "fit_intercept": True},
    "huber, weak l2": {"loss": "huber", "l2": 1e-4},
    "logistic, strong l2": {"loss": "logistic", "l2": 1.0},
    "logistic, badly conditioned, weak l2": {"loss": "logistic", "decay": 2.0, "l2": 1e-5},
    "logistic, few rows": {"loss": "logistic", "n": 40, "d": 80, "l2": 1e-2},
    "smoothed hinge, badly conditioned": {"loss": "smoothed_hinge", "decay": 2.0, "l2": 1e-4},
}


@pytest.mark.parametrize("which", PROBLEMS)
def test_adaptation_costs_at_most_half_as_much_again(which):
    """Passes of the iterations, without checks and certificates; 1000 at most, the default."""
    p = problem(**PROBLEMS[which])
    for adaptive, plain in (("ada-spdc", "spdc"), ("adf-spdc", "df-spdc")):
        tuned, untuned = p.solve(algorithm=adaptive), p.solve(algorithm=plain)
        assert tuned.status is Status.CONVERGED
        assert tuned.state.passes <= 1.5 * untuned.state.passes


def test_adaptation_pays_where_the_data_are_strongly_convex():
    """Weak l2 and well conditioned data: what adaptation is for."""
    p = problem(l2=1e-4)
    for adaptive, plain in (("ada-spdc", "spdc"), ("adf-spdc", "df-spdc")):
        tuned, untuned = p.solve(algorithm=adaptive), p.solve(algorithm=plain)
        assert tuned.status is Status.CONVERGED
        assert tuned.state.passes <= 0.2 * untuned.state.passes


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_no_strong_convexity_at_all(name, loss):
    """Fewer rows than columns and no l2: lambda + delta mu^2 = 0, and P does not always fall."""
    p = problem(loss, n=13, d=19, l1=0.05)
    result = p.solve(algorithm=name, tol=1e-3)
    assert result.status is Status.CONVERGED
    assert p.certify(result.x, result.y).gap <= 1e-3 * result.certificate.primal


@pytest.mark.parametrize("period", [2, 10])
@pytest.mark.parametrize("rule", [Simple, Robust])
@pytest.mark.parametrize("name", ["ada-spdc", "adf-spdc"])
def test_rules_of_the_paper_survive_a_gap_that_says_nothing(name, rule, period):
    """With so small an l2 the gap is up to 1e300, jumps, and makes the monitor roll back; P still
    comes down to that of least squares.
    """
    p = problem(n=30, d=5, l2=1e-300)
    result = p.solve(algorithm=name, adapt=rule(period=period))
    residual = p.design.A @ np.linalg.lstsq(p.design.A, p.b, rcond=None)[0] - p.b
    assert result.certificate.primal == pytest.approx(residual @ residual / 60, rel=1e-6)
