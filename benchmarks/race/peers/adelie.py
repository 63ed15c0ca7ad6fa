"""adelie: coordinate descent along a path of one strength."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import adelie
import numpy as np

from benchmarks.race.measure import Contestant, tolerances
from benchmarks.race.tasks import Task

VERSION = version("adelie")


def contestants(task: Task) -> dict:
    return {"grpnet": partial(_contestant, task)}


def _contestant(task: Task) -> Contestant:
    if task.sparse:
        data = adelie.matrix.sparse(task.by_columns, method="naive")
    else:
        data = np.asfortranarray(task.A)
    if task.loss == "squared":
        family = adelie.glm.gaussian(task.b)
    else:
        family = adelie.glm.binomial((task.b + 1.0) / 2.0)

    def fit(tol: float):
        state = adelie.grpnet(
            data,
            family,
            alpha=task.l1_ratio,
            lmda_path=[task.strength],
            intercept=False,
            early_exit=False,
            tol=tol,
            irls_tol=tol,
            progress_bar=False,
        )
        return state.betas.toarray()[-1]

    return Contestant(fit, tolerances(-2.0, -18.0))
