"""The two products of a certificate, each with a bound on its rounding.

z = A x + offset is off by at most E in the norm |e|_Q = (sum_i q_i e_i^2)^(1/2), and every
(A'Qy)_j by at most an error of its own. `Plain` products are those of the iterations; their errors
are bounded by norms that are known already: g(k) sum_j |a_j|_Q |x_j| and g(k) |a_j|_Q |y|_Q for
sums of k terms (g is `linalg.rounding.sum_error`). `Precise` ones have twice the digits, cost some
thirty times as much, and are for data where those bounds leave the gap open: large numbers that
cancel.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.designs.contract import block_rows
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.rounding import UNIT, sum_error
from dualgap.problem import Problem

PRECISE_LIMIT = 4_000_000
"""Most entries of A for which products are made with twice the digits (a fraction of a second)."""
PAIRWISE = 32.0
"""Roundings that a sum of any length suffers where it is taken pairwise."""
ERROR_OF_W = 1e-14
"""More than the relative error of a total weight and of the division by it."""


class Predicted(NamedTuple):
    """z = A x + offset and how far off it may be."""

    z: Array
    error: float
    """At least |e|_Q."""
    each: Array | None = None
    """At least |e_i|, where that is known."""


class Products(ABC):
    """How z and A'Qy are computed, and what that leaves open."""

    @abstractmethod
    def predict(self, problem: Problem, x: Array) -> Predicted:
        """z = A x + offset."""

    @abstractmethod
    def adjoint(self, problem: Problem, y: Array) -> Array:
        """u = A'Qy."""

    @abstractmethod
    def adjoint_error(self, problem: Problem, length: Array, u: Array, reach: float) -> Array:
        """By how much each entry of ``u`` may be off, |y|_Q being ``length``; + reach |a_j|_Q."""

    def balanced(self, problem: Problem, y: Array) -> Array:
        """y, whose weighted sum is 0 but for rounding, with as little of that as can be had."""
        return y

    @abstractmethod
    def mean_size(self, problem: Problem, y: Array, length: float) -> float:
        """At least |sum_i q_i y_i| for a y less its mean; ``length`` is at least |.|_Q of both."""

    @abstractmethod
    def imbalance(self, problem: Problem, y: Array) -> float:
        """At least |sum_i q_i y_i| over that of each sign, for a y whose signs were balanced."""


class Plain(Products):
    """In float64."""

    def predict(self, problem: Problem, x: Array) -> Predicted:
        """The problem's own."""
        z = self._z(problem, x)
        rows = x if problem.size == problem.d else x[:-1]
        terms = int(np.count_nonzero(rows if x.ndim == 1 else rows.any(axis=1)))
        added = 0.0 if problem.offset is None else _norm(problem, _sum_error(problem, z))
        if terms == 0:  # an intercept alone is exact
            return Predicted(z, added)
        size = problem.column_norms @ np.abs(x)
        over_classes = float(size) if x.ndim == 1 else float(np.linalg.norm(size))
        count = min(terms, problem.design.row_terms) + 3
        return Predicted(z, sum_error(count) * over_classes + added)

    def _z(self, problem: Problem, x: Array) -> Array:
        return problem.predict(x)

    def adjoint(self, problem: Problem, y: Array) -> Array:
        """The problem's own."""
        return problem.adjoint(y)

    def adjoint_error(self, problem: Problem, length: Array, u: Array, reach: float) -> Array:
        """g(k) |a_j|_Q |y|_Q; none if every y_i is 0."""
        share = sum_error(problem.design.column_terms + 8) * length + reach
        if length.ndim == 0:
            return np.asarray(problem.column_norms * float(share))
        return np.multiply.outer(problem.column_norms, share)

    def mean_size(self, problem: Problem, y: Array, length: float) -> float:
        """The rounding of the mean that was taken off, and of taking it off."""
        return PAIRWISE * UNIT * length

    def imbalance(self, problem: Problem, y: Array) -> float:
        """Both signs were scaled by sums that are right to their rounding."""
        return 2.5 * PAIRWISE * UNIT


class OneReading(Plain):
    """Products in float64 for one x and one y of data that stream: both come from one reading.

    Parameters
    ----------
    y : array or None
        What A'Qy will be asked of, if that is known; None for phi'(A x). Any other y may be asked
        about, too, and costs a reading.
    u : array, optional
        A'Qy, if it is known.
    """

    def __init__(self, y: Array | None, u: Array | None = None) -> None:
        self.y, self.u = y, u

    def _z(self, problem: Problem, x: Array) -> Array:
        if self.y is None:
            z, self.y, self.u = problem.slope_at(x)
        else:
            z, self.u = problem.predict_and_adjoint(x, self.y)
        return z

    def adjoint(self, problem: Problem, y: Array) -> Array:
        """The one that came with z, if it is this one."""
        if self.u is not None and self.y is not None and np.array_equal(y, self.y):
            return self.u
        return problem.adjoint(y)


