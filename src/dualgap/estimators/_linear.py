"""Prediction with linear models, and the multi-target loop of the regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from dualgap.designs import Design
from dualgap.designs.collections import is_dask
from dualgap.estimators._data import validated
from dualgap.estimators._documentation import documented
from dualgap.estimators._spread import decided, right_of, score, scores, squares_of


def decision(model: Any, X: Any) -> Any:
    """X coef' + intercept for new rows; of data of dask an array of dask."""
    check_is_fitted(model, "coef_")
    if is_dask(X):
        coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
        return scores(X, coefficients.T, model.intercept_, model.n_features_in_)
    X = validated(model, X, accept_sparse=["csr", "csc", "coo"], reset=False)
    coefficients = model.coef_.T if model.coef_.ndim == 2 else model.coef_
    if isinstance(X, Design):
        return np.asarray(X.matvec(coefficients) + model.intercept_)
    return np.asarray(safe_sparse_dot(X, coefficients, dense_output=True) + model.intercept_)


@documented
class LinearClassifier(ClassifierMixin):
    """Predictions of a classifier from ``coef_`` (rows are classes) and ``intercept_``."""

    coef_: Any
    classes_: Any

    def decision_function(self, X: Any) -> Any:
        """Confidence scores: X coef_' + intercept_.

        Parameters
        ----------
        {X}

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive where ``classes_[1]`` is predicted.
        """
        found = decision(self, X)
        return found[:, 0] if found.ndim > 1 and found.shape[1] == 1 else found

    def predict(self, X: Any) -> Any:
        """Class labels.

        Parameters
        ----------
        {X}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return decided(self.decision_function(X), self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are classified right.

        Parameters
        ----------
        {X labels sample_weight}

        Returns
        -------
        score : float
        """
        if is_dask(X):
            return score(self.predict(X), y, sample_weight, right_of)
        return float(super().score(X, y, sample_weight))

    def sparsify(self) -> Any:
        """Turn ``coef_`` into a sparse matrix, which pays where most entries are 0.

        Returns
        -------
        self
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Turn ``coef_`` back into an array.

        Returns
        -------
        self
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        if not isinstance(self.coef_, np.ndarray):
            self.coef_ = self.coef_.toarray()
        return self


@documented
class LinearRegressor:
    """Predictions of a regressor from ``coef_`` and ``intercept_``."""

    def predict(self, X: Any) -> Any:
        """X coef_ + intercept_.

        Parameters
        ----------
        {X}

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return decision(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2, the share of the variance of y that is explained.

        Parameters
        ----------
        {X columns sample_weight}

        Returns
        -------
        score : float
        """
        if is_dask(X):
            return score(self.predict(X), y, sample_weight, squares_of)
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]
