"""Working sets on data whose rows are not held.

    1.  a reading at x gives P, the gradient u of the mean loss in all coordinates, and the matrix
        H = A_S' diag(q phi''(z)) A_S of a set S that was chosen before
    2.  the quadratic model over S is minimised by coordinate descent, which reads no data
    3.  S <- the support, what has no l1, and the coordinates outside that gain most by moving alone
    4.  x <- x + t d:  the reading at x + d, which is line 1 of the next step, has tried it

Of few columns S is all of them. Squared loss: the model is P itself, and with H of all coordinates
nothing more is read. The exact value of a dual point that had to be scaled comes with the reading
after the one that found it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array, Places
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.curvature import first_share
from dualgap.algorithms.second_order.working_set import WorkingSet
from dualgap.algorithms.streamed import points
from dualgap.linalg.penalised import Penalty, descend
from dualgap.memory import VECTORS_SHARE
from dualgap.problem import Problem
from dualgap.regularizers import Box
from dualgap.state import State, replace
from dualgap.streamed.reading import Look, read
from dualgap.streamed.sums import Ask, Slopes

ALL_OF = 512
"""S is all coordinates if there are no more than these: their H costs less than another reading."""
FIRST = 256
"""The first set has so many coordinates at most, besides those that have no l1."""
LARGEST = 2000
"""The largest set: H takes 32 MB."""
LIKELY = 0.7
"""Coordinates at 0 whose slope is above this share of l1 are likely to be wanted next."""
EXACT = 1e-12
"""The model is minimised to this share of what its coordinates gain at first where it is P."""
LEAST = 1e-6
"""The share of its bound by which phi'' is raised is at least this."""
CLOSE = 1e-5
"""The same where it is not."""


@dataclass(frozen=True, eq=False)
class StreamedSetState:
    """What a run knows besides its point."""

    coordinates: Places
    """The set S of the matrix, ascending; empty if none was formed at this point."""
    gram: Array
    """The matrix H of the set at the point."""
    level: float
    """The mean of phi'' and what it is raised by, or its bound."""
    damping: float
    """The share of its bound by which phi'' is raised in H."""
    dual_u: Array
    """The sums A'Qy of the dual point that was found at the point."""
    is_read: bool = True
    """Whether P and the gradient were found by a reading at the point, not carried there by H."""


@dataclass(frozen=True)
class StreamedWorkingSet(WorkingSet):
    """`WorkingSet` by readings; it has the same options and the same name."""

    name: ClassVar[str] = "working-set"

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """x0 or 0, and the sums there, which is one reading."""
        blank = points.first_state(self.name, problem, x0)
        floor = tuning.DAMPING.first_floor
        share = 0.0 if problem.loss.is_quadratic else first_share(problem, floor, x0)
        some = np.arange(problem.size) if takes_all(problem) else points.NOTHING.astype(np.intp)
        return Start(_read(problem, blank, some, share))

    def estimated_gap(self, problem: Problem, s: State) -> float:
        """The gap to leading order."""
        return s.mismatch

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """Nothing: a reading gives all that there is to know."""
        return s

    def step(self, problem: Problem, s: State) -> State:
        """One set: the minimiser of its model, and a reading there."""
        own: StreamedSetState = s.own
        if not own.is_read or own.coordinates.size == 0:
            some = own.coordinates if own.coordinates.size else chosen(problem, s)
            new = _read(problem, s, some, own.damping)
            return replace(new, t=s.t + 1, passes=s.passes + 1.0)
        d = _minimised(problem, s)
        at = own.coordinates
        if problem.loss.is_quadratic and at.size == problem.size:
            new, dual = points.carried(problem, s, d, own.gram, own.level)
            return replace(new, own=replace(own, is_read=False, dual_u=dual.u))
        g = problem.regularizer
        promised = dot(s.u, d) + g.value(s.x + d) - g.value(s.x)
        following = chosen(problem, s, d)
        ask = Ask(
            s.x, signs=points.needs_signs(problem), gram=following, damping=own.damping,
            ride=_worth_a_ride(s),
        )  # fmt: skip
        end = points.searched(problem, s, d, min(promised, 0.0), ask)
        passes = s.passes + end.readings
        damping = _next_damping(problem, own.damping, end.t)
        if end.t == 0.0:
            new = _read(problem, s, at, damping)
            return replace(new, t=s.t + 1, passes=passes + 1.0)
        new, dual = points.at(problem, s, end.x, end.found, following)
        if ask.ride is not None and end.t == 1.0:
            new = _ridden(problem, s, new, end.found)
        own = StreamedSetState(following, end.found.gram, end.found.level, damping, dual.u)
        return replace(new, t=s.t + 1, passes=passes, own=own)


