"""lightning by epochs: (1/n) sum_i phi_i + alpha/2 |x|^2 (+ beta |x|_1)."""

from __future__ import annotations

from functools import partial

import lightning.classification as classification
import lightning.regression as regression
import numpy as np

from benchmarks.race.measure import Contestant, budgets
from benchmarks.race.tasks import Task


def contestants(task: Task) -> dict:
    if task.loss == "logistic":
        out = {"saga": classification.SAGAClassifier, "svrg": classification.SVRGClassifier}
        out |= {"sag": classification.SAGClassifier}
    else:
        out = {"saga": regression.SAGARegressor, "sag": regression.SAGRegressor}
        out |= {"svrg": regression.SVRGRegressor, "sdca": regression.SDCARegressor}
    if task.l1:
        out = {"saga": out["saga"]}
    return {name: partial(_contestant, task, name, make) for name, make in out.items()}


def _contestant(task: Task, name: str, make) -> Contestant:
    loss = {"loss": "log" if task.loss == "logistic" else "squared"}
    squares = task.A.multiply(task.A) if task.sparse else task.A * task.A
    largest = float(np.asarray(squares.sum(axis=1)).max())
    steepness = largest * (0.25 if task.loss == "logistic" else 1.0) + task.l2
    if name == "svrg":
        loss["eta"] = 1.0 / (3.0 * steepness)
    if task.l1:
        loss |= {"penalty": "l1", "beta": task.l1}
    if name == "sdca":
        loss["loss"] = "squared"

    def fit(epochs: int):
        model = make(alpha=task.l2, max_iter=epochs, tol=0.0, random_state=0, **loss)
        return model.fit(task.A, task.b).coef_

    return Contestant(fit, budgets(2))
