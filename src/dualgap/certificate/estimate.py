"""The gap in floats, which steers runs: an estimate of the bound that `proof` proves.

It knows nothing of how x and y were found. The gap is evaluated as a sum of terms that are >= 0 one
by one,

    P - D = sum_i q_i [phi_i(z_i) + phi_i*(y_i) - y_i z_i] + [g(x) + g*(s) - s'x],   s = -A'Qy,

so it does not suffer from the cancellation of P - D.
"""

from __future__ import annotations

import functools
import math
from typing import Literal, NamedTuple

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.dual_points import intervals as dual_intervals
from dualgap.dual_points.feasible import DualPoint, asked_about, make_feasible
from dualgap.dual_points.loss_errors import cancelled, largest_within, noise
from dualgap.dual_points.products import (
    PLAIN,
    PRECISE,
    OneReading,
    Predicted,
    Products,
    may_be_precise,
)
from dualgap.dual_points.refinement import newton_dual
from dualgap.linalg.rounding import UNIT
from dualgap.losses.multinomial import own
from dualgap.problem import Problem

Kind = Literal["gap", "gap_scaled_dual", "gap_projected_dual", "none"]
NEAR_ZERO = 1e-3
"""Where P(x) is at most this share of P0, P(x) itself is stated as a bound on P(x) - P*."""
CLEAR = 1e-10
"""Relative gaps below this are never computed with twice the digits."""
TINY = 1e-300
"""Larger than any product of a weight with a number that float64 rounds to 0."""
SUMS = 4e-15
"""What pairwise sums of terms >= 0 round to, relative to themselves."""


class Estimate(NamedTuple):
    """A bound on P(x) - P* in floats: what runs are steered by, and not a proof.

    Attributes
    ----------
    primal : float
        P(x).
    dual : float
        About a lower bound on P*: primal - gap, less what rounding may have done to primal.
    gap : float
        P(x) - P* is hardly more, whatever rounding may have done to the sums behind it.
    relative_gap : float
        gap / max(P(x), 1e-12 P0), what ``tol`` is held against.
    certified : bool
        Whether there is a bound.
    kind : str
        How it was found: the first three kinds of `Certificate`, or ``"none"``.
    rounding : float
        What rounding may have done to primal, and the part of the gap that stands for rounding (it
        is in the gap).
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    certified: bool
    kind: Kind
    rounding: float


def estimated_gap(problem: Problem, x: Array, y: Array | None = None) -> float:
    """The gap of x (with the intercept in it) and y in floats; inf where there is none."""
    return estimate_at(problem, x, y)[0].gap


def estimated_pair(problem: Problem, x: Array, y: Array | None) -> tuple[Estimate, Array]:
    """The estimate of x (with the intercept in it) and y, and y: phi'(A x) if none is given."""
    return estimate_at(problem, x, y)[:2]


def estimate_at(
    problem: Problem, x: Array, y: Array | None = None
) -> tuple[Estimate, Array, Array]:
    """The estimate of x and y, that y, and z = A x + offset."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        plain = _estimated(problem, x, y, PLAIN)
        if not (_is_clouded(problem, plain[0]) and may_be_precise(problem)):
            return plain
        points = {id(point): point for point in (y, plain[1])}.values()
        found = (_estimated(problem, x, point, PRECISE) for point in points)
        return min(plain, *found, key=lambda judged: judged[0].gap)


def _is_clouded(problem: Problem, estimate: Estimate) -> bool:
    """Whether the gap is mostly rounding, and more of it than anybody's tol."""
    if not math.isfinite(estimate.primal):
        return False
    unclear = estimate.gap > CLEAR * problem.scale(estimate.primal)
    return unclear and estimate.rounding > 0.1 * estimate.gap


def _estimated(
    problem: Problem, x: Array, y: Array | None, products: Products
) -> tuple[Estimate, Array, Array]:
    if products is PLAIN and problem.design.streams:
        guess = None if y is None else asked_about(problem, y)
        products = products if guess is None and y is not None else OneReading(guess)
    at = products.predict(problem, x)
    if y is None:
        y = problem.slopes(at.z)
    return _estimate_point(problem, x, at, y, products), y, at.z


