"""Theorem 2 (SPDC). With probabilities p, weights q, R^2 = max |a_i|^2 q_i/p_i and
m = lambda + delta M,

    tau = (1/4R) sqrt(gamma/(n m)),  sigma = (1/4R) sqrt(n m/gamma),  theta = max(theta_x, theta_y)

    V_t = (1/(2 tau) + lambda/2)|x_t - x*|^2 + (gamma/4) sum_i (q_i/p_i)(y_ti - y_i*)^2
    C   = the same at t = 0 with 1/(2 sigma) + gamma/4 instead of gamma/4
    G_t = [L(x_t, y*) - L*] + sum_i (q_i/p_i) D_phi*(y_ti, y_i*)

    E V_t <= theta^t C,      E G_t <= theta^t (C + G_0)

One t is one row. For p = q = 1/n these are sums over the rows, not means, and the sum in G_t is
n [L* - L(x*, y_t)]: the second line implies E [L(x_t, y*) - L(x*, y_t)] <= theta^t (C + G_0), where
the paper prints C alone, which is false.

Three tests of it: the mean over seeds, from some starts; for squared loss the expectation itself,
from the worst start; and the inequality inside the proof, one step from the worst state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.linalg

from dualgap.algorithms import SPDC
from dualgap.algorithms.contract import NO_ADVICE
from dualgap.algorithms.primal_dual.marshalling import NONE, prox_with, steps_of
from dualgap.kernels import points, values
from dualgap.kernels.epoch import run_epoch

from .reference import newton, saddle_at
from .runs import partners, powers, starts
from .spectra import case, planted_lasso

N = 12
SEEDS = 400
# Later the expectation lives on the rare seeds that have not drawn some row in so many passes,
# and a sample of 400 does not contain them.
PASSES = 5
ROUNDING = 1e-9

HOW = pytest.mark.parametrize("how", ["uniform", "weights", "importance", "weights, importance"])
PROBLEMS = pytest.mark.parametrize(
    ("conditioning", "l2"), [(1.0, 0.0), (0.2, 0.02), (0.02, 1.0)], ids=["l2=0", "small l2", "l2"]
)


def options(how):
    return {"sampling": "importance" if "importance" in how else "uniform"}


def parameters(c, p, *, dual_free=False):
    """tau, sigma, theta by equations (9), (10), (15), (16) for general p; MATH.md section 4(a)."""
    q, n, loss = c.problem.q, c.problem.n, c.problem.loss
    gamma, delta, lam = loss.gamma, loss.delta, c.problem.l2
    R = max(math.sqrt(c.A[i] @ c.A[i] * q[i] / p[i]) for i in range(n))
    tau = math.sqrt(gamma / (n * (lam + delta * c.M))) / (4 * R)
    sigma = math.sqrt(n * (lam + delta * c.M) / gamma) / (4 * R) * (gamma if dual_free else 1)
    weak = 4 + 2 * sigma if dual_free else 2 * (sigma + 4 * delta)
    theta_x = (1 - tau * sigma * delta * c.M / weak) / (1 + tau * lam)
    s = sigma / 2 if dual_free else sigma * gamma / 2
    theta_y = max((1 + (1 - pi) * s) / (1 + s) for pi in p)
    return tau, sigma, max(theta_x, theta_y)


# ---- the mean over seeds ----


@dataclass(frozen=True)
class Sample:
    """Iterates of shape (seeds, updates + 1, coordinates)."""

    X: np.ndarray
    Y: np.ndarray
    V: np.ndarray


def kernel(problem, steps, ratio, x, old, u, y, v, *, dual_free):
    """A function of an array of rows: the compiled loop, which writes to the state arrays."""
    g, loss = problem.regularizer, problem.loss
    rule = values.FREE if dual_free else values.PROX
    l1, l2 = np.append(g.l1, 0.0), np.append(g.l2, 0.0)
    rest = (
        values.Targets(problem.b, np.zeros(problem.n), problem.q, ratio),
        values.ScalarLoss(loss.code, loss.parameter),
        steps_of(steps.sigma, steps.theta, rule),
        points.Vectors(x, old, u, prox_with(steps.tau, l1, l2, 1, dense=True)),
        values.Dual(y, v, NONE, NONE),
    )
    data = values.Dense(problem.design.rows().dense, 0.0)
    return lambda rows: run_epoch(data, rows, *rest)


def simulate(algorithm, problem, x0, y0):
    """The algorithm's own start, parameters and streams, update by update."""
    first = algorithm.start(problem, x0, y0).state
    T = PASSES * problem.n
    run = Sample(*(np.empty((SEEDS, T + 1, size)) for size in (problem.size, N, N)))
    for seed in range(SEEDS):
        sampler = replace(algorithm, seed=seed).sampler(problem)
        stream = np.concatenate([sampler.rows(epoch) for epoch in range(PASSES)])
        x, u, y = first.x.copy(), first.u.copy(), first.y.copy()
        v = first.own.v.copy() if algorithm.dual_free else np.zeros(N)
        state = (x, x.copy(), u, y, v)
        update = kernel(
            problem, first.own.steps, sampler.ratio, *state, dual_free=algorithm.dual_free
        )
        for t in range(T + 1):
            run.X[seed, t], run.Y[seed, t], run.V[seed, t] = x, y, v
            update(stream[t : t + 1])  # after the last there is none
    return run


