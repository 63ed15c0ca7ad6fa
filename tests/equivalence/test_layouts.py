"""One problem in several dresses: storage, weights, offsets, intercept, penalty weights."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap import Problem
from dualgap.adaptation import Curvature, Robust, Simple
from dualgap.algorithms import ADFBPD, AGD, BPD, DFBPD, AdaBPD, OptBPD
from dualgap.designs import contract, sparse

from .runs import PENALTIES, assert_same, data, states

ITERATIONS = 40
RTOL = 1e-12
"""Sums in another order: some 1e3 roundings in 40 iterations, none of them enlarged."""

ALGORITHMS = {
    "bpd": BPD(),
    "df-bpd": DFBPD(),
    "agd": AGD(),
    "ada-bpd simple": AdaBPD(adapt=Simple()),
    "ada-bpd robust": AdaBPD(adapt=Robust()),
    "ada-bpd curvature": AdaBPD(adapt=Curvature()),
    "adf-bpd curvature": ADFBPD(adapt=Curvature()),
}
PAIRS = [
    pytest.param(loss, algorithm, id=f"{loss} {name}")
    for loss in ("squared", "logistic")
    for name, algorithm in ALGORITHMS.items()
]
# Only with squared loss: else it takes its estimate from a run of its own, known to that run's tol.
PAIRS.append(pytest.param("squared", OptBPD(), id="squared opt-bpd"))
each_algorithm = pytest.mark.parametrize(("loss", "algorithm"), PAIRS)
each_packaged = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
each_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])
each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def assert_same_paths(one, two, rows=slice(None)):
    """The same x, P and y; ``rows`` says which rows of ``two`` are those of ``one``."""
    assert_same([s.x for s in two], [s.x for s in one], RTOL, "x")
    assert_same([s.y[rows] for s in two], [s.y for s in one], RTOL, "y")
    assert_same([[s.primal] for s in two], [[s.primal] for s in one], RTOL, "P")


# ---- storage ----

LAYOUTS = [
    sp.csr_array,
    sp.csc_array,
    np.asfortranarray,
    lambda A: np.array(A, np.float32),
    lambda A: np.array(A, np.float32, order="F"),
    lambda A: sp.csr_array(A, dtype=np.float32),
    lambda A: sp.csc_array(A, dtype=np.float32),
]


def sparse_data(loss, d=6):
    A, b = data(loss, d=d)
    A[np.random.default_rng(1).random(A.shape) < 0.4] = 0.0
    return A, b


@each_algorithm
@each_penalty
def test_storage_does_not_matter(loss, algorithm, penalty, monkeypatch):
    A, b = sparse_data(loss)
    dense = states(algorithm, Problem(A, b, loss=loss, **penalty), ITERATIONS)
    monkeypatch.setattr(contract, "BLOCK_BYTES", 300)
    monkeypatch.setattr(sparse, "PIECE_NONZEROS", 25)
    for store in LAYOUTS:
        other = Problem(store(A), b, loss=loss, **penalty)
        assert_same_paths(dense, states(algorithm, other, ITERATIONS))


@pytest.mark.parametrize("algorithm", [BPD(), DFBPD(), AGD(), AdaBPD()], ids=lambda a: a.name)
@pytest.mark.parametrize("columns", [1, 2])
def test_storage_does_not_matter_where_each_step_attains_Lam(algorithm, columns):
    # One column, or two that are orthogonal and as long: |A dx|_Q^2 = Lam |dx|^2 but for rounding,
    # which must not pass for a sign that Lam was too small.
    A, b = sparse_data("squared", d=1)
    A, b = np.kron(np.eye(columns), A), np.tile(b, columns)
    for unit in (1.0, 0.7, 3.0, 10.0):
        dense = states(algorithm, Problem(unit * A, b, l2=0.05), ITERATIONS)
        for store in LAYOUTS[:2]:
            other = states(algorithm, Problem(store(unit * A), b, l2=0.05), ITERATIONS)
            assert_same_paths(dense, other)


# ---- weights ----


@each_algorithm
@each_penalty
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
def test_weights_are_repeated_rows(loss, algorithm, penalty, fit_intercept):
    A, b = data(loss)
    counts = np.random.default_rng(3).integers(0, 4, len(b))
    assert (counts == 0).any()
    options = dict(loss=loss, fit_intercept=fit_intercept, **penalty)
    weighted = Problem(A, b, sample_weight=counts, **options)
    repeated = Problem(np.repeat(A, counts, axis=0), np.repeat(b, counts), **options)
    # The rows of the weighted problem that count, and where each comes first among the repeated.
    seen = np.flatnonzero(counts)
    first = np.searchsorted(np.repeat(np.arange(len(b)), counts), seen)
    one = states(algorithm, weighted, ITERATIONS)
    two = states(algorithm, repeated, ITERATIONS)
    assert_same([s.x for s in two], [s.x for s in one], RTOL, "x")
    assert_same([s.y[first] for s in two], [s.y[seen] for s in one], RTOL, "y")
    assert_same([[s.primal] for s in two], [[s.primal] for s in one], RTOL, "P")


@each_algorithm
@each_penalty
def test_a_row_without_weight_plays_no_part(loss, algorithm, penalty):
    A, b = data(loss)
    wild = np.vstack([A, 1e3 * np.ones((1, A.shape[1]))])
    weight = np.append(np.ones(len(b)), 0.0)
    one = states(algorithm, Problem(A, b, loss=loss, **penalty), ITERATIONS)
    two = Problem(wild, np.append(b, -1.0), loss=loss, sample_weight=weight, **penalty)
    assert_same_paths(one, states(algorithm, two, ITERATIONS), slice(0, len(b)))


# ---- offset ----


@each_packaged
@each_penalty
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
def test_an_offset_is_a_shift_of_the_targets_of_squared_loss(algorithm, penalty, fit_intercept):
    A, b = data("squared")
    offset = np.random.default_rng(4).standard_normal(len(b))
    options = dict(fit_intercept=fit_intercept, **penalty)
    one = states(algorithm, Problem(A, b - offset, **options), ITERATIONS)
    two = states(algorithm, Problem(A, b, offset=offset, **options), ITERATIONS)
    assert_same_paths(one, two)
    if np.isfinite(one[-1].dual):
        assert_same([[s.dual] for s in two], [[s.dual] for s in one], RTOL, "D")


@each_packaged
@each_penalty
def test_an_offset_is_a_column_whose_coefficient_is_fixed(algorithm, penalty):
    """Logistic loss: P and y at (A, offset) are those at (A, o) with the last coefficient 1."""
    A, b = data("logistic")
    offset = np.random.default_rng(4).standard_normal(len(b))
    path = states(algorithm, Problem(A, b, loss="logistic", offset=offset, **penalty), ITERATIONS)
    wide = np.column_stack([A, offset])
    for s in path[:: ITERATIONS // 4]:
        z = wide @ np.append(s.x, 1.0)
        P = np.mean(np.logaddexp(0, -b * z))
        P += penalty.get("l1", 0) * abs(s.x).sum() + penalty.get("l2", 0) / 2 * s.x @ s.x
        assert s.primal == pytest.approx(P, rel=RTOL, abs=0)
        assert_same([s.z], [z], RTOL, "z")


# ---- intercept ----


@pytest.mark.parametrize(
    "algorithm",
    # Algorithms 3 and 4 compare gaps, and only an intercept's is finite as it stands.
    [v for k, v in ALGORITHMS.items() if k not in ("ada-bpd simple", "ada-bpd robust")],
    ids=lambda a: a.name,
)
@each_loss
@each_penalty
@pytest.mark.parametrize("unit", [1.0, 50.0])
def test_an_intercept_is_a_constant_column_without_penalty(algorithm, loss, penalty, unit):
    A, b = data(loss)
    A = unit * A
    one = Problem(A, b, loss=loss, fit_intercept=True, **penalty)
    column = np.full((len(b), 1), one.design.scale)
    free = np.append(np.ones(A.shape[1]), 0.0)
    two = Problem(np.hstack([A, column]), b, loss=loss, penalty_weights=free, **penalty)
    path = states(algorithm, one, ITERATIONS)
    assert_same_paths(path, states(algorithm, two, ITERATIONS))
    x, c = one.split(path[-1].x)
    z = A @ x + c
    assert_same([path[-1].z], [z], RTOL, "A x + c")
    assert c != 0.0


# ---- penalty weights ----

WEIGHTS = np.array([0.5, 1.0, 2.0, 0.1, 4.0, 1.5])


@each_algorithm
@each_penalty
def test_equal_penalty_weights_are_one_strength(loss, algorithm, penalty):
    A, b = data(loss)
    stronger = {k: 4.0 * v for k, v in penalty.items()}  # exact
    one = Problem(A, b, loss=loss, **stronger)
    two = Problem(A, b, loss=loss, penalty_weights=np.full(A.shape[1], 4.0), **penalty)
    assert_same_paths(*(states(algorithm, p, ITERATIONS) for p in (one, two)))


@each_loss
@pytest.mark.parametrize(
    ("penalty", "lengths"), [({"l2": 0.05}, np.sqrt(WEIGHTS)), ({"l1": 0.02}, WEIGHTS)]
)
def test_penalty_weights_are_lengths_of_columns(loss, penalty, lengths):
    """p_j g(x_j) = g(s_j x_j) with s_j = sqrt(p_j) for l2 and p_j for l1: the same P and D."""
    A, b = data(loss)
    weighted = Problem(A, b, loss=loss, penalty_weights=WEIGHTS, **penalty)
    rescaled = Problem(A / lengths, b, loss=loss, **penalty)
    rng = np.random.default_rng(6)
    for _ in range(20):
        x = rng.standard_normal(A.shape[1])
        P = weighted.primal(x, weighted.predict(x))
        assert rescaled.primal(lengths * x, rescaled.predict(lengths * x)) == pytest.approx(
            P, rel=RTOL, abs=0
        )
        # y in the domains, and small enough that A'Qy is in the box of l1.
        y = weighted.loss.grad(weighted.predict(x), weighted.b) * (1.0 if "l2" in penalty else 1e-3)
        conj = weighted.regularizer.conj(-weighted.adjoint(y))
        assert np.isfinite(conj)
        assert rescaled.regularizer.conj(-rescaled.adjoint(y)) == pytest.approx(conj, rel=RTOL)


@each_loss
def test_penalty_weights_give_the_rescaled_solution(loss):
    A, b = data(loss)
    s = np.sqrt(WEIGHTS)
    one = Problem(A, b, loss=loss, l2=0.05, penalty_weights=WEIGHTS).solve(tol=1e-12)
    two = Problem(A / s, b, loss=loss, l2=0.05).solve(tol=1e-12)
    assert one.status.converged and two.status.converged
    # Each is as close to its minimiser as its certificate says.
    apart = np.linalg.norm(s * one.x - two.x)
    assert apart <= s.max() * one.certificate.distance + two.certificate.distance
