"""Proofs for ridge regressions, any number of them at once: the lengths of vectors are enough.

Squared loss, one strength l2 > 0 for all coefficients, and an intercept or none. For real numbers
q_i = w_i/W, r = A x + c - b and any floats y, let rho = sum_i q_i y_i where there is an intercept
and 0 where there is none. Then y - rho is dual feasible, and

    P(x) - P* <= |r - y + rho|^2/2 + |l2 x + A'Q(y - rho)|^2/(2 l2),                         (*)

|.| = |.|_Q over rows. With |A|_F^2 = sum_j |a_j|_Q^2 (so that |A'Qy| <= |A|_F |y|), and e and f
more than the roundings behind a term of a sum over rows and over columns, floats are off by at most

    r:        f (|A|_F |x| + |c| + |b|)                   A'Qy:     e |A|_F |y|
    rho:      e |y|                                       A'Q rho:  |A|_F |rho|,

where a float q_i, too, is within gam(n + 3) of w_i/W. Every length is computed as a sum of squares,
which is right to e, or f, and to what underflows. So all targets share two products with the data,
and the rest are a few sums for each. The bound is that of `proof` but for a larger share of
rounding, of which (*) has the square.

At the real y = r the vector of the second length is the gradient g of P, and the equations of
`linalg.ridge` know it without a second product with the data. With m = A'q (0 without intercept)
and d_x, d_g the errors of floats, of which each entry has fewer than 16,

    by columns:  g = (A'QA - mm' + l2 I) x - A'Q(b - mean b),
                 |d_g| <= 16 (e + f) (|A|_F (|A|_F |x| + |b|) + l2 |x|);
    by rows:     x = (A - 1m')' R a + d_x with R = Q^(1/2), |d_x| <= 16 e |A|_F |a|,
                 g = (A - 1m')' R (l2 a + R r) + l2 d_x,  |g| <= |A|_F |l2 a + R r| + l2 |d_x|.

Where that is not enough there is a second product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.certificate.proof import strengths_are_exact
from dualgap.certificate.value import Certificate, Kind
from dualgap.designs import DenseDesign, SparseDesign
from dualgap.enclosures.directed import arithmetic_is_ieee, gam
from dualgap.problem import Problem
from dualgap.regularizers import ElasticNet

LARGEST = 1e100
"""Nothing is said of data, points or targets with lengths beyond this: squares may overflow."""
LOST = 1e-150
"""At least what underflow may take from a length, or from a sum of products.

A square that underflows is off by 2^-1074, and 1e9 rows of them by 1e-314; no entry of a column is
longer than LARGEST/LEAST_SHARE^(1/2).
"""
LEAST_SHARE = 1e-50
"""Nothing is said where a row has less weight than this share of their sum, and any at all."""
ABOVE = 1.0 + 2.0**-46
"""More than 64 roundings of numbers >= 0, which is more than there are in any formula here."""
BELOW = 1.0 - 2.0**-50
"""More than eight roundings, from below."""
FITS = 1e-10
"""Nothing is said of a point whose P is below this share of P(0): what a gap is relative to is then
another number (`Problem.scale`)."""


class RidgeProofs(NamedTuple):
    """What is proved of each target; arrays of shape (K,), but for y."""

    primal: Array
    """P(x) in floats."""
    primal_low: Array
    """At most P(x)."""
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
    if not (
        problem.loss.is_quadratic
        and problem.offset is None
        and isinstance(problem.base, DenseDesign | SparseDesign)
        and isinstance(problem.regularizer, ElasticNet)
        and strengths_are_exact(problem)
        and (w is None or bool((q[w > 0.0] >= LEAST_SHARE).all()))
    ):
        return False
    l2 = problem.regularizer.l2[: problem.d]
    return bool(not problem.regularizer.has_l1 and l2[0] >= LEAST_SHARE and (l2 == l2[0]).all())


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
    b, x : array of shape (n, K) and (d, K)
    l2, c : array of shape (K,)
        The strengths, and the intercepts, which are 0 where the problem has none.
    y : array of shape (n, K), optional
        The dual points, whose weighted means had better be 0 where there is an intercept; the
        residuals in floats by default.
    left, a : array of shape (d, K) or (n, K), optional
        What `linalg.ridge` knows besides x, of which the gradient follows; for no other y.
    """
    with np.errstate(all="ignore"):
        sizes, r = _sizes(problem, b, x, c)
        e, of_A = sizes.e, sizes.A
        off: Any = 0.0 if y is None else _mean_squares(problem, r - y)
        y = r if y is None else y
        of_y = sizes.r if y is r else _length(_mean_squares(problem, y), e)
        rho = _off_balance(problem, y, e * of_y)
        far = _length(off, e) + sizes.r_off + rho
        if left is not None:
            slope = _squares(left)
            blur = 16.0 * (e + sizes.f) * (of_A * (of_A * sizes.x + sizes.b) + l2 * sizes.x)
        elif a is not None:
            slope = of_A * of_A * _squares(l2 * a + np.sqrt(problem.q)[:, None] * r)
            blur = of_A * (16.0 * e * (l2 * np.sqrt(_squares(a)) + sizes.r) + sizes.r_off)
        else:
            slope = _squares(_adjoint(problem, y) + l2 * x)
            blur = e * (of_A * of_y + l2 * sizes.x) + of_A * rho
        steep = _length(slope, e + sizes.f) + blur
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