def above(values, bound):
    """max over t of (mean - 3 standard errors)/bound."""
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1)
    return float(((mean - 3 * spread / math.sqrt(len(values))) / bound).max())


def lagrangian(saddle, X, V, *dual_weights):
    """[L(x, y*) - L*] + sum_i weight_i D_phi*(y_i, y_i*), y = phi'(v), for each of the weights."""
    primal = saddle.regularizer_part(X).astype(float)
    dual = saddle.phi.bregman(saddle.z, V).astype(float)
    return [primal + dual @ weights for weights in dual_weights]


def weighted_squares(saddle, Y, dual_weights):
    """sum_i weight_i (y_i - y_i*)^2."""
    return (Y - saddle.y.astype(float)) ** 2 @ dual_weights


def ratios(algorithm, problem, saddle, x0, y0):
    """E V_t/(theta^t C) for t >= 1, E G_t/(theta^t (C + G_0)); and the second line as printed."""
    run = simulate(algorithm, problem, x0, y0)
    steps = algorithm.start(problem, x0, y0).state.own.steps
    ratio = algorithm.sampler(problem).ratio
    gamma = problem.loss.gamma
    primal = 1 / (2 * steps.tau) + problem.regularizer.strong_convexity / 2
    x = saddle.primal_distance(run.X).astype(float)
    y = weighted_squares(saddle, run.Y, ratio)
    C = primal * x[0, 0] + (1 / (2 * steps.sigma) + gamma / 4) * y[0, 0]
    V = partners(problem, saddle, run.Y.reshape(-1, N)).reshape(run.Y.shape)
    G, printed = lagrangian(saddle, run.X, V, ratio, problem.q)
    decay = powers(steps.theta, x.shape[1]).astype(float)
    return (
        above((primal * x + gamma / 4 * y)[:, 1:], C * decay[1:]),
        above(G, (C + G[0, 0]) * decay),
        above(printed[:, 1:], C * decay[1:]),
    )


def check(measure, algorithm, problem, saddle, points):
    """Both lines from each start; not vacuous: from some start V_t comes near its bound."""
    worst = 0.0
    for name, (x0, y0) in points.items():
        V, G, _ = measure(algorithm, problem, saddle, x0, y0)
        assert V <= 1 + ROUNDING, name
        assert G <= 1 + ROUNDING, name
        worst = max(worst, V)
    assert worst > 0.3


def some_starts(c, saddle):
    points = starts(c, saddle)
    return {name: points[name] for name in ("slow x", "random")}


@HOW
@PROBLEMS
def test_in_the_mean(how, conditioning, l2):
    c = case(21, kappa=3.0, conditioning=conditioning, l2=l2, weighted="weights" in how, n=N)
    saddle = newton(c.problem)
    algorithm = SPDC(mu=c.mu, schedule="theorem", **options(how))
    check(ratios, algorithm, c.problem, saddle, some_starts(c, saddle))


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_in_the_mean_with_l1(l2):
    c, x = planted_lasso(22, np.geomspace(0.2, 1.0, 6), l1=0.1, l2=l2, n=N, weighted=True)
    saddle = saddle_at(c.problem, x)
    algorithm = SPDC(mu=c.mu, schedule="theorem", sampling="importance")
    check(ratios, algorithm, c.problem, saddle, some_starts(c, saddle))


def test_second_line_as_printed_is_false():
    """D_phi*(y_0, y*) is up to |y_0 - y*|^2/(2 delta); a row keeps it until it is drawn."""
    c = case(23, kappa=3.0, conditioning=0.01, l2=3.0, n=N)
    saddle = newton(c.problem)
    x, y = saddle.x.astype(float), saddle.y.astype(float)
    _, G, printed = ratios(SPDC(mu=c.mu, schedule="theorem"), c.problem, saddle, x, y - 3.0)
    assert printed > 1.5
    assert 0.3 < G <= 1 + ROUNDING


class TenTimesAsLong(SPDC):
    """A mistake: tau and sigma ten times Theorem 2's, with its theta."""

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


