"""A better point, found in decimals: P there, taken from P(x), is a lower bound on P(x) - P*.

Newton's method on the coordinates that are not held at 0 by l1, from the best point at hand. The
gradient is exact to a hundred digits, so a step may be solved in float64 where that is well
conditioned: each step then takes away some ten digits of the error; elsewhere it is solved in
decimals, where near dependence is as good as independence and exact dependence is seen as such.
Whether it converges or not, what it finds is a point, and convicts as one.
"""

import decimal
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from .decimals import RATIONAL, WORK, Objective, floats
from .solving import solve_in_floats, solve_semidefinite

ZERO = Decimal(0)
NOTHING = Decimal("1e-50")
"""Of the P that was begun with."""


@dataclass
class Better:
    """The best point found, P there, and about how much of it may be left above P*."""

    X: np.ndarray
    P: Decimal
    left: Decimal
    steps: int = 0
    step: np.ndarray | None = None
    """The step that was not worth taking any more, about what is left of the way to x*."""


def sign(v: Decimal) -> int:
    return (v > 0) - (v < 0)


def polish(
    objective: Objective,
    X: np.ndarray,
    P: Decimal | None = None,
    *,
    aim: Decimal = ZERO,
    steps: int = 30,
    budget: float = 1.2e6,
) -> Better:
    """Go down from X until about ``aim`` is left, or the steps or the budget of products ends."""
    with decimal.localcontext(WORK):
        P = objective.value(X) if P is None else P
        best = Better(X, P, P)  # nothing is below 0
        nothing = P * NOTHING
        n, D = objective.A.shape
        sweep = n * D * (objective.K or 1)
        for _ in range(steps):
            newton = _Newton(objective, best.X)
            budget -= 6 * sweep
            d, cost = newton.direction(budget)
            budget -= cost
            if d is None:
                break
            # Nothing is below 0, and what Newton's method expects is half of -g'd at the end.
            best.left = min(newton.decrease(d), best.P)
            if best.left <= max(aim, nothing):
                best.step = d
                break
            moved = newton.move(best.P, d)
            if moved is None:
                break
            best = Better(*moved, best.left, best.steps + 1)
        return best


