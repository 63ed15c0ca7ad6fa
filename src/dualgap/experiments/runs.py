"""Pieces of work, each a function of its parameters alone: constants, reference optima, runs.

All linear algebra runs in one thread, so that no result depends on how many workers there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from dualgap.experiments import store
from dualgap.experiments.contenders import Contender
from dualgap.experiments.problems import DataSet, fresh_problem, problem
from dualgap.experiments.reference import Reference, reference

STOP = 1e-10
"""Runs end at this relative gap, below all targets."""


def _identity(data: DataSet) -> dict[str, Any]:
    """What a data set is known by; where its file lies is no part of it."""
    return {k: v for k, v in asdict(data).items() if k != "path"}


@dataclass(frozen=True)
class ConstantsTask:
    """L, mu and R of a data set."""

    data: DataSet

    @property
    def key(self) -> str:
        """Its name in the store."""
        return store.key("constants", _identity(self.data))

    def execute(self) -> dict[str, Any]:
        """L = |A|, mu = sqrt(lambda_min(A'A)), R = max |a_i|."""
        with threadpool_limits(1):
            p = fresh_problem(self.data, 1.0)
            constants = p.constants
            small = constants.gram_side <= 4096
            mu = math.sqrt(p.n * constants.M.value) if small or p.n < p.d else math.nan
            return {
                "n": p.n,
                "d": p.d,
                "density": _density(p.design.rows(), p.n * p.d),
                "R": constants.R.value,
                "L": math.sqrt(p.n * (constants.Lam if small else constants.Lam_estimate).value),
                "mu": mu,
                "gamma": p.loss.gamma,
            }


def _density(rows: Any, cells: int) -> float:
    return 1.0 if rows.dense is not None else float(np.count_nonzero(rows.data)) / cells


@dataclass(frozen=True)
class ReferenceTask:
    """The optimum of a problem."""

    data: DataSet
    strength: float

    @property
    def key(self) -> str:
        """Its name in the store."""
        return store.key("reference", {**_identity(self.data), "strength": self.strength})

    def execute(self) -> dict[str, Any]:
        """The fields of `Reference`."""
        with threadpool_limits(1), np.errstate(over="ignore", under="ignore"):
            return asdict(reference(problem(self.data, self.strength)))


@dataclass(frozen=True)
class RunTask:
    """One run of one algorithm on one problem."""

    data: DataSet
    strength: float
    contender: Contender
    steps: str
    seed: int
    limit: int
    mu: float
    reference: Reference
    stop: float = STOP
    timed: bool = False
    """Look at P only as often as the algorithm does by itself, on a problem without constants."""

    @property
    def key(self) -> str:
        """Its name in the store."""
        return store.key(
            "run",
            {
                **asdict(self),
                "data": _identity(self.data),
                "mu": repr(self.mu),
                "reference": [self.reference.start, self.reference.optimum],
            },
        )

    def warm_up(self) -> None:
        """A few passes, so that no compiled code is loaded while the clock runs."""
        replace(self, limit=3).execute()

    def execute(self) -> dict[str, Any]:
        """Passes of the iterations, P and seconds at each look.

        Looks themselves are not counted as passes: the figures compare iterations.
        """
        make = fresh_problem if self.timed else problem
        algorithm = self.contender.build(self.steps, self.mu, every_pass=not self.timed)
        best, width = self.reference.optimum, self.reference.start - self.reference.optimum
        bound = best + max(self.stop, self.reference.floor) * width
        result = make(self.data, self.strength).solve(
            algorithm=algorithm,
            tol=1e-15,
            max_passes=self.limit,
            random_state=self.seed if self.contender.is_random else None,
            n_threads=1,
            callback=lambda snapshot: snapshot.primal <= bound,
        )
        looks = len(result.trace) - 1  # the last row is the certificate
        passes = algorithm.passes_per_step * np.arange(looks)
        if passes[-1] != result.state.passes:
            raise ArithmeticError(
                f"{self.contender.label}: {looks} looks do not make "
                f"{result.state.passes:g} passes: please report this."
            )
        return {
            "passes": passes.tolist(),
            "primal": result.trace.primal[:looks].tolist(),
            "seconds": result.trace.seconds[:looks].tolist(),
            "status": result.status.name,
            "rollbacks": result.trace.rollbacks,
        }


Task = ConstantsTask | ReferenceTask | RunTask


def work(task: Task, folder: Path) -> dict[str, Any]:
    """Execute and store at once; what a worker process runs."""
    piece = task.execute()
    store.save(folder, task.key, piece)
    return piece


def finish(tasks: Iterable[Task], folder: Path, workers: int) -> Iterator[None]:
    """Do all that is not in the store yet; yields once for every task that is done."""
    left = []
    for task in tasks:
        if store.fetch(folder, task.key) is None:
            left.append(task)
        else:
            yield None
    if workers == 1:
        for task in left:
            work(task, folder)
            yield None
        return
    pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
    for _ in pool(joblib.delayed(_quiet)(task, folder) for task in left):
        yield None


def _quiet(task: Task, folder: Path) -> None:
    """`work`, sending nothing back: the parent reads the store."""
    work(task, folder)
