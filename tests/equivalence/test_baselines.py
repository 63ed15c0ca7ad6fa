"""SAGA, SVRG and Katyusha against transcriptions in plain Python, and against the optimum.

The transcriptions follow the papers line by line, with loops over rows and coordinates, their own
losses, steps, probabilities and (for Katyusha) the literal weights (1 + alpha lambda)^j and Option
II as printed. They share nothing with the package but the index stream.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualgap
from dualgap import Problem, Status
from dualgap.algorithms import SAGA, SVRG, Katyusha
from dualgap.kernels.katyusha import FEW, Mix, catch_up, tables
from dualgap.losses import LOSSES, Huber, SmoothedHinge, StrongLogistic

CLOSE = 1e-12
SCALAR = [name for name, loss in LOSSES.items() if loss.code >= 0 and not loss.is_vector]
BASELINES = {"saga": SAGA, "svrg": SVRG, "katyusha": Katyusha}
STEPS = 4

every_baseline = pytest.mark.parametrize("name", BASELINES)


# ---- the transcriptions ----


def expit(t):
    return 1 / (1 + math.exp(-t)) if t >= 0 else math.exp(t) / (1 + math.exp(t))


def clip(v, low, high):
    return min(max(v, low), high)


PHI_PRIME = {
    "squared": lambda z, b, _: z - b,
    "logistic": lambda z, b, _: -b * expit(-b * z),
    "smoothed_hinge": lambda z, b, h: -b * clip((1 - b * z) / h, 0, 1),
    "squared_hinge": lambda z, b, _: -b * max(0, 1 - b * z),
    "huber": lambda z, b, e: clip(z - b, -e, e),
    "strong_logistic": lambda z, b, k: -b * expit(-b * z) + k * z,
}
SMOOTHNESS = {
    "squared": lambda _: 1,
    "logistic": lambda _: 1 / 4,
    "smoothed_hinge": lambda h: 1 / h,
    "squared_hinge": lambda _: 1,
    "huber": lambda _: 1,
    "strong_logistic": lambda k: 1 / 4 + k,
}


def prox(v, tau, l1, l2):
    return math.copysign(max(abs(v) - tau * l1, 0.0), v) / (1 + tau * l2)


class Plain:
    """The problem, written out: the intercept is a column of A without penalty."""

    def __init__(self, problem, A, sampling):
        constant = [problem.design.scale] if problem.fit_intercept else []
        self.A = [[float(a) for a in row] + constant for row in A]
        self.n, self.d = len(self.A), len(self.A[0])
        self.b = problem.b.tolist()
        self.offset = [0.0] * self.n if problem.offset is None else problem.offset.tolist()
        self.l1, self.l2 = problem.regularizer.l1.tolist(), problem.regularizer.l2.tolist()
        self.q = problem.q.tolist()
        self.loss, self.option = problem.loss.name, problem.loss.parameter
        norms = [sum(a * a for a in row) for row in self.A]
        if isinstance(sampling, str):
            mean = sum(q * r for q, r in zip(self.q, norms, strict=True))
            kept = sum(q > 0 for q in self.q)
            p = {
                "uniform": list(self.q),
                "permuted": [(q > 0) / kept for q in self.q],
                "importance": [
                    q / 2 + q * r / (2 * mean) for q, r in zip(self.q, norms, strict=True)
                ],
            }[sampling]
        else:
            p = list(sampling)
        self.ratio = [q / p if p > 0 else 0.0 for q, p in zip(self.q, p, strict=True)]
        R2 = max(r * c for r, c in zip(norms, self.ratio, strict=True))
        self.Lc = R2 * SMOOTHNESS[self.loss](self.option)
        self.lam = min(self.l2)

    def margin(self, i, x):
        return sum(self.A[i][j] * x[j] for j in range(self.d)) + self.offset[i]

    def slope(self, i, x):
        return PHI_PRIME[self.loss](self.margin(i, x), self.b[i], self.option)

    def gradient(self, y):
        return [sum(self.q[i] * y[i] * self.A[i][j] for i in range(self.n)) for j in range(self.d)]

    def prox_step(self, x, tau, u, k, move):
        """prox_{tau g}(x - tau (u + (q_k/p_k) move a_k))."""
        out = []
        for j in range(self.d):
            v = x[j] - tau * (u[j] + self.ratio[k] * move * self.A[k][j])
            out.append(prox(v, tau, self.l1[j], self.l2[j]))
        return out


def saga(plain, streams, x, y):
    """Defazio, Bach & Lacoste-Julien (2014), Section 2."""
    tau = 1 / (3 * plain.Lc)
    x, y = list(x), list(y)
    u = plain.gradient(y)
    for rows in streams:
        for k in rows:
            move = plain.slope(k, x) - y[k]
            x = plain.prox_step(x, tau, u, k, move)
            u = [u[j] + plain.q[k] * move * plain.A[k][j] for j in range(plain.d)]
            y[k] += move
        yield x, y, u


def svrg(plain, streams, x, y):
    """Xiao & Zhang (2014), Figure 1, with the last iterate as the snapshot."""
    tau = 0.1 / plain.Lc
    x = list(x)
    for rows in streams:
        y = [plain.slope(i, x) for i in range(plain.n)]
        u = plain.gradient(y)
        w = x
        for k in rows:
            w = plain.prox_step(w, tau, u, k, plain.slope(k, w) - y[k])
        x = w
        y = [plain.slope(i, x) for i in range(plain.n)]
        yield x, y, plain.gradient(y)


def katyusha(plain, streams, x, y):
    """Allen-Zhu (2017), Option II; without strong convexity his variant for that case."""
    snapshot = list(x)
    y_k = list(x)
    z_k = list(x)
    tau2 = 1 / 2
    for s, rows in enumerate(streams):
        m = 2 * plain.n
        tau1 = min(math.sqrt(m * plain.lam / (3 * plain.Lc)), 1 / 2) or 2 / (s + 4)
        alpha = 1 / (3 * tau1 * plain.Lc)
        slopes = [plain.slope(i, snapshot) for i in range(plain.n)]
        full = plain.gradient(slopes)
        total, weights = [0.0] * plain.d, 0.0
        for j, i in enumerate(rows):
            x_k = [
                tau1 * z + tau2 * o + (1 - tau1 - tau2) * v
                for z, o, v in zip(z_k, snapshot, y_k, strict=True)
            ]
            z_new = plain.prox_step(z_k, alpha, full, i, plain.slope(i, x_k) - slopes[i])
            y_k = [a + tau1 * (new - z) for a, new, z in zip(x_k, z_new, z_k, strict=True)]
            z_k = z_new
            weight = (1 + alpha * plain.lam) ** j
            total = [t + weight * v for t, v in zip(total, y_k, strict=True)]
            weights += weight
        snapshot = [t / weights for t in total]
        slopes = [plain.slope(i, snapshot) for i in range(plain.n)]
        yield snapshot, slopes, plain.gradient(slopes)


TRANSCRIPTIONS = {"saga": saga, "svrg": svrg, "katyusha": katyusha}


# ---- kernels against transcriptions ----

N, D = 11, 6
PENALTIES = {"none": (0.0, 0.0), "l2": (0.0, 0.05), "l1": (0.04, 0.0), "net": (0.04, 0.05)}
UNEVEN = [1.0, 0.5, 0.0, 2.0, 1.0, 0.3]
FREE_AND_EQUAL = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
OPTIONS = {
    "smoothed_hinge": SmoothedHinge(width=0.7),
    "huber": Huber(threshold=0.6),
    "strong_logistic": StrongLogistic(strength=0.3),
}
MARGIN = ("logistic", "smoothed_hinge", "squared_hinge", "strong_logistic")


def cases():
    """Every loss with every penalty; storage, type, weights, ... take turns."""
    turns = zip(
        itertools.cycle(["dense", "csr"]),
        itertools.cycle(["float64", "float64", "float64", "float32", "float32"]),
        itertools.cycle([None, "weights", "zeros"]),
        itertools.cycle([False, True, False, False]),
        itertools.cycle([None, UNEVEN, None, FREE_AND_EQUAL, None, None, None]),
        itertools.cycle([False, True, False]),
        itertools.cycle(["uniform", "importance", "permuted", "uniform", "given"]),
        strict=False,
    )
    for loss, penalty in itertools.product(SCALAR, PENALTIES):
        for _ in range(3):
            yield (loss, penalty, *next(turns))


def data(seed, n=N, d=D, density=0.4):
    """Data that float32 holds exactly, with an empty row and a zero column."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-16, 17, (n, d)) / 8 * (rng.random((n, d)) < density)
    A[n // 2], A[:, d // 2] = 0.0, 0.0
    return A, rng


def make(seed, loss, penalty, storage, dtype, weights, intercept, penalties, offset, sampling):
    A, rng = data(seed)
    z = A @ rng.standard_normal(D) + rng.standard_normal(N)
    l1, l2 = PENALTIES[penalty]
    w = None if weights is None else rng.uniform(0.5, 2.0, N)
    if weights == "zeros":
        w[[1, 4]] = 0.0
    A = A.astype(dtype)
    problem = Problem(
        sp.csr_array(A) if storage == "csr" else A,
        np.where(z > 0, 1.0, -1.0) if loss in MARGIN else z,
        loss=OPTIONS.get(loss, loss),
        l1=l1,
        l2=l2,
        penalty_weights=penalties,
        fit_intercept=intercept,
        sample_weight=w,
        offset=rng.standard_normal(N) if offset else None,
    )
    if sampling == "given":
        sampling = problem.q * rng.uniform(0.5, 2.0, N)
        sampling /= sampling.sum()
    return problem, A, sampling


def near(got, want, close=CLOSE):
    want = np.array(want)
    return np.abs(got - want).max() <= close * max(np.abs(want).max(), 1e-300)


@every_baseline
@pytest.mark.parametrize("case", list(enumerate(cases())), ids=lambda c: f"{c[1][0]}-{c[0]}")
def test_kernel_is_the_transcription(name, case):
    seed, choices = case
    problem, A, sampling = make(seed, *choices)
    algorithm = BASELINES[name](sampling=sampling, seed=seed)
    x0 = np.random.default_rng(seed).standard_normal(problem.size)
    s = algorithm.start(problem, x0, None).state
    plain = Plain(problem, A, sampling)
    sampler = algorithm.sampler(problem)
    streams = [[*sampler.rows(2 * t), *sampler.rows(2 * t + 1)] for t in range(STEPS)]
    for x, y, u in TRANSCRIPTIONS[name](plain, streams, s.x, s.y):
        s = algorithm.step(problem, s)
        assert near(s.x, x)
        assert near(s.y[problem.q > 0], np.array(y)[problem.q > 0])
        assert near(s.u, u)
        assert near(s.z, [plain.margin(i, x) for i in range(N)])


@every_baseline
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("penalties", [None, UNEVEN, FREE_AND_EQUAL])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_sparse_is_dense(name, penalty, penalties, indices):
    """With lags of hundreds of steps."""
    A, rng = data(3, n=300, d=60, density=0.03)
    b = A @ rng.standard_normal(60) + rng.standard_normal(300)
    l1, l2 = PENALTIES[penalty]
    arguments = {
        "l1": l1,
        "l2": l2,
        "fit_intercept": True,
        "penalty_weights": None if penalties is None else np.resize(penalties, 60),
    }
    sparse = sp.csr_array(A)
    sparse.indices, sparse.indptr = sparse.indices.astype(indices), sparse.indptr.astype(indices)
    problems = [Problem(A, b, **arguments), Problem(sparse, b, **arguments)]
    algorithm = BASELINES[name](seed=4)
    states = [algorithm.start(p, None, None).state for p in problems]
    for _ in range(5):
        states = [algorithm.step(p, s) for p, s in zip(problems, states, strict=True)]
        dense, sparse = states
        assert near(sparse.x, dense.x)
        assert near(sparse.u, dense.u)
        assert ((sparse.x == 0) == (dense.x == 0)).all()


def one_by_one(zeta, eta, total, x, u, m, l1, l2, alpha, t1, t2, keep):
    for _ in range(m):
        zeta = prox(zeta - alpha * u, alpha, l1, l2)
        eta = t1 * zeta + t2 * x + (1 - t1 - t2) * eta
        total = keep * total + eta
    return zeta, eta, total


numbers = st.floats(-2, 2, allow_subnormal=False) | st.just(0.0)


@given(
    zeta=numbers,
    eta=numbers,
    total=numbers,
    x=numbers,
    u=numbers,
    m=st.integers(1, 300),
    l1=st.sampled_from([0.0, 1e-3, 0.1, 1.0]),
    l2=st.sampled_from([0.0, 5e-324, 1e-12, 1e-3, 1.0, 1e3]),
    alpha=st.sampled_from([1e-3, 0.03, 1.0, 30.0]),
    t1=st.sampled_from([0.5, 0.3, 0.01]),
    weighted=st.booleans(),
    copies=st.sampled_from([1, FEW + 1]),
)
def test_katyusha_catches_up_as_if_step_by_step(
    zeta, eta, total, x, u, m, l1, l2, alpha, t1, weighted, copies
):
    keep = 1 / (1 + alpha * l2) if weighted else 1.0
    maps = tables(np.full(copies, l2), m, alpha, t1, 0.5, keep)[-1]
    line = np.array([zeta, eta, total, 0.0, x, u, 0.0])
    catch_up(line, m, maps, l1, l2, Mix(alpha, t1, 0.5, keep))
    got = line[:3]
    want = one_by_one(zeta, eta, total, x, u, m, l1, l2, alpha, t1, 0.5, keep)
    # What the terms could sum to if they did not cancel: rounding is relative to that.
    size = one_by_one(
        abs(zeta), abs(eta), abs(total), abs(x), -abs(u) - l1, m, 0.0, l2, alpha, t1, 0.5, keep
    )
    for a, e, most in zip(got, want, size, strict=True):
        assert abs(a - e) <= 1e-12 * most


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_weights_that_would_overflow(layout):
    """(1 + alpha lambda)^799 is beyond 1e308: the snapshot is in effect the last few points."""
    rng = np.random.default_rng(5)
    A, b = rng.standard_normal((400, 4)), rng.standard_normal(400)
    R2 = (A * A).sum(axis=1).max()
    l2 = 100.0 * R2
    assert 799 * math.log10(1 + l2 / (1.5 * R2)) > 1000
    exact = np.linalg.solve(A.T @ A / 400 + l2 * np.eye(4), A.T @ b / 400)
    problem, algorithm = Problem(layout(A), b, l2=l2), Katyusha()
    s = algorithm.start(problem, np.ones(4), None).state
    for _ in range(50):  # each halves the error: zeta has half the weight in eta
        s = algorithm.step(problem, s)
    assert near(s.x, exact, 1e-10)


# ---- convergence ----

GOALS = {
    "ridge": {"loss": "squared", "l2": 0.05},
    "elastic net": {"loss": "squared", "l1": 0.05, "l2": 0.05},
    "lasso": {"loss": "squared", "l1": 0.1},
    "logistic": {"loss": "logistic", "l2": 0.02},
    "logistic, intercept": {"loss": "logistic", "l2": 0.02, "fit_intercept": True},
    "ridge, weights": {"loss": "squared", "l2": 0.05, "sample_weight": np.arange(60) % 4},
    "least squares": {"loss": "squared"},
}


def labelled(loss):
    rng = np.random.default_rng(6)
    A = rng.standard_normal((60, 8)) * (rng.random((60, 8)) < 0.6)
    b = A @ rng.standard_normal(8) + rng.standard_normal(60)
    return A, b if loss == "squared" else np.sign(b)


@every_baseline
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_convergence_to_the_optimum(name, goal, layout):
    A, b = labelled(GOALS[goal]["loss"])
    arguments = {"max_passes": 5000, **GOALS[goal]}
    result = dualgap.solve(layout(A), b, algorithm=name, random_state=1, **arguments)
    assert result.status is Status.CONVERGED
    assert result.certificate.certified
    assert result.certificate.relative_gap <= 1e-6
    best = dualgap.solve(A, b, algorithm="ada-bpd", tol=1e-10, **arguments)
    above = result.certificate.primal - best.certificate.primal
    assert -best.certificate.gap <= above <= result.certificate.gap


@every_baseline
@pytest.mark.parametrize("sampling", ["uniform", "permuted", "importance"])
def test_every_sampling_converges(name, sampling):
    A, b = labelled("squared")
    A[::7] *= 10.0
    algorithm = BASELINES[name](sampling=sampling)
    result = Problem(A, b, l2=0.05).solve(algorithm=algorithm, max_passes=20000)
    assert result.status is Status.CONVERGED


def test_katyusha_without_strong_convexity_says_so():
    A, b = labelled("squared")
    result = dualgap.solve(A, b, l1=0.1, algorithm="katyusha", max_passes=6)
    assert any("strong convexity" in note for note in result.notes)
    assert not dualgap.solve(A, b, l2=0.1, algorithm="katyusha", max_passes=6).notes
    assert np.allclose(result.trace.theta[:-1], [2 / 4, 2 / 5, 2 / 6])


# ---- runs ----


@every_baseline
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_a_run_is_its_pieces_joined(name, layout, l2):
    A, b = labelled("squared")
    problem = Problem(layout(A), b, l1=0.01, l2=l2)
    per_step = int(BASELINES[name]().passes_per_step)
    arguments = {"algorithm": name, "random_state": 7, "tol": 1e-15}
    whole = problem.solve(max_passes=12 * per_step, **arguments)
    part = problem.solve(max_passes=5 * per_step, **arguments)
    rest = problem.solve(max_passes=7 * per_step, state=part.state, **arguments)
    assert np.array_equal(whole.state.x, rest.state.x)
    assert np.array_equal(whole.state.y, rest.state.y)
    assert whole.state.passes == rest.state.passes == 12 * per_step
    other = problem.solve(max_passes=12 * per_step, **{**arguments, "random_state": 8})
    assert not np.array_equal(whole.state.x, other.state.x)


@every_baseline
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_step_leaves_the_old_state_alone(name, layout):
    A, b = labelled("squared")
    problem = Problem(layout(A), b, l1=0.01, l2=0.05, fit_intercept=True)
    algorithm = BASELINES[name]()
    s = algorithm.step(problem, algorithm.start(problem, None, None).state)
    arrays = [s.x, s.y, s.z, s.u]
    arrays += [value for value in vars(s.own).values() if isinstance(value, np.ndarray)]
    before = [a.copy() for a in arrays]
    algorithm.step(problem, s)
    assert all(np.array_equal(a, c) for a, c in zip(arrays, before, strict=True))


@every_baseline
def test_the_inner_loop_has_the_length_asked_for(name):
    A, b = labelled("squared")
    problem = Problem(A, b, l2=0.05)
    for passes in (1, 3):
        algorithm = BASELINES[name](check_every=passes)
        result = problem.solve(algorithm=algorithm, max_passes=5000)
        assert result.status is Status.CONVERGED
        assert algorithm.passes_per_step == passes + (name != "saga")
        s = result.state
        assert s.passes == s.t * algorithm.passes_per_step


def test_the_snapshot_is_checked_for_free():
    A, b = labelled("logistic")
    problem = Problem(A, b, loss="logistic", l2=0.02, offset=np.linspace(-1, 1, 60))
    for algorithm in (SVRG(), Katyusha()):
        s = algorithm.start(problem, None, None).state
        for _ in range(3):
            s = algorithm.step(problem, s)
            assert s.check_passes == 0
            assert near(s.z, problem.predict(s.x))
            assert near(s.y, problem.loss.grad(s.z, problem.b))
            assert near(s.u, problem.adjoint(s.y))
            assert s.primal == problem.primal(s.x, s.z)


# ---- small and degenerate ----


@every_baseline
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1)])
@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_one_row_or_one_column(name, layout, shape, l1):
    rng = np.random.default_rng(8)
    A, b = rng.standard_normal(shape), rng.standard_normal(shape[0])
    result = dualgap.solve(layout(A), b, l1=l1, l2=0.3, algorithm=name, max_passes=5000)
    assert result.status is Status.CONVERGED
    if l1 == 0.0:
        n, d = shape
        exact = np.linalg.solve(A.T @ A / n + 0.3 * np.eye(d), A.T @ b / n)
        assert np.linalg.norm(result.x - exact) <= result.certificate.distance + 1e-12


