"""Newton on the nonzero coordinates: for l1 with several predictions a row (multinomial).

    1.  x = argmin_t  grad_f'(t - x) + (1/2)(t - x)'G(t - x) + g(t)   where G is at hand and P falls
    2.  s = sign(x_j), or minus that of grad_j where x_j = 0 and |grad_j| > l1_j; else j is left out
    3.  H_FF d = -(grad + l1 s)_F   over the coordinates F that are left, by conjugate gradients
    4.  x+ = x + t d, coordinates that change their sign set to 0; t from a line search on P
    5.  each row x_j of x+ less the c that makes g(x_j - c) smallest
    6.  or x+ = x + t d, x + d the minimiser of g and of a model with the whole of H, then line 5

G is H without its ties between classes (`class_blocks`): line 1 is coordinate descent on one Gram
matrix for each class. It finds the signs in a few steps, and line 3, for which G is the
preconditioner, knows the ties. Before G has been worth its price the preconditioner is the diagonal
of H, and coordinates enter a few at a time.

On the orthant of s the objective is smooth, so these are Newton's steps there, and the projection
of line 4 is how coordinates leave (Schmidt, 2010, on projected scaled subgradients), or, where that
spoils the step, the first one to reach 0 is where it ends. Line 5: the loss does not change if all
classes move together, so only g can say where, and it says so in closed form; without it H_FF is
singular. Once the support is found the convergence is that of Newton.

Where columns are nearly collinear line 3 goes far, through many zeros, and line 4 is held up by
them. Once such steps have cost as many passes as H does, line 6 takes their place if H is not too
large: coordinate descent and factorisations on the support know what to do at a zero.

phi'' is raised by a share of its bound where full steps overshoot, as in `newton`. Where no step
will do, a proximal gradient step in the metric of the diagonal of H is taken instead: that one
always gets somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.points import with_dual
from dualgap.algorithms.second_order import class_blocks as blocks
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.base import SecondOrder, first_state
from dualgap.algorithms.second_order.curvature import (
    curvature,
    first_share,
    least_curvature,
    mean_curvature,
    next_damping,
)
from dualgap.algorithms.second_order.orthant_step import End, OrthantStep
from dualgap.algorithms.second_order.set_models import GramModel
from dualgap.limits import current, one_pass
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls
from dualgap.linalg.penalised import Penalty
from dualgap.problem import Problem
from dualgap.regularizers.shifts import best_shifts
from dualgap.state import State, replace


@dataclass(frozen=True, eq=False)
class ProxNewtonState:
    """What a run knows besides its point. "Lines" are those at the head of this file."""

    mean_hess: float
    """The mean of phi'' over the rows, of its diagonal where it is a matrix."""
    damping: float = 0.0
    """The share m of the bound 1/gamma by which phi'' is raised in H and in G."""
    blocks: Array | None = None
    """G, one Gram matrix for each class, of shape (K, d, d); None if it was not formed yet."""
    products: float = 0.0
    """The number of products with H since G was formed, or since the start.

    G is formed, and formed anew, once they have cost as many passes as that takes.
    """
    majoriser: float = 1.0
    """The factor on the diagonal of H in the last proximal gradient step.

    The next one tries half of it first.
    """
    passes_held_up: float = 0.0
    """The passes that went into steps which line 4 had to shorten; 0 again where line 6 fails.

    Line 6 takes the place of the others once this is more than `class_blocks.whole_price`.
    """


@dataclass(frozen=True)
class ProxNewton(SecondOrder):
    """Newton on the nonzero coordinates, for any regulariser and loss."""

    name: ClassVar[str] = "prox-newton"

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """x0 or 0, and y = phi'(z) there (y0 plays no part)."""
        s = first_state(self.name, problem, x0)
        mean, damping = mean_curvature(problem, s.z, s.y), first_share(problem, 0.0, x0)
        return Start(replace(s, own=ProxNewtonState(mean, damping)))

    def step(self, problem: Problem, s: State) -> State:
        """Lines 1 to 5, or 6."""
        if s.own.passes_held_up > blocks.whole_price(problem):
            return _whole_step(problem, s)
        began, s = s.passes, _with_blocks(problem, s)
        if s.own.blocks is not None:
            s = _class_by_class(problem, s)  # line 1
        own: ProxNewtonState = s.own
        orthant = OrthantStep(problem, s)  # line 2
        _, products = orthant.minimise(tuning.SYSTEMS.solved)  # line 3
        t, end, tried = orthant.search()  # line 4
        majoriser = own.majoriser
        if t == 0.0:
            end, majoriser, more = orthant.gradient_step(majoriser)
            tried += more
        passes = s.passes + products * orthant.sweep + 0.5 * tried + 0.5
        own = replace(
            own, products=own.products + products, majoriser=majoriser,
            passes_held_up=own.passes_held_up + (passes - began if t < 1.0 else 0.0),
        )  # fmt: skip
        t = 1.0 if t >= orthant.first_zero else t  # a step that ends at a zero is not too long
        return _state_at(problem, replace(s, own=own, passes=passes), end, orthant.gain, t)


