"""The algorithms against a naive transcription of the paper: lists, loops and its letters.

Nothing here comes from the package but the problem's data. Written from Algorithms 1, 2, 3, 4 and
6, Theorems 1 and 3, and Nesterov's method; n, L, mu, lambda, gamma, delta are the paper's, sigma
is the step of one sample. Where the paper leaves something open, what the package documents is
written down with the word "open".
"""

from math import copysign, exp, inf, log, log1p, sqrt

import numpy as np
import pytest

from dualgap.adaptation import Curvature, Robust, Simple
from dualgap.algorithms import ADFBPD, AGD, BPD, DFBPD, AdaBPD

from .runs import PENALTIES, assert_same, data, problem, states

ITERATIONS = 60
START = 0.3
"""The first estimate of delta mu^2/n in the adaptive runs."""


# ---- the losses ----


class Squared:
    gamma, delta = 1.0, 1.0

    def value(self, z, b):
        return (z - b) ** 2 / 2

    def slope(self, z, b):
        return z - b

    def conjugate(self, y, b):
        return y * y / 2 + b * y

    def prox(self, v, s, b):
        return (v - s * b) / (1 + s)

    def start(self, b):
        return b


class Logistic:
    gamma, delta = 4.0, 0.0

    def value(self, z, b):
        m = b * z
        return log1p(exp(-abs(m))) + max(-m, 0.0)

    def slope(self, z, b):
        return -b * sigmoid(-b * z)

    def conjugate(self, y, b):
        p = -b * y
        return sum(k * log(k) for k in (p, 1 - p) if k > 0)

    def prox(self, v, s, b):
        """s t + sigmoid(t) = -b v by bisection; y = -b sigmoid(t)."""
        low, high = (-b * v - 1) / s, -b * v / s
        while low < (t := (low + high) / 2) < high:
            low, high = (low, t) if s * t + sigmoid(t) > -b * v else (t, high)
        return -b * sigmoid(t)

    def start(self, b):
        return 0.0


def sigmoid(t):
    e = exp(-abs(t))
    return 1 / (1 + e) if t >= 0 else e / (1 + e)


# ---- the problem ----


class Paper:
    """P, D and the verbs that the algorithms are written in."""

    def __init__(self, loss, penalty, Lam=None):
        A, b = data(loss)
        self.a, self.b = A.tolist(), b.tolist()
        self.n, self.d = A.shape
        self.loss = {"squared": Squared(), "logistic": Logistic()}[loss]
        self.l1 = PENALTIES[penalty].get("l1", 0.0)
        self.lam = PENALTIES[penalty].get("l2", 0.0)
        self.L = np.linalg.norm(A, 2) if Lam is None else sqrt(self.n * Lam)
        self.mu = np.linalg.norm(A, -2)
        self.best = None
        if loss == "squared" and penalty == "none":
            x = np.linalg.lstsq(A, b, rcond=None)[0]
            self.best = float(np.mean((A @ x - b) ** 2) / 2)

    def Ax(self, x):
        return [sum(aij * xj for aij, xj in zip(ai, x, strict=True)) for ai in self.a]

    def ATy(self, y):
        """(1/n) A'y."""
        columns = range(self.d)
        return [sum(self.a[i][j] * y[i] for i in range(self.n)) / self.n for j in columns]

    def prox_g(self, v, tau):
        soft = [copysign(max(abs(w) - tau * self.l1, 0.0), w) for w in v]
        return [w / (1 + tau * self.lam) for w in soft]

    def P(self, x):
        losses = [self.loss.value(z, b) for z, b in zip(self.Ax(x), self.b, strict=True)]
        return sum(losses) / self.n + sum(self.l1 * abs(w) + self.lam / 2 * w * w for w in x)

    def D(self, y):
        conjugates = [self.loss.conjugate(k, b) for k, b in zip(y, self.b, strict=True)]
        if self.lam == 0:
            return -inf
        over = [max(abs(k) - self.l1, 0.0) for k in self.ATy(y)]
        return -sum(conjugates) / self.n - sum(k * k for k in over) / (2 * self.lam)

    def gap(self, x, y):
        """P - D. Open without regulariser: P - P* for squared loss, else what vanishes with it."""
        if self.lam > 0:
            return self.P(x) - self.D(y)
        if self.best is not None:
            return self.P(x) - self.best
        rows = zip(self.Ax(x), y, self.b, strict=True)
        parts = [self.loss.value(z, b) + self.loss.conjugate(k, b) - k * z for z, k, b in rows]
        smoothness = self.L**2 / self.n / self.loss.gamma
        return sum(parts) / self.n + sum(k * k for k in self.ATy(y)) / (2 * smoothness)


