"""Columns without a penalty that nearly depend on each other: x_F = R^(-1) t, A_F = Q R.

Normal equations square the condition number: with columns that differ in their ninth digit a Gram
matrix knows nothing of the difference. Q, with columns that are orthonormal for the weights q,
spans the same space, and in t the free part of a squared loss has condition 1. With an intercept
the columns are centred first, c' = c + mean'x. Coordinates with a penalty stay as they are.

Q and R are found by modified Gram-Schmidt steps with pivots in arithmetic of 32 digits
(`linalg.double`; large data: by Householder's in float64), so that A_F = Q R to the last digit of
the data. That is what makes rounding x harmless: x is found from t by back substitution, last
coordinate first, and each coordinate makes up for the rounding of those before it (Babai's nearest
plane). What is left of t is half a last digit of R_kk x_k, not of |A||x|.

A column whose share of its own is rounding, R_kk <= 16 eps at unit length, is left out: its
coefficients would be so large that no prediction of float64 has a digit left. For squared loss it
comes back where it is worth more than that, and where the solution of numpy's lstsq is better.

``"auto"`` takes these variables when a factor of Newton's turns out to be nearly singular; where
there is none to look at (l1, several classes, fewer rows than columns), when the columns are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from dualgap._arrays import precise_dot
from dualgap._types import Array, Places
from dualgap.algorithms import Algorithm, Newton, ProxNewton, WorkingSet
from dualgap.algorithms.second_order.newton import NewtonState
from dualgap.designs import DenseDesign, Design
from dualgap.designs.contract import block_rows
from dualgap.limits import check_time
from dualgap.linalg import double
from dualgap.linalg.double import Double
from dualgap.linalg.rounding import EPS
from dualgap.memory import spares
from dualgap.objective.constants import GRAM_LIMIT
from dualgap.preconditioners.contract import Change, Preconditioner, check_mixing
from dualgap.preconditioners.units import Moved, Units
from dualgap.problem import Problem
from dualgap.regularizers import ElasticNet
from dualgap.state import State

WEAK = 1e-4
"""A pivot of a factor at unit diagonal: with a smaller one half of the digits are lost."""
LEAST = 16.0 * EPS
"""The least pivot of R that counts."""
DEPENDENT = 1e-26
"""What 32 digits leave of a column that depends on those before it."""
BUDGET = 1 << 30
"""The dense factor Q may take so many bytes (1 GiB)."""
DOUBLE = 2e7
"""A factorisation of at most so many multiplications is made with 32 digits."""
LITTLE_WORK = 1e4
"""Where a factorisation takes at most so many multiplications, which cost next to nothing, any weak
pivot counts; on larger data those at rounding are left out."""
ALIKE = 1e-9
"""Values of P that differ by no more than this share of the smaller one count as equal."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A_F = Q R, its columns centred if there is an intercept, in units of their own."""

    Q: Array
    """n x r."""
    R: Double
    """r x k, upper triangular in the order of the pivots."""
    order: Places
    """The order of the k columns; those beyond the first r depend on these."""
    units: Array
    """Powers of 2: column j is units_j times the user's."""
    means: Double
    """The means of the columns in their units; 0 without an intercept."""


