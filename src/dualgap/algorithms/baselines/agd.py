"""Primal AG: Nesterov's accelerated proximal gradient method, the paper's batch baseline.

Lf = Lam/gamma, s = sqrt(m/(Lf + lambda)), m = lambda + delta M (M = 0 unless mu is given).

    1.  y  <- phi'(A x~)
    2.  x+ <- prox_{g/Lf}(x~ - A'Qy/Lf)
    3.  x~ <- x+ + beta (x+ - x),   beta = (1 - s)/(1 + s)

P(x_t) - P* <= (1 - s)^t (P(x_0) - P* + (lambda/2)|x_0 - x*|^2). Where m = 0: beta = t/(t + 3) and
an error of O(1/t^2). y, the gradient at x~, is the dual point.
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
from dualgap.algorithms.points import conjugate_at
from dualgap.algorithms.primal_dual.batch import watch_Lam
from dualgap.algorithms.primal_dual.bpd import data_strong_convexity
from dualgap.algorithms.primal_dual.family import PrimalDual, first_state, with_dual
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.state import Ahead, PrimalDualState, update
from dualgap.algorithms.tasks import line_1
from dualgap.designs.tasks import there_and_back
from dualgap.problem import Problem
from dualgap.state import State, replace

NO_STRONG_CONVEXITY = "No strong convexity is known (l2 = 0): running the O(1/t^2) momentum."


@dataclass(frozen=True)
class AGD(PrimalDual):
    """Accelerated proximal gradient descent.

    Parameters
    ----------
    mu : float, optional
        The paper's mu of the data, or a lower bound; 0 by default, as in the paper.
    schedule : "theorem", optional
        Use a certified upper bound on L instead of a watched estimate.
    """

    mu: float | None = None
    schedule: str | None = None

    name: ClassVar[str] = "agd"
    requires: ClassVar[Needs] = Needs(gamma=True, regularizer="prox")

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """tau = 1/Lf; theta is the momentum beta; there is no dual step."""
        Lf = Lam / problem.loss.known_gamma
        lam = problem.regularizer.strong_convexity
        s = math.sqrt(min((lam + Delta) / (Lf + lam), 1.0))
        if s == 0.0:
            return Steps(1.0 / Lf, math.nan, 0.0, accelerating=True)
        return Steps(1.0 / Lf, math.nan, (1.0 - s) / (1.0 + s), rate=1.0 - s)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first iteration (y0 plays no part)."""
        mu = check.strong_convexity(self.mu)
        Delta = data_strong_convexity(problem.loss, problem.n, mu)
        constants = problem.constants
        Lam = constants.Lam if self.schedule == "theorem" else constants.Lam_estimate
        state = first_state(self, problem, x0, y0, Lam=Lam.value, Delta=Delta, advice=advice)
        notes = [NO_STRONG_CONVEXITY] if state.own.steps.accelerating else []
        return Start(update(state, xt=state.x), notes)

    def step(self, problem: Problem, s: State) -> State:
        """One iteration."""
        own: PrimalDualState = s.own
        assert own.xt is not None
        tau, beta = own.steps.tau, own.steps.theta
        # line 1
        if own.ahead is not None and np.array_equal(own.ahead.v, own.zt):
            y, u = own.ahead.y, own.ahead.u
            phi = problem.mean_loss(own.zt, y)
        else:
            phi, y = problem.mean_loss_grad(own.zt)
            u = problem.adjoint(y)
        # line 2
        x = problem.regularizer.prox(own.xt - tau * u, tau)
        # line 3, for x and in the image of A
        if own.steps.accelerating:
            beta = s.t / (s.t + 3.0)
        if problem.design.streams:
            z, zt, ahead = _with_line_1(problem, x, s.z, beta)
        else:
            z, ahead = problem.predict(x), None
            zt = z + beta * (z - s.z)
        new = update(
            s, t=s.t + 1, passes=s.passes + 1, x=x, y=y, z=z, u=u,
            xt=x + beta * (x - s.x), zt=zt, ahead=ahead,
            steps=replace(own.steps, theta=beta), primal=problem.primal(x, z),
        )  # fmt: skip
        conj = None if problem.loss.is_quadratic else conjugate_at(problem, own.zt, y, phi)
        return watch_Lam(self, problem, s, with_dual(problem, new, conj))


def _with_line_1(
    problem: Problem, x: Array, z_old: Array, beta: float
) -> tuple[Array, Array, Ahead]:
    """z = A x, its extrapolation zt, and line 1 of the next iteration, for one reading."""
    share, rest = 1.0 + beta, -beta * z_old  # zt = rest + share A x
    if problem.offset is not None:
        rest += share * problem.offset
    (z, y), (u,) = problem.design.map_rows(
        there_and_back, (rest, problem.b, problem.q), x, line_1, problem.loss, share
    )
    zt = share * z + rest  # the v of line_1, bit for bit
    z = z if problem.offset is None else z + problem.offset
    return z, zt, Ahead(share, zt, y, u)
