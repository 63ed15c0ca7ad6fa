"""Theorem 1 (BPD). With m = lambda + delta M and

    tau = sqrt(gamma/(Lam m)),   sigma = sqrt(m/(Lam gamma)),   theta = max(theta_x, theta_y)

    V_t = (1/(2 tau) + lambda/2)|x_t - x*|^2 + (gamma/4) sum_i q_i (y_ti - y_i*)^2 <= theta^t C
    G_t = L(x_t, y*) - L(x*, y_t) <= theta^t C                                  (t >= 1)
    C   = (1/(2 tau) + lambda/2)|x_0 - x*|^2 + (1/(2 sigma) + gamma/4) sum_i q_i (y_0i - y_i*)^2

Held along whole trajectories, until theta^t < 1e-12, at the three conditionings of f that the paper
discusses: gamma delta = 1, mu/L, mu^2/L^2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dualgap.algorithms import BPD, OptBPD
from dualgap.algorithms.contract import NO_ADVICE

from .reference import newton, saddle_at
from .runs import follow, partners, powers, starts
from .spectra import case, planted_lasso

KAPPA = 5.0
"""L/mu."""

# The iterates carry errors of 1e-16 against distances of 1e-6 (theta^t = 1e-12) and more.
ROUNDING = 1.0 + 1e-9


def ratios(algorithm, problem, saddle, x0, y0):
    """V_t/(theta^t C) and G_t/(theta^t C) for t = 0, 1, ..."""
    run = follow(algorithm, problem, x0, y0)
    steps, gamma = run.steps[0], problem.loss.gamma
    primal = 1 / (2 * steps.tau) + problem.regularizer.strong_convexity / 2
    x, y = saddle.primal_distance(run.X), saddle.dual_distance(run.Y)
    V = primal * x + gamma / 4 * y
    C = primal * x[0] + (1 / (2 * steps.sigma) + gamma / 4) * y[0]
    G = saddle.lagrangian_gap(run.X, partners(problem, saddle, run.Y))
    bound = powers(steps.rate, len(V)) * C
    assert bound[-1] < 1e-12 * C
    return V / bound, G / bound


def check(algorithm, problem, saddle, points):
    worst = 0.0
    for name, (x0, y0) in points.items():
        V, G = ratios(algorithm, problem, saddle, x0, y0)
        assert V.max() <= ROUNDING, (name, V.argmax())
        assert G[1:].max() <= ROUNDING, (name, 1 + G[1:].argmax())
        worst = max(worst, V[1:].max())
    # Not vacuous: from some start the bound is nearly attained after t = 0.
    assert worst > 0.3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.02])
def test_well_conditioned_loss(l2, weighted):
    """gamma delta = 1: squared loss, mu from the data."""
    c = case(11, kappa=KAPPA, conditioning=1.0, l2=l2, weighted=weighted)
    saddle = newton(c.problem)
    check(OptBPD(schedule="theorem"), c.problem, saddle, starts(c, saddle))


@pytest.mark.parametrize(
    ("power", "l2", "weighted"),
    [(1, 0.0, True), (1, 0.02, False), (2, 0.0, False), (2, 0.02, True)],
)
def test_mildly_and_badly_conditioned_loss(power, l2, weighted):
    """gamma delta = mu/L and mu^2/L^2: logistic loss plus (k/2) z^2, mu given."""
    c = case(12, kappa=KAPPA, conditioning=KAPPA**-power, l2=l2, weighted=weighted)
    saddle = newton(c.problem)
    check(BPD(mu=c.mu, schedule="theorem"), c.problem, saddle, starts(c, saddle))


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_with_l1(l2):
    """g may be any lambda-strongly convex function: lasso and elastic net at a planted optimum."""
    c, x = planted_lasso(13, np.geomspace(0.05, 1.0, 6), l1=0.1, l2=l2, weighted=True)
    saddle = saddle_at(c.problem, x)
    check(OptBPD(schedule="theorem"), c.problem, saddle, starts(c, saddle))


def test_lower_bound_on_mu_and_upper_bound_on_Lam_keep_the_theorem():
    """A smaller mu means a larger theta, and its bound holds as well."""
    c = case(14, kappa=KAPPA, conditioning=1.0, l2=0.01)
    saddle = newton(c.problem)
    check(BPD(mu=0.5 * c.mu, schedule="theorem"), c.problem, saddle, starts(c, saddle))
    check(BPD(schedule="theorem"), c.problem, saddle, starts(c, saddle))


class TwiceAsLong(BPD):
    """A mistake: tau and sigma twice Theorem 1's, with its theta."""

    def steps(self, problem, Lam, Delta, boldness=1.0, advice=NO_ADVICE):
        right = super().steps(problem, Lam, Delta)
        return replace(right, tau=2 * right.tau, sigma=2 * right.sigma)


@pytest.mark.parametrize("l2", [0.0, 0.02])
@pytest.mark.parametrize("power", [0, 1])
def test_steps_twice_too_long_break_the_bound(power, l2):
    """Negative control; smaller mistakes pass here and are seen by test_one_step."""
    c = case(16, kappa=2.0, conditioning=2.0**-power, l2=l2)
    saddle = newton(c.problem)
    wrong = TwiceAsLong(mu=c.mu, schedule="theorem")
    x0, y0 = starts(c, saddle)["fast x"]
    with np.errstate(over="ignore", invalid="ignore"):
        V, _ = ratios(wrong, c.problem, saddle, x0, y0)
    assert np.nanmax(V) > 2.0


def test_second_line_needs_t_of_at_least_one():
    """As printed it is claimed for t = 0 too, where G_0 <= C fails: D_phi*(y_0, y*) is up to
    |y_0 - y*|^2/(2 delta), and C has only (1/(2 sigma) + gamma/4) of it.
    """
    c = case(15, kappa=KAPPA, conditioning=KAPPA**-2, l2=0.02)
    saddle = newton(c.problem)
    y = saddle.y.astype(float)
    _, G = ratios(
        BPD(mu=c.mu, schedule="theorem"), c.problem, saddle, saddle.x.astype(float), y - 3.0
    )
    assert G[0] > 1.0
    assert G[1:].max() <= ROUNDING
