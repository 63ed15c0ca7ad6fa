"""Estimators on folders: cross-validation, scores and early stops, as in memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import dualgap
from dualgap.designs import BlockDesign, Design
from tests.folders.data import A, B, D, N, S, W, folder

Y = A @ np.linspace(1.0, -1.0, D) + 0.5 * B
CLASSES = np.digitize(Y, np.quantile(Y, [0.4, 0.7]))
MATRICES = {"dense": A, "sparse": S}
SPLITS = {
    "contiguous": KFold(3),
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "strided": [(np.flatnonzero(np.arange(N) % 3 != k), np.arange(k, N, 3)) for k in range(3)],
    "with gaps": ShuffleSplit(2, test_size=0.1, random_state=1),
}
KINDS = {
    "LassoCV": (lambda cv: dualgap.LassoCV(alphas=4, cv=cv, tol=1e-10), Y),
    "ElasticNetCV": (
        lambda cv: dualgap.ElasticNetCV(l1_ratio=[0.3, 0.9], alphas=[0.1, 0.01], cv=cv, tol=1e-10),
        Y,
    ),
    "RidgeCV": (lambda cv: dualgap.RidgeCV(alphas=[0.1, 1.0, 30.0], cv=cv, tol=1e-12), Y),
    "LogisticRegressionCV": (
        lambda cv: dualgap.LogisticRegressionCV(
            Cs=[0.03, 1.0], cv=cv, tol=1e-10, scoring="neg_log_loss", use_legacy_attributes=False
        ),
        B,
    ),
    "LogisticRegressionCV, three classes": (
        lambda cv: dualgap.LogisticRegressionCV(
            Cs=[0.03, 1.0], cv=cv, tol=1e-10, scoring="neg_log_loss", use_legacy_attributes=False
        ),
        CLASSES,
    ),
}
CHOSEN = ("alpha_", "l1_ratio_", "C_")
MEASURED = ("mse_path_", "best_score_", "scores_", "coef_", "intercept_")


def cut_small(opened):
    """The folder's rows in several chunks, that folds cut across."""
    return opened.design.arranged(cuts=dualgap.designs.Cuts((0, 60, N), 20))


def agree(ours, same):
    for name in CHOSEN:
        if hasattr(same, name):
            np.testing.assert_allclose(getattr(ours, name), getattr(same, name), rtol=1e-12)
    for name in MEASURED:
        if hasattr(same, name):
            np.testing.assert_allclose(
                getattr(ours, name), getattr(same, name), rtol=2e-4, atol=2e-5, err_msg=name
            )


@pytest.mark.parametrize("splits", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize(("make", "y"), KINDS.values(), ids=KINDS)
def test_cross_validation_is_that_of_data_in_memory(tmp_path, make, y, splits):
    """The same folds, the same problems; what differs is the order of sums, within the gaps."""
    opened = folder(tmp_path / "f", A, y.astype(float), W)
    same = make(splits).fit(A, y.astype(float), sample_weight=W)
    ours = make(splits).fit(opened.design, opened.b, sample_weight=opened.weights)
    agree(ours, same)
    assert ours.certificate_.certified
    np.testing.assert_allclose(ours.predict(opened), same.predict(A), atol=1e-4)


@pytest.mark.parametrize("stored", MATRICES)
@pytest.mark.parametrize("held", [True, False], ids=["rows are held", "rows are not held"])
@pytest.mark.parametrize(("make", "y"), KINDS.values(), ids=KINDS)
def test_so_it_is_whatever_the_rows_are(tmp_path, make, y, stored, held):
    matrix = MATRICES[stored]
    path = folder(tmp_path / "f", matrix, y.astype(float)).path
    ours = make(3).fit(*dualgap.open(path, holds_rows=held))
    agree(ours, make(3).fit(matrix, y.astype(float)))


@pytest.mark.parametrize("stored", MATRICES)
def test_some_rows_are_those_rows(tmp_path, stored):
    matrix = MATRICES[stored]
    design = cut_small(folder(tmp_path / "f", matrix))
    rng = np.random.default_rng(0)
    for at in (
        np.arange(30, 90),
        np.arange(0, N, 7),
        np.array([0, 1, 2, 150, 156]),
        np.sort(rng.integers(0, N, 80)),
    ):
        some = design.some_rows(at)
        dualgap.check_design(some)
        whole = matrix[at].toarray() if sp.issparse(matrix) else matrix[at]
        found = np.vstack([block for _, block in some.blocks(11)])
        assert np.array_equal(found, whole)
        twice = some.some_rows(np.arange(1, len(at), 2))
        ones = np.ones(twice.shape[1])
        np.testing.assert_allclose(twice.matvec(ones), whole[1::2] @ ones, atol=1e-12)
        wider = some.with_constant(2.5)
        dualgap.check_design(wider)
        found = np.vstack([block for _, block in wider.blocks(13)])
        assert np.array_equal(found, np.hstack((whole, np.full((len(at), 1), 2.5))))
    for bad, message in (([3, 2], "ascend"), ([], "between 0"), ([0, N], "between 0 and 156")):
        with pytest.raises(ValueError, match=message):
            design.some_rows(np.array(bad, dtype=int))


@pytest.mark.parametrize("stored", MATRICES)
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (lambda: dualgap.LinearSVC(tol=1e-9), B),
        (lambda: dualgap.LinearSVC(tol=1e-9, fit_intercept=False, loss="smoothed_hinge"), CLASSES),
        (lambda: dualgap.LogisticRegression(solver="liblinear", tol=1e-9), B),
        (lambda: dualgap.Ridge(early_stopping=True, random_state=0), Y),
        (
            lambda: dualgap.LogisticRegression(early_stopping=True, random_state=0, tol=1e-9),
            CLASSES,
        ),
        (lambda: dualgap.LinearSVC(early_stopping=True, random_state=0), B),
    ],
    ids=["LinearSVC", "three classes", "liblinear", "Ridge stops", "logistic stops", "SVC stops"],
)
def test_what_takes_parts_of_the_data_takes_a_folder(tmp_path, stored, model, y):
    matrix = MATRICES[stored]
    opened = folder(tmp_path / "f", matrix, y.astype(float))
    ours, same = model().fit(*opened), model().fit(matrix, y.astype(float))
    if not ours.early_stopping:  # where a run is stopped depends on its steps
        np.testing.assert_allclose(ours.coef_, same.coef_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, same.intercept_, rtol=1e-4, atol=1e-5)
    assert ours.certificate_.certified
    assert ours.score(*opened) == pytest.approx(ours.score(matrix, y.astype(float)), abs=1e-9)
    assert abs(ours.score(*opened) - same.score(matrix, y.astype(float))) < 0.05


