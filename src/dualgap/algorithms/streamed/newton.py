"""Newton's method on data whose rows are not held.

    1.  a reading at x gives P, the gradient g and H = A' diag(q phi''(z)) A + diag(l2)
    2.  d = -H^(-1) g  by a Cholesky factorisation
    3.  x+ = x + t d:  the reading at x + d, which is line 1 of the next step, has tried it

Squared loss: one reading gives a quadratic that is P itself, and everything else is done with H.
Where phi'' is no guide it is raised as `second_order.newton` does it. With more columns than H is
formed for, systems are solved by `inexact`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.curvature import first_share, next_damping
from dualgap.algorithms.second_order.newton import Newton
from dualgap.algorithms.streamed import inexact, points
from dualgap.linalg.cholesky import cholesky
from dualgap.memory import SHARE
from dualgap.problem import Problem
from dualgap.state import State, replace
from dualgap.streamed.reading import Look, read
from dualgap.streamed.sums import Ask

LARGEST_SIDE = 2000
"""Up to this side of H a reading with H costs less than the readings that it spares."""


@dataclass(frozen=True, eq=False)
class StreamedNewtonState:
    """What a run knows besides its point."""

    gram: Array
    """The matrix A' diag(q h) A at the point, h being phi'' and what it is raised by."""
    level: float
    """The mean of h over the rows."""
    damping: float
    """The share of its bound by which phi'' is raised."""
    wrong: int = 1
    """Where nothing is penalised, the number of rows on the wrong side; else 1."""
    is_read: bool = True
    """Whether P and the gradient were found by a reading at the point, not carried there by H."""


@dataclass(frozen=True)
class StreamedNewton(Newton):
    """`Newton` by readings; it has the same options and the same name."""

    name: ClassVar[str] = "newton"

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """x0 or 0, and the sums there, which is one reading."""
        blank = points.first_state(self.name, problem, x0)
        share = first_share(problem, tuning.DAMPING.first, x0)
        if math.prod(problem.shape) > points.largest_matrix(LARGEST_SIDE, SHARE):
            return Start(inexact.start(problem, blank, share))
        return Start(self._read(problem, blank, blank.x, share))

    def estimated_gap(self, problem: Problem, s: State) -> float:
        """The gap to leading order."""
        return s.mismatch

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """Nothing: a reading gives all that there is to know."""
        return s

    def step(self, problem: Problem, s: State) -> State:
        """A Newton step, which ends with a reading."""
        if isinstance(s.own, inexact.InexactState):
            return inexact.step(problem, s, self.tol)
        own: StreamedNewtonState = s.own
        if not own.is_read:  # what H has carried along is not good enough
            return replace(
                self._read(problem, s, s.x, own.damping), t=s.t + 1, passes=s.passes + 1.0
            )
        g = gradient(problem, s)
        H = own.gram
        d = -cholesky(H, strengths(problem)).solve(g.ravel()).reshape(g.shape)
        gain = -0.5 * dot(g, d)
        if problem.loss.is_quadratic:
            new = points.carried(problem, s, d, H, own.level)[0]
            return replace(new, own=replace(own, is_read=False))
        ahead = next_damping(problem, own.damping, gain, 1.0, gain, own.level)
        end = points.searched(problem, s, d, dot(g, d), self._ask(problem, s.x, ahead))
        passes = s.passes + end.readings
        if end.t == 0.0:
            damping = next_damping(problem, own.damping, gain, 0.0, 0.0, own.level)
            new = self._read(problem, s, s.x, damping)
            return replace(new, t=s.t + 1, passes=passes + 1.0)
        new = points.at(problem, s, end.x, end.found)[0]
        damping = next_damping(problem, own.damping, gain, end.t, s.primal - new.primal, own.level)
        own = known(end.found, ahead if end.t == 1.0 else damping)
        return replace(new, t=s.t + 1, passes=passes, own=own)

    def _ask(self, problem: Problem, x: Array, damping: float) -> Ask:
        signs = points.needs_signs(problem)
        return Ask(x, signs=signs, gram=np.arange(problem.size), damping=damping)

    def _read(self, problem: Problem, s: State, x: Array, damping: float) -> State:
        found = read(problem, self._ask(problem, x, damping))
        return replace(points.at(problem, s, x, found)[0], own=known(found, damping))


def known(found: Look, damping: float) -> StreamedNewtonState:
    """What a reading says of H."""
    return StreamedNewtonState(found.gram, found.level, damping, found.wrong)


def gradient(problem: Problem, s: State) -> Array:
    """That of P."""
    return np.asarray(s.u + problem.elastic_net.l2 * s.x)


def strengths(problem: Problem) -> Array:
    """l2 of each coordinate of x, in one vector."""
    return np.broadcast_to(problem.elastic_net.l2, problem.shape).ravel()
