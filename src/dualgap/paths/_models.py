"""H = A' diag(q phi'') A for many points, in what suits: argmin u'd + (1/2) d'Hd + g(x + d).

Without l1 by a factor of H + diag(l2), or where that cannot be had by what stands in for it. With
l1 on the coordinates S that may come to matter: by descent on H of S where it can be formed, else
by their columns. Coordinate descent finds the signs then, and conjugate gradients on the support
the rest; without l2 they are preconditioned by a factor of H that all points share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualgap._types import Array, Mask
from dualgap.algorithms.second_order.set_models import ColumnModel, GramModel, may_form, penalty_of
from dualgap.algorithms.second_order.tuning import CLASSES, SETS
from dualgap.designs import Columns
from dualgap.limits import one_pass
from dualgap.linalg.growing_factor import GrowingFactor
from dualgap.linalg.hessian_factor import HessianFactor
from dualgap.linalg.krylov_factor import KrylovFactor, factor_nearby
from dualgap.linalg.orthant import Inverse
from dualgap.paths._sets import CLOSE, NEEDED
from dualgap.paths._squared import CALLS
from dualgap.problem import Problem
from dualgap.state import State

DEAR = 20.0
"""An H that costs more than so many steps is not formed, and the point left to a solve."""
GATHERING = 4.0
"""Copying an entry is taken to cost as much as so many multiplications."""
SWEEPS = 0.5
"""So many sweeps come before conjugate gradients; one that has begun goes on to its end."""
ROUGHLY = 1e-2
"""While signs change, conjugate gradients end at this share of what coordinates gain alone."""
STALE = 8.0
"""A minimiser that took more products than this is a sign that the factor has grown old."""


Step = tuple[Array, Array | None, float]
"""d, A d if it has been found on the way, and passes over the data."""


def model_for(problem: Problem, s: State, hess: Array, known: Model | None) -> Model | None:
    """H at this point, in the form that suits; None if that would take too long."""
    w = problem.q * hess
    if problem.l1 > 0:
        return Restricted.at(problem, s, w, known if isinstance(known, Restricted) else None)
    return Factored.at(problem, s, w, known if isinstance(known, Factored) else None)


def _in_steps(problem: Problem, multiplications: float) -> float:
    """So much work as a number of steps: of two products with the data, and the calls, each."""
    return multiplications / (2.0 * problem.design.nonzeros + CALLS)


class Factored(NamedTuple):
    """Without l1: d = -(H + diag(l2))^(-1) (u + l2 x)."""

    factor: HessianFactor | KrylovFactor
    price: float
    """What a new one costs, in steps."""

    @classmethod
    def at(cls, problem: Problem, s: State, w: Array, known: Factored | None) -> Factored:
        """The factor of H, or a Krylov space where that would take too long."""
        before, l2 = None if known is None else known.factor, problem.elastic_net.l2
        factor, passes = factor_nearby(problem.design, w, l2, -s.u - l2 * s.x, before)
        return cls(factor, _in_steps(problem, passes * one_pass(problem)))

    def at_strengths(self, problem: Problem) -> Factored:
        """H as it is, at the strengths of this problem."""
        return self._replace(factor=self.factor.with_strengths(problem.elastic_net.l2))

    def serves(self, problem: Problem, s: State) -> bool:
        """Always: it knows all coordinates."""
        return True

    def step(self, problem: Problem, s: State, share: float) -> Step:
        """To the minimiser."""
        r = -s.u - problem.elastic_net.l2 * s.x
        z = s.z if problem.offset is None else s.z - problem.offset
        step = self.factor.newton_step(r, problem.q * s.y, s.x, z)
        if step is not None:
            return *step, 0.5
        return self.factor.solve(r), None, self.factor.passes


class Restricted(NamedTuple):
    """With l1: H of the coordinates S that may come to matter, by descent."""

    inside: Mask
    """True for the coordinates S, of all that there are."""
    columns: Columns
    """The columns of S."""
    w: Array
    """The weights of the rows."""
    H: Array | None
    """H; None where sweeps read the columns."""
    h: Array
    """Its diagonal."""
    shared: list[GrowingFactor]
    """The last factor, where there is no H; one list for all points."""
    price: float
    """What a new one costs, in steps."""

    @classmethod
    def at(
        cls, problem: Problem, s: State, w: Array, known: Restricted | None
    ) -> Restricted | None:
        """H at this point, of the S before if that suffices."""
        shared = [] if known is None or known.H is not None else known.shared
        if known is not None and known.serves(problem, s):
            inside = known.inside
        else:
            inside = (s.x != 0) | (np.abs(s.u) >= CLOSE * problem.elastic_net.l1)
            for factor in shared:
                inside |= factor.place >= 0
        columns = problem.columns(np.flatnonzero(inside))
        by_gram = may_form(problem, columns)
        sweeps = columns.gram_sweeps if by_gram else 1.0
        price = _in_steps(problem, (sweeps + GATHERING) * columns.nonzeros)
        if price > DEAR:
            return None
        if by_gram:
            H = columns.gram(w)
            return cls(inside, columns, w, H, H.diagonal(), [], price)
        shared = shared or [GrowingFactor(problem.size, w)]
        return cls(inside, columns, w, None, columns.norms_sq(w), shared, price)

    def at_strengths(self, problem: Problem) -> Restricted:
        """The model itself, which asks for strengths at every step."""
        return self

    def serves(self, problem: Problem, s: State) -> bool:
        """Whether S has all that it should have by now."""
        needed = (s.x != 0) | (np.abs(s.u) >= NEEDED * problem.elastic_net.l1)
        return not (needed & ~self.inside).any()

    def step(self, problem: Problem, s: State, share: float) -> Step:
        """To the minimiser, nearly."""
        at, d = self.columns.at, np.zeros_like(s.x)
        penalty, u, x = penalty_of(problem).at(at), s.u[at], s.x[at]
        # Gains fall as the gradient's square. So does the gap, but for what has no l2.
        accuracy = share * share if problem.elastic_net.has_boxed else share
        goal = penalty.largest_gain(self.h, u, x)
        if self.H is not None:
            new, passes = GramModel(self.H, u, x, penalty).minimise(CLASSES.exact * goal)[0], 0.0
        else:
            model = ColumnModel(self.columns, self.w, problem.q * s.y, x, penalty, self.h)
            products = self._in_turns(model, accuracy * goal)
            new, passes = model.x, products * self.columns.nonzeros / problem.design.nonzeros
        d[at] = new - x
        return d, None, passes

    def _in_turns(self, model: ColumnModel, goal: float) -> float:
        """Bring the model to its minimiser; the products that it took."""
        spent = 0.0
        prepare = None if model.penalty.l2.any() else self._prepare  # l2: H is well conditioned
        for _ in range(SETS.rounds):
            before = np.sign(model.x)
            swept, worst = model.swept(SWEEPS, goal)
            spent += swept
            if worst <= goal:
                break
            settled = np.array_equal(np.sign(model.x), before)
            aim = goal if settled else max(goal, ROUGHLY * worst)
            products = model.finish(aim, prepare)[1]
            spent += products
            if products > STALE and not np.array_equal(self.shared[0].w, self.w):
                self.shared[0] = self.shared[0].anew(self.w)
            if settled:
                break
        return spent

    def _prepare(self, free: Mask) -> Inverse:
        return self.shared[0].inverse(self.columns, self.h, free)


Model = Factored | Restricted
