"""Laws of a change of variables: P and D keep their values, points go there and back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.preconditioners import Diagonal, LowRank, Rows, Units, Whiten
from tests.precondition.cases import badly_scaled

PRECONDITIONERS = [
    Diagonal(), Whiten(), Rows(), Rows(whiten=False), LowRank(), LowRank(rank=3), Units()
]  # fmt: skip


def problem(n, d, *, sparse=False, **options):
    A, b = badly_scaled(n, d)
    options = {"l2": 0.1, "penalty_weights": (A * A).mean(axis=0), **options}
    if options.get("loss") == "multinomial":
        b = np.arange(n) % 3
    elif options.get("loss") == "logistic":
        b = np.where(b > np.median(b), 1.0, -1.0)
    return dualgap.Problem(sp.csr_array(A) if sparse else A, b, **options)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS, ids=lambda p: p.name)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(40, 7), (9, 15)])
@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_values_and_points_are_kept(preconditioner, sparse, fit_intercept, shape, loss):
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, shape[0])
    user = problem(
        *shape, sparse=sparse, fit_intercept=fit_intercept, loss=loss, sample_weight=weights
    )
    change = preconditioner.begin(user)
    inner = change.inner(user)
    w = rng.standard_normal(inner.shape)
    x = change.to_user(user, inner, w)
    # The same predictions, the same P.
    np.testing.assert_allclose(inner.predict(w), user.predict(x), rtol=1e-9, atol=1e-9)
    P = user.primal(x, user.predict(x))
    assert inner.primal(w, inner.predict(w)) == pytest.approx(P, rel=1e-10)
    # There and back.
    back = change.to_user(user, inner, change.to_inner(user, inner, x))
    scale = user.column_norms.reshape(-1, *[1] * (x.ndim - 1))
    np.testing.assert_allclose(scale * back, scale * x, rtol=1e-8, atol=1e-8)
    # The same D at a y that is feasible in both.
    y = user.loss.grad(user.predict(x), user.b)
    if fit_intercept:
        y = y - user.q @ y
        y[0] -= (user.q @ y) / user.q[0]
    s, t = user.adjoint(y), inner.adjoint(y)
    if fit_intercept:
        s[-1] = t[-1] = 0.0
    assert inner.regularizer.conj(-t) == pytest.approx(user.regularizer.conj(-s), rel=1e-9)


@pytest.mark.parametrize("preconditioner", [Whiten(), Rows()], ids=lambda p: p.name)
@pytest.mark.parametrize("shape", [(40, 7), (9, 15)])
def test_whitened_hessian_is_the_identity(preconditioner, shape):
    user = problem(*shape, fit_intercept=True)
    inner = preconditioner.begin(user).inner(user)
    H = inner.design.gram(user.q) + np.diag(inner.regularizer.l2)
    np.testing.assert_allclose(H, np.eye(len(H)), atol=1e-9)


def test_whitening_knows_its_own_scale_near_singularity():
    """A Gram matrix loses what is 1e-6 of a column; a second look finds it again."""
    A, b = badly_scaled(60, 5)
    twin = A[:, :1] * (1.0 + 1e-6 * np.random.default_rng(3).standard_normal((60, 1)))
    user = dualgap.Problem(np.hstack((A, twin)), b)
    inner = Whiten().begin(user).inner(user)
    assert inner.d == 6
    np.testing.assert_allclose(inner.design.gram(user.q), np.eye(6), atol=1e-6)


def test_diagonal_is_invariant_to_units():
    A, b = badly_scaled(30, 6)
    units = 10.0 ** np.arange(-3, 3)
    p = dualgap.Problem(A, b, l1=0.1, l2=0.2, penalty_weights=np.ones(6))
    # l1 and l2 scale differently with the units, so each is compared on its own.
    q = dualgap.Problem(A * units, b, l2=0.2, penalty_weights=units**2)
    first, second = (Diagonal().begin(u).inner(u) for u in (dualgap.Problem(A, b, l2=0.2), q))
    np.testing.assert_allclose(first.design.gram(p.q), second.design.gram(p.q), rtol=1e-12)
    np.testing.assert_allclose(first.regularizer.l2, second.regularizer.l2, rtol=1e-12)
    inner = Diagonal().begin(p).inner(p)
    x = np.arange(6.0) - 2.5
    w = Diagonal().begin(p).to_inner(p, inner, x)
    assert inner.regularizer.value(w) == pytest.approx(p.regularizer.value(x), rel=1e-12)