def test_scores_and_probabilities_of_a_folder(tmp_path):
    opened = folder(tmp_path / "f", A, B, W)
    model = dualgap.LogisticRegression().fit(A, B)
    for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        call = getattr(model, method)
        for data in (opened, opened.design, dualgap.open(opened.path, holds_rows=False)):
            np.testing.assert_allclose(call(data), call(A), rtol=1e-12, atol=1e-12)
    assert model.score(opened, opened.b) == model.score(A, B)
    weighted = model.score(opened.design, opened.b, sample_weight=opened.weights)
    assert weighted == pytest.approx(model.score(A, B, sample_weight=W))


def test_a_path_of_rows_that_are_not_held_has_the_points_and_no_dual_ones(tmp_path):
    path = folder(tmp_path / "f", A, Y, W).path
    options = {"lambdas": 5, "fit_intercept": True, "tol": 1e-9}
    ours = dualgap.path(dualgap.open(path, holds_rows=False), **options)
    same = dualgap.path(A, Y, sample_weight=W, **options)
    np.testing.assert_allclose(ours.lambdas, same.lambdas, rtol=1e-12)
    np.testing.assert_allclose(ours.x, same.x, atol=1e-4)
    assert ours.converged and ours.y.size == 0
    assert all(c.certified and c.relative_gap <= 1e-9 for c in ours.certificates)
    for loss, b in (("multinomial", CLASSES.astype(float)), ("logistic", B), ("huber", Y)):
        path = folder(tmp_path / loss, A, b, W).path
        rows = dualgap.open(path, holds_rows=False)
        ours = dualgap.path(rows, loss=loss, lambdas=2, fit_intercept=True)
        same = dualgap.path(A, b, loss=loss, lambdas=2, fit_intercept=True, sample_weight=W)
        np.testing.assert_allclose(ours.lambdas, same.lambdas, rtol=1e-9)


class Verbs(Design):
    """A design of a user's own, which gives products and no rows."""

    shape = (N, D)

    def matvec(self, x):
        return A @ x

    def rmatvec(self, r):
        return A.T @ r


def test_what_cannot_be_done_is_said(tmp_path):
    opened = folder(tmp_path / "f", A, B)
    with pytest.raises(TypeError, match=r"RidgeCV\(cv=None\) leaves out every row .*cv=5"):
        dualgap.RidgeCV().fit(*opened)
    for model in (dualgap.LassoCV(), dualgap.LinearSVC(), dualgap.RidgeCV(cv=3)):
        with pytest.raises(TypeError, match=f"{type(model).__name__} takes parts of X"):
            model.fit(Verbs(), B)
    with pytest.raises(TypeError, match=r"Ridge\(early_stopping=True\) takes parts of X"):
        dualgap.Ridge(early_stopping=True).fit(Verbs(), B)
    with pytest.raises(TypeError, match="one more column of X"):
        dualgap.LogisticRegression(solver="liblinear").fit(Verbs(), B)
    shifted = folder(tmp_path / "g", A, B, None, B)
    with pytest.raises(ValueError, match="no estimator has offsets"):
        dualgap.Ridge().fit(A, B).predict(shifted)


def test_stratified_folds_look_at_targets_only():
    blocks, plain = BlockDesign(A, rows_per_chunk=20), StratifiedKFold(3)
    ours = KINDS["LogisticRegressionCV"][0](plain).fit(blocks, B)
    agree(ours, KINDS["LogisticRegressionCV"][0](plain).fit(A, B))
