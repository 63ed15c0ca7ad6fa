"""LIBLINEAR's own Python interface: sum_i C phi_i + |x|^2 / 2."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import numpy as np
from liblinear.liblinearutil import parameter, problem, train

from benchmarks.race.measure import Contestant, tolerances
from benchmarks.race.tasks import Task

VERSION = version("liblinear-official")
SOLVERS = {"primal": 0, "dual": 7}


def contestants(task: Task) -> dict:
    if task.loss != "logistic" or task.l1:
        return {}
    return {name: partial(_contestant, task, number) for name, number in SOLVERS.items()}


def _contestant(task: Task, number: int) -> Contestant:
    data = problem(task.b, task.A)

    def fit(tol: float):
        options = f"-s {number} -c {1.0 / (task.n * task.l2):.17g} -e {tol:.17g} -q"
        model = train(data, parameter(options))
        x = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
        x = np.pad(x, (0, task.d - x.size))  # columns after the last used one are left out
        return x if model.label[0] == 1 else -x

    return Contestant(fit, tolerances(0.0, -12.0))
