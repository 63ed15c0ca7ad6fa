"""Newton on the nonzero coordinates: for l1 with several predictions a row (multinomial).

    1.  x = argmin_t  grad_f'(t - x) + (1/2)(t - x)'G(t - x) + g(t)   where G is at hand and P falls
    2.  s = sign(x_j), or minus that of grad_j where x_j = 0 and |grad_j| > l1_j; else j is left out
    3.  H_FF d = -(grad + l1 s)_F   over the coordinates F that are left, by conjugate gradients
    4.  x+ = x + t d, coordinates that change their sign set to 0; t from a line search on P
    5.  each row x_j of x+ less the c that makes g(x_j - c) smallest
    6.  or x+ = x + t d, x + d the minimiser of g and of a model with the whole of H, then line 5

G is H without its ties between classes (`_class_blocks`): line 1 is coordinate descent on one Gram
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
from typing import Any, ClassVar

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm, Start
from dualgap.algorithms.primal_dual.batch import first_state, with_dual
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.second_order import class_blocks as blocks
from dualgap.algorithms.second_order.curvature import curvature, mean_curvature, next_damping
from dualgap.algorithms.second_order.gram_descent import descend, largest_gain
from dualgap.algorithms.second_order.newton_system import AT_ONCE
from dualgap.algorithms.second_order.orthant import Orthant
from dualgap.feasible import repair_is_free
from dualgap.limits import check
from dualgap.problem import Problem
from dualgap.state import State, replace

DESCENT = 10.0
"""Passes that line 1 may cost."""


@dataclass(frozen=True)
class ProxNewton(Algorithm):
    """Newton on the nonzero coordinates, for any regulariser and loss."""

    name: ClassVar[str] = "prox-newton"
    is_second_order: ClassVar[bool] = True
    patience: ClassVar[int] = 1

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """There are none to choose."""
        return Steps(1.0, 1.0, 0.0)

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """x0 or 0, and y = phi'(z) there (y0 plays no part)."""
        x = problem.zeros() if x0 is None else x0
        # Only where D = -inf along the iterates are estimates made, which rest on Lam.
        Lam = 1.0 if repair_is_free(problem) else problem.constants.trace
        s = first_state(self, problem, x, None, Lam=Lam, Delta=0.0)
        hess = curvature(problem, s.z, s.y)
        level = mean_curvature(problem, hess)
        memory = {"hess": hess, "damping": 0.0, "level": level, "spent": 0.0, "blocks": None,
                  "bound": 1.0, "idle": 0, "pause": 0,
                  "whole": False, "blocked": 0.0}  # fmt: skip
        return Start(replace(s, memory=memory))

    def step(self, problem: Problem, s: State) -> State:
        """Lines 1 to 5, or 6."""
        if s.memory["whole"]:
            return _whole_step(problem, s)
        memory = dict(s.memory)
        price = blocks.price(problem)
        if memory["spent"] >= price or (memory["blocks"] is None and price <= AT_ONCE):
            made = blocks.class_blocks(problem, memory["hess"], memory["damping"])
            memory["blocks"], memory["spent"] = made, 0.0
        before = s = replace(s, memory=memory)
        if memory["blocks"] is not None and memory["idle"] == 0:
            s = _class_by_class(problem, s)
            memory = dict(s.memory)
        orthant = Orthant(problem, s)
        d, gain, products = orthant.newton_direction()
        t, x, z, primal, tried, first = orthant.search(d)
        if t == 0.0:
            x, z, primal, memory["bound"], more = orthant.gradient_step(memory["bound"])
            tried += more
        memory["spent"] += products
        passes = products + 0.5 * tried + 0.5
        if t < 1.0:
            memory["blocked"] += s.passes - before.passes + passes
            memory["whole"] = memory["blocked"] > blocks.whole_price(problem)
        if memory["idle"] > 0:
            memory["idle"] -= 1
        elif s is not before:
            # Line 1 against the others, by what a pass of them gains.
            ours = (before.primal - s.primal) * passes
            theirs = (s.primal - primal) * (s.passes - before.passes)
            memory["pause"] = 0 if ours >= theirs else 2 * memory["pause"] + 1
            memory["idle"] = memory["pause"]
        stretch = 1.0 if t >= first else t  # a step that ends at a zero is not for want of damping
        return _moved(problem, s, memory, x, z, primal, (gain, stretch), passes)