def _estimate_point(
    problem: Problem, x: Array, at: Predicted, y: Array, products: Products
) -> Estimate:
    phi = problem.mean_loss(at.z)
    primal = phi + problem.regularizer.value(x)
    if not (np.isfinite(x).all() and math.isfinite(primal)):
        return _make(problem, primal, math.inf, "none", math.inf)
    at = evaluated(problem, at, phi)
    # What rounding may have done to P, in either direction.
    doubt = (
        largest_within(problem, primal, at.z, at.error)
        - primal
        + SUMS * primal
        + noise(problem, at.z)
    )
    best = _duality_gap(problem, x, at, phi, y, products)
    if best is None or _is_hidden(problem, best, primal):
        # No dual point, or one whose own infeasibility hides the gap: that of a Newton step.
        newton = newton_dual(problem, x, at.z)
        other = None if newton is None else _duality_gap(problem, x, at, phi, newton, products)
        if other is not None and (best is None or other.gap < best.gap):
            best = other
    if primal == 0.0 or problem.is_below_null(primal, NEAR_ZERO):
        # y = 0 is feasible whatever the data, and D(0) = 0 because no loss is ever negative.
        zero = _gap_at_zero(problem, x, at, phi)
        if best is None or zero.gap < best.gap:
            best = zero
    return _make(problem, primal, *(best or Bound(math.inf, "none", math.inf)), doubt)


def _is_hidden(problem: Problem, best: Bound, primal: float) -> bool:
    """Whether a projected dual point's gap is rounding; for squared loss that is its square."""
    if best.kind != "gap_projected_dual" or best.gap > 2.0 * best.rounding:
        return False
    return not problem.loss.is_quadratic or best.gap > CLEAR * primal


def _gap_at_zero(problem: Problem, x: Array, at: Predicted, phi: float) -> Bound:
    """P(x) itself, an upper bound on it that is."""
    loss = largest_within(problem, phi, at.z, at.error)
    if at.each is not None:  # phi is convex: an end of the interval has the largest value
        each = at.each + 4.0 * UNIT * problem.loss.rounded(at.z, problem.b)
        ends = (problem.loss.value(end, problem.b) for end in _ends(problem, at.z, each))
        loss = min(loss, problem.mean(functools.reduce(np.maximum, ends)))
    penalty = problem.regularizer.value(x)
    gap = (loss + noise(problem, at.z) + penalty) * (1.0 + 10.0 * SUMS) + _underflow(problem)
    return Bound(gap, "gap_scaled_dual", gap - phi - penalty)


def _ends(problem: Problem, z: Array, each: Array) -> tuple[Array, ...]:
    """Predictions within ``each`` of z, one of which has the largest loss of all that are."""
    if z.ndim == 1:
        return z - each, z + each
    worst, at = z + each, own(problem.b)  # a loss falls with the own score and rises with others
    worst[at] = z[at] - each[at]
    return (worst,)


class Bound(NamedTuple):
    """P(x) - P* <= gap, how it was found, and the part of it that stands for rounding."""

    gap: float
    kind: Kind
    rounding: float


def _make(
    problem: Problem,
    primal: float,
    gap: float,
    kind: Kind,
    rounding: float,
    doubt: float = 0.0,
) -> Estimate:
    certified = kind != "none" and math.isfinite(gap)
    if not certified:
        gap, kind, rounding = math.inf, "none", math.inf
    scale = problem.scale(primal)
    relative = gap / scale if 0 < scale < math.inf else (0.0 if gap == 0 else math.inf)
    return Estimate(
        primal=primal,
        dual=primal - doubt - gap if certified else -math.inf,
        gap=gap,
        relative_gap=relative,
        certified=certified,
        kind=kind,
        rounding=rounding + doubt,
    )


def _duality_gap(
    problem: Problem,
    x: Array,
    at: Predicted,
    phi: float,
    y: Array,
    products: Products,
) -> Bound | None:
    """The gap at y made feasible, with everything that rounding may hide.

    h(z, y) = phi(z) + phi*(y) - y z is >= 0, and an error of z counts by its square where h is
    small (`loss_errors`): twice nothing. The same for a regulariser's term with l2 > 0, which is
    1/l2-smooth in s: an error e makes of it at most (sqrt(term) + |e|/sqrt(2 l2))^2.
    """
    point = make_feasible(problem, at.z, y, products, phi)
    if point is None:
        return None
    loss, penalty, bare = bounded_terms(problem, x, at, phi, point)
    gap = (loss + penalty) * (1.0 + SUMS) + _underflow(problem)
    if not math.isfinite(gap):
        return None
    rounding = max(gap - bare, 0.0)
    if gap > CLEAR * phi:
        rounding += _last_bits(problem, point.length, gap)
    return Bound(gap, point.kind, rounding)


