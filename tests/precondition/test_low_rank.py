"""A few strong directions taken away: the rotation, the design in its variables, the gain."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import ADFBPD, AGD, BPD, DFBPD, SAGA, AdaBPD
from dualgap.designs import RotatedDesign
from dualgap.designs.rotated import Rotation, reflectors
from dualgap.designs.tasks import product_pair, weigh
from dualgap.preconditioners import LowRank
from dualgap.regularizers import ElasticNet
from tests.precondition.cases import badly_scaled, labels


def strong(n=400, d=300, r=20, seed=0):
    """r directions with eigenvalues from 1e4 down to 1e2, a flat rest at 1, columns mixed."""
    rng = np.random.default_rng(seed)
    size = np.sqrt(np.append(np.geomspace(1e4, 1e2, r), np.ones(d - r)))
    A = rng.standard_normal((n, d)) * size @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return A, labels(A @ rng.standard_normal(d))


def rotation(d, r, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, r)))[0]
    V, T = reflectors(U)
    return U, Rotation(rng.uniform(0.5, 2.0, d), rng.uniform(0.1, 1.0, d), V, T)


# ---- the rotation ----


@pytest.mark.parametrize(("d", "r"), [(1, 1), (7, 1), (7, 3), (7, 6), (7, 7), (60, 20), (5, 0)])
def test_reflectors_complete_a_basis(d, r):
    U, turn = rotation(d, r)
    H = np.eye(d) - turn.V @ turn.T @ turn.V.T
    np.testing.assert_allclose(H.T @ H, np.eye(d), atol=1e-14)
    np.testing.assert_allclose(np.abs((H[:, :r] * U).sum(axis=0)), 1.0, atol=1e-14)


def test_reflectors_of_unit_vectors():
    """Nothing to reflect: LAPACK's tau is 0 there."""
    V, T = reflectors(np.eye(6)[:, :3])
    H = np.eye(6) - V @ T @ V.T
    np.testing.assert_allclose(np.abs(H), np.eye(6), atol=1e-15)


@pytest.mark.parametrize("tail", [(), (3,)], ids=["vector", "matrix"])
def test_the_rotation_and_its_inverse(tail):
    _, turn = rotation(9, 4)
    matrix = turn.apply(np.eye(9))
    w = np.random.default_rng(2).standard_normal((9, *tail))
    np.testing.assert_allclose(turn.apply(w), matrix @ w, atol=1e-13)
    np.testing.assert_allclose(turn.apply_transposed(w), matrix.T @ w, atol=1e-13)
    np.testing.assert_allclose(turn.solve(turn.apply(w)), w, atol=1e-13)


# ---- the design ----


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
@pytest.mark.parametrize("rank", [3, 50])
def test_every_verb_is_that_of_the_formed_matrix(store, fit_intercept, shape, rank, monkeypatch):
    monkeypatch.setattr("dualgap.designs.contract.BLOCK_BYTES", 3 * 8 * shape[1])
    rng = np.random.default_rng(0)
    (n, d), A = shape, rng.standard_normal(shape) + rng.standard_normal(shape[1])
    A[:, 2] = 0.0
    problem = dualgap.Problem(
        store(A), rng.standard_normal(n), l2=1e-2, penalty_weights=rng.uniform(0.5, 2.0, d),
        sample_weight=rng.uniform(0.0, 2.0, n), fit_intercept=fit_intercept,
    )  # fmt: skip
    change = LowRank(rank=rank).begin(problem)
    design = change.inner(problem).base
    assert isinstance(design, RotatedDesign) and not design.is_sparse
    A = np.asarray(A.astype(np.float32) if store is np.float32 else A, dtype=float)
    A = A if change.means is None else A - problem.q @ A
    B = A @ change.rotation.apply(np.eye(d))
    near = {"rtol": 1e-9, "atol": 1e-12 * max(1.0, float(np.abs(A).max()))}
    x, r, w, v = (rng.random(k) for k in (d, n, n, d))
    for X, R in ((x, r), (np.outer(x, [1.0, -2.0]), np.outer(r, [1.0, 3.0]))):
        np.testing.assert_allclose(design.matvec(X), B @ X, **near)
        np.testing.assert_allclose(design.rmatvec(R), B.T @ R, **near)
        z, u = product_pair(design, (w,), X, weigh)
        np.testing.assert_allclose(z, B @ X, **near)
        np.testing.assert_allclose(u, B.T @ (w * (B @ X).T).T, **near)
    z, u = design.weighted_sweep(x, w, 0.5)
    np.testing.assert_allclose(z, B @ x + 0.5, **near)
    np.testing.assert_allclose(u, B.T @ (w * (B @ x + 0.5)), **near)
    np.testing.assert_allclose(design.row_norms_sq(), (B * B).sum(axis=1), **near)
    np.testing.assert_allclose(design.row_norms_sq(v), (B * B) @ v, **near)
    np.testing.assert_allclose(design.column_norms_sq(w), w @ (B * B), **near)
    np.testing.assert_allclose(np.vstack([b for _, b in design.blocks(4)]), B, **near)
    np.testing.assert_allclose(design.rows().dense, B, **near)
    np.testing.assert_allclose(design.columns(np.array([0, 3])).matvec(v[:2]), B[:, [0, 3]] @ v[:2],
                               **near)  # fmt: skip
    np.testing.assert_allclose(design.gram(w), (B.T * w) @ B, **near)
    np.testing.assert_allclose(design.outer(v), (B * v) @ B.T, **near)
    z, u = design.absolute_product(x, r)
    np.testing.assert_allclose(z, np.abs(B) @ x, **near)
    np.testing.assert_allclose(u, np.abs(B).T @ r, **near)
    some = design.take(np.arange(n) % 3 != 1)
    np.testing.assert_allclose(some.matvec(x), (B @ x)[np.arange(n) % 3 != 1], **near)
    assert some.row_norms_sq().shape == (some.shape[0],)


