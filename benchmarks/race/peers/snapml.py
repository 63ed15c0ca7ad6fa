"""Snap ML: sum_i phi_i + regularizer/2 |x|^2. It works in float32, so the data are given so."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import numpy as np
from snapml import LinearRegression, LogisticRegression

from benchmarks.race.measure import Contestant, pairs
from benchmarks.race.tasks import Task

VERSION = version("snapml")


def contestants(task: Task) -> dict:
    if task.l1:
        return {}
    return {name: partial(_contestant, task, name == "dual") for name in ("primal", "dual")}


def _contestant(task: Task, dual: bool) -> Contestant:
    A, b = task.A.astype(np.float32), task.b.astype(np.float32)
    make = LogisticRegression if task.loss == "logistic" else LinearRegression

    def fit(knob):
        tol, most = knob
        model = make(
            regularizer=task.n * task.l2, dual=dual, n_jobs=1, tol=tol, max_iter=most,
            fit_intercept=False, random_state=0,
        )  # fmt: skip
        return model.fit(A, b).coef_

    return Contestant(fit, pairs(5, 1.4))
