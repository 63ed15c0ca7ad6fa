"""Going on in other variables."""

from __future__ import annotations

from dataclasses import replace

from dualgap.algorithms import Algorithm
from dualgap.preconditioners._base import Change
from dualgap.problem import Problem
from dualgap.state import State


def moved(
    algorithm: Algorithm, problem: Problem, old: Problem, change: Change, s: State
) -> tuple[Problem, State]:
    """The inner problem of ``change`` and the run's state there: a new start from the same x.

    The dual point is y = phi'(A x), whose lower bound comes with it. Costs two products.
    """
    assert s.change is not None and s.incumbent.x is not None
    inner = change.inner(problem)
    x, best = (
        change.to_inner(problem, inner, s.change.to_user(problem, old, point))
        for point in (s.x, s.incumbent.x)
    )
    new = algorithm.start(inner, x, None).state
    memory = {**new.memory, "history": ((s.passes, new.memory["history"][0][1]),)}
    memory |= {k: s.memory[k] for k in ("rollbacks", "boldness") if k in s.memory}
    steps = algorithm.steps(inner, new.Lam, new.Delta, memory.get("boldness", 1.0))
    return inner, replace(
        new, t=s.t, passes=s.passes, check_passes=s.check_passes + 2, steps=steps, memory=memory,
        incumbent=replace(s.incumbent, x=best), change=change,
    )  # fmt: skip
