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
from dualgap.algorithms.points import first_x, slope_and_dual
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.base import SecondOrder
from dualgap.algorithms.second_order.curvature import first_share
from dualgap.algorithms.second_order.restricted import Restricted, gains, working_set
from dualgap.algorithms.second_order.set_models import GramModel, penalty_of
from dualgap.limits import current
from dualgap.linalg.hessian_factor import weighted_gram
from dualgap.linalg.known_gram import KnownGram
from dualgap.linalg.rounding import EPS
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
    model: KnownGram | None = None
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
        floor = max(first_share(problem, 0.0, x0), tuning.DAMPING.first_floor)
        own = WorkingSetState(nothing, nothing, _unpenalised(problem), floor=floor)
        blank = State(
            algorithm=self.name, t=0, passes=0.0, x=x, y=nothing, z=nothing, u=nothing,
            primal=np.inf, dual=-np.inf, own=own,
        )  # fmt: skip
        return Start(_at(problem, blank, x, z))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """The working set, less what no longer matters, and its Gram matrix."""
        own, kept = s.own, earlier.own
        if not isinstance(kept, WorkingSetState):  # its set-up was interrupted
            return s
        at, model, l1 = kept.coordinates, kept.model, problem.bounded_net.l1
        matters = (s.x[at] != 0) | (np.abs(own.gradient[at]) >= tuning.SETS.near_zero * l1[at])
        at = at[matters]
        model = None if model is None else model.cut(at)
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
        inside = Restricted(problem, s, self.tol)  # line 1
        inside.minimise()  # line 2
        x = s.x.copy()
        x[inside.at] = inside.x
        z = inside.predictions()
        after = replace(s, t=s.t + 1, passes=s.passes + 0.5 + inside.passes, own=inside.own)
        del inside  # and its z and y
        return _if_lower(problem, after, x, z)  # line 3


def _by_known_gram(problem: Problem, s: State, H: Array) -> State:
    """P minimised with H = A'QA, set by set with no product between: u <- u + H (x_new - x).

    The product z = A x comes last, and H is another when it is new.
    """
    from dualgap.linalg.compiled_gram import add_symmetric_product

    own: WorkingSetState = s.own
    at, x, u, first = own.coordinates, s.x.copy(), own.gradient.copy(), 0.0
    whole = GramModel(H, u, x, penalty_of(problem))
    for _ in range(tuning.SETS.rounds):
        gain = gains(problem, x, u)
        first, known = max(first, float(gain.max())), at.size
        at = np.sort(working_set(problem, x, gain, at, 2 * tuning.SETS.growth))
        if at.size == 0:
            break
        gain[at] = 0.0
        part = whole.restrict(at)
        goal = max(tuning.SETS.exact * first, tuning.SETS.enough * float(gain.max()))
        x[at] = part.minimise(goal)[0]
        few = tuning.GRAMS.last_growth * known  # a set that hardly grew is the last
        if at.size - known <= few or at.size == x.size or current().cut:
            break
        add_symmetric_product(H, at, x[at] - part.x, u)
    is_new = own.full_gram is None and not problem.design.knows_gram(problem.q)
    spent = 1.5 if is_new else 1.0
    own = replace(own, coordinates=at, full_gram=H)
    after = replace(s, t=s.t + 1, passes=s.passes + spent, own=own)
    return _if_lower(problem, after, x, None)


def is_cheap(problem: Problem) -> bool:
    """Whether H costs next to nothing, or is known, and will not change."""
    design = problem.design
    if not problem.regularizer.has_strengths:
        return False
    if not (problem.loss.is_quadratic and problem.size <= tuning.GRAMS.largest_side):
        return False
    if not design.is_sparse:
        return design.knows_gram(problem.q)
    return design.gram_multiplications(True) <= tuning.GRAMS.cheap_whole


def known_gram(problem: Problem, x: Array, u: Array) -> Array | None:
    """H in the lower triangle, if it is known, or cheap and many coordinates want to move."""
    if not is_cheap(problem):
        return None
    if problem.design.is_sparse and np.count_nonzero(gains(problem, x, u)) <= tuning.SETS.growth:
        return None
    return weighted_gram(problem.design, problem.q)


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


def _at(problem: Problem, s: State, x: Array, z: Array | None) -> State:
    """The state at x: P, the gradient and a dual point; z is looked for if it is not known."""
    new, slope, gradient = slope_and_dual(problem, s, x, z)
    return replace(new, own=replace(s.own, slope=slope, gradient=gradient))
