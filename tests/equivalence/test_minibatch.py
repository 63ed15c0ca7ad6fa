"""Blocks of rows: the kernels against a transcription, sparse against dense, and convergence."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import ADFSPDC, DFSPDC, SPDC
from dualgap.algorithms.primal_dual import marshalling

RNG = np.random.default_rng(3)
A = RNG.standard_normal((37, 6)) * (RNG.random((37, 6)) < 0.6)
REAL = A @ RNG.standard_normal(6) + 0.3 * RNG.standard_normal(37)
SIGNS = np.where(REAL > 0, 1.0, -1.0)
WEIGHT = RNG.integers(0, 4, 37).astype(float)
PENALTIES = {
    "none": {},
    "l2": {"l2": 0.05},
    "l1": {"l1": 0.02},
    "elastic net": {"l1": 0.02, "l2": 0.05, "penalty_weights": [1.0, 0.0, 2.0, 1.0, 0.5, 1.0]},
}


def transcription(problem, algorithm, s, passes):
    """The module docstring of `kernels.blocks`, row by row and coordinate by coordinate."""
    sampler, m = algorithm.sampler(problem), algorithm.batch
    rows = [k for e in range(int(s.passes), int(s.passes) + passes) for k in sampler.rows(e)]
    tau, sigma, theta = s.own.steps.tau, s.own.steps.sigma, s.own.steps.theta
    x, old, u, y = s.x.copy(), s.own.xt.copy(), s.u.copy(), s.y.copy()
    v = None if s.own.v is None else s.own.v.copy()
    loss, g = problem.loss, problem.regularizer
    full = np.hstack([problem.design.blocks(problem.n).__next__()[1]])
    for start in range(0, len(rows), m):
        block = rows[start : start + m]
        ahead = x + theta * (x - old)
        step, drift = np.zeros_like(x), np.zeros_like(x)
        for k in block:
            z = full[k] @ ahead + (0.0 if problem.offset is None else problem.offset[k])
            bk = problem.b[k : k + 1]
            if v is not None:
                v[k] = (v[k] + sigma * z) / (1 + sigma)
                new = loss.grad(v[k : k + 1], bk)[0]
            else:
                new = loss.prox_conj(np.array([y[k] + sigma * z]), sigma, bk)[0]
            step += sampler.ratio[k] * (new - y[k]) / len(block) * full[k]
            drift += problem.q[k] * (new - y[k]) * full[k]
            y[k] = new
        x, old = g.prox(x - tau * (u + step), tau), x
        u = u + drift
    return x, old, u, y


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("cls", [SPDC, DFSPDC])
@pytest.mark.parametrize("batch", [2, 5])
def test_kernel_is_the_transcription(layout, penalty, loss, cls, batch):
    b = SIGNS if loss == "logistic" else REAL
    problem = dualgap.Problem(
        layout(A), b, loss=loss, sample_weight=WEIGHT, fit_intercept=batch == 5,
        offset=0.1 * REAL if batch == 2 else None, **PENALTIES[penalty],
    )  # fmt: skip
    algorithm = cls(batch=batch, check_every=3)
    s = algorithm.start(problem, None, None).state
    for _ in range(2):
        expected = transcription(problem, algorithm, s, 3)
        s = algorithm.step(problem, s)
        for ours, theirs in zip((s.x, s.own.xt, s.u, s.y), expected, strict=True):
            scale = max(1.0, np.abs(theirs).max())
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("batch", [1, 3, 8])
@pytest.mark.parametrize("penalty", ["l2", "elastic net", "none"])
def test_every_block_size_reaches_the_optimum(batch, penalty):
    problem = dualgap.Problem(A, REAL, **PENALTIES[penalty])
    result = problem.solve(algorithm=ADFSPDC(batch=batch), max_passes=3000)
    assert result.status.converged, result


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_block_of_one_row_is_the_plain_method(layout, monkeypatch):
    """By the points of blocks, to the rounding of their differently ordered sums."""
    problem = dualgap.Problem(layout(A), REAL, l2=0.05)
    algorithm = DFSPDC(check_every=1)
    s = r = algorithm.start(problem, None, None).state
    for _ in range(5):
        s = algorithm.step(problem, s)

    def blocks_of_one(problem, prox, *parts):
        return marshalling.blocks_of(problem, prox, parts, 1, problem.n)

    monkeypatch.setattr(marshalling, "point_of", blocks_of_one)
    for _ in range(5):
        r = algorithm.step(problem, r)
    np.testing.assert_allclose(s.x, r.x, rtol=0, atol=1e-13 * np.abs(s.x).max())


@pytest.mark.parametrize("batch", [0, -1, 1.5, True])
def test_bad_block_sizes_are_refused(batch):
    with pytest.raises(ValueError, match="batch must be an integer of at least 1"):
        SPDC(batch=batch)


def test_blocks_are_for_one_prediction_per_row():
    classes = np.arange(37) % 3
    problem = dualgap.Problem(A, classes, loss="multinomial", l2=0.1)
    for algorithm in (DFSPDC(batch=4), ADFSPDC(batch=4)):
        with pytest.raises(ValueError, match="batch=4 has no kernel for loss='multinomial'"):
            problem.solve(algorithm=algorithm)
