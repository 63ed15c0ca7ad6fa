"""Spans of free columns: what is said of them is true in exact arithmetic, or not said."""

import numpy as np
import pytest
from mpmath import mp

import dualgap
from dualgap.designs import as_design
from dualgap.dual_points.refinement import newton_dual, refined
from dualgap.spans.span import BasisSpan, GramSpan, span


def of(F, D=None, weights=None):
    n, d = F.shape
    w = np.ones(n) if weights is None else weights
    return span(as_design(F), w / w.sum(), np.ones(d, dtype=bool), D, weights)


def exact_nu(F, y, D, weights) -> float:
    """sqrt(rho' G^-1 rho) with 120 digits."""
    with mp.workdps(120):
        w = [mp.mpf(float(v)) for v in weights]
        W = sum(w)
        rows = mp.matrix(F.tolist())
        scaled = mp.matrix(rows.rows, rows.cols)
        for i in range(rows.rows):
            for j in range(rows.cols):
                scaled[i, j] = rows[i, j] * w[i] / W * mp.mpf(float(D[i]))
        G = rows.T * scaled
        rho = mp.matrix([sum(rows[i, j] * w[i] / W * mp.mpf(float(y[i])) for i in range(rows.rows))
                         for j in range(rows.cols)])  # fmt: skip
        return float(mp.sqrt((rho.T * mp.lu_solve(G, rho))[0]))


@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-20])
@pytest.mark.parametrize("uneven", [False, True])
def test_the_distance_is_never_below_the_truth_and_near_it(apart: float, uneven: bool) -> None:
    rng = np.random.default_rng(3)
    F = rng.standard_normal((12, 3))
    F[:, 2] = F[:, 0] + F[:, 1] + apart * rng.standard_normal(12)
    if apart == 1e-20:  # not as a sum of floats: a column of its own
        F[:, 2] = F[:, 0] * 1e-20
        F[0, 2] *= 1.5
    weights = 10.0 ** rng.integers(-6, 3, 12) if uneven else np.ones(12)
    D = rng.uniform(0.1, 1.0, 12)
    found = of(F, D, weights)
    assert found is not None
    y = rng.standard_normal(12)
    q = weights / weights.sum()
    for _ in range(2):  # as it comes, and projected
        nu, truth = found.distance(y, F.T @ (q * y)), exact_nu(F, y, D, weights)
        assert truth <= nu <= 1.01 * truth + 1e-9 * np.abs(y).max() / max(apart, 1e-9)
        y = found.projected(y)
    assert exact_nu(F, y, D, weights) <= 1e-14 * np.abs(y).max() * np.sqrt(D / q).max()


def test_well_conditioned_columns_need_no_copy() -> None:
    rng = np.random.default_rng(0)
    assert isinstance(of(rng.standard_normal((30, 4))), GramSpan)


@pytest.mark.parametrize("kind", ["twin", "multiple", "one-hot", "sum", "zero", "rows"])
def test_exact_relations_leave_columns_out(kind: str) -> None:
    rng = np.random.default_rng(1)
    F = rng.integers(-9, 10, (15, 3)).astype(float)
    more = {
        "twin": F[:, :1],
        "multiple": F[:, :1] * 3.0 / 64.0,
        "one-hot": np.column_stack((np.eye(3)[rng.integers(0, 3, 15)], np.ones(15))),
        "sum": F[:, :1] - 2.0 * F[:, 1:2],
        "zero": np.zeros((15, 1)),
        "rows": F[:, :1],
    }[kind]
    wide = np.column_stack((F, more))
    if kind == "rows":  # equal rows span less than their columns could, which have no relation
        wide = np.repeat(rng.standard_normal((4, 6)), [3, 4, 2, 6], axis=0)
    found = of(wide)
    assert isinstance(found, BasisSpan)
    assert found.dimension == np.linalg.matrix_rank(wide)
    y = found.projected(rng.standard_normal(15))
    assert np.abs(wide.T @ y).max() <= 1e-13 * np.abs(wide).max() * 15


def test_a_dependence_without_a_proof_is_not_assumed() -> None:
    """Four columns in three dimensions, with coefficients that are no short numbers."""
    rng = np.random.default_rng(2)
    F = rng.integers(-999, 1000, (15, 3)).astype(float)
    G = F @ np.array([[1, 0, 0, 719], [0, 1, 0, -883], [0, 0, 1, 997]]).astype(float)
    G = G @ np.array([[311, 5, 7, 1], [2, 401, 3, 9], [8, 1, 503, 4], [6, 2, 1, 601]]).astype(float)
    found = of(G)
    assert found is None or found.dimension == 4


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "squared_hinge"])
def test_a_newton_dual_shows_how_good_a_point_is(loss: str) -> None:
    """Its gap is d'H d/2 to leading order; phi'(A x) without a penalty is far from feasible."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 4))
    z = A @ rng.standard_normal(4) + 2.0 * rng.standard_normal(60)
    b = z if loss in ("squared", "huber") else np.where(z > 0, 1.0, -1.0)
    problem = dualgap.Problem(A, b, loss=loss, l2=1e-3)
    best = problem.solve(tol=1e-13)
    near = best.x + 1e-4 * rng.standard_normal(4)
    y = newton_dual(problem, near, problem.predict(near))
    plain = problem.loss.grad(problem.predict(near), problem.b)
    with_newton, without = problem.certify(near, y), problem.certify(near, plain)
    assert problem.certify(near).gap == with_newton.gap  # which is what is found without a y
    off = with_newton.primal - best.certificate.primal
    assert off <= with_newton.gap + 1e-15 and with_newton.gap <= 1.2 * off < without.gap
    better = refined(problem, near)
    assert problem.certify(better).primal <= best.certificate.primal * (1 + 1e-14)
