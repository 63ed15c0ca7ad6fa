"""This project. Timed is the whole call: set-up, iterations, checks, certificate."""

from __future__ import annotations

from functools import partial

import dualgap
from benchmarks.race.measure import Contestant
from benchmarks.race.tasks import Task

VERSION = dualgap.__version__
MOST_PASSES = 10**6
MOST_SECONDS = 60.0


def contestants(task: Task) -> dict:
    """``auto``, and each algorithm by its name."""
    return {
        name: partial(_contestant, task, name) for name in ("auto", *dualgap.algorithms.ALGORITHMS)
    }


def _contestant(task: Task, algorithm: str) -> Contestant:
    def fit(tol: float):
        result = dualgap.solve(
            task.A,
            task.b,
            loss=task.loss,
            l1=task.l1,
            l2=task.l2,
            algorithm=algorithm,
            tol=tol,
            max_passes=MOST_PASSES,
            max_time=MOST_SECONDS,
        )
        return result.x, {
            "algorithm": result.algorithm,
            "passes": result.passes,
            "status": result.status.name,
            "gap": result.certificate.gap,
        }

    # From tol = 1000: a point may be good long before the bound that proves it.
    return Contestant(fit, [10.0**e for e in range(3, -13, -1)])
