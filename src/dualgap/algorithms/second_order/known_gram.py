"""One step of `working_set` where H = A'QA of all coordinates is known.

The squared loss, and small sparse data, or few columns that stream, of which H has come with the
first reading: H costs less there than finding a way round it. P is a quadratic in H, so set follows
set with no product with A between them,

    u <- u + H (x_new - x)

The last set is one that hardly grew, or has everything; if it is not large it is solved to
rounding. What comes to matter after it waits for the next step.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array, Places
from dualgap.algorithms.second_order.gram_descent import descend
from dualgap.algorithms.second_order.restricted import (
    ENOUGH,
    EXACT,
    GRAM_SIDE,
    SMALL_SIDE,
    gains,
    working_set,
)
from dualgap.limits import current
from dualgap.linalg.hessian_factor import weighted_gram
from dualgap.problem import Problem

FIRST = 128
"""A working set may grow by so many coordinates, or by the size of the support if that is more."""
CHEAP = 1e6
"""An H of no more multiplications than this is formed without looking for a way round it."""
MANY = 64
"""H is formed only if more coordinates than this want to move."""
LOOSE = 1e-5
"""While sets grow, and on large ones, descent ends when this share of the first gain is left."""
SETTLED = 0.1
"""A set that grows by no more than this share of its size is taken for the last."""
SETS = 10
"""One step solves for at most so many sets."""


def is_cheap(problem: Problem) -> bool:
    """Whether H costs next to nothing, or is known, and will not change."""
    design = problem.design
    if not problem.regularizer.has_strengths:
        return False
    if not (problem.loss.is_quadratic and problem.size <= GRAM_SIDE):
        return False
    if not design.is_sparse:
        return design.knows_gram(problem.q)
    return design.gram_multiplications(True) <= CHEAP


def known_gram(problem: Problem, x: Array, u: Array) -> Array | None:
    """H in the lower triangle, if it is known, or cheap and many coordinates want to move."""
    if not is_cheap(problem):
        return None
    if problem.design.is_sparse and np.count_nonzero(gains(problem, x, u)) <= MANY:
        return None
    return weighted_gram(problem.design, problem.q)


def minimise(
    problem: Problem, H: Array, x: Array, u: Array, before: Places
) -> tuple[Array, Places]:
    """From x with the gradient u of the mean loss: a better x, and the last set."""
    from dualgap.kernels.gram import add_symmetric_product, symmetric_part

    l1, l2 = problem.elastic_net.l1, problem.elastic_net.l2
    x, u, at, first = x.copy(), u.copy(), before, 0.0
    for _ in range(SETS):
        gain = gains(problem, x, u)
        first = max(first, float(gain.max()))
        known, at = at.size, np.sort(working_set(problem, x, gain, at, FIRST))
        if at.size == 0:
            break
        gain[at] = 0.0
        last = at.size - known <= SETTLED * known or at.size == x.size
        goal = first * (EXACT if last and at.size <= SMALL_SIDE else LOOSE)
        part = np.empty((at.size, at.size))
        symmetric_part(H, at, part)
        here = x[at]
        goal = max(goal, ENOUGH * float(gain.max()))
        new, _ = descend(part, u[at], here, l1[at], l2[at], goal)
        x[at] = new
        if last or current().cut:
            break
        add_symmetric_product(H, at, new - here, u)
    return x, at
