"""H along a path with l1: the minimiser of the model by coordinate descent.

On H of the coordinates that may come to matter, where it can be formed. Otherwise by their columns,
and conjugate gradients on the support (`ColumnModel`), without l2 with a factor of
H that all points share (`_growing`): coordinate descent finds the signs then, and nothing else.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.algorithms.second_order.set_models import ColumnModel, may_form
from dualgap.algorithms.second_order.tuning import SETS
from dualgap.designs import Columns
from dualgap.linalg.orthant import Inverse
from dualgap.linalg.penalised import Penalty, descend
from dualgap.paths._growing import GrowingFactor
from dualgap.paths._hessians import Hessian, Step, in_steps
from dualgap.problem import Problem

DEAR = 20.0
"""An H that costs more than so many Newton steps is not formed, and the point left to a solve."""
NEEDED, CLOSE = 0.95, 0.8
"""Coordinates whose gradient is the first share of l1 must be in S; a new S has the second, too."""
GATHERING = 4.0
"""Copying an entry is taken to cost as much as so many multiplications."""
ACCURACY = 1e-4
"""Descent on H ends where coordinates gain this share of what they gained at first, each alone."""
ROUNDS = 8
"""Sweeps and conjugate gradients take turns at most so often."""
SWEEPS = 0.5
"""So many sweeps come before conjugate gradients; one that has begun goes on to its end."""
ROUGHLY = 1e-2
"""While signs change, conjugate gradients end at this share of what coordinates gain alone."""
STALE = 8.0
"""A minimiser that took more products than this is a sign that the factor has grown old."""


class Descent(Hessian):
    """H of the coordinates S that may come to matter."""

    def __init__(self) -> None:
        self.model: _Gram | _ByColumns | None = None
        self.at: Places = np.empty(0, dtype=np.intp)
        self.inside = np.empty(0, dtype=bool)

    def serves(self, problem: Problem, x: Array, u: Array) -> bool:
        """Whether H is known, and S has all that it should have by now."""
        return self.model is not None and self._suffices(problem, x, u)

    def _suffices(self, problem: Problem, x: Array, u: Array) -> bool:
        needed = (x != 0) | (np.abs(u) >= NEEDED * problem.elastic_net.l1)
        return not (needed & ~self.inside).any()

    def renew(self, problem: Problem, x: Array, u: Array, hess: Array) -> float | None:
        """H at this point; None if that would take too long."""
        factor = self.model.factor if isinstance(self.model, _ByColumns) else None
        if self.model is None or not self._suffices(problem, x, u):
            self._choose(problem, x, u, factor)
        self.model = None  # nothing is left that does not fit the new S
        columns = problem.columns(self.at)
        by_gram = may_form(problem, columns)
        work = ((columns.gram_sweeps if by_gram else 1.0) + GATHERING) * columns.nonzeros
        self.price = in_steps(problem, work)
        if self.price > DEAR:
            return None
        w = problem.q * hess
        if by_gram:
            self.model = _Gram(columns.gram(w))
        else:
            self.model = _ByColumns(columns, w, factor or GrowingFactor(problem.size, w))
        return 1.0

    def _choose(self, problem: Problem, x: Array, u: Array, factor: GrowingFactor | None) -> None:
        """S."""
        matters = (x != 0) | (np.abs(u) >= CLOSE * problem.elastic_net.l1)
        if factor is not None:
            matters |= factor.place >= 0
        if 4 * np.count_nonzero(matters) >= matters.size <= SETS.all_of:
            matters[:] = True
        self.at, self.inside = np.flatnonzero(matters), matters

    def step(self, problem: Problem, x: Array, z: Array, y: Array, u: Array, share: float) -> Step:
        """To the minimiser of the model, nearly."""
        assert self.model is not None
        at, d = self.at, np.zeros_like(x)
        l1, l2 = problem.elastic_net.l1[at], problem.elastic_net.l2[at]
        if isinstance(self.model, _Gram):
            new, spent = self.model.minimiser(u[at], x[at], l1, l2), 0.0
        else:
            # Gains fall as the gradient's square. So does the gap, but for what has no l2.
            accuracy = share * share if problem.elastic_net.has_boxed else share
            new, spent = self.model.minimiser(problem.q * y, u[at], x[at], l1, l2, accuracy)
            spent /= problem.design.nonzeros
        d[at] = new - x[at]
        return Step(d, None, spent)


class _Gram:
    """H, formed."""

    def __init__(self, H: Array) -> None:
        self.H = H

    def minimiser(self, u: Array, x: Array, l1: Array, l2: Array) -> Array:
        """Of the model at x, where its gradient is u."""
        penalty = Penalty(l1, l2)
        goal = ACCURACY * penalty.largest_gain(self.H.diagonal(), u, x)
        return descend(self.H, u, x, penalty, goal)[0]


class _ByColumns:
    """H = B' diag(w) B by its columns, and a factor of one that was near."""

    def __init__(self, columns: Columns, w: Array, factor: GrowingFactor) -> None:
        self.columns, self.w, self.factor = columns, w, factor
        self.h = columns.norms_sq(w)

    def minimiser(
        self, v: Array, u: Array, x: Array, l1: Array, l2: Array, accuracy: float
    ) -> tuple[Array, float]:
        """Of the model at x, where its slopes are v; and the entries of the data touched."""
        columns, w, h = self.columns, self.w, self.h
        penalty, spent = Penalty(l1, l2), 0.0
        goal = accuracy * penalty.largest_gain(h, u, x)
        prepare = None if l2.any() else self._prepare  # l2 makes H well conditioned
        x = x.copy()
        for _ in range(ROUNDS):
            before = np.sign(x)
            swept, worst = columns.sweeps(w, v, x, h, l1, l2, SWEEPS, goal)
            spent += swept
            if worst <= goal:
                break
            settled = np.array_equal(np.sign(x), before)
            aim = goal if settled else max(goal, ROUGHLY * worst)
            x, products = ColumnModel(columns, w, v, x, penalty, h).finish(aim, prepare)
            spent += products
            if products > STALE and not np.array_equal(self.factor.w, w):
                self.factor = self.factor.anew(w)
            if settled:
                break
        return x, spent * columns.nonzeros

    def _prepare(self, free: Mask) -> Inverse:
        return self.factor.inverse(self.columns, self.h, free)
