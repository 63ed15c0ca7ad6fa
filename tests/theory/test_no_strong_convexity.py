"""m = lambda + delta M = 0: no theorem of the paper, and the steps of Chambolle & Pock.

With theta_{t+1} = 1/sqrt(1 + gamma sigma_t), sigma <- sigma theta, tau <- tau/theta (DF-BPD: 1
for gamma) the one-step inequality, times tau_t, telescopes:

    sum_{s < t} tau_s G_{s+1} <= tau_0 C,      G_s = L(x_s, y*) - L(x*, y_s)
    C = |x_0 - x*|^2/(2 tau_0) + sum_i q_i (y_0i - y_i*)^2/(2 sigma_0)      (DF-BPD: + B_0/sigma_0)

With alpha = tau_0 (= gamma/Lam; DF-BPD: k^2 gamma/Lam), tau_{t+1}^2 = tau_t^2 + alpha tau_t gives
tau_t >= alpha (1 + t/(1 + sqrt 2)), so that the best, and a weighted mean, of G_1, ..., G_t is at
most 2 (1 + sqrt 2) C/t^2. The last P(x_t) - P* is not covered by that proof; it is measured here,
and stays below four times as much.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dualgap import Problem
from dualgap.algorithms import AGD, BPD, DFBPD
from dualgap.algorithms.primal_dual.state import update

from .reference import newton, saddle_at
from .runs import follow, partners
from .spectra import design, planted_lasso

ITERATIONS = 1000
ROUNDING = 1.0 + 1e-9
GROWTH = 1.0 + np.sqrt(2.0)


@cache
def problem_and_saddle(name):
    """Ill-conditioned, so that 1000 iterations stay in the regime where t^2 matters."""
    rng = np.random.default_rng(50)
    n, spectrum = 24, np.geomspace(1e-7, 1.0, 12)
    q = np.full(n, 1.0 / n)
    if name == "pure l1":
        c, x = planted_lasso(51, spectrum, l1=1e-3)
        return c.problem, saddle_at(c.problem, x)
    if name == "intercept":
        A = design(rng, spectrum, q)
        b = 3.0 + 30.0 * A @ rng.standard_normal(12) + rng.standard_normal(n)
        problem = Problem(A, b, l2=1e-7, fit_intercept=True)
    else:
        A = design(rng, np.geomspace(1e-3, 10.0, 4), q)
        problem = Problem(A, np.sign(rng.standard_normal(n)), loss="logistic")
    return problem, newton(problem)


NAMES = ["pure l1", "intercept", "logistic without regulariser"]
ALGORITHMS = {
    "bpd": BPD(schedule="theorem"),
    "df-bpd, k=1/2": DFBPD(schedule="theorem"),
    "df-bpd": DFBPD(),
}


def x0_of(saddle, start):
    noise = np.random.default_rng(52).standard_normal(saddle.x.size)
    return None if start == "zero" else saddle.x.astype(float) + 10.0 * noise


def start_constant(saddle, run, V):
    """tau_0 C."""
    first = run.steps[0]
    x = saddle.primal_distance(run.X[0]) / (2 * first.tau)
    if run.V is None:
        return first.tau * (x + saddle.dual_distance(run.Y[0]) / (2 * first.sigma))
    return first.tau * (x + saddle.divergence(V[0]) / first.sigma)


@pytest.mark.parametrize("start", ["zero", "far"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", NAMES)
def test_error_is_of_order_one_over_t_squared(name, algorithm, start):
    problem, saddle = problem_and_saddle(name)
    x0 = x0_of(saddle, start)
    run = follow(ALGORITHMS[algorithm], problem, x0, iterations=ITERATIONS)
    assert all(s.accelerating for s in run.steps)
    V = partners(problem, saddle, run.Y) if run.V is None else run.V
    constant = start_constant(saddle, run, V)
    t = np.arange(ITERATIONS + 1)

    tau = np.array([s.tau for s in run.steps])
    assert (tau >= tau[0] * (1 + t / GROWTH) / ROUNDING).all()

    G = saddle.lagrangian_gap(run.X, V)
    total = np.cumsum(tau[:-1] * G[1:]) / constant
    assert total.max() <= ROUNDING
    assert total[-1] > 0.05  # not vacuous

    P = t**2 * saddle.suboptimality(run.X) * tau[0] / (2 * GROWTH * constant)
    assert P.max() <= 4.0


@pytest.mark.parametrize("name", ["pure l1", "intercept"])
def test_constant_steps_are_not_enough(name):
    """Negative control: without acceleration t^2 (P - P*) leaves the bound."""
    problem, saddle = problem_and_saddle(name)
    algorithm = BPD(schedule="theorem")
    s = algorithm.start(problem, x0_of(saddle, "far"), None).state
    first = follow(algorithm, problem, x0_of(saddle, "far"), iterations=0)
    constant = start_constant(saddle, first, first.V)
    s = update(s, steps=replace(s.own.steps, accelerating=False))
    worst = 0.0
    for t in range(1, 4 * ITERATIONS + 1):
        s = algorithm.step(problem, s)
        if t % 50 == 0:
            P = t**2 * saddle.suboptimality(s.x) * first.steps[0].tau / (2 * GROWTH * constant)
            worst = max(worst, P)
    assert worst > 4.0


@pytest.mark.parametrize("start", ["zero", "far"])
@pytest.mark.parametrize("name", NAMES)
def test_accelerated_gradient_bound(name, start):
    """P(x_t) - P* <= 2 Lf |x_0 - x*|^2/(t + 1)^2 (Nesterov's sequence, r = 3)."""
    problem, saddle = problem_and_saddle(name)
    run = follow(AGD(schedule="theorem"), problem, x0_of(saddle, start), iterations=ITERATIONS)
    t = np.arange(ITERATIONS + 1)
    Lf = problem.constants.Lam.value / problem.loss.gamma
    ratio = saddle.suboptimality(run.X) * (t + 1) ** 2 / (2 * Lf * saddle.primal_distance(run.X[0]))
    assert ratio[1:].max() <= ROUNDING
    assert ratio[1:].max() > 0.01
