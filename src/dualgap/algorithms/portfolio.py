"""What ``algorithm="auto"`` runs: a short rule on what is known before any work.

- An option of the primal-dual methods is given (adapt, mu, schedule): `ada-bpd`, or `adf-bpd` where
  the dual prox has no formula.
- A regulariser with bounds: `working-set`; any other than the elastic net, and bounds with several
  predictions a row: `ada-bpd` or `adf-bpd`, which need no more than its prox.
- l1 > 0: `working-set`, because the solution is sparse; with several predictions a row
  `prox-newton`.
- No l1, every coordinate has l2, R^2/(gamma l2) <= n, not squared loss, and a factorisation would
  cost many passes: `sdca`; a few passes are enough. The same on few and long dense rows with
  R^2/(gamma l2) <= n/3.
- No l1 otherwise: `newton`, which takes care of the conditioning.

No choice reads a clock, so a run can be repeated bit for bit. Newton switches in flight, from
conjugate gradients to a factorisation, when that is the cheaper way by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from dualgap.algorithms.baselines.sdca import SDCA
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.needs import missing, serves
from dualgap.algorithms.primal_dual.ada_bpd import ADFBPD, AdaBPD
from dualgap.algorithms.second_order.newton import Newton
from dualgap.algorithms.second_order.prox_newton import ProxNewton
from dualgap.algorithms.second_order.working_set import WorkingSet
from dualgap.linalg import hessian_factor
from dualgap.problem import Problem

MANY_ROWS = 1000
"""With fewer rows than this everything is over in milliseconds, and compiled kernels do not pay."""


LONG = 4
"""Rows are long if the data have this many times as many columns as rows."""
LARGE = 100_000
"""On such data kernels pay from so many entries on."""
DEAR = 10.0
"""Where a factorisation costs fewer passes than this, Newton is as quick as any."""


def choose(problem: Problem, *, with_steps: bool) -> tuple[Algorithm, str]:
    """The algorithm and the reason; ``with_steps``: options of primal-dual steps are given."""
    tried: list[Algorithm] = []
    for algorithm, reason in _in_order(problem, with_steps):
        if serves(algorithm, problem):
            return algorithm, reason
        tried.append(algorithm)
    raise ValueError(f"no algorithm serves {problem!r}: {missing(tried[-1], problem)[0]}")


def _in_order(problem: Problem, with_steps: bool) -> Iterator[tuple[Algorithm, str]]:
    """What may be taken, with the reason: the first whose needs are met is."""
    loss, g = problem.loss, problem.regularizer
    by_formula = loss.has_dual_prox and not loss.prox_is_iterative
    steps = (AdaBPD, ADFBPD) if by_formula else (ADFBPD,)
    if with_steps:
        yield from ((cls(), "its options were given") for cls in steps)
    elif not g.has_strengths:
        yield WorkingSet(), "the regulariser has bounds"
        yield from ((cls(), "of the regulariser there is only the prox") for cls in steps)
    elif g.has_l1:
        yield WorkingSet(), "the regulariser has an l1 part"
        yield ProxNewton(), "the regulariser has an l1 part, and rows have several predictions"
    else:
        if not loss.is_quadratic and serves(SDCA(), problem):
            most = _condition_for_ascent(problem)
            strength = loss.known_gamma * g.strong_convexity
            kappa = problem.constants.R.value**2 / strength if most else 0.0
            if most and kappa <= most:
                yield SDCA(), f"the condition number {kappa:.2g} is below {most:.3g}"
        yield Newton(), "no l1 part, and Newton steps need no scaling"


def _condition_for_ascent(problem: Problem) -> float:
    """The largest R^2/(gamma l2) with which `sdca` is taken; 0: with none."""
    if not problem.base.offers_rows:  # which its kernel walks
        return 0.0
    n, d = problem.n, problem.d
    if n >= MANY_ROWS and hessian_factor.cost(problem.design, problem.elastic_net.l2) > DEAR:
        return float(n)
    long = not problem.base.is_sparse and LONG * n <= d and problem.base.nonzeros >= LARGE
    return n / 3.0 if long else 0.0
