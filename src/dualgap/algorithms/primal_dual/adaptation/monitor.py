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
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dualgap.algorithms.primal_dual.adaptation.curvature import place
from dualgap.problem import Problem
from dualgap.state import State, replace

if TYPE_CHECKING:
    from dualgap.algorithms.contract import Algorithm

PATIENCE = 20.0
"""In units of sqrt(condition number): one such unit is the time scale of an accelerated method."""
GROWTH = 1e3
GIVE_UP = 5
AT_ROUNDING = 1e-13
"""A gap below this fraction of P moves at random."""


def watch_progress(algorithm: Algorithm, problem: Problem, s: State) -> tuple[State, bool]:
    """Roll back if progress has stopped; also say whether tuning goes on."""
    memory: Mapping[str, Any] = s.memory
    rollbacks = int(memory.get("rollbacks", 0))
    tuning = rollbacks < GIVE_UP
    score = s.merit if math.isfinite(s.dual) else s.primal
    best = memory.get("best_score", math.inf)
    if score < best:
        kept = {"best_score": score, "best_t": s.t, "best": (s.x, s.y, s.z, s.u, s.v)}
        return replace(s, memory={**memory, **kept}), tuning
    if not tuning or not math.isfinite(best) or s.merit <= AT_ROUNDING * problem.scale(s.primal):
        return s, tuning
    patience = 30.0 / algorithm.passes_per_step + PATIENCE * algorithm.time_scale(problem, s)
    lost = not score <= GROWTH * max(best, AT_ROUNDING * problem.primal_at_zero)
    if not lost and s.t - memory["best_t"] <= patience:
        return s, tuning
    x, y, z, u, v = memory["best"]
    last = rollbacks + 1 == GIVE_UP
    Delta = 0.0 if last else 0.1 * s.Delta
    boldness = 0.5 * float(memory.get("boldness", 1.0))
    from dualgap.algorithms.primal_dual.local import taken_back

    Lam, forgotten = taken_back(problem, s)
    steps = algorithm.steps(problem, Lam, Delta, boldness)
    fresh: dict[str, Any] = {
        "rollbacks": rollbacks + 1,
        "best_t": s.t,
        "boldness": boldness,
        "gap_then": None,
        **forgotten,
        **place(problem, x, z),
    }
    new = replace(
        s, x=x, y=y, z=z, zt=z, xt=x, u=u, v=v, Lam=Lam, Delta=Delta, steps=steps,
        primal=problem.primal(x, z), ahead=None, memory={**memory, **fresh},
    )  # fmt: skip
    from dualgap.algorithms.primal_dual.adaptation.rule import observed_gap
    from dualgap.algorithms.primal_dual.batch import with_dual

    new = with_dual(problem, new)
    if "history" in memory:  # rates are observed from here on
        start = ((new.passes, observed_gap(new)),)
        new = replace(new, memory={**new.memory, "history": start})
    return new, tuning and not last