# ---- squared loss, b = 0: the state (x, x_prev, y) moves linearly, expectations are exact ----


class Linear:
    """One algorithm on one problem: a linear map T_k for each row k, read off the kernel."""

    def __init__(self, c, algorithm):
        self.A, self.problem, self.algorithm = c.A, c.problem, algorithm
        self.n, self.d = c.A.shape
        sampler = algorithm.sampler(c.problem)
        self.p, self.ratio = sampler.p, sampler.ratio
        self.steps = algorithm.start(c.problem, np.zeros(self.d), np.zeros(self.n)).state.own.steps
        self.theta = self.steps.theta

    def after(self, k, state, steps):
        """(x, x_prev, y) after a visit to row k."""
        x, old, y = (part.copy() for part in np.split(state, [self.d, 2 * self.d]))
        u, v = self.problem.adjoint(y), y.copy()  # phi'(v) = v
        dual_free = self.algorithm.dual_free
        kernel(self.problem, steps, self.ratio, x, old, u, y, v, dual_free=dual_free)(np.array([k]))
        np.testing.assert_allclose(u, self.problem.adjoint(y), rtol=0, atol=1e-13)
        return np.concatenate([x, old, y])

    def maps(self, steps):
        unit = np.eye(2 * self.d + self.n)
        return np.array(
            [np.column_stack([self.after(k, e, steps) for e in unit]) for k in range(self.n)]
        )

    def averaged(self, T, form):
        """The form after one step, in expectation: sum_k p_k T_k' form T_k."""
        return np.tensordot(self.p, T.transpose(0, 2, 1) @ form @ T, axes=1)

    def form(self, xx=0.0, yy=0.0, move=0.0, cross=0.0):
        """xx |x|^2 + yy sum_i (q_i/p_i) y_i^2 + move |x - x_prev|^2 + cross y'QA(x - x_prev)."""
        x, x_prev, y = np.split(np.eye(2 * self.d + self.n), [self.d, 2 * self.d])
        dx, weighted = x - x_prev, self.ratio[:, None] * y
        product = y.T @ (self.problem.q[:, None] * self.A) @ dx
        both = cross / 2 * (product + product.T)
        return xx * x.T @ x + yy * y.T @ weighted + move * dx.T @ dx + both

    def proof(self):
        """The proof's quadratic form, and G, which goes with it in the second line."""
        tau, sigma, lam = self.steps.tau, self.steps.sigma, self.problem.l2
        primal, dual = 1 / (2 * tau) + lam / 2, 1 / (2 * sigma) + 1 / 4
        Delta = self.form(xx=primal, yy=dual, move=3 / (8 * tau), cross=1.0)
        return Delta, self.form(xx=lam / 2, yy=1 / 2)

    def worst_state(self, *, with_G=False, longer=1.0):
        """lambda_max(E Delta_new, Delta), with longer steps if one likes."""
        tau, sigma = longer * self.steps.tau, longer * self.steps.sigma
        Delta, G = self.proof()
        Delta = Delta + G if with_G else Delta
        new = self.averaged(self.maps(replace(self.steps, tau=tau, sigma=sigma)), Delta)
        return scipy.linalg.eigh(new, Delta, eigvals_only=True)[-1]

    def worst_start(self, primal, dual, dual_at_start, small=1e-12):
        """max over t = 1, 2, ..., 16, 32, 64, ... and all starts of E V_t/(theta^t C).

        Until theta^t < small. V_t as a quadratic form of the start is K^t V, with K a matrix that
        acts on the entries of a form, so that squaring doubles t.
        """
        size = 2 * self.d + self.n
        K = sum(p * np.kron(T, T) for p, T in zip(self.p, self.maps(self.steps), strict=True)).T
        K /= self.theta
        start = np.zeros((size, self.d + self.n))
        start[: self.d, : self.d] = start[self.d : 2 * self.d, : self.d] = np.eye(self.d)
        start[2 * self.d :, self.d :] = np.eye(self.n)
        C = start.T @ self.form(xx=primal, yy=dual_at_start) @ start
        V = self.form(xx=primal, yy=dual).ravel()
        worst, t, now = 0.0, 1, K
        while self.theta**t > small:
            after = start.T @ (now @ V).reshape(size, size) @ start
            worst = max(worst, scipy.linalg.eigh(after, C, eigvals_only=True)[-1])
            t, now = (t + 1, now @ K) if t < 16 else (2 * t, now @ now)
        return worst


def random_case(seed, how="uniform", l2=(-3.0, 0.5)):
    """Squared loss, b = 0, 9 rows; lambda > 0 on every other problem."""
    rng = np.random.default_rng(seed)
    return case(
        seed,
        kappa=rng.uniform(1.2, 5.0),
        conditioning=1.0,
        l2=10.0 ** rng.uniform(*l2) if seed % 2 else 0.0,
        weighted="weights" in how,
        d=2 + seed % 4,
        b=np.zeros(9),
    )