@dataclass(frozen=True, eq=False)
class Triangular(Change):
    """x_F = units R^(-1) t, 0 for the columns that R leaves out; c' = c + means'x."""

    free: Places
    """F, in the order of the pivots."""
    R: Double
    units: Array
    means: Double
    before: Moved | None
    """What was moved first."""

    preconditioner: ClassVar[str] = "orthonormal"

    @property
    def rank(self) -> int:
        """Coordinates of t."""
        return len(self.R.high)

    def _first(self, problem: Problem) -> Problem:
        return problem if self.before is None else self.before.inner(problem)

    def inner(self, problem: Problem) -> Problem:
        """The columns with a penalty, and Q."""
        first = self._first(problem)
        others = _others(first, self.free)
        known = first.constants.orthonormal
        if known is not None and known[0] is self:
            base = known[1]
        else:
            base = _basis(first, _factor(first, np.sort(self.free)), others, self.rank)
            first.constants.orthonormal = (self, base)
        g, nothing = first.elastic_net, np.zeros(self.rank)
        l1, l2 = (strengths.reshape(-1)[others] for strengths in (g.l1, g.l2))
        return first.in_variables(
            base,
            ElasticNet(np.append(l1, nothing), np.append(l2, nothing)),
            intercept_scale=None if others.size else 1.0,
        )

    def coefficients(self, problem: Problem, w: Array) -> Array:
        """x, of the moved columns."""
        p, r = len(w) - self.rank, self.rank
        x = np.zeros((p + self.free.size, *w.shape[1:]))
        others = np.delete(np.arange(len(x)), self.free)
        x[others] = w[:p]
        x[self.free[:r]] = _column(self.units[:r], x) * self._back(w[p:])
        return x

    def solve(self, problem: Problem, x: Array) -> Array:
        """w: the coordinates with a penalty, and t = R x_F/units."""
        others = np.delete(np.arange(len(x)), self.free)
        scaled = x[self.free] / _column(self.units, x)
        columns = scaled.reshape(len(scaled), -1).T
        t = [self.R.scaled(column).high.sum(axis=1) for column in columns]
        return np.concatenate((x[others], np.stack(t, axis=1).reshape(-1, *x.shape[1:])))

    def _back(self, t: Array) -> Array:
        """R^(-1) t, each coordinate a float that makes up for those before it."""
        R, x = self.R, np.empty_like(t)
        left = double.of(np.array(t, dtype=np.float64))
        for k in range(self.rank - 1, -1, -1):
            x[k] = left.high[k] / R.high[k, k]
            upper = R.at(slice(k + 1), k)
            if t.ndim == 2:
                upper = Double(upper.high[:, None], upper.low[:, None])
            moved = upper.scaled(x[k])
            rest = left.at(slice(k + 1)).minus(moved)
            left.high[: k + 1], left.low[: k + 1] = rest
        return x

    def to_user(self, problem: Problem, inner: Problem, w: Array) -> Array:
        """The user's point."""
        first = self._first(problem)
        coefficients, c = inner.split(w)
        x = self.coefficients(problem, coefficients)
        point = first.joined(x, self._intercept(first, x, c, -1.0))
        return point if self.before is None else self.before.to_user(problem, first, point)

    def to_inner(self, problem: Problem, inner: Problem, x: Array) -> Array:
        """The inverse."""
        first = self._first(problem)
        if self.before is not None:
            x = self.before.to_inner(problem, first, x)
        coefficients, c = first.split(x)
        w = self.solve(problem, coefficients)
        return inner.joined(w, self._intercept(first, coefficients, c, 1.0))

    def _intercept(self, first: Problem, x: Array, c: float | Array, sign: float) -> Any:
        """c + sign means'x, rounded once."""
        if not first.fit_intercept:
            return c
        m = sign * np.concatenate((self.means.high, self.means.low))
        scaled = x[self.free] / _column(self.units, x)
        if first.outputs is None:
            return precise_dot(m, np.tile(scaled, 2), float(c))
        both = np.tile(scaled, (2, 1))
        return np.array([precise_dot(m, both[:, k], v) for k, v in enumerate(np.asarray(c))])