class Precise(Products):
    """With twice the digits."""

    def predict(self, problem: Problem, x: Array) -> Predicted:
        """Rounded once from sums that are good to u^2."""
        if x.ndim == 2:
            columns = [self._predict(problem, x[:, k]) for k in range(x.shape[1])]
            z, size = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
        else:
            z, size = self._predict(problem, x)
        steps = 32.0 + 16.0 * math.log2(problem.size + 1.0)
        each = steps * UNIT**2 * size + UNIT * np.abs(z)
        if problem.offset is not None:
            z = z + problem.offset
        each += _sum_error(problem, z)
        return Predicted(z, _norm(problem, each), each)

    def _predict(self, problem: Problem, x: Array) -> tuple[Array, Array]:
        """A x and |A||x|; powers of two go from x to A, so that no product underflows."""
        mantissa, exponent = np.frexp(x)
        z, size = np.empty(problem.n), np.empty(problem.n)
        for at, block in problem.design.blocks(block_rows(8 * problem.size)):
            terms = Double(*two_product(np.ldexp(block, exponent), mantissa))
            z[at] = Double(terms.high.T, terms.low.T).sum().high
            size[at] = np.abs(terms.high).sum(axis=1)
        return z, size

    def adjoint(self, problem: Problem, y: Array) -> Array:
        """sum_i w_i y_i a_ij with twice the digits, then divided by W."""
        if y.ndim == 2:
            return np.stack([self.adjoint(problem, y[:, k]) for k in range(y.shape[1])], axis=1)
        w = problem.sample_weight
        alpha = of(y) if w is None else Double(*two_product(w, y))
        total = float(problem.n) if w is None else math.fsum(w)
        sums = of(np.zeros(problem.size))
        for at, block in problem.design.blocks(block_rows(8 * problem.size)):
            sums = sums.plus(alpha.at(at, None).scaled(block).sum())
        return np.asarray(sums.high / total)

    def adjoint_error(self, problem: Problem, length: Array, u: Array, reach: float) -> Array:
        """A few u |u_j|, and u^2 |a_j|_Q |y|_Q for every doubling of n."""
        steps = 64.0 + 16.0 * math.log2(problem.n + 1.0) + problem.n / 64.0
        share = steps * UNIT**2 * length + reach
        return 4.0 * UNIT * np.abs(u) + np.multiply.outer(problem.column_norms, share)

    def balanced(self, problem: Problem, y: Array) -> Array:
        """The smallest entries, whose last bits are finest, take up what the sum is off."""
        if y.ndim == 2:
            return y
        low, high = problem.loss.domain(problem.b)
        y, w = y.copy(), problem.sample_weight
        weight = np.ones_like(y) if w is None else w
        for _ in range(4):
            off = _weighted_sum(w, y)
            room = np.minimum(y - low, high - y) * weight > 2.0 * abs(off)
            if off == 0.0 or not room.any():
                break
            i = int(np.argmin(np.where(room, np.abs(y), np.inf)))
            y[i] -= off / weight[i]
        return y

    def mean_size(self, problem: Problem, y: Array, length: float) -> float:
        """The sum, correctly rounded."""
        w = problem.sample_weight
        total = float(problem.n) if w is None else math.fsum(w)
        return abs(_weighted_sum(w, y)) / total * (1.0 + ERROR_OF_W)

    def imbalance(self, problem: Problem, y: Array) -> float:
        """The sum over half of that of sizes, which each sign has but for rounding."""
        size = problem.mean(np.abs(y))
        return min(1.0, 2.5 * self.mean_size(problem, y, 0.0) / size) if size > 0.0 else 0.0


def _weighted_sum(w: Array | None, y: Array) -> float:
    """sum_i w_i y_i, correctly rounded."""
    return math.fsum(y if w is None else np.concatenate(two_product(w, y)))


def _sum_error(problem: Problem, z: Array) -> Array:
    """At least |e|_Q of adding an offset to the predictions, if there is one."""
    return np.zeros_like(z) if problem.offset is None else 2.0 * UNIT * np.abs(z)


def _norm(problem: Problem, e: Array) -> float:
    return math.sqrt(problem.inner(e, e)) if e.any() else 0.0


PLAIN, PRECISE = Plain(), Precise()


def may_be_precise(problem: Problem) -> bool:
    """Whether products with twice the digits take a fraction of a second."""
    entries = problem.n * problem.size * (problem.outputs or 1)
    return entries <= PRECISE_LIMIT