class _Newton:
    """One step from X."""

    def __init__(self, objective: Objective, X: np.ndarray) -> None:
        self.of, self.X = objective, X
        self.straight = False
        """Whether P is straight along the direction, which then has no length of its own."""
        self.Z = objective.predict(X)
        self.y, self.curvature = objective.slopes(self.Z)
        g = objective.gradient(X, self.y)
        l1 = np.broadcast_to(objective.per_row(objective.l1), X.shape)
        l2 = np.broadcast_to(objective.per_row(objective.l2), X.shape)
        self.moving = np.ones(X.shape, dtype=bool)
        self.side = np.zeros(X.shape, dtype=int)
        """The sign that a coordinate with l1 has, or is to get."""
        for at in zip(*np.nonzero(l1), strict=True):
            self.side[at] = sign(X[at]) or -sign(g[at])
            self.moving[at] = bool(X[at]) or abs(g[at]) > l1[at]
        if objective.K and not objective.bounded:
            # The same shift of a free row in all classes changes nothing.
            self.moving[objective.free, 0] = False
        self.g = g + l1 * self.side
        self.l2 = l2
        self.low = np.broadcast_to(objective.per_row(objective.lower), X.shape)
        self.high = np.broadcast_to(objective.per_row(objective.upper), X.shape)
        if objective.bounded:  # what would leave through the end that it is at
            self.moving &= ~((X <= self.low) & (self.g >= 0) | (X >= self.high) & (self.g <= 0))

    def direction(self, budget: float) -> tuple[np.ndarray | None, float]:
        """Where to go, and what finding out has cost in products; None if it would cost too much.

        A coordinate that l1 held at 0 and that would leave to the wrong side stays, and so does
        one that would leave its bounds.
        """
        spent = 0.0
        while True:
            d, cost = self._direction(budget - spent)
            spent += cost
            if d is None:
                return None, spent
            wrong = np.array([v * s < 0 and not x for v, s, x in self._each(d)], dtype=bool)
            wrong = wrong.reshape(d.shape)
            if self.of.bounded:
                wrong |= (self.X <= self.low) & (d < 0) | (self.X >= self.high) & (d > 0)
            wrong &= self.moving
            if not wrong.any():
                return d, spent
            self.moving &= ~wrong

    def _each(self, d: np.ndarray) -> Iterator[tuple[Decimal, int, Decimal]]:
        return zip(d.flat, self.side.flat, self.X.flat, strict=True)

    def _direction(self, budget: float) -> tuple[np.ndarray | None, float]:
        m = int(self.moving.sum())
        g = -self.g[self.moving]
        d = self.g * 0
        if not m or not any(g):
            return d, 0.0
        step = self._in_floats(g)
        cost = 0.0
        if step is None:
            cost = len(self.Z) * m * m * (0.6 if self.of.K is None else 1.0) + m**3 / 3
            if cost > budget:
                return None, 0.0
            step, beyond = solve_semidefinite(self._hessian(), g)
            self.straight = beyond is not None
            step = beyond if self.straight else step
        d[self.moving] = step
        return d, cost

    def _in_floats(self, g: np.ndarray) -> np.ndarray | None:
        of = self.of
        top = np.abs(of.floats).max(axis=0)
        top = np.where(top > 0, top, 1.0)
        scale = np.broadcast_to(top[:, None], self.X.shape) if of.K else top
        scale = scale[self.moving]
        with np.errstate(all="ignore"):
            A, weight = of.floats / top, floats(self.of.w / self.of.W)
            H = self._assemble(A, weight, floats(self.curvature))
            exact_scale = np.array([Decimal(v) for v in scale.tolist()], dtype=object)
            H[np.diag_indices_from(H)] += floats(self.l2[self.moving] / exact_scale / exact_scale)
            unit = np.sqrt(np.diag(H))
            H = H / unit / unit[:, None]
            right = floats(g / exact_scale) / unit
            if not (np.isfinite(H).all() and np.isfinite(right).all()):
                return None
            step = solve_in_floats(H, right)
            if step is None or not np.isfinite(step / unit).all():
                return None
        return np.array([Decimal(v) for v in (step / unit).tolist()], dtype=object) / exact_scale

    def _hessian(self) -> np.ndarray:
        H = self._assemble(self.of.A, self.of.w / self.of.W, self.curvature)
        H[np.diag_indices_from(H)] += self.l2[self.moving]
        return H

    def _assemble(self, A: np.ndarray, weight: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """The Hessian of the mean loss on the moving coordinates, in whatever numbers come."""
        K = self.of.K
        if not K:
            B = A[:, self.moving]
            q = weight * curvature
            rows = np.array([bool(v) for v in q])  # rows without curvature are many with hinges
            return (B[rows].T * q[rows]) @ B[rows] if rows.any() else B[:0].T @ B[:0] + 0 * _eye(B)
        rows, cols = np.nonzero(self.moving)
        H = np.empty((len(rows), len(rows)), dtype=A.dtype)
        for k in range(K):
            for m in range(k, K):
                q = curvature[:, k] * ((k == m) - curvature[:, m])
                at, to = np.flatnonzero(cols == k), np.flatnonzero(cols == m)
                block = (A[:, rows[at]].T * (weight * q)) @ A[:, rows[to]]
                H[np.ix_(at, to)] = block
                H[np.ix_(to, at)] = block.T
        return H

    def decrease(self, d: np.ndarray) -> Decimal:
        """-g'd, about twice what a Newton step takes off P."""
        return -(self.g * d * self.moving).sum()

    def move(self, P: Decimal, d: np.ndarray) -> tuple[np.ndarray, Decimal] | None:
        """A point with a lower P along d; None if there is none."""
        if not self.straight:
            X = self._held(self.X + d)
            value = self.of.value(X)
            if value < P:
                return X, value
        for t in self._shorter(d):
            X = self._held(self.X + t * d)
            value = self.of.value(X)
            if value < P:
                return X, value
        return None

    def _shorter(self, d: np.ndarray) -> Iterator[Decimal]:
        """Lengths to try: the best one where P is piecewise quadratic, then shorter ones."""
        crossings = [-x / v for v, s, x in self._each(d) if s and v and x * v < 0]
        crossings += self._ends(d)
        furthest = min(crossings, default=None)
        best = self._best_length(d, furthest) if self.of.loss in RATIONAL else None
        if best is not None:
            yield best
        t = Decimal(1) if furthest is None else min(Decimal(1), furthest)
        for _ in range(60):  # where an exponential is flat a Newton step means little
            yield t
            t /= 4

    def _ends(self, d: np.ndarray) -> Iterator[Decimal]:
        """The lengths at which a coordinate arrives at a bound."""
        if self.of.bounded:
            for x, v, low, high in zip(
                *(a.flat for a in (self.X, d, self.low, self.high)), strict=True
            ):
                end = high if v > 0 else low
                if v and end.is_finite():
                    yield (end - x) / v

    def _best_length(self, d: np.ndarray, furthest: Decimal | None) -> Decimal | None:
        """Where the slope along d is 0: between two kinks it is straight in t."""
        ends = sorted(t for t in self.of.kinks(self.Z, self.of.A @ d) if t > 0)
        if furthest is not None:
            ends = [*[t for t in ends if t < furthest], furthest]
        low, high = -1, len(ends)  # the slope is negative at 0, before the first end
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._slope(d, ends[middle]) < 0 else (low, middle)
        left = ends[low] if low >= 0 else ZERO
        if high == len(ends):
            if furthest is not None:
                return furthest
            right = max(2 * left, Decimal(1))  # the last piece: where its line meets 0
        else:
            right = ends[high]
        first, second = self._slope(d, left), self._slope(d, right)
        if second <= first:
            return None
        return left + (right - left) * first / (first - second)

    def _slope(self, d: np.ndarray, t: Decimal) -> Decimal:
        """dP/dt at X + t d, short of the first change of sign."""
        y = self.of.slopes(self.Z + t * (self.of.A @ d))[0]
        g = self.of.gradient(self.X + t * d, y) + self.of.per_row(self.of.l1) * self.side
        return (g * d).sum()

    def _held(self, X: np.ndarray) -> np.ndarray:
        """Coordinates with l1 end at 0 where they would change sign, all at their bounds."""
        wrong = np.array([s * sign(v) < 0 for s, v in zip(self.side.flat, X.flat, strict=True)])
        X = X.copy()
        X[wrong.reshape(X.shape)] = ZERO
        return self.of.nearest(X)


def _eye(B: np.ndarray) -> np.ndarray:
    one = Decimal(1) if B.dtype == object else 1.0
    return np.array([[one] * B.shape[1]] * B.shape[1], dtype=B.dtype)
