"""The two sides of a proof, row by row: dual points as exact numbers, predictions as intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.designs import contract
from dualgap.enclosures.directed import TINY, UNIT, down, gam, sum_up, up
from dualgap.enclosures.extraction import accurate_sum
from dualgap.enclosures.products import swept
from dualgap.linalg.double import Double, of, two_product, two_sum
from dualgap.losses.multinomial import own
from dualgap.problem import Problem

FEW_ROWS = 1024
"""Sums of so many numbers are rounded correctly, one after the other."""
FLUSHED = 2.0**-900
"""A w_i y_i below this in size becomes 0, so that no product of it with its error underflows."""


class DualRows(NamedTuple):
    """A dual point as real numbers.

    With K classes the entry of a row's own class is minus the sum of the others, a real number.
    """

    y: Array
    """Floats in the domains; 0 where w_i = 0."""
    high: Array
    """w_i y_i in floats."""
    low: Array | None
    """What ``high`` lacks of the real numbers w_i y_i; None: nothing."""
    open_: float = 0.0
    """high + low is off by at most this share of its size."""
    rest: Array | None = None
    """The real dual point is y plus this, where y alone has too few digits."""


def dual_rows(problem: Problem, y: Array | None) -> DualRows:
    """The float y as exact numbers; None stands for 0."""
    if y is None:
        zeros = np.zeros((problem.n, *problem.shape[1:]))
        return DualRows(zeros, zeros, None)
    w = problem.sample_weight
    if y.ndim == 2:
        return _class_rows(problem, y)
    y = problem.loss.into_domain(y, problem.b)
    if w is None:
        small = (y < FLUSHED) & (y > -FLUSHED)
        y = np.where(small, 0.0, y) if small.any() and (y[small] != 0.0).any() else y
        return DualRows(y, y, None)
    y = np.where((w > 0.0) & (np.abs(w * y) >= FLUSHED), y, 0.0)
    return DualRows(y, *two_product(w, y))


def _class_rows(problem: Problem, y: Array) -> DualRows:
    """Entries of other classes are floats >= 0 whose sum is at most 1; the own one follows."""
    at, K, w = own(problem.b), y.shape[1], problem.sample_weight
    others = np.maximum(y, 0.0)
    others[at] = 0.0
    weights = np.ones(problem.n) if w is None else w
    others = np.where(others * weights[:, None] >= FLUSHED, others, 0.0)
    total = others.sum(axis=1)
    most = up(up(total) * (1.0 + gam(K + 4.0)))
    over = most > 1.0
    if over.any():
        others[over] *= ((1.0 - 8.0 * (K + 4) * UNIT) / most[over])[:, None]
    sum_, rest = others[:, 0].copy(), np.zeros(problem.n)
    for k in range(1, K):  # the sum of others, and what its roundings leave
        sum_, error = two_sum(sum_, others[:, k])
        rest += error
    sum_, rest = two_sum(sum_, rest)  # so that the rest is below the last bit, as products ask
    y, low = others.copy(), np.zeros_like(others)
    y[at], low[at] = -sum_, -rest
    if w is None:
        return DualRows(y, y, low, 8.0 * (K + 4) ** 2 * UNIT**2)
    high, error = two_product(np.broadcast_to(w[:, None], y.shape), y)
    high, low = two_sum(high, error + w[:, None] * low)
    return DualRows(y, high, low, 8.0 * (K + 4) ** 2 * UNIT**2)


def with_rest(problem: Problem, y: Array, change: Array) -> DualRows:
    """The dual point y + change, a sum of two floats that is not rounded; of scalar losses."""
    y, rest = two_sum(y, change)
    w = problem.sample_weight
    if w is None:
        return DualRows(y, y, rest, rest=rest)
    high, low = two_product(w, y)
    high, low = two_sum(high, low + w * rest)
    return DualRows(y, high, low, 16.0 * UNIT**2, rest)


class Enclosed(NamedTuple):
    """Predictions z = A x + c + offset as intervals, and the sums S = A'(w y)."""

    z: Array
    """A x in floats."""
    error: Array
    """At least the error of z, entry by entry."""
    added: tuple[float | Array | None, Array | None]
    """c and the offset, where there are any."""
    S: Array
    """The sums of the coefficients' columns in floats, one column a class."""
    S_error: Array
    """At least the error of S, entry by entry."""
    size: Array
    """At least sum_i |a_ij w_i y_i|."""

    def ends(self, at: slice) -> tuple[Array, Array]:
        """Between which floats the predictions of some rows are."""
        z, error, (c, offset) = self.z[at], self.error[at], self.added
        low, high = (down(z - error), up(z + error)) if error.any() else (z, z)
        if c is not None:
            low, high = _plus(low, high, c)
        if offset is not None:
            low, high = _plus(low, high, offset[at])
        return low, high

    @property
    def middle(self) -> Array:
        """The predictions in floats."""
        z = self.z
        for more in self.added:
            z = z if more is None else z + more
        return z