def _with_blocks(problem: Problem, s: State) -> State:
    """With another G, once products with H have cost as much as it does."""
    own, price = s.own, blocks.price(problem)
    if own.products < price and (own.blocks is not None or price > tuning.SYSTEMS.at_once):
        return s
    least = least_curvature(problem, own.damping, s.z, s.y)
    G = blocks.class_blocks(problem, curvature(problem, s.z, s.y), least)
    return replace(s, own=replace(own, blocks=G, products=0.0))


def _whole_step(problem: Problem, s: State) -> State:
    """Line 6; back to the others where no t will do."""
    g, own = problem.elastic_net, s.own
    least = least_curvature(problem, own.damping, s.z, s.y)
    H = blocks.whole_hessian(problem, curvature(problem, s.z, s.y), least)
    parts = (s.u, s.x, np.broadcast_to(g.l1, s.x.shape), np.broadcast_to(g.l2, s.x.shape))
    u, start, l1, l2 = (np.ascontiguousarray(part.T).reshape(-1) for part in parts)
    model = GramModel(H, u, start, Penalty(l1, l2))
    step = model.minimiser(tuning.CLASSES.exact) - start
    d = step.reshape(s.x.T.shape).T
    slope, before = dot(s.u, d), g.value(s.x)
    gain = before - g.value(s.x + d) - slope - 0.5 * dot(step, model.product(step))
    far = problem.predict(s.x + d)

    def look(t: float) -> Trial:
        x, z = s.x + t * d, far if t == 1.0 else s.z + t * (far - s.z)
        end = End(x, z, problem.primal(x, z))
        return Trial(end.primal, t * slope + g.value(x) - before, end)

    s = replace(s, passes=s.passes + blocks.whole_price(problem) + 1.0)
    found = first_that_falls(look, HALVINGS, s.primal)
    if found is not None:
        return _state_at(problem, s, found[1].point, gain, found[0])
    s = replace(s, own=replace(own, passes_held_up=0.0))
    return _state_at(problem, s, End(s.x, s.z, s.primal), gain, 0.0)


def _state_at(problem: Problem, s: State, end: End, gain: float, t: float) -> State:
    """Line 5, and what belongs to the new x, after a step t by which H promised this gain."""
    if problem.loss.is_vector:
        end = _centred(problem, end)
    before, s = s.primal, _evaluated(problem, replace(s, t=s.t + 1), end)
    own = s.own
    damping = next_damping(problem, own.damping, gain, t, before - s.primal, own.mean_hess)
    return with_dual(problem, replace(s, own=replace(own, damping=damping)))


def _evaluated(problem: Problem, s: State, end: End) -> State:
    """phi' and the mean of phi'' at the new x, and u."""
    x, z, primal = end
    y = problem.slopes(z)
    own = replace(s.own, mean_hess=mean_curvature(problem, z, y))
    return replace(s, x=x, z=z, y=y, u=problem.adjoint(y), primal=primal, own=own)


def _class_by_class(problem: Problem, s: State) -> State:
    """Line 1, with G or, if P does not fall, with more of it: 2 G is above H here."""
    g, passes = problem.elastic_net, s.passes
    l1, l2 = np.broadcast_to(g.l1, s.x.shape), np.broadcast_to(g.l2, s.x.shape)
    current().ends(one_pass(problem))  # which line 3 cannot have any more
    for share in (1.0, 2.0, 4.0):
        x = blocks.descent(s.own.blocks, share, s.u, s.x, l1, l2)
        z = problem.predict(x)
        end, passes = End(x, z, problem.primal(x, z)), passes + 0.5
        if end.primal < s.primal:
            return _evaluated(problem, replace(s, passes=passes + 0.5), end)
    return replace(s, passes=passes)


def _centred(problem: Problem, end: End) -> End:
    """Line 5; z moves with x, all classes alike."""
    g, x = problem.elastic_net, end.x
    c = np.where((g.l1 > 0.0) | (g.l2 > 0.0), best_shifts(x, g.l1, g.l2), 0.0)
    # Also where P does not feel it, for large columns: the dual point does.
    c[np.abs(c) <= 1e-14 * np.abs(x).max(axis=1, keepdims=True)] = 0.0
    if not c.any():
        return end
    x, z = x - c, end.z - problem.design.matvec(c[:, 0])[:, None]
    return End(x, z, problem.primal(x, z))
