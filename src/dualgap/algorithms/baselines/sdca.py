"""Stochastic dual coordinate ascent (Shalev-Shwartz & Zhang, 2013): SPDC without acceleration.

    1.  pick a row k
    2.  y_k <- argmax of D along y_k, where x = grad g*(-A'Qy) is kept up with y

The primal point is a function of the dual one, so every row visit costs its entries and no step
size is needed. Needs l2_j > 0 for every coordinate; unaccelerated, so it is for problems whose
condition number R^2/(gamma l2) is of the order of n: there it ends before others have begun.
With l1 the step is exact for an upper bound of the quadratic, as in their Prox-SDCA.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.family import with_dual
from dualgap.algorithms.primal_dual.marshalling import (
    dual_of,
    every_target,
    exact_point_of,
    loss_of,
    rows_of,
    steps_of,
)
from dualgap.algorithms.primal_dual.randomised import (
    REFRESH,
    Randomised,
    passes_and_check,
    randomised_start,
)
from dualgap.algorithms.primal_dual.sampling import Stream
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.primal_dual.state import PrimalDualState, update
from dualgap.problem import Problem
from dualgap.state import State, replace

TINY = float(np.finfo(float).tiny)


class Plan(NamedTuple):
    """When to check again."""

    due: float
    """After so many passes."""
    made: float
    """The passes at which this was thought of, and the gap then."""
    gap: float


@dataclass(frozen=True, eq=False, kw_only=True)
class SDCAState(PrimalDualState):
    """What SDCA knows beside its points."""

    plan: Plan | None = None
    """When to check again; None before the first step."""


@dataclass(frozen=True)
class SDCA(Randomised):
    """Stochastic dual coordinate ascent.

    Parameters
    ----------
    sampling : str or array of shape (n,)
        ``"runs"`` by default; see `dualgap.algorithms.primal_dual.sampling`.
    seed
        See `Randomised`.
    check_every : int
        Passes before the first check; the next one is made when the gap, which falls evenly, is
        expected to be within tol, but after twice as many passes at the latest.
    tol : float
        The relative gap to reach; `solve` fills in its own.
    """

    sampling: Any = "runs"
    tol: float = 1e-6

    name: ClassVar[str] = "sdca"
    requires: ClassVar[Needs] = Needs(
        gamma=True,
        dual_prox=True,
        compiled_loss=True,
        scalar_loss=True,
        rows=True,
        l2_everywhere=True,
        instead="df-spdc",
    )
    patience: ClassVar[int] = 1

    def steps(
        self,
        problem: Problem,
        Lam: float,
        Delta: float,
        boldness: float = 1.0,
        advice: Advice = NO_ADVICE,
    ) -> Steps:
        """There are none to choose."""
        return Steps(1.0, 1.0, 0.0)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """y from y0, or phi'(A x0), or 0; x follows from it.

        With nothing known, phi'(0) would be an x of the size of 1/l2, a digit further away.
        """
        if x0 is None and y0 is None:
            y0 = np.zeros_like(problem.b)
        s = randomised_start(self, problem, x0, y0, Delta=0.0, dual_free=False, advice=advice)
        x = problem.regularizer.dual_x(-s.u)
        z = problem.predict(x) if x.any() else problem.predict_zero()
        own = SDCAState(**{**vars(s.own), "zt": z})
        s = replace(s, x=x, z=z, primal=problem.primal(x, z), own=own)
        return Start(with_dual(problem, s))

    def aiming_at(self, tol: float) -> SDCA:
        """The gap to reach."""
        return replace(self, tol=tol)

    @property
    def passes_per_step(self) -> float:
        """The least passes that one step takes."""
        return 1.0

    def step(self, problem: Problem, s: State) -> State:
        """Passes until the next check is due, or the budget is spent: then it stays due."""
        plan: Plan | None = s.own.plan
        if plan is None or s.passes >= plan.due:
            plan = self._plan(problem, s, plan)
        passes = min(plan.due, max(math.floor(s.budget), s.passes + 1)) - s.passes
        new = passes_and_check(replace(self, check_every=int(passes)), problem, s)
        return update(new, plan=plan)

    def _plan(self, problem: Problem, s: State, last: Plan | None) -> Plan:
        """A check when the gap is within tol, if it falls as it did; not many passes from now."""
        passes, gap = self.check_every, s.primal - s.dual
        if last is not None and 0.0 < gap < last.gap:
            rate = math.log(last.gap / gap) / (s.passes - last.made)
            target = max(self.tol * problem.scale(s.primal), TINY)
            wanted = min((math.log(gap) - math.log(target)) / rate, 2.0 * self.check_every)
            passes = max(math.ceil(wanted), 1)
        refresh = REFRESH - int(s.passes) % REFRESH  # which is part of a check
        return Plan(s.passes + min(passes, refresh), s.passes, gap)

    def visit(self, problem: Problem, s: State, stream: Stream) -> State:
        """Line 2 for each row of the stream."""
        from dualgap.kernels.epoch import run_epoch
        from dualgap.kernels.sdca import ENOUGH
        from dualgap.kernels.values import PROX

        g, w, dual = problem.elastic_net, -s.u, dual_of(s.y, None)
        with np.errstate(divide="ignore"):
            sigma = 1.0 / self._reach(problem)
        run_epoch(
            rows_of(problem), stream, every_target(problem, problem.q), loss_of(problem),
            steps_of(sigma, 0.0, PROX, ENOUGH), exact_point_of(g, w), dual,
        )  # fmt: skip
        return replace(s, x=g.dual_x(w), y=dual.y, u=-w)

    def _reach(self, problem: Problem) -> Array:
        """rho_k = q_k sum_j a_kj^2/l2_j."""
        g = problem.elastic_net
        common, kept = g.common_l2, problem.constants.samplers
        key = ("row norms", b"" if common is not None else g.l2.tobytes())
        if key not in kept:
            kept[key] = problem.design.row_norms_sq(None if common is not None else 1.0 / g.l2)
        return np.asarray(problem.q * kept[key] / (common or 1.0))
