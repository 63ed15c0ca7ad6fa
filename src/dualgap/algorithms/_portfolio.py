"""What ``algorithm="auto"`` runs: a short rule on what is known before any work.

- An option of the primal-dual methods is given (adapt, mu, schedule): `ada-bpd`, or `adf-bpd` where
  the dual prox has no formula.
- l1 > 0: `working-set`, because the solution is sparse; with several predictions a row
  `prox-newton`.
- No l1, every coordinate has l2, R^2/(gamma l2) <= n, not squared loss, and a factorisation would
  cost many passes: `sdca`; a few passes are enough.
- No l1 otherwise: `newton`, which takes care of the conditioning.

No choice reads a clock, so a run can be repeated bit for bit. Newton switches in flight, from
conjugate gradients to a factorisation, when that is the cheaper way by then.
"""

from __future__ import annotations

from dualgap import factorised
from dualgap.algorithms._base import Algorithm
from dualgap.algorithms.ada_bpd import ADFBPD, AdaBPD
from dualgap.algorithms.newton import Newton
from dualgap.algorithms.prox_newton import ProxNewton
from dualgap.algorithms.sdca import SDCA
from dualgap.algorithms.working_set import WorkingSet
from dualgap.problem import Problem

MANY_ROWS = 1000
"""With fewer, everything is over in milliseconds and compiled kernels have no time to pay."""


DEAR = 10.0
"""Passes: below this price of a factorisation Newton is as quick as any."""


def choose(problem: Problem, *, with_steps: bool) -> tuple[Algorithm, str]:
    """The algorithm and the reason; ``with_steps``: options of primal-dual steps are given."""
    loss, g = problem.loss, problem.regularizer
    if with_steps:
        by_formula = loss.has_dual_prox and not loss.prox_is_iterative
        return (AdaBPD() if by_formula else ADFBPD()), "its options were given"
    if g.has_l1:
        if loss.is_vector:
            return ProxNewton(), "the regulariser has an l1 part, and rows have several predictions"
        return WorkingSet(), "the regulariser has an l1 part"
    if not loss.is_vector and loss.code >= 0 and loss.has_dual_prox and problem.n >= MANY_ROWS:
        strong = g.strong_convexity
        dear = strong > 0.0 and factorised.cost(problem.design, g.l2) > DEAR
        if dear and not loss.is_quadratic:
            kappa = problem.constants.R.value**2 / (loss.gamma * strong)
            if kappa <= problem.n:
                return SDCA(), f"the condition number {kappa:.2g} is below n"
    return Newton(), "no l1 part, and Newton steps need no scaling"
