"""Newton's method with one H for many points of a path: an algorithm for `driver.light`.

From x and z = A x, continued from the points before (z as x is, so that it costs no product):

    y = phi'(z),  u = A'Qy,  until the gap is small enough
    d = argmin u'd + (1/2) d'Hd + g(x + d),   H = A' diag(q phi'') A at this or an earlier point
    x <- x + d,  z <- A x

H is formed anew where it no longer serves, and a step that raises P is shortened. Where steps have
left so little of the gap that the next point is as good as found, it is not looked at before it is
judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Start
from dualgap.algorithms.points import gap_nearby
from dualgap.algorithms.second_order.base import SecondOrder
from dualgap.algorithms.second_order.curvature import curvature, is_smooth
from dualgap.algorithms.second_order.tuning import GRAMS
from dualgap.linalg.line_search import HALVINGS, Trial, first_that_falls
from dualgap.linalg.rounding import UNIT
from dualgap.paths._ahead import CONTINUED
from dualgap.paths._models import Model, model_for
from dualgap.paths._sets import MARGIN
from dualgap.problem import Problem
from dualgap.state import State, replace

LEAST_RATE = 1e-3
"""A step is never trusted to leave less than this share of the gap (its square: squared loss)."""
LOOSE = 0.1
"""A quadratic model is solved until the step leaves at most this share of the gap."""


def pays(problem: Problem, strengths: Sequence[tuple[float, float]]) -> bool:
    """Whether the path is one for this, and shorter so."""
    free = not problem.penalty_weights.all() or any(l1 + l2 <= 0 for l1, l2 in strengths)
    if problem.loss.is_vector or not is_smooth(problem) or free or len(strengths) <= CONTINUED:
        return False
    if all(l1 == 0 for l1, _ in strengths):
        return not problem.loss.is_quadratic
    # Squared loss with l1 alone, and too many columns for a Gram matrix: solves on dense working
    # sets take fewer passes.
    lasso_too = problem.size <= GRAMS.largest_side or not problem.loss.is_quadratic
    lasso_too = lasso_too or problem.design.is_sparse
    return all(l1 > 0 and (l2 > 0 or lasso_too) for l1, l2 in strengths)


class Before(NamedTuple):
    """The point that a step has left."""

    x: Array
    z: Array
    """A x + offset."""
    primal: float
    """P(x)."""
    gap: float
    """About the gap there."""


@dataclass(frozen=True, eq=False)
class ChordState:
    """What a run with one H for many points knows besides its point."""

    hess: Array
    """The second derivative phi''(z_i) of the loss of each row."""
    gap: float
    """About the gap once y is made feasible; what is expected of it where nobody has looked."""
    model: Model | None = None
    """H, with a way to the minimiser of its model; None before it is formed."""
    rates: tuple[float, float] = (math.inf, math.inf)
    """What the last step with an old H has left of the gap, and the last with a new one."""
    is_new: bool = False
    """Whether H was formed for the last step."""
    before: Before | None = None
    """Where the last step began; None before the first."""
    is_known: bool = True
    """Whether z, y and u belong to x; otherwise nobody has looked at x yet."""
    was_short: bool = False
    """Whether the last step had to be shortened."""


@dataclass(frozen=True)
class Chords(SecondOrder):
    """Newton's method whose runs inherit H."""

    tol: float = 1e-6

    def aiming_at(self, tol: float) -> Chords:
        """Steps that are expected to arrive there are not looked at."""
        return replace(self, tol=tol)

    def start(
        self, problem: Problem, x0: Array | None, y0: Array | None, advice: Advice = NO_ADVICE
    ) -> Start:
        """The state at x0, and y = phi'(z) there (y0 plays no part)."""
        x, z, passes = problem.zeros() if x0 is None else x0, advice.predictions, 0.0
        if z is None:
            z, passes = problem.predict(x), 0.5
        phi, y = problem.mean_loss_grad(z)
        s = State(
            algorithm=self.name, t=0, passes=passes, x=x, y=y, z=z, u=x, dual=-math.inf,
            primal=phi + problem.elastic_net.value(x), own=ChordState(y, math.inf),
        )  # fmt: skip
        return Start(_measured(problem, s))

    def inherit(self, problem: Problem, s: State, earlier: State) -> State:
        """H, at the strengths of this problem, and how good its steps have been."""
        kept: ChordState = earlier.own
        model = None if kept.model is None else kept.model.at_strengths(problem)
        return replace(s, own=replace(s.own, model=model, rates=kept.rates))

    def estimated_gap(self, problem: Problem, s: State) -> float:
        """The gap near the solution."""
        return float(s.own.gap)

    def step(self, problem: Problem, s: State) -> State:
        """To the minimiser of the model, with an H that serves; P = inf where none can be had."""
        if not s.own.is_known:
            s = _looked_at(problem, s, None)
        own: ChordState = s.own
        gap, target = own.gap, self.tol * problem.scale(s.primal)
        last = math.inf if own.before is None else own.before.gap
        model, is_new = own.model, False
        if not (0.0 < gap < math.inf and s.primal < math.inf):
            return replace(s, t=s.t + 1, primal=math.inf)
        if (
            model is None
            or own.was_short
            or not model.serves(problem, s)
            # With a new H about one step is left: it pays if more are saved than it costs.
            or _steps_left(gap, last, target) > model.price + 1.0
        ):
            is_new, model = True, model_for(problem, s, own.hess, model)
            if model is None:
                return replace(s, t=s.t + 1, primal=math.inf)
        share = max(min(LOOSE, MARGIN * target / gap), _forcing(problem, gap, last))
        d, Ad, passes = model.step(problem, s, share)
        expected = own.rates[is_new] * gap
        known = expected > MARGIN * target
        own = replace(
            own, model=model, is_new=is_new, before=Before(s.x, s.z, s.primal, gap), gap=expected,
            is_known=known,
        )  # fmt: skip
        new = replace(s, t=s.t + 1, passes=s.passes + passes + is_new, x=s.x + d, own=own)
        return _looked_at(problem, new, None if Ad is None else s.z + Ad) if known else new


