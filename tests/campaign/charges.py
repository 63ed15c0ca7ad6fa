"""What a certificate says beside its gap: a bound on P*, distances, coefficients that are 0."""

import decimal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from flint import arb, ctx

from .balls import BITS, Balls, ball
from .decimals import WORK, Objective
from .polish import Better, polish
from .runs import Claim

FINE = Decimal("1e-45")
"""Of P: a point with no more than this left above P* is as good as a minimiser."""


@dataclass(frozen=True)
class Evidence:
    """The problem, in balls and in decimals, and the best point that is known."""

    balls: Balls
    objective: Objective
    better: Better
    P: arb
    """P at the better point, which is at least P*."""


def reach(of: Evidence, claim: Claim, X: np.ndarray) -> np.ndarray:
    """The better point, or the last on the way there that a bound within a box speaks of.

    P is convex, so that what is better than x is better on all of the way. An intercept that the
    box does not mention may not move.
    """
    if claim.kind != "gap_in_box":
        return of.better.X
    with decimal.localcontext(WORK):
        way, most = of.better.X - X, Decimal(1)
        for v, R in zip(way.flat, _box(claim, X).flat, strict=True):
            if v and np.isfinite(R):
                most = min(most, Decimal(float(R)) / abs(v) * (1 - Decimal("1e-60")))
        return X + most * way


def _box(claim: Claim, X: np.ndarray) -> np.ndarray:
    """R for every coordinate of X."""
    R = np.full(X.shape, np.inf)
    if claim.box is None:
        return R
    given = np.asarray(claim.box, dtype=float)
    if given.ndim == 0:
        R[...] = given
        return R
    R[len(given) :] = 0.0
    R[: len(given)] = given.reshape(-1, *[1] * (X.ndim - given.ndim), *given.shape[1:])
    return R


def false_dual(of: Evidence, claim: Claim, X: np.ndarray) -> Iterator[tuple[str, str]]:
    """dual > P at a point: no lower bound on P*."""
    if np.isnan(claim.dual):
        yield "false dual", "dual is nan"
    elif np.isfinite(claim.dual) or claim.dual > 0:
        Y = reach(of, claim, X)
        P = of.P if Y is of.better.X else of.balls.value(Y)
        if arb(claim.dual) > P:
            yield "false dual", f"P* <= {P.str(10, radius=False)} < dual = {claim.dual!r}"


def slack(of: Evidence) -> np.ndarray:
    """How far the better point may be from a minimiser, by coordinate.

    (l2_j/2) |X_j - x*_j|^2 <= P(X) - P*, which is about half of what a Newton step expects; where
    there is no l2_j, the step itself from a point that is as good as a minimiser. Both are taken
    several times. Infinite where neither says anything.
    """
    best, out = of.better, np.full(of.better.X.shape, Decimal("Infinity"), dtype=object)
    l2 = np.broadcast_to(of.objective.per_row(of.objective.l2), out.shape)
    for at in np.ndindex(out.shape):
        if best.step is None:  # it was not the best one that could be found
            break
        if l2[at]:
            out[at] = (4 * abs(best.left) / l2[at]).sqrt()
        elif best.left <= best.P * FINE:
            out[at] = 1000 * abs(best.step[at]) + abs(best.X[at]) * FINE
    return out


def false_distance(of: Evidence, claim: Claim, X: np.ndarray) -> Iterator[tuple[str, str]]:
    """|x_j - x*_j| > coef_error_j, the better point being about x*."""
    if claim.coef_error is None:
        return
    claimed = np.asarray(claim.coef_error, dtype=float)
    with decimal.localcontext(WORK):
        room = slack(of)
        for at in np.ndindex(claimed.shape):
            if np.isnan(claimed[at]) or claimed[at] < 0:
                yield "false coef_error", f"coef_error{list(at)} = {claimed[at]}"
                return
            if not (np.isfinite(claimed[at]) and room[at].is_finite()):
                continue
            off = abs(X[at] - of.better.X[at]) - room[at]
            if off > Decimal(float(claimed[at])) * (1 + FINE):  # a float may have 300 digits
                details = f"|x - x*| >= {off:.6g} > {claimed[at]:.6g} at {list(at)}"
                yield "false coef_error", details
                return


def false_support(of: Evidence, claim: Claim, X: np.ndarray) -> Iterator[tuple[str, str]]:
    """A coefficient that is said to be 0 in every solution, and P* is not reached with it at 0.

    Only where the better point has another value there: then the best point with these
    coefficients at 0 is looked for, and if it is worse by more than it may yet gain, no solution
    has them at 0.
    """
    if claim.support is None:
        return
    said = np.zeros(X.shape, dtype=bool)
    given = np.asarray(claim.support, dtype=bool)
    said[: len(given)] = given
    with decimal.localcontext(WORK):
        wrong = said & np.array([bool(v) for v in of.better.X.flat]).reshape(X.shape)
        if not wrong.any():
            return
        held = _without(of, said)
        gain = held.P - 4 * held.left
        if ball(gain) > of.P:
            details = f"P >= {gain:.10g} with 0 at {np.argwhere(wrong)[0].tolist()}, "
            yield "false support", details + f"P* <= {of.P.str(10, radius=False)}"


def _without(of: Evidence, said: np.ndarray) -> Better:
    """The best point with 0 wherever ``said``: bounds of 0 and 0 hold it there."""
    objective, before = of.objective, (of.objective.lower, of.objective.upper, of.objective.bounded)
    shape, zero = said.shape, Decimal(0)
    low, high = (np.broadcast_to(objective.per_row(end), shape) for end in before[:2])
    try:
        objective.lower, objective.upper = np.where(said, zero, low), np.where(said, zero, high)
        objective.bounded = True
        return polish(objective, objective.nearest(of.better.X))
    finally:
        objective.lower, objective.upper, objective.bounded = before


CHARGES: tuple[Callable[[Evidence, Claim, np.ndarray], Iterator[tuple[str, str]]], ...] = (
    false_dual,
    false_distance,
    false_support,
)


def charged(of: Evidence, claim: Claim, X: np.ndarray) -> list[tuple[str, str]]:
    """All that is false about a certificate beside its gap: what, and the evidence."""
    if not claim.certified:
        return []
    with ctx.workprec(BITS):
        return [found for charge in CHARGES for found in charge(of, claim, X)]