def spdc(seed, how="uniform"):
    c = random_case(seed, how)
    return Linear(c, SPDC(mu=c.mu, schedule="theorem", **options(how)))


@HOW
@pytest.mark.parametrize("conditioning", [1.0, 0.2])
def test_parameters(how, conditioning):
    for seed in range(10):
        weighted = "weights" in how
        c = case(seed, kappa=2.0, conditioning=conditioning, l2=0.1 * (seed % 3), weighted=weighted)
        algorithm = SPDC(mu=c.mu, schedule="theorem", **options(how))
        steps = algorithm.start(c.problem, None, None).state.own.steps
        expected = parameters(c, algorithm.sampler(c.problem).p)
        assert (steps.tau, steps.sigma, steps.theta) == pytest.approx(expected, rel=1e-12)
        assert steps.rate == pytest.approx(steps.theta**c.problem.n, rel=1e-12)  # of a pass


@HOW
def test_one_step_from_every_state(how):
    """The form shrinks by theta or more, with and without G; 1 - theta is 4e-5 and more."""
    for run in (spdc(seed, how) for seed in range(20)):
        assert run.worst_state() <= run.theta * (1 + 1e-12)
        assert run.worst_state(with_G=True) <= run.theta * (1 + 1e-12)


@HOW
def test_expectation_from_every_start(how):
    for run in (spdc(seed, how) for seed in range(1, 6)):
        primal = 1 / (2 * run.steps.tau) + run.problem.l2 / 2
        worst = run.worst_start(primal, 1 / 4, 1 / (2 * run.steps.sigma) + 1 / 4)
        assert 0.3 < worst <= 1 + ROUNDING


# Of problems 0 to 29; the others have slack enough to absorb the mistake.
SHARP_IN_THE_STEPS = [2, 3, 4, 6, 9, 10, 11, 14, 17, 18, 22, 25, 26, 29]
SHARP_IN_THETA = [1, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 27, 29]


def test_steps_four_times_too_long_are_seen():
    """Negative control."""
    problems = map(spdc, SHARP_IN_THE_STEPS)
    assert min(run.worst_state(longer=4.0) / run.theta for run in problems) > 1.0001


def test_claiming_theta_to_the_fourth_is_seen():
    """Negative control."""
    assert min(run.worst_state() / run.theta**4 for run in map(spdc, SHARP_IN_THETA)) > 1.0001


# ---- Zhang & Xiao (2015), what `spdc` runs when only lambda is known ----


@HOW
def test_zhang_xiao_expectation_from_every_start(how):
    """(1/(2 tau) + lambda) E|x - x*|^2 + (1/(4 sigma) + gamma) E|y - y*|^2 <= theta^t times the
    same at t = 0 with 1/(2 sigma); squared loss.
    """
    for seed in (1, 3, 5, 7):
        c = random_case(seed, how)
        run = Linear(c, SPDC(**options(how)))
        tau, sigma = run.steps.tau, run.steps.sigma
        assert tau * sigma == pytest.approx(1 / (4 * run.algorithm.sampler(c.problem).R ** 2))
        primal = 1 / (2 * tau) + c.problem.l2
        worst = run.worst_start(primal, 1 / (4 * sigma) + 1, 1 / (2 * sigma) + 1)
        assert 0.3 < worst <= 1 + ROUNDING, seed


@HOW
def test_zhang_xiao_in_the_mean(how):
    """Logistic loss, where gamma = 4."""
    b = np.where(np.random.default_rng(25).random(N) < 0.5, 1.0, -1.0)
    c = case(25, kappa=3.0, conditioning=0.0, l2=0.3, weighted="weights" in how, n=N, b=b)
    problem, saddle = c.problem, newton(c.problem)
    algorithm = SPDC(**options(how))
    steps = algorithm.start(problem, None, None).state.own.steps
    ratio = algorithm.sampler(problem).ratio
    for x0 in (np.zeros(c.A.shape[1]), saddle.x.astype(float) + 3.0):
        run = simulate(algorithm, problem, x0, None)
        x = saddle.primal_distance(run.X).astype(float)
        y = weighted_squares(saddle, run.Y, ratio)
        primal = 1 / (2 * steps.tau) + problem.l2
        V = primal * x + (1 / (4 * steps.sigma) + 4) * y
        C = primal * x[0, 0] + (1 / (2 * steps.sigma) + 4) * y[0, 0]
        bound = C * powers(steps.theta, V.shape[1]).astype(float)
        assert above(V[:, 1:], bound[1:]) <= 1 + ROUNDING
