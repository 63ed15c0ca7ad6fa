"""copt: accelerated proximal gradient, and SAGA, which is compiled anew at every call."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import numpy as np
from copt import minimize_proximal_gradient, minimize_saga
from copt.loss import LogLoss, SquareLoss
from copt.penalty import L1Norm

from benchmarks.race.measure import Contestant, budgets
from benchmarks.race.tasks import Task

VERSION = version("copt")


def contestants(task: Task) -> dict:
    return {"apgd": partial(_gradient, task), "saga": partial(_saga, task)}


def _parts(task: Task):
    """The smooth part with l2, labels 0/1 or targets, and the l1 part."""
    if task.loss == "squared":
        targets, loss = task.b, SquareLoss
    else:
        targets, loss = (task.b + 1.0) / 2.0, LogLoss
    return loss(task.A, targets, task.l2), targets, L1Norm(task.l1)


def _gradient(task: Task) -> Contestant:
    smooth, _, l1 = _parts(task)

    def fit(most: int):
        prox = l1.prox if task.l1 else None
        return minimize_proximal_gradient(
            smooth.f_grad,
            np.zeros(task.d),
            prox,
            jac=True,
            tol=0.0,
            max_iter=most,
            accelerated=True,
        ).x

    return Contestant(fit, budgets(5))


def _saga(task: Task) -> Contestant:
    smooth, targets, l1 = _parts(task)
    squares = task.A.multiply(task.A) if task.sparse else task.A * task.A
    largest = float(np.asarray(squares.sum(axis=1)).max())
    steepness = largest * (0.25 if task.loss == "logistic" else 1.0) + task.l2

    def fit(epochs: int):
        return minimize_saga(
            smooth.partial_deriv,
            task.A,
            targets,
            np.zeros(task.d),
            step_size=1.0 / (3.0 * steepness),
            prox=l1.prox_factory(task.d) if task.l1 else None,
            alpha=task.l2,
            max_iter=epochs,
            tol=0.0,
            verbose=0,
        ).x

    return Contestant(fit, budgets(2))
