"""A bound against every x' in a box around x, for columns that nearly depend on each other.

For every x' with |x'_j - x_j| <= R_j on free coordinates, wherever the others are, and any y in the
domains of the phi_i* with s = -S/W where the g_j* of the others are finite,

    P(x) - P(x') <= (1/W) sum_i w_i h_i(z_i, y_i) + sum_(j not free) G_j + sum_(j free) |S_j| R_j/W.

No linear algebra, and so nothing that near dependence could spoil. It is no bound on P*.
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._types import Array
from dualgap.certificate.feasibility import NOT_AT_ALL
from dualgap.certificate.proof import Penalty, loss_sums, total_weight
from dualgap.certificate.rows import dual_rows, enclosed, exact_sum
from dualgap.enclosures.box import default_radius, gap_in_box
from dualgap.enclosures.directed import up
from dualgap.problem import Problem

FAR = 1000.0
"""The box reaches this times |c| from the intercept c, or this times the size of predictions."""


def in_a_box(problem: Problem, x: Array, y: Array) -> tuple[float, Array] | None:
    """The bound and the radii R_j (of an intercept: the last), inf for penalised coefficients."""
    if problem.loss.is_vector or problem.regularizer.has_one_sided:
        return None
    rows = dual_rows(problem, y)
    at = enclosed(problem, x, rows, sharp=False)
    coefficients, c = problem.split(x)
    weight, penalty = total_weight(problem), Penalty(problem, coefficients)
    s = penalty.dual_interval_of(at.S, at.S_error, weight)
    if penalty.scale_into(*s) < 1.0:
        return None
    loss = loss_sums(problem, at, rows, NOT_AT_ALL).gap
    spread = math.sqrt(problem.mean(at.middle * at.middle))
    norms = problem.column_norms[: problem.d]
    radius = default_radius(coefficients, spread, norms)
    radius = np.where(problem.regularizer.free.reshape(-1)[: problem.d], radius, np.inf)
    free = np.isfinite(radius)
    sizes = up(np.abs(at.S) + at.S_error)[free]
    R = radius[free]
    if problem.fit_intercept:
        R = np.append(R, FAR * max(abs(float(np.asarray(c))), spread))
        total, open_ = exact_sum(rows)
        sizes = np.append(sizes, up(up(abs(total)) + open_))
        radius = np.append(radius, R[-1])
    gap = gap_in_box(up(loss / weight.low), penalty.gap_above(*s), sizes, R, weight.low)
    return (gap, radius) if math.isfinite(gap) else None
