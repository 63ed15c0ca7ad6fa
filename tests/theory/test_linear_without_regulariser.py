"""The headline: l1 = l2 = 0, and still linear convergence, from the strong convexity of the data.

For squared loss the slowest mode of BPD with Theorem 1's tau, sigma, theta obeys

    (1 + sigma) r^2 - (2 + sigma - c (1 + theta)) r + (1 - c theta) = 0,   c = tau sigma M

whose roots are complex for theta near 1: |r| = sqrt((1 - c theta)/(1 + sigma)), about 1 - mu/(2L)
(c = (mu/L)^2, sigma = mu/L). That is an accelerated rate, where the theorem itself promises
sqrt(theta), about 1 - (mu/L)^2/2.
"""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.algorithms import BPD, AdaBPD, OptBPD

from .reference import newton
from .runs import follow
from .spectra import case


def decades(algorithm, c, saddle, iterations):
    """The first iterations t at which |x_t - x*|/|x_0 - x*| < 1e-2, 1e-4, ..., 1e-10."""
    run = follow(algorithm, c.problem, iterations=iterations)
    distance = np.sqrt(saddle.primal_distance(run.X))
    hit = [distance < 10.0**-k * distance[0] for k in (2, 4, 6, 8, 10)]
    return [int(h.argmax()) if h.any() else None for h in hit]


def problem(kappa, seed):
    c = case(seed, kappa=kappa, conditioning=1.0, n=40, d=10, weighted=seed % 2 == 0)
    return c, newton(c.problem)


@pytest.mark.parametrize("seed", [60, 61])
@pytest.mark.parametrize("kappa", [5.0, 20.0])
def test_opt_bpd_contracts_at_the_rate_of_its_slowest_mode(kappa, seed):
    c, saddle = problem(kappa, seed)
    times = decades(OptBPD(schedule="theorem"), c, saddle, int(60 * kappa))
    steps = OptBPD(schedule="theorem").start(c.problem, None, None).state.own.steps
    slow = steps.tau * steps.sigma * c.M
    roots = np.roots(
        [1 + steps.sigma, -(2 + steps.sigma - slow * (1 + steps.theta)), 1 - slow * steps.theta]
    )
    predicted = np.abs(roots).max()
    measured = 10.0 ** (-6 / (times[4] - times[1]))  # from 1e-4 to 1e-10
    # The mode oscillates, so that a crossing may be late by half a period, some 0.3 decades.
    assert np.log(measured) == pytest.approx(np.log(predicted), rel=0.1)
    assert measured < np.sqrt(steps.rate)


@pytest.mark.parametrize("seed", [60, 61])
@pytest.mark.parametrize("kappa", [5.0, 20.0, 50.0])
def test_ada_bpd_is_linear_and_accelerated_without_knowing_mu(kappa, seed):
    """1e-10 within 46 L/mu iterations: exp(-t mu/(2L)), the rate of BPD with the true mu."""
    c, saddle = problem(kappa, seed)
    times = decades(AdaBPD(), c, saddle, int(2 * kappa * np.log(1e10)))
    assert times[-1] is not None
    # Linear: no two decades take much longer than others (at O(1/t^2) each would take ten times
    # as long as the one before).
    gaps = np.diff(times)
    assert gaps.max() < 3 * gaps.min()


def test_without_the_strong_convexity_of_the_data_it_is_not_linear():
    """Negative control: BPD that counts on lambda alone takes ever longer for each decade, and
    longer to 1e-4 than Ada-BPD to 1e-10.
    """
    c, saddle = problem(20.0, 60)
    first, second, third, *_ = decades(BPD(schedule="theorem"), c, saddle, 6000)
    assert second > 2 * 20.0 * np.log(1e10)
    assert third - second > 1.5 * (second - first)
