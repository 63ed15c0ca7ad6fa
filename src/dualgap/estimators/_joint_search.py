"""The search for coefficients and scale of a Huber regression: the two alternate.

For a fixed scale the coefficients solve a Huber problem; for fixed coefficients the best scale is a
formula. Each inner solve starts at the points before, and is asked for as much as helps the joint
gap (`_joint_scale`), which decides when to stop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.algorithms import Newton
from dualgap.api import Problem
from dualgap.certificate import Certificate
from dualgap.estimators._joint_newton import is_small, joint_newton
from dualgap.estimators._joint_scale import JointPoint, best_scale, joint_point
from dualgap.linalg.rounding import EPS
from dualgap.losses import Huber
from dualgap.result import Result
from dualgap.state import State
from dualgap.status import Status

SMALLEST_TOL = 1e-15
"""No inner solve is asked for a smaller relative gap than this, where it would only meet
rounding."""

FURTHER = 20.0
"""A line that meets its goal more than this many times as far away as the scale that is best for
the present coefficients is not followed."""

AMPLE = 100.0
"""Newton's method for coefficients and scale is begun only with so many passes to spend: it comes
to its end in a third of them, and is not interrupted."""

FINAL = (Status.STATIONARY, Status.DIVERGED)
"""Ends of an inner solve that another one would not change."""


@dataclass
class Place:
    """Where a search is: enough to go on exactly."""

    scale: float
    tol: float
    """The relative gap that the inner solve is asked for."""
    x: Array | None = None
    """Where the next inner solve starts, the intercept last; with the dual point over the scale."""
    dual: Array | None = None
    state: State | None = None
    """The state of an inner solve that a limit cut short, else None."""
    last: tuple[float, float] | None = None
    """The scale before, and the best one for its coefficients."""


def next_scale(place: Place, best: float) -> float:
    """Where ``best``, the scale for the coefficients of the scale at hand, would be that scale.

    It moves with the scale, but less: a line through the last two pairs says where they meet. It is
    followed for a while only: the pairs are those of coefficients that are not exact.
    """
    if place.last is None or place.last[0] == place.scale:
        return best
    before, theirs = place.last
    off, slope = best - place.scale, (best - theirs) / (place.scale - before)
    if not 0.0 <= slope <= 1.0 - 1.0 / FURTHER:
        return best
    return max(place.scale + off / (1.0 - slope), 0.5 * best)


@dataclass
class JointSearch:
    """Minimise scikit-learn's Huber objective over coefficients and scale.

    Parameters
    ----------
    base : Problem
        Data, weights and intercept; its own loss and strengths do not matter.
    epsilon, alpha, total : float
        As in `HuberRegressor`; the sum of the weights.
    tol : float
        The relative gap to reach.
    options : dict
        What every inner solve gets.
    tell : callable
        Told of the point after each inner solve; True to stop.
    place : Place, optional
        Where to start.
    may_jump : bool
        Whether the search may begin where Newton's method for coefficients and scale leads.
    """

    base: Problem
    epsilon: float
    alpha: float
    total: float
    tol: float
    options: dict[str, Any]
    tell: Callable[[Array, Any, float], bool]
    place: Place | None = None
    may_jump: bool = False

    def __post_init__(self) -> None:
        """The null model: its scale is where to start, its objective the unit of the gap."""
        base = self.base
        constant = base.mean(base.b) if base.fit_intercept else 0.0
        scale = best_scale(constant - base.b, base.q, self.epsilon)
        inner = self.at(scale)
        self.at_zero = scale + 2.0 / scale * inner.primal(inner.zeros(), inner.predict_zero())
        self.place = self.place or Place(scale, 1e-2)
        self.began = time.perf_counter()
        self.rows: list[tuple[float, ...]] = []
        self.spent = 0.0
        self.algorithm = ""
        self.best: JointPoint | None = None

    def at(self, scale: float) -> Problem:
        """The inner problem for this scale."""
        loss = Huber(threshold=self.epsilon * scale)
        return self.base.replace(loss=loss, l2=self.alpha * scale / self.total)

    def run(self, passes: float) -> Status:
        """Alternate until the joint gap is within tol or the passes are spent."""
        assert self.place is not None
        if self.may_jump and passes >= AMPLE and self._jump():
            return Status.CONVERGED
        place, stalled = self.place, 0
        if place.x is not None and place.dual is not None and place.state is None:
            problem = self.at(place.scale)  # the points of an earlier search may do as they are
            x = problem.join(place.x[: problem.d], *place.x[problem.d :].tolist())
            self._judge(problem, x, [place.dual * place.scale], place.scale, math.nan)
            if self.best is not None and self.best.within(self.tol):
                return Status.CONVERGED
        while True:
            problem = self.at(place.scale)
            result = self._solve(problem, place, passes - self.spent)
            x = problem.join(result.x, result.intercept)
            z = problem.predict(x)
            scale = best_scale(z - problem.b, problem.q, self.epsilon)
            inner = self.at(scale)
            duals = [result.y * (scale / place.scale), inner.loss.grad(z, problem.b)]
            before = math.inf if self.best is None else self.best.certificate.gap
            point = self._judge(inner, x, duals, scale, float(result.trace.strong_convexity[-1]))
            stop = self.tell(result.x, result.intercept, scale)
            if point.within(self.tol):
                return Status.CONVERGED
            if stop:
                return Status.CALLBACK
            if result.status is Status.PASS_LIMIT:
                place.state = result.state
                return Status.PASS_LIMIT
            if result.status in FINAL:
                return result.status
            gap = point.certificate.gap
            stalled = stalled + 1 if gap >= before else 0
            if stalled >= 5 and place.tol <= SMALLEST_TOL:
                return Status.ROUNDING
            # The joint gap may be of first order in the inner error (a dual point must be projected
            # where alpha = 0), the inner gap is of second: where the joint gap lags, ask for more.
            asked = place.tol * (0.01 if gap > 0.2 * before else 1.0)
            wanted = max(0.1 * point.certificate.relative_gap, 0.1 * self.tol)
            place.tol = max(min(asked, wanted), SMALLEST_TOL)
            place.dual = result.y / place.scale
            place.x = np.append(result.x, result.intercept if problem.fit_intercept else [])
            place.last, place.scale = (place.scale, scale), next_scale(place, scale)

    def _jump(self) -> bool:
        """Begin where Newton's method for both leads; whether the joint gap there is within tol."""
        base = self.base
        if not is_small(base):
            return False
        found = joint_newton(base, self.epsilon, self.alpha / self.total, self.tol)
        if found is None:
            return False
        self.spent += found.passes
        self.algorithm = Newton.name
        problem = self.at(found.scale)
        dual = problem.loss.grad(problem.predict(found.x), problem.b)
        point = self._judge(problem, found.x, [dual], found.scale, math.nan)
        self.place = self.settled()
        return point.within(self.tol)

    def _solve(self, problem: Problem, place: Place, passes: float) -> Result:
        """The inner problem, from the state or the points at hand."""
        start: dict[str, Any] = {}
        done = 0.0
        if place.state is not None:
            start, done = {"state": place.state}, place.state.passes
        elif place.x is not None and place.dual is not None:
            y = problem.loss.into_domain(place.dual * place.scale, problem.b)
            start = {"x0": place.x, "y0": y}
        place.state = None
        result = problem.solve(tol=place.tol, max_passes=max(passes, 0.0), **start, **self.options)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        self.spent += result.state.passes - done
        self.algorithm = result.algorithm
        return result

    def _judge(
        self, problem: Problem, x: Array, duals: list[Array], scale: float, Delta: float
    ) -> JointPoint:
        """Certify a point, keep the best, add a row to the trace."""
        point = joint_point(problem, x, duals, scale, self.at_zero)
        if self.best is None or point.certificate.gap < self.best.certificate.gap:
            self.best = point
        lower = max(point.certificate.dual, self.rows[-1][3] if self.rows else -math.inf)
        seconds, primal = time.perf_counter() - self.began, point.certificate.primal
        nowhere = (math.nan,) * 3  # step sizes belong to the inner solves
        lower = min(lower, primal - 4.0 * EPS * primal)  # no gap is less than its rounding
        self.rows.append((self.spent, seconds, primal, lower, primal - lower, Delta, *nowhere))
        return point

    def certified_rows(self, certificate: Certificate) -> list[tuple[float, ...]]:
        """The trace's rows, the last of which is the proof."""
        primal, dual, gap = certificate.primal, certificate.dual, certificate.gap
        seconds = time.perf_counter() - self.began
        return [*self.rows, (self.spent, seconds, primal, dual, gap, *self.rows[-1][5:])]

    def best_as(self, dtype: Any) -> JointPoint:
        """The best point, with coefficients that this dtype can hold, certified as such."""
        assert self.best is not None
        best, d = self.best, self.base.d
        if dtype != np.float32:
            return best
        x = best.x.copy()
        x[:d] = x[:d].astype(np.float32)
        return joint_point(best.problem, x, [best.dual], best.scale, self.at_zero)

    def settled(self) -> Place:
        """Where to go on: inside a solve that was cut short, or at the best point."""
        assert self.place is not None and self.best is not None
        if self.place.state is not None:
            return self.place
        x, intercept = self.base.split(self.best.x)
        joined = np.append(x, intercept if self.base.fit_intercept else [])
        scale = self.best.scale
        return Place(scale, self.place.tol, joined, self.best.dual / scale)
