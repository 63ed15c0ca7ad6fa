"""The SPDC kernels against a transcription of Algorithms 5 and 7 in plain Python.

The transcription follows the paper line by line, with loops over rows and coordinates and with x~
and u explicit; the slips are corrected (u_0 = A'Qy_0, weights q and probabilities p). It shares
nothing with the package but the index stream and the numbers tau, sigma, theta. Where data are
float32 their values are exact in it, so that float64 arithmetic must give the same results.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap import Problem
from dualgap.algorithms import DFSPDC, SPDC
from dualgap.algorithms.primal_dual.marshalling import dual_of, prox_with, steps_of
from dualgap.kernels import points, values
from dualgap.kernels.epoch import run_epoch
from dualgap.losses import LOSSES, Huber, SmoothedHinge, StrongLogistic
from dualgap.losses import compiled as scalar

# A pass of 12 rows rounds each number a few dozen times by 1e-16, and the maps do not expand.
CLOSE = 1e-12
SCALAR = [name for name, loss in LOSSES.items() if loss.code >= 0 and not loss.is_vector]


# ---- the transcription ----


def expit(t):
    return 1 / (1 + math.exp(-t)) if t >= 0 else math.exp(t) / (1 + math.exp(t))


def clip(v, low, high):
    return min(max(v, low), high)


def phi_prime(loss, z, b):
    """phi'(z), MATH.md section 2."""
    return {
        "squared": lambda: z - b,
        "logistic": lambda: -b * expit(-b * z),
        "smoothed_hinge": lambda: -b * clip((1 - b * z) / loss.parameter, 0, 1),
        "squared_hinge": lambda: -b * max(0, 1 - b * z),
        "huber": lambda: clip(z - b, -loss.parameter, loss.parameter),
        "strong_logistic": lambda: -b * expit(-b * z) + loss.parameter * z,
    }[loss.name]()


def prox_conjugate(loss, v, s, b):
    """prox_{s phi*}(v) = phi'(z) at the root z of s z + phi'(z) = v, found by bisection.

    phi' lies between phi'(0) and phi'(0) + z/gamma, so the root lies between the ends below.
    """
    rest = v - phi_prime(loss, 0.0, b)
    low, high = min(0.0, rest / s), max(0.0, rest / s)
    while low < (middle := (low + high) / 2) < high:
        if s * middle + phi_prime(loss, middle, b) < v:
            low = middle
        else:
            high = middle
    return phi_prime(loss, middle, b)


def prox_g(v, tau, l1, l2):
    return math.copysign(max(abs(v) - tau * l1, 0.0), v) / (1 + tau * l2)


class Transcription:
    """Algorithms 5 and 7 without adaptation, from x0, and y0 = phi'(v0), v0 = A x0 + offset."""

    def __init__(self, A, b, loss, l1, l2, weights, offset, x0, p):
        self.A, self.b, self.offset = A.tolist(), b.tolist(), offset.tolist()
        self.n, self.d = A.shape
        self.loss, self.l1, self.l2 = loss, l1.tolist(), l2.tolist()
        self.q, self.p = (weights / weights.sum()).tolist(), p.tolist()
        self.x, self.x_tilde = x0.tolist(), x0.tolist()
        self.v = [self.inner(i, self.x) for i in range(self.n)]
        self.y = [phi_prime(loss, v, b) for v, b in zip(self.v, self.b, strict=True)]
        self.u = [
            sum(self.q[i] * self.y[i] * self.A[i][j] for i in range(self.n)) for j in range(self.d)
        ]

    def inner(self, i, x):
        return sum(self.A[i][j] * x[j] for j in range(self.d)) + self.offset[i]

    def visit(self, k, tau, sigma, theta, dual_free):
        a, y_old, x_old = self.A[k], self.y[k], list(self.x)
        z = self.inner(k, self.x_tilde)
        if dual_free:
            self.v[k] = (self.v[k] + sigma * z) / (1 + sigma)
            self.y[k] = phi_prime(self.loss, self.v[k], self.b[k])
        else:
            self.y[k] = prox_conjugate(self.loss, y_old + sigma * z, sigma, self.b[k])
        move = self.y[k] - y_old
        for j in range(self.d):
            step = self.u[j] + self.q[k] / self.p[k] * move * a[j]
            self.x[j] = prox_g(x_old[j] - tau * step, tau, self.l1[j], self.l2[j])
            self.u[j] += self.q[k] * move * a[j]
            self.x_tilde[j] = self.x[j] + theta * (self.x[j] - x_old[j])


