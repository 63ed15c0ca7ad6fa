"""Theorem 4 (DF-SPDC). With probabilities p, weights q, R^2 = max |a_i|^2 q_i/p_i and
m = lambda + delta M,

    tau = (1/4R) sqrt(gamma/(n m)),  sigma = (1/4R) sqrt(gamma n m),  theta = max(theta_x, theta_y)

    V_t = (1/(2 tau) + lambda/2)|x_t - x*|^2 + (1/2) B_t,  B_t = sum_i (q_i/p_i) D_phi*(y_i*, y_ti)
    C   = (1/(2 tau) + lambda/2)|x_0 - x*|^2 + (1/sigma + 1/2) B_0
    G_t = [L(x_t, y*) - L*] + sum_i (q_i/p_i) D_phi*(y_ti, y_i*)

    E V_t <= theta^t C,      E G_t <= theta^t (C + G_0)

(printed: gamma/4 instead of 1/2 in V_t, and C alone in the second line, which is false). theta_x is
the theorem's, not the appendix's, which is slower. Method and tools are those of test_theorem2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dualgap.algorithms import DFSPDC
from dualgap.algorithms.contract import NO_ADVICE

from .reference import newton, saddle_at
from .runs import powers, starts
from .spectra import case, planted_lasso
from .test_theorem2 import (
    HOW,
    PROBLEMS,
    ROUNDING,
    SHARP_IN_THE_STEPS,
    SHARP_IN_THETA,
    Linear,
    N,
    above,
    check,
    lagrangian,
    options,
    parameters,
    random_case,
    simulate,
    some_starts,
)


def ratios(algorithm, problem, saddle, x0, y0):
    """E V_t/(theta^t C) for t >= 1, E G_t/(theta^t (C + G_0)); and the second line with C alone."""
    run = simulate(algorithm, problem, x0, y0)
    steps = algorithm.start(problem, x0, y0).state.own.steps
    ratio = algorithm.sampler(problem).ratio
    primal = 1 / (2 * steps.tau) + problem.regularizer.strong_convexity / 2
    x = saddle.primal_distance(run.X).astype(float)
    B = saddle.phi.bregman(run.V, saddle.z).astype(float) @ ratio
    C = primal * x[0, 0] + (1 / steps.sigma + 1 / 2) * B[0, 0]
    G, printed = lagrangian(saddle, run.X, run.V, ratio, problem.q)
    decay = powers(steps.theta, x.shape[1]).astype(float)
    return (
        above((primal * x + B / 2)[:, 1:], C * decay[1:]),
        above(G, (C + G[0, 0]) * decay),
        above(printed[:, 1:], C * decay[1:]),
    )


@HOW
@PROBLEMS
def test_in_the_mean(how, conditioning, l2):
    c = case(41, kappa=3.0, conditioning=conditioning, l2=l2, weighted="weights" in how, n=N)
    saddle = newton(c.problem)
    algorithm = DFSPDC(mu=c.mu, schedule="theorem", **options(how))
    check(ratios, algorithm, c.problem, saddle, some_starts(c, saddle))


@HOW
def test_in_the_mean_with_logistic_loss(how):
    """delta = 0: all strong convexity is lambda's. Dual points follow from x0."""
    b = np.where(np.random.default_rng(42).random(N) < 0.5, 1.0, -1.0)
    c = case(42, kappa=3.0, conditioning=0.0, l2=0.05, weighted="weights" in how, n=N, b=b)
    saddle = newton(c.problem)
    x, slow = saddle.x.astype(float), np.linalg.eigh(c.A.T @ c.A)[1][:, 0]
    points = {"slow x": (x + slow, saddle.y.astype(float)), "far": (9 * x, None)}
    check(ratios, DFSPDC(schedule="theorem", **options(how)), c.problem, saddle, points)


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_in_the_mean_with_l1(l2):
    c, x = planted_lasso(43, np.geomspace(0.2, 1.0, 6), l1=0.1, l2=l2, n=N, weighted=True)
    saddle = saddle_at(c.problem, x)
    algorithm = DFSPDC(mu=c.mu, schedule="theorem", sampling="importance")
    check(ratios, algorithm, c.problem, saddle, some_starts(c, saddle))


