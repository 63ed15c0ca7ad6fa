"""Ridge regression with the strength chosen by leave-one-out or cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.designs import Design
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import Certified
from dualgap.estimators._documentation import documented
from dualgap.estimators._folds import (
    FITTED,
    Fold,
    Sample,
    Scoring,
    Walked,
    folds_of,
    in_parallel,
    refuse_metadata,
    router,
    routing_enabled,
    solve_options,
    split_params,
    walk_along,
    warn_of,
)
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._solvers import Kind
from dualgap.estimators.regression import Ridge
from dualgap.estimators.regression_cv import strengths
from dualgap.linalg.leave_one_out import LeaveOneOut
from dualgap.linalg.ridge import RidgeSystem


@documented
class RidgeCV(MultiOutputMixin, LinearRegressor, RegressorMixin, Certified):
    """Ridge regression whose strength is chosen by cross-validation; the fit is certified.

    The objective is that of `Ridge`. With ``cv=None`` every row is left out once, by a formula
    (from the eigenvalues of the Gram matrix), as in scikit-learn; else a path over the strengths
    is solved on every fold, each point started at the one before and certified.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Strengths to try; > 0 for ``cv=None``.
    {fit_intercept}
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
    {tol max_iter solver random_state n_jobs verbose keep_run}

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
    {features}
    """

    _several_runs: ClassVar[str] = "fits many strengths"

    early_stopping = False
    warm_start = False
    needs_blocks = True

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
        self._take(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> RidgeCV:
        """Choose the strength by cross-validation and fit.

        Parameters
        ----------
        {X columns sample_weight}
        {routed}

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
        X, y, weights = self._data(X, y, sample_weight, y_numeric=True, multi_output=True)
        y = np.asarray(y, dtype=np.float64)
        routed = split_params(self, sample_weight, params)
        scored: dict[str, Any] = {} if routed is None else routed.scorer.score
        if routed is None and weights is not None:
            scored = {"sample_weight": weights}
        system = None
        if self.cv is None and isinstance(X, Design):
            raise TypeError(
                "RidgeCV(cv=None) leaves out every row once, by equations that hold all rows; of "
                "data that stay on disk say how many folds there are to be, as in cv=5."
            )
        if self.cv is None:
            system = self._leave_one_out(X, y, weights, alphas, scored)
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
        )._fit_checked(X, y, weights, system)
        for name in (*FITTED, "n_iter_"):
            setattr(self, name, getattr(model, name))
        return self

    def _leave_one_out(
        self, X: Any, y: Array, weights: Array | None, alphas: Array, scored: dict[str, Any]
    ) -> RidgeSystem | None:
        """Choose; the equations of all data, if the last fit may use them too."""
        scorer = None if self.scoring is None else self._scorer()
        left_out = LeaveOneOut(X, y, weights, self.fit_intercept, len(alphas))
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
        return None if left_out.is_moved else left_out.system

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
        data = Sample(X.tocsr() if hasattr(X, "tocsr") else X, y, weights)
        penalised = float(alphas.min()) > 0.0
        kind = Kind(l2_everywhere=penalised and not self.fit_intercept, penalised=penalised)
        options = solve_options(self, kind)
        scoring = Scoring(self._scorer(), scored)
        shared = (scoring, alphas, bool(self.fit_intercept), options)
        done = in_parallel(self, _fold_scores, [(data, fold, *shared) for fold in folds])
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
    data: Sample,
    fold: Fold,
    scoring: Scoring,
    alphas: Array,
    fit_intercept: bool,
    options: dict[str, Any],
) -> tuple[Array, list[Walked]]:
    """Scores on the test rows for each alpha, fitted to the training rows from large to small."""
    train = data.at(fold.train)
    total = check.total_weight(train.weights, len(train.y))
    order = np.argsort(-alphas, kind="stable")
    columns = train.y.reshape(len(train.y), -1)
    first = Problem(
        train.X, columns[:, 0], fit_intercept=fit_intercept, sample_weight=train.weights
    )
    walks = []
    for k in range(columns.shape[1]):
        problem = first if k == 0 else first.replace(b=columns[:, k])
        walks.append(walk_along(problem, [(0.0, a / total) for a in alphas[order]], options))
    scores = np.empty(len(alphas))
    for at, index in enumerate(order):
        model = Ridge()
        x = np.stack([w.x[at] for w in walks])
        c = np.array([w.intercepts[at] for w in walks])
        model.coef_, model.intercept_ = (x, c) if data.y.ndim == 2 else (x[0], float(c[0]))
        model.n_features_in_ = data.X.shape[1]
        scores[index] = scoring.score(model, data, fold.test)
    return scores, walks
