"""scikit-learn estimators: the same parameters, objectives and attributes, and a certificate."""

from __future__ import annotations

from dualgap.estimators.huber import HuberRegressor
from dualgap.estimators.logistic import LogisticRegression
from dualgap.estimators.logistic_cv import LogisticRegressionCV
from dualgap.estimators.regression import ElasticNet, Lasso, Ridge
from dualgap.estimators.regression_cv import ElasticNetCV, LassoCV
from dualgap.estimators.ridge_cv import RidgeCV
from dualgap.estimators.svm import LinearSVC

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Ridge",
    "RidgeCV",
]
