"""Prediction with linear models, and the multi-target loop of the regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from dualgap._types import Array
from dualgap.estimators._data import validated
from dualgap.estimators._documentation import documented


def decision(model: Any, X: Any) -> Array:
    """X coef' + intercept for new rows."""
    check_is_fitted(model, "coef_")
    X = validated(model, X, accept_sparse=["csr", "csc", "coo"], reset=False)
    coefficients = model.coef_.T if model.coef_.ndim == 2 else model.coef_
    return np.asarray(safe_sparse_dot(X, coefficients, dense_output=True) + model.intercept_)


@documented
class LinearClassifier(ClassifierMixin):
    """Predictions of a classifier from ``coef_`` (rows are classes) and ``intercept_``."""

    coef_: Any
    classes_: Any

    def decision_function(self, X: Any) -> Array:
        """Confidence scores: X coef_' + intercept_.

        Parameters
        ----------
        {X}

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive where ``classes_[1]`` is predicted.
        """
        scores = decision(self, X)
        return scores.reshape(-1) if scores.ndim > 1 and scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Class labels.

        Parameters
        ----------
        {X}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

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

    def predict(self, X: Any) -> Array:
        """X coef_ + intercept_.

        Parameters
        ----------
        {X}

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return decision(self, X)
