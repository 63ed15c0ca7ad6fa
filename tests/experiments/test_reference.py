"""Reference optima against independent solvers, and against certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import dualgap
from dualgap.experiments import reference as ref


def data(n, d, seed=0):
    A, b = dualgap.datasets.synthetic1(n, d, seed)
    return A, b


@pytest.mark.parametrize("strength", [1.0, 1e-4, 0.0])
def test_ridge_equals_least_squares_on_the_stacked_system(strength):
    A, b = data(120, 40)
    l2 = strength / len(b)
    found = ref.reference(dualgap.Problem(A, b, l2=l2))
    # |Ax - b|^2/(2n) + (l2/2)|x|^2 is |[A/sqrt(n); sqrt(l2) I]x - [b/sqrt(n); 0]|^2/2: by SVD
    stacked = np.vstack((A / np.sqrt(len(b)), np.sqrt(l2) * np.eye(40)))
    right = np.concatenate((b / np.sqrt(len(b)), np.zeros(40)))
    x = np.linalg.lstsq(stacked, right, rcond=None)[0]
    exact = 0.5 * float(np.sum((stacked @ x - right) ** 2))
    assert found.optimum == pytest.approx(exact, rel=1e-13)
    assert found.relative_bound <= 1e-13
    assert 0 <= found.disagreement + 1e-15 <= 1e-9


@pytest.mark.parametrize("shape", [(150, 20), (60, 200)], ids=["Cholesky", "conjugate gradients"])
@pytest.mark.parametrize("sparse", [False, True])
def test_logistic_is_certified_to_the_floor_and_not_above_scikit_learn(shape, sparse):
    A, b = dualgap.datasets.synthetic2(*shape)
    l2 = 1e-2 / len(b)
    found = ref.reference(
        dualgap.Problem(sp.csr_matrix(A) if sparse else A, b, loss="logistic", l2=l2)
    )
    model = LogisticRegression(
        C=1.0 / (l2 * len(b)), fit_intercept=False, solver="newton-cholesky", tol=1e-12
    ).fit(A, b)
    theirs = dualgap.certify(A, b, model.coef_.ravel(), loss="logistic", l2=l2)
    assert found.relative_bound <= 1e-13
    assert found.optimum <= theirs.primal * (1 + 1e-14)
    assert found.optimum == pytest.approx(theirs.primal, rel=1e-10)


def test_a_second_opinion_below_the_certified_bound_is_an_error(monkeypatch):
    A, b = data(30, 10)
    problem = dualgap.Problem(A, b, l2=0.1)
    true = ref.reference(problem).optimum
    monkeypatch.setattr(ref, "lbfgs", lambda problem: true * (1 - 1e-9))
    with pytest.raises(ArithmeticError, match="below the certified lower bound"):
        ref.reference(problem)
