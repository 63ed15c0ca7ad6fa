"""What ``algorithm="auto"`` runs."""

from __future__ import annotations

from dualgap import algorithms
from dualgap.algorithms import Algorithm
from dualgap.preconditioners import Preconditioner
from dualgap.problem import Problem


def choose(problem: Problem) -> tuple[Algorithm, Preconditioner | None]:
    """The algorithm and the preconditioner for a problem, from its sizes and kind alone."""
    return algorithms.choose(problem), None
