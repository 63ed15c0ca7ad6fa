"""P in balls of 400 bits: what is true of the whole ball is true of P, and proved.

    P(x) = (1/W) sum_i w_i phi_i(z_i) + sum_j p_j (l1 |x_j| + (l2/2) x_j^2),   z = A x + offset

Data are the floats that they are, products such as l1 p_j and quotients such as w_i/W are those of
real numbers. A comparison of balls is true only if it holds for all numbers in them, so that a
conviction that rests on one is a proof. Not a line is shared with dualgap, and none but the reading
of the case with the decimals.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from tests.certificate.cases import Case

from .reading import Reading, read

BITS = 400
ZERO, ONE = arb(0), arb(1)


def ball(value: Any) -> arb:
    """A float exactly, a decimal to within the last of 400 bits."""
    return arb(str(value)) if isinstance(value, Decimal) else arb(float(value))


def either(condition: bool, otherwise: bool, first: arb, second: arb) -> arb:
    """The branch that is certain, or what contains both."""
    if condition:
        return first
    return second if otherwise else first.union(second)


def softplus(t: arb) -> arb:
    """log(1 + exp(t)) = t + log(1 + exp(-t)), by the one that does not grow."""
    return t + (-t).exp().log1p() if t.mid() > 0 else t.exp().log1p()


def value_of_row(loss: str, h: arb, z: arb, b: arb) -> arb:
    """phi_i(z), for the losses with one prediction a row."""
    if loss == "squared":
        return (z - b) ** 2 / 2
    if loss == "huber":
        r = abs(z - b)
        return either(r <= h, r > h, r * r / 2, h * (r - h / 2))
    if loss == "poisson":  # e^z - b z + b log b - b
        return z.exp() if b == 0 else b * ((z - b.log()).expm1() - (z - b.log()))
    if loss == "gamma":  # z + b e^-z - (1 + log b)
        t = b.log() - z
        return t.expm1() - t
    short = 1 - b * z
    if loss == "squared_hinge":
        return either(short <= 0, short > 0, ZERO, short * short / 2)
    if loss == "smoothed_hinge":
        curved = either(short <= 0, short > 0, ZERO, short * short / (2 * h))
        return either(short >= h, short < h, short - h / 2, curved)
    if loss == "logistic":
        return softplus(-b * z)
    if loss == "strong_logistic":
        return softplus(-b * z) + h * z * z / 2
    raise ValueError(loss)


def cross_entropy(z: list[arb], own: int) -> arb:
    """log sum_k exp(z_k) - z_own, by the distance to the largest."""
    top = max(range(len(z)), key=lambda k: z[k].mid())
    rest = total((v - z[top]).exp() for k, v in enumerate(z) if k != top)
    return z[top] - z[own] + rest.log1p()


def total(values: Iterable[arb]) -> arb:
    return sum(values, ZERO)


class Balls:
    """P of a case in balls; points are arrays of floats or decimals, the intercept their last."""

    def __init__(self, case: Case) -> None:
        with ctx.workprec(BITS):
            self._take(read(case))

    def _take(self, of: Reading) -> None:
        self.of = of
        self.A = arb_mat([[ball(v) for v in row] for row in of.A.tolist()])
        self.w = [ball(v) for v in of.w.tolist()]
        self.W = total(self.w)
        self.b = of.b.tolist() if of.K else [ball(v) for v in of.b.tolist()]
        self.h = ball(of.h)
        p = [ball(v) for v in of.p.tolist()]
        self.l1, self.l2 = ([ball(v) * q for q in p] for v in (of.l1, of.l2))
        self.offset = None
        if of.offset is not None:
            rows = np.reshape(of.offset, (len(of.w), -1)).tolist()
            self.offset = arb_mat([[ball(v) for v in row] for row in rows])

    def value(self, X: np.ndarray) -> arb:
        """P(X); +inf outside of the bounds."""
        with ctx.workprec(BITS):
            rows = [[ball(v) for v in row] for row in np.reshape(X, (len(X), -1)).tolist()]
            if self._is_outside(X):
                return arb("inf")
            return self._data(rows) / self.W + self._penalty(rows)

    def _is_outside(self, X: np.ndarray) -> bool:
        """Whether a coordinate is beyond its bounds: numbers are compared as they are."""
        ends = zip(np.reshape(X, (len(X), -1)).tolist(), self.of.lower, self.of.upper, strict=True)
        return any(v < low or v > high for row, low, high in ends for v in row)

    def _data(self, rows: list[list[arb]]) -> arb:
        Z = self.A * arb_mat(rows)
        Z = Z if self.offset is None else Z + self.offset
        losses = (self._loss(i, z) for i, z in enumerate(Z.tolist()))
        return total(w * phi for w, phi in zip(self.w, losses, strict=True))

    def _loss(self, i: int, z: list[arb]) -> arb:
        if self.of.K:
            return cross_entropy(z, self.b[i])
        return value_of_row(self.of.loss, self.h, z[0], self.b[i])

    def _penalty(self, rows: list[list[arb]]) -> arb:
        return total(
            l1 * abs(v) + l2 * v * v / 2
            for l1, l2, row in zip(self.l1, self.l2, rows, strict=True)
            for v in row
        )