# ---- parameters ----


def theorem_1(p, Delta):
    """(7), (8): tau, sigma, theta, and the rate that Algorithms 3 and 4 expect."""
    n, L, lam, gamma, delta = p.n, p.L, p.lam, p.loss.gamma, p.loss.delta
    tau = n / L * sqrt(gamma / (n * lam + n * Delta))
    sigma = sqrt((n * lam + n * Delta) / gamma) / L
    known = delta > 0 or Delta == 0
    # Open: (8) needs delta. Where it is 0, extrapolate with 1 and predict with 1/gamma.
    delta = delta or 1 / gamma
    theta_x = (1 - tau * sigma * Delta / (delta + 2 * sigma)) / (1 + tau * lam)
    theta_y = 1 / (1 + sigma * gamma / 2)
    rate = max(theta_x, theta_y)
    return tau, sigma, rate if known else 1.0, rate


def theorem_3(p, Delta, k):
    """(13), (14) with steps k/L."""
    n, L, lam, gamma = p.n, p.L, p.lam, p.loss.gamma
    tau = k * n / L * sqrt(gamma / (n * lam + n * Delta))
    sigma = k / L * sqrt(gamma * (n * lam + n * Delta))
    theta_x = (1 - tau * sigma * Delta / (4 + 2 * sigma)) / (1 + tau * lam)
    rate = max(theta_x, 1 / (1 + sigma / 2))
    return tau, sigma, rate, rate


# ---- Algorithms 1 and 6, and 2 around them ----


def primal_dual(p, iterations, parameters, dual_free=False, Delta=0.0, rule=None):
    """Yield x, y, Delta, tau, sigma, theta at the start and after every iteration."""
    x = [0.0] * p.d
    xt = x
    v = [p.loss.start(b) for b in p.b]
    y = [p.loss.slope(k, b) for k, b in zip(v, p.b, strict=True)]
    accelerating = p.lam + Delta == 0
    if accelerating:  # Chambolle & Pock; open: where the steps start
        k = parameters(p, 1.0)[0] / sqrt(p.loss.gamma * p.n) * p.L  # 1, or the factor of Alg. 6
        tau, sigma = k * k * p.loss.gamma * p.n / p.L**2, 1.0 if dual_free else 1 / p.loss.gamma
        theta, rate = 1.0, 1.0
    else:
        tau, sigma, theta, rate = parameters(p, Delta)
    if rule is not None:
        rule.begin(p, x, y, rate)
    yield x, y, Delta, tau, sigma, theta
    for t in range(iterations):
        z = p.Ax(xt)
        if dual_free:
            v = [(vi + sigma * zi) / (1 + sigma) for vi, zi in zip(v, z, strict=True)]
            y = [p.loss.slope(vi, bi) for vi, bi in zip(v, p.b, strict=True)]
        else:
            rows = zip(y, z, p.b, strict=True)
            y = [p.loss.prox(yi + sigma * zi, sigma, bi) for yi, zi, bi in rows]
        u = p.ATy(y)
        new = p.prox_g([xj - tau * uj for xj, uj in zip(x, u, strict=True)], tau)
        if accelerating:
            theta = 1 / sqrt(1 + (1.0 if dual_free else p.loss.gamma) * sigma)
            tau, sigma = tau / theta, sigma * theta
        xt = [nj + theta * (nj - xj) for nj, xj in zip(new, x, strict=True)]
        x = new
        if rule is not None and (t + 1) % rule.T == 0:
            Delta = rule.adapt(p, x, y, Delta, rate)
            tau, sigma, theta, rate = parameters(p, Delta)
            theta = 1.0 if rule.theta_one else theta
        yield x, y, Delta, tau, sigma, theta


