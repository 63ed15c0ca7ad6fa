"""cyanure: (1/n) sum_i phi_i + lambda_1/2 |x|^2, or lambda_1 |x|_1 + lambda_2/2 |x|^2."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from cyanure.estimators import Classifier, Regression

from benchmarks.race.measure import Contestant, pairs
from benchmarks.race.tasks import Task

VERSION = version("cyanure")
SOLVERS = (
    "auto",
    "qning-miso",
    "catalyst-miso",
    "qning-svrg",
    "catalyst-svrg",
    "acc-svrg",
    "fista",
)


def contestants(task: Task) -> dict:
    return {name: partial(_contestant, task, name) for name in SOLVERS}


def _contestant(task: Task, solver: str) -> Contestant:
    strengths = {"penalty": "l2", "lambda_1": task.l2}
    if task.l1:
        strengths = {"penalty": "elasticnet", "lambda_1": task.l1, "lambda_2": task.l2}
    if task.loss == "logistic":
        make = partial(Classifier, loss="logistic")
    else:
        make = Regression

    def fit(knob):
        tol, most = knob
        model = make(
            **strengths,
            solver=solver,
            fit_intercept=False,
            tol=tol,
            max_iter=most,
            n_threads=1,
            verbose=False,
        )
        model.fit(task.A, task.b)
        return model.get_weights()

    return Contestant(fit, pairs(10, 1.4))