def _read(problem: Problem, s: State, some: Places, damping: float) -> State:
    """The state at the x of s, with the matrix of these coordinates."""
    gram = some if some.size else None
    ask = Ask(s.x, signs=points.needs_signs(problem), gram=gram, damping=damping)
    found = read(problem, ask)
    level = found.level
    if gram is None:
        level = 1.0 if problem.loss.gamma is None else 1.0 / problem.loss.gamma
    new, dual = points.at(problem, s, s.x, found, some)
    return replace(new, own=StreamedSetState(some, found.gram, level, damping, dual.u))


def _next_damping(problem: Problem, damping: float, t: float) -> float:
    """Less after a whole step, more after a shorter one; none for a quadratic."""
    if problem.loss.is_quadratic:
        return 0.0
    least = LEAST
    return min(max(damping * (0.25 if t == 1.0 else 4.0 if t > 0.0 else 16.0), least), 1.0)


def penalty_at(problem: Problem, at: Places) -> Penalty:
    """That of the coordinates at these places; of all classes, where there are several."""
    g = problem.bounded_net

    def some(values: Array) -> Array:
        whole = np.reshape(values, (problem.size, -1))[at]
        return np.ascontiguousarray(np.broadcast_to(whole, (at.size, problem.outputs or 1)).ravel())

    ends = (some(g.lower), some(g.upper)) if isinstance(g, Box) else None
    return Penalty(some(g.l1), some(g.l2), ends)


def _minimised(problem: Problem, s: State) -> Array:
    """The step to the minimiser of the model over S."""
    own: StreamedSetState = s.own
    at, H = own.coordinates, own.gram
    penalty = penalty_at(problem, at)
    x, u = s.x[at].ravel(), s.u[at].ravel()
    share = EXACT if problem.loss.is_quadratic and at.size <= ALL_OF else CLOSE
    goal = share * penalty.largest_gain(H.diagonal(), u, x)
    new, _ = descend(H, u, x, penalty, goal)
    d = np.zeros_like(s.x)
    d[at] = (new - x).reshape(d[at].shape)
    return d


def takes_all(problem: Problem) -> bool:
    """Whether S is all coordinates."""
    return math.prod(problem.shape) <= ALL_OF


def chosen(problem: Problem, s: State, d: Array | None = None) -> Places:
    """S for the reading at x + d: what is not 0 there, what has no l1, and what is likely to move.

    The gradient at x stands in for the one there, which nobody knows yet. With several predictions
    a row a coordinate is in S with all of its classes.
    """
    if takes_all(problem):
        return np.arange(problem.size)
    own: StreamedSetState = s.own
    K = problem.outputs or 1
    penalty = penalty_at(problem, np.arange(problem.size))
    norms = np.repeat(problem.column_norms, K)
    c = norms * norms * own.level
    now, u = s.x.ravel(), s.u.ravel()
    x = now if d is None else now + d.ravel()
    alone = penalty.moved_alone(c, u, now) - now
    gain = (c + penalty.l2) * alone * alone
    kept = ((x != 0.0) | (penalty.l1 == 0.0)).reshape(-1, K).any(axis=1)
    likely = (np.abs(u) >= LIKELY * penalty.l1).reshape(-1, K).any(axis=1)
    gain = gain.reshape(-1, K).max(axis=1)
    order = np.argsort(np.where(kept, np.inf, np.where(likely, gain + 1e-300, -1.0)))[::-1]
    support, largest = int(kept.sum()), max(1, points.largest_matrix(LARGEST, VECTORS_SHARE) // K)
    most = min(max(FIRST // K, 2 * support), support + int((likely & ~kept).sum()), largest)
    return np.sort(order[: max(most, min(support, largest), 1)])


def _worth_a_ride(s: State) -> Slopes | None:
    """The dual point of s, if it was scaled and so its exact value is better than what is known."""
    slopes = cast(Slopes, s.y)
    return slopes if (slopes.factors < 1.0 - 1e-9).any() else None


def _ridden(problem: Problem, before: State, new: State, found: Look) -> State:
    """The dual point before with its exact value, where that says more than the new one."""
    own: StreamedSetState = before.own
    dual = -found.conj - problem.regularizer.conj(-own.dual_u)
    return replace(new, y=before.y, dual=dual) if dual > new.dual else new
