"""Classes without weight: as if they were not there."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap
from tests.estimators.data import labels, regression

X, Y, WEIGHTS = regression()
THREE = labels(3)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_a_class_without_weight_gets_no_probability(ratio):
    """The other classes have the softmax of their own, which for two is a logistic of half C."""
    weights = np.where(THREE == "cat", 0.0, WEIGHTS)
    model = dualgap.LogisticRegression(l1_ratio=ratio, tol=1e-12).fit(X, THREE, weights)
    assert model.certificate_.relative_gap <= 1e-12
    assert not model.coef_[2].any()
    probabilities = model.predict_proba(X)
    assert probabilities[:, 2].max() < 1e-15
    if ratio == 0.0:
        rest = weights > 0
        two = dualgap.LogisticRegression(C=2.0, tol=1e-12).fit(X[rest], THREE[rest], weights[rest])
        np.testing.assert_allclose(probabilities[:, :2], two.predict_proba(X), atol=1e-5)


def test_class_weight_zero_and_without_intercept():
    weighed = dualgap.LogisticRegression(class_weight={"ant": 1.0, "bee": 2.0, "cat": 0.0})
    assert set(weighed.fit(X, THREE).predict(X)) == {"ant", "bee"}
    plain = dualgap.LogisticRegression(fit_intercept=False, tol=1e-9)
    plain.fit(X, THREE, np.where(THREE == "cat", 0.0, 1.0))
    assert plain.certificate_.relative_gap <= 1e-9
    assert plain.coef_[2].any()  # here the best coefficients are finite


def test_folds_without_a_class():
    order = np.argsort(THREE, kind="stable")
    sizes = np.unique(THREE, return_counts=True)[1]
    ends = np.cumsum(sizes)
    folds = [
        (np.r_[0 : end - size, end : ends[-1]], np.r_[end - size : end])
        for end, size in zip(ends, sizes, strict=True)
    ]
    model = dualgap.LogisticRegressionCV(Cs=3, cv=folds, use_legacy_attributes=False)
    model.fit(X[order], THREE[order])
    assert (model.scores_ == 0.0).all()  # what was never seen is never predicted
    assert (model.gap_path_ <= model.tol).all()