def _looked_at(problem: Problem, s: State, far: Array | None) -> State:
    """The state at its x, or at a point on the way there that is no worse than the one before.

    ``far`` is z there, if it is known.
    """
    own, before, x, passes = s.own, s.own.before, s.x, s.passes
    if far is None:
        far, passes = problem.predict(x), passes + 0.5

    def look(share: float) -> Trial:
        end, z = x, far
        if share < 1.0:
            end, z = before.x + share * (x - before.x), before.z + share * (far - before.z)
        phi, y = problem.mean_loss_grad(z)
        return Trial(phi + problem.elastic_net.value(end), 0.0, (end, z, y))

    # A sum over many rows may rise by its rounding.
    found = first_that_falls(look, HALVINGS, before.primal, 0.0, 8.0 * UNIT)
    if found is None and own.is_new:
        return replace(s, primal=math.inf)
    share, end = (0.0, look(0.0)) if found is None else found
    x, z, y = end.point
    own = replace(own, is_known=True, was_short=share < 1.0)
    return _measured(problem, replace(s, x=x, z=z, y=y, primal=end.value, passes=passes, own=own))


def _measured(problem: Problem, s: State) -> State:
    """With u, phi'' and about the gap, and what the last step has left of it."""
    own, u, hess = s.own, problem.adjoint(s.y), curvature(problem, s.z, s.y)
    gap, rates = gap_nearby(problem, s.x, s.y, u, hess), own.rates
    if own.before is not None:
        least = LEAST_RATE**2 if problem.loss.is_quadratic else LEAST_RATE
        rate = max(gap / own.before.gap, least)
        rates = (rates[0], rate) if own.is_new else (rate, rates[1])
    own = replace(own, hess=hess, gap=gap, rates=rates)
    return replace(s, u=u, passes=s.passes + 0.5, own=own)


def _forcing(problem: Problem, gap: float, last: float) -> float:
    """What of the gap a model is worth, by what the last step gained (Eisenstat and Walker)."""
    if problem.loss.is_quadratic:
        return 0.0
    return LOOSE if last == math.inf else min(LOOSE, (gap / last) ** 2)


def _steps_left(gap: float, last: float, target: float) -> float:
    """If each reduces the gap as the last one did; before the first there is hope."""
    if last == math.inf or gap <= target:
        return 0.0
    return math.log(target / gap) / math.log(gap / last) if gap < last else math.inf