@every_baseline
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", SCALAR)
def test_empty_rows_zero_columns_and_nothing_at_all(name, layout, loss):
    A, rng = data(9)
    b = np.sign(rng.standard_normal(N))
    x0 = np.ones(D)
    result = dualgap.solve(
        layout(A), b, loss=loss, l1=0.01, l2=0.1, x0=x0, algorithm=name, max_passes=5000
    )
    assert result.status is Status.CONVERGED
    assert abs(result.x[D // 2]) <= result.certificate.distance
    result = dualgap.solve(
        layout(0.0 * A), b, loss=loss, l2=0.1, x0=x0, algorithm=name, max_passes=5000
    )
    assert result.status is Status.CONVERGED
    assert np.linalg.norm(result.x) <= result.certificate.distance * (1 + 1e-12)


@every_baseline
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("sampling", ["uniform", "permuted", "importance"])
def test_rows_without_weight_play_no_part(name, layout, sampling):
    A, b = labelled("squared")
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    other, junk = A.copy(), b.copy()
    other[weights == 0] *= 1e6
    junk[weights == 0] = -1e6
    algorithm = BASELINES[name](sampling=sampling)
    first, second = (
        Problem(layout(M), t, l2=0.05, sample_weight=weights).solve(
            algorithm=algorithm, max_passes=5000
        )
        for M, t in ((A, b), (other, junk))
    )
    assert first.status is second.status is Status.CONVERGED
    assert np.array_equal(first.x, second.x)
