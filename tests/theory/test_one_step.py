"""One step from every state at once: the inequality inside the proofs of Theorems 1 and 3.

With squared loss and b = 0 the saddle point is 0 and one iteration is a linear map T of the state
(x, x_prev, y). The proofs use the quadratic form

    Delta = (1/(2 tau) + lambda/2)|x|^2 + (1/(2 sigma) + 1/4) sum_i q_i y_i^2
            + y'QA(x - x_prev) + |x - x_prev|^2/(2 tau)

(gamma = 1; in Theorem 3 the dual term is (1/sigma + 1/2) B with B = sum_i q_i y_i^2/2: the same)
and show Delta_new + G_new <= theta Delta. The largest ratio over all states is the generalised
eigenvalue lambda_max(T'(Delta + G)T, Delta): exact, without seeds or trajectories. T is read off
our own code, one unit vector at a time.

Bounds along trajectories are weak tests: they let a wrong extrapolation and steps that are too long
pass. This one does not, as the negative controls show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

from dualgap.algorithms import BPD, DFBPD
from dualgap.algorithms.primal_dual.bpd import bpd_step
from dualgap.algorithms.primal_dual.df_bpd import df_bpd_step
from dualgap.algorithms.primal_dual.state import update

from .runs import iterations_until
from .spectra import case

N = 9
ROUNDING = 1e-9


def random_case(seed, *, kappa, l2):
    """Squared loss, b = 0: weights on every third problem, lambda > 0 on every other."""
    rng = np.random.default_rng(seed)
    return case(
        seed,
        kappa=rng.uniform(*kappa),
        conditioning=1.0,
        l2=10.0 ** rng.uniform(*l2) if seed % 2 else 0.0,
        weighted=seed % 3 == 0,
        n=N,
        d=2 + seed % 4,
        b=np.zeros(N),
    )


class OneStep:
    """The proof's inequality for one problem and one algorithm."""

    def __init__(self, c, algorithm):
        self.A, self.problem = c.A, c.problem
        self.d = c.A.shape[1]
        self.first = algorithm.start(c.problem, np.zeros(self.d), np.zeros(N)).state
        self.step = bpd_step if algorithm.name == "bpd" else df_bpd_step
        self.steps = self.first.own.steps
        self.theta = self.steps.rate

    def after(self, state, steps):
        """(x, x_prev, y) after one iteration of our code from (x, x_prev, y)."""
        x, x_prev, y = np.split(state, [self.d, 2 * self.d])
        z = self.A @ x
        new = self.step(
            self.problem,
            update(
                self.first,
                x=x,
                y=y,
                v=None if self.first.own.v is None else y,  # phi'(v) = v
                z=z,
                zt=z + steps.theta * (z - self.A @ x_prev),
                u=self.problem.adjoint(y),
                steps=steps,
            ),
        )
        # What the next iteration will see is the extrapolation that this one starts from.
        np.testing.assert_allclose(
            new.own.zt,
            self.A @ (new.x + steps.theta * (new.x - x)),
            atol=1e-12 * (1 + self.A.max()),
        )
        return np.concatenate([new.x, x, new.y])

    def linear_map(self, steps):
        size = 2 * self.d + N
        T = np.column_stack([self.after(e, steps) for e in np.eye(size)])
        e = np.random.default_rng(0).standard_normal(size)
        np.testing.assert_allclose(self.after(e, steps), T @ e, atol=1e-12 * np.abs(T).max() * size)
        return T

    def forms(self):
        """Delta, G and V as matrices, with the theorem's tau and sigma."""
        tau, sigma, lam = self.steps.tau, self.steps.sigma, self.problem.l2
        x, x_prev, y = np.split(np.eye(2 * self.d + N), [self.d, 2 * self.d])
        move = x - x_prev
        Q = np.diag(self.problem.q)
        xx, yy, mm, ym = x.T @ x, y.T @ Q @ y, move.T @ move, y.T @ Q @ self.A @ move
        primal = 1 / (2 * tau) + lam / 2
        Delta = primal * xx + (1 / (2 * sigma) + 1 / 4) * yy + (ym + ym.T) / 2 + mm / (2 * tau)
        G = lam / 2 * xx + yy / 2
        V = primal * xx + yy / 4
        return Delta, G, V

    def worst(self, **changes):
        """lambda_max(Delta_new + G_new, Delta)/theta, with some of tau, sigma, theta changed."""
        T = self.linear_map(replace(self.steps, **changes))
        Delta, G, _ = self.forms()
        return scipy.linalg.eigh(T.T @ (Delta + G) @ T, Delta, eigvals_only=True)[-1] / self.theta

    def longer(self, factor):
        return self.worst(tau=factor * self.steps.tau, sigma=factor * self.steps.sigma)

    def worst_start(self):
        """max over t >= 1 and over all starts (x_0, y_0) of V_t/(theta^t C)."""
        T = self.linear_map(self.steps)
        _, _, V = self.forms()
        start = np.zeros((2 * self.d + N, self.d + N))
        start[: self.d, : self.d] = start[self.d : 2 * self.d, : self.d] = np.eye(self.d)
        start[2 * self.d :, self.d :] = np.eye(N)
        C = start.T @ V @ start
        C[self.d :, self.d :] += np.diag(self.problem.q) / (2 * self.steps.sigma)
        worst, state = 0.0, start
        for t in range(1, iterations_until(self.theta, 1e-12) + 1):
            state = T @ state
            top = scipy.linalg.eigh(state.T @ V @ state, C, eigvals_only=True)[-1]
            worst = max(worst, top / self.theta**t)
        return worst


