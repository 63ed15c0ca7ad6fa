"""Other losses, and l1 with many columns: Newton's method along the path, many points with one H.

From x and z = A x, continued from the points before (z as x is, so that it costs no product):

    y = phi'(z),  u = A'Qy,  until the gap is small enough
    d = argmin u'd + (1/2) d'Hd + g(x + d),   H = A' diag(q phi'') A at this or an earlier point
    x <- x + d,  z <- z + A d

without l1 by a factor of H + diag(l2) or what stands in for it (`_hessians`), with l1 by coordinate
descent on H (`_descent`). H is formed anew where it no longer serves, and a step that raises P is
shortened. Nothing rests on any of this but speed: points are certified from the data, and one that
does not come near soon is left to a solve of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.algorithms.second_order.curvature import curvature, is_smooth
from dualgap.algorithms.second_order.tuning import GRAMS
from dualgap.certificate import Estimate, estimate_at
from dualgap.designs.intercept import InterceptDesign
from dualgap.limits import passes_at_most
from dualgap.linalg.line_search import Trial, first_that_falls
from dualgap.linalg.rounding import EPS
from dualgap.paths._ahead import Stop
from dualgap.paths._descent import Descent
from dualgap.paths._gram import FEWEST
from dualgap.paths._hessians import Factor, Hessian, Subspace, may_factorise
from dualgap.problem import Problem

MOST = 10
"""A point that is not found after so many Newton steps is left to a solve of its own."""
LEAST_RATE = 1e-3
"""A step is never trusted to leave less than this share of the gap (its square: squared loss)."""
AFTER = 1.0
"""With a new H about so many steps are left; so H is formed if more are saved than it costs."""
MARGIN = 0.5
"""A point is certified once its estimated gap is at most this share of the one asked for."""
SURE = 0.3
"""This share is asked of an estimate that a step gains what the last one did."""
LOOSE = 0.1
"""A quadratic model is solved until the step leaves at most this share of the gap."""
HALVINGS = 10
"""A step that raises P is halved at most so many times."""
FAILURES = 2
"""In a row, after which nothing is tried any more."""


def pays(problem: Problem, strengths: Sequence[tuple[float, float]]) -> bool:
    """Whether the path is one for this, and shorter so."""
    free = not problem.penalty_weights.all() or any(l1 + l2 <= 0 for l1, l2 in strengths)
    if problem.loss.is_vector or not is_smooth(problem) or free or len(strengths) < FEWEST:
        return False
    if all(l1 == 0 for l1, _ in strengths):
        return not problem.loss.is_quadratic
    # Squared loss with l1 alone, and too many columns for a Gram matrix: solves on dense working
    # sets take fewer passes.
    lasso_too = problem.size <= GRAMS.largest_side or not problem.loss.is_quadratic
    lasso_too = lasso_too or problem.design.is_sparse
    return all(l1 > 0 and (l2 > 0 or lasso_too) for l1, l2 in strengths)


class Found(NamedTuple):
    """A point of the path, what it is worth, and what it took."""

    stop: Stop
    certificate: Estimate
    passes: float


class Tracker:
    """Finds points of a path, and keeps H for the next one.

    Parameters
    ----------
    tol : float
        The relative gap that points are certified to.
    most : float
        Passes over the data that a point may cost.
    """

    def __init__(self, tol: float, most: float = math.inf) -> None:
        self.tol, self.most = tol, most
        self.failures = 0
        self.rates = {True: math.inf, False: math.inf}
        """What the last step with a fresh H left of the gap, and the last with an old one."""
        self.model: Hessian | None = None
        self.spent = 0.0
        """Passes of the last attempt."""

    @property
    def gave_up(self) -> bool:
        """Whether nothing is tried any more."""
        return self.failures >= FAILURES

    def find(self, problem: Problem, x: Array, z: Array) -> Found | None:
        """The point, from x and z = A x nearby; None where it is given up."""
        self.spent = 0.0
        if self.gave_up:
            return None
        quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
        with quiet, passes_at_most(problem, self.most):
            found = self._find(problem, x, z)
        self.failures = self.failures + 1 if found is None else 0
        return found

    def _find(self, problem: Problem, x: Array, z: Array | None) -> Found | None:
        if self.model is None:
            self.model = _hessian_for(problem)
        model, before = self.model, math.inf
        model.begin(problem)
        fresh, target = False, 0.0
        last: _Point | None = None
        for _ in range(MOST):
            if self.rates[fresh] * before <= SURE * target:  # as good as certain
                found = self._certified(problem, x)
                if found is not None:
                    self._learn(problem, fresh, found.certificate.gap / before)
                    return found
            if z is None:
                z = problem.predict(x)
                self.spent += 0.5
            self.spent += 0.5
            at = _evaluated(problem, x, z)
            short = False
            if last is not None and at.primal > last.primal * (1.0 + 4.0 * EPS):
                short, at = True, _shortened(problem, last, at)
                if fresh and at is last:
                    return None
            x, z, y, last = at.x, at.z, at.y, at
            u, hess = problem.adjoint(y), curvature(problem, z, y)
            gap, target = _gap(problem, x, y, u, hess), self.tol * problem.scale(at.primal)
            if before < math.inf:
                self._learn(problem, fresh, gap / before)
            if gap <= MARGIN * target:
                found = self._certified(problem, x)
                if found is not None:
                    return found
            if not 0.0 < gap < math.inf or self.spent > self.most:
                return None
            fresh = short or not model.serves(problem, x, u)
            fresh = fresh or _steps_left(gap, before, target) > model.price + AFTER
            if fresh:
                spent = model.renew(problem, x, u, hess)
                if spent is None:
                    return None
                self.spent += spent
            share = max(min(LOOSE, SURE * target / gap), _forcing(problem, gap, before))
            before = gap
            d, Ad, spent = model.step(problem, x, z, y, u, share)
            x, z = x + d, None if Ad is None else z + Ad
            self.spent += spent
        return None

    def _learn(self, problem: Problem, fresh: bool, rate: float) -> None:
        """What a step left of the gap."""
        least = LEAST_RATE**2 if problem.loss.is_quadratic else LEAST_RATE
        self.rates[fresh] = max(rate, least)

    def _certified(self, problem: Problem, x: Array) -> Found | None:
        """The point, if its certificate says so."""
        certificate, y, z = estimate_at(problem, x)
        self.spent += 1.0
        if not (certificate.certified and certificate.relative_gap <= self.tol):
            return None
        if self.spent > self.most:
            return None
        return Found(Stop(problem.l1 + problem.l2, x, y, z), certificate, self.spent)


class _Point(NamedTuple):
    """x, z = A x + offset, y = phi'(z) and P."""

    x: Array
    z: Array
    y: Array
    primal: float


