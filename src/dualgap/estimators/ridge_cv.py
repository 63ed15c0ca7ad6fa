"""Ridge regression with the strength chosen by leave-one-out or cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.designs import as_design
from dualgap.designs.moved import column_shifts, moved
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import FLOATS, Certified
from dualgap.estimators._data import validated
from dualgap.estimators._folds import (
    FITTED,
    Walked,
    folds_of,
    for_rows,
    in_parallel,
    refuse_metadata,
    router,
    routing_enabled,
    rows,
    solve_options,
    split_params,
    walk_along,
    warn_of,
)
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._solvers import Kind
from dualgap.estimators.regression import Ridge
from dualgap.estimators.regression_cv import strengths


class RidgeCV(MultiOutputMixin, RegressorMixin, LinearRegressor, Certified):
    """Ridge regression whose strength is chosen by cross-validation; the fit is certified.

    The objective is that of `Ridge`. With ``cv=None`` every row is left out once, by a formula
    (from the eigenvalues of the Gram matrix), as in scikit-learn; else a path over the strengths
    is solved on every fold, each point started at the one before and certified.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Strengths to try; > 0 for ``cv=None``.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    scoring : str, callable or None, default=None
        What to maximise; None is the negative mean squared error for ``cv=None``, and R^2 else.
    cv : int, cross-validation generator or iterable, default=None
        None is leave-one-out.
    gcv_mode : {"auto", "svd", "eigen"}, default=None
        No effect.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_``, for ``cv=None`` only.
    alpha_per_target : bool, default=False
        Whether each target has a strength of its own, for ``cv=None`` only.
    tol : float, default=1e-7
        A fit ends when the certified gap is at most ``tol`` times the objective.
    max_iter : int, default=None
        Most passes over the data for each fit; None is 10 000.
    solver : str or dualgap algorithm, default="auto"
        As in `Ridge`.
    random_state : int, RandomState instance or None, default=None
        Seed of randomised solvers.
    n_jobs : int, default=None
        How many folds to work on at a time, as in joblib.
    verbose : int, default=0
        Show a live line for the last fit.
    keep_run : bool, default=False
        Whether a saved model (pickle, joblib, another process) keeps ``dual_coef_``, ``trace_`` and
        what a warm start goes on from exactly; else it has predictions and certificate.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The best strength.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared errors (predictions, if ``scoring`` is given) of the rows left out.
    gap_path_ : ndarray of shape (n_targets, n_alphas, n_folds)
        The certified relative gap of every fit, where ``cv`` is given.
    coef_, intercept_, n_iter_, certificate_, certificates_, dual_coef_, status_, trace_
        Of the last fit, as in `Ridge`.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _several_runs: ClassVar[str] = "fits many strengths"

    early_stopping = False
    warm_start = False

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        tol: float = 1e-7,
        max_iter: int | None = None,
        solver: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        keep_run: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.keep_run = keep_run

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> RidgeCV:
        """Choose the strength by cross-validation and fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0.
        **params
            For the scorer and the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        refuse_metadata(self, "fit", params)
        self._check_options()
        check.flags(self, "store_cv_results", "alpha_per_target")
        if self.gcv_mode is not None:
            check.choice(self, "gcv_mode", ("auto", "svd", "eigen"))
        if self.cv is not None:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name):
                    raise ValueError(f"cv!=None and {name}=True are incompatible")
        alphas = strengths("alphas", self.alphas, zero=self.cv is not None)
        X, y = validated(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=FLOATS,
            y_numeric=True,
            multi_output=True,
        )
        y = np.asarray(y, dtype=np.float64)
        weights = check.sample_weights(sample_weight, X.shape[0])
        routed = split_params(self, sample_weight, params)
        scored: dict[str, Any] = {} if routed is None else routed.scorer.score
        if routed is None and weights is not None:
            scored = {"sample_weight": weights}
        if self.cv is None:
            self._leave_one_out(X, y, weights, alphas, scored)
        else:
            splits = {} if routed is None else routed.splitter.split
            self._folds(X, y, weights, alphas, scored, splits)
        model = Ridge(
            alpha=self.alpha_,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            solver=self.solver,
            random_state=self.random_state,
            verbose=self.verbose,
        ).fit(X, y, sample_weight=weights)
        for name in (*FITTED, "n_iter_"):
            setattr(self, name, getattr(model, name))
        return self

    def _leave_one_out(
        self, X: Any, y: Array, weights: Array | None, alphas: Array, scored: dict[str, Any]
    ) -> None:
        scorer = None if self.scoring is None else self._scorer()
        left_out = LeaveOneOut(X, y, weights, self.fit_intercept)
        kept, scores = [], []
        for alpha in alphas:
            errors = left_out.errors(float(alpha))
            if scorer is None:
                share = errors * errors
                if weights is not None:
                    share = share * weights.reshape(-1, *[1] * (y.ndim - 1))
                kept.append(share)
                scores.append(-share.mean(axis=0) if self.alpha_per_target else -share.mean())
            else:
                predictions = y - errors
                kept.append(predictions)
                scores.append(_scored(scorer, predictions, y, self.alpha_per_target, scored))
        table = np.asarray(scores)
        if self.alpha_per_target and y.ndim == 2:
            best = table.argmax(axis=0)
            self.alpha_: Any = alphas[best]
            self.best_score_: Any = table.max(axis=0)
        else:
            table = table.reshape(len(alphas))
            self.alpha_ = float(alphas[int(table.argmax())])
            self.best_score_ = float(table.max())
        if self.store_cv_results:
            self.cv_results_ = np.stack(kept, axis=-1)

    def _folds(
        self,
        X: Any,
        y: Array,
        weights: Array | None,
        alphas: Array,
        scored: dict[str, Any],
        splits: dict[str, Any],
    ) -> None:
        folds = folds_of(self, X, y, splits)
        data = X.tocsr() if hasattr(X, "tocsr") else X
        penalised = float(alphas.min()) > 0.0
        kind = Kind(l2_everywhere=penalised and not self.fit_intercept, penalised=penalised)
        options = solve_options(self, kind)
        shared = (alphas, bool(self.fit_intercept), self._scorer(), scored, options)
        done = in_parallel(
            self, _fold_scores, [(data, y, weights, train, test, *shared) for train, test in folds]
        )
        mean = np.mean([d[0] for d in done], axis=0)
        self.alpha_ = float(alphas[int(mean.argmax())])
        self.best_score_ = float(mean.max())
        walks = [walked for d in done for walked in d[1]]
        gaps = np.reshape([w.gaps for w in walks], (len(folds), -1, len(alphas)))
        order = np.argsort(np.argsort(-alphas, kind="stable"))  # as the alphas were given
        self.gap_path_ = np.moveaxis(gaps[:, :, order], 0, 2)
        warn_of(self, walks)

    def _scorer(self) -> Any:
        return check_scoring(estimator=self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self) -> Any:
        """Where metadata go: to the scorer and the splitter.

        Returns
        -------
        MetadataRouter
        """
        scorer = self._scorer()
        if routing_enabled() and self.scoring is None:
            scorer = check_scoring(estimator=self, scoring="r2").set_score_request(
                sample_weight=True
            )
        return router(self, splitter=check_cv(self.cv), scorer=scorer)

    def __sklearn_tags__(self) -> Any:
        """Sparse data are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LeaveOneOut:
    """Errors of ridge regression on each row when it is left out, for any strength.

    With X and y centred by their weighted means (where there is an intercept), S = diag(w) and
    H = S^(1/2) X (X'SX + alpha I)^-1 X' S^(1/2) + sqrt(w) sqrt(w)'/W, the residual of a fit
    without row i is r_i/(1 - H_ii), r the residual of the fit to all.
    """

    def __init__(self, X: Any, y: Array, weights: Array | None, fit_intercept: bool) -> None:
        n, d = X.shape
        X = X.astype(np.float64, copy=False)
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        root = np.sqrt(w)
        if fit_intercept:
            X = _moved(X, w / total)
        mean = np.asarray(X.T @ w, dtype=np.float64) / total if fit_intercept else np.zeros(d)
        targets = y.reshape(n, -1)
        middle = (w @ targets) / total if fit_intercept else np.zeros(targets.shape[1])
        self.shape = y.shape
        self.targets = targets - middle
        self.constant = w / total if fit_intercept else np.zeros(n)
        if d <= n:
            gram = X.T @ (X.multiply(w[:, None]) if hasattr(X, "multiply") else w[:, None] * X)
            gram = gram.toarray() if hasattr(gram, "toarray") else gram
            gram = np.asarray(gram, dtype=np.float64) - total * np.outer(mean, mean)
            self.values, V = scipy.linalg.eigh(gram)
            self.basis = np.asarray(X @ V) - mean @ V  # rows of X in the eigenbasis
            self.weighted = w[:, None] * self.basis
            self.shrinks = False
        else:
            outer = X @ X.T
            outer = outer.toarray() if hasattr(outer, "toarray") else outer
            outer = np.asarray(outer, dtype=np.float64)
            cross = np.asarray(X @ mean, dtype=np.float64)
            outer = outer - cross[:, None] - cross[None, :] + mean @ mean
            self.values, U = scipy.linalg.eigh(root[:, None] * outer * root[None, :])
            if fit_intercept:
                # sqrt(w) is an eigenvector to 0 which the intercept takes up: it is left out, for
                # what rounding makes of its 0 is not small next to small strengths.
                at = int(np.argmax(np.abs(root @ U)))
                self.values, U = np.delete(self.values, at), np.delete(U, at, axis=1)
            self.basis, self.weighted, self.shrinks = U, U, True
            self.root = root

    def errors(self, alpha: float) -> Array:
        """y_i minus the prediction for row i of the fit without it."""
        values = np.maximum(self.values, 0.0)
        if not self.shrinks:
            factor = 1.0 / (values + alpha)
            kept = 1.0 - (self.basis * self.weighted) @ factor - self.constant
            fitted = self.basis @ (factor[:, None] * (self.weighted.T @ self.targets))
            residuals = self.targets - fitted
        else:
            # In the basis of S^(1/2) X X' S^(1/2) the residual is alpha/(value + alpha) of y.
            left = alpha / (values + alpha)
            kept = (self.basis * self.basis) @ left
            scaled = self.root[:, None] * self.targets
            residuals = self.basis @ (left[:, None] * (self.basis.T @ scaled))
            safe = np.where(self.root > 0, self.root, 1.0)
            residuals = np.where(self.root[:, None] > 0, residuals / safe[:, None], self.targets)
            kept = np.where(self.root > 0, kept, 1.0)
        return np.asarray((residuals / kept[:, None]).reshape(self.shape))


