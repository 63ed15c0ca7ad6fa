"""Units and origins that float64 can do with: x_j = f_j w_j, and columns a_j - m_j 1.

Beside an intercept a column such as 1.7e9 + k, k = 0, ..., 19, is almost constant: products with it
have an error of the size of k, and the Gram matrix knows nothing of k at all. With m_j = 1.7e9 + 10
taken from it and c' = c + m'x it is the same problem in the column k - 10. So too an offset that
is large for all rows, and targets: what they have in common is the intercept's. Columns so small
that their squares vanish get another unit.

The m_j, f_j are such that nothing is rounded on the way there (`designs.moved`). On the way back x
is not, and c = c' - m'x is rounded once, from its exact value: z = A x + c then has no error but
that of c, which no float64 point is without.

``"auto"`` takes these variables where the data ask for them, and for every algorithm: they change
neither the rows of well-behaved data nor what an algorithm does with them.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import per_row, precise_dot
from dualgap._types import Array
from dualgap.designs.moved import SPREAD, middle_and_spread, moved
from dualgap.losses.contract import RegressionLoss
from dualgap.preconditioners.contract import Change, Preconditioner
from dualgap.problem import Problem
from dualgap.regularizers.wrappers import scaled

LARGEST = float(np.finfo(float).max)
LARGEST_EXPONENT = 1000
"""The largest exponent of a factor."""
FAR = 30.0
"""The intercept takes over the middle of the offset where that is more than this many times as
large as the spread of the offset and as that of the targets (as 1 where these are labels or
counts)."""
ALIKE = 0.5
"""What two values that have much in common may differ by."""


@dataclass(frozen=True, eq=False)
class Moved(Change):
    """x_j = f_j w_j; c' = c + shifts'x + offset - target."""

    factors: Array
    shifts: Array
    offset: Array
    """What all rows have in common of the offset, for each class."""
    target: float
    """What all rows have in common of the targets."""

    preconditioner: ClassVar[str] = "units"

    def inner(self, problem: Problem) -> Problem:
        """Moved data, which the problems of a path share, and the regulariser in their units."""
        inner = self._with_moved_data(problem)
        if self.offset.any():
            assert problem.offset is not None
            inner.offset = problem.offset - self.offset.reshape(problem.outputs or ())
        if self.target:
            inner.b = problem.b - self.target
        if self.target or self.offset.any():  # P(0) is another, and of the size of P
            for stale in ("primal_at_zero", "null_model", "is_solved_by_null"):
                inner.__dict__.pop(stale, None)  # they are those of the offset before
        return inner

    def _with_moved_data(self, problem: Problem) -> Problem:
        f = self.factors
        if not self.shifts.any() and (f == 1.0).all():
            return copy.copy(problem)
        known = problem.constants.moved
        same = known is not None and (
            np.array_equal(known[0], self.shifts) and np.array_equal(known[1], f)
        )
        base = known[2] if same else moved(problem.base, self.shifts, f)
        inner = problem.in_variables(base, scaled(problem.penalty, f))
        if same:
            inner.design, inner.constants = known[3].design, known[3]
        problem.constants.moved = (self.shifts, f, base, inner.constants)
        return inner

    def is_like(self, other: Change | None) -> bool:
        """Whether the other one has moved the data as this one has."""
        return (
            isinstance(other, Moved)
            and np.array_equal(self.factors, other.factors)
            and np.array_equal(self.shifts, other.shifts)
        )

    def coefficients(self, problem: Problem, w: Array) -> Array:
        """f w."""
        return problem.into_domain(np.clip(per_row(self.factors, w) * w, -LARGEST, LARGEST))

    def solve(self, problem: Problem, x: Array) -> Array:
        """x/f."""
        return x / per_row(self.factors, x)

    def to_user(self, problem: Problem, inner: Problem, w: Array) -> Array:
        """The user's point; c is what it must be for the x that float64 has."""
        coefficients, c = inner.split(w)
        x = self.coefficients(problem, coefficients)
        return problem.joined(x, self._intercept(problem, x, c, -1.0))

    def to_inner(self, problem: Problem, inner: Problem, x: Array) -> Array:
        """The inverse."""
        coefficients, c = problem.split(x)
        w = self.solve(problem, coefficients)
        return inner.joined(w, self._intercept(problem, coefficients, c, 1.0))

    def _intercept(
        self, problem: Problem, x: Array, c: float | Array, sign: float
    ) -> float | Array:
        """c + sign (shifts'x + offset - target), rounded once."""
        if not problem.fit_intercept:
            return c
        at = np.flatnonzero(self.shifts)
        m, target = sign * self.shifts[at], -sign * self.target
        if problem.outputs is None:
            return precise_dot(m, x[at], float(c), sign * float(self.offset[0]), target)
        return np.array(
            [
                precise_dot(m, x[at, k], float(start), sign * float(self.offset[k]), target)
                for k, start in enumerate(np.asarray(c))
            ]
        )