# ---- problems ----


def lattice(rng, shape, density=1.0):
    """Multiples of 1/16: float32 holds them exactly."""
    values = rng.integers(-32, 33, shape) / 16
    return np.where(rng.random(shape) < density, values, 0.0)


def wide_indices(A):
    """The same sparse matrix with 64-bit indices, which scipy would narrow by itself."""
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


LAYOUTS = {
    "dense C": np.ascontiguousarray,
    "dense F": np.asfortranarray,
    "CSR 32": sp.csr_array,
    "CSR 64": lambda A: wide_indices(sp.csr_array(A)),
    "CSC 32": sp.csc_array,
    "CSC 64": lambda A: wide_indices(sp.csc_array(A)),
}

UNEVEN = np.array([1.0, 0.0, 2.5, 0.5, 0.0, 1.0, 3.0])
"""Penalty weights: two coordinates are free."""

REGULARIZERS = {
    "none": {},
    "l2": {"l2": 0.03},
    "l1": {"l1": 0.05},
    "elastic net": {"l1": 0.05, "l2": 0.03},
    "weighted": {"l1": 0.05, "l2": 0.03, "penalty_weights": UNEVEN},
}

# No default parameters: they are 1 where a mistake would not show.
OPTIONS = {
    "smoothed_hinge": SmoothedHinge(width=0.6),
    "huber": Huber(threshold=0.7),
    "strong_logistic": StrongLogistic(strength=0.3),
}

SAMPLINGS = ["uniform", "permuted", "importance"]


def targets(rng, loss, n):
    return rng.choice([-1.0, 1.0], n) if "hinge" in loss or "logistic" in loss else lattice(rng, n)


def follow(problem, algorithm, A, x0, passes=6):
    """Run the driver's steps and the transcription side by side; both as dicts of arrays."""
    sampler = algorithm.sampler(problem)
    offset = np.zeros(problem.n) if problem.offset is None else problem.offset
    s = algorithm.start(problem, x0, None).state
    steps = s.own.steps
    assert steps.tau > 0 and steps.sigma > 0 and 0 < steps.theta <= 1
    g = problem.regularizer
    if problem.fit_intercept:
        A = np.column_stack([A, np.full(len(A), problem.design.scale)])
    paper = Transcription(A, problem.b, problem.loss, g.l1, g.l2, problem.q, offset, x0, sampler.p)
    for epoch in range(passes):
        for k in sampler.rows(epoch):
            paper.visit(k, steps.tau, steps.sigma, steps.theta, algorithm.dual_free)
    while s.passes < passes:
        s = algorithm.step(problem, s)
    assert s.own.steps == steps
    x_tilde = s.x + steps.theta * (s.x - s.own.xt)
    ours = {"x": s.x, "x~": x_tilde, "u": s.u, "y": s.y}
    if algorithm.dual_free:
        ours["v"] = s.own.v
    theirs = {"x": paper.x, "x~": paper.x_tilde, "u": paper.u, "y": paper.y, "v": paper.v}
    return ours, {name: np.array(theirs[name]) for name in ours}


def agree(ours, theirs, close=CLOSE):
    for name, value in ours.items():
        scale = np.abs(theirs[name]).max() + 1e-3  # a vector may vanish
        np.testing.assert_allclose(value, theirs[name], rtol=0, atol=close * scale, err_msg=name)


def combinations():
    """Loss, regulariser, algorithm and layout in full; what goes with them is drawn."""
    rng = np.random.default_rng(2017)
    for main in itertools.product(SCALAR, REGULARIZERS, (SPDC, DFSPDC), LAYOUTS):
        yield (*main, *(bool(bit) for bit in rng.integers(0, 2, 4)), SAMPLINGS[rng.integers(3)])


COMBINATIONS = list(combinations())


