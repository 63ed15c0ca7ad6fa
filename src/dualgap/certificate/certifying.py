"""From a point to its certificate: a dual point in floats, the proof at it, and what it says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dualgap._types import Array, Mask
from dualgap.certificate.boxed import in_a_box
from dualgap.certificate.estimate import CLEAR, NEAR_ZERO, estimated_pair
from dualgap.certificate.proof import Bounds, bounds, strengths_have_underflowed
from dualgap.certificate.ridge import ridge_certificate
from dualgap.certificate.value import Certificate, Kind, not_proved
from dualgap.dual_points.feasible import DualPoint, make_feasible, needs_predictions
from dualgap.dual_points.products import PLAIN, PRECISE, Products, may_be_precise
from dualgap.dual_points.refinement import newton_dual
from dualgap.enclosures.digits import coefficient_error, proved_zeros
from dualgap.enclosures.directed import UNIT, arithmetic_is_ieee, down, gam, up
from dualgap.problem import Problem

SMALLEST = 1e-14
"""Relative gaps below this are not asked whether they could be smaller."""
LEAST_SHARE = 1e-290
"""Shares w_i/W below this may have lost digits."""
FEW_ENTRIES = 20_000
"""On data with more entries than this only gaps above CLEAR are computed anew with twice the
digits, because these cost much more there than all the rest of a certificate."""
CLOUDED = 1.02
"""Products get twice the digits where the proved gap is this times the float one or more."""
CLEAN = 1.0 + 1e-6
"""A quick proof stands where its gap is at most this times the float one."""

NO_DUAL_POINT = (
    "No dual point could be proved to be feasible: columns without penalty may nearly depend on "
    "each other, or classes be separated. A little l2 helps."
)


def proved_pair(problem: Problem, x: Array, y: Array | None) -> tuple[Certificate, Array]:
    """The proof for x (with the intercept in it) and y, and y.

    Without a y, it is the better of phi'(A x) and the dual point of a Newton step.
    """
    with np.errstate(all="ignore"):
        if y is not None:
            return _proved(problem, x, y), y
        z = problem.predict(x)
        y = problem.slopes(z)
        found = _proved(problem, x, y)
        if found.certified and found.relative_gap <= CLEAR:
            return found, y
        other = newton_dual(problem, x, z, dear=True)
        if other is not None:
            sharper = _proved(problem, x, other)
            if sharper.is_better_than(found):
                return sharper, other
        return found, y


def _proved(problem: Problem, x: Array, y: Array) -> Certificate:
    primal = problem.primal(x, problem.predict(x)) if not np.isfinite(x).all() else math.nan
    if primal == primal or not np.isfinite(y).all():
        return not_proved(_primal(problem, x), "x or y is not finite.")
    why = without_proof(problem)
    if why is not None:
        estimate = estimated_pair(problem, x, y)[0]
        if not estimate.certified:
            return not_proved(estimate.primal, why)
        scale = problem.scale(estimate.primal)
        return not_proved(estimate.primal, why, "float", estimate.gap, scale)
    quick = ridge_certificate(problem, x, y)
    if quick is not None and _is_clear(*quick):
        return quick[0]
    z = problem.predict(x) if needs_predictions(problem) else None
    point, found = _at(problem, x, z, y, PLAIN)
    for predictions in (False, True) if may_be_precise(problem) else ():
        if point is None or not _is_clouded(problem, x, found):
            break
        other, sharp = _at(problem, x, z, y, PRECISE, predictions)
        if sharp.gap < found.gap:
            point, found = other, sharp
    primal = _between(problem, x, found)
    if not math.isfinite(found.primal_high):
        return not_proved(primal, "P(x) is not finite.")
    if point is None or found.s is None:
        if primal > 0.0 and not problem.is_below_null(found.at_zero, NEAR_ZERO):
            radius = in_a_box(problem, x, y)
            if radius is None or not radius[0] < found.at_zero:
                return not_proved(primal, NO_DUAL_POINT)
            scale = problem.scale(found.primal_low)
            return replace(
                not_proved(primal, NO_DUAL_POINT, "gap_in_box", radius[0], scale), box=radius[1]
            )
    kind: Kind = "gap_scaled_dual"  # y = 0, unless another is better
    if point is not None and not (found.is_trivial and point.y.any()):
        kind = point.kind
    return stated(problem, x, found, kind, primal)


def _is_clear(certificate: Certificate, bare: float) -> bool:
    """Whether rounding is no part of the gap that matters, so that nothing sharper is asked for."""
    return certificate.relative_gap <= SMALLEST or certificate.gap <= CLEAN * bare


def _primal(problem: Problem, x: Array) -> float:
    return problem.primal(x, problem.predict(x)) if np.isfinite(x).all() else math.inf


def _between(problem: Problem, x: Array, found: Bounds) -> float:
    """P(x) in floats, which is moved to where it is proved to be if it is not there."""
    primal = problem.primal(x, found.at.middle)
    if primal != primal:
        return found.primal_high
    return min(max(primal, found.primal_low), found.primal_high)


def without_proof(problem: Problem) -> str | None:
    """Why nothing can be proved whatever x and y are, if that is so."""
    if not arithmetic_is_ieee():
        return (
            "This thread does not round to nearest with gradual underflow, as another library may "
            "have told it; nothing computed here is proved."
        )
    for part, what in ((problem.loss, "loss"), (problem.penalty, "regularizer")):
        if not part.has_enclosures:
            return (
                f"The {what} {type(part).__name__} has no enclosures (gap_above and others), so "
                "that rounding cannot be bounded; docs/extend shows how to give them."
            )
    if strengths_have_underflowed(problem):
        return "A strength times its penalty weight is below the normal range of floats."
    return None


def _at(
    problem: Problem,
    x: Array,
    z: Array | None,
    y: Array,
    products: Products,
    predictions: bool = False,
) -> tuple[DualPoint | None, Bounds]:
    """The float dual point and the proof there: sums, and then predictions, with more digits."""
    at = np.broadcast_to(0.0, y.shape) if z is None else z
    point = make_feasible(problem, at, y, products, with_sums=False)
    sharp = products is PRECISE
    return point, bounds(problem, x, point, sharp=sharp, sharp_predictions=predictions)


def _is_clouded(problem: Problem, x: Array, found: Bounds) -> bool:
    """Whether rounding, or the last bits of y, may be a part of the gap that matters."""
    if not math.isfinite(found.primal_high):
        return False
    few = problem.n * problem.size <= FEW_ENTRIES and not problem.base.streams
    if found.gap <= (SMALLEST if few else CLEAR) * problem.scale(found.primal_low):
        return False
    if found.s is None:
        return True
    g, coefficients = problem.penalty, problem.split(x)[0]
    moved = 4.0 * UNIT / found.weight.low * found.at.size  # of s, by the last bits of y
    bits = float((moved * np.abs(coefficients)).sum())
    if problem.regularizer.has_boxed:  # which is scaled where s_j leaves its interval
        ends = np.minimum(*(np.abs(end) for end in g.inner_interval()))
        ends = np.where((ends > 0.0) & np.isfinite(ends), ends, np.inf)
        ends = ends if moved.ndim == 1 else np.reshape(ends, (-1, 1))
        bits += min(1.0, float((moved / ends).max())) * found.primal_high
    if bits > (CLOUDED - 1.0) * found.gap:
        return True
    loss = problem.mismatch(found.at.middle, found.rows.y)
    middle = np.clip(0.5 * (found.s[0] + found.s[1]), *found.s)
    columns = [(coefficients, middle)]
    if coefficients.ndim == 2:
        columns = [
            (np.ascontiguousarray(a), np.ascontiguousarray(s))
            for a, s in zip(coefficients.T, middle.T, strict=True)
        ]
    penalty = sum(float(g.fenchel_gap(*pair).sum()) for pair in columns)
    return not found.gap <= CLOUDED * (loss + penalty)


def stated(problem: Problem, x: Array, found: Bounds, kind: Kind, primal: float) -> Certificate:
    """The certificate of what was proved."""
    gap = found.gap
    if not gap >= 0.0:  # nan: what overflowed on the way claims nothing
        return not_proved(primal, "The bound is not a number.")
    scale = problem.scale(found.primal_low)
    relative = up(gap / scale) if 0.0 < scale < math.inf else (0.0 if gap == 0.0 else math.inf)
    coefficients = problem.split(x)[0]
    strength = np.asarray(problem.penalty.strength_below(found.blur))
    if coefficients.ndim == 2:
        strength = np.reshape(strength, (-1, 1))
    strength = np.broadcast_to(strength, coefficients.shape)
    zeros = _proved_zeros(problem, coefficients, found)
    least = float(strength.min())
    return Certificate(
        primal=primal,
        dual=down(found.primal_low - gap),
        gap=gap,
        relative_gap=relative,
        certified=True,
        kind=kind,
        distance=up(math.sqrt(up(up(2.0 * gap) / least))) if least > 0.0 else math.inf,
        coef_error=coefficient_error(gap, strength, coefficients, zeros),
        support=zeros,
    )


def _has_lost_shares(problem: Problem) -> bool:
    """Whether a share w_i/W is so small that it may have lost digits."""
    if problem.streamed is not None:
        known = problem.streamed.known
        return known.least < LEAST_SHARE * known.total
    w = problem.sample_weight
    return w is not None and bool(((w > 0.0) & (problem.q < LEAST_SHARE)).any())


def _proved_zeros(problem: Problem, x: Array, found: Bounds) -> Mask:
    """Where x*_j = 0 in every solution: s_j cannot reach an end of its interval."""
    nothing = np.zeros(x.shape, dtype=bool)
    gamma, gap = problem.loss.gamma, up(found.loss + found.penalty)
    if found.s is None or gamma is None or not problem.regularizer.has_l1 or not gap < math.inf:
        return nothing
    low, high = problem.penalty.zero_interval(found.blur)
    if _has_lost_shares(problem):
        return nothing  # such a share has lost digits, or all of them, and its row may be long
    # Squares that underflow have lost less than 1e-300.
    norms = up(problem.column_norms[: problem.d] * (1.0 + gam(problem.n + 16.0)) + 1e-150)
    if x.ndim == 2:
        low, high, norms = (np.reshape(v, (-1, 1)) for v in (low, high, norms))
    return proved_zeros(*found.s, gap, down(down(gamma)), norms, low, high)
