"""Algorithm 1: Batch Primal-Dual (BPD), and Opt-BPD, which takes mu from the data.

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
from dualgap.algorithms.contract import Algorithm, Start
from dualgap.algorithms.primal_dual.batch import conjugate_at, first_state, watch_Lam, with_dual
from dualgap.algorithms.primal_dual.schedules import Steps, accelerate, bpd_steps
from dualgap.losses import Loss
from dualgap.problem import Problem
from dualgap.regularizers.capabilities import Need
from dualgap.state import State, replace

NO_THEOREM = (
    "lambda + delta mu^2 = 0 (as far as is known): no theorem gives a linear rate; running the "
    "O(1/t^2) steps of Chambolle & Pock. An adaptive algorithm finds the strong convexity itself."
)


def bpd_step(problem: Problem, s: State) -> State:
    """One iteration of Algorithm 1."""
    tau, sigma, theta = s.steps.tau, s.steps.sigma, s.steps.theta
    # Alg. 1, line 1
    y, conj = dual_prox(problem, s.y + sigma * s.zt, sigma, guess=s.zt)
    # Alg. 1, line 2
    u = problem.adjoint(y)
    x = problem.regularizer.prox(s.x - tau * u, tau)
    z = problem.predict(x)
    if s.steps.accelerating:
        steps = accelerate(s.steps, problem.loss.gamma)
        theta = steps.theta
    else:
        steps = s.steps
    # Alg. 1, line 3, in the image of A
    zt = z + theta * (z - s.z)
    new = replace(
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


def oracle_strong_convexity(problem: Problem) -> tuple[float, list[str]]:
    """What the data really offer, computed from them, and what to say about it."""
    loss, constants = problem.loss, problem.constants
    if loss.delta > 0:
        return loss.delta * constants.M.value, []
    if loss.is_vector:
        note = (
            f"loss={loss.name!r} has delta = 0, and its curvature at the optimum is not computed: "
            "only the regulariser's strong convexity counts."
        )
        return 0.0, [note]
    if problem.n < problem.size:
        return 0.0, []
    reference = problem.solve(algorithm="adf-bpd", tol=1e-8, max_passes=5000)
    z = problem.predict(problem.join(reference.x, reference.intercept))
    constants.passes += reference.setup.passes + reference.passes
    weights = problem.q * loss.hess(z, problem.b)
    Delta = max(float(constants.gram_eigenvalues(weights)[0]), 0.0)
    note = (
        f"loss={loss.name!r} has delta = 0: strong convexity {Delta:.3g} is the smallest "
        "eigenvalue of A' diag(q phi'') A at a reference optimum."
    )
    return Delta, [note]


def require_dual_prox(name: str, loss: Loss, instead: str) -> None:
    """Refuse a loss that an algorithm cannot treat, before any work."""
    if not loss.has_dual_prox:
        raise ValueError(
            f"algorithm={name!r} needs the dual prox, which loss={loss.name!r} does not have; "
            f"use algorithm={instead!r}, which needs only the gradient of the loss."
        )


@dataclass(frozen=True)
class BPD(Algorithm):
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
    needs_of_regularizer: ClassVar[Need] = "prox"

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """Theorem 1's."""
        lam = problem.regularizer.strong_convexity
        return bpd_steps(problem.loss, Lam, lam, Delta, theta_one=False)

    def Delta(self, problem: Problem) -> tuple[float, list[str]]:
        """Strong convexity from the data that the steps count on, and what to say about it."""
        mu = check.strong_convexity(self.mu)
        return data_strong_convexity(problem.loss, problem.n, mu), []

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """The state before the first iteration."""
        require_dual_prox(self.name, problem.loss, "df-bpd")
        Delta, notes = self.Delta(problem)
        constants = problem.constants
        Lam = constants.Lam if self.schedule == "theorem" else constants.Lam_estimate
        state = first_state(self, problem, x0, y0, Lam=Lam.value, Delta=Delta)
        return Start(state, notes + ([NO_THEOREM] if state.steps.accelerating else []))

    def step(self, problem: Problem, s: State) -> State:
        """One iteration."""
        return watch_Lam(self, problem, s, bpd_step(problem, s))


@dataclass(frozen=True)
class OptBPD(BPD):
    """BPD with mu computed from the data: what adaptation is measured against.

    For a loss with delta = 0 the data offer only local strong convexity: the smallest eigenvalue
    of A' diag(q phi'') A at a reference optimum is used instead of delta mu^2/n.
    """

    name: ClassVar[str] = "opt-bpd"

    def Delta(self, problem: Problem) -> tuple[float, list[str]]:
        """From the given mu, or exactly from the data."""
        return super().Delta(problem) if self.mu is not None else oracle_strong_convexity(problem)

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """Theorem 1's; theta = 1 where Delta is local and the theorem has no delta."""
        lam = problem.regularizer.strong_convexity
        if problem.loss.delta == 0:
            lam = problem.regularizer.penalised_strength if Delta > 0 else lam
        return bpd_steps(problem.loss, Lam, lam, Delta, theta_one=False)
