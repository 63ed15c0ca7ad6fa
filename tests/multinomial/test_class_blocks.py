"""H of several classes: against its definition, bounded by its blocks; models by their optimum."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms.second_order import class_blocks as blocks
from dualgap.algorithms.second_order.curvature import curvature
from dualgap.algorithms.second_order.tuning import CLASSES
from tests.tuned import tuned

K = 4


def problem_and_point(sparse=False):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.6)
    b = rng.integers(0, K, 30)
    b[:K] = range(K)
    problem = dualgap.Problem(
        sp.csr_array(A) if sparse else A, b, loss="multinomial", l1=0.02, l2=0.01,
        fit_intercept=True, sample_weight=rng.random(30) + 0.1,
    )  # fmt: skip
    x = rng.standard_normal(problem.shape)
    z = problem.predict(x)
    y = problem.loss.grad(z, problem.b)
    return problem, x, problem.adjoint(y), curvature(problem, z, y)


def by_definition(problem, p, damping=0.0):
    """Rows of A beside each other in classes: sum_i q_i (diag(p) - pp' + m/gamma) x a a'."""
    A = problem.design.matvec(np.eye(problem.design.shape[1]))
    middle = p[:, :, None] * np.eye(K) - p[:, :, None] * p[:, None, :]
    middle = middle + damping / problem.loss.gamma * np.eye(K)
    H = np.einsum("i,ikl,ij,im->kjlm", problem.q, middle, A, A)
    side = K * A.shape[1]
    return H.reshape(side, side)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_whole_by_definition(sparse, damping):
    problem, _, _, p = problem_and_point(sparse)
    H = blocks.whole_hessian(problem, p, damping / problem.loss.gamma)
    assert H == pytest.approx(by_definition(problem, p, damping), abs=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
def test_twice_the_blocks_are_above(sparse):
    problem, _, _, p = problem_and_point(sparse)
    d = problem.design.shape[1]
    G = blocks.class_blocks(problem, p, 0.0)
    bound = np.zeros((K, d, K, d))
    for k in range(K):
        bound[k, :, k] = G[k]
    bound = bound.reshape(K * d, K * d)
    H = by_definition(problem, p)
    assert np.linalg.eigvalsh(2.0 * bound - H).min() >= -1e-13
    assert np.linalg.eigvalsh(bound - H).min() < -1e-3  # once would not do


def test_descent_ends_at_the_optimum_of_its_model(monkeypatch):
    problem, x, u, p = problem_and_point()
    G = blocks.class_blocks(problem, p, 0.0)
    l1 = np.broadcast_to(problem.regularizer.l1, x.shape)
    l2 = np.broadcast_to(problem.regularizer.l2, x.shape)
    t = blocks.descent(G, 1.0, u, x, l1, l2)
    slope = np.stack([u[:, k] + G[k] @ (t - x)[:, k] for k in range(K)], axis=1) + l2 * t
    at_zero = t == 0.0
    assert at_zero.any() and not at_zero.all()
    assert slope[~at_zero] == pytest.approx((-l1 * np.sign(t))[~at_zero], abs=3e-3)
    assert (abs(slope) <= l1 + 3e-3)[at_zero].all()

    tuned(monkeypatch, "CLASSES", exact=0.5)
    few = blocks.descent(G, 1.0, u, x, l1, l2)

    def model(t):
        d = t - x
        g = (l1 * abs(t) + 0.5 * l2 * t**2).sum()
        return (u * d).sum() + 0.5 * np.einsum("jk,kjm,mk", d, G, d) + g

    assert model(t) < model(few) < model(x)


def test_too_large_to_be_made():
    problem, *_ = problem_and_point()
    assert np.isfinite(blocks.price(problem)) and np.isfinite(blocks.whole_price(problem))
    many = dualgap.Problem(np.ones((2, CLASSES.largest_side + 1)), [0, 1], loss="multinomial")
    assert blocks.price(many) == blocks.whole_price(many) == np.inf
    classes = dualgap.losses.Multinomial(classes=5)
    wide = dualgap.Problem(np.ones((2, CLASSES.largest_side)), [0, 1], loss=classes)
    assert np.isfinite(blocks.price(wide)) and blocks.whole_price(wide) == np.inf
