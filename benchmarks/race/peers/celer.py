"""celer: working sets with dual extrapolation, for squared loss with l1."""

from __future__ import annotations

from functools import partial

import celer
from celer import ElasticNet

from benchmarks.race.measure import Contestant, tolerances
from benchmarks.race.tasks import Task

VERSION = celer.__version__


def contestants(task: Task) -> dict:
    if task.loss != "squared" or not task.l1:
        return {}
    return {"enet": partial(_contestant, task)}


def _contestant(task: Task) -> Contestant:
    columns = task.by_columns

    def fit(tol: float):
        model = ElasticNet(
            alpha=task.strength, l1_ratio=task.l1_ratio, tol=tol, fit_intercept=False
        )
        return model.fit(columns, task.b).coef_

    return Contestant(fit, tolerances())