@pytest.mark.parametrize("loss", SCALAR)
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_kernels_are_the_algorithms_of_the_paper(loss, regularizer):
    """All layouts, both algorithms; float32, weights, offset, intercept and sampling drawn."""
    rng = np.random.default_rng(2017)
    chosen = [c for c in COMBINATIONS if c[:2] == (loss, regularizer)]
    assert len(chosen) == 12
    for _, _, kind, layout, narrow, weighted, with_offset, intercept, sampling in chosen:
        A = lattice(rng, (12, 7), density=0.5)
        problem = Problem(
            LAYOUTS[layout](A.astype(np.float32) if narrow else A),
            targets(rng, loss, 12),
            loss=OPTIONS.get(loss, loss),
            sample_weight=rng.integers(0, 4, 12) + np.eye(12)[0] if weighted else None,
            offset=lattice(rng, 12) if with_offset else None,
            fit_intercept=intercept,
            **REGULARIZERS[regularizer],
        )
        rows = problem.design.rows()
        stored = rows.data if rows.dense is None else rows.dense
        assert stored.dtype == (np.float32 if narrow else np.float64)
        if rows.dense is None:
            assert rows.indices.dtype == (np.int64 if "64" in layout else np.int32)
        algorithm = kind(sampling=sampling, seed=3, mu=0.3)
        x0 = rng.standard_normal(problem.size)
        agree(*follow(problem, algorithm, A, x0))


def test_every_pair_of_settings_is_run():
    for i, j in itertools.combinations(range(9), 2):
        seen = {(c[i], c[j]) for c in COMBINATIONS}
        assert len(seen) == len({c[i] for c in COMBINATIONS}) * len({c[j] for c in COMBINATIONS})


# ---- data that are special ----


def special_data():
    rng = np.random.default_rng(5)
    ordinary = lattice(rng, (12, 7), density=0.4)
    yield "ordinary", ordinary, {}
    once = ordinary.copy()
    once[:, 2] = 0.0
    once[5, 2] = 1.5
    yield "a column touched once", once, {}
    yield "empty rows", ordinary * (np.arange(12) % 3 > 0)[:, None], {}
    yield "empty columns", ordinary * (np.arange(7) % 3 > 0), {}
    yield "all rows zero", np.zeros((12, 7)), {}
    yield "one row", ordinary[:1] + 1.0, {}
    yield "one column", lattice(rng, (12, 1)), {}
    yield "one entry", np.ones((1, 1)), {}
    constant = ordinary.copy()
    constant[:, 3] = 2.0
    yield "a constant column and an intercept", constant, {"fit_intercept": True}
    yield "rows without weight", ordinary, {"sample_weight": np.arange(12) % 3}


SPECIAL = {name: (A, more) for name, A, more in special_data()}
STRENGTHS = {
    "elastic net": {"l1": 0.02, "l2": 0.05},
    "tiny l2": {"l2": 1e-300},
    "tiny l2 and l1": {"l1": 0.02, "l2": 1e-300},
    "l2 = 0": {"l1": 0.02, "l2": 0.0},
    "none": {},
}


@pytest.mark.parametrize("strengths", STRENGTHS)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_data(name, strengths):
    """Dense and sparse; mu is given, as tiny strong convexity alone asks for steps of 1e150."""
    A, more = SPECIAL[name]
    rng = np.random.default_rng(6)
    b, x0 = lattice(rng, len(A)), rng.standard_normal(A.shape[1] + bool(more.get("fit_intercept")))
    for layout, kind in itertools.product((np.asarray, sp.csr_array), (SPDC, DFSPDC)):
        problem = Problem(layout(A), b, **STRENGTHS[strengths], **more)
        agree(*follow(problem, kind(mu=0.5, seed=1), A, x0))


