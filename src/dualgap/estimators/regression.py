"""Ridge, lasso and elastic net: squared loss with l2, l1 or both."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES, FLOATS, Certified, Solution, tasks_of
from dualgap.estimators._callbacks import with_callbacks
from dualgap.estimators._data import validated
from dualgap.estimators._least_norm import least_norm
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._stopping import BestScore, hold_back
from dualgap.trace import Snapshot


class SquaredLossRegressor(MultiOutputMixin, RegressorMixin, LinearRegressor, Certified):
    """Base: squared loss, one problem for each target."""

    def _strengths(self, targets: int, total: float) -> list[tuple[float, float]]:
        """(l1, l2) for each target, given W."""
        raise NotImplementedError

    def _fit_targets(self, X: Any, y: Any, sample_weight: Any) -> list[Solution]:
        """Validate, solve target by target, keep what is common to all."""
        X, y = validated(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=FLOATS,
            multi_output=True,
            y_numeric=True,
        )
        weights = check.sample_weights(sample_weight, X.shape[0])
        tasks = tasks_of(self, X, y, weights)
        held: tuple[Any, Any, Array | None] | None = None
        if self.early_stopping:
            (X, y, weights), held = hold_back(
                X,
                y,
                weights,
                fraction=self.validation_fraction,
                seed=self.random_state,
                stratify=None,
            )
        self._remember(X, y, weights)
        columns = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1)
        targets = columns.shape[1]
        strengths = self._strengths(targets, check.total_weight(weights, X.shape[0]))
        first = Problem(
            X,
            columns[:, 0],
            fit_intercept=self.fit_intercept,
            sample_weight=weights,
            **self._penalty(*strengths[0]),
        )
        solutions = []
        for k in range(targets):
            problem = first
            if k > 0:
                problem = first.replace(b=columns[:, k], **self._penalty(*strengths[k]))
            stop = None if held is None else BestScore(_r2(held, k), self.n_iter_no_change)

            def watch(snapshot: Snapshot) -> bool:
                return tasks.check(
                    lambda: {"coef_": np.array(snapshot.x), "intercept_": snapshot.intercept}
                )

            watcher = watch if tasks.watched and targets == 1 else None
            solutions.append(self._solve(problem, part=k, watch=watcher, stop=stop))
        solutions = [least_norm(solution).rounded(X.dtype) for solution in solutions]
        several = np.ndim(y) == 2
        x = np.stack([s.x for s in solutions])
        intercepts = np.array([s.intercept for s in solutions], dtype=X.dtype)
        duals = np.stack([s.y for s in solutions], axis=1)
        self.coef_ = x if several else x[0]
        self.intercept_ = intercepts if several else intercepts[0]
        self.dual_coef_ = duals if several else duals[:, 0]
        if not self.fit_intercept:
            self.intercept_ = 0.0
        self._keep(solutions)
        tasks.end()
        return solutions

    def __sklearn_tags__(self) -> Any:
        """Sparse data are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _r2(held: tuple[Any, Any, Array | None], target: int) -> Any:
    """R^2 on the rows held back, as a function of (x, intercept)."""
    from sklearn.metrics import r2_score

    X, y, weights = held
    truth = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1)[:, target]
    return lambda x, c: float(r2_score(truth, X @ x + c, sample_weight=weights))