def _plus(low: Array, high: Array, more: float | Array) -> tuple[Array, Array]:
    """The ends of a sum; exact where there is nothing but 0 to add to."""
    if low is high and not low.any():
        return (total := low + more), total
    return down(low + more), up(high + more)


def enclosed(
    problem: Problem,
    x: Array,
    rows: DualRows,
    *,
    sharp: bool,
    predictions: bool = False,
    known: Enclosed | None = None,
) -> Enclosed:
    """Both products in one reading of the data.

    Parameters
    ----------
    problem : Problem
    x : array
        With the intercept in it.
    rows : DualRows
    sharp, predictions : bool
        Whether S, and z, are summed with twice the digits.
    known : Enclosed, optional
        Of the same x, whose predictions are taken over.
    """
    coefficients, c = problem.split(x)
    found = swept(problem.base, coefficients, rows.high, rows.low, sharp=sharp)
    error = found.S_error
    if rows.open_:
        error = up(error + up(rows.open_ * found.size))
    if known is not None:
        return known._replace(S=found.S, S_error=error, size=found.size)
    added: tuple[float | Array | None, Array | None] = (
        c if problem.fit_intercept else None,
        problem.offset,
    )
    z, z_error = found.z, found.z_error
    if not coefficients.any():  # an intercept alone is a prediction as it is
        z, z_error = np.zeros_like(z), np.zeros_like(z)
    elif predictions:
        z, z_error = _sharp_predictions(problem, coefficients, c)
        added = (None, None)
    return Enclosed(z, z_error, added, found.S, error, found.size)


def _sharp_predictions(
    problem: Problem, coefficients: Array, c: float | Array
) -> tuple[Array, Array]:
    """A x + c + offset from sums with twice the digits, rounded once, and what that leaves open."""
    if coefficients.ndim == 2:
        offsets = problem.offset
        pairs = [
            _sharp_column(problem, coefficients[:, k], float(np.asarray(c)[k]),
                          None if offsets is None else offsets[:, k])
            for k in range(coefficients.shape[1])
        ]  # fmt: skip
        z, error = (np.stack(columns, axis=1) for columns in zip(*pairs, strict=True))
        return z, error
    return _sharp_column(problem, coefficients, float(np.asarray(c)), problem.offset)


def _sharp_column(
    problem: Problem, x: Array, c: float, offset: Array | None
) -> tuple[Array, Array]:
    """For one class. Powers of two go from x to A, so that no product underflows needlessly.

    `Double` sums are off by at most 4 u^2 of the sizes for each addition that a term goes through,
    of which there are log2(d) + 2 at most, and products by 4 u^2 as well; 64 u^2 (log2(d) + 4) is
    ample. Where TwoProd may be inexact (underflow, overflow of the split) the error is infinite.
    """
    mantissa, exponent = np.frexp(x)
    z = of(np.zeros(problem.n))
    size = np.zeros(problem.n)
    safe = np.ones(problem.n, dtype=bool)
    for at, block in problem.base.blocks(contract.block_rows(8 * max(1, x.size))):
        moved = np.ldexp(block, exponent)
        terms = Double(*two_product(moved, mantissa))
        total = Double(terms.high.T, terms.low.T).sum()
        z.high[at], z.low[at] = total
        magnitude = np.abs(terms.high)
        size[at] = magnitude.sum(axis=1)
        exact = np.ldexp(moved, -exponent) == block  # nothing was lost on the way down
        exact &= (magnitude < 2.0**900) & ((magnitude > 2.0**-900) | (terms.high == 0.0))
        exact &= (terms.high != 0.0) | (block == 0.0) | (mantissa == 0.0)
        safe[at] = exact.all(axis=1)
    steps = 64.0 * (math.log2(x.size + 1.0) + 6.0)
    for more in (np.full(problem.n, c) if c else None, offset):
        if more is not None:
            size = size + np.abs(more)
            z = z.plus(of(np.asarray(more)))
    error = up(steps * UNIT**2 * up(size * (1.0 + gam(x.size + 8.0)))) + 16.0 * TINY
    error = up(error + up(np.abs(z.low)))  # z is rounded to its high part
    return z.high, np.where(safe, error, np.inf)


def exact_sum(rows: DualRows) -> tuple[float, float]:
    """sum_i w_i y_i of scalar losses, and what it may be off.

    Of few rows it is rounded correctly, and then 0 only if it is 0.
    """
    parts = rows.high if rows.low is None else np.concatenate((rows.high, rows.low))
    if rows.high.size <= FEW_ROWS:
        total = math.fsum(parts.tolist())
        return total, up(UNIT * abs(total) + _open(rows)) if total or rows.open_ else 0.0
    total, error = accurate_sum(parts)
    return total, up(error + _open(rows)) if rows.open_ else error


def _open(rows: DualRows) -> float:
    """What high + low may be off, in all."""
    return up(rows.open_ * sum_up(np.abs(rows.high))) if rows.open_ else 0.0
