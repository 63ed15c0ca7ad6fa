"""Working sets: coordinate descent on the few coordinates that matter, Newton's way.

For l1 and elastic net, whose solutions are sparse. One step, from x with z = A x + offset and the
gradient u = A'Q phi'(z):

    1.  S  <- the support, what has no l1, and the coordinates that gain most by moving alone
    2.  minimise P over x_S: a quadratic model with H = A_S'QWA_S, W = diag(phi''(z)), minimised by
        coordinate descent, then a line search on P; repeated while S is cheap next to A
    3.  y  <- phi'(z), u <- A'Qy: the next gradient, and a dual point

Squared loss: the model is P itself and H never changes, it only grows with S. Other losses: H is
kept until a step with it gains too little. H is formed where that costs less than the sweeps it
saves (they then cost |S|^2 each, whatever n is), and descent on H is finished by a Cholesky
factorisation on the support; otherwise the sweeps read the columns themselves. Of small sparse data
H of all coordinates is formed at once, and a step goes through many S (`_known_gram`).

Memory: the columns of S are copied (float64, one after the other; sparse ones also by rows, and
squared, where these are asked for); of CSR data a CSC copy is made. H is part of the state: it has
a side of 2000 at most, 3000 where the loss is not quadratic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._types import Array, Places
from dualgap.algorithms.contract import Algorithm, Start
from dualgap.algorithms.primal_dual.batch import EPS, conjugate_at
from dualgap.algorithms.primal_dual.randomised import require_kernel
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.algorithms.second_order.bounded import Between
from dualgap.algorithms.second_order.known_gram import known_gram, minimise
from dualgap.algorithms.second_order.restricted import Restricted, cut
from dualgap.feasible import make_feasible, repair_free, repair_is_free
from dualgap.problem import Problem
from dualgap.regularizers.capabilities import Need
from dualgap.state import State, replace

FLOOR = 1e-3
"""phi'' counts as this much of its bound 1/gamma, at least, to begin with."""
CLOSE = 0.7
"""Of l1: a coordinate of an earlier set whose gradient is less, and which is 0, does not matter;"""
TOO_MANY = 2
"""but only if the set has this many times what does are such coordinates left out."""


@dataclass(frozen=True)
class WorkingSet(Algorithm):
    """Coordinate descent on working sets, with Newton steps where the loss is not quadratic.

    For every scalar loss; made for l1 > 0. P never rises, but for rounding.

    Parameters
    ----------
    tol : float
        The relative gap beyond which sweeps over columns do not go; `solve` fills in its own.
    """

    tol: float = 0.0

    name: ClassVar[str] = "working-set"
    is_second_order: ClassVar[bool] = True
    patience: ClassVar[int] = 1
    needs_of_regularizer: ClassVar[Need] = "bounds"

    def aiming_at(self, tol: float) -> WorkingSet:
        """The gap to reach."""
        return replace(self, tol=tol)

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """There are none."""
        return Steps(1.0, 1.0, 0.0)

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """The state before the first iteration (y0 plays no part)."""
        if problem.loss.is_vector:
            require_kernel(self.name, problem, serves_vectors=False)
        x, z = _nothing_but_intercept(problem) if x0 is None else (x0, problem.predict(x0))
        nothing = np.empty(0)
        blank = State(
            algorithm=self.name, t=0, passes=0.0, x=x, y=nothing, z=z, zt=z, u=nothing,
            steps=self.steps(problem, 0.0, 0.0), Lam=1.0, Delta=0.0, primal=np.inf, dual=-np.inf,
        )  # fmt: skip
        set_ = {"set": _unpenalised(problem), "model": None, "sweeps": 0.0,
                "whole": None}  # fmt: skip
        return Start(_at(problem, replace(blank, memory={**set_, "floor": FLOOR}), x, z))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The working set, less what no longer matters, and its Gram matrix."""
        kept = {name: earlier.memory[name] for name in ("set", "model", "sweeps", "floor", "whole")}
        if not problem.loss.is_quadratic:  # as that of the earlier run may have been
            kept["whole"] = None
        at, l1 = kept["set"], problem.bounded_net.l1
        matters = (s.x[at] != 0) | (np.abs(s.memory["gradient"][at]) >= CLOSE * l1[at])
        if TOO_MANY * np.count_nonzero(matters) < at.size:
            kept["set"] = at[matters]
            kept["model"] = None if kept["model"] is None else cut(kept["model"], kept["set"])
        return replace(s, memory={**s.memory, **kept})

    def step(self, problem: Problem, s: State) -> State:
        """One working set, or all that follow from a known Gram matrix."""
        H = s.memory["whole"]
        if H is None and s.t == 0:
            H = known_gram(problem, s.x, s.memory["gradient"])
        if H is not None:
            return _by_known_gram(problem, s, H)
        plain = problem.regularizer.has_strengths
        solver = Restricted(problem, s, self.tol) if plain else Between(problem, s, self.tol)
        solver.run()
        x = s.x.copy()
        x[solver.at] = solver.x
        z = solver.predictions()
        spent = 0.5 + solver.touched / problem.design.nonzeros
        after = replace(s, t=s.t + 1, passes=s.passes + spent)
        return _if_lower(problem, replace(after, memory={**s.memory, **solver.remembered()}), x, z)


