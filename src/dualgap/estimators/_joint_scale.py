"""Huber regression with a free scale: objective, best scale, dual and certificate.

With r = Xw + c - b, h_t the Huber loss with threshold t (r^2/2, then t|r| - t^2/2), e = epsilon and
q_i = w_i/W, scikit-learn's objective divided by W is

    F(w, c, s) = s + (2/s) [ sum_i q_i h_{e s}(r_i) + (l/2)|w|^2 ],     l = alpha s/W,

jointly convex in (w, c, s): the sum is the perspective of 2 h_e. Conjugates of perspectives are
constraints: 2 s h_e(r/s) = sup over |y| <= 2e of y r - s y^2/4, so that min over s >= 0 gives

    D(y) = -sum_i q_i y_i b_i - (W/(4 alpha)) |X'Qy|^2   where   sum_i q_i y_i^2 <= 4, |y_i| <= 2e,

sum_i q_i y_i = 0 with an intercept, X'Qy = 0 if alpha = 0. Writing y = (2/s) v, and with v the dual
point of the inner problem at fixed s (threshold e s, strength l), F - D is a sum of three
terms that are each >= 0:

    F - D = (s - mean(v^2)/s) + (2/s) mean[h(r) + v^2/2 - v r] + (2/s) |l w + X'Qv|^2/(2 l).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.api import Problem
from dualgap.certificate import Certificate, Estimate
from dualgap.certificate.estimate import bounded_terms, evaluated
from dualgap.certificate.proof import LEAST_NORMAL, Bounds, bounds
from dualgap.certificate.value import not_proved
from dualgap.dual_points.feasible import DualPoint, make_feasible
from dualgap.dual_points.products import PLAIN, Predicted
from dualgap.enclosures.digits import coefficient_error
from dualgap.enclosures.directed import (
    UNIT,
    arithmetic_is_ieee,
    down,
    up,
    weighted_sum_down,
    weighted_sum_up,
)
from dualgap.linalg.rounding import EPS

SMALLEST_SCALE = 10.0 * EPS
"""scikit-learn's bound on the scale."""
ALMOST = 0.95
"""A search ends where the gap in floats is this share of tol: the proof has a little on top."""
BLUR = 16.0 * UNIT
"""Threshold e s and strength l = alpha s/W of the inner problem are floats within this share."""
INSIDE = 1.0 - 1e-14
"""v is shrunk a little inside of |v|^2 <= s^2, so that this can be proved."""


class JointPoint(NamedTuple):
    """A point (x with the intercept in it, scale), and a bound on F - F* there."""

    problem: Problem
    """The inner problem at this scale."""
    x: Array
    scale: float
    dual: Array
    """The v that the certificate rests on."""
    certificate: Estimate
    """The gap in floats."""
    primal_at_zero: float
    """F at x = 0, for relative gaps."""

    def within(self, tol: float) -> bool:
        """Whether the relative gap is within tol, in floats."""
        return self.certificate.relative_gap <= ALMOST * tol

    def proved(self) -> Certificate:
        """The proof of F - F* <= gap."""
        with np.errstate(all="ignore"):
            return _proved(self.problem, self.x, self.dual, self.scale, self.primal_at_zero)


def best_scale(r: Array, q: Array, epsilon: float) -> float:
    """The s that minimises F for these residuals: sum_i q_i min(r_i^2/s^2, e^2) = 1.

    With the residuals in order of size, the first k of them inside, s^2 = S_k/(1 - e^2 (1 - Q_k)),
    where S_k = sum q r^2 and Q_k = sum q over them.
    """
    size = np.abs(r[q > 0])
    order = np.argsort(size)
    size, weight = size[order], q[q > 0][order]
    S, Q = np.cumsum(weight * size * size), np.cumsum(weight)
    outside = 1.0 - Q
    with np.errstate(divide="ignore", invalid="ignore"):
        # The sum at s = size_k/e, where residual k is just inside; it falls with k.
        at_break = epsilon**2 * (S / size**2 + np.maximum(outside, 0.0))
    at_break[size == 0.0] = np.inf
    enough = np.flatnonzero(at_break <= 1.0)
    # All residuals up to the first break with a sum <= 1 are outside or inside: those before it
    # are inside.
    k = int(enough[0]) if enough.size else size.size
    if k == 0:
        return SMALLEST_SCALE
    rest = 1.0 - epsilon**2 * max(float(outside[k - 1]), 0.0)
    if rest <= 0.0:
        return SMALLEST_SCALE
    return max(math.sqrt(float(S[k - 1]) / rest), SMALLEST_SCALE)


def joint_point(
    problem: Problem, x: Array, duals: list[Array], scale: float, primal_at_zero: float
) -> JointPoint:
    """F and its gap in floats at x and ``scale``; the best of the dual points v counts.

    Parameters
    ----------
    problem : Problem
        The inner problem at ``scale``.
    x : array
        With the intercept in it.
    duals : list of array
        Candidates v of the inner problem; they are made feasible.
    scale : float
        s.
    primal_at_zero : float
        F at x = 0 with its own best scale, for relative gaps.
    """
    at = PLAIN.predict(problem, x)
    phi = problem.mean_loss(at.z)
    inner = phi + problem.regularizer.value(x)
    primal = scale + 2.0 / scale * inner
    gap, rounding, chosen = math.inf, math.inf, duals[0]
    for dual in duals:
        found = _gap(problem, x, at, phi, dual, scale)
        if found is not None and found[0] < gap:
            gap, rounding, chosen = *found, dual
    certified = math.isfinite(gap)
    unit = max(primal, 1e-12 * primal_at_zero)
    estimate = Estimate(
        primal=primal,
        dual=primal - gap if certified else -math.inf,
        gap=gap,
        relative_gap=gap / unit if certified and unit > 0 else gap,
        certified=certified,
        kind="gap_scaled_dual" if certified else "none",
        rounding=rounding,
    )
    return JointPoint(problem, x, scale, chosen, estimate, primal_at_zero)