def test_explicit_zeros_and_unsorted_and_repeated_entries():
    rng = np.random.default_rng(7)
    A = lattice(rng, (12, 7), density=0.4)
    explicit = sp.csr_array(np.where(A == 0, 9.0, A))
    explicit.data[explicit.data == 9.0] = 0.0
    unsorted = sp.csr_array(A)
    for start, stop in itertools.pairwise(unsorted.indptr):
        unsorted.indices[start:stop] = unsorted.indices[start:stop][::-1].copy()
        unsorted.data[start:stop] = unsorted.data[start:stop][::-1].copy()
    unsorted.has_sorted_indices = False
    rows, columns = A.nonzero()
    half = A[rows, columns] / 2  # exact
    repeated = sp.coo_array(
        (np.tile(half, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=A.shape
    )
    twice = sp.csr_array(
        (
            np.repeat(sp.csr_array(A).data / 2, 2),
            np.repeat(sp.csr_array(A).indices, 2),
            2 * sp.csr_array(A).indptr,
        ),
        shape=A.shape,
    )
    assert explicit.nnz == A.size and twice.nnz == 2 * np.count_nonzero(A)
    b, x0 = lattice(rng, 12), rng.standard_normal(7)
    for stored, kind in itertools.product((explicit, unsorted, repeated, twice), (SPDC, DFSPDC)):
        np.testing.assert_array_equal(stored.toarray(), A)
        problem = Problem(stored, b, l1=0.02, l2=0.05)
        agree(*follow(problem, kind(), A, x0))


def test_rows_without_weight_are_never_visited():
    rng = np.random.default_rng(8)
    A, weights = rng.standard_normal((12, 5)), np.arange(12) % 3.0
    problem = Problem(A, rng.standard_normal(12), l2=0.05, sample_weight=weights)
    for sampling in SAMPLINGS:
        algorithm = SPDC(sampling=sampling)
        s = algorithm.start(problem, rng.standard_normal(5), None).state
        new = algorithm.step(problem, s)
        unmoved = new.y == s.y
        assert unmoved[weights == 0].all() and unmoved.sum() < 12


@pytest.mark.parametrize("check_every", [1, 3, 6])
def test_checks_in_between_change_nothing(check_every):
    rng = np.random.default_rng(13)
    A, b, x0 = lattice(rng, (12, 7), density=0.4), lattice(rng, 12), rng.standard_normal(7)
    for layout, kind in itertools.product((np.asarray, sp.csr_array), (SPDC, DFSPDC)):
        problem = Problem(layout(A), b, l1=0.02, l2=0.05)
        agree(*follow(problem, kind(check_every=check_every), A, x0))


# ---- the kernels themselves ----


def run_kernel(A, b, stream, loss, *, l1, l2, tau, sigma, theta, x, dual_free, q=None):
    """One call of a kernel with p = q; returns x, x_old, u, y."""
    n, d = A.shape
    q = np.full(n, 1 / n) if q is None else q
    ratio, offset = np.ones(n), np.zeros(n)
    v = A @ x
    y = loss.grad(v, b)
    old, u, x = x.copy(), A.T @ (q * y), x.copy()
    dense = not sp.issparse(A)
    prox = prox_with(tau, np.append(l1, 0.0), np.append(l2, 0.0), stream.size, dense=dense)
    rest = (
        values.Targets(b, offset, q, ratio), values.ScalarLoss(loss.code, loss.parameter),
        steps_of(sigma, theta, values.FREE if dual_free else values.PROX),
    )  # fmt: skip
    dual = dual_of(y, v)
    if dense:
        run_epoch(values.Dense(A, 0.0), stream, *rest, points.Vectors(x, old, u, prox), dual)
        return x, old, u, dual.y
    state = np.column_stack([x, old, u, np.zeros(d)])
    state = np.vstack([state, np.zeros(4)])
    rows = values.Sparse(A.data, A.indices, A.indptr, d, 0.0)
    run_epoch(rows, stream, *rest, points.Lines(state, prox), dual)
    assert (state[:, 3] == 0).all() and (state[-1] == 0).all()
    return state[:-1, 0], state[:-1, 1], state[:-1, 2], dual.y


@pytest.mark.parametrize("uneven", [False, True], ids=["tables", "no tables"])
@pytest.mark.parametrize("l1", [0.0, 0.003])
@pytest.mark.parametrize("l2", [0.0, 1e-300, 1e-3, 10.0])
def test_lazy_steps_are_the_dense_ones(l1, l2, uneven):
    """100 rows, 80 columns, two entries a row: most coordinates are brought up to date late."""
    rng = np.random.default_rng(9)
    A = np.zeros((100, 80))
    for row in A:
        row[rng.choice(80, 2, replace=False)] = rng.standard_normal(2)
    strengths = np.full(80, l1), np.full(80, l2)
    if uneven:
        strengths = strengths[0] * rng.uniform(0, 2, 80), strengths[1] * rng.uniform(0, 2, 80)
    stream = rng.integers(0, 100, 1000)
    for loss in (LOSSES["squared"](), LOSSES["logistic"]()):
        b = rng.choice([-1.0, 1.0], 100)
        options = {
            "l1": strengths[0], "l2": strengths[1], "tau": 0.1, "sigma": 0.5, "theta": 0.9,
            "x": rng.standard_normal(80), "dual_free": False,
        }  # fmt: skip
        dense = run_kernel(A, b, stream, loss, **options)
        lazy_ones = run_kernel(sp.csr_array(A), b, stream, loss, **options)
        for one, other in zip(lazy_ones, dense, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=CLOSE)  # all are of order one


@pytest.mark.parametrize("l1", [0.0, 0.3])
@pytest.mark.parametrize("l2", [0.0, 1e-300, 1e-4, 1.0])
def test_a_coordinate_that_waits_for_5000_steps(l1, l2):
    """Column 1 is touched in the first and in the last step only."""
    A, b = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([3.0, -2.0])
    stream = np.ones(5001, dtype=np.int64)
    stream[0] = stream[-1] = 0
    strengths, tau = (np.full(2, l1), np.full(2, l2)), 2e-3
    options = {
        "l1": strengths[0], "l2": strengths[1], "tau": tau, "sigma": 0.5, "theta": 0.9,
        "x": np.array([1.0, 2.0]), "dual_free": False,
    }  # fmt: skip
    squared = LOSSES["squared"]()
    waited = run_kernel(sp.csr_array(A), b, stream, squared, **options)
    paper = Transcription(
        A, b, squared, *strengths, np.ones(2), np.zeros(2), options["x"], np.full(2, 0.5)
    )
    for k in stream:
        paper.visit(k, tau, 0.5, 0.9, False)
    # 5000 roundings of a few 1e-16 each, of numbers up to 10.
    np.testing.assert_allclose(waited[0], paper.x, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(waited[2], paper.u, rtol=1e-11, atol=1e-11)


def test_an_empty_stream_changes_nothing():
    A, b = np.eye(3), np.ones(3)
    for layout in (np.asarray, sp.csr_array):
        x, old, u, y = run_kernel(
            layout(A), b, np.zeros(0, dtype=np.int64), LOSSES["squared"](), l1=np.ones(3),
            l2=np.ones(3), tau=0.1, sigma=0.5, theta=0.9, x=np.arange(3.0), dual_free=False,
        )  # fmt: skip
        np.testing.assert_array_equal(x, np.arange(3.0))
        np.testing.assert_array_equal(old, x)
        np.testing.assert_array_equal(y, x - 1)
        np.testing.assert_array_equal(u, y / 3)


# ---- the scalar formulas ----


def all_losses():
    return [OPTIONS.get(name, cls()) for name, cls in LOSSES.items() if name in SCALAR]


@pytest.mark.parametrize("loss", all_losses(), ids=lambda loss: loss.name)
def test_scalar_losses_are_those_of_the_package(loss):
    rng = np.random.default_rng(10)
    z = rng.standard_normal(2000) * 10.0 ** rng.uniform(-3, 3, 2000)
    b = targets(rng, loss.name, 2000)
    scalar_grad = np.vectorize(scalar.grad, otypes=[float])
    # One rounding or two of numbers up to |z| + |b| + 1.
    scale = 1 + np.abs(z) + np.abs(b)
    ours = scalar_grad(loss.code, loss.parameter, z, b)
    assert (np.abs(ours - loss.grad(z, b)) <= 1e-14 * scale).all()
    scalar_prox = np.vectorize(scalar.prox_conj, otypes=[float])
    for s in (1e-6, 1e-2, 1.0, 30.0, 1e6):
        guess = rng.standard_normal(2000) * 10.0 ** rng.uniform(-3, 3, 2000)
        ours = scalar_prox(loss.code, loss.parameter, z, s, b, guess)
        theirs = loss.prox_conj(z, s, b)
        assert (np.abs(ours - theirs) <= 1e-14 * scale).all(), s


def test_transcribed_prox_is_that_of_the_package():
    """The oracle's bisection and the formulas of section 2 are independent of each other."""
    rng = np.random.default_rng(11)
    for loss, s in itertools.product(all_losses(), (0.01, 1.0, 20.0)):
        v, b = 3 * rng.standard_normal(50), targets(rng, loss.name, 50)
        bisected = [prox_conjugate(loss, vi, s, bi) for vi, bi in zip(v, b, strict=True)]
        # s z + phi'(z) = v: rounding of v moves z by 1e-16/s, and phi' by no more than v moves.
        np.testing.assert_allclose(bisected, loss.prox_conj(v, s, b), rtol=0, atol=1e-13)


def advance(x, u, tau, l1, l2, k):
    """The closed form of k steps in plain Python: x after them, and before the last of them."""
    before = skip(x, u, tau, l1, l2, k - 1)
    return prox_step(before, u, tau, l1, l2), before


def prox_step(x, u, tau, l1, l2):
    v = x - tau * u
    return math.copysign(max(abs(v) - tau * l1, 0.0), v) / (1.0 + tau * l2)


def powers(m, tau, l2):
    """C_m and H_m."""
    q = m * math.log1p(tau * l2)
    if q < 1e-16:
        return 1.0, m * tau
    return math.exp(-q), -math.expm1(-q) / l2


def skip(x, u, tau, l1, l2, k):
    if l1 == 0.0:
        c, h = powers(k, tau, l2)
        return c * x - u * h
    while k > 0:
        if x == 0.0 and abs(u) <= l1:
            return 0.0
        e = math.copysign(1.0, x) if x != 0.0 else -math.copysign(1.0, u)
        w = e * u + l1
        if w <= 0.0:  # this side is never left
            c, h = powers(k, tau, l2)
            return e * (c * abs(x) - w * h)
        # Steps until zero is reached; one less, to absorb the rounding of N.
        if tau * l2 < 1e-16:
            steps = abs(x) / tau / w  # tau w may underflow
        else:
            steps = math.log1p(l2 * abs(x) / w) / math.log1p(tau * l2)
        m = k if k <= steps - 1.0 else max(0, math.floor(steps) - 1)
        c, h = powers(m, tau, l2)
        x = e * max(c * abs(x) - w * h, 0.0)
        k -= m
        if k > 0:  # one plain step lands on zero or crosses it
            x = prox_step(x, u, tau, l1, l2)
            k -= 1
    return x


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("l1", [0.0, 0.4])
@pytest.mark.parametrize("l2", [0.0, 5e-324, 1e-300, 1e-9, 0.3, 1e3])
def test_steps_that_were_put_off_are_the_closed_form(l1, l2, tables):
    """With C_{k-1} and H_{k-1} from a table, or with none."""
    rng = np.random.default_rng(12)
    for tau in (1e-3, 0.1, 5.0):
        strengths = np.array([l1, 0.0]), np.array([l2, 0.0])
        prox = prox_with(tau, *strengths, 300, dense=not tables)
        assert (prox.C.size > 0) == tables
        if not tables:
            prox = prox._replace(common_l1=0.0, common=0.0)
        x = rng.standard_normal(200) * (rng.random(200) < 0.8)
        u = rng.standard_normal(200) * 10.0 ** rng.uniform(-3, 1, 200)
        for xi, ui, k in zip(x, u, rng.integers(1, 300, 200).tolist(), strict=True):
            line = np.array([[xi, xi, ui, 0.0], np.zeros(4)])
            points.reach(points.Lines(line, prox), 0.0, 0, 1.0, k, 0.0)
            ours = line[0, :2]
            theirs = advance(xi, ui, tau, l1, l2, k)
            # Differences C_k|x| - w H_k of terms of this size.
            scale = abs(xi) + (abs(ui) + l1) * (k * tau if k * tau * l2 < 1 else 1 / l2)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14 * scale)