def _last_bits(problem: Problem, length: Array, gap: float) -> float:
    """What the last bits of y, a float, can do to the gap where columns are large."""
    if not problem.regularizer.has_strengths:
        moved = UNIT * np.multiply.outer(problem.column_norms, length)
        return dual_intervals.last_bits(problem, moved, gap)
    g = problem.elastic_net
    most = UNIT * float(length if length.ndim == 0 else length.max())
    most *= problem.constants.largest_column
    quick = most * most * g.l2.size / (2.0 * g.penalised_strength) if g.has_l2 else 0.0
    if g.has_boxed:
        quick += most / g.least_l1 * problem.primal_at_zero
    if quick <= 1e-3 * gap:
        return 0.0
    moved = UNIT * np.multiply.outer(problem.column_norms, length)
    total = float((moved * moved / (2.0 * g.divisors)).sum()) if g.has_l2 else 0.0
    if g.has_boxed:
        boxed = g.boxed.reshape(-1)
        total += min(1.0, float((moved[boxed] / g.l1[boxed]).max())) * problem.null_value
    return min(total, gap)


def bounded_terms(
    problem: Problem, x: Array, at: Predicted, phi: float, point: DualPoint
) -> tuple[float, float, float]:
    """The loss's and the regulariser's part of the gap from above, and both without rounding."""
    s, z = -point.u, at.z
    mismatch = problem.mismatch(z, point.y)
    error = at.error + point.shift
    loss = largest_within(problem, mismatch + point.extra, z, error, point.y, point.reach)
    if not problem.loss.has_exact_gap:
        length = float(point.length) if z.ndim == 1 else float(np.linalg.norm(point.length))
        loss += cancelled(problem, z, point.y, phi, length)
    penalty, bare = _penalty_terms(problem, x, s, point.error)
    if point.shrunk == 0.0:  # rounding alone has made y = 0
        return loss, penalty, 0.0
    if point.shrunk < 1.0 - 1e-6:  # what the gap would be if rounding had not shrunk y
        y, u = point.y / point.shrunk, point.u / point.shrunk
        bare = _penalty_terms(problem, x, -u, point.error)[1]
        mismatch = problem.mismatch(z, y)
    return loss, penalty, mismatch + bare


def _penalty_terms(problem: Problem, x: Array, s: Array, error: Array) -> tuple[float, float]:
    """The regulariser's part from above, s being off by ``error``, and without rounding."""
    if not problem.regularizer.has_strengths:
        return dual_intervals.terms(problem, x, s, error)
    g = problem.elastic_net
    parts, size = g.fenchel_gap(x, s), np.abs(x)
    penalty = bare = float(parts.sum())
    if g.has_l2:
        blurred = error + 4.0 * UNIT * (g.l2 * size + np.abs(s))
        blurred *= blurred
        blurred /= g.divisors
        slack = 0.5 * float(blurred.sum())
        curved = bare if g.strong_convexity > 0.0 else float(parts.sum(where=g.l2 > 0.0))
        penalty += 2.0 * math.sqrt(curved) * math.sqrt(slack) + slack
    if g.has_l1:  # l1 |x| - s x without l2; and strengths l1 p_j are rounded
        penalty += dot(error * g.boxed + 4.0 * UNIT * g.l1, size)
    return penalty, bare


def _underflow(problem: Problem) -> float:
    """The most that exponentials were which underflow has made 0."""
    loss = problem.loss
    return TINY if loss.is_self_concordant or loss.is_vector or loss.gamma is None else 0.0


def evaluated(problem: Problem, at: Predicted, phi: float) -> Predicted:
    """Predictions whose error counts what the loss rounds, as if that were an error of z."""
    return at._replace(error=at.error + _evaluation_error(problem, at.z, phi))


def _evaluation_error(problem: Problem, z: Array, phi: float) -> float:
    """The roundings of phi and h at a float z, as an error of z; ``phi`` is the mean loss."""
    if problem.loss.is_quadratic:
        return 4.0 * UNIT * math.sqrt(2.0 * phi)  # that of z - b
    size = problem.loss.rounded(z, problem.b)
    if isinstance(size, float):
        return 4.0 * UNIT * size
    return 4.0 * UNIT * math.sqrt(problem.inner(size, size))
