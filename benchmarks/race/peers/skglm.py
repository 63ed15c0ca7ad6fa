"""skglm: its solvers, called without the estimator around them."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from skglm.datafits import Logistic, Quadratic
from skglm.penalties import L2, L1_plus_L2
from skglm.solvers import FISTA, LBFGS, AndersonCD, GramCD, ProxNewton

from benchmarks.race.measure import Contestant, pairs
from benchmarks.race.tasks import Task

VERSION = version("skglm")


def contestants(task: Task) -> dict:
    if not task.l1:
        return {"lbfgs": partial(_contestant, task, LBFGS, 20, {})}
    out = {
        "anderson-cd": partial(_contestant, task, AndersonCD, 5, {"fit_intercept": False}),
        "fista": partial(_contestant, task, FISTA, 20, {}),
    }
    if task.loss == "logistic":
        out["prox-newton"] = partial(_contestant, task, ProxNewton, 5, {"fit_intercept": False})
    elif task.d <= 5000:
        out["gram-cd"] = partial(_contestant, task, GramCD, 20, {"fit_intercept": False})
    return out


def _contestant(task: Task, solver, first: int, options: dict) -> Contestant:
    columns = task.by_columns
    penalty = L1_plus_L2(task.strength, task.l1_ratio) if task.l1 else L2(task.l2)

    datafit = None if solver is GramCD else Quadratic() if task.loss == "squared" else Logistic()

    def fit(knob):
        tol, most = knob
        return solver(tol=tol, max_iter=most, **options).solve(columns, task.b, datafit, penalty)[0]

    return Contestant(fit, pairs(first))