@dataclass(frozen=True)
class Orthonormal(Preconditioner):
    """An orthonormal basis of the columns without a penalty; where there are none, nothing is done.

    Parameters
    ----------
    at_once : bool
        From the start, or when a factor of Newton's is nearly singular.
    first : Units, optional
        Origins and units to take before.
    """

    at_once: bool = True
    first: Units | None = None

    name: ClassVar[str] = "orthonormal"
    looks_at_steps: ClassVar[bool] = True

    def check(self, problem: Problem) -> None:
        """There must not be too many of them."""
        check_mixing(self, problem)
        if not _fits(problem):
            raise ValueError(
                f"precondition='orthonormal' needs a dense copy of {problem!r}, more than "
                f"{BUDGET / 2**30:.3g} GiB. Use precondition='diagonal'."
            )

    def accepts(self, name: str) -> bool:
        """Before the change there is none, or that of the units; without free columns, too."""
        return name in (self.name, "none" if self.first is None else self.first.name)

    def begin(self, problem: Problem) -> Change | None:
        """What comes first; or the basis."""
        before = None if self.first is None else self.first.begin(problem)
        if not self.at_once or not _free(problem).size:
            return before
        return _change(problem, before, needed=False)

    def next_change(
        self, problem: Problem, inner: Problem, algorithm: Algorithm, s: State
    ) -> tuple[Change, State] | None:
        """The basis, where a factor of H says that there are columns that ask for it."""
        if self.at_once or isinstance(s.change, Triangular) or not _may_be_weak(inner, s):
            return None
        before = s.change
        assert before is None or isinstance(before, Moved)
        if not (_fits(problem) and spares(8.0 * problem.n * problem.d)):
            return None
        change = _change(problem, before, needed=True)
        return None if change is None else (change, s)


