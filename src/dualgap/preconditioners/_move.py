"""Going on in other variables."""

from __future__ import annotations

from dataclasses import replace

from dualgap.algorithms import Algorithm
from dualgap.algorithms.primal_dual.ada_spdc import AdaSPDC
from dualgap.algorithms.primal_dual.adaptation import known_curvature
from dualgap.algorithms.primal_dual.adaptation.rule import observed_gap
from dualgap.algorithms.primal_dual.batch import with_dual
from dualgap.preconditioners.contract import Change
from dualgap.preconditioners.whiten import ANCHORS, KEPT
from dualgap.problem import Problem
from dualgap.state import State


def moved(
    algorithm: AdaSPDC, problem: Problem, old: Problem, change: Change, s: State
) -> tuple[Problem, State]:
    """The inner problem of ``change`` and the run's state there: a new start from the same x.

    The dual point is y = phi'(A x), v = A x: its lower bound comes with it. Costs a product.
    """
    assert s.change is not None and s.incumbent.x is not None
    inner = change.inner(problem)
    known = s.memory.get(ANCHORS, ())[: KEPT - 1]
    x, best, *then = (
        change.to_inner(problem, inner, s.change.to_user(problem, old, point))
        for point in (s.x, s.incumbent.x, *(point for point, _ in known))
    )
    anchors = ((x, s.z), *zip(then, (z for _, z in known), strict=True))
    y = problem.loss.grad(s.z, problem.b)
    Lam = algorithm.sampler(inner).R ** 2
    assert inner.curvature is not None
    Delta = known_curvature(inner, inner.curvature)
    memory = {k: s.memory[k] for k in ("rule", "rollbacks") if k in s.memory}
    new = replace(
        s, x=x, xt=x, y=y, v=s.z, u=inner.adjoint(y), Lam=Lam, Delta=Delta, change=change,
        steps=algorithm.steps(inner, Lam, Delta),
        primal=inner.primal(x, s.z), check_passes=s.check_passes + 1,
        incumbent=replace(s.incumbent, x=best),
    )  # fmt: skip
    new = with_dual(inner, new)
    memory |= algorithm.adapt.begin(inner, new)
    new = replace(new, memory=memory)
    history = ((new.passes, observed_gap(new)),)
    return inner, replace(new, memory={**memory, "history": history, ANCHORS: anchors})


def begun_anew(
    algorithm: Algorithm, problem: Problem, old: Problem, change: Change, s: State
) -> tuple[Problem, State]:
    """The inner problem of ``change`` and a first state there, from the best x so far.

    What the run has counted stays; what the algorithm remembers was of other variables.
    """
    x = s.incumbent.x
    assert x is not None
    inner = change.inner(problem)
    user = x if s.change is None else s.change.to_user(problem, old, x)
    new = algorithm.start(inner, change.to_inner(problem, inner, user), None).state
    best = replace(s.incumbent, x=new.x, primal=new.primal, lowest=new.primal)
    return inner, replace(
        new, t=s.t, passes=s.passes, check_passes=s.check_passes + 1.0, budget=s.budget,
        incumbent=best, change=change,
    )  # fmt: skip
