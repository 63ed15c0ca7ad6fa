"""Proofs for ridge regressions, any number of them at once: the lengths of vectors are enough.

Squared loss, one strength l2 > 0 for all coefficients, and an intercept or none. For real numbers
q_i = w_i/W, r = A x + c - b and any floats y, let rho = sum_i q_i y_i where there is an intercept
and 0 where there is none. Then y - rho is dual feasible, and

    P(x) - P* <= |r - y + rho|^2/2 + |l2 x + A'Q(y - rho)|^2/(2 l2),                         (*)

|.| = |.|_Q over rows. With |A|_F^2 = sum_j |a_j|_Q^2 (so that |A'Qy| <= |A|_F |y|) and k more than
the roundings behind any term of a sum, floats are off by at most

    r:        gam(k) (|A|_F |x| + |c| + |b|)              A'Qy:     gam(k) |A|_F |y|
    rho:      gam(k) |y|                                  A'Q rho:  |A|_F |rho|,

where a float q_i, too, is within gam(n + 3) of w_i/W. Every length is computed as a sum of squares,
which is right to gam(k) and to what underflows. So all targets share two products with the data,
and the rest are a few sums for each. The bound is that of `proof` but for a larger share of
rounding, of which (*) has the square.

At the real y = r the vector of the second length is the gradient g of P, and the equations of
`linalg.ridge` know it without a second product with the data. With m = A'q (0 without intercept),
e = gam(k) and d_x, d_g the errors of floats, of which each entry has fewer than 16,

    by columns:  g = (A'QA - mm' + l2 I) x - A'Q(b - mean b),
                 |d_g| <= 16 e (|A|_F (|A|_F |x| + |b|) + l2 |x|);
    by rows:     x = (A - 1m')' R a + d_x with R = Q^(1/2), |d_x| <= 16 e |A|_F |a|,
                 g = (A - 1m')' R (l2 a + R r) + l2 d_x,  |g| <= |A|_F |l2 a + R r| + l2 |d_x|.

Where that is not enough there is a second product.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.certificate.value import Certificate, Kind
from dualgap.designs import DenseDesign, SparseDesign
from dualgap.enclosures.directed import arithmetic_is_ieee, gam
from dualgap.problem import Problem

LARGEST = 1e100
"""Nothing is said of data, points or targets with lengths beyond this: squares may overflow."""
LOST = 1e-150
"""At least what underflow may take from a length, or from a sum of products.

