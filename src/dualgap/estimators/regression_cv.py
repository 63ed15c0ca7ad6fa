"""Lasso and elastic net with the strength chosen by cross-validation."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import check_cv

from dualgap._types import Array
from dualgap._validation import LARGEST
from dualgap.api import Problem
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES, Certified
from dualgap.estimators._data import product
from dualgap.estimators._documentation import documented
from dualgap.estimators._folds import (
    FITTED,
    Fold,
    Sample,
    Walked,
    folds_of,
    in_parallel,
    refuse_metadata,
    router,
    solve_options,
    split_params,
    walk_along,
    warn_of,
)
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._solvers import Kind
from dualgap.estimators.regression import ElasticNet, Lasso
from dualgap.paths import MOST_POINTS, lambda_grid
from dualgap.regularizers import NonNegative


@documented
class ElasticNetCV(LinearRegressor, RegressorMixin, Certified):
    """Elastic net whose strength and l1 share are chosen by cross-validation; all certified.

    The objective is that of `ElasticNet`. On every fold a path over alpha is solved, each point
    started at the one before and certified; the pair with the smallest mean squared error, weighted
    within a fold and averaged over the folds, is fitted to all data.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Shares of the l1 penalty to try, in [0, 1].
    {eps alphas}
    {fit_intercept precompute max_iter tol cv copy_X verbose n_jobs positive random_state}
    {selection solver keep_run}

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The best pair.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The strengths, from large to small.
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds)
        Mean squared errors; without the first axis for one ``l1_ratio``.
    {gap_path_}
    coef_, intercept_, n_iter_, dual_gap_, certificate_, certificates_, dual_coef_, status_, trace_
        Of the last fit, as in `ElasticNet`.
    {features}
    """

    _several_runs: ClassVar[str] = "fits many strengths on every fold"

    early_stopping = False
    warm_start = False
    needs_blocks = True
    _precompute_names = ("auto",)

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = DEFAULT_PASSES,
        tol: float = 1e-6,
        cv: Any = None,
        copy_X: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: Any = "auto",
        keep_run: bool = False,
    ) -> None:
        self._take(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> ElasticNetCV:
        """Choose the strength by cross-validation and fit.

        Parameters
        ----------
        {X values sample_weight}
        {routed}

        Returns
        -------
        self
        """
        refuse_metadata(self, "fit", params)
        self._check_options()
        self._check_grid()
        ratios = self._ratios()
        X, y, weights = self._data(X, y, sample_weight, y_numeric=True, multi_output=True)
        if y.ndim == 2:
            if y.shape[1] > 1:
                raise ValueError(f"For multi-task outputs, use MultiTask{type(self).__name__}")
            y = _column(y)
        y = np.asarray(y, dtype=np.float64)
        grids = self._grids(X, y, weights, ratios)
        routed = split_params(self, sample_weight, params)
        splits = {} if routed is None else routed.splitter.split
        folds = folds_of(self, X, y, splits)
        weakest = min(float(grid.min()) for grid in grids)
        strong = weakest > 0.0 and max(ratios) < 1.0 and not self.fit_intercept
        kind = Kind(
            max(ratios) > 0.0, strong, penalised=weakest > 0.0, positive=bool(self.positive)
        )
        shared = (bool(self.fit_intercept), bool(self.positive), solve_options(self, kind))
        data = Sample(X.tocsr() if hasattr(X, "tocsr") else X, y, weights)
        done = in_parallel(
            self,
            _fold_errors,
            [
                (data, fold, grid, ratio, *shared)
                for ratio, grid in zip(ratios, grids, strict=True)
                for fold in folds
            ],
        )
        shape = (len(ratios), len(folds), -1)
        errors = np.reshape([d[0] for d in done], shape)
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        gaps = np.reshape([d[1].gaps for d in done], shape)
        self.gap_path_ = np.squeeze(np.moveaxis(gaps, 2, 1))
        mean = errors.mean(axis=1)
        at = np.unravel_index(int(np.argmin(mean)), mean.shape)
        self.alpha_ = float(grids[at[0]][at[1]])
        self.l1_ratio_ = ratios[at[0]]
        many = len(ratios) > 1 and isinstance(self.alphas, numbers.Integral)
        self.alphas_ = np.asarray(grids) if many else np.asarray(grids[0])
        model = self._model().fit(X, y, sample_weight=weights)
        for name in (*FITTED, "n_iter_", "dual_gap_"):
            setattr(self, name, getattr(model, name))
        warn_of(self, [d[1] for d in done])
        return self

    def _ratios(self) -> list[float]:
        listed = [self.l1_ratio] if np.ndim(self.l1_ratio) == 0 else list(self.l1_ratio)
        if not listed or not all(check.is_between(value, 0.0, 1.0) for value in listed):
            raise check.refuse(self, "l1_ratio", "a float in the range [0.0, 1.0], or several")
        return [float(value) for value in listed]

    def _check_grid(self) -> None:
        """Before the data are looked at."""
        if check.real(self, "eps", open_low=True) >= 1.0:
            raise check.refuse(self, "eps", "a float in the range (0.0, 1.0)")
        if isinstance(self.alphas, numbers.Integral) and not isinstance(self.alphas, bool):
            check.integer(self, "alphas", low=1, high=MOST_POINTS)
        else:
            strengths("alphas", self.alphas, zero=True)

    def _grids(self, X: Any, y: Array, weights: Array | None, ratios: list[float]) -> list[Array]:
        """The strengths for every l1 share, from large to small."""
        if isinstance(self.alphas, numbers.Integral) and not isinstance(self.alphas, bool):
            if 0.0 in ratios:
                raise ValueError(
                    "Automatic alpha grid generation is not supported for l1_ratio=0. Please "
                    "supply a grid by providing your estimator with the appropriate `alphas=` "
                    "argument."
                )
            problem = Problem(
                X,
                y,
                fit_intercept=self.fit_intercept,
                sample_weight=weights,
                **self._penalty(0.0, 0.0),
            ).held()
            count = int(self.alphas)
            return [lambda_grid(problem, ratio, count, self.eps) for ratio in ratios]
        alphas = strengths("alphas", self.alphas, zero=True)
        return [np.sort(alphas)[::-1]] * len(ratios)

    def _model(self) -> ElasticNet:
        """What is fitted in the end."""
        shared = ElasticNet().get_params().keys() & self.get_params().keys() - {"precompute"}
        model = ElasticNet(**{name: getattr(self, name) for name in shared})
        return model.set_params(alpha=self.alpha_, l1_ratio=self.l1_ratio_)  # type: ignore[no-any-return]

    def get_metadata_routing(self) -> Any:
        """Where metadata go: to the splitter.

        Returns
        -------
        MetadataRouter
        """
        return router(self, splitter=check_cv(self.cv))


@documented
class LassoCV(ElasticNetCV):
    """Lasso whose strength is chosen by cross-validation; all certified.

    The objective is that of `Lasso`. On every fold a path over alpha is solved, each point started
    at the one before and certified; the alpha with the smallest mean squared error, averaged over
    the folds, is fitted to all data.

    Parameters
    ----------
    {eps alphas}
    {fit_intercept precompute max_iter tol copy_X cv verbose n_jobs positive random_state}
    {selection solver keep_run}

    Attributes
    ----------
    alpha_, alphas_, mse_path_, gap_path_, coef_, intercept_, n_iter_, dual_gap_, certificate_, \