def _gap(
    problem: Problem, x: Array, at: Predicted, phi: float, dual: Array, scale: float
) -> tuple[float, float] | None:
    """F - D at v made feasible, and the part of it that is rounding."""
    point = make_feasible(problem, at.z, dual)
    if point is None:
        return None
    square = problem.mean(point.y * point.y)
    # |v|^2 <= s^2: shrink, which keeps every other constraint.
    t = min(1.0, scale / math.sqrt(square)) if square > 0 else 1.0
    # The last step to a feasible point is steeper by (1 - t)|v| where v has shrunk.
    extra = point.extra + (1.0 - t) * point.reach * math.sqrt(square)
    shrunk = DualPoint(
        t * point.y, t * point.u, point.kind, t * point.length, t * point.error, extra
    )
    loss, penalty, bare = bounded_terms(problem, x, evaluated(problem, at, phi), phi, shrunk)
    # s - t^2 |v|^2/s, whose terms round.
    from_scale = max(scale - t * t * square / scale, 0.0)
    gap = from_scale + 4.0 * EPS * scale + 2.0 / scale * (loss + penalty)
    return gap, gap - from_scale - 2.0 / scale * bare


def _proved(
    problem: Problem, x: Array, dual: Array, scale: float, primal_at_zero: float
) -> Certificate:
    """The three terms of F - D from above; what roundings of e s and l do to them is counted.

    With a threshold T' within BLUR of T, h_T' differs from h_T by at most BLUR T |r|; and |v| <= T'
    is made sure of by a scaling of v by 1 - BLUR (the scaling lemma of `certificate.proof`).
    """
    why = None if arithmetic_is_ieee() else "This thread does not round to nearest."
    if not problem.loss.parameter >= LEAST_NORMAL or 0.0 < problem.l2 < LEAST_NORMAL:
        why = "The scale is below the normal range of floats."
    z = problem.predict(x)
    point = make_feasible(problem, z, dual)
    primal = scale + 2.0 / scale * problem.primal(x, z)
    if why is not None or point is None or not math.isfinite(primal):
        return not_proved(primal, why or "No feasible dual point was found.")
    size = math.sqrt(problem.mean(point.y * point.y))
    t = min(1.0, scale / size * INSIDE) if size > 0.0 else 1.0
    found = bounds(problem, x, point._replace(y=t * point.y), blur=BLUR)
    low, high = _mean_square(problem, found)
    inside = 1.0 - 2.0 * BLUR
    if found.s is None or not up(high * inside) <= down(scale * scale):
        return not_proved(primal, "The dual point could not be proved to be feasible.")
    low = down(low * inside * inside)
    rest = up(found.primal_high * 2.0 * BLUR)
    ends = found.at.ends(slice(None))
    far = up(np.maximum(up(ends[1] - problem.b), up(problem.b - ends[0])))
    edge = weighted_sum_up(problem.sample_weight, np.maximum(far, 0.0)) / found.weight.low
    rest = up(rest + up(up(edge) * problem.loss.parameter * 2.0 * BLUR))
    terms = up(up(found.loss + found.penalty) + rest)
    gap = up(up(scale - down(low / scale)) + up(up(2.0 / scale) * terms))
    least = down(scale + down(down(2.0 / scale) * max(down(found.primal_low - rest), 0.0)))
    unit = max(least, 1e-12 * primal_at_zero)
    coefficients = problem.split(x)[0]
    l2 = down(problem.l2 * 2.0 / scale * (1.0 - 4.0 * BLUR))  # F is this strongly convex in w
    strength = np.full(coefficients.shape, max(l2, 0.0))
    nowhere = np.zeros(coefficients.shape, dtype=bool)
    return Certificate(
        primal=primal,
        dual=down(least - gap),
        gap=gap,
        relative_gap=up(gap / unit) if unit > 0.0 else math.inf,
        certified=True,
        kind="gap_projected_dual" if point.kind == "gap_projected_dual" else "gap_scaled_dual",
        distance=up(math.sqrt(up(2.0 * gap / l2))) if l2 > 0.0 else math.inf,
        coef_error=coefficient_error(gap, strength, coefficients, nowhere),
        support=nowhere,
    )


def _mean_square(problem: Problem, found: Bounds) -> tuple[float, float]:
    """Between which numbers sum_i q_i v'_i^2 is, at the real dual point v'."""
    w, v, weight, moved = problem.sample_weight, np.abs(found.rows.y), found.weight, found.moved
    if moved is None:
        return 0.0, math.inf
    move = np.zeros_like(v) if moved.move is None else moved.move
    least = np.maximum(down(down(v * down(1.0 - moved.tau)) - move), 0.0)
    low = weighted_sum_down(w, np.maximum(down(least * least), 0.0)) / weight.high
    most = up(v + move)
    high = weighted_sum_up(w, up(most * most)) / weight.low
    t = found.scaled
    return max(down(down(low) * down(t * t)), 0.0), up(up(high) * up(t * t))
