"""Newton steps of many columns, on data whose rows are not held: each product with H is a reading.

    1.  a reading at x gives P, the gradient g and the diagonal of H
    2.  d ~ -H^(-1) g  by preconditioned conjugate gradients (`systems`)
    3.  x+ = x + t d:  the reading at x + d, which is line 1 of the next system, has tried it

Squared loss: one system is all there is, and x moves with the conjugate gradients. Their residuals
go up and down; a mix of the points so far whose residual, in the norm of 1/l2, is least makes the
dual point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.second_order.curvature import next_damping
from dualgap.algorithms.streamed import points, systems
from dualgap.algorithms.streamed.systems import (
    KINDS,
    Candidate,
    Curvature,
    Goal,
    Kind,
    SystemState,
    goal_of,
)
from dualgap.limits import current
from dualgap.problem import Problem
from dualgap.state import State, replace
from dualgap.streamed.gap import dual_at
from dualgap.streamed.reading import Look, read
from dualgap.streamed.sums import Ask

CHUNK = 10
"""Readings that one step of the driver makes at most; between steps it can stop."""
EASY = 3
"""A system that is solved by so few products says nothing of preconditioners."""
SMOOTH_FROM = 100.0
"""Points are mixed once what is left is within this factor of the goal."""


class Mix(NamedTuple):
    """A mix of the points so far, whose coefficients add up to 1."""

    x: Array
    left: Array
    """What is left of the system there, -g - H d."""


@dataclass(frozen=True, eq=False)
class InexactState:
    """What a run knows besides its point."""

    gradient: Array
    """The gradient of P at the point at which the system is set up."""
    curvature: Curvature
    """What is known of H there."""
    level: float
    """The mean of h, phi'' and what it is raised by, over the rows."""
    damping: float
    """The share of its bound by which phi'' is raised."""
    primal: float
    """P at the point at which the system is set up."""
    wrong: int = 1
    """Where nothing is penalised, the number of rows on the wrong side; else 1."""
    kinds: tuple[Kind, ...] = KINDS
    """The preconditioners that are tried; the one that has won, in the end."""
    system: SystemState | None = None
    """The system that is being solved; None if the next step sets one up."""
    mix: Mix | None = None
    """Squared loss: what the dual point is made of; None: of x itself."""
    solved: bool = False
    """Squared loss: whether the system was solved, so that another one begins with a reading."""


def start(problem: Problem, s: State, damping: float) -> State:
    """The state at the x of s, which is one reading."""
    ask = Ask(s.x, signs=points.needs_signs(problem), diagonal=True, damping=damping)
    found = read(problem, ask._replace(border=_has_border(problem)))
    return _at(problem, s, s.x, found, damping)


def _has_border(problem: Problem) -> bool:
    return problem.fit_intercept and problem.outputs is None


def _at(problem: Problem, s: State, x: Array, found: Look, damping: float) -> State:
    """The state at x, where another system is set up."""
    new = points.at(problem, s, x, found)[0]
    l2 = np.broadcast_to(problem.elastic_net.l2, problem.shape)
    diagonal = found.diagonal + l2
    border = found.border if _has_border(problem) and found.border[-1] > 0.0 else None
    own = InexactState(
        np.asarray(new.u + l2 * x), Curvature(np.where(diagonal > 0.0, diagonal, 1.0), border),
        found.level, damping, new.primal, found.wrong,
    )  # fmt: skip
    if isinstance(s.own, InexactState):
        own = replace(own, kinds=s.own.kinds)
    return replace(new, own=own)


def step(problem: Problem, s: State, tol: float) -> State:
    """Some products with H; when the system is solved (squared loss: at once), a move."""
    own: InexactState = s.own
    if own.solved:  # what the recurrences carry drifts: go on from what the data say
        s = replace(start(problem, s, own.damping), passes=s.passes + 1.0)
        own = s.own
    goal = goal_of(problem, tol, s.primal)
    system = own.system
    if system is None:
        system = systems.begun(s.x, own.gradient, own.curvature, own.kinds)
    l2 = np.broadcast_to(problem.elastic_net.l2, problem.shape)
    won: Candidate | None = None
    made, most = 0, min(CHUNK, max(1.0, s.budget - s.passes - 1.0))
    mix = own.mix
    while won is None and system.candidates and made < most:
        if made and current().time_is_up:
            break
        directions = tuple(c.run.p for c in system.candidates if c.run.p is not None)
        found = read(
            problem, Ask(system.base, slopes=False, products=directions, damping=own.damping)
        )
        made += 1
        system, won = systems.advanced(system, found.products, l2, goal)
        if problem.loss.is_quadratic and system.candidates:
            mix = _mixed(mix, won or systems.best(system), system.base, goal)
            if mix is not None and _left(goal, mix.left) <= goal.slack * goal.target:
                won = won or systems.best(system)
    s = replace(s, t=s.t + 1, passes=s.passes + made, own=replace(own, system=system, mix=mix))
    if problem.loss.is_quadratic:
        return _moved_along(problem, s, system, won, mix)
    return s if won is None else _move(problem, s, won)


def _left(goal: Goal, r: Array) -> float:
    """What a residual makes of the gap: |r|^2/(2 l2); infinite where something has no l2."""
    return 0.5 * dot(goal.inverse * r, r) if goal.inverse.all() else np.inf


def _mixed(mix: Mix | None, candidate: Candidate, base: Array, goal: Goal) -> Mix | None:
    """The best point on the line from the mix before to the newest one."""
    run = candidate.run
    x, r = base + run.d, run.r.copy()
    if mix is None:
        near = _left(goal, r) <= SMOOTH_FROM * goal.slack * goal.target
        return Mix(x, r) if near else None
    way = r - mix.left
    length = dot(goal.inverse * way, way)
    share = -dot(goal.inverse * mix.left, way) / length if length > 0.0 else 1.0
    share = min(max(share, 0.0), 1.0)
    return Mix(mix.x + share * (x - mix.x), mix.left + share * way)


def _winner(own: InexactState, won: Candidate) -> tuple[Kind, ...]:
    """The preconditioners for the next system."""
    return own.kinds if won.run.count <= EASY else (won.kind,)


def _moved_along(
    problem: Problem, s: State, system: SystemState, won: Candidate | None, mix: Mix | None
) -> State:
    """Squared loss: x + d for the d at hand, for the model is P itself."""
    own: InexactState = s.own
    now = won or systems.best(system)
    x, l2 = system.base + now.run.d, np.broadcast_to(problem.elastic_net.l2, problem.shape)
    primal = own.primal - now.run.gain
    point, left = (x, now.run.r) if mix is None else mix
    # Of the dual point at the mix the gap with x itself is asked for: D there, and P here.
    u = -(l2 * point + left)
    value = primal + _rise(point - x, now.run.r, left)
    there = Look(max(value - problem.regularizer.value(point), 0.0), u)
    dual = value - dual_at(problem, point, there).gap
    new = points.at(problem, s, x, Look(max(primal - problem.regularizer.value(x), 0.0), u))[0]
    slopes = dual_at(problem, point, there).slopes
    new = replace(new, primal=primal, dual=dual, y=points.as_dual(slopes), u=u)
    own = replace(own, solved=won is not None, kinds=_winner(own, won) if won else own.kinds)
    return replace(new, own=replace(own, system=None, mix=None) if won else own)


def _rise(step: Array, before: Array, after: Array) -> float:
    """P at the end of a step less P at its beginning, from the residuals -grad P at both."""
    return -0.5 * dot(step, before + after)


def _move(problem: Problem, s: State, won: Candidate) -> State:
    """Line 3."""
    own: InexactState = s.own
    d, gain = won.run.d, won.run.gain
    kinds = _winner(own, won)
    s = replace(s, own=replace(own, kinds=kinds, system=None))
    if not (gain > 0.0 and systems.is_finite(d)):
        damping = next_damping(problem, own.damping, gain, 0.0, 0.0, own.level)
        return replace(start(problem, s, damping), passes=s.passes + 1.0)
    ahead = next_damping(problem, own.damping, gain, 1.0, gain, own.level)
    ask = Ask(
        s.x, signs=points.needs_signs(problem), diagonal=True, border=_has_border(problem),
        damping=ahead,
    )  # fmt: skip
    end = points.searched(problem, s, d, dot(own.gradient, d), ask)
    s = replace(s, passes=s.passes + end.readings)
    fallen = s.primal - (end.found.mean_loss + problem.regularizer.value(end.x))
    damping = next_damping(problem, own.damping, gain, end.t, fallen, own.level)
    if end.t == 0.0:
        return replace(start(problem, s, damping), passes=s.passes + 1.0)
    return _at(problem, s, end.x, end.found, ahead if end.t == 1.0 else damping)
