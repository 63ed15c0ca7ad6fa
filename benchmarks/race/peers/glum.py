"""glum: (1/n) sum_i phi_i + alpha (l1_ratio |x|_1 + (1 - l1_ratio)/2 |x|^2)."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from glum import GeneralizedLinearRegressor

from benchmarks.race.measure import Contestant, pairs
from benchmarks.race.tasks import Task

VERSION = version("glum")
LARGEST = 4000
"""Columns from which the d x d matrices of its least squares step are left alone."""


def contestants(task: Task) -> dict:
    names = [] if task.d > LARGEST else ["irls-cd"] if task.l1 else ["irls-ls", "irls-cd"]
    if not task.l1:
        names.append("lbfgs")
    return {name: partial(_contestant, task, name) for name in names}


def _contestant(task: Task, solver: str) -> Contestant:
    columns = task.by_columns
    targets = task.b if task.loss == "squared" else (task.b + 1.0) / 2.0

    def fit(knob):
        tol, most = knob
        model = GeneralizedLinearRegressor(
            alpha=task.strength,
            l1_ratio=task.l1_ratio,
            family="normal" if task.loss == "squared" else "binomial",
            solver=solver,
            fit_intercept=False,
            gradient_tol=tol,
            max_iter=most,
        )
        return model.fit(columns, targets).coef_

    return Contestant(fit, pairs(20 if solver == "lbfgs" else 5))
