"""Theorem 3 (DF-BPD). With m = lambda + delta M and a factor k,

    tau = k sqrt(gamma/(Lam m)),   sigma = k sqrt(gamma m/Lam),   theta = max(theta_x, theta_y)

    V_t = (1/(2 tau) + lambda/2)|x_t - x*|^2 + (1/2) B_t <= theta^t C
    G_t = L(x_t, y*) - L(x*, y_t) <= theta^t C                                  (t >= 1)
    C   = (1/(2 tau) + lambda/2)|x_0 - x*|^2 + (1/sigma + 1/2) B_0
    B_t = sum_i q_i D_phi*(y_i*, y_ti)

for k = 1/2 (the proof's; schedule="theorem") and for k = sqrt(2/(4 + gamma delta)) (the default).
Held along whole trajectories, until theta^t < 1e-12, at gamma delta = 1, mu/L, mu^2/L^2.
"""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.algorithms import DFBPD

from .reference import newton, saddle_at
from .runs import follow, powers, starts
from .spectra import case, planted_lasso

KAPPA = 2.0
"""L/mu; 1 - theta is about gamma delta (mu/L)^2/16, so that more would take long."""

# The iterates carry errors of 1e-16 against distances of 1e-6 (theta^t = 1e-12) and more.
ROUNDING = 1.0 + 1e-9

SCHEDULES = pytest.mark.parametrize("schedule", ["theorem", None], ids=["k=1/2", "k=proved"])


def ratios(algorithm, problem, saddle, x0, y0):
    """V_t/(theta^t C) and G_t/(theta^t C) for t = 0, 1, ..."""
    run = follow(algorithm, problem, x0, y0)
    steps = run.steps[0]
    primal = 1 / (2 * steps.tau) + problem.regularizer.strong_convexity / 2
    x, B = saddle.primal_distance(run.X), saddle.divergence(run.V)
    V = primal * x + B / 2
    C = primal * x[0] + (1 / steps.sigma + 0.5) * B[0]
    G = saddle.lagrangian_gap(run.X, run.V)
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


@SCHEDULES
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.02])
def test_well_conditioned_loss(schedule, l2, weighted):
    """gamma delta = 1: squared loss."""
    c = case(31, kappa=KAPPA, conditioning=1.0, l2=l2, weighted=weighted)
    saddle = newton(c.problem)
    check(DFBPD(mu=c.mu, schedule=schedule), c.problem, saddle, starts(c, saddle))


@SCHEDULES
@pytest.mark.parametrize(
    ("power", "l2", "weighted"),
    [(1, 0.0, True), (1, 0.02, False), (2, 0.0, False), (2, 0.02, True)],
)
def test_mildly_and_badly_conditioned_loss(schedule, power, l2, weighted):
    """gamma delta = mu/L and mu^2/L^2: logistic loss plus (k/2) z^2."""
    c = case(32, kappa=KAPPA, conditioning=KAPPA**-power, l2=l2, weighted=weighted)
    saddle = newton(c.problem)
    check(DFBPD(mu=c.mu, schedule=schedule), c.problem, saddle, starts(c, saddle))


@SCHEDULES
def test_logistic_loss(schedule):
    """delta = 0: all strong convexity is lambda's."""
    c = case(33, kappa=KAPPA, conditioning=1.0)
    b = np.where(c.problem.b > 0, 1.0, -1.0)
    c = case(33, kappa=KAPPA, conditioning=0.0, l2=0.05, b=b)
    saddle = newton(c.problem)
    x, slow = saddle.x.astype(float), np.linalg.eigh(c.A.T @ c.A)[1][:, 0]
    # Dual points of logistic loss live in an interval, so y0 is left to x0.
    points = {
        "slow x": (x + slow, saddle.y.astype(float)),
        "zero": (0 * x, None),
        "far": (9 * x, None),
    }
    check(DFBPD(schedule=schedule), c.problem, saddle, points)


@SCHEDULES
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_with_l1(schedule, l2):
    """g may be any lambda-strongly convex function: lasso and elastic net at a planted optimum."""
    c, x = planted_lasso(34, np.geomspace(0.2, 1.0, 6), l1=0.1, l2=l2, weighted=True)
    saddle = saddle_at(c.problem, x)
    check(DFBPD(mu=c.mu, schedule=schedule), c.problem, saddle, starts(c, saddle))