def _moved(X: Any, q: Array) -> Any:
    """X with columns that are far from 0 moved there: centred Gram matrices would not know them."""
    base = as_design(X)
    shifts = column_shifts(base, q)
    return X if shifts is None else moved(base, shifts, np.ones(X.shape[1])).A


class _Given(RegressorMixin, BaseEstimator):
    """An estimator whose data are its predictions, for scorers."""

    def fit(self, X: Any, y: Any = None) -> _Given:
        """Nothing to do."""
        return self

    def predict(self, X: Any) -> Any:
        """The data."""
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _scored(scorer: Any, predictions: Array, y: Array, each: bool, params: dict[str, Any]) -> Any:
    if each and y.ndim == 2:
        columns = zip(predictions.T, y.T, strict=True)
        return np.array([scorer(_Given(), p, truth, **params) for p, truth in columns])
    return scorer(_Given(), predictions, y, **params)


def _fold_scores(
    X: Any,
    y: Array,
    weights: Array | None,
    train: Array,
    test: Array,
    alphas: Array,
    fit_intercept: bool,
    scorer: Any,
    scored: dict[str, Any],
    options: dict[str, Any],
) -> tuple[Array, list[Walked]]:
    """Scores on the test rows for each alpha, fitted to the training rows from large to small."""
    own = rows(weights, train)
    total = check.total_weight(own, len(train))
    order = np.argsort(-alphas, kind="stable")
    columns = y.reshape(y.shape[0], -1)[train]
    first = Problem(X[train], columns[:, 0], fit_intercept=fit_intercept, sample_weight=own)
    walks = []
    for k in range(columns.shape[1]):
        problem = first if k == 0 else first.replace(b=columns[:, k])
        walks.append(walk_along(problem, [(0.0, a / total) for a in alphas[order]], options))
    params = for_rows(scored, test, X.shape[0])
    scores = np.empty(len(alphas))
    for at, index in enumerate(order):
        model = Ridge()
        x = np.stack([w.x[at] for w in walks])
        c = np.array([w.intercepts[at] for w in walks])
        model.coef_, model.intercept_ = (x, c) if y.ndim == 2 else (x[0], float(c[0]))
        model.n_features_in_ = X.shape[1]
        scores[index] = scorer(model, X[test], y[test], **params)
    return scores, walks
