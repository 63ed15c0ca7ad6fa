"""The parameters of `dualgap.algorithms.primal_dual.schedules`, recomputed in the paper's letters.

The paper's f is (1/n) sum phi_i, with gamma_f = n gamma, delta_f = delta/n, L = |A| and
mu = sqrt(lambda_min(A'A)); its dual variable is y/n, hence its dual step sigma_f = sigma/n
(dual-free: the Bregman divergence scales with f*, and sigma_f = sigma).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dualgap import Problem
from dualgap.algorithms import AGD, BPD, DFBPD, OptBPD
from dualgap.algorithms.primal_dual.schedules import (
    accelerate,
    bpd_steps,
    df_bpd_steps,
    proved_factor,
)
from dualgap.losses import Logistic, Squared, StrongLogistic

from .spectra import loss_with

# A dozen roundings, each 1e-16.
CLOSE = {"rel": 1e-13}


def equation_7_8(L, mu, lam, gamma, delta):
    """Theorem 1 as printed, for a general f."""
    m = lam + delta * mu**2
    sigma, tau = math.sqrt(m / gamma) / L, math.sqrt(gamma / m) / L
    theta_x = (1 - delta / (delta + 2 * sigma) * mu**2 / L**2) / (1 + tau * lam)
    theta_y = 1 / (1 + sigma * gamma / 2)
    return tau, sigma, max(theta_x, theta_y)


def equation_13_14(L, mu, lam, gamma, delta, k):
    """Theorem 3 with 1/L replaced by k/L in both steps (k = 1/2 in its proof)."""
    m = lam + delta * mu**2
    tau, sigma = k * math.sqrt(gamma / m) / L, k * math.sqrt(gamma * m) / L
    theta_x = (1 - tau * sigma * delta * mu**2 / (4 + 2 * sigma)) / (1 + tau * lam)
    theta_y = 1 / (1 + sigma / 2)
    return tau, sigma, max(theta_x, theta_y)


def random_constants():
    rng = np.random.default_rng(20)
    for i in range(60):
        n = int(rng.integers(1, 1000))
        L = 10.0 ** rng.uniform(-2, 2)
        mu = L * 10.0 ** rng.uniform(-3, 0) if i % 3 else 0.0
        lam = 10.0 ** rng.uniform(-6, 1) if i % 2 or mu == 0 else 0.0
        loss = Squared() if i % 4 == 0 else StrongLogistic(strength=10.0 ** rng.uniform(-3, 1))
        yield n, L, mu, lam, loss


def test_theorem1_in_the_papers_letters():
    for n, L, mu, lam, loss in random_constants():
        gamma, delta = loss.gamma, loss.delta
        ours = bpd_steps(loss, L**2 / n, lam, delta * mu**2 / n, theta_one=False)
        tau, sigma_f, theta = equation_7_8(L, mu, lam, n * gamma, delta / n)
        assert ours.tau == pytest.approx(tau, **CLOSE)
        assert ours.sigma == pytest.approx(n * sigma_f, **CLOSE)
        assert ours.theta == ours.rate == pytest.approx(theta, **CLOSE)
        # The same with n outside: tau = (n/L) sqrt(gamma/(n lambda + delta mu^2)) and so on.
        nm = n * lam + delta * mu**2
        assert ours.tau == pytest.approx(n / L * math.sqrt(gamma / nm), **CLOSE)
        assert ours.sigma == pytest.approx(math.sqrt(nm / gamma) / L, **CLOSE)
        assert ours.tau * ours.sigma * L**2 / n == pytest.approx(1.0, **CLOSE)


@pytest.mark.parametrize("factor", [0.5, "proved", 1.0])
def test_theorem3_in_the_papers_letters(factor):
    for n, L, mu, lam, loss in random_constants():
        gamma, delta = loss.gamma, loss.delta
        k = math.sqrt(2 / (4 + gamma * delta)) if factor == "proved" else factor
        if factor == "proved":
            assert proved_factor(loss) == pytest.approx(k, **CLOSE)
        ours = df_bpd_steps(loss, L**2 / n, lam, delta * mu**2 / n, k=k, theta_one=False)
        tau, sigma, theta = equation_13_14(L, mu, lam, n * gamma, delta / n, k)
        assert ours.tau == pytest.approx(tau, **CLOSE)
        assert ours.sigma == pytest.approx(sigma, **CLOSE)
        assert ours.theta == ours.rate == pytest.approx(theta, **CLOSE)


def test_algorithms_use_these_with_L_and_mu_of_their_data():
    """L and mu from a singular value decomposition, without weights; k = 1/2 for the theorem."""
    rng = np.random.default_rng(21)
    n, lam = 30, 0.01
    A = rng.standard_normal((n, 5))
    values = np.linalg.svd(A, compute_uv=False)
    L, mu = values[0], values[-1]
    loss = StrongLogistic(strength=0.3)
    problem = Problem(A, np.sign(rng.standard_normal(n)), loss=loss, l2=lam)
    x0 = np.zeros(5)
    gamma_f, delta_f = n * loss.gamma, loss.delta / n
    slack = {"rel": 1e-10}  # a certified Lam is larger by some 1e-12

    def steps(algorithm):
        s = algorithm.start(problem, x0, None).state.own.steps
        return s.tau, s.sigma, s.theta

    tau, sigma_f, theta = equation_7_8(L, mu, lam, gamma_f, delta_f)
    for algorithm in (OptBPD(schedule="theorem"), BPD(mu=mu, schedule="theorem")):
        assert steps(algorithm) == pytest.approx((tau, n * sigma_f, theta), **slack)
    tau, sigma_f, theta = equation_7_8(L, 0.0, lam, gamma_f, delta_f)
    assert steps(BPD(schedule="theorem")) == pytest.approx((tau, n * sigma_f, theta), **slack)
    k = math.sqrt(2 / (4 + loss.gamma * loss.delta))
    for schedule, factor in (("theorem", 0.5), (None, k)):
        expected = equation_13_14(L, mu, lam, gamma_f, delta_f, factor)
        assert steps(DFBPD(mu=mu, schedule=schedule)) == pytest.approx(expected, **slack)


def test_theorem1_meets_the_conditions_of_its_proof():
    """1/tau - sigma delta mu^2/(2 sigma + delta) <= theta (1/tau + lambda), 1/sigma <= theta
    (1/sigma + gamma/2), theta sigma tau L^2 <= 1; the worse of the first two with equality.
    """
    for n, L, mu, lam, loss in random_constants():
        s = bpd_steps(loss, L**2 / n, lam, loss.delta * mu**2 / n, theta_one=False)
        M, delta = mu**2 / n, loss.delta
        x = (1 / s.tau - s.sigma * delta * M / (2 * s.sigma + delta)) / (1 / s.tau + lam)
        y = (1 / s.sigma) / (1 / s.sigma + loss.gamma / 2)
        assert max(x, y) == pytest.approx(s.theta, **CLOSE)
        assert s.theta * s.sigma * s.tau * L**2 / n <= 1.0


def test_the_proved_factor_is_the_largest_that_theorem3_allows():
    """(1/gamma + delta/4) sigma Lam <= 1/(2 tau), with equality at the proved factor."""
    for n, L, mu, lam, loss in random_constants():
        Lam, Delta = L**2 / n, loss.delta * mu**2 / n

        def used(k, loss=loss, Lam=Lam, lam=lam, Delta=Delta):
            s = df_bpd_steps(loss, Lam, lam, Delta, k=k, theta_one=False)
            return (1 / loss.gamma + loss.delta / 4) * s.sigma * Lam * 2 * s.tau

        assert used(proved_factor(loss)) == pytest.approx(1.0, **CLOSE)
        assert used(0.5) < 1.0 < used(1.0)
        assert 0.63 < proved_factor(loss) < 0.7072


def test_dual_free_steps_of_squared_loss_are_the_euclidean_ones_when_k_is_one():
    """phi* is y^2/2 then, and sigma_DF = gamma sigma; so the printed Theorem 3 holds there."""
    loss = Squared()
    ours = df_bpd_steps(loss, 2.0, 0.1, 0.3, k=1.0, theta_one=True)
    assert ours.tau == pytest.approx(bpd_steps(loss, 2.0, 0.1, 0.3, theta_one=True).tau, **CLOSE)
    assert ours.sigma == pytest.approx(
        bpd_steps(loss, 2.0, 0.1, 0.3, theta_one=True).sigma, **CLOSE
    )


@pytest.mark.parametrize(
    ("power", "rate"),
    [
        (2, lambda r: r**2 / 3),  # gamma delta = mu^2/L^2: sqrt(gamma delta) (mu/L)/3, accelerated
        (1, lambda r: r**2),  # gamma delta = mu/L: half accelerated
        (0, lambda r: r**2),  # gamma delta = 1: not accelerated
    ],
)
def test_the_three_conditionings_of_f(power, rate):
    """1 - theta of Theorem 1 at lambda = 0 and mu/L = r << 1, Section 2 of the paper."""
    r, Lam = 1e-4, 2.0
    loss = loss_with(r**power)
    steps = bpd_steps(loss, Lam, 0.0, loss.delta * Lam * r**2, theta_one=False)
    # Terms of relative order sqrt(r) = 1e-2 are left out: 2 (mu/L)^{3/2} against mu/L.
    assert 1 - steps.rate == pytest.approx(rate(r), rel=3e-2)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_theorem3_is_not_accelerated_without_a_regulariser(power):
    """1 - theta = gamma delta mu^2/(16 L^2) at lambda = 0, whatever gamma delta is (k = 1/2)."""
    r, Lam = 1e-2, 2.0
    loss = loss_with(r**power)
    steps = df_bpd_steps(loss, Lam, 0.0, loss.delta * Lam * r**2, k=0.5, theta_one=False)
    assert 1 - steps.rate == pytest.approx(r**power * r**2 / 16, rel=1e-2)


def test_a_regulariser_accelerates_both():
    """delta mu^2 = 0: 1 - theta = sqrt(gamma lambda)/(2L), and /(4L) with k = 1/2."""
    loss, Lam, lam = Logistic(), 2.0, 1e-8
    accelerated = math.sqrt(loss.gamma * lam / Lam)
    ours = bpd_steps(loss, Lam, lam, 0.0, theta_one=False)
    assert 1 - ours.rate == pytest.approx(accelerated / 2, rel=1e-3)
    ours = df_bpd_steps(loss, Lam, lam, 0.0, k=0.5, theta_one=False)
    assert 1 - ours.rate == pytest.approx(accelerated / 4, rel=1e-3)


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_theta_one_changes_only_the_extrapolation(loss):
    """Any theta in [max(theta_x, theta_y), 1] is valid; an estimate for a loss with delta = 0
    gives Theorem 1 no theta, and 1 is used.
    """
    free = bpd_steps(loss, 2.0, 0.1, 0.3, theta_one=False)
    one = bpd_steps(loss, 2.0, 0.1, 0.3, theta_one=True)
    assert (one.tau, one.sigma, one.theta) == (free.tau, free.sigma, 1.0)
    assert free.theta == (free.rate if loss.delta > 0 else 1.0)
    assert df_bpd_steps(loss, 2.0, 0.1, 0.3, k=0.5, theta_one=True).theta == 1.0


def test_without_strong_convexity_the_product_of_the_steps_stays_and_tau_grows():
    """tau_{t+1}^2 = tau_t^2 + alpha tau_t, alpha = gamma tau sigma; so alpha/2 per iteration."""
    loss, Lam = Logistic(), 3.0
    s = bpd_steps(loss, Lam, 0.0, 0.0, theta_one=False)
    assert s.accelerating
    assert s.tau * s.sigma * Lam == pytest.approx(1.0, **CLOSE)
    alpha = loss.gamma / Lam
    for _ in range(500):
        new = accelerate(s, loss.gamma)
        assert new.tau**2 == pytest.approx(s.tau**2 + alpha * s.tau, **CLOSE)
        assert new.tau * new.sigma * Lam == pytest.approx(1.0, rel=1e-12)  # 500 steps of rounding
        assert new.theta == pytest.approx(s.tau / new.tau, **CLOSE)
        s = new
    assert s.tau == pytest.approx(500 * alpha / 2, rel=0.02)


def test_accelerated_gradient_parameters():
    """Lf = L^2/(n gamma), s = sqrt(lambda/(Lf + lambda)), momentum (1 - s)/(1 + s)."""
    rng = np.random.default_rng(22)
    A = rng.standard_normal((20, 4))
    problem = Problem(A, np.sign(rng.standard_normal(20)), loss="logistic", l2=0.1)
    Lf = np.linalg.norm(A, 2) ** 2 / (20 * 4.0)
    s = math.sqrt(0.1 / (Lf + 0.1))
    steps = AGD(schedule="theorem").start(problem, None, None).state.own.steps
    expected = (1 / Lf, (1 - s) / (1 + s), 1 - s)
    assert (steps.tau, steps.theta, steps.rate) == pytest.approx(expected, rel=1e-10)