def _evaluated(problem: Problem, x: Array, z: Array) -> _Point:
    phi, y = problem.mean_loss_grad(z)
    return _Point(x, z, y, phi + problem.elastic_net.value(x))


def _shortened(problem: Problem, start: _Point, end: _Point) -> _Point:
    """A point between the two that is no worse than the first, if there is one."""

    def look(share: float) -> Trial:
        x = start.x + share * (end.x - start.x)
        new = _evaluated(problem, x, start.z + share * (end.z - start.z))
        return Trial(new.primal, 0.0, new)

    lengths = (0.5 ** (k + 1) for k in range(HALVINGS))
    found = first_that_falls(look, lengths, start.primal, decrease=0.0, rounding=0.0)
    return start if found is None else found[1].point


def _hessian_for(problem: Problem) -> Hessian:
    """The kind that suits."""
    if problem.l1 > 0:
        return Descent()
    return Factor() if may_factorise(problem) else Subspace()


def _forcing(problem: Problem, gap: float, before: float) -> float:
    """What of the gap a model is worth, by what the last step gained (Eisenstat and Walker)."""
    if problem.loss.is_quadratic:
        return 0.0
    return LOOSE if before == math.inf else min(LOOSE, (gap / before) ** 2)


def _steps_left(gap: float, before: float, target: float) -> float:
    """If each reduces the gap as the last one did; before the first there is hope."""
    if before == math.inf or gap <= target:
        return 0.0
    return math.log(target / gap) / math.log(gap / before) if gap < before else math.inf


def _gap(problem: Problem, x: Array, y: Array, u: Array, hess: Array) -> float:
    """About the gap at y = phi'(z) once it is feasible: scaled by t, or by 1 - s on one side.

    phi(z) + phi*(ty) - t yz is (1 - t)^2 y^2/(2 phi''(z)) to second order.
    """
    g, t = problem.elastic_net, 1.0
    if g.has_boxed:
        t = 1.0 / max(1.0, float(np.max(np.abs(u[g.boxed]) / g.l1[g.boxed])))
    if g.has_l1:
        gap = float(g.fenchel_gap(x, np.where(g.free, 0.0, -t * u)).sum())
    else:
        d = problem.d  # without the intercept
        r = u[:d] + g.l2[:d] * x[:d]
        gap = 0.5 * dot(r, r / g.l2[:d])
    shrunk = (1.0 - t) ** 2
    if isinstance(problem.design, InterceptDesign):
        mean = float(u[-1]) / problem.design.scale
        shrunk += (mean / (problem.mean(np.abs(y)) or 1.0)) ** 2
    if shrunk > 0.0:
        squares = np.divide(y * y, hess, out=np.zeros_like(y), where=hess > 0)
        gap += 0.5 * shrunk * problem.mean(squares)
    return gap