class Algorithm3:
    T, theta_one = 10, False
    rtol = 1e-12  # powers of two

    def begin(self, p, x, y, rate):
        self.gap = p.gap(x, y)

    def adapt(self, p, x, y, Delta, rate):
        old, self.gap = self.gap, p.gap(x, y)
        # mu-hat times or over sqrt(2)
        return 2 * Delta if self.gap < rate**self.T * old else Delta / 2


class Algorithm4:
    T, theta_one = 10, False
    rtol = 1e-12
    c_low, c_high = 0.95, 1.5

    def begin(self, p, x, y, rate):
        self.gap = p.gap(x, y)
        self.rho = rate**self.T  # open: where rho starts

    def adapt(self, p, x, y, Delta, rate):
        old, self.gap = self.gap, p.gap(x, y)
        rho_hat = self.gap / old
        if rho_hat <= self.c_low * self.rho:
            self.rho = rho_hat
            return 2 * Delta
        if rho_hat >= self.c_high * self.rho:
            self.rho = rho_hat
            return Delta / 2
        return Delta


class CurvatureRule:
    T, theta_one = 4, True
    rtol = 1e-6  # the secant of two points that are 1e-9 apart: 7 digits left; x feels 1e-9 of it

    def begin(self, p, x, y, rate):
        self.x = x

    def adapt(self, p, x, y, Delta, rate):
        old, self.x = self.x, x
        dx = [a - b for a, b in zip(x, old, strict=True)]
        rows = list(zip(p.Ax(x), p.Ax(old), p.b, strict=True))
        ds = [p.loss.slope(z, b) - p.loss.slope(w, b) for z, w, b in rows]
        dz = [z - w for z, w, b in rows]
        # With the regulariser, and without its lambda: here the two are the same.
        c = sum(a * b for a, b in zip(ds, dz, strict=True)) / p.n / sum(k * k for k in dx)
        smoothness = p.L**2 / p.n / p.loss.gamma
        return sqrt(Delta * min(max(c, 1e-10 * smoothness), smoothness))


def nesterov(p, iterations):
    """Primal AG; open without strong convexity: beta = t/(t + 3)."""
    Lf = p.L**2 / p.n / p.loss.gamma
    s = sqrt(p.lam / (Lf + p.lam))
    x = xt = [0.0] * p.d
    yield x, [p.loss.slope(p.loss.start(b), b) for b in p.b], 0.0
    for t in range(iterations):
        y = [p.loss.slope(z, b) for z, b in zip(p.Ax(xt), p.b, strict=True)]
        u = p.ATy(y)
        new = p.prox_g([xj - uj / Lf for xj, uj in zip(xt, u, strict=True)], 1 / Lf)
        beta = (1 - s) / (1 + s) if s else t / (t + 3)
        xt = [nj + beta * (nj - xj) for nj, xj in zip(new, x, strict=True)]
        x = new
        yield x, y, 0.0


# ---- side by side ----

each_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)
RTOL = 1e-12
"""60 iterations of a stable recursion, each with sums of 30 terms: some 1e3 roundings."""