def _whole_step(problem: Problem, s: State) -> State:
    """Line 6; back to the others where no t will do."""
    g, memory = problem.elastic_net, dict(s.memory)
    H = blocks.whole_hessian(problem, memory["hess"], memory["damping"])
    parts = (s.u, s.x, np.broadcast_to(g.l1, s.x.shape), np.broadcast_to(g.l2, s.x.shape))
    u, start, l1, l2 = (np.ascontiguousarray(part.T).reshape(-1) for part in parts)
    goal = blocks.EXACT * largest_gain(H.diagonal(), u, start, l1, l2)
    step = descend(H, u, start, l1, l2, goal)[0] - start
    d = step.reshape(s.x.T.shape).T
    slope, least = dot(s.u, d), g.value(s.x)
    gain = least - g.value(s.x + d) - slope - 0.5 * dot(step, H @ step)
    end = problem.predict(s.x + d)
    for t in 0.5 ** np.arange(40.0):
        check()
        x, z = s.x + t * d, end if t == 1.0 else s.z + t * (end - s.z)
        primal = problem.primal(x, z)
        promised = t * slope + g.value(x) - least
        if primal <= s.primal + 1e-4 * promised + 1e-14 * abs(s.primal):
            break
    else:
        t, x, z, primal = 0.0, s.x, s.z, s.primal
        memory["whole"], memory["blocked"] = False, 0.0
    spent = blocks.whole_price(problem) + 1.0
    return _moved(problem, s, memory, x, z, primal, (gain, float(t)), spent)


def _moved(
    problem: Problem,
    s: State,
    memory: dict[str, Any],
    x: Array,
    z: Array,
    primal: float,
    model: tuple[float, float],
    passes: float,
) -> State:
    """Line 5, and what belongs to the new x; ``model`` is what H promised, and t."""
    if problem.loss.is_vector:
        x, z, primal = _centred(problem, x, z, primal)
    y = problem.loss.grad(z, problem.b)
    memory["hess"] = curvature(problem, z, y)
    memory["level"] = mean_curvature(problem, memory["hess"])
    fallen = s.primal - primal
    damping = next_damping(problem, memory["damping"], *model, fallen, memory["level"])
    memory["damping"] = damping
    new = replace(
        s, t=s.t + 1, passes=s.passes + passes, x=x, z=z, zt=z, y=y, u=problem.adjoint(y),
        primal=primal, memory=memory,
    )  # fmt: skip
    return with_dual(problem, new)


def _class_by_class(problem: Problem, s: State) -> State:
    """Line 1, with G or, if P does not fall, with more of it: 2 G is above H here."""
    g, memory, passes = problem.elastic_net, dict(s.memory), s.passes
    l1, l2 = np.broadcast_to(g.l1, s.x.shape), np.broadcast_to(g.l2, s.x.shape)
    one_pass = 2.0 * problem.design.nonzeros * len(memory["blocks"])
    for share in (1.0, 2.0, 4.0):
        model = memory["blocks"], share
        x, work = blocks.descent(*model, s.u, s.x, l1, l2, most=DESCENT * one_pass)
        z = problem.predict(x)
        primal = problem.primal(x, z)
        passes += 0.5 + work / one_pass
        if primal < s.primal:
            y = problem.loss.grad(z, problem.b)
            memory["hess"] = curvature(problem, z, y)
            memory["level"] = mean_curvature(problem, memory["hess"])
            return replace(
                s, x=x, z=z, zt=z, y=y, u=problem.adjoint(y), primal=primal, memory=memory,
                passes=passes + 0.5,
            )  # fmt: skip
    return replace(s, passes=passes)


def _centred(problem: Problem, x: Array, z: Array, primal: float) -> tuple[Array, Array, float]:
    """Line 5; z moves with x, all classes alike."""
    g = problem.elastic_net
    c = np.where((g.l1 > 0.0) | (g.l2 > 0.0), best_shifts(x, g.l1, g.l2), 0.0)
    # Also where P does not feel it, for large columns: the dual point does.
    c[np.abs(c) <= 1e-14 * np.abs(x).max(axis=1, keepdims=True)] = 0.0
    if not c.any():
        return x, z, primal
    shifted = x - c
    z = z - problem.design.matvec(c[:, 0])[:, None]
    return shifted, z, problem.primal(shifted, z)


def best_shifts(x: Array, l1: Array, l2: Array) -> Array:
    """The c, for each row of x, that minimises sum_k l1|x_k - c| + (l2/2)(x_k - c)^2; as a column.

    The slope in c, l2 (K c - sum x) + l1 (#{x_k < c} - #{x_k > c}), changes its sign at one of the
    x_k or between two neighbours of them.
    """
    K = x.shape[1]
    points = np.sort(x, axis=1)
    below = np.arange(K)
    rest = l2 * (K * points - x.sum(axis=1, keepdims=True))
    # The slope just left of the points, where `below` of them are smaller, and just right.
    rises = rest + l1 * (2 * below + 2 - K) >= 0.0
    first = rises.argmax(axis=1)[:, None]
    at = np.take_along_axis(points, first, axis=1)
    left = np.take_along_axis(rest, first, axis=1) + l1 * (2 * first - K)
    # Falling slope on the left of the point: it is the minimiser. Else the zero lies before it.
    back = np.divide(left, K * l2, out=np.zeros_like(left), where=(l2 > 0.0) & (left > 0.0))
    return np.asarray(at - back)