def _off_balance(problem: Problem, y: Array, off: Array) -> Array:
    """At least |rho|, where its sum in floats is off by that much."""
    if not problem.fit_intercept:
        return np.zeros(y.shape[1])
    return np.asarray(np.abs(problem.q @ y) + off + LOST)


class _Sizes(NamedTuple):
    """At least the lengths of vectors, unless said otherwise; arrays (K,), but for e, f and A."""

    e: float
    f: float
    A: float
    """|A|_F."""
    r: Array
    x: Array
    b: Array
    r_off: Array
    """At least the length of the error of r in floats."""
    squares: Array
    """|r|^2 in floats."""
    point: Array
    """|x|^2 in floats."""

    def primal_low(self, l2: Array) -> Array:
        """At most P(x): |r|^2 is at least that of the floats less 2 |r| r_off."""
        least = (1.0 - self.e) * self.squares - ABOVE * 2.0 * self.r * self.r_off
        low = np.maximum(least, 0.0) + (1.0 - self.f) * (l2 * self.point)
        return np.asarray(np.maximum(BELOW * (0.5 * low) - LOST * LOST, 0.0))


def _length(squares: Any, error: float) -> Any:
    """At least the root of a sum of squares that is right to this share."""
    return ABOVE * (1.0 + error) * np.sqrt(squares) + LOST


def _sizes(problem: Problem, b: Array, x: Array, c: Array) -> tuple[_Sizes, Array]:
    """The lengths for these targets and points, and the residuals r in floats."""
    base, (n, d) = problem.base, problem.base.shape
    r = base.matvec(x)
    if problem.fit_intercept:
        r += c
    r -= b
    # Equal weights are off by a rounding, others by as many as it takes to add them up.
    e, f = gam((n if problem.sample_weight is None else 2.0 * n) + 12.0), gam(d + 4.0)
    squares, point = _mean_squares(problem, r), _squares(x)
    of_r, of_x = _length(squares, e), _length(point, f)
    of_A = float(_length(float(base.column_norms_sq(problem.q).sum()), e + f))
    of_z = of_A * of_x + np.abs(c)
    of_b = (
        ABOVE * (1.0 + 4.0 * f) * (of_r + of_z)
    )  # |b| <= |r| + |z|, and r is off by f |b| and more
    return _Sizes(e, f, of_A, of_r, of_x, of_b, f * (of_z + of_b) + LOST, squares, point), r


def _squares(v: Array) -> Array:
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
    found = ridge_proofs(problem, b, problem.elastic_net.l2[:1], point, np.array([c]), y=dual)
    if not found.relative[0] < np.inf:
        return None
    return found.certificates(problem.d)[0], float(found.bare[0])
