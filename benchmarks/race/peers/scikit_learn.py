"""scikit-learn: every solver of Ridge, LogisticRegression and ElasticNet."""

from __future__ import annotations

from functools import partial

import sklearn
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge

from benchmarks.race.measure import Contestant, budgets, pairs
from benchmarks.race.tasks import Task

VERSION = sklearn.__version__
DIRECT = ("cholesky", "svd")
STOCHASTIC = ("sag", "saga")


def contestants(task: Task) -> dict:
    out = {}
    if task.loss == "squared":
        if not task.l1:
            names = [
                "cholesky",
                "lsqr",
                "sparse_cg",
                "sag",
                "saga",
                *([] if task.sparse else ["svd"]),
            ]
            out |= {f"ridge-{name}": partial(_ridge, task, name) for name in names}
        out["enet-cd"] = partial(_net, task, False)
        if not task.sparse:
            out["enet-cd-gram"] = partial(_net, task, True)
        return out
    if task.l1:
        return {"logreg-saga": partial(_logistic, task, "saga")}
    names = ["newton-cholesky", "newton-cg", "lbfgs", "liblinear", "sag", "saga"]
    if task.d > 3 * task.n or task.d > 10000:
        names.remove("newton-cholesky")  # it would hold a d x d matrix
    return {f"logreg-{name}": partial(_logistic, task, name) for name in names}


def _ladder(solver: str) -> list:
    """Stochastic methods by epochs, for their tolerance is on the change of x."""
    if solver in STOCHASTIC:
        return [(0.0, epochs) for epochs in budgets(2)]
    return pairs(5 if solver.startswith("newton") else 20)


def _ridge(task: Task, solver: str) -> Contestant:
    """|Ax - b|^2 + alpha |x|^2, so alpha = n l2."""

    def fit(knob):
        tol, most = knob or (1e-4, None)
        model = Ridge(
            alpha=task.n * task.l2,
            solver=solver,
            fit_intercept=False,
            tol=tol,
            max_iter=most,
            random_state=0,
        )
        return model.fit(task.A, task.b).coef_

    return Contestant(fit, [None] if solver in DIRECT else _ladder(solver))


def _logistic(task: Task, solver: str) -> Contestant:
    """C sum_i phi_i + l1_ratio |x|_1 + (1 - l1_ratio)/2 |x|^2, so C = 1/(n (l1 + l2))."""

    def fit(knob):
        tol, most = knob
        model = LogisticRegression(
            C=1.0 / (task.n * task.strength),
            l1_ratio=task.l1_ratio,
            solver=solver,
            fit_intercept=False,
            tol=tol,
            max_iter=most,
            random_state=0,
        )
        return model.fit(task.A, task.b).coef_

    return Contestant(fit, _ladder(solver))


def _net(task: Task, gram: bool) -> Contestant:
    """Coordinate descent, on the data or on A'A (whose making is timed)."""
    columns = task.by_columns

    def fit(knob):
        tol, most = knob
        model = ElasticNet(
            alpha=task.strength,
            l1_ratio=task.l1_ratio,
            fit_intercept=False,
            precompute=gram,
            tol=tol,
            max_iter=most,
        )
        return model.fit(columns, task.b).coef_

    return Contestant(fit, pairs(10))