def may_ask(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether `auto` keeps an eye on the columns without a penalty."""
    if not problem.regularizer.has_strengths:
        return False
    if not problem.regularizer.has_free or problem.free_intercept_only:
        return False
    return isinstance(algorithm, Newton | WorkingSet | ProxNewton) and _fits(problem)


def _may_be_weak(inner: Problem, s: State) -> bool:
    """Whether Newton's factor is nearly singular; or there will be none, and another is cheap."""
    factor = s.own.factor if isinstance(s.own, NewtonState) else None
    if factor is not None:
        return bool(factor.weakest < WEAK)
    k = int(_free(inner).size)
    without = inner.loss.is_vector or inner.elastic_net.has_l1 or inner.n < inner.size - 1
    return without and inner.n * k * min(inner.n, k) <= DOUBLE


def _change(problem: Problem, before: Moved | None, *, needed: bool) -> Triangular | None:
    """The basis; None if it is to be needed and the columns are far from dependent."""
    first = problem if before is None else before.inner(problem)
    free = _free(first)
    if needed and not _are_nearly_dependent(first, free):
        return None
    factor = _factor(first, free)
    whole = Triangular(
        free[factor.order], factor.R, factor.units[factor.order], factor.means.at(factor.order),
        before,
    )  # fmt: skip
    rank = _rank(first, factor, whole)
    if needed and (np.diag(factor.R.high)[:rank] >= WEAK).all():  # what is weak does not count
        first.constants.nearly_dependent = (free.tobytes(), False)
        return None
    change = replace(whole, R=factor.R.at(slice(rank)))
    base = _basis(first, factor, _others(first, free), rank)
    first.constants.orthonormal = (change, base)
    return change


def _are_nearly_dependent(first: Problem, free: Places) -> bool:
    """Whether there is a pivot between that of a column of its own and rounding.

    Columns that depend on each other exactly (dummies of all levels beside an intercept, one column
    twice) do no harm to a Newton step; in float64 their pivots are rounding. Of small data they are
    looked at with more digits. Asked once for the same columns.
    """
    known = first.constants.nearly_dependent
    key = free.tobytes()
    if known is None or known[0] != key:
        columns, _ = _in_units(first, free)
        n, k = columns.shape
        B = _weighted(columns, first.q, first.fit_intercept)
        R = scipy.linalg.qr(B, mode="r", pivoting=True, check_finite=False)[0]
        first.base.ledger.passes += k
        weak = np.abs(np.diag(R)) < WEAK
        between = weak & (np.abs(np.diag(R)) > EPS * max(n, k))
        small = n * k * min(n, k) <= LITTLE_WORK
        known = first.constants.nearly_dependent = (key, bool((weak if small else between).any()))
    return bool(known[1])


def _in_units(first: Problem, free: Places) -> tuple[Array, Array]:
    """The columns with entries of at most 1, and the powers of 2 that made them so."""
    columns = _columns(first.base, free)
    _, exponents = np.frexp(np.abs(columns).max(axis=0))
    units = np.ldexp(1.0, -exponents)
    return columns * units, units


def _basis(first: Problem, factor: Factor, others: Places, rank: int) -> DenseDesign:
    """The columns with a penalty, and those of Q."""
    B = np.column_stack((_columns(first.base, others), factor.Q[:, :rank]))
    return DenseDesign(B, ledger=first.base.ledger)


def _factor(first: Problem, free: Places) -> Factor:
    columns, units = _in_units(first, free)
    n, k = columns.shape
    first.base.ledger.passes += 2.0 * k  # R, and Q
    if n * k * min(n, k) <= DOUBLE:
        factor = _gram_schmidt(columns, first.q, first.fit_intercept, min(n, k))
    else:
        factor = _householder(columns, first.q, first.fit_intercept)
    return Factor(factor.Q, factor.R, factor.order, units, factor.means)


def _gram_schmidt(columns: Array, q: Array, centre: bool, most: int) -> Factor:
    """Q and R with 32 digits."""
    n, k = columns.shape
    V, means = double.of(columns.astype(np.float64)), double.of(np.zeros(k))
    weights = q[:, None]
    if centre:
        total = double.of(q).sum()
        means = V.scaled(weights).sum().over(Double(*(np.full(k, part) for part in total)))
        V = V.minus(means)
    order, R = np.arange(k), double.of(np.zeros((most, k)))
    Q, rank = np.empty((n, most)), 0
    for step in range(most):
        check_time()
        sizes = np.sqrt(q @ (V.high[:, step:] ** 2))
        at = step + int(np.argmax(sizes))
        if not sizes[at - step] > DEPENDENT:
            break
        if at != step:
            swap = [step, at], [at, step]
            order[swap[0]] = order[swap[1]]
            for part in (*V, *R):
                part[:, swap[0]] = part[:, swap[1]]
        v = V.at(slice(None), step)
        length = v.times(v).scaled(q).sum().root()
        unit = v.over(Double(*(np.full(n, part) for part in length)))
        Q[:, step] = unit.high
        column = Double(unit.high[:, None], unit.low[:, None])
        rest = V.at(slice(None), slice(step + 1, None))
        along = rest.times(column).scaled(weights).sum()
        for into, own, others in zip(R, length, along, strict=True):
            into[step, step], into[step, step + 1 :] = own, others
        rest = rest.minus(column.times(along))
        V.high[:, step + 1 :], V.low[:, step + 1 :] = rest
        rank += 1
    return Factor(Q[:, :rank], R.at(slice(rank)), order, np.ones(k), means)


def _householder(columns: Array, q: Array, centre: bool) -> Factor:
    """Q and R in float64, for large data."""
    k = columns.shape[1]
    means = q @ columns if centre else np.zeros(k)
    root = np.sqrt(q)[:, None]
    B = _weighted(columns, q, centre)
    basis, R, order = scipy.linalg.qr(B, mode="economic", pivoting=True, check_finite=False)
    signs = np.where(np.diag(R) < 0.0, -1.0, 1.0)
    rank = int(np.count_nonzero(np.abs(np.diag(R)) > EPS * max(columns.shape)))
    Q = np.zeros((len(columns), rank))
    np.divide(basis[:, :rank] * signs[:rank], root, out=Q, where=root > 0)
    triangle = np.asarray((signs[:, None] * R)[:rank], dtype=np.float64)
    places: Places = order.astype(np.intp)
    return Factor(Q, double.of(triangle), places, np.ones(k), double.of(means))


def _weighted(columns: Array, q: Array, centre: bool) -> Array:
    return np.asarray(np.sqrt(q)[:, None] * (columns - q @ columns if centre else columns))


# ---- how many of them ----


def _rank(problem: Problem, factor: Factor, whole: Triangular) -> int:
    """Columns with a share of their own that is more than rounding.

    Squared loss: one more if P falls by more than what its coefficients, which are large, make
    uncertain of a prediction in float64; and as many as numpy's lstsq found use for.
    """
    pivots = np.diag(factor.R.high)
    rank = int(np.count_nonzero(pivots > LEAST))
    everything_is_free = problem.regularizer.free.all() and problem.loss.is_quadratic
    if rank == pivots.size or not everything_is_free or not factor.R.low.any():
        return rank
    b = problem.b if problem.offset is None else problem.b - problem.offset
    A = _columns(problem.base, np.arange(problem.d))
    t = np.empty(pivots.size)
    left = b - problem.mean(b) if problem.fit_intercept else b
    values, trusted = [], []
    for k in range(pivots.size + 1):
        if k >= rank:
            x = replace(whole, R=factor.R.at(slice(k))).coefficients(problem, t[:k])
            values.append(_value(problem, A, b, x))
            error = EPS * (np.abs(A) @ np.abs(x))
            trusted.append(values[-1] + problem.mean(np.abs(left) * error + 0.5 * error * error))
        if k < pivots.size:
            t[k] = problem.mean(factor.Q[:, k] * left)
            left = left - t[k] * factor.Q[:, k]
    best = int(np.argmin(trusted))
    if values[best] > (1.0 + ALIKE) * _value_of_lstsq(problem, A, b):
        best = int(np.argmin(values))
    return rank + best


def _value(problem: Problem, A: Array, b: Array, x: Array) -> float:
    """P at x with its best intercept, with 32 digits in the residuals."""
    r = Double(*double.two_product(A.T, x[:, None])).sum().minus(double.of(b))
    if problem.fit_intercept:
        mean = r.scaled(problem.q).sum()
        r = r.minus(Double(*(np.full(problem.n, part) for part in mean)))
    return 0.5 * problem.mean(r.high * r.high)


def _value_of_lstsq(problem: Problem, A: Array, b: Array) -> float:
    """P at what numpy's lstsq makes of the problem."""
    root = np.sqrt(problem.q)
    M = np.column_stack((A, np.ones(problem.n))) if problem.fit_intercept else A
    try:
        x = np.linalg.lstsq(root[:, None] * M, root * b, rcond=None)[0]
    except np.linalg.LinAlgError:  # no convergence
        return math.inf
    return _value(problem, A, b, np.asarray(x[: problem.d], dtype=np.float64))


# ---- columns ----


def _free(problem: Problem) -> Places:
    """Columns without a penalty."""
    return np.flatnonzero(problem.regularizer.free.reshape(-1)[: problem.d])


def _others(problem: Problem, free: Places) -> Places:
    return np.delete(np.arange(problem.d), free)


def _fits(problem: Problem) -> bool:
    """Whether Q, and the data beside it, are not too large."""
    k = int(np.count_nonzero(problem.regularizer.free[: problem.d]))
    mixed = problem.base.is_sparse and k < problem.d  # what has a penalty would become dense, too
    fits = 8.0 * problem.n * problem.d <= (BUDGET / 8.0 if mixed else BUDGET)
    return fits and min(problem.n, k) <= GRAM_LIMIT


def _columns(base: Design, at: Places) -> Array:
    """Some columns, dense and in float64."""
    out = np.empty((base.shape[0], at.size))
    for rows, block in base.blocks(block_rows(base.shape[1])):
        out[rows] = block[:, at]
    return out


def _column(values: Array, like: Array) -> Array:
    return values if like.ndim == 1 else values[:, None]