def bpd(seed, l2=(-3.0, -0.5)):
    c = random_case(seed, kappa=(1.5, 8.0), l2=l2)
    return OneStep(c, BPD(mu=c.mu, schedule="theorem"))


def df_bpd(seed, schedule):
    c = random_case(seed, kappa=(1.2, 3.0), l2=(-3.0, -0.5))
    return OneStep(c, DFBPD(mu=c.mu, schedule=schedule))


SEEDS = range(40)
SCHEDULES = pytest.mark.parametrize("schedule", ["theorem", None], ids=["k=1/2", "k=proved"])


def test_theorem1_holds_in_one_step_from_every_state():
    worst = [bpd(seed).worst() for seed in SEEDS]
    assert max(worst) <= 1 + ROUNDING
    # Sharp: where theta = theta_x it is attained to a few parts in a thousand.
    assert np.median(worst) > 0.99


@SCHEDULES
def test_theorem3_holds_in_one_step_from_every_state(schedule):
    worst = [df_bpd(seed, schedule).worst() for seed in SEEDS]
    assert max(worst) <= 1 + ROUNDING
    assert np.median(worst) > 0.9


def test_theorem1_holds_from_every_start():
    worst = [bpd(seed).worst_start() for seed in SEEDS[:6]]
    assert max(worst) <= 1 + ROUNDING
    assert min(worst) > 0.3


@SCHEDULES
def test_theorem3_holds_from_every_start(schedule):
    worst = [df_bpd(seed, schedule).worst_start() for seed in SEEDS[:6]]
    assert max(worst) <= 1 + ROUNDING
    assert min(worst) > 0.3


# ---- negative controls: what is wrong must be seen, on every problem ----


@pytest.mark.parametrize("extrapolation", [0.0, 1.5])
def test_a_wrong_extrapolation_is_seen(extrapolation):
    assert min(bpd(seed).worst(theta=extrapolation) for seed in SEEDS) > 1.0001


def test_steps_too_long_are_seen():
    assert min(bpd(seed).longer(1.5) for seed in SEEDS) > 1.0001


def test_claiming_theta_squared_is_seen():
    assert min(b.worst() / b.theta for b in map(bpd, SEEDS)) > 1.0001


def test_claiming_theta_to_the_1_2_is_seen():
    """Where theta = theta_x. (If theta_y decides, the worst state is y with A'Qy = 0, which
    contracts by theta_y (1 + 3 sigma/2)/(1 + sigma)^2, about theta_y^2: the claim may be true.)
    """
    problems = [bpd(seed, l2=(-4.0, -2.0)) for seed in SEEDS]
    decided_by_x = [b for b in problems if b.theta > 1 / (1 + b.steps.sigma / 2) + 1e-12]
    assert len(decided_by_x) >= 30
    assert min(b.worst() / b.theta**0.2 for b in decided_by_x) > 1.0001


@SCHEDULES
def test_theorem3_sees_wrong_extrapolation_and_steps(schedule):
    """Its inequalities are slacker: theta = 0 or 1.5 and steps x 1.5 may pass, these do not.

    (Twice the steps of k = 1/2 are the printed ones: unproved, and not shown by this Delta.)
    """
    problems = [df_bpd(seed, schedule) for seed in SEEDS]
    assert min(b.worst(theta=2.0) for b in problems) > 1.0001
    assert min(b.longer(2.0) for b in problems) > 1.0001
    assert min(b.worst(tau=2.0 * b.steps.tau) for b in problems) > 1.0001
    assert min(b.worst(sigma=2.0 * b.steps.sigma) for b in problems) > 1.0001
