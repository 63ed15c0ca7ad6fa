"""scikit-learn estimators: the same parameters, objectives and attributes, and a certificate."""

from __future__ import annotations

from dualgap.estimators.huber import HuberRegressor
from dualgap.estimators.logistic import LogisticRegression
from dualgap.estimators.regression import ElasticNet, Lasso, Ridge
from dualgap.estimators.svm import LinearSVC

__all__ = ["ElasticNet", "HuberRegressor", "Lasso", "LinearSVC", "LogisticRegression", "Ridge"]
