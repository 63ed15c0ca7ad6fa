"""A state at a point whose sums are known, and the search along a step that a reading has tried."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array, Places
from dualgap.algorithms.points import first_x
from dualgap.memory import current
from dualgap.problem import Problem
from dualgap.state import State, replace
from dualgap.streamed.gap import Dual, dual_at, gap_is_known
from dualgap.streamed.reading import Look, read
from dualgap.streamed.states import unread
from dualgap.streamed.sums import Ask, Slopes

LENGTHS = (0.5, 0.25, 0.0625, 0.015625, 1e-3)
"""The lengths of a step that are tried beside the whole one, in the same reading."""
DECREASE = 1e-4
"""A step is long enough if P falls by this share of what its slope promises (Armijo)."""
ROUNDING = 1e-14
"""A P that rises by no more than this share of itself counts as one that has not risen."""

MATRICES = 8
"""So many matrices of the side of H are alive at once while partitions are summed."""
ALWAYS_FORMED = 512
"""A matrix of this side is formed however little memory there is: it takes 2 MB."""
MARGIN = 1.1
"""Gaps that are not known but to leading order are taken for so many times as large."""

NOTHING = np.empty(0)


class Step(NamedTuple):
    """The end of a step."""

    t: float
    """Its length; 0 if P rises everywhere."""
    x: Array
    found: Look
    readings: int


def largest_matrix(side: int, share: int) -> int:
    """The side of the largest matrix H that is formed: this, or what memory has room for.

    Parameters
    ----------
    side : int
    share : int
        All matrices that are alive at once may take one part of so many of the memory.
    """
    room = current().limit / (8.0 * MATRICES * share)
    return max(ALWAYS_FORMED, min(side, int(math.sqrt(min(room, float(side) ** 2)))))


def needs_signs(problem: Problem) -> bool:
    """Whether dual points are made feasible by the sign, or the class, of a row."""
    return problem.free_intercept_only and not problem.loss.is_quadratic


def first_state(name: str, problem: Problem, x0: Array | None) -> State:
    """The state at x0, or where nothing is known, before any reading."""
    return unread(name, problem, first_x(problem) if x0 is None else x0)


def at(
    problem: Problem, s: State, x: Array, found: Look, places: Places | None = None
) -> tuple[State, Dual]:
    """The state at x with its P and dual point; what is the algorithm's own is left to it."""
    primal = found.mean_loss + problem.regularizer.value(x)
    dual = dual_at(problem, x, found, places)
    new = replace(s, x=x, u=found.u, primal=primal, y=as_dual(dual.slopes))
    if gap_is_known(problem):
        return replace(new, dual=primal - dual.gap), dual
    return replace(new, mismatch=MARGIN * dual.gap, residual=0.0), dual


def as_dual(slopes: Slopes) -> Array:
    """What stands for y in a state."""
    return cast(Array, slopes)


def carried(problem: Problem, s: State, d: Array, gram: Array, level: float) -> tuple[State, Dual]:
    """The state at x + d where P is a quadratic, the matrix of which is known: nothing is read."""
    Hd = (gram @ d.ravel()).reshape(d.shape)
    loss = s.primal - problem.regularizer.value(s.x)
    there = max(loss + dot(s.u + 0.5 * Hd, d), 0.0)
    found = Look(mean_loss=there, u=s.u + Hd, parts=np.zeros_like(d), gram=gram, level=level)
    new, dual = at(problem, s, s.x + d, found)
    # Products with H count as half a pass, for a step that takes none would never end.
    return replace(new, t=s.t + 1, passes=s.passes + 0.5), dual


def searched(problem: Problem, s: State, d: Array, promised: float, ask: Ask) -> Step:
    """x + t d, with the sums there: the whole step if P falls, else the best that was tried.

    Parameters
    ----------
    problem : Problem
    s : State
    d : array
        The step from ``s.x``.
    promised : float
        The change of P, below 0, to first order.
    ask : Ask
        What is wanted at its end.
    """
    g = problem.regularizer
    x = s.x + d
    back = tuple(t - 1.0 for t in LENGTHS)
    found = read(problem, ask._replace(x=x, step=d, lengths=back))

    def falls(t: float, value: float) -> bool:
        return value <= s.primal + DECREASE * t * promised + ROUNDING * abs(s.primal)

    if falls(1.0, found.mean_loss + g.value(x)):
        return Step(1.0, x, found, 1)
    values = [v + g.value(s.x + t * d) for t, v in zip(LENGTHS, found.trials, strict=True)]
    best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    t = LENGTHS[best]
    if not falls(t, values[best]):
        return Step(0.0, s.x, found, 1)
    x = s.x + t * d
    return Step(t, x, read(problem, ask._replace(x=x, step=None, ride=None)), 2)