class Ridge(SquaredLossRegressor):
    """Ridge regression, certified.

    Minimises ``sum_i w_i (y_i - x_i'w - c)^2 + alpha |w|^2``, as scikit-learn's `Ridge` does.
    ``certificate_`` bounds the distance to the optimum of this objective divided by 2W, where
    W is the sum of the sample weights.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty, >= 0; one per target if it is an array.
    fit_intercept : bool, default=True
        Whether there is an intercept c; it is not penalised.
    copy_X : bool, default=True
        No effect: X is never written to.
    max_iter : int, default=None
        Most passes over the data; None is 10 000.
    tol : float, default=1e-7
        The fit ends when the certified gap is at most ``tol`` times the objective. 0 asks for
        what float64 can give.
    solver : str or dualgap algorithm, default="auto"
        ``"auto"`` or an algorithm of `dualgap.solve`. scikit-learn's names ``"svd"``,
        ``"cholesky"``, ``"lsqr"``, ``"sparse_cg"``, ``"sag"``, ``"saga"``, ``"lbfgs"`` are taken
        for ``"auto"``; our SAGA is ``"dualgap-saga"``.
    positive : bool, default=False
        Whether coefficients must be >= 0. (The intercept need not.)
    random_state : int, RandomState instance or None, default=None
        Seed of randomised solvers and of the early stopping split.
    warm_start : bool, default=False
        Go on from the last fit. With the same data and parameters the run is continued exactly
        (primal and dual point, step sizes, adaptation); else it starts from the last points.
    verbose : int, default=0
        Show a live line.
    early_stopping : bool, default=False
        Hold rows back and stop when the score on them no longer improves; the coefficients with
        the best score are kept, with their certificate.
    validation_fraction : float, default=0.1
        Share of the rows to hold back.
    n_iter_no_change : int, default=5
        Checks without improvement before an early stop.
    keep_run : bool, default=False
        Whether a saved model (pickle, joblib, another process) keeps ``dual_coef_``, ``trace_`` and
        what a warm start goes on from exactly; else it has predictions and certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : float or ndarray of shape (n_targets,)
        c; 0.0 if ``fit_intercept=False``.
    n_iter_ : ndarray of shape (n_targets,)
        Passes over the data, set-up apart.
    certificate_ : Certificate
        The bound on the distance to the optimum; with several targets that of the target with
        the largest relative gap.
    certificates_ : list of Certificate
        One per target.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The dual point, which together with ``coef_`` proves the certificate.
    solver_ : str
        The algorithm that was run.
    status_ : Status
        How the solve ended; ``str(status_)`` is a sentence.
    trace_ : Trace
        What happened at every check.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dualgap import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(alpha=0.1).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= model.tol)
    True
    """

    takes_designs = True

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-7,
        solver: Any = "auto",
        positive: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        keep_run: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.keep_run = keep_run

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        self
        """
        self._check_options()
        self._check_positive()
        check.flags(self, "copy_X")
        solutions = self._fit_targets(X, y, sample_weight)
        if self.coef_.ndim == 2 and self.coef_.shape[0] == 1:  # as scikit-learn has it
            self.coef_ = self.coef_[0]
        self.n_iter_ = np.array([s.passes for s in solutions], dtype=np.int32)
        return self

    def _strengths(self, targets: int, total: float) -> list[tuple[float, float]]:
        """|y - Xw|^2 + alpha|w|^2 is 2W times P with l2 = alpha/W."""
        if np.ndim(self.alpha) == 0:
            alphas = np.full(targets, check.real(self, "alpha"))
        else:
            values = np.asarray(self.alpha)
            fine = values.dtype.kind in "fiu" and np.isfinite(values).all()
            if not fine or (values < 0).any():
                raise check.refuse(
                    self, "alpha", "a float in the range [0.0, inf) or an array-like"
                )
            alphas = values.astype(np.float64).reshape(-1)
            if alphas.size not in (1, targets):
                raise ValueError(
                    "Number of targets and number of penalties do not correspond: "
                    f"{alphas.size} != {targets}"
                )
            alphas = np.broadcast_to(alphas, targets)
        return [(0.0, float(alpha) / total) for alpha in alphas]


class ElasticNet(SquaredLossRegressor):
    """Elastic net, certified.

    Minimises ``1/(2W) sum_i w_i (y_i - x_i'w - c)^2 + alpha (l1_ratio |w|_1 +
    (1 - l1_ratio)/2 |w|^2)`` with W the sum of the sample weights (the number of samples without
    them), as scikit-learn's `ElasticNet` does. ``certificate_`` is in the units of this objective.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, >= 0.
    l1_ratio : float, default=0.5
        Share of the l1 penalty, in [0, 1].
    fit_intercept : bool, default=True
        Whether there is an intercept c; it is not penalised.
    precompute : bool or array-like, default=False
        No effect: the solver decides what to precompute.
    max_iter : int, default=10000
        Most passes over the data.
    copy_X : bool, default=True
        No effect: X is never written to.
    tol : float, default=1e-8
        The fit ends when the certified gap is at most ``tol`` times the objective. 0 asks for
        what float64 can give.
    warm_start : bool, default=False
        Go on from the last fit. With the same data and parameters the run is continued exactly
        (primal and dual point, step sizes, adaptation); else it starts from the last points.
    positive : bool, default=False
        Whether coefficients must be >= 0. (The intercept need not.)
    random_state : int, RandomState instance or None, default=None
        Seed of randomised solvers and of the early stopping split.
    selection : {"cyclic", "random"}, default="cyclic"
        No effect: coordinates are not visited one by one.
    solver : str or dualgap algorithm, default="auto"
        ``"auto"`` or an algorithm of `dualgap.solve`.
    verbose : int, default=0
        Show a live line.
    early_stopping : bool, default=False
        Hold rows back and stop when the score on them no longer improves; the coefficients with
        the best score are kept, with their certificate.
    validation_fraction : float, default=0.1
        Share of the rows to hold back.
    n_iter_no_change : int, default=5
        Checks without improvement before an early stop.
    keep_run : bool, default=False
        Whether a saved model (pickle, joblib, another process) keeps ``dual_coef_``, ``trace_`` and
        what a warm start goes on from exactly; else it has predictions and certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    sparse_coef_ : sparse matrix of shape (1, n_features) or (n_targets, n_features)
        ``coef_`` as a sparse matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        c; 0.0 if ``fit_intercept=False``.
    n_iter_ : int or list of int
        Passes over the data, set-up apart; one per target.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The gap of the certificate.
    certificate_ : Certificate
        The bound on the distance to the optimum; with several targets that of the target with
        the largest relative gap.
    certificates_ : list of Certificate
        One per target.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The dual point, which together with ``coef_`` proves the certificate.
    status_ : Status
        How the solve ended; ``str(status_)`` is a sentence.
    trace_ : Trace
        What happened at every check.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    takes_designs = True

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int = DEFAULT_PASSES,
        copy_X: bool = True,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: Any = "auto",
        verbose: int = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        keep_run: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.verbose = verbose
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.keep_run = keep_run

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True
    ) -> ElasticNet:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0.
        check_input : bool, default=True
            No effect: input is always checked.

        Returns
        -------
        self
        """
        self._check_options()
        self._check_positive()
        check.flags(self, "copy_X")
        check.choice(self, "selection", ("cyclic", "random"))
        check.precomputed(self)
        solutions = self._fit_targets(X, y, sample_weight)
        if len(solutions) == 1:  # as scikit-learn has it
            self.coef_ = self.coef_.reshape(-1)
            self.n_iter_: int | list[int] = solutions[0].passes
            self.dual_gap_: Any = solutions[0].certificate.gap
        else:
            self.n_iter_ = [s.passes for s in solutions]
            self.dual_gap_ = np.array([s.certificate.gap for s in solutions])
        return self

    def _strengths(self, targets: int, total: float) -> list[tuple[float, float]]:
        """l1 = alpha l1_ratio, l2 = alpha (1 - l1_ratio)."""
        alpha = check.real(self, "alpha")
        ratio = check.real(self, "l1_ratio", high=1.0)
        return [(alpha * ratio, alpha * (1.0 - ratio))] * targets

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix."""
        return sp.csr_matrix(self.coef_)


class Lasso(ElasticNet):
    """Lasso, certified.

    Minimises ``1/(2W) sum_i w_i (y_i - x_i'w - c)^2 + alpha |w|_1`` with W the sum of the sample
    weights (the number of samples without them), as scikit-learn's `Lasso` does.
    ``certificate_`` is in the units of this objective.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, >= 0.
    fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, \
selection, solver, verbose, early_stopping, validation_fraction, n_iter_no_change, keep_run
        As in `ElasticNet`.

    Attributes
    ----------
    coef_, sparse_coef_, intercept_, n_iter_, dual_gap_, certificate_, certificates_, \
dual_coef_, status_, trace_, n_features_in_, feature_names_in_
        As in `ElasticNet`.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = DEFAULT_PASSES,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: Any = "auto",
        verbose: int = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        keep_run: bool = False,
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
            solver=solver,
            verbose=verbose,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            keep_run=keep_run,
        )
