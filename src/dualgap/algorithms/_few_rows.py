"""Where Newton starts: about the solution on some of the rows."""

from __future__ import annotations

import math

import numpy as np

from dualgap._types import Array
from dualgap.algorithms._base import Algorithm
from dualgap.problem import Problem

FEWER = 8
"""A run starts on this fraction of the rows,"""
ROWS_EACH = 10
"""if there are as many for every unknown,"""
CLOSE = 1e-3
"""until P there falls by no more than this share of it,"""
MOST_STEPS = 30
"""or for as many steps."""


def from_few_rows(algorithm: Algorithm, problem: Problem) -> Array:
    """Where to start: about the solution on some of the rows, found in the same way; or 0.

    Rows of which there are many more than unknowns resemble each other: what a share of them says
    is right up to size/rows, so that the whole data are needed for the last steps only.
    """
    rows = problem.n // FEWER
    if problem.loss.is_quadratic or rows < ROWS_EACH * math.prod(problem.shape):
        return problem.zeros()
    drawn = np.zeros(problem.n, dtype=bool)
    drawn[np.random.default_rng(0).permutation(problem.n)[:rows]] = True
    few = problem.take(drawn)
    s = algorithm.start(few, None, None).state
    for _ in range(MOST_STEPS):
        before = s.primal
        s = algorithm.step(few, s)
        if before - s.primal <= CLOSE * s.primal and s.memory.get("system") is None:
            break
    problem.constants.passes += (few.constants.passes + s.passes) * rows / problem.n
    return s.x
