"""Fits with squared loss: one problem for each target, all in one run where that will do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.designs import DaskDesign
from dualgap.driver.together import PASSES, solve_together
from dualgap.estimators import _parameters as check
from dualgap.estimators._base import Certified, tasks_of
from dualgap.estimators._callbacks import Tasks
from dualgap.estimators._data import product
from dualgap.estimators._least_norm import least_norm
from dualgap.estimators._linear import LinearRegressor
from dualgap.estimators._solvers import STAND_FOR_AUTO
from dualgap.estimators._spread import spread
from dualgap.estimators._stopping import BestScore, Held
from dualgap.linalg.ridge import RidgeSystem
from dualgap.trace import Snapshot

Strengths = Sequence[tuple[float, float]]
"""l1 and l2 of each target."""


class Solved(NamedTuple):
    """The solutions of all targets."""

    x: Array
    """The coefficients, a row for each target."""
    intercepts: Array
    duals: Array
    """The dual points, a column for each target."""
    passes: list[int]


class SquaredLossRegressor(MultiOutputMixin, LinearRegressor, RegressorMixin, Certified):
    """Base: squared loss, one problem for each target."""

    def _strengths(self, targets: int, total: float) -> Strengths:
        """(l1, l2) for each target, given W."""
        raise NotImplementedError

    def _targets_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
        """Data, targets and weights, checked."""
        data = spread(self, X, y, sample_weight)
        if data is not None:
            return data
        return self._data(X, y, sample_weight, multi_output=True, y_numeric=True)

    def _fit_targets(
        self, X: Any, y: Any, weights: Array | None, system: RidgeSystem | None = None
    ) -> list[int]:
        """Solve, and keep what is common to all; the passes that each target took.

        ``system`` holds the equations of these data, where they are known.
        """
        if isinstance(X, DaskDesign):
            return self._fit_spread(X, y, weights)
        tasks, held = tasks_of(self, X, y, weights), None
        if self.early_stopping:
            (X, y, weights), held = self._hold_back(X, y, weights)
        self._remember(X, y, weights)
        columns = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1)
        strengths = self._strengths(columns.shape[1], check.total_weight(weights, X.shape[0]))
        problem = Problem(
            X,
            columns[:, 0],
            fit_intercept=self.fit_intercept,
            sample_weight=weights,
            **self._penalty(*strengths[0]),
        )
        solved = self._together(problem, columns, strengths, tasks, system)
        if solved is None:
            solved = self._one_by_one(problem, columns, strengths, tasks, held, X.dtype)
        several = np.ndim(y) == 2
        self.coef_ = solved.x if several else solved.x[0]
        intercepts = solved.intercepts.astype(X.dtype, copy=False)
        self.intercept_ = intercepts if several else intercepts[0]
        self.dual_coef_ = solved.duals if several else solved.duals[:, 0]
        if not self.fit_intercept:
            self.intercept_ = 0.0
        tasks.end()
        return solved.passes

    def _fit_spread(self, X: DaskDesign, y: Any, weights: Any) -> list[int]:
        """One target, of data of dask, which stay where they are."""
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y has {y.shape[1]} columns, and data that stay on a cluster have one target: fit "
                "them one by one."
            )
        with X.in_use():
            problem = Problem(
                X,
                y[:, 0] if y.ndim == 2 else y,
                fit_intercept=self.fit_intercept,
                sample_weight=weights,
                **self._penalty(1.0, 1.0),
            )
            assert problem.streamed is not None
            ((l1, l2),) = self._strengths(1, problem.streamed.known.total)
            self._check_checkpoint(np.empty(0))
            solution = self._solve(problem.replace(**self._penalty(l1, l2)))
        self._keep([solution])
        self.coef_, self.intercept_ = solution.x, solution.intercept
        self.dual_coef_ = solution.y
        return [solution.passes]

    def _together(
        self,
        problem: Problem,
        columns: Array,
        strengths: Strengths,
        tasks: Tasks,
        system: RidgeSystem | None,
    ) -> Solved | None:
        """All targets of a ridge regression in one run, where nobody asks for more than that."""
        asks = self.warm_start or self.early_stopping or self.verbose or tasks.watched
        asks = asks or self._checkpoint is not None
        few = self.max_iter is not None and self.max_iter < PASSES
        if asks or few or not _is_auto(self.solver) or any(l1 for l1, _ in strengths):
            return None
        l2 = np.array([l2 for _, l2 in strengths])
        found = solve_together(problem, columns, l2, float(self.tol), system)
        if found is None:
            return None
        certificates = found.proofs.certificates(problem.d)
        self._report(found, certificates[found.worst], certificates)
        passes = [found.passes] * l2.size
        return Solved(np.ascontiguousarray(found.x.T), found.intercepts, found.proofs.y, passes)

    def _one_by_one(
        self,
        first: Problem,
        columns: Array,
        strengths: Strengths,
        tasks: Tasks,
        held: Held | None,
        dtype: Any,
    ) -> Solved:
        """A run of its own for each target; coefficients are rounded to ``dtype``."""
        watcher = _watch(tasks) if tasks.watched and len(strengths) == 1 else None
        found = []
        for k, (b, pair) in enumerate(zip(columns.T, strengths, strict=True)):
            problem = first.replace(b=b, **self._penalty(*pair)) if k else first
            stop = None if held is None else BestScore(_r2(held, k), self.n_iter_no_change)
            found.append(self._solve(problem, part=k, watch=watcher, stop=stop))
        solutions = [least_norm(solution).rounded(dtype) for solution in found]
        self._keep(solutions)
        return Solved(
            np.stack([s.x for s in solutions]),
            np.array([s.intercept for s in solutions]),
            np.stack([s.y for s in solutions], axis=1),
            [s.passes for s in solutions],
        )


def _is_auto(solver: Any) -> bool:
    return isinstance(solver, str) and (solver == "auto" or solver in STAND_FOR_AUTO)


def _watch(tasks: Tasks) -> Callable[[Snapshot], bool]:
    """What tells scikit-learn's callbacks of each check."""
    return lambda snapshot: tasks.check(
        lambda: {"coef_": np.array(snapshot.x), "intercept_": snapshot.intercept}
    )


def _r2(held: Held, target: int) -> Any:
    """R^2 on the rows held back, as a function of (x, intercept)."""
    from sklearn.metrics import r2_score

    X, y, weights = held
    truth = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1)[:, target]
    return lambda x, c: float(r2_score(truth, product(X, x) + c, sample_weight=weights))
