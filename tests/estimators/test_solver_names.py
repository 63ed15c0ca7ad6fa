"""What ``solver`` is taken for: scikit-learn's names for auto, ours for our algorithms."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from tests.estimators.data import labels, regression

SCIKIT_LEARNS = (
    "lbfgs",
    "newton-cg",
    "newton-cholesky",
    "sag",
    "saga",
    "svd",
    "cholesky",
    "lsqr",
    "sparse_cg",
)
ESTIMATORS = [
    (dualgap.Ridge(), None),
    (dualgap.ElasticNet(0.1), None),
    (dualgap.Lasso(0.1), None),
    (dualgap.HuberRegressor(), None),
    (dualgap.LogisticRegression(l1_ratio=0.5), 2),
    (dualgap.LogisticRegression(l1_ratio=0.5), 3),
    (dualgap.LogisticRegression(), 3),
    (dualgap.LinearSVC(), 3),
    (dualgap.RidgeCV(cv=3), None),
    (dualgap.LassoCV(alphas=4, cv=3), None),
    (dualgap.ElasticNetCV(alphas=4, cv=3), None),
    (dualgap.LogisticRegressionCV(Cs=3, cv=3, l1_ratios=(0.5,)), 2),
]


def fitted(model, classes, solver):
    X, y, _ = regression()
    again = type(model)(**{**model.get_params(), "solver": solver})
    return again.fit(X, y if classes is None else labels(classes))


@pytest.mark.parametrize("name", ["sag", "saga"])
@pytest.mark.parametrize(("model", "classes"), ESTIMATORS)
def test_saga_and_sag_mean_auto(model, classes, name):
    """Equivalence: scikit-learn forces the word on whoever wants an elastic net."""
    auto, theirs = fitted(model, classes, "auto"), fitted(model, classes, name)
    assert np.array_equal(theirs.coef_, auto.coef_)
    assert theirs.certificate_ == auto.certificate_
    assert getattr(theirs, "solver_", None) == getattr(auto, "solver_", None) != "saga"


@pytest.mark.parametrize("name", SCIKIT_LEARNS)
def test_names_of_scikit_learn_stand_for_auto(name):
    model = dualgap.LogisticRegression(solver=name)
    assert np.array_equal(fitted(model, 3, name).coef_, fitted(model, 3, "auto").coef_)
    assert model.__sklearn_tags__().classifier_tags.multi_class


@pytest.mark.parametrize("solver", ["dualgap-saga", "dualgap_saga", dualgap.algorithms.SAGA()])
@pytest.mark.parametrize("classes", [2, 3])
def test_our_saga_has_a_name_of_its_own(solver, classes):
    model = fitted(dualgap.LogisticRegression(), classes, solver)
    assert model.solver_ == "saga"
    assert model.certificate_.relative_gap <= model.tol
    tags = dualgap.LogisticRegression(solver="dualgap-saga").__sklearn_tags__()
    assert tags.classifier_tags.multi_class


def test_solve_knows_saga_as_the_paper_does():
    A, b, _ = regression()
    assert dualgap.solve(A, b, l2=0.1, algorithm="saga").algorithm == "saga"
