"""algorithm="auto" against the best of our own algorithms, known only in hindsight.

usage: python -m benchmarks hindsight [PATTERN ...]

The problems of the race. Timed is the whole solve to a certified relative gap of 1e-6, in processor
time, the best of several; an algorithm that needs more than twice auto's time is ended.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import dualgap
from benchmarks.race.problems import make, select
from benchmarks.race.tasks import Task

ROUNDS = 3
MOST_ROUNDS = 20
LONG_ENOUGH = 0.3
"""Seconds of runs after which a short solve has shown what it can do."""


def seconds(task: Task, algorithm: str, limit: float | None = None) -> tuple[float, Any]:
    """The best of several solves, and the last result; inf if one does not converge."""
    best, total, rounds = float("inf"), 0.0, 0
    while rounds < ROUNDS or (rounds < MOST_ROUNDS and total < LONG_ENOUGH):
        began = time.process_time()
        result = dualgap.solve(
            task.A, task.b, loss=task.loss, l1=task.l1, l2=task.l2, algorithm=algorithm,
            max_passes=10**5, max_time=limit,
        )  # fmt: skip
        if not result.status.converged:
            return float("inf"), result
        spent = time.process_time() - began
        best, total, rounds = min(best, spent), total + spent, rounds + 1
    return best, result


def main() -> None:
    print("problem                             auto              ms   best other        ms   ratio")
    worst = 0.0
    for name in select(sys.argv[1:], None):
        task = make(name)
        auto, result = seconds(task, "auto")
        others = {}
        for algorithm in dualgap.algorithms.ALGORITHMS:
            if algorithm == result.algorithm:
                continue
            try:
                if task.n * task.d < 10**6:  # kernels compile at their first call
                    dualgap.solve(
                        task.A, task.b, loss=task.loss, l1=task.l1, l2=task.l2,
                        algorithm=algorithm, max_passes=2,
                    )  # fmt: skip
                others[algorithm], _ = seconds(task, algorithm, limit=2.0 * auto + 0.01)
            except ValueError:  # it does not fit
                continue
        best = min(others, key=others.__getitem__)
        ratio = auto / others[best]
        worst = max(worst, ratio)
        print(
            f"{name:36}{result.algorithm:12}{1e3 * auto:8.1f}   {best:12}"
            f"{1e3 * others[best]:8.1f}{ratio:8.2f}",
            flush=True,
        )
    print(f"largest ratio: {worst:.2f}")


if __name__ == "__main__":
    main()
