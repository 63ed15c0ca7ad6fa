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
H of all coordinates is formed at once, and of few columns that stream it is known: a step goes
through many S (`known_gram`).

Memory: the columns of S are copied (float64, one after the other; sparse ones also by rows, and
squared, where these are asked for); of CSR data a CSC copy is made. H is part of the state: it has
a side of 2000 at most, 3000 where the loss is not quadratic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._types import Array, Places
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.points import conjugate_at
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.base import SecondOrder
from dualgap.algorithms.second_order.curvature import first_share, first_x
from dualgap.algorithms.second_order.known_gram import known_gram, minimise
from dualgap.algorithms.second_order.restricted import EPS, Model, Restricted, cut
from dualgap.dual_points.feasible import asked_about, make_feasible, repair_free, repair_is_free
from dualgap.dual_points.products import PLAIN, OneReading, Products
from dualgap.problem import Problem
from dualgap.state import State, replace


@dataclass(frozen=True, eq=False)
class WorkingSetState:
    """What a run with working sets knows besides its point."""

    slope: Array
    """The derivative phi'(z_i) of the loss of each row at x; y is made of it, but often scaled."""
    gradient: Array
    """The gradient A'Q phi'(z) of the mean loss at x."""
    coordinates: Places
    """The last working set; before the first step, the coordinates that have no l1."""
    full_gram: Array | None = None
    """The matrix A'QA of all coordinates, in its lower triangle.

    It is formed in the first step if the loss is squared and the data are small and sparse, or have
    few columns and stream; None means that every step works on a set of its own.
    """
    model: Model | None = None
    """The Gram matrix of the last working set; None if there is none that may be used again."""
    stale: bool = False
    """Whether ``model`` must be formed anew because phi'' has changed too much since."""
    sweeps: float = 0.0
    """The sweeps that the last coordinate descent took; a Gram matrix must cost less than those."""
    last_gain: float = math.inf
    """What the most promising coordinate of the set could gain before the last Newton step.

    Infinity if there was none. If this hardly falls from step to step, ``model`` is stale.
    """
    floor: float = tuning.DAMPING.first_floor
    """The share of its bound 1/gamma that phi'' of a row counts as, at least."""


@dataclass(frozen=True)
class WorkingSet(SecondOrder):
    """Coordinate descent on working sets, with Newton steps where the loss is not quadratic.

    For every scalar loss; made for l1 > 0. P never rises, but for rounding.

    Parameters
    ----------
    tol : float
        The relative gap beyond which sweeps over columns do not go; `solve` fills in its own.
    """

    tol: float = 0.0

    name: ClassVar[str] = "working-set"
    requires: ClassVar[Needs] = Needs(scalar_loss=True, held_rows=False, regularizer="bounds")

    def aiming_at(self, tol: float) -> WorkingSet:
        """The gap to reach."""
        return replace(self, tol=tol)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state before the first iteration (y0 plays no part)."""
        x, z = _nothing_but_intercept(problem) if x0 is None else (x0, None)
        nothing = np.empty(0)  # what `_at` fills in
        own = WorkingSetState(nothing, nothing, _unpenalised(problem))
        blank = State(
            algorithm=self.name, t=0, passes=0.0, x=x, y=nothing, z=nothing, u=nothing,
            primal=np.inf, dual=-np.inf, own=own,
        )  # fmt: skip
        if problem.loss.gamma is None:
            blank = replace(
                blank, own=replace(own, floor=first_share(problem, tuning.DAMPING.first_floor, x0))
            )
        return Start(_at(problem, blank, x, z))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The working set, less what no longer matters, and its Gram matrix."""
        own, kept = s.own, earlier.own
        if not isinstance(kept, WorkingSetState):  # its set-up was interrupted
            return s
        at, model, l1 = kept.coordinates, kept.model, problem.bounded_net.l1
        matters = (s.x[at] != 0) | (np.abs(own.gradient[at]) >= tuning.SETS.near_zero * l1[at])
        if tuning.SETS.too_many * np.count_nonzero(matters) < at.size:
            at = at[matters]
            model = None if model is None else cut(model, at)
        # The loss of the earlier run may have been squared and this one not.
        gram = kept.full_gram if problem.loss.is_quadratic else None
        own = replace(
            own, coordinates=at, model=model, full_gram=gram, sweeps=kept.sweeps, floor=kept.floor
        )
        return replace(s, own=own)

    def step(self, problem: Problem, s: State) -> State:
        """One working set, or all that follow from a known Gram matrix."""
        own: WorkingSetState = s.own
        H = own.full_gram
        if H is None and s.t == 0:
            H = known_gram(problem, s.x, own.gradient)
        if H is not None:
            return _by_known_gram(problem, s, H)
        solver = Restricted(problem, s, self.tol)
        solver.run()
        x = s.x.copy()
        x[solver.at] = solver.x
        z = solver.predictions()
        spent = 0.5 + solver.touched / problem.design.nonzeros
        after = replace(s, t=s.t + 1, passes=s.passes + spent, own=solver.remembered())
        return _if_lower(problem, after, x, z)


