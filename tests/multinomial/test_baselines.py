"""SAGA and SVRG with classes, against a plain transcription on the same stream of rows."""

from dataclasses import replace

import numpy as np
import pytest

from dualgap import Problem
from dualgap.algorithms import SAGA, SVRG
from dualgap.kernels.epoch import run_epoch

from .data import FORMATS, PENALTIES, case

BASELINES = {"saga": SAGA, "svrg": SVRG}
every_baseline = pytest.mark.parametrize("name", BASELINES)


class Plain:
    """The problem in numpy, row by row, with the intercept as a column of A."""

    def __init__(self, problem):
        self.A = np.concatenate([block for _, block in problem.design.blocks(7)])
        self.b, self.q, self.g = problem.b.astype(int), problem.q, problem.regularizer
        offset = problem.offset
        self.offset = np.zeros((problem.n, problem.outputs)) if offset is None else offset

    def slope(self, k, x):
        z = self.A[k] @ x + self.offset[k]
        e = np.exp(z - z.max())
        out = e / e.sum()
        out[self.b[k]] = -np.delete(out, self.b[k]).sum()
        return out

    def slopes(self, x):
        return np.array([self.slope(k, x) for k in range(len(self.b))])

    def gradient(self, y):
        return self.A.T @ (self.q[:, None] * y)

    def prox_step(self, x, tau, s):
        v = x - tau * s
        v = np.sign(v) * np.maximum(np.abs(v) - tau * self.g.l1, 0.0)
        return v / (1.0 + tau * self.g.l2)


def saga(plain, s, stream, ratio):
    x, y, u = s.x.copy(), s.y.copy(), s.u.copy()
    for k in stream:
        new = plain.slope(k, x)
        move = np.outer(plain.A[k], new - y[k])
        x = plain.prox_step(x, s.own.steps.tau, u + ratio[k] * move)
        u, y[k] = u + plain.q[k] * move, new
    return x, y, u


def svrg(plain, s, stream, ratio):
    x = s.x.copy()
    y = plain.slopes(x)
    u = plain.gradient(y)
    for k in stream:
        move = np.outer(plain.A[k], plain.slope(k, x) - y[k])
        x = plain.prox_step(x, s.own.steps.tau, u + ratio[k] * move)
    y = plain.slopes(x)
    return x, y, plain.gradient(y)


TRANSCRIPTIONS = {"saga": saga, "svrg": svrg}


@every_baseline
@pytest.mark.parametrize("form", ["C", "F", "float32", "csr", "csc", "csr float32"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_kernel_is_the_transcription(name, form, penalty, fit_intercept, weights):
    problem = case(
        penalty, fit_intercept=fit_intercept, weights=weights, offset=weights,
        n=30, d=9, K=4, density=0.25,
    ).problem(form)  # fmt: skip
    algorithm = BASELINES[name](seed=3, sampling="importance" if weights else "permuted")
    sampler = algorithm.sampler(problem)
    x0 = np.random.default_rng(1).standard_normal(problem.shape)
    s = algorithm.start(problem, x0, None).state
    plain = Plain(problem)
    # R^2/gamma with gamma = 2: 1/(3 Lc), and 0.1/Lc.
    R2 = ((plain.A**2).sum(axis=1) * sampler.ratio)[plain.q > 0].max()
    assert s.own.steps.tau == pytest.approx({"saga": 2.0 / 3.0, "svrg": 0.2}[name] / R2, rel=1e-12)
    for t in range(4):
        stream = [*sampler.rows(2 * t), *sampler.rows(2 * t + 1)]
        x, y, u = TRANSCRIPTIONS[name](plain, s, stream, sampler.ratio)
        s = algorithm.step(problem, s)
        for got, want in ((s.x, x), (s.y[problem.q > 0], y[problem.q > 0]), (s.u, u)):
            assert np.abs(got - want).max() <= 1e-12 * (1 + np.abs(want).max())
        assert np.abs(s.z - plain.A @ x - plain.offset).max() <= 1e-12


@every_baseline
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("uneven", [False, True])
def test_sparse_is_dense(name, penalty, uneven):
    """With lags of hundreds of steps."""
    one = case(penalty, fit_intercept=True, n=300, d=60, density=0.03)
    if uneven:
        one.penalty_weights = np.resize([1.0, 0.5, 0.0, 2.0], 60)
    problems = [one.problem("C"), one.problem("csr")]
    algorithm = BASELINES[name](seed=4)
    states = [algorithm.start(problem, None, None).state for problem in problems]
    for _ in range(5):
        states = [algorithm.step(p, s) for p, s in zip(problems, states, strict=True)]
        dense, sparse = states
        assert np.abs(sparse.x - dense.x).max() <= 1e-12 * np.abs(dense.x).max()
        assert np.abs(sparse.u - dense.u).max() <= 1e-12
        assert ((sparse.x == 0) == (dense.x == 0)).all()


@every_baseline
@pytest.mark.parametrize("form", FORMATS)
def test_a_step_leaves_the_old_state_alone(name, form):
    problem = case("elastic_net", fit_intercept=True, offset=True, density=0.5).problem(form)
    algorithm = BASELINES[name]()
    s = algorithm.start(problem, None, None).state
    before = replace(s, x=s.x.copy(), y=s.y.copy(), u=s.u.copy(), z=s.z.copy())
    first = algorithm.step(problem, s)
    for part in ("x", "y", "u", "z"):
        assert np.array_equal(getattr(s, part), getattr(before, part)), part
    assert np.array_equal(algorithm.step(problem, s).x, first.x)


@every_baseline
@pytest.mark.parametrize("penalty", PENALTIES)
def test_plain_Python_of_the_kernels(name, penalty):
    """The kernels, interpreted, give what they give compiled (but for reordered sums)."""
    results = []
    for form in ("C", "csr"):
        problem = case(penalty, fit_intercept=True, n=15, d=5, K=3, density=0.5).problem(form)
        algorithm = BASELINES[name](seed=1)
        s = algorithm.start(problem, None, None).state
        results.append(algorithm.step(problem, s).x)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dualgap.kernels.epoch.run_epoch", run_epoch.py_func)
            results.append(algorithm.step(problem, s).x)
    for other in results[1:]:
        assert np.abs(other - results[0]).max() <= 1e-13


@every_baseline
@pytest.mark.parametrize("form", ["C", "csr"])
def test_read_only_data_are_taken(name, form):
    """As they come: nothing is written to them, and no kernel is compiled again for them."""
    one = case("l2", weights=True, offset=True)
    first = one.problem(form).solve(algorithm=name, max_passes=30)
    compiled = len(run_epoch.signatures)
    one.b, one.offset = one.b.astype(float), one.offset.copy()
    for array in (one.b, one.offset):
        array.flags.writeable = False
    again = Problem(FORMATS[form](one.A), one.b, **one.arguments)
    assert np.array_equal(again.solve(algorithm=name, max_passes=30).x, first.x)
    assert len(run_epoch.signatures) == compiled
