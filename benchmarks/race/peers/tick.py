"""tick: its solvers by epochs, with sampling by permutation.

Its default, ``rand_type="unif"``, never draws the last row.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import numpy as np
from tick.linear_model import ModelLinReg, ModelLogReg
from tick.prox import ProxElasticNet, ProxL2Sq, ProxZero
from tick.solver import AGD, BFGS, SAGA, SDCA, SVRG

from benchmarks.race.measure import Contestant, budgets
from benchmarks.race.tasks import Task

VERSION = version("tick")
STOCHASTIC = {"saga": SAGA, "svrg": SVRG}


def contestants(task: Task) -> dict:
    names = ["saga", "svrg", "agd"]
    if not task.l1:
        names += ["sdca", "bfgs"]
        if task.d > 1000:
            names.remove("bfgs")  # it holds a d x d matrix
    return {name: partial(_contestant, task, name) for name in names}


def _contestant(task: Task, name: str) -> Contestant:
    model_class = ModelLogReg if task.loss == "logistic" else ModelLinReg
    squares = task.A.multiply(task.A) if task.sparse else task.A * task.A
    largest = float(np.asarray(squares.sum(axis=1)).max())
    steepness = largest * (0.25 if task.loss == "logistic" else 1.0) + task.l2

    def fit(epochs: int):
        model = model_class(fit_intercept=False).fit(task.A, task.b)
        common = {"tol": 0.0, "max_iter": epochs, "record_every": epochs, "verbose": False}
        if name in STOCHASTIC:
            solver = STOCHASTIC[name](
                step=1.0 / (3.0 * steepness), rand_type="perm", seed=1, **common
            )
        elif name == "sdca":
            solver = SDCA(l_l2sq=task.l2, rand_type="perm", seed=1, **common)
        else:
            solver = {"agd": AGD, "bfgs": BFGS}[name](**common)
        solver.set_model(model)
        if name == "sdca":
            solver.set_prox(ProxZero())
        elif task.l1:
            solver.set_prox(ProxElasticNet(task.strength, task.l1_ratio))
        else:
            solver.set_prox(ProxL2Sq(task.l2))
        return solver.solve()

    return Contestant(fit, budgets(2))
