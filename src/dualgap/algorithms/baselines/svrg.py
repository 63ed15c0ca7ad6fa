"""SVRG (Johnson & Zhang 2013), proximal (Xiao & Zhang 2014): a randomised baseline.

Lc = R^2/gamma, tau = 0.1/Lc, N = 2n (``check_every`` passes). For each outer loop, from the
snapshot x:

    1.  y <- phi'(A x),  u <- A'Qy                              the full gradient
    2.  w <- x;  N times: pick k with probability p_k,
            w <- prox_{tau g}(w - tau (u + (q_k/p_k)(phi_k'(a_k'w) - y_k) a_k))
    3.  x <- w

An outer loop is three passes: line 1 stores the snapshot's y, so line 2 visits each drawn row
once. Line 1 gives z = A x as well, hence P(x), and y is a dual point: the check is free. Line 3
takes the last iterate, Johnson & Zhang's practical choice (their Option I); Xiao & Zhang's theorem
is about the average of the iterates. Step and period are those of Xiao & Zhang's experiments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.primal_dual.family import with_dual
from dualgap.algorithms.primal_dual.marshalling import visited
from dualgap.algorithms.primal_dual.randomised import Randomised, randomised_start
from dualgap.algorithms.primal_dual.sampling import Stream
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.state import update
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True)
class Snapshots(Randomised):
    """Base of the methods with an inner loop between two full gradients.

    Parameters
    ----------
    sampling, seed
        See `Randomised`.
    check_every : int
        Passes of an inner loop, N/n.
    """

    @property
    def passes_per_step(self) -> float:
        """Passes of an inner loop, and the one of the full gradient."""
        return self.check_every + 1.0

    def stream(self, problem: Problem, s: State) -> Stream:
        """The rows of one inner loop; every loop so far had one pass for its gradient."""
        return super().stream(problem, replace(s, passes=s.passes - s.t))

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first outer loop: y = phi'(A x0), so y0 plays no part."""
        x = problem.zeros() if x0 is None else x0
        return Start(
            randomised_start(self, problem, x, None, Delta=0.0, dual_free=False, advice=advice)
        )

    def step(self, problem: Problem, s: State) -> State:
        """One outer loop: lines 2 and 3; then line 1 of the next, which gives P(x) and D(y)."""
        stream = self.stream(problem, s)
        problem.design.ledger.rows += stream.size
        s = self.visit(problem, s, stream)
        z, y, u = problem.slope_at(s.x)
        new = update(
            s, t=s.t + 1, passes=s.passes + self.passes_per_step, z=z, zt=z, y=y,
            u=u, primal=problem.primal(s.x, z),
        )  # fmt: skip
        return with_dual(problem, new)


@dataclass(frozen=True)
class SVRG(Snapshots):
    """Proximal SVRG with step 0.1/Lc; parameters as in `Snapshots`."""

    name: ClassVar[str] = "svrg"

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """tau = 0.1/Lc; there is no dual step and no extrapolation."""
        return Steps(0.1 * problem.loss.known_gamma / Lam, math.nan, 0.0)

    def visit(self, problem: Problem, s: State, stream: Stream) -> State:
        """Lines 2 and 3 over the stream."""
        from dualgap.kernels.values import SNAPSHOT

        sampler = self.sampler(problem, s.own.advice)
        return replace(s, x=visited(problem, s, sampler, stream, SNAPSHOT).x)
