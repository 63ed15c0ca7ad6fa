"""The monitor: no estimate is trusted for longer than progress lasts.

An estimate Delta that is too large makes BPD slow, or, with theta < 1 or the longer dual-free
steps, may keep it from converging. The monitor remembers the best point: least gap P - D, or
least P where the gap is infinite. If the gap (or P) has grown a thousandfold, or has found no new
best for many times the period that the present estimate predicts, it rolls back: to the best
point, to a tenth of the estimate. After five roll-backs it gives up tuning and stays with the
parameters that need no estimate.
"""

from __future__ import annotations

import math

from dualgap.algorithms.primal_dual.adaptation.rule import Rule, observed_gap
from dualgap.algorithms.primal_dual.family import PrimalDual, retuned, with_dual
from dualgap.algorithms.primal_dual.local import NEVER, lasting_Lam
from dualgap.algorithms.primal_dual.state import Best, PrimalDualState, update
from dualgap.problem import Problem
from dualgap.state import State, replace

PATIENCE = 20.0
"""Progress may pause for so many time scales, of sqrt(condition number) steps each."""
GROWTH = 1e3
"""A run whose score is this many times the best one is rolled back at once."""
GIVE_UP = 5
"""After so many roll-backs the estimate is left alone."""
AT_ROUNDING = 1e-13
"""A gap below this fraction of P moves at random."""


def watch_progress(
    algorithm: PrimalDual, problem: Problem, s: State, rule: Rule | None
) -> tuple[State, bool]:
    """Roll back if progress has stopped; also say whether tuning goes on."""
    own: PrimalDualState = s.own
    watch = own.watch
    tuning = watch.rollbacks < GIVE_UP
    score = s.merit if math.isfinite(s.dual) else s.primal
    if score < watch.score:
        found = replace(watch, score=score, t=s.t, best=Best(s.x, s.y, s.z, s.u, own.v))
        return update(s, watch=found), tuning
    if watch.best is None or not tuning or s.merit <= AT_ROUNDING * problem.scale(s.primal):
        return s, tuning
    patience = 30.0 / algorithm.passes_per_step + PATIENCE * algorithm.time_scale(problem, s)
    lost = not score <= GROWTH * max(watch.score, AT_ROUNDING * problem.primal_at_zero)
    if not lost and s.t - watch.t <= patience:
        return s, tuning
    last = watch.rollbacks + 1 == GIVE_UP
    return _rolled_back(algorithm, problem, s, rule, last), tuning and not last


def _rolled_back(
    algorithm: PrimalDual, problem: Problem, s: State, rule: Rule | None, last: bool
) -> State:
    """The best point, a tenth of the estimate (none at the ``last`` time), half of the boldness."""
    own: PrimalDualState = s.own
    watch = own.watch
    assert watch.best is not None
    x, y, z, u, v = watch.best
    new = replace(s, x=x, y=y, z=z, u=u, primal=problem.primal(x, z))
    new = retuned(
        algorithm, problem, new, zt=z, xt=x, v=v, ahead=None, level=NEVER,
        Lam=lasting_Lam(problem, s), Delta=0.0 if last else 0.1 * own.Delta,
        watch=replace(
            watch, rollbacks=watch.rollbacks + 1, t=s.t, boldness=0.5 * watch.boldness
        ),
    )  # fmt: skip
    if rule is not None:
        new = update(new, remembered=rule.begin_again(problem, new))
    new = with_dual(problem, new)
    if own.history is None:
        return new
    return update(new, history=((new.passes, observed_gap(new)),))  # rates are seen from here on
