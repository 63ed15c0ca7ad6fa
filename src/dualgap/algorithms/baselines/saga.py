"""SAGA (Defazio, Bach & Lacoste-Julien 2014), proximal: a randomised baseline.

y_i is phi_i' at the margin of row i when it was last visited; u = A'Qy. Lc = R^2/gamma,
tau = 1/(3 Lc). For t = 0, 1, 2, ...

    1.  pick k with probability p_k
    2.  y_k+ <- phi_k'(a_k'x)
    3.  x+   <- prox_{tau g}(x - tau (u + (q_k/p_k)(y_k+ - y_k) a_k))
    4.  u    <- u + q_k (y_k+ - y_k) a_k

The table of gradients that SAGA keeps is y, a dual point: D(y) comes for free. It is Algorithm 7
with sigma = infinity and theta = 0. R^2 = max |a_i|^2 q_i/p_i bounds the row functions
(q_i/p_i) phi_i, whose mean under p is the data term, so the step holds for any weights and
probabilities. It asks for no strong convexity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.primal_dual.marshalling import visited
from dualgap.algorithms.primal_dual.randomised import (
    Randomised,
    passes_and_check,
    randomised_start,
)
from dualgap.algorithms.primal_dual.sampling import Stream
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True)
class SAGA(Randomised):
    """Proximal SAGA with step 1/(3 Lc).

    Parameters
    ----------
    sampling, seed, check_every
        See `Randomised`.
    """

    name: ClassVar[str] = "saga"

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """tau = 1/(3 Lc); there is no dual step and no extrapolation."""
        return Steps(problem.loss.known_gamma / (3.0 * Lam), math.nan, 0.0)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first pass; the table may start from any y0."""
        return Start(
            randomised_start(self, problem, x0, y0, Delta=0.0, dual_free=False, advice=advice)
        )

    def step(self, problem: Problem, s: State) -> State:
        """A few passes and a check."""
        return passes_and_check(self, problem, s)

    def visit(self, problem: Problem, s: State, stream: Stream) -> State:
        """Lines 2-4 for each row of the stream."""
        from dualgap.kernels.values import SLOPE

        new = visited(problem, s, self.sampler(problem, s.own.advice), stream, SLOPE)
        return replace(s, x=new.x, y=new.y, u=new.u)
