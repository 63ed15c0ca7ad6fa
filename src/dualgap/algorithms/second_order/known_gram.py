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
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.gram_descent import descend
from dualgap.algorithms.second_order.restricted import gains, working_set
from dualgap.limits import current
from dualgap.linalg.hessian_factor import weighted_gram
from dualgap.problem import Problem


def is_cheap(problem: Problem) -> bool:
    """Whether H costs next to nothing, or is known, and will not change."""
    design = problem.design
    if not problem.regularizer.has_strengths:
        return False
    if not (problem.loss.is_quadratic and problem.size <= tuning.GRAMS.largest_side):
        return False
    if not design.is_sparse:
        return design.knows_gram(problem.q)
    return design.gram_multiplications(True) <= tuning.GRAMS.cheap_whole


def known_gram(problem: Problem, x: Array, u: Array) -> Array | None:
    """H in the lower triangle, if it is known, or cheap and many coordinates want to move."""
    if not is_cheap(problem):
        return None
    if problem.design.is_sparse and np.count_nonzero(gains(problem, x, u)) <= tuning.SETS.growth:
        return None
    return weighted_gram(problem.design, problem.q)


def minimise(
    problem: Problem, H: Array, x: Array, u: Array, before: Places
) -> tuple[Array, Places]:
    """From x with the gradient u of the mean loss: a better x, and the last set."""
    from dualgap.kernels.gram import add_symmetric_product, symmetric_part

    l1, l2 = problem.elastic_net.l1, problem.elastic_net.l2
    x, u, at, first = x.copy(), u.copy(), before, 0.0
    for _ in range(tuning.SETS.rounds):
        gain = gains(problem, x, u)
        first = max(first, float(gain.max()))
        known, at = at.size, np.sort(working_set(problem, x, gain, at, 2 * tuning.SETS.growth))
        if at.size == 0:
            break
        gain[at] = 0.0
        last = at.size - known <= tuning.GRAMS.last_growth * known or at.size == x.size
        may_be_exact = last and at.size <= tuning.GRAMS.small_side
        goal = first * (tuning.SETS.exact if may_be_exact else tuning.GRAMS.loose)
        part = np.empty((at.size, at.size))
        symmetric_part(H, at, part)
        here = x[at]
        goal = max(goal, tuning.SETS.enough * float(gain.max()))
        new, _ = descend(part, u[at], here, l1[at], l2[at], goal)
        x[at] = new
        if last or current().cut:
            break
        add_symmetric_product(H, at, new - here, u)
    return x, at