# ---- the variables ----


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_largest_curvature_is_that_of_what_is_left(fit_intercept):
    A, b = strong()
    p = np.random.default_rng(3).uniform(0.5, 2.0, A.shape[1])
    l2 = 1e-3
    problem = dualgap.Problem(
        A + 5.0 * fit_intercept, b, loss="logistic", l2=l2, penalty_weights=p,
        fit_intercept=fit_intercept,
    )  # fmt: skip
    inner = LowRank(rank=20).begin(problem).inner(problem)
    strengths = inner.regularizer.l2[: problem.d]
    assert (strengths > 0.0).all() and (strengths[20:] == l2).all() and (strengths <= l2).all()
    H = inner.design.gram(problem.q) / 4.0 + np.diag(inner.regularizer.l2)
    A = (A - A.mean(axis=0) if fit_intercept else A) / np.sqrt(p)
    exact = np.linalg.eigvalsh(A.T @ A / len(b))[::-1] / 4.0 + l2
    assert exact[0] > 100.0 * exact[20]
    assert np.linalg.eigvalsh(H)[-1] < 2.0 * exact[20]


@pytest.mark.parametrize("l2", [0.0, 1e-6])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_more_rank_than_the_data_have(l2, layout):
    """All that the data see is made alike; with l2 all of P is."""
    rng = np.random.default_rng(1)
    # Sums of powers of two times integers: the columns are combinations of five to the last bit.
    rows = np.hstack((np.eye(5), rng.integers(-1, 2, (5, 7))))
    A = rng.integers(-8, 9, (60, 5)) * 2.0 ** np.array([0, 3, 5, 8, 10]) @ rows
    problem = dualgap.Problem(layout(A), rng.standard_normal(60), l2=l2)
    inner = LowRank().begin(problem).inner(problem)
    e = np.linalg.eigvalsh(inner.design.gram(problem.q) + np.diag(inner.regularizer.l2))
    top = e[-5:] if l2 == 0.0 else e
    np.testing.assert_allclose(top, top[-1], rtol=1e-6)
    result = problem.solve(algorithm="adf-bpd", precondition="low-rank", max_passes=2000)
    assert result.status is dualgap.Status.CONVERGED and result.certificate.certified


@pytest.mark.parametrize("kind", ["duplicate", "constant", "zero"])
@pytest.mark.parametrize("shape", [(120, 6), (9, 30)])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_degenerate_columns(kind, shape, layout):
    A, b = badly_scaled(*shape)
    A /= np.sqrt((A * A).mean(axis=0))
    A[:, 1] = {"duplicate": A[:, 2], "constant": 0.1, "zero": 0.0}[kind]
    problem = dualgap.Problem(layout(A), b, l2=1e-3, fit_intercept=True)
    result = problem.solve(algorithm="ada-bpd", precondition=LowRank(rank=3), max_passes=5000)
    assert result.status is dualgap.Status.CONVERGED
    best = problem.solve(algorithm="newton", tol=1e-10).certificate.primal
    assert result.certificate.primal == pytest.approx(best, rel=2e-6)


def test_the_same_variables_every_time():
    A, b = strong(60, 40, 5)
    first, second = (LowRank(rank=5).begin(dualgap.Problem(A, b, l2=0.1)) for _ in range(2))
    np.testing.assert_array_equal(first.rotation.V, second.rotation.V)
    np.testing.assert_array_equal(first.strengths, second.strengths)


# ---- runs ----


