"""Katyusha (Allen-Zhu 2017), with Option II: the accelerated randomised baseline.

The paper's x, y, z are xi, eta, zeta here, all primal points; x is its snapshot x~.
Lc = R^2/gamma, N = 2n (``check_every`` passes), tau2 = 1/2, tau1 = min(sqrt(N lambda/(3 Lc)), 1/2),
alpha = 1/(3 tau1 Lc). Start zeta = eta = x. For each outer loop, from the snapshot x:

    1.  y <- phi'(A x),  u <- A'Qy                              the full gradient
    2.  for j = 0, ..., N - 1: pick k with probability p_k,
            xi   <- tau1 zeta + tau2 x + (1 - tau1 - tau2) eta
            zeta <- prox_{alpha g}(zeta - alpha (u + (q_k/p_k)(phi_k'(a_k'xi) - y_k) a_k))
            eta  <- tau1 zeta + tau2 x + (1 - tau1 - tau2) eta
    3.  x <- the mean of the N points eta with weights (1 + alpha lambda)^j

eta is the paper's Option II, xi + tau1 (zeta_new - zeta_old): the one that needs one prox a step
(Option I has a second one, prox_{g/(3 Lc)}; without regulariser the two are the same).

lambda = 0 (no l2, or an intercept): the paper's variant for that case, tau1 = 2/(s + 4) in outer
loop s = 0, 1, ..., alpha = 1/(3 tau1 Lc), equal weights; the error is O(1/s^2).

An outer loop is three passes; line 1 gives P(x) and a dual point, so the check is free. The point
reported is the snapshot, not its combination with the last eta that the paper returns at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.baselines.svrg import Snapshots
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.marshalling import (
    NONE,
    dual_of,
    every_target,
    loss_of,
    prox_of,
    rows_of,
    sparse_lines,
    steps_of,
)
from dualgap.algorithms.primal_dual.sampling import Stream
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.state import PrimalDualState, update
from dualgap.problem import Problem
from dualgap.state import State, replace

TAU2 = 0.5

NO_STRONG_CONVEXITY = (
    "No strong convexity is known (l2 = 0, or an intercept): running the O(1/t^2) variant."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class KatyushaState(PrimalDualState):
    """The points of Katyusha beside its snapshot x: zeta is ``xt``."""

    eta: Array
    """The point that the snapshots are means of."""


@dataclass(frozen=True)
class Katyusha(Snapshots):
    """Katyusha; parameters as in `Snapshots`. In the trace tau is alpha and theta is tau1."""

    name: ClassVar[str] = "katyusha"
    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True, rows=True, scalar_loss=True)

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """(alpha, -, tau1) of the first outer loop."""
        Lc = Lam / problem.loss.known_gamma
        lam = problem.regularizer.strong_convexity
        tau1 = min(math.sqrt(self.check_every * problem.n * (lam / (3.0 * Lc))), 0.5)
        if tau1 == 0.0:
            return self.without_strong_convexity(Lc, 0)
        return Steps(1.0 / (3.0 * tau1 * Lc), math.nan, tau1)

    def without_strong_convexity(self, Lc: float, t: int) -> Steps:
        """(alpha, -, tau1) of outer loop t where lambda = 0."""
        tau1 = 2.0 / (t + 4.0)
        return Steps(1.0 / (3.0 * tau1 * Lc), math.nan, tau1, accelerating=True)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first outer loop."""
        s = super().start(problem, x0, y0, advice).state
        own = KatyushaState(**{**vars(s.own), "xt": s.x}, eta=s.x)
        notes = [NO_STRONG_CONVEXITY] if own.steps.accelerating else []
        return Start(replace(s, own=own), notes)

    def visit(self, problem: Problem, s: State, stream: Stream) -> State:
        """Lines 2 and 3 over the stream."""
        from dualgap.kernels import katyusha, values
        from dualgap.kernels.epoch import run_epoch

        own: KatyushaState = s.own
        ratio = self.sampler(problem, own.advice).ratio
        alpha, tau1 = own.steps.tau, own.steps.theta
        # The weights are divided by the last one, which leaves keep^(N-1-j).
        lam = 0.0 if own.steps.accelerating else problem.regularizer.strong_convexity
        keep = 1.0 / (1.0 + alpha * lam)
        assert own.xt is not None
        rows, mix = rows_of(problem), katyusha.Mix(alpha, tau1, TAU2, keep)
        total, size = np.zeros(problem.size), problem.size
        prox = prox_of(problem, alpha, 0)
        point: katyusha.Coupled | katyusha.CoupledLines
        if isinstance(rows, values.Dense):
            point = katyusha.Coupled(s.x, own.xt.copy(), own.eta.copy(), total, s.u, prox, mix)
        else:
            l2, number = np.unique(problem.elastic_net.l2[: problem.d], return_inverse=True)
            lines = sparse_lines(problem.d, own.xt, own.eta, total, NONE, s.x, s.u, number, width=8)
            maps = katyusha.tables(l2, stream.size, alpha, tau1, TAU2, keep)
            point = katyusha.CoupledLines(lines, maps, prox, mix)
        run_epoch(
            rows, stream, every_target(problem, ratio), loss_of(problem),
            steps_of(math.inf, 0.0, values.SNAPSHOT), point, dual_of(s.y, None),
        )  # fmt: skip
        if isinstance(point, katyusha.Coupled):
            zeta, eta = point.zeta, point.eta
        else:
            zeta, eta, total = (np.ascontiguousarray(point.values[:size, k]) for k in range(3))
        if stream.size == 0:  # the mean of no points
            return s
        weights = float(np.sum(keep ** np.arange(stream.size)))
        return update(s, x=total / weights, xt=zeta, eta=eta)

    def step(self, problem: Problem, s: State) -> State:
        """One outer loop: lines 2 and 3, and line 1 of the next."""
        new = super().step(problem, s)
        if not s.own.steps.accelerating:
            return new
        Lc = s.own.Lam / problem.loss.known_gamma
        return update(new, steps=self.without_strong_convexity(Lc, new.t))