def _by_known_gram(problem: Problem, s: State, H: Array) -> State:
    """P minimised with H = A'QA; z is a product with A, and H another when it is new."""
    x, at = minimise(problem, H, s.x, s.memory["gradient"], s.memory["set"])
    spent = 1.0 if s.memory["whole"] is not None else 1.5
    after = replace(s, t=s.t + 1, passes=s.passes + spent)
    memory = {**s.memory, "set": at, "whole": H}
    return _if_lower(problem, replace(after, memory=memory), x, problem.predict(x))


def _if_lower(problem: Problem, after: State, x: Array, z: Array) -> State:
    """The state at x, unless both P and the gap are higher there: nothing is left but rounding."""
    new = _at(problem, after, x, z)
    lower = new.primal <= after.primal * (1.0 + 4.0 * EPS)
    if not (lower or new.primal - new.dual < after.primal - after.dual):
        return replace(after, memory={**after.memory, "model": None})
    return new


def _unpenalised(problem: Problem) -> Places:
    """What has no l1; between bounds also what has no l2 and no bounds, for 0 may hold the rest."""
    if not problem.regularizer.has_strengths:
        return np.flatnonzero(problem.regularizer.free)
    return np.flatnonzero(problem.elastic_net.l1 == 0)


def _over(problem: Problem, u: Array) -> float:
    """max |u_j|/l1_j where there is l2 as well, at least 1."""
    if not problem.regularizer.has_strengths:
        return 1.0  # `feasible` has looked at that
    g = problem.elastic_net
    both = (g.l1 > 0) & (g.l2 > 0)
    return float(np.max(np.abs(u[both]) / g.l1[both], initial=1.0))


def _nothing_but_intercept(problem: Problem) -> tuple[Array, Array]:
    """x = 0, with the best intercept where that is the mean of b; and z."""
    x, z = problem.zeros(), problem.predict_zero()
    if not (problem.free_intercept_only and problem.loss.is_quadratic):
        return x, z
    mean = problem.mean(problem.b - z)
    return problem.joined(x[:-1], mean), z + mean


def _at(problem: Problem, s: State, x: Array, z: Array) -> State:
    """The state at x: P, the gradient and a dual point."""
    phi, y = problem.mean_loss_grad(z)
    u = problem.adjoint(y)
    primal = phi + problem.regularizer.value(x)
    memory = {**s.memory, "slope": y, "gradient": u}
    cost = 0.0
    if repair_is_free(problem):
        y, u, dual = _best_scale(problem, z, y, u, phi)
    else:  # an intercept, or more that nothing penalises: y has to be moved first
        point = make_feasible(problem, z, y)
        cost, dual = 1.0, -np.inf
        if point is not None:
            y, u, dual = _best_scale(problem, z, point.y, point.u, None)
    return replace(
        s, x=x, z=z, zt=z, y=y, u=u, primal=primal, dual=dual, memory=memory,
        check_passes=s.check_passes + cost,
    )  # fmt: skip


def _best_scale(
    problem: Problem, z: Array, y: Array, u: Array, phi: float | None
) -> tuple[Array, Array, float]:
    """The better of y and y scaled until |A'Qy| <= l1, with its D.

    With l2 > 0 any y will do, but (|u_j| - l1_j)^2/(2 l2_j) is dear if l2 is small.
    """
    g = problem.regularizer
    feasible, at = (y, u) if phi is None else repair_free(problem, y, u)
    if phi is None or feasible is not y:
        conj = problem.conjugate_sum(feasible)
    else:
        conj = conjugate_at(problem, z, y, phi)
    above = g.conj(-at)
    longer = _over(problem, at)
    # -phi* is concave, so its first-order change bounds what scaling can give.
    linear = z if problem.offset is None else z - problem.offset
    if longer > 1.0 and above + (1.0 - 1.0 / longer) * problem.inner(feasible, linear) > 0.0:
        scaled, inside = feasible / longer, at / longer
        dual = -problem.conjugate_sum(scaled) - g.conj(-inside)
        if dual > -conj - above:
            return scaled, inside, dual
    return y, u, -conj - above