def assert_same_run(paper, rows, path, *, parameters=RTOL):
    rows = list(rows)
    assert path[-1].own.watch.rollbacks == 0
    assert_same([s.x for s in path], [r[0] for r in rows], RTOL, "x")
    assert_same([s.y for s in path], [r[1] for r in rows], RTOL, "y")
    if parameters is not None:
        assert_same([[s.own.Delta] for s in path], [[r[2]] for r in rows], parameters, "Delta")
        for k, name in ((3, "tau"), (4, "sigma"), (5, "theta")):
            found = [[getattr(s.own.steps, name)] for s in path]
            assert_same(found, [[r[k]] for r in rows], parameters, name)
    assert_same([[s.primal] for s in path], [[paper.P(r[0])] for r in rows], RTOL, "P")
    if paper.lam > 0:
        assert_same([[s.dual] for s in path], [[paper.D(r[1])] for r in rows], RTOL, "D")


@each_loss
@each_penalty
def test_algorithm_1(loss, penalty):
    paper = Paper(loss, penalty)
    path = states(BPD(), problem(loss, penalty), ITERATIONS)
    assert path[0].own.steps.accelerating == (penalty == "none")
    assert_same_run(paper, primal_dual(paper, ITERATIONS, theorem_1), path)


@each_penalty
def test_algorithm_1_with_mu(penalty):
    paper = Paper("squared", penalty)
    path = states(BPD(mu=paper.mu), problem("squared", penalty), ITERATIONS)
    Delta = paper.mu**2 / paper.n
    assert_same_run(paper, primal_dual(paper, ITERATIONS, theorem_1, Delta=Delta), path)


@each_loss
@each_penalty
@pytest.mark.parametrize("schedule", [None, "theorem"])
def test_algorithm_6(loss, penalty, schedule):
    small = problem(loss, penalty)
    paper = Paper(loss, penalty, small.constants.Lam.value if schedule else None)
    # The proof's 1/2, or the longest step that its inequalities allow.
    k = 0.5 if schedule else sqrt(2 / (4 + paper.loss.gamma * paper.loss.delta))
    path = states(DFBPD(schedule=schedule), small, ITERATIONS)

    def parameters(p, Delta):
        return theorem_3(p, Delta, k)

    rows = primal_dual(paper, ITERATIONS, parameters, dual_free=True)
    assert_same_run(paper, rows, path)


RULES = {
    "Algorithm 3": (Algorithm3, Simple(start=START)),
    "Algorithm 4": (Algorithm4, Robust(start=START)),
    "curvature": (CurvatureRule, Curvature(start=START)),
}


def adaptive(theorem, theta_one):
    """The parameters that an adaptive method starts from."""

    def parameters(p, Delta):
        tau, sigma, theta, rate = theorem(p, Delta)
        return tau, sigma, 1.0 if theta_one else theta, rate

    return parameters


@each_loss
@each_penalty
@pytest.mark.parametrize("rule", RULES)
def test_algorithm_2(loss, penalty, rule):
    written, packaged = RULES[rule]
    paper = Paper(loss, penalty)
    path = states(AdaBPD(adapt=packaged), problem(loss, penalty), ITERATIONS)
    assert len({s.own.Delta for s in path}) > 1  # it did adapt
    parameters = adaptive(theorem_1, written.theta_one)
    rows = primal_dual(paper, ITERATIONS, parameters, Delta=START, rule=written())
    assert_same_run(paper, rows, path, parameters=written.rtol)


@each_loss
@each_penalty
@pytest.mark.parametrize("rule", RULES)
def test_algorithm_2_around_algorithm_6(loss, penalty, rule):
    written, packaged = RULES[rule]
    paper = Paper(loss, penalty)
    path = states(ADFBPD(adapt=packaged), problem(loss, penalty), ITERATIONS)
    assert len({s.own.Delta for s in path}) > 1
    parameters = adaptive(lambda p, Delta: theorem_3(p, Delta, 1.0), written.theta_one)
    rows = primal_dual(paper, ITERATIONS, parameters, dual_free=True, Delta=START, rule=written())
    assert_same_run(paper, rows, path, parameters=written.rtol)


@each_loss
@each_penalty
def test_primal_ag(loss, penalty):
    paper = Paper(loss, penalty)
    path = states(AGD(), problem(loss, penalty), ITERATIONS)
    assert_same_run(paper, nesterov(paper, ITERATIONS), path, parameters=None)
