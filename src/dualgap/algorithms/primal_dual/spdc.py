"""Algorithm 5 without adaptation: SPDC, stochastic primal-dual coordinate.

Parameters tau, sigma, theta; start x~ = x, y, u = A'Qy. For t = 0, 1, 2, ...

    1.  pick k with probability p_k
    2.  y_k+ <- prox_{sigma phi_k*}(y_k + sigma a_k'x~)
    3.  x+   <- prox_{tau g}(x - tau (u + (q_k/p_k)(y_k+ - y_k) a_k))
    4.  u    <- u + q_k (y_k+ - y_k) a_k
    5.  x~   <- x+ + theta (x+ - x)

The loop is `kernels.spdc`. Steps: those of Zhang & Xiao (2015) for `spdc`, 1/(2R); Theorem 2's
1/(4R) with ``schedule="theorem"``; `opt-spdc` takes 1/R, which converges faster than any theorem
covers, watched by the monitor, which goes back to 1/(4R) where it must.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.bpd import data_strong_convexity
from dualgap.algorithms.primal_dual.minibatch import visit_blocks
from dualgap.algorithms.primal_dual.randomised import (
    Randomised,
    distinct_rows,
    passes_and_check,
    power_tables,
    randomised_start,
    sparse_lines,
)
from dualgap.algorithms.primal_dual.sampling import Rows
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


def visit_rows(algorithm: SPDC, problem: Problem, s: State, stream: Rows) -> State:
    """Lines 2-5 of Algorithm 5 (or 7) for each row of the stream."""
    from dualgap.kernels.spdc import spdc_csr, spdc_dense

    sampler, dual_free = algorithm.sampler(problem, s.own.advice), algorithm.dual_free
    tau, theta = s.own.steps.tau, s.own.steps.theta
    assert s.own.xt is not None
    x, old, u, y = s.x.copy(), s.own.xt.copy(), s.u.copy(), s.y.copy()
    v = s.own.v.copy() if s.own.v is not None else np.zeros(0)
    offset = np.zeros(problem.n) if problem.offset is None else problem.offset
    g = problem.elastic_net
    loss = problem.loss
    rows = problem.design.rows()
    if rows.dense is not None:
        shrink = 1.0 / (1.0 + tau * g.l2)
        spdc_dense(
            rows.dense, rows.constant, problem.b, offset, stream, problem.q, sampler.ratio,
            s.own.steps.sigma, x, old, u, y, v, tau, theta, g.l1, g.l2, g.has_l1, shrink,
            loss.code, loss.parameter, dual_free,
        )  # fmt: skip
    else:
        lines = sparse_lines(problem.d, x, old, u)
        l1, l2 = np.zeros(problem.d + 1), np.zeros(problem.d + 1)
        l1[: g.l1.size], l2[: g.l2.size] = g.l1, g.l2
        C, H = power_tables(tau, g.l2[: problem.d], stream.size)
        few = distinct_rows(problem, sampler)
        spdc_csr(
            rows.data, rows.indices, rows.indptr, rows.constant, problem.b, offset[:few], stream,
            problem.q[:few], sampler.ratio[:few], s.own.steps.sigma, lines, y, v, tau, theta,
            l1, l2, C, H,
            loss.code, loss.parameter, dual_free,
        )  # fmt: skip
        x, old, u = (np.ascontiguousarray(lines[: problem.size, k]) for k in range(3))
    return update(s, x=x, xt=old, y=y, u=u, v=v if dual_free else None)


def visit_vectors(algorithm: Randomised, problem: Problem, s: State, stream: Rows) -> State:
    """Dual-free, for a loss of several predictions per row; SAGA where there is no v."""
    from dualgap.kernels.multinomial import multinomial_csr, multinomial_dense

    assert problem.outputs is not None and s.own.xt is not None
    sampler = algorithm.sampler(problem, s.own.advice)
    tau, theta = s.own.steps.tau, s.own.steps.theta
    sigma = math.inf if s.own.v is None else s.own.steps.sigma
    y, v = s.y.copy(), np.zeros_like(s.y) if s.own.v is None else s.own.v.copy()
    K, d = problem.outputs, problem.d
    offset = np.zeros((0, K)) if problem.offset is None else problem.offset
    work = np.zeros((3, K))
    g = problem.elastic_net
    l1, l2 = np.zeros(d + 1), np.zeros(d + 1)
    l1[: problem.size], l2[: problem.size] = g.l1[:, 0], g.l2[:, 0]
    rows = problem.design.rows()
    if rows.dense is not None:
        # One line per class, so that the loops run along a row of the data.
        x, old, u = (np.array(values.T, order="C") for values in (s.x, s.own.xt, s.u))
        multinomial_dense(
            rows.dense, rows.constant, problem.b, offset, stream, problem.q, sampler.ratio, sigma,
            x, old, u, y, v, tau, theta, l1, g.has_l1, 1.0 / (1.0 + tau * l2), work,
        )  # fmt: skip
        x, old, u = (np.ascontiguousarray(values.T) for values in (x, old, u))
    else:
        lines = np.zeros((d + 1, 3, K))
        for place, values in enumerate((s.x, s.own.xt, s.u)):
            lines[: problem.size, place] = values
        last = np.zeros(d + 1, dtype=np.int64)
        C, H = power_tables(tau, l2[:d], stream.size)
        multinomial_csr(
            rows.data, rows.indices, rows.indptr, rows.constant, problem.b, offset, stream,
            problem.q, sampler.ratio, sigma, lines, last, y, v, tau, theta, l1, l2, C, H, work,
        )  # fmt: skip
        x, old, u = (np.ascontiguousarray(lines[: problem.size, k]) for k in range(3))
    return update(s, x=x, xt=old, y=y, u=u, v=None if s.own.v is None else v)


@dataclass(frozen=True)
class SPDC(Randomised):
    """SPDC of Zhang & Xiao (2015): only the regulariser's strong convexity, unless mu is given.

    Parameters
    ----------
    sampling, seed
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

    def visit(self, problem: Problem, s: State, stream: Rows) -> State:
        """The state after the rows of the stream, by the kernel for this loss and these blocks."""
        if problem.outputs is not None:
            return visit_vectors(self, problem, s, stream)
        visit = visit_rows if self.batch == 1 else visit_blocks
        return visit(self, problem, s, stream)

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