A square that underflows is off by 2^-1074, and 1e9 rows of them by 1e-314; no entry of a column is
longer than LARGEST/LEAST_SHARE^(1/2).
"""
LEAST_SHARE = 1e-50
"""Nothing is said where a row has less weight than this share of their sum, and any at all."""
ABOVE = 1.0 + 2.0**-44
"""More than 256 roundings of numbers >= 0, which is more than there are in any formula here."""
BELOW = 1.0 - 2.0**-44
"""The same from below."""
FITS = 1e-10
"""Nothing is said of a point whose P is below this share of P(0): what a gap is relative to is then
another number (`Problem.scale`)."""


class RidgeProofs(NamedTuple):
    """What is proved of each target; arrays of shape (K,), but for y."""

    primal: Array
    """P(x) in floats,"""
    primal_low: Array
    """and at most P(x)."""
    gap: Array
    """At least P(x) - P*."""
    bare: Array
    """(*) in floats, as if nothing had been rounded and rho were 0."""
    relative: Array
    """At least its ratio to P(x); inf where nothing is proved."""
    l2: Array
    y: Array
    """The dual points as columns."""
    kind: Kind

    def certificates(self, d: int) -> list[Certificate]:
        """The certificates of all targets, with d coefficients each."""
        # |x - x*| <= (2 gap/l2)^(1/2) by strong convexity, and each |x_j - x*_j| with it.
        far = ABOVE * np.sqrt(2.0 * self.gap / self.l2) + LOST
        dual = self.primal_low - self.gap
        dual -= 2.0**-52 * np.abs(dual)
        columns = (self.primal, dual, self.gap, self.relative, far)
        errors, nowhere = np.repeat(far[:, None], d, axis=1), np.zeros((far.size, d), dtype=bool)
        return [
            Certificate(primal, low, gap, relative, True, self.kind, away, "", error, support)
            for primal, low, gap, relative, away, error, support in zip(
                *(column.tolist() for column in columns), errors, nowhere, strict=True
            )
        ]


def is_ridge(problem: Problem) -> bool:
    """Whether (*) is the gap of this problem, and its rounding that of sums of products."""
    w, q = problem.sample_weight, problem.q
    return bool(
        problem.loss.is_quadratic
        and isinstance(problem.base, DenseDesign | SparseDesign)
        and problem.given is None
        and problem.offset is None
        and problem.l1 == 0.0
        and problem.l2 >= LEAST_SHARE
        and (problem.penalty_weights == 1.0).all()
        and (w is None or (q[w > 0.0] >= LEAST_SHARE).all())
    )


def ridge_proofs(
    problem: Problem,
    b: Array,
    l2: Array,
    x: Array,
    c: Array,
    *,
    y: Array | None = None,
    left: Array | None = None,
    a: Array | None = None,
) -> RidgeProofs:
    """Bound P(x) - P* for targets b, each with its strength, coefficients and intercept.

    Parameters
    ----------
    problem : Problem
        One of which `is_ridge` is true; its own targets and strength do not matter.
    b : array of shape (n, K)
    l2 : array of shape (K,)
    x : array of shape (d, K)
    c : array of shape (K,)
        0 where the problem has no intercept.
    y : array of shape (n, K), optional
        The dual points, whose weighted means had better be 0 where there is an intercept; the
        residuals in floats by default.
    left, a : array of shape (d, K) or (n, K), optional
        What `linalg.ridge` knows besides x, of which the gradient follows; for no other y.
    """
    with np.errstate(all="ignore"):
        sizes, r = _sizes(problem, b, x, c)
        off: Any = 0.0
        of_y = sizes.r
        if y is not None:
            off = _mean_squares(problem, r - y)
            of_y = sizes.wide * np.sqrt(_mean_squares(problem, y)) + LOST
        y = r if y is None else y
        rho = np.zeros(l2.size)
        if problem.fit_intercept:
            rho = np.abs(problem.q @ y) + sizes.e * of_y + LOST
        far = sizes.wide * np.sqrt(off) + LOST + sizes.r_off + rho
        e, of_A = sizes.e, sizes.A
        if left is not None:
            slope = _lengths_sq(left)
            blur = 16.0 * e * (of_A * (of_A * sizes.x + sizes.b) + l2 * sizes.x)
        elif a is not None:
            slope = of_A * of_A * _lengths_sq(l2 * a + np.sqrt(problem.q)[:, None] * r)
            of_a = np.sqrt(_lengths_sq(a))
            blur = of_A * (16.0 * e * (l2 * of_a + sizes.r) + sizes.r_off)
        else:
            slope = _lengths_sq(_adjoint(problem, y) + l2 * x)
            blur = e * (of_A * of_y + l2 * sizes.x) + of_A * rho
        steep = sizes.wide * np.sqrt(slope) + blur + LOST
        gap = ABOVE * (0.5 * far * far + 0.5 * steep * steep / l2)
        low = sizes.primal_low(l2)
        largest = np.maximum(np.maximum(sizes.b, of_y), np.maximum(sizes.x, of_A))
        said = (low > FITS * sizes.b**2) & (largest <= LARGEST) & (l2 >= LEAST_SHARE)
        said &= arithmetic_is_ieee() & (gap >= 0.0)
        return RidgeProofs(
            primal=0.5 * (sizes.squares + l2 * sizes.point),
            primal_low=low,
            gap=gap,
            bare=0.5 * (off + slope / l2),
            relative=np.where(said, ABOVE * gap / low, np.inf),
            l2=l2,
            y=y,
            kind="gap_scaled_dual" if problem.fit_intercept else "gap",
        )


class _Sizes(NamedTuple):
    """Lengths from above, where nothing else is said; arrays of shape (K,), but for e and A."""

    e: float
    """gam(k)."""
    A: float
    """|A|_F."""
    r: Array
    x: Array
    b: Array
    r_off: Array
    """What r is off."""
    squares: Array
    """|r|^2 in floats,"""
    point: Array
    """and |x|^2."""

    @property
    def wide(self) -> float:
        """A length is at most so many times its float, and LOST."""
        return _wide(self.e)

    def primal_low(self, l2: Array) -> Array:
        """At most P(x)."""
        sure = BELOW * (1.0 - 2.0 * self.e)
        least_r = np.maximum(sure * np.sqrt(self.squares) - ABOVE * (self.r_off + LOST), 0.0)
        least_x = np.maximum(sure * np.sqrt(self.point) - LOST, 0.0)
        return np.asarray(BELOW * 0.5 * (least_r**2 + l2 * least_x**2))


def _wide(e: float) -> float:
    return ABOVE * (1.0 + e)


def _sizes(problem: Problem, b: Array, x: Array, c: Array) -> tuple[_Sizes, Array]:
    """And the residuals r in floats."""
    base, (n, d) = problem.base, problem.base.shape
    r = base.matvec(x)
    if problem.fit_intercept:
        r += c
    r -= b
    e = gam(2.0 * n + d + 64.0)
    squares, point = _mean_squares(problem, r), _lengths_sq(x)
    of_r, of_x = (_wide(e) * np.sqrt(square) + LOST for square in (squares, point))
    of_A = _wide(e) * math.sqrt(float(base.column_norms_sq(problem.q).sum())) + LOST
    of_z = of_A * of_x + np.abs(c)
    of_b = 2.0 * (of_r + of_z)  # |b| <= |r| + |z|, with room for what r is off
    return _Sizes(e, of_A, of_r, of_x, of_b, e * (of_z + of_b) + LOST, squares, point), r


def _lengths_sq(v: Array) -> Array:
    """sum_j v_j^2 of each column, in floats."""
    return np.asarray(np.einsum("jk,jk->k", v, v))


def _adjoint(problem: Problem, y: Array) -> Array:
    """A'Qy."""
    if problem.uniform:
        return np.asarray(problem.base.rmatvec(y) * problem.q[0])
    return problem.base.rmatvec(problem.q[:, None] * y)


def _mean_squares(problem: Problem, of_rows: Array) -> Array:
    """sum_i q_i v_i^2 of each column, in floats."""
    return np.asarray(problem.q @ (of_rows * of_rows))


def ridge_certificate(problem: Problem, x: Array, y: Array) -> tuple[Certificate, float] | None:
    """The certificate of one point of a ridge regression, the intercept in it, and y.

    With it (*) in floats. None where `is_ridge` says no, or nothing is said of this point.
    """
    if not is_ridge(problem):
        return None
    coefficients, c = problem.split(x)
    b, point, dual = (v[:, None] for v in (problem.b, coefficients, y))
    found = ridge_proofs(problem, b, np.array([problem.l2]), point, np.array([c]), y=dual)
    if not found.relative[0] < np.inf:
        return None
    return found.certificates(problem.d)[0], float(found.bare[0])
