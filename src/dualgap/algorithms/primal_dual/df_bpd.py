"""Algorithm 6: Dual-Free BPD (DF-BPD): the gradient of the loss replaces the dual prox.

Parameters tau, sigma, theta; start x~ = x, v with y = phi'(v).  For t = 0, 1, 2, ...

    1.  v  <- (v + sigma A x~)/(1 + sigma),   y = phi'(v)
    2.  x+ <- prox_{tau g}(x - tau A'Qy)
    3.  x~ <- x+ + theta (x+ - x)

Line 1 is the dual step with the Bregman divergence of f* itself (Lemma 1). Theorem 3 gives the
parameters (`schedules.df_bpd_steps`). Its proof needs steps of 1/(2L), which is what
``schedule="theorem"`` takes; by default the steps are the longest that its inequalities allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.points import conjugate_at
from dualgap.algorithms.primal_dual.batch import watch_Lam
from dualgap.algorithms.primal_dual.bpd import NO_THEOREM, data_strong_convexity
from dualgap.algorithms.primal_dual.family import PrimalDual, first_state, with_dual
from dualgap.algorithms.primal_dual.schedules import Steps, accelerate, df_bpd_steps, proved_factor
from dualgap.algorithms.primal_dual.state import Ahead, PrimalDualState, update
from dualgap.algorithms.tasks import line_1
from dualgap.designs.tasks import there_and_back
from dualgap.problem import Problem
from dualgap.state import State


def df_bpd_step(problem: Problem, s: State, *, steps_may_change: bool = False) -> State:
    """One iteration of Algorithm 6.

    Line 1 of the next iteration needs of A x+ one row at a time, so dense data are read once for
    z = A x+ and for the next A'Qy, unless the steps are about to change.
    """
    own: PrimalDualState = s.own
    assert own.v is not None
    steps = own.steps
    tau, sigma, theta = steps.tau, steps.sigma, steps.theta
    # Alg. 6, line 1
    if own.ahead is not None and own.ahead.sigma == sigma:
        _, v, y, u = own.ahead
        phi = problem.mean_loss(v, y)
    else:
        v = (own.v + sigma * own.zt) / (1.0 + sigma)
        phi, y = problem.mean_loss_grad(v)
        u = problem.adjoint(y)
    # Alg. 6, line 2
    x = problem.regularizer.prox(s.x - tau * u, tau)
    if steps.accelerating:
        steps = accelerate(steps, 1.0)
        theta = steps.theta
    # Alg. 6, line 3, in the image of A
    if problem.design.reads_once and not steps_may_change:
        z, zt, ahead = _with_line_1(problem, x, s.z, v, theta, steps.sigma)
    else:
        z, ahead = problem.predict(x), None
        zt = z + theta * (z - s.z)
    new = update(
        s, t=s.t + 1, passes=s.passes + 1, x=x, y=y, v=v, z=z, zt=zt, u=u, steps=steps,
        primal=problem.primal(x, z), ahead=ahead,
    )  # fmt: skip
    return with_dual(problem, new, conj=conjugate_at(problem, v, y, phi))


def _with_line_1(
    problem: Problem, x: Array, z_old: Array, v: Array, theta: float, sigma: float
) -> tuple[Array, Array, Ahead]:
    """z = A x, A x~, and line 1 of the next iteration, for one reading of the data."""
    # v+ = (v + sigma (z + theta (z - z_old)))/(1 + sigma) = rest + share A x
    share = sigma * (1.0 + theta) / (1.0 + sigma)
    rest = sigma * theta * z_old
    np.subtract(v, rest, out=rest)
    rest /= 1.0 + sigma
    if problem.offset is not None:
        rest += share * problem.offset
    (z, y), (u,) = problem.design.map_rows(
        there_and_back, (rest, problem.b, problem.q), x, line_1, problem.loss, share
    )
    zt = share * z
    rest += zt  # the v+ of line_1, bit for bit
    if problem.offset is not None:
        z = z + problem.offset
    np.subtract(z, z_old, out=zt)
    zt *= theta
    zt += z
    return z, zt, Ahead(sigma, rest, y, u)


@dataclass(frozen=True)
class DFBPD(PrimalDual):
    """Algorithm 6 with a given mu (0 by default: only the regulariser's strong convexity).

    Parameters
    ----------
    mu : float, optional
        The paper's mu = sqrt(lambda_min(A'A)), or a lower bound on it.
    schedule : "theorem", optional
        The steps 1/(2L) of the theorem's proof, with a certified upper bound on L.
    """

    mu: float | None = None
    schedule: str | None = None

    name: ClassVar[str] = "df-bpd"
    requires: ClassVar[Needs] = Needs(gamma=True, regularizer="prox")

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """Theorem 3's."""
        k = 0.5 if self.schedule == "theorem" else proved_factor(problem.loss)
        lam = problem.regularizer.strong_convexity
        return df_bpd_steps(problem.loss, Lam, lam, Delta, k=k, theta_one=False)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first iteration."""
        mu = check.strong_convexity(self.mu)
        Delta = data_strong_convexity(problem.loss, problem.n, mu)
        constants = problem.constants
        Lam = constants.Lam if self.schedule == "theorem" else constants.Lam_estimate
        state = first_state(
            self, problem, x0, y0, Lam=Lam.value, Delta=Delta, dual_free=True, advice=advice
        )
        return Start(state, [NO_THEOREM] if state.own.steps.accelerating else [])

    def step(self, problem: Problem, s: State) -> State:
        """One iteration."""
        return watch_Lam(self, problem, s, df_bpd_step(problem, s))
