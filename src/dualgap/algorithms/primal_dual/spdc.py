"""Algorithm 5 without adaptation: SPDC, stochastic primal-dual coordinate.

Parameters tau, sigma, theta; start x~ = x, y, u = A'Qy. For t = 0, 1, 2, ...

    1.  pick k with probability p_k
    2.  y_k+ <- prox_{sigma phi_k*}(y_k + sigma a_k'x~)
    3.  x+   <- prox_{tau g}(x - tau (u + (q_k/p_k)(y_k+ - y_k) a_k))
    4.  u    <- u + q_k (y_k+ - y_k) a_k
    5.  x~   <- x+ + theta (x+ - x)

Line 1 is `Randomised.stream`. Lines 2-5 are `kernels.epoch`, by way of `marshalling.visited`, with
intercept and offset as parts of a_k'x~; or, ``batch`` > 1 rows at a time, `kernels.blocks`.

Steps: those of Zhang & Xiao (2015) for `spdc`, 1/(2R); Theorem 2's 1/(4R) with
``schedule="theorem"``; `opt-spdc` takes 1/R, which converges faster than any theorem covers,
watched by the monitor, which goes back to 1/(4R) where it must.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.bpd import data_strong_convexity
from dualgap.algorithms.primal_dual.marshalling import visited
from dualgap.algorithms.primal_dual.randomised import (
    Randomised,
    passes_and_check,
    randomised_start,
)
from dualgap.algorithms.primal_dual.sampling import Stream
from dualgap.algorithms.primal_dual.schedules import (
    Steps,
    df_spdc_steps,
    spdc_steps,
    zhang_xiao_steps,
)
from dualgap.algorithms.primal_dual.state import update
from dualgap.problem import Problem
from dualgap.state import State

NO_THEOREM = (
    "lambda + delta mu^2 = 0 (as far as is known): no theorem gives a linear rate; running "
    "constant steps with theta = 1. An adaptive algorithm finds the strong convexity itself."
)
BOLD = 1.0
"""Under the monitor steps are this over R."""
PROVED = 0.25
"""The theorems prove something of steps of this over R."""


def bold_factor(schedule: str | None, boldness: float) -> float:
    """The k of `SPDC.theorem_steps` under a monitor, which lowers ``boldness`` by and by."""
    return PROVED if schedule == "theorem" else max(BOLD * boldness, PROVED)


@dataclass(frozen=True)
class SPDC(Randomised):
    """SPDC of Zhang & Xiao (2015): only the regulariser's strong convexity, unless mu is given.

    Parameters
    ----------
    sampling, seed, check_every
        See `Randomised`.
    mu : float, optional
        The paper's mu = sqrt(lambda_min(A'A)), or a lower bound on it.
    schedule : "theorem", optional
        Theorem 2's steps, 1/(4R).
    batch : int
        Rows per step; a few (4 to 8) save walks over x and u on dense data.
    """

    mu: float | None = None
    schedule: str | None = None
    batch: int = 1

    name: ClassVar[str] = "spdc"
    requires: ClassVar[Needs] = Needs(
        gamma=True, dual_prox=True, compiled_loss=True, rows=True, instead="df-spdc"
    )
    dual_free: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        object.__setattr__(self, "batch", check.integer("batch", self.batch))

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """Zhang & Xiao's, or Theorem 2's."""
        lam = problem.regularizer.strong_convexity
        if self.schedule is None and Delta == 0.0 and lam > 0.0:
            least, n = self.per_block(problem, advice)
            return zhang_xiao_steps(problem.loss, Lam**0.5, n, least, lam)
        return self.theorem_steps(problem, Lam, lam, Delta, PROVED, advice)

    def theorem_steps(
        self, problem: Problem, Lam: float, lam: float, Delta: float, k: float, advice: Advice
    ) -> Steps:
        """Theorem 2's (dual-free: 4's) with k/R for 1/(4R)."""
        rule = df_spdc_steps if self.dual_free else spdc_steps
        least, n = self.per_block(problem, advice)
        return rule(problem.loss, Lam**0.5, n, least, lam, Delta, k=k)

    def per_block(self, problem: Problem, advice: Advice) -> tuple[float, float]:
        """The least probability of a row to be in a block, and the blocks of a pass."""
        least = self.batch * self.sampler(problem, advice).least
        return min(least, 1.0), problem.n / self.batch

    def visit(self, problem: Problem, s: State, stream: Stream) -> State:
        """Lines 2-5 of Algorithm 5 (or 7) for each row of the stream, or each block of rows.

        In blocks of m rows the steps are those of the theorems with n/m for n and m p for p: a pass
        has n/m iterations, and a row is in a block with probability about m p (Zhang & Xiao, 2015).
        """
        from dualgap.kernels.values import FREE, PROX

        rule = FREE if self.dual_free else PROX
        sampler = self.sampler(problem, s.own.advice)
        new = visited(problem, s, sampler, stream, rule, self.batch)
        v = new.v if self.dual_free else None
        return update(s, x=new.x, xt=new.old, y=new.y, u=new.u, v=v)

    def Delta(self, problem: Problem) -> tuple[float, list[str]]:
        """Strong convexity from the data that the steps count on, and what to say about it."""
        mu = check.strong_convexity(self.mu)
        return data_strong_convexity(problem.loss, problem.n, mu), []

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first pass."""
        Delta, notes = self.Delta(problem)
        state = randomised_start(
            self, problem, x0, y0, Delta=Delta, dual_free=self.dual_free, advice=advice
        )
        known = problem.regularizer.strong_convexity + Delta > 0
        return Start(state, notes if known else [*notes, NO_THEOREM])

    def step(self, problem: Problem, s: State) -> State:
        """A few passes and a check."""
        return passes_and_check(self, problem, s)
