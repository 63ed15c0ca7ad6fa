"""The factor that paths share: the inverse of H on the support, whatever has come and gone."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms.second_order.set_models import ColumnModel
from dualgap.designs import as_design
from dualgap.designs.columns import DenseColumns, SparseColumns
from dualgap.linalg import growing_factor
from dualgap.linalg.growing_factor import RIDGE, GrowingFactor
from dualgap.linalg.penalised import Penalty
from dualgap.paths import _models

N, D = 60, 25


def data(seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.3)  # sparse enough to stay so
    return A, rng.uniform(0.2, 1.0, N) / N, rng


def columns_of(A, sparse, at=None):
    design = as_design(sp.csr_array(A) if sparse else A)
    columns = design.columns(np.arange(A.shape[1]) if at is None else at)
    assert isinstance(columns, SparseColumns if sparse else DenseColumns)
    return columns


def expected(A, w, free, r):
    """(H + RIDGE diag(H))^(-1) r on the support, 0 elsewhere."""
    F = np.flatnonzero(free)
    H = (A.T * w) @ A
    H = H[np.ix_(F, F)]
    out = np.zeros(r.size)
    out[F] = np.linalg.solve(H + RIDGE * np.diag(H.diagonal()), r[F])
    return out


@pytest.mark.parametrize("group", [2, 512])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_the_inverse_on_every_support(sparse, group, monkeypatch):
    """Coordinates come, leave, return; columns are gathered anew, in between."""
    monkeypatch.setattr(growing_factor, "GROUP", group)
    monkeypatch.setattr(growing_factor, "MOST_ABSENT", 1.0)
    A, w, rng = data()
    h = (A * A).T @ w
    factor = GrowingFactor(D, w)
    seen = np.zeros(D, dtype=bool)
    for _ in range(12):
        free = rng.random(D) < 0.4
        seen |= free
        at = np.flatnonzero(seen | (rng.random(D) < 0.3))
        columns, r = columns_of(A, sparse, at), np.where(free, rng.standard_normal(D), 0.0)
        inverse = factor.inverse(columns, h[at], free[at])
        got = np.zeros(D)
        got[at] = inverse(r[at])
        wanted = expected(A, w, free, r)
        assert got[~free] == pytest.approx(0.0, abs=1e-5 * np.abs(wanted).max())
        np.testing.assert_allclose(got, wanted, atol=2e-4 * np.abs(wanted).max())
    assert factor.side == seen.sum()
    assert sum(len(triangle) for _, triangle in factor.blocks) == factor.side
    assert factor.anew(w).side == 0


def test_it_is_begun_anew_when_too_many_have_left():
    A, w, rng = data()
    h, columns = (A * A).T @ w, columns_of(A, sparse=True)
    factor = GrowingFactor(D, w)
    factor.inverse(columns, h, np.ones(D, dtype=bool))
    for kept, side in ((D - 6, D), (D - 7, D - 7)):  # a quarter of 25
        few, r = np.arange(D) < kept, np.zeros(D)
        r[:kept] = rng.standard_normal(kept)
        inverse = factor.inverse(columns, h, few)
        assert factor.side == side
        wanted = expected(A, w, few, r)
        np.testing.assert_allclose(inverse(r), wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("scale", [1e-40, 1e40])
def test_single_precision_does_not_care_for_units(scale):
    A, w, rng = data()
    A[:, ::2] *= scale
    free, r = np.ones(D, dtype=bool), rng.standard_normal(D)
    columns = columns_of(A, sparse=True)
    inverse = GrowingFactor(D, w).inverse(columns, (A * A).T @ w, free)
    unit = np.sqrt((A * A).T @ w)  # in units in which H has a diagonal of 1
    wanted = expected(A / unit, w, free, r / unit)
    np.testing.assert_allclose(unit * inverse(r), wanted, atol=1e-3 * np.abs(wanted).max())


def test_equal_columns_and_nothing_at_all():
    A, w, rng = data()
    A[:, 1] = A[:, 0]
    free = np.ones(D, dtype=bool)
    columns, h = columns_of(A, sparse=False), (A * A).T @ w
    inverse = GrowingFactor(D, w).inverse(columns, h, free)
    r = (A.T * w) @ (A @ rng.standard_normal(D))  # in the range of H
    assert np.isfinite(inverse(r)).all()
    np.testing.assert_allclose((A.T * w) @ (A @ inverse(r)), r, atol=0.1 * np.abs(r).max())
    none = np.zeros(D, dtype=bool)
    assert not GrowingFactor(D, w).inverse(columns, h, none)(0.0 * h).any()


def test_what_costs_too_much_stays_outside(monkeypatch):
    A, w, rng = data()
    h, columns = (A * A).T @ w, columns_of(A, sparse=True)
    factor = GrowingFactor(D, w)
    few = np.arange(D) < 5
    factor.inverse(columns, h, few)
    monkeypatch.setattr(growing_factor, "LARGEST_SIDE", 5)
    inverse = factor.inverse(columns, h, np.ones(D, dtype=bool))
    assert factor.side == 5
    r = rng.standard_normal(D)
    np.testing.assert_allclose(inverse(r)[5:], r[5:] / h[5:])
    wanted = expected(A, w, few, np.where(few, r, 0.0))
    np.testing.assert_allclose(inverse(r)[:5], wanted[:5], atol=1e-4 * np.abs(wanted).max())


def test_a_matrix_that_is_not_positive_leaves_the_factor_as_it_was():
    A, w, rng = data()
    columns, h = columns_of(A, sparse=True), (A * A).T @ w
    factor = GrowingFactor(D, -w)
    inverse = factor.inverse(columns, h, np.ones(D, dtype=bool))
    r = rng.standard_normal(D)
    assert factor.side == 0
    np.testing.assert_allclose(inverse(r), r / h)


@pytest.mark.parametrize("sparse", [False, True])
def test_conjugate_gradients_end_at_once(sparse):
    """And where they would without it."""
    A, w, rng = data()
    x = rng.choice([-1.0, 1.0], D)
    v = w * (A @ (0.1 * x))  # the minimiser is 0.9 x
    h, none = (A * A).T @ w, np.zeros(D)
    columns, factor = columns_of(A, sparse), GrowingFactor(D, w)
    goal = 1e-16
    penalty = Penalty(none, none)
    plain, many = ColumnModel(columns, w, v.copy(), x, penalty, h).finish(goal)
    shared, few = ColumnModel(columns, w, v.copy(), x, penalty, h).finish(
        goal, lambda free: factor.inverse(columns, h, free)
    )
    np.testing.assert_allclose(plain, 0.9 * x, atol=1e-5)
    np.testing.assert_allclose(shared, 0.9 * x, atol=1e-5)
    assert few <= 6 < many


@pytest.mark.parametrize("constant", [0.0, 2.5])
@pytest.mark.parametrize(("dense", "few_rows"), [(True, 2), (False, 0), (False, 2)])
def test_cross_gram(constant, dense, few_rows, monkeypatch):
    """Some rows and columns of B' diag(w) B, by both ways."""
    from dualgap.designs import columns as module

    monkeypatch.setattr(module, "FEW_ROWS", few_rows)  # 0: always the rows that matter
    A, w, rng = data()
    bordered = np.column_stack((A, np.full(N, constant))) if constant else A
    size = D + bool(constant)
    columns = as_design(A if dense else sp.csr_array(A)).columns(np.arange(size), constant)
    H = (bordered.T * w) @ bordered
    for count, others in ((1, size - 2), (3, size), (size, size)):
        some, others = rng.permutation(size)[:count], rng.permutation(size)[:others]
        np.testing.assert_allclose(
            columns.cross_gram(w, some, others), H[np.ix_(some, others)], atol=1e-14
        )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_path_with_one_factor_is_the_path(loss, monkeypatch):
    """Every point certified, the same objective as by solves, in fewer passes than without it."""
    from dualgap.paths import _squared

    rng = np.random.default_rng(5)
    A = rng.standard_normal((200, 80)) + 3.0 * rng.standard_normal((200, 1))
    b = A[:, :30] @ rng.standard_normal(30) + rng.standard_normal(200)
    b = b if loss == "squared" else np.where(b > np.median(b), 1.0, -1.0)
    options = {"loss": loss, "l1_ratio": 1.0, "fit_intercept": True, "lambdas": 20, "tol": 1e-8}
    monkeypatch.setattr(_squared, "pays", lambda *_: False)
    monkeypatch.setattr(_models, "may_form", lambda *_: False)
    ours = dualgap.path(A, b, **options)
    theirs = dualgap.path(A, b, callback=lambda snapshot: None, **options)
    assert ours.converged and theirs.converged
    for one, other in zip(ours.certificates, theirs.certificates, strict=True):
        assert one.dual <= other.primal and other.dual <= one.primal
        assert one.relative_gap <= 1e-8
    monkeypatch.setattr(growing_factor, "LARGEST_SIDE", 0)
    without = dualgap.path(A, b, **options)
    assert without.converged
    assert ours.passes.sum() < 0.7 * without.passes.sum()
