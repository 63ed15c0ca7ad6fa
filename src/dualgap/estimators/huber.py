"""Huber regression with scikit-learn's joint scale."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from dualgap._types import Array
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import DEFAULT_PASSES, FLOATS, Certified, Solution, tasks_of
from dualgap.estimators._callbacks import Tasks, with_callbacks
from dualgap.estimators._joint_scale import JointPoint, at_scale, best_scale, joint_point
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._solvers import algorithm_for
from dualgap.losses import Huber
from dualgap.problem import Problem
from dualgap.state import State
from dualgap.status import Status
from dualgap.trace import Trace

SMALLEST_TOL = 1e-15
"""Below this an inner solve would only meet rounding."""


@dataclass
class Search:
    """Where the search for the scale is: enough to go on exactly."""

    scale: float
    tol: float
    """Of the inner solve under way."""
    points: tuple[Any, Any] | None = None
    """(x, y / scale) to start the next inner solve at."""
    state: State | None = None
    """Of an inner solve that a limit cut short."""
    identity: tuple[Any, ...] = ()


class HuberRegressor(RegressorMixin, LinearRegressor, Certified):
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
    max_iter : int, default=10000
        Most passes over the data.
    alpha : float, default=0.0001
        Strength of the penalty, >= 0.
    warm_start : bool, default=False
        Go on from the last fit. With the same data and parameters the run is continued exactly;
        else it starts from the last points and scale.
    fit_intercept : bool, default=True
        Whether there is an intercept c; it is not penalised.
    tol : float, default=1e-6
        The fit ends when the certified gap is at most ``tol`` times the objective.
    solver : str or dualgap algorithm, default="auto"
        ``"auto"`` or an algorithm of `dualgap.solve`.
    random_state : int, RandomState instance or None, default=None
        Seed of randomised solvers.
    verbose : int, default=0
        Show a live line.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        c.
    scale_ : float
        s.
    outliers_ : ndarray of shape (n_samples,)
        True where the residual is beyond ``epsilon`` scales.
    n_iter_ : int
        Passes over the data, set-up apart.
    certificate_ : Certificate
        The bound on the distance to the optimum.
    dual_coef_ : ndarray of shape (n_samples,)
        The dual point v of the Huber problem at ``scale_``, which proves the certificate.
    status_ : Status
        How the search ended; ``str(status_)`` is a sentence.
    trace_ : Trace
        The joint objective and its bound after every inner solve.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    early_stopping = False  # part of the checks that all estimators share

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
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HuberRegressor:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        self
        """
        self._check_options()
        epsilon = check.real(self, "epsilon", low=1.0)
        alpha = check.real(self, "alpha")
        X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], dtype=FLOATS, y_numeric=True)
        weights = check.sample_weights(sample_weight, X.shape[0])
        tasks = tasks_of(self, X, y, weights)
        self._remember(X, y, weights)
        base = Problem(X, y, loss=Huber(), fit_intercept=self.fit_intercept, sample_weight=weights)
        total = check.total_weight(weights, X.shape[0])
        solution, scale = self._search(base, epsilon, alpha, total, tasks)
        solution = solution.rounded(np.float64)
        self.coef_ = solution.x.astype(X.dtype, copy=False)
        self.intercept_ = float(solution.intercept)
        self.scale_ = scale
        residuals = (
            solution.problem.predict(solution.problem.join(solution.x, solution.intercept)) - base.b
        )
        self.outliers_ = np.abs(residuals) > scale * epsilon
        self.dual_coef_ = solution.y
        self.n_iter_ = solution.passes
        self._keep([solution])
        del self.certificates_
        tasks.end()
        return self

    def _search(
        self, base: Problem, epsilon: float, alpha: float, total: float, tasks: Tasks
    ) -> tuple[Solution, float]:
        """Alternate between coefficients and scale; the point with the smallest gap."""
        began = time.perf_counter()
        tol = max(float(self.tol), float(np.finfo(float).tiny))
        algorithm = algorithm_for(self.solver)
        null = float(base.mean(base.b)) if base.fit_intercept else 0.0
        scale = best_scale(null - base.b, base.q, epsilon)
        zero = at_scale(base, scale, epsilon, alpha, total)
        at_zero = scale + 2.0 / scale * zero.primal(zero.zeros(), zero.predict_zero())
        search = self._resume(base, epsilon, alpha, algorithm, Search(scale, 1e-2))
        spent, passes_before = 0.0, 0.0
        rows: list[tuple[float, ...]] = []
        best: tuple[float, Array, Array, Problem, JointPoint] | None = None
        lower = -math.inf
        status = Status.PASS_LIMIT
        stalled = 0
        while True:
            problem = at_scale(base, search.scale, epsilon, alpha, total)
            options: dict[str, Any] = {}
            if search.state is not None:
                options["state"] = search.state
                passes_before = search.state.passes
            else:
                passes_before = 0.0
                if search.points is not None:
                    x0, v0 = search.points
                    options = {"x0": x0, "y0": problem.loss.into_domain(v0 * search.scale, base.b)}
            result = problem.solve(
                algorithm=algorithm,
                tol=search.tol,
                max_passes=max(self.max_iter - spent, 0.0),
                random_state=self._seed(),
                verbose=bool(self.verbose),
                **options,
            )
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            spent += result.state.passes - passes_before
            x = problem.join(result.x, result.intercept)
            z = problem.predict(x)
            scale = best_scale(z - base.b, base.q, epsilon)
            inner = at_scale(base, scale, epsilon, alpha, total)
            v = result.y / search.scale
            point = joint_point(inner, x, [v * scale, inner.loss.grad(z, base.b)], scale, at_zero)
            lower = max(lower, point.certificate.dual)
            gap = point.certificate.gap
            lags = best is not None and gap > 0.2 * best[0]
            if best is None or gap < best[0]:
                best, stalled = (gap, x, v * scale, inner, point), 0
            else:
                stalled += 1
            rows.append(
                (spent, time.perf_counter() - began, point.primal, lower, point.primal - lower,
                 result.state.Delta, math.nan, math.nan, math.nan)
            )  # fmt: skip
            stop = self._tell(tasks, result.x, result.intercept, scale)
            if best[0] <= tol * max(best[4].primal, 1e-12 * at_zero):
                status = Status.CONVERGED
                break
            if stop:
                status = Status.CALLBACK
                break
            if result.status is Status.PASS_LIMIT:
                search.state = result.state
                break
            if result.status in (Status.STATIONARY, Status.DIVERGED):
                status = result.status
                break
            if stalled >= 5 and search.tol <= SMALLEST_TOL:
                status = Status.ROUNDING
                break
            # The joint gap may be of first order in the inner error (a dual point must be projected
            # where alpha = 0), the inner gap is of second: where the joint gap lags, ask for more.
            wanted = max(0.1 * point.certificate.relative_gap, 0.1 * tol)
            search.tol = max(min(search.tol * (0.01 if lags else 1.0), wanted), SMALLEST_TOL)
            search.scale, search.state = scale, None
            search.points = (_joined(result.x, result.intercept, base.fit_intercept), v)
        if self.warm_start:
            if search.state is None:
                search.scale = best[4].scale
                coefficients, intercept = base.split(best[1])
                search.points = (
                    _joined(coefficients, intercept, base.fit_intercept), best[2] / search.scale,
                )  # fmt: skip
            self._memory[0] = search
        gap, x, dual, inner, point = best
        coefficients, intercept = inner.split(x)
        solution = Solution(
            problem=inner,
            x=coefficients.copy(),
            intercept=intercept,
            y=dual,
            certificate=point.certificate,
            status=status,
            trace=Trace(rows, 0, tol * point.primal),
            passes=max(1, math.ceil(spent)),
        )
        return solution, point.scale

    def _resume(
        self, base: Problem, epsilon: float, alpha: float, algorithm: Any, fresh: Search
    ) -> Search:
        """The search of the last fit, where there is one that fits these data."""
        identity = (
            self.__dict__.get("_data_key"),
            (epsilon, alpha, self.fit_intercept, algorithm),
        )
        fresh.identity = identity
        before: Search | None = self._memory.get(0) if self.warm_start else None
        if before is None:
            return fresh
        if before.identity == identity:
            return before
        if before.points is None:
            return fresh
        x, v = before.points
        wanted = base.d + int(base.fit_intercept)
        if x.shape != (wanted,) or v.shape != (base.n,):
            return fresh
        return Search(before.scale, fresh.tol, before.points, None, identity)

    def _tell(self, tasks: Tasks, x: Array, intercept: Any, scale: float) -> bool:
        """One subtask for each inner solve."""
        if not tasks.watched:
            return False
        return tasks.check(lambda: {"coef_": x, "intercept_": intercept, "scale_": scale})

    def __sklearn_tags__(self) -> Any:
        """Sparse data are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _joined(x: Array, intercept: Any, fit_intercept: bool) -> Array:
    """x0 as `solve` takes it."""
    return np.append(x, intercept) if fit_intercept else np.asarray(x)
