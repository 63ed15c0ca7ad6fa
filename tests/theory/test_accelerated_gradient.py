"""Primal AG. With Lf = Lam/gamma, m = lambda + delta M and s = sqrt(m/(Lf + lambda)),

    P(x_t) - P* <= (1 - s)^t (P(x_0) - P* + (m/2)|x_0 - x*|^2)

and without strong convexity, momentum t/(t + 3): P(x_t) - P* <= 2 Lf |x_0 - x*|^2/(t + 1)^2.
"""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.algorithms import AGD

from .reference import newton, saddle_at
from .runs import follow, powers, starts
from .spectra import case, planted_lasso

# P - P* is a sum of squares of differences of 1e-6 and more, against rounding of 1e-16.
ROUNDING = 1.0 + 1e-9


def check(algorithm, problem, saddle, points):
    worst = 0.0
    for name, (x0, _) in points.items():
        if name == "fast y":  # x0 = x*
            continue
        run = follow(algorithm, problem, x0)
        m = (
            problem.regularizer.strong_convexity
            + algorithm.start(problem, x0, None).state.own.Delta
        )
        P = saddle.suboptimality(run.X)
        bound = powers(run.steps[0].rate, len(P)) * (P[0] + m / 2 * saddle.primal_distance(x0))
        ratio = P / bound
        assert ratio.max() <= ROUNDING, (name, ratio.argmax())
        worst = max(worst, ratio[1:].max())
    assert worst > 0.3


@pytest.mark.parametrize("conditioning", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_rate_from_the_regulariser(conditioning, weighted):
    b = np.sign(np.random.default_rng(40).standard_normal(9))
    c = case(40, kappa=10.0, conditioning=conditioning, l2=0.01, weighted=weighted, b=b)
    saddle = newton(c.problem)
    check(AGD(schedule="theorem"), c.problem, saddle, starts(c, saddle))


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_linear_rate_with_mu_given(l2):
    c = case(41, kappa=10.0, conditioning=1.0, l2=l2)
    saddle = newton(c.problem)
    check(AGD(mu=c.mu, schedule="theorem"), c.problem, saddle, starts(c, saddle))


def test_linear_rate_of_the_elastic_net():
    c, x = planted_lasso(42, np.geomspace(0.01, 1.0, 6), l1=0.1, l2=0.02, weighted=True)
    saddle = saddle_at(c.problem, x)
    check(AGD(schedule="theorem"), c.problem, saddle, starts(c, saddle))


def test_a_rate_that_is_too_good_is_seen():
    """Negative control: (1 - s)^2 instead of 1 - s, where all curvature is lambda's."""
    c = case(40, kappa=1000.0, conditioning=1.0, l2=0.01)
    saddle = newton(c.problem)
    x0, _ = starts(c, saddle)["slow x"]
    run = follow(AGD(schedule="theorem"), c.problem, x0)
    P = saddle.suboptimality(run.X)
    bound = P[0] + c.problem.l2 / 2 * saddle.primal_distance(x0)
    assert (P / (powers(run.steps[0].rate ** 2, len(P)) * bound)).max() > 1.5