certificates_, dual_coef_, status_, trace_, n_features_in_, feature_names_in_
        As in `ElasticNetCV`.
    """

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = DEFAULT_PASSES,
        tol: float = 1e-6,
        copy_X: bool = True,
        cv: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: Any = "auto",
        keep_run: bool = False,
    ) -> None:
        self._take(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> LassoCV:
        """Choose the strength by cross-validation and fit.

        Parameters
        ----------
        {X values sample_weight}
        {routed}

        Returns
        -------
        self
        """
        super().fit(X, y, sample_weight, **params)
        del self.l1_ratio_
        return self

    def _ratios(self) -> list[float]:
        return [1.0]

    def _model(self) -> ElasticNet:
        shared = Lasso().get_params().keys() & self.get_params().keys() - {"precompute"}
        model = Lasso(**{name: getattr(self, name) for name in shared})
        return model.set_params(alpha=self.alpha_)  # type: ignore[no-any-return]


def strengths(name: str, values: Any, *, zero: bool) -> Array:
    """A list of strengths, >= 0 or > 0, with scikit-learn's messages."""
    bound = ">=" if zero else ">"
    listed = [values] if np.ndim(values) == 0 else list(values)
    if not listed:
        raise ValueError(f"{name} is empty; give at least one strength.")
    for k, value in enumerate(listed):
        label = f"{name}[{k}]" if len(listed) > 1 else name
        if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
            raise TypeError(f"{label} must be an instance of float, not {type(value).__name__}.")
        if not check.is_between(value, 0.0, LARGEST) or (value == 0.0 and not zero):
            end = f" and at most {LARGEST:g}" if check.is_between(value, LARGEST, np.inf) else ""
            raise ValueError(f"{label} == {value}, must be {bound} 0.0{end}.")
    return np.asarray(listed, dtype=np.float64)


def _column(y: Any) -> Any:
    """A column as a vector, with scikit-learn's warning."""
    from sklearn.utils import column_or_1d

    return column_or_1d(y, warn=True)


def _fold_errors(
    data: Sample,
    fold: Fold,
    alphas: Array,
    ratio: float,
    fit_intercept: bool,
    positive: bool,
    options: dict[str, Any],
) -> tuple[Array, Walked]:
    """Mean squared errors on the test rows along the path fitted to the training rows."""
    train, test = data.at(fold.train), data.at(fold.test)
    problem = Problem(
        train.X,
        train.y,
        regularizer=NonNegative() if positive else None,
        fit_intercept=fit_intercept,
        sample_weight=train.weights,
    )
    walked = walk_along(problem, [(a * ratio, a * (1.0 - ratio)) for a in alphas], options)
    z = product(test.X, np.stack(walked.x, axis=1)) + np.array(walked.intercepts)
    errors = test.y - z.T
    return np.average(errors * errors, axis=1, weights=test.weights), walked
