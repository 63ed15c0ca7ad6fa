"""No run diverges: a step that is not finite is taken back, and the next one is another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dualgap
from dualgap import Status
from dualgap.algorithms import ALGORITHMS, BPD
from dualgap.state import replace

LOSSES = ("squared", "huber", "logistic", "smoothed_hinge", "squared_hinge", "strong_logistic")


def few_rows(seed, n=10, d=12):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    return A, np.where(A[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("penalty", [{"l2": 3e-10}, {"l2": 1e-3}, {"l1": 1e-4}], ids=str)
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
def test_a_large_offset(seed, penalty, loss):
    """The intercept takes it up: the optimum is that of the problem without one."""
    A, b = few_rows(seed)
    plain = dualgap.solve(A, b, loss=loss, fit_intercept=True, **penalty)
    result = dualgap.solve(A, b, loss=loss, fit_intercept=True, offset=np.full(10, 1e6), **penalty)
    assert result.status is not Status.DIVERGED
    assert result.certificate.primal <= plain.certificate.primal * (1.0 + 2e-6)


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("size", [680.0, 1e4, 1e6])
@pytest.mark.parametrize("l2", [3e-10, 1e-3])
def test_newton_where_the_curvature_vanishes(seed, size, l2):
    """Left as they are, the rows have phi'' = 0 or 1e-296, and Newton's step has no bound."""
    A, b = few_rows(seed)
    options = {"loss": "logistic", "l2": l2, "fit_intercept": True}
    result = dualgap.solve(A, b, offset=np.full(10, size), precondition="none", **options)
    assert result.status is not Status.DIVERGED
    at_zero = 0.5 * size * np.mean(1.0 - b)  # log(1 + e^z) = z there
    assert result.certificate.primal < 0.1 * at_zero


@pytest.mark.parametrize("algorithm", ["ada-spdc", "adf-spdc", "ada-bpd", "saga", "auto"])
def test_a_column_whose_fourth_power_is_not_finite(algorithm):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((34, 5))
    A[:, 1] *= 1e87
    b = np.where(A[:, 0] + rng.standard_normal(34) > 0, 1.0, -1.0)
    result = dualgap.solve(
        A, b, loss="strong_logistic", l2=5e-11, fit_intercept=True, algorithm=algorithm
    )
    assert result.status is not Status.DIVERGED
    assert result.certificate.primal < np.log(2.0)


@dataclass(frozen=True)
class Stumbling(BPD):
    """Its second and fifth steps are lost."""

    name: ClassVar[str] = "stumbling"

    def step(self, problem, s):
        new = super().step(problem, s)
        return replace(new, primal=np.nan, x=np.nan * new.x) if new.t in (2, 5) else new


def test_a_lost_step_is_taken_back():
    A, b = few_rows(0, 30, 3)
    result = dualgap.solve(A, b, l2=0.1, algorithm=Stumbling(), max_passes=3000)
    assert result.status is Status.CONVERGED
    assert not np.isnan(result.trace.primal).any()


@pytest.mark.parametrize("seed", range(60))
def test_data_at_the_ends_of_the_range(seed):
    """Columns of 1e-290 to 1e90, offsets up to 1e12, weights of 1e-28, strengths of 1e-12."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(2, 8))
    A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    A[:, rng.integers(d)] *= 10.0 ** rng.choice([-290.0, -160.0, 0.0, 0.0, 40.0, 87.0])
    loss = LOSSES[seed % len(LOSSES)]
    z = A @ (rng.standard_normal(d) / np.abs(A).max(axis=0)) + 0.5 * rng.standard_normal(n)
    options = {"loss": loss, "fit_intercept": bool(seed % 2)}
    options |= {} if seed % 3 else {"offset": 10.0 ** rng.uniform(2, 12) * rng.standard_normal(n)}
    options |= {} if seed % 5 else {"sample_weight": 10.0 ** rng.uniform(-28, 0, n)}
    options |= [{}, {"l1": 1e-4}, {"l2": 3e-10}, {"l1": 1e-6, "l2": 1e-12}][seed % 4]
    b = z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)
    names = ["auto", "ada-bpd", "adf-spdc", sorted(ALGORITHMS)[seed % len(ALGORITHMS)]]
    for name in names:
        if name in ("sdca", "prox-newton") or (name == "newton" and "l1" in options):
            continue
        result = dualgap.solve(A, b, algorithm=name, max_passes=50, **options)
        assert result.status is not Status.DIVERGED
        assert np.isfinite(result.x).all() and np.isfinite(result.certificate.primal)


FAR = (np.array([[1e3], [2e3]]), np.zeros(2))
"""Data whose predictions overflow the exponential wherever x is at least 1."""


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_first_point_where_the_exponential_overflows_is_refused(loss):
    """Bounds so far from 0 that P is no float at any x: a sentence, before any step."""
    A, b = FAR
    sign, b = (1.0, b) if loss == "poisson" else (-1.0, b + 1.0)
    box = dualgap.regularizers.Box(*sorted((sign, 2.0 * sign)))
    with pytest.raises(ValueError, match=r"too large for a float where the run begins.*overflows"):
        dualgap.solve(A, b, loss=loss, regularizer=box)
    with pytest.raises(ValueError, match="or give an x0"):
        dualgap.solve(A, b, loss=loss, regularizer=box, x0=np.array([sign]))
    certificate = dualgap.certify(A, b, np.array([sign]), loss=loss, regularizer=box)
    assert not certificate.certified and certificate.reason == "P(x) is not finite."