@pytest.mark.parametrize(
    "algorithm", [BPD(), DFBPD(), AdaBPD(), ADFBPD(), AGD()], ids=lambda a: a.name
)
@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_batch_algorithms(algorithm, l2, layout):
    A, b = strong(120, 30, 4)
    problem = dualgap.Problem(layout(A), A[:, 0] + b, l2=l2, fit_intercept=True)
    rank = LowRank(rank=4)
    result = problem.solve(algorithm=algorithm, precondition=rank, max_passes=20000)
    assert result.status is dualgap.Status.CONVERGED
    assert problem.certify(result.x, result.y, intercept=result.intercept) == result.certificate
    # The way in.
    x0 = np.append(result.x, result.intercept)
    warm = problem.solve(algorithm=algorithm, precondition=rank, x0=x0, max_passes=0)
    assert warm.certificate.primal == pytest.approx(result.certificate.primal, rel=1e-10)
    # In two parts.
    half = problem.solve(algorithm=algorithm, precondition=rank, tol=1e-300, max_passes=9).state
    half = pickle.loads(pickle.dumps(half))
    joined, whole = (
        problem.solve(
            algorithm=algorithm, precondition=rank, tol=1e-300, max_passes=passes, state=state
        )
        for passes, state in ((11, half), (20, None))
    )
    np.testing.assert_array_equal(joined.state.x, whole.state.x)
    np.testing.assert_array_equal(joined.x, whole.x)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_multinomial(fit_intercept):
    A, _ = strong(150, 40, 5)
    b = np.random.default_rng(4).integers(0, 3, 150)
    problem = dualgap.Problem(A, b, loss="multinomial", l2=1e-2, fit_intercept=fit_intercept)
    result = problem.solve(algorithm="adf-bpd", precondition=LowRank(rank=5), max_passes=5000)
    assert result.status is dualgap.Status.CONVERGED and result.x.shape == (40, 3)
    best = problem.solve(algorithm="newton", tol=1e-9).certificate.primal
    assert result.certificate.primal == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize("l2", [1e-2, 1e-1])
def test_strong_directions_cost_nothing_any_more(l2):
    """3594 and 1100 passes become 80 and 23."""
    A, b = strong()
    problem = dualgap.Problem(A, b, loss="logistic", l2=l2)
    plain, taken = (
        problem.solve(algorithm="adf-bpd", precondition=precondition, max_passes=20000)
        for precondition in ("none", LowRank(rank=20))
    )
    assert plain.status is taken.status is dualgap.Status.CONVERGED
    assert 20.0 * taken.passes <= plain.passes
    # The sketch has 30 columns, and two rounds.
    assert 60 <= taken.setup.passes <= 80


def test_strengths_of_a_regulariser_that_was_given():
    """An equivalence: l2 and penalty_weights are shorthand for the elastic net."""
    A, b = strong()
    weights = np.linspace(0.5, 1.0, A.shape[1])
    options = {"algorithm": "adf-bpd", "precondition": "low-rank"}
    short = dualgap.solve(A, b, l2=0.01, penalty_weights=weights, **options)
    given = ElasticNet(np.zeros(A.shape[1]), 0.01 * weights)
    assert given.l2.max() == 0.01
    long = dualgap.solve(A, b, regularizer=given, **options)
    assert short.status is long.status is dualgap.Status.CONVERGED
    np.testing.assert_allclose(long.x, short.x, rtol=1e-9)
    with pytest.raises(ValueError, match=r"mixes the coordinates, and regularizer=.* an l1 part"):
        dualgap.solve(A, b, regularizer=ElasticNet(0.1, 0.0), **options)


def test_refusals():
    A, b = strong(60, 40, 5)
    with pytest.raises(ValueError, match=r"mixes the coordinates, and l1=0\.1.*'diagonal'"):
        dualgap.solve(A, b, l1=0.1, l2=0.1, precondition="low-rank")
    weights = np.ones(40)
    weights[3] = 0.0
    with pytest.raises(ValueError, match=r"or on none, and 1 of the penalty_weights are 0"):
        dualgap.solve(A, b, l2=0.1, penalty_weights=weights, precondition="low-rank")
    with pytest.raises(ValueError, match=r"GiB.*LowRank\(rank=...\) with a smaller rank"):
        dualgap.solve(A, b, l2=0.1, precondition=LowRank(budget=1000))
    A, b = strong(600, 60, 5)
    little = LowRank(rank=1, budget=8 * 3 * 11 * 660)
    with pytest.raises(ValueError, match=r"for batch algorithms: algorithm='saga' walks rows"):
        dualgap.solve(A, b, l2=0.1, algorithm="saga", precondition=little)
    with pytest.raises(ValueError, match=r"for batch algorithms: an algorithm that walks rows"):
        dualgap.solve(A, b, l2=0.1, algorithm=SAGA(), precondition=little)
    assert dualgap.solve(A, b, l2=0.1, algorithm="adf-bpd", precondition=little)
    for options in ({"rank": 0}, {"rounds": 0}, {"budget": -1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            LowRank(**options)
