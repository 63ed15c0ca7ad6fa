"""Huber regression with scikit-learn's joint scale."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES, Certified, Solution, tasks_of
from dualgap.estimators._callbacks import Tasks, with_callbacks
from dualgap.estimators._documentation import documented
from dualgap.estimators._joint_search import JointSearch, Place
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._solvers import Kind, algorithm_for
from dualgap.losses import Huber
from dualgap.status import Status
from dualgap.trace import Trace


@documented
class HuberRegressor(LinearRegressor, RegressorMixin, Certified):
    """Robust regression with a scale that is fitted too, certified.

    Minimises ``sum_i w_i (s + H((x_i'w + c - y_i)/s) s) + alpha |w|^2`` over w, c and s > 0, as
    scikit-learn's `HuberRegressor` does, with ``H(t) = t^2`` for ``|t| < epsilon`` and
    ``2 epsilon |t| - epsilon^2`` beyond. ``certificate_`` bounds the distance to the optimum of
    this joint objective divided by W, the sum of the sample weights.

    For a fixed scale this is a Huber problem of `dualgap.solve`; the best scale for given
    coefficients is a formula. The two alternate until the joint gap is within ``tol``.

    Parameters
    ----------
    epsilon : float, default=1.35
        >= 1; residuals beyond ``epsilon`` scales count as outliers.
    {max_iter alpha}
    warm_start : bool, default=False
        Go on from the last fit. With the same data and parameters the run is continued exactly;
        else it starts from the last points and scale.
    {fit_intercept tol}
    solver : str or dualgap algorithm, default="auto"
        ``"auto"`` finds coefficients and scale at once by Newton's method where a Gram matrix of
        the columns is small; else, and with a name, the two alternate, and every search for the
        coefficients is a run of this algorithm: ``"newton"``, which is ``"auto"`` unless there are
        many solutions, or a batch algorithm of `dualgap.solve`. The others do not gain from the
        points of a run before.
    {verbose keep_run}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients w.
    intercept_ : float
        The intercept c.
    scale_ : float
        The scale s.
    outliers_ : ndarray of shape (n_samples,)
        True where the residual is beyond ``epsilon`` scales.
    n_iter_ : int
        Passes over the data, set-up apart.
    certificate_ : Certificate
        The bound on the distance to the optimum.
    dual_coef_ : ndarray of shape (n_samples,)
        The dual point v of the Huber problem at ``scale_``, which proves the certificate.
    {solver_}
    status_ : Status
        How the search ended; ``str(status_)`` is a sentence.
    trace_ : Trace
        The joint objective and its bound after every search for the coefficients.
    {features}
    """

    _several_runs: ClassVar[str] = "searches for the scale in many short runs"

    early_stopping = False  # part of the checks that all estimators share
    least_iterations = 0

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = DEFAULT_PASSES,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        solver: Any = "auto",
        verbose: int = 0,
        keep_run: bool = False,
    ) -> None:
        self._take(locals())

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HuberRegressor:
        """Fit the model.

        Parameters
        ----------
        {X values sample_weight}

        Returns
        -------
        self
        """
        self._check_options()
        epsilon = check.real(self, "epsilon", low=1.0)
        alpha = check.real(self, "alpha")
        X, y, weights = self._data(X, y, sample_weight, y_numeric=True)
        tasks = tasks_of(self, X, y, weights)
        self._remember(X, y, weights)
        free = self.fit_intercept
        base = Problem(X, y, loss=Huber(), fit_intercept=free, sample_weight=weights).held()
        total = check.total_weight(weights, X.shape[0])
        algorithm = algorithm_for(self.solver, Kind(many_short_runs=True))
        if algorithm == "auto":
            # Of many minimisers a batch method comes to the one of least norm, or near it.
            algorithm = "newton" if alpha > 0.0 or base.n > base.d else "ada-bpd"
        identity = (self.__dict__.get("_data_key"), epsilon, alpha, self.fit_intercept, algorithm)
        place = self._last_place(base, identity)
        may_jump = place is None and algorithm == "newton"
        may_jump = may_jump and not (tasks.watched or self.verbose)
        search = JointSearch(
            base,
            epsilon,
            alpha,
            total,
            tol=max(float(self.tol), float(np.finfo(float).tiny)),
            options={"algorithm": algorithm, "verbose": bool(self.verbose)},
            tell=self._tell(tasks),
            place=place,
            may_jump=place is None
            and algorithm == "newton"
            and not (tasks.watched or self.verbose),
        )
        status = search.run(DEFAULT_PASSES if self.max_iter is None else self.max_iter)
        if self.warm_start:
            self._memory[0] = (identity, search.settled())
        self._take_over(search, status, X.dtype)
        tasks.end()
        return self

    def _take_over(self, search: JointSearch, status: Status, dtype: Any) -> None:
        """What the search has found, proved."""
        base, best = search.base, search.best_as(dtype)
        certificate = best.proved()
        if status is Status.CONVERGED and not certificate.relative_gap <= search.tol:
            status = Status.ROUNDING if certificate.certified else Status.STATIONARY
        x, intercept = base.split(best.x)
        solution = Solution(
            problem=best.problem,
            x=x,
            intercept=intercept,
            y=best.dual,
            certificate=certificate,
            status=status,
            trace=Trace(search.certified_rows(certificate), 0, search.tol * certificate.primal),
            passes=max(1, math.ceil(search.spent)),
            algorithm=search.algorithm,
        )
        self.coef_ = np.array(x, dtype=dtype)
        self.intercept_ = float(intercept)
        self.scale_ = best.scale
        far = np.abs(base.predict(best.x) - base.b)
        self.outliers_ = far > best.scale * search.epsilon
        self.dual_coef_ = solution.y
        self.n_iter_ = solution.passes
        self._keep([solution])
        del self.certificates_

    def _last_place(self, base: Problem, identity: tuple[Any, ...]) -> Place | None:
        """Where the last fit ended, as far as it fits these data."""
        if not self.warm_start:
            return None
        if 0 not in self._memory:
            return self._from_coefficients(base)
        known: tuple[Any, ...]
        place: Place
        known, place = self._memory[0]
        if known == identity:
            return replace(place)
        x, dual = place.x, place.dual
        if x is None or dual is None:
            return None
        fits = x.shape == (base.d + base.fit_intercept,) and dual.shape == (base.n,)
        return Place(place.scale, 1e-2, x, dual) if fits else None

    def _from_coefficients(self, base: Problem) -> Place | None:
        """Where a fit ended of which no more is known: it was saved, or had no ``warm_start``."""
        x: Any = self.__dict__.get("coef_")
        if x is None or x.shape != (base.d,) or not np.isfinite(x).all():
            return None
        c = self.intercept_ if base.fit_intercept else 0.0
        z = base.predict(base.join(x, c))
        dual = np.clip((z - base.b) / self.scale_, -self.epsilon, self.epsilon)
        joined = np.append(np.asarray(x, np.float64), [c] if base.fit_intercept else [])
        return Place(self.scale_, 1e-2, joined, dual)

    def _tell(self, tasks: Tasks) -> Any:
        """What tells scikit-learn's callbacks of each inner solve."""

        def tell(x: Array, intercept: Any, scale: float) -> bool:
            return tasks.check(lambda: {"coef_": x, "intercept_": intercept, "scale_": scale})

        return tell
