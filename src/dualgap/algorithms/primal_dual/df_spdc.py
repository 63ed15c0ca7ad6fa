"""Algorithm 7 without adaptation: DF-SPDC, dual-free SPDC.

Parameters tau, sigma, theta; start x~ = x, v with y = phi'(v), u = A'Qy.  For t = 0, 1, 2, ...

    1.  pick k with probability p_k
    2.  v_k  <- (v_k + sigma a_k'x~)/(1 + sigma),   y_k+ = phi_k'(v_k)
    3.  x+   <- prox_{tau g}(x - tau (u + (q_k/p_k)(y_k+ - y_k) a_k))
    4.  u    <- u + q_k (y_k+ - y_k) a_k
    5.  x~   <- x+ + theta (x+ - x)

Steps: Theorem 4's, 1/(4R); `opt-df-spdc` takes 1/R under the monitor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap.algorithms.contract import NO_ADVICE, Advice
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.spdc import PROVED, SPDC
from dualgap.problem import Problem


@dataclass(frozen=True)
class DFSPDC(SPDC):
    """Dual-free SPDC with Theorem 4's steps."""

    name: ClassVar[str] = "df-spdc"
    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True, rows=True)
    dual_free: ClassVar[bool] = True

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """Theorem 4's."""
        lam = problem.regularizer.strong_convexity
        return self.theorem_steps(problem, Lam, lam, Delta, PROVED, advice)