@dataclass(frozen=True)
class Units(Preconditioner):
    """Origins and units of columns, targets and offset that float64 can do with.

    For every problem; where there is nothing to do, nothing is done.
    """

    name: ClassVar[str] = "units"

    def check(self, problem: Problem) -> None:
        """It fits every problem."""

    def begin(self, problem: Problem) -> Moved:
        """What the data ask for."""
        shifts = problem.constants.column_shifts if problem.fit_intercept else None
        offset, target = _common(problem)
        return Moved(
            _factors(problem),
            np.zeros(problem.d) if shifts is None else shifts,
            offset,
            target,
        )


def asked(problem: Problem) -> Units | None:
    """These variables, if the data ask for them; judged once for all problems on the same data."""
    constants = problem.constants
    if constants.extreme_columns[0].size and (_factors(problem) != 1.0).any():
        return Units()
    if not problem.fit_intercept:
        return None
    if constants.column_shifts is not None:
        return Units()
    offset, target = _common(problem)
    return Units() if target or offset.any() else None


def _factors(problem: Problem) -> Array:
    """2^k with which extreme columns come near 1, unless their penalty would become too large."""
    at, sizes = problem.constants.extreme_columns
    f = np.ones(problem.d)
    if at.size:
        form = problem.penalty.compiled_form()
        parts = (0.0, 0.0) if form is None else (form.l1, form.l2)
        l1, l2 = (np.broadcast_to(part, (problem.d,))[at] for part in parts)
        wanted = np.ldexp(1.0, np.minimum(-np.frexp(sizes)[1], LARGEST_EXPONENT))
        fits = (l1 <= check.LARGEST / wanted) & (np.sqrt(l2) <= math.sqrt(check.LARGEST) / wanted)
        f[at] = np.where(fits, wanted, 1.0)
    return f


def _common(problem: Problem) -> tuple[Array, float]:
    """What all rows have of the offset (class by class) and of the targets, where it is large."""
    common, target, unit = np.zeros(problem.outputs or 1), 0.0, 1.0
    regression = isinstance(problem.loss, RegressionLoss)
    if regression and _alike(problem.b):
        middle, spread = _middle_and_spread(problem, problem.b[:, None])
        far = 0.0 < spread[0] < SPREAD * abs(middle[0])
        target = float(middle[0]) if far else 0.0
    if problem.offset is None:
        return common, target
    offset = problem.offset.reshape(problem.n, -1)
    if any(_alike(column) for column in offset.T):
        if regression:
            unit = float(_middle_and_spread(problem, problem.b[:, None])[1][0])
        middle, spread = _middle_and_spread(problem, offset)
        common = np.where(np.abs(middle) > FAR * np.maximum(spread, unit), middle, 0.0)
    return common, target


def _alike(values: Array) -> bool:
    """Whether two of them are: what is cheap to know."""
    return bool(abs(values[0] - values[-1]) <= ALIKE * abs(values[0]))


def _middle_and_spread(problem: Problem, values: Array) -> tuple[Array, Array]:
    counts = problem.q > 0
    return middle_and_spread(values[counts], problem.q[counts])