def _by_known_gram(problem: Problem, s: State, H: Array) -> State:
    """P minimised with H = A'QA; z is a product with A, and H another when it is new."""
    own: WorkingSetState = s.own
    x, at = minimise(problem, H, s.x, own.gradient, own.coordinates)
    is_new = own.full_gram is None and not problem.design.knows_gram(problem.q)
    spent = 1.5 if is_new else 1.0
    own = replace(own, coordinates=at, full_gram=H)
    after = replace(s, t=s.t + 1, passes=s.passes + spent, own=own)
    return _if_lower(problem, after, x, None)


def _if_lower(problem: Problem, after: State, x: Array, z: Array | None) -> State:
    """The state at x, unless both P and the gap are higher there: nothing is left but rounding."""
    new = _at(problem, after, x, z)
    lower = new.primal <= after.primal * (1.0 + 4.0 * EPS)
    if not (lower or new.primal - new.dual < after.primal - after.dual):
        return replace(after, own=replace(after.own, model=None))
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


def _nothing_but_intercept(problem: Problem) -> tuple[Array, Array | None]:
    """x = 0, with the best intercept where it is the mean of b or starts matter; z if known."""
    x, z = problem.zeros(), problem.predict_zero()
    if problem.loss.gamma is None and problem.fit_intercept:
        x = first_x(problem)
        return x, None
    if not (problem.free_intercept_only and problem.loss.is_quadratic):
        return x, z
    mean = problem.mean(problem.b - z)
    return problem.joined(x[:-1], mean), z + mean


def _evaluated(
    problem: Problem, x: Array, z: Array | None
) -> tuple[Array, float, Array, Array, Products]:
    """z, the mean loss, its slope y = phi'(z), A'Qy, and how to make y feasible.

    z = A x + offset is found if it is not known. Of data that stream A'Qy' comes with A'Qy, for the
    y' that is next to be asked about.
    """
    if z is None and problem.design.streams:
        z, y, u = problem.slope_at(x)
        return z, problem.mean_loss(z, y), y, u, PLAIN
    z = problem.predict(x) if z is None else z
    phi, y = problem.mean_loss_grad(z)
    guess = None
    if problem.design.streams and y.ndim == 1 and not repair_is_free(problem):
        guess = asked_about(problem, y)
    if guess is None:
        return z, phi, y, problem.adjoint(y), PLAIN
    u, other = problem.adjoint(np.column_stack((y, guess))).T
    return z, phi, y, u, OneReading(guess, other)


def _at(problem: Problem, s: State, x: Array, z: Array | None) -> State:
    """The state at x: P, the gradient and a dual point; z is looked for if it is not known."""
    z, phi, y, u, products = _evaluated(problem, x, z)
    primal = phi + problem.regularizer.value(x)
    own = replace(s.own, slope=y, gradient=u)
    cost = 0.0
    if repair_is_free(problem):
        y, u, dual = _best_scale(problem, z, y, u, phi)
    else:  # an intercept, or more that nothing penalises: y has to be moved first
        point = make_feasible(problem, z, y, products)
        cost, dual = 1.0, -np.inf
        if point is not None:
            y, u, dual = _best_scale(problem, z, point.y, point.u, None)
    return replace(
        s, x=x, z=z, y=y, u=u, primal=primal, dual=dual, own=own,
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
