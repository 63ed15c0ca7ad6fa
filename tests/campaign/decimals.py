"""The objective in decimals of a hundred digits, and in exact rationals where it is rational.

    P(x) = (1/W) sum_i w_i phi_i(z_i) + sum_j p_j (l1 |x_j| + (l2/2) x_j^2),   z = A x + offset

An intercept is the last coordinate of x, with a column of ones and no penalty. All floats are read
as the exact numbers that they are. Not a line is shared with dualgap.
"""

import decimal
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tests.certificate.cases import Case

from .reading import read

DIGITS = 100
OF_EXP = 60
"""Digits of exponentials and logarithms, which cost most of the time."""
RATIONAL = ("squared", "huber", "squared_hinge", "smoothed_hinge")


def context(digits: int) -> decimal.Context:
    """Digits enough, exponents without end, nothing trapped but nonsense."""
    return decimal.Context(
        prec=digits,
        Emax=decimal.MAX_EMAX,
        Emin=decimal.MIN_EMIN,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


WORK, EXP = context(DIGITS), context(OF_EXP)


def exact(values: Any) -> np.ndarray:
    """Floats as decimals (to a hundred digits, which float64 needs all of only near underflow)."""
    values = np.asarray(values, dtype=float)
    return np.array(
        [WORK.create_decimal_from_float(v) for v in values.ravel().tolist()], dtype=object
    ).reshape(values.shape)


def floats(values: np.ndarray) -> np.ndarray:
    return values.astype(float)


def log_of_one_plus(e: Decimal) -> Decimal:
    """log(1 + e) for 0 <= e, to all digits for tiny e too."""
    if e < Decimal("1e-20"):
        return e - e * e / 2 + e * e * e / 3
    return EXP.ln(1 + e)


def sigmoid(t: Decimal) -> Decimal:
    """1/(1 + exp(-t))."""
    e = EXP.exp(-abs(t))
    return 1 / (1 + e) if t >= 0 else e / (1 + e)


def softplus(t: Decimal) -> Decimal:
    """log(1 + exp(t))."""
    return max(t, Decimal(0)) + log_of_one_plus(EXP.exp(-abs(t)))


def loss_value(loss: str, h: Any, z: Any, b: Any) -> Any:
    """phi for one row; decimals or, for the losses in `RATIONAL`, fractions."""
    if loss == "squared":
        return (z - b) * (z - b) / 2
    if loss == "huber":
        r = abs(z - b)
        return r * r / 2 if r <= h else h * (r - h / 2)
    short = 1 - b * z
    if loss == "squared_hinge":
        return short * short / 2 if short > 0 else short * 0
    if loss == "smoothed_hinge":
        if short <= 0:
            return short * 0
        return short - h / 2 if short >= h else short * short / (2 * h)
    if loss == "poisson":  # e^z - b z + b log b - b
        return EXP.exp(z) - (b * (z - EXP.ln(b) + 1) if b else 0)
    if loss == "gamma":  # z + b e^-z - (1 + log b)
        t = EXP.ln(b) - z
        return EXP.exp(t) - 1 - t
    return softplus(-b * z) + (h * z * z / 2 if loss == "strong_logistic" else 0)


def loss_slopes(loss: str, h: Decimal, z: Decimal, b: Decimal) -> tuple[Decimal, Decimal]:
    """phi' and phi'' (at a kink of phi' that of the curved side) for one row."""
    zero, one = Decimal(0), Decimal(1)
    if loss == "squared":
        return z - b, one
    if loss == "huber":
        r = z - b
        return (r, one) if abs(r) <= h else (h.copy_sign(r), zero)
    short = 1 - b * z
    if loss == "squared_hinge":
        return (-b * short, one) if short >= 0 else (zero, zero)
    if loss == "smoothed_hinge":
        if short < 0 or short > h:
            return (zero if short < 0 else -b), zero
        return -b * short / h, one / h
    if loss in ("poisson", "gamma"):
        mean = EXP.exp(z) if loss == "poisson" else b * EXP.exp(-z)
        return (mean - b if loss == "poisson" else 1 - mean), mean
    p = sigmoid(-b * z)
    if loss == "strong_logistic":
        return -b * p + h * z, p * (1 - p) + h
    return -b * p, p * (1 - p)


class Objective:
    """P of a case: rows that weigh nothing are left out, the intercept is one more column."""

    def __init__(self, case: Case) -> None:
        with decimal.localcontext(WORK):
            self._read(case)

    def _read(self, case: Case) -> None:
        of = read(case)
        self.fit_intercept, self.loss, self.K, self.columns = (
            of.fit_intercept, of.loss, of.K, of.columns
        )  # fmt: skip
        self.floats = of.A
        self.A, self.w = exact(of.A), exact(of.w)
        self.W = self.w.sum()
        p = exact(of.p)
        self.l1, self.l2 = exact(of.l1) * p, exact(of.l2) * p
        self.b = of.b if of.K else exact(of.b)
        self.h = exact(of.h).item()
        self.offset = None if of.offset is None else exact(of.offset)
        self.bounded = bool(np.isfinite([of.lower, of.upper]).any())
        self.lower, self.upper = exact(of.lower), exact(of.upper)

    # ---- points ----

    @property
    def free(self) -> np.ndarray:
        """Coordinates (rows of x, with classes) without any penalty."""
        return np.array([not a and not b for a, b in zip(self.l1, self.l2, strict=True)])

    @property
    def shape(self) -> tuple[int, ...]:
        D = self.A.shape[1]
        return (D, self.K) if self.K else (D,)

    def join(self, x: Any, c: Any = 0.0) -> np.ndarray:
        """The decimals of (x, c)."""
        x = exact(x)
        if not self.fit_intercept:
            return x
        return np.concatenate((x, exact(np.reshape(np.asarray(c, float), (1, *x.shape[1:])))))

    def is_inside(self, X: np.ndarray) -> bool:
        low, high = self.per_row(self.lower), self.per_row(self.upper)
        return bool(((low <= X) & (X <= high)).all())

    def nearest(self, X: np.ndarray) -> np.ndarray:
        """X with every coordinate between its bounds."""
        if not self.bounded:
            return X
        return np.minimum(np.maximum(X, self.per_row(self.lower)), self.per_row(self.upper))

    def per_row(self, values: np.ndarray) -> np.ndarray:
        return values[:, None] if self.K and values.ndim == 1 else values

    # ---- P and its slopes ----

    def predict(self, X: np.ndarray) -> np.ndarray:
        z = self.A @ X
        return z if self.offset is None else z + self.offset

    def losses(self, Z: np.ndarray) -> np.ndarray:
        if self.K:
            return np.array([self._entropy(z, b) for z, b in zip(Z, self.b, strict=True)])
        return np.array(
            [loss_value(self.loss, self.h, z, b) for z, b in zip(Z, self.b, strict=True)],
            dtype=object,
        )

    @staticmethod
    def _entropy(z: np.ndarray, b: int) -> Decimal:
        """log sum_k exp(z_k) - z_b, by the distance to the largest."""
        top = int(np.argmax(z))
        rest = sum((EXP.exp(v - z[top]) for k, v in enumerate(z) if k != top), Decimal(0))
        return z[top] - z[b] + log_of_one_plus(rest)

    def penalty(self, X: np.ndarray) -> Decimal:
        l1, l2 = self.per_row(self.l1), self.per_row(self.l2)
        return (l1 * abs(X) + l2 * X * X / 2).sum()

    def value(self, X: np.ndarray, Z: np.ndarray | None = None) -> Decimal:
        """P(x); infinite outside of the bounds."""
        with decimal.localcontext(WORK):
            if self.bounded and not self.is_inside(X):
                return Decimal("Infinity")
            Z = self.predict(X) if Z is None else Z
            return (self.w * self.losses(Z)).sum() / self.W + self.penalty(X)

    def slopes(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi'(z) and phi''(z); with classes softmax - e_b, and softmax."""
        if self.K:
            p = np.array([self._softmax(z) for z in Z])
            y = p.copy()
            for i, b in enumerate(self.b):  # -(sum of the others), to all digits
                y[i, b] = -sum((v for k, v in enumerate(p[i]) if k != b), Decimal(0))
            return y, p
        pairs = [loss_slopes(self.loss, self.h, z, b) for z, b in zip(Z, self.b, strict=True)]
        first, second = zip(*pairs, strict=True)
        return np.array(first, dtype=object), np.array(second, dtype=object)

    def kinks(self, Z: np.ndarray, dZ: np.ndarray) -> Iterator[Decimal]:
        """The t at which a row of Z + t dZ passes from one quadratic piece to the next."""
        for z, dz, b in zip(Z, dZ, self.b, strict=True):
            if dz and self.loss != "squared":
                for end in self._ends(b):
                    yield (end - z) / dz

    def _ends(self, b: Decimal) -> tuple[Decimal, ...]:
        if self.loss == "huber":
            return b - self.h, b + self.h
        return (b, b * (1 - self.h)) if self.loss == "smoothed_hinge" else (b,)

    @staticmethod
    def _softmax(z: np.ndarray) -> np.ndarray:
        top = z.max()
        e = np.array([EXP.exp(v - top) for v in z], dtype=object)
        return e / e.sum()

    def gradient(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Of the smooth part: A'(w y)/W + l2 x."""
        return self.A.T @ (self.per_row(self.w) * y) / self.W + self.per_row(self.l2) * X


def rational_value(case: Case, X: np.ndarray) -> Fraction:
    """P(x) exactly, for the losses in `RATIONAL`; X in floats or decimals, the intercept last."""
    of = read(case)
    x = [Fraction(v) for v in X]
    offset = np.zeros(len(of.w)) if of.offset is None else of.offset
    h, total, weight = Fraction(of.h), Fraction(0), Fraction(0)
    for row, b, w, o in zip(*(v.tolist() for v in (of.A, of.b, of.w, offset)), strict=True):
        z = sum((Fraction(a) * v for a, v in zip(row, x, strict=True) if a), Fraction(o))
        total += Fraction(w) * loss_value(case.loss, h, z, Fraction(b))
        weight += Fraction(w)
    l1, l2 = Fraction(of.l1), Fraction(of.l2)
    held = (
        Fraction(p) * (l1 * abs(v) + l2 * v**2 / 2) for p, v in zip(of.p.tolist(), x, strict=True)
    )
    return total / weight + sum(held, Fraction(0))
