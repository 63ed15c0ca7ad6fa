"""The compiled kernels against a plain transcription of Algorithm 7 on the same stream."""

from dataclasses import replace

import numpy as np
import pytest

from dualgap.algorithms import DFSPDC
from dualgap.algorithms.primal_dual.marshalling import dual_of, prox_with, rows_of, steps_of
from dualgap.algorithms.primal_dual.state import update
from dualgap.kernels import points, values
from dualgap.kernels.epoch import run_epoch

from .data import PENALTIES, case


def transcription(problem, s, stream, ratio):
    """Algorithm 7, lines 1-5, eagerly, in numpy."""
    A = np.concatenate([block for _, block in problem.design.blocks(7)])
    g = problem.regularizer
    tau, sigma, theta = s.own.steps.tau, s.own.steps.sigma, s.own.steps.theta
    x, old, u, y, v = (values.copy() for values in (s.x, s.own.xt, s.u, s.y, s.own.v))
    for k in stream:
        z = A[k] @ (x + theta * (x - old))
        if problem.offset is not None:
            z = z + problem.offset[k]
        v[k] = (v[k] + sigma * z) / (1.0 + sigma)
        e = np.exp(v[k] - v[k].max())
        new = e / e.sum()
        new[int(problem.b[k])] -= 1.0
        move = new - y[k]
        y[k] = new
        w = x - tau * (u + ratio[k] * np.outer(A[k], move))
        w = np.sign(w) * np.maximum(np.abs(w) - tau * g.l1, 0.0) / (1.0 + tau * g.l2)
        u = u + problem.q[k] * np.outer(A[k], move)
        x, old = w, x
    return x, old, u, y, v


@pytest.mark.parametrize("form", ["C", "F", "float32", "csr", "csc", "csr float32"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_against_the_transcription(form, penalty, fit_intercept, weights):
    problem = case(
        penalty, fit_intercept=fit_intercept, weights=weights, offset=weights,
        n=40, d=9, K=4, density=0.25,
    ).problem(form)  # fmt: skip
    algorithm = DFSPDC(seed=3, sampling="importance" if weights else "uniform")
    s = algorithm.start(problem, None, None).state
    s = update(s, steps=replace(s.own.steps, theta=0.9))
    for _ in range(4):
        sampler = algorithm.sampler(problem)
        stream = np.concatenate([sampler.rows(int(s.passes) + e) for e in range(2)])
        expected = transcription(problem, s, stream, sampler.ratio)
        s = algorithm.step(problem, s)
        found = {**vars(s), **vars(s.own)}
        for name, value in zip(("x", "xt", "u", "y", "v"), expected, strict=True):
            assert np.abs(found[name] - value).max() <= 1e-12 * (1 + np.abs(value).max()), name


@pytest.mark.parametrize("penalty", PENALTIES)
def test_plain_Python_of_the_kernels(penalty):
    """The kernels, interpreted, give what they give compiled (but for reordered sums)."""
    results = []
    for form in ("C", "csr"):
        problem = case(penalty, fit_intercept=True, n=15, d=5, K=3, density=0.5).problem(form)
        algorithm = DFSPDC(seed=1)
        s = algorithm.start(problem, None, None).state
        results.append(algorithm.step(problem, s).x)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dualgap.kernels.epoch.run_epoch", run_epoch.py_func)
            results.append(algorithm.step(problem, s).x)
    for other in results[1:]:
        assert np.abs(other - results[0]).max() <= 1e-13


def test_no_step_at_all():
    problem = case("l2").problem("csr")
    s = DFSPDC().start(problem, None, None).state
    lines = np.zeros((5, 10))
    lines[:4, :3] = 1.0
    q, empty = problem.q, np.zeros(0, dtype=np.int64)
    prox = prox_with(0.1, np.zeros(5), np.arange(5.0), 0, dense=False)
    run_epoch(
        rows_of(problem), empty, values.Targets(problem.b, np.zeros((1, 3)), q, q),
        values.Softmax(3), steps_of(1.0, 1.0, values.FREE),
        points.ClassLines(lines, prox, np.zeros(3)), dual_of(s.y, s.own.v),
    )  # fmt: skip
    assert (lines[:4, :3] == 1.0).all()
