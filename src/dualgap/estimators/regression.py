"""Ridge, lasso and elastic net: squared loss with l2, l1 or both."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES
from dualgap.estimators._callbacks import with_callbacks
from dualgap.estimators._documentation import documented
from dualgap.estimators._squared_loss import SquaredLossRegressor
from dualgap.linalg.ridge import RidgeSystem


@documented
class Ridge(SquaredLossRegressor):
    """Ridge regression, certified.

    Minimises ``sum_i w_i (y_i - x_i'w - c)^2 + alpha |w|^2``, as scikit-learn's `Ridge` does.
    ``certificate_`` bounds the distance to the optimum of this objective divided by 2W, where
    W is the sum of the sample weights. Where a Gram matrix is small, all targets are solved for
    with one factorisation and proved together; what `dualgap.certify` proves of one of them alone
    may be a little sharper.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty, >= 0; one per target if it is an array.
    {fit_intercept copy_X max_iter tol solver positive random_state warm_start verbose}
    {early_stopping validation_fraction n_iter_no_change keep_run}

    Attributes
    ----------
    {coef_ intercept_}
    n_iter_ : ndarray of shape (n_targets,)
        Passes over the data, set-up apart.
    {certificate_ certificates_ dual_coef_ solver_ status_ trace_ features}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dualgap import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(alpha=0.1).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= model.tol)
    True
    """

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
        self._take(locals())

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fit the model.

        Parameters
        ----------
        {X columns sample_weight}

        Returns
        -------
        self
        """
        self._check_options()
        return self._fit_checked(*self._targets_data(X, y, sample_weight))

    def _fit_checked(
        self, X: Any, y: Any, weights: Array | None, system: RidgeSystem | None = None
    ) -> Ridge:
        """Fit to data that were checked, whose equations may be known."""
        passes = self._fit_targets(X, y, weights, system)
        if self.coef_.ndim == 2 and self.coef_.shape[0] == 1:  # as scikit-learn has it
            self.coef_ = self.coef_[0]
        self.n_iter_ = np.array(passes, dtype=np.int32)
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


@documented
class ElasticNet(SquaredLossRegressor):
    """Elastic net, certified.

    Minimises ``1/(2W) sum_i w_i (y_i - x_i'w - c)^2 + alpha (l1_ratio |w|_1 +
    (1 - l1_ratio)/2 |w|^2)`` with W the sum of the sample weights (the number of samples without
    them), as scikit-learn's `ElasticNet` does. ``certificate_`` is in the units of this objective.

    Parameters
    ----------
    {alpha}
    l1_ratio : float, default=0.5
        Share of the l1 penalty, in [0, 1].
    {fit_intercept precompute max_iter copy_X tol warm_start positive random_state selection}
    {solver verbose early_stopping validation_fraction n_iter_no_change keep_run}

    Attributes
    ----------
    {coef_}
    sparse_coef_ : sparse matrix
        ``coef_`` as a sparse matrix.
    {intercept_}
    n_iter_ : int, or list of int for several targets
        Passes over the data, set-up apart.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The certified gap.
    {certificate_ certificates_ dual_coef_ solver_ status_ trace_ features}
    """

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
        self._take(locals())

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True
    ) -> ElasticNet:
        """Fit the model.

        Parameters
        ----------
        {X columns sample_weight}
        check_input : bool, default=True
            No effect: input is always checked.

        Returns
        -------
        self
        """
        self._check_options()
        passes = self._fit_targets(*self._targets_data(X, y, sample_weight))
        gaps = [certificate.gap for certificate in self.certificates_]
        if len(passes) == 1:  # as scikit-learn has it
            self.coef_ = self.coef_.reshape(-1)
            self.n_iter_: int | list[int] = passes[0]
            self.dual_gap_: Any = gaps[0]
        else:
            self.n_iter_, self.dual_gap_ = passes, np.array(gaps)
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


@documented
class Lasso(ElasticNet):
    """Lasso, certified.

    Minimises ``1/(2W) sum_i w_i (y_i - x_i'w - c)^2 + alpha |w|_1`` with W the sum of the sample
    weights (the number of samples without them), as scikit-learn's `Lasso` does.
    ``certificate_`` is in the units of this objective.

    Parameters
    ----------
    {alpha fit_intercept precompute copy_X max_iter tol warm_start positive random_state}
    {selection solver verbose early_stopping validation_fraction n_iter_no_change keep_run}

    Attributes
    ----------
    coef_, sparse_coef_, intercept_, n_iter_, dual_gap_
        As in `ElasticNet`.
    {certificate_ certificates_ dual_coef_ solver_ status_ trace_ features}
    """

    l1_ratio = 1.0

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
        self._take(locals())
