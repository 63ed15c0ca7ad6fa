"""Algorithm 1: Batch Primal-Dual (BPD).

Parameters tau, sigma, theta; start (x~ = x, y).  For t = 0, 1, 2, ...

    1.  y  <- prox_{sigma phi_i*}(y_i + sigma a_i'x~)      for every row i
    2.  x+ <- prox_{tau g}(x - tau A'Qy)
    3.  x~ <- x+ + theta (x+ - x)

Theorem 1 gives tau, sigma, theta (`schedules.bpd_steps`) and the rate theta per iteration. Where
lambda + delta mu^2 = 0 no theorem applies and the steps of Chambolle & Pock's accelerated variant
are used, with an error of O(1/t^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.points import conjugate_at
from dualgap.algorithms.primal_dual.batch import watch_Lam
from dualgap.algorithms.primal_dual.family import PrimalDual, first_state, with_dual
from dualgap.algorithms.primal_dual.schedules import Steps, accelerate, bpd_steps
from dualgap.algorithms.primal_dual.state import update
from dualgap.losses import Loss
from dualgap.problem import Problem
from dualgap.state import State

NO_THEOREM = (
    "lambda + delta mu^2 = 0 (as far as is known): no theorem gives a linear rate; running the "
    "O(1/t^2) steps of Chambolle & Pock. An adaptive algorithm finds the strong convexity itself."
)


def bpd_step(problem: Problem, s: State) -> State:
    """One iteration of Algorithm 1."""
    steps, zt = s.own.steps, s.own.zt
    tau, sigma, theta = steps.tau, steps.sigma, steps.theta
    # Alg. 1, line 1
    y, conj = dual_prox(problem, s.y + sigma * zt, sigma, guess=zt)
    # Alg. 1, line 2
    u = problem.adjoint(y)
    x = problem.regularizer.prox(s.x - tau * u, tau)
    z = problem.predict(x)
    if steps.accelerating:
        steps = accelerate(steps, problem.loss.known_gamma)
        theta = steps.theta
    # Alg. 1, line 3, in the image of A
    zt = z + theta * (z - s.z)
    new = update(
        s, t=s.t + 1, passes=s.passes + 1, x=x, y=y, z=z, zt=zt, u=u, steps=steps,
        primal=problem.primal(x, z),
    )  # fmt: skip
    return with_dual(problem, new, conj)


def dual_prox(problem: Problem, v: Array, sigma: float, guess: Array) -> tuple[Array, float | None]:
    """prox_{sigma phi_i*}(v_i), and what `with_dual` wants to know if it comes for free."""
    loss, b = problem.loss, problem.b
    if not loss.prox_is_iterative:
        return loss.prox_conj(v, sigma, b), None
    point, y = loss.prox_point(v, sigma, b, guess)
    return y, conjugate_at(problem, point, y, problem.mean_loss(point, y))


def data_strong_convexity(loss: Loss, n: int, mu: float | None) -> float:
    """Delta = delta mu^2/n for the paper's mu."""
    return loss.delta * mu * mu / n if mu else 0.0


@dataclass(frozen=True)
class BPD(PrimalDual):
    """Algorithm 1 with a given mu (0 by default: only the regulariser's strong convexity).

    Parameters
    ----------
    mu : float, optional
        The paper's mu = sqrt(lambda_min(A'A)), or a lower bound on it.
    schedule : "theorem", optional
        Use a certified upper bound on L instead of a watched estimate.
    """

    mu: float | None = None
    schedule: str | None = None

    name: ClassVar[str] = "bpd"
    requires: ClassVar[Needs] = Needs(
        gamma=True, regularizer="prox", dual_prox=True, instead="df-bpd"
    )

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """Theorem 1's."""
        lam = problem.regularizer.strong_convexity
        return bpd_steps(problem.loss, Lam, lam, Delta, theta_one=False)

    def Delta(self, problem: Problem) -> tuple[float, list[str]]:
        """Strong convexity from the data that the steps count on, and what to say about it."""
        mu = check.strong_convexity(self.mu)
        return data_strong_convexity(problem.loss, problem.n, mu), []

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first iteration."""
        Delta, notes = self.Delta(problem)
        constants = problem.constants
        Lam = constants.Lam if self.schedule == "theorem" else constants.Lam_estimate
        state = first_state(self, problem, x0, y0, Lam=Lam.value, Delta=Delta, advice=advice)
        return Start(state, notes + ([NO_THEOREM] if state.own.steps.accelerating else []))

    def step(self, problem: Problem, s: State) -> State:
        """One iteration."""
        return watch_Lam(self, problem, s, bpd_step(problem, s))