def test_second_line_where_its_bound_is_nearly_attained():
    """lambda so large that sigma is, too: then G_0 is no small part of C + G_0."""
    c = case(44, kappa=3.0, conditioning=0.2, l2=30.0, n=N)
    saddle = newton(c.problem)
    x, y = saddle.x.astype(float), saddle.y.astype(float)
    _, G, _ = ratios(DFSPDC(mu=c.mu, schedule="theorem"), c.problem, saddle, x, y - 1.0)
    assert 0.3 < G <= 1 + ROUNDING


class TenTimesAsLong(DFSPDC):
    """A mistake: tau and sigma ten times Theorem 4's, with its theta."""

    def steps(self, problem, Lam, Delta, boldness=1.0, advice=NO_ADVICE):
        right = super().steps(problem, Lam, Delta)
        return replace(right, tau=10 * right.tau, sigma=10 * right.sigma)


def test_steps_ten_times_too_long_are_seen_in_the_mean():
    """Negative control; smaller mistakes pass here and are seen below."""
    c = case(24, kappa=2.0, conditioning=1.0, l2=0.02, n=N)
    saddle = newton(c.problem)
    x0, y0 = starts(c, saddle)["fast x"]
    V, _, _ = ratios(TenTimesAsLong(mu=c.mu, schedule="theorem"), c.problem, saddle, x0, y0)
    assert V > 2.0


# ---- squared loss: D_phi*(y*, y) = |y - y*|^2/2, and the forms are those of Theorem 2 ----


def df_spdc(seed, how="uniform"):
    c = random_case(seed, how)
    return Linear(c, DFSPDC(mu=c.mu, schedule="theorem", **options(how)))


@HOW
@pytest.mark.parametrize("conditioning", [1.0, 0.2])
def test_parameters(how, conditioning):
    for seed in range(10):
        weighted = "weights" in how
        c = case(seed, kappa=2.0, conditioning=conditioning, l2=0.1 * (seed % 3), weighted=weighted)
        algorithm = DFSPDC(mu=c.mu, schedule="theorem", **options(how))
        steps = algorithm.start(c.problem, None, None).state.own.steps
        expected = parameters(c, algorithm.sampler(c.problem).p, dual_free=True)
        assert (steps.tau, steps.sigma, steps.theta) == pytest.approx(expected, rel=1e-12)


@HOW
def test_one_step_from_every_state(how):
    """The form shrinks by theta or more, with and without G; 1 - theta is 4e-5 and more."""
    for run in (df_spdc(seed, how) for seed in range(20)):
        assert run.worst_state() <= run.theta * (1 + 1e-12)
        assert run.worst_state(with_G=True) <= run.theta * (1 + 1e-12)


@HOW
def test_expectation_from_every_start(how):
    for run in (df_spdc(seed, how) for seed in range(1, 6)):
        primal = 1 / (2 * run.steps.tau) + run.problem.l2 / 2
        worst = run.worst_start(primal, 1 / 4, 1 / (2 * run.steps.sigma) + 1 / 4)
        assert 0.3 < worst <= 1 + ROUNDING


def test_steps_four_times_too_long_are_seen():
    """Negative control."""
    problems = map(df_spdc, SHARP_IN_THE_STEPS)
    assert min(run.worst_state(longer=4.0) / run.theta for run in problems) > 1.0001


def test_claiming_theta_to_the_fourth_is_seen():
    """Negative control."""
    assert min(run.worst_state() / run.theta**4 for run in map(df_spdc, SHARP_IN_THETA)) > 1.0001
