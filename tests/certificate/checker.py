"""An independent certificate in extended precision: no line of it is shared with dualgap.

    P(x, c) = sum_i q_i phi_i(z_i) + sum_j p_j (l1 |x_j| + (l2/2) x_j^2),   z = A x + c + offset
    D(y)    = sum_i q_i (y_i offset_i - phi_i*(y_i)) - sum_j g_j*(-(A'Qy)_j)

Here the intercept is kept apart from x, the dual is written out, and everything is longdouble.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

LD = np.longdouble
EPS = float(np.finfo(float).eps)
MARGIN = ("logistic", "strong_logistic", "smoothed_hinge", "squared_hinge")
STEEP = ("poisson", "gamma")
"""Losses whose phi'' has no bound."""


def wide(values: Any) -> np.ndarray:
    """An exact longdouble copy (every float32 and float64 is one)."""
    dense = values.toarray() if sp.issparse(values) else np.asarray(values)
    return dense.astype(LD)


def sigmoid(t: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(t))
    return np.where(t >= 0, 1 / (1 + small), small / (1 + small))


def softplus(t: np.ndarray) -> np.ndarray:
    return np.maximum(t, 0) + np.log1p(np.exp(-np.abs(t)))


def xlogx(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), LD(0))


def log_or_0(b: np.ndarray) -> np.ndarray:
    return np.log(np.where(b > 0, b, LD(1)))


@np.errstate(over="ignore")
def phi(loss: str, parameter: float, z: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The loss, branch by branch as in the table of losses."""
    h, m, r = LD(parameter), b * z, z - b
    if loss == "squared":
        return r * r / 2
    if loss == "logistic":
        return softplus(-m)
    if loss == "strong_logistic":
        return softplus(-m) + h * z * z / 2
    if loss == "squared_hinge":
        return np.where(m < 1, (1 - m) ** 2 / 2, LD(0))
    if loss == "smoothed_hinge":
        middle = np.where(m <= 1 - h, 1 - m - h / 2, (1 - m) ** 2 / (2 * h))
        return np.where(m >= 1, LD(0), middle)
    if loss == "huber":
        return np.where(np.abs(r) <= h, r * r / 2, h * np.abs(r) - h * h / 2)
    if loss == "poisson":
        t = z - log_or_0(b)  # e^z - b z + b log b - b
        return np.where(b > 0, b * (np.expm1(t) - t), np.exp(z))
    if loss == "gamma":
        t = np.log(b) - z  # z + b e^-z - (1 + log b)
        return np.expm1(t) - t
    raise ValueError(loss)


@np.errstate(over="ignore")
def phi_prime(loss: str, parameter: float, z: np.ndarray, b: np.ndarray) -> np.ndarray:
    h, m, r = LD(parameter), b * z, z - b
    if loss == "squared":
        return r
    if loss == "logistic":
        return -b * sigmoid(-m)
    if loss == "strong_logistic":
        return -b * sigmoid(-m) + h * z
    if loss == "squared_hinge":
        return np.where(m < 1, -b * (1 - m), LD(0))
    if loss == "smoothed_hinge":
        return np.where(m >= 1, LD(0), np.where(m <= 1 - h, -b, -b * (1 - m) / h))
    if loss == "huber":
        return np.where(np.abs(r) <= h, r, h * np.sign(r))
    if loss == "poisson":
        return np.exp(z) - b
    if loss == "gamma":
        return 1 - b * np.exp(-z)
    raise ValueError(loss)


@np.errstate(over="ignore")
def phi_second(loss: str, parameter: float, z: np.ndarray, b: np.ndarray) -> np.ndarray:
    h, m, r = LD(parameter), b * z, z - b
    if loss == "squared":
        return np.ones_like(z)
    if loss in ("logistic", "strong_logistic"):
        return sigmoid(z) * sigmoid(-z) + (h if loss == "strong_logistic" else 0)
    if loss == "squared_hinge":
        return np.where(m < 1, LD(1), LD(0))
    if loss == "smoothed_hinge":
        return np.where((m < 1) & (m > 1 - h), 1 / h, LD(0))
    if loss == "huber":
        return np.where(np.abs(r) <= h, LD(1), LD(0))
    if loss == "poisson":
        return np.exp(z)
    if loss == "gamma":
        return b * np.exp(-z)
    raise ValueError(loss)


def phi_star(loss: str, parameter: float, y: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The conjugate, for y in its domain."""
    h, p = LD(parameter), -b * y
    if loss in ("squared", "huber"):
        return y * y / 2 + b * y
    if loss == "logistic":
        return xlogx(p) + xlogx(1 - p)
    if loss == "squared_hinge":
        return p * p / 2 - p
    if loss == "smoothed_hinge":
        return h * p * p / 2 - p
    if loss == "poisson":
        return xlogx(y + b) - (y + b) - (b * log_or_0(b) - b)
    if loss == "gamma":
        return xlogx(1 - y) + y + y * np.log(b)
    if loss == "strong_logistic":  # sup_z y z - phi(z): halve a bracket of the maximiser
        low, high = (y - 1) / h, (y + 1) / h
        for _ in range(50):  # an error e of z is felt as e^2
            z = (low + high) / 2
            beyond = phi_prime(loss, parameter, z, b) > y
            low, high = np.where(beyond, low, z), np.where(beyond, z, high)
        z = (low + high) / 2
        return y * z - phi(loss, parameter, z, b)
    raise ValueError(loss)


def domain(loss: str, parameter: float, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the domain of phi*."""
    infinite = np.full(b.shape, LD(np.inf))
    if loss == "huber":
        return np.full(b.shape, -LD(parameter)), np.full(b.shape, LD(parameter))
    if loss in ("logistic", "smoothed_hinge"):  # 0 <= -b y <= 1
        return np.where(b > 0, LD(-1), LD(0)), np.where(b > 0, LD(0), LD(1))
    if loss == "squared_hinge":  # 0 <= -b y
        return np.where(b > 0, -infinite, LD(0)), np.where(b > 0, LD(0), infinite)
    if loss == "poisson":
        return -b, infinite
    if loss == "gamma":
        return -infinite, np.ones(b.shape, LD)
    return -infinite, infinite


@dataclass
class Checker:
    """The problem, in the words of the user; `parameter` is the width, threshold or strength."""

    A: Any
    b: Any
    loss: str = "squared"
    parameter: float = 1.0
    l1: float = 0.0
    l2: float = 0.0
    penalty_weights: Any = None
    sample_weight: Any = None
    offset: Any = None
    fit_intercept: bool = False
    q: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.A, self.b = wide(self.A), wide(self.b)
        n, d = self.A.shape
        if self.loss in MARGIN and not (self.b < 0).any():  # labels 0/1
            self.b = np.where(self.b > 0, LD(1), LD(-1))
        w = np.ones(n, LD) if self.sample_weight is None else wide(self.sample_weight)
        p = np.ones(d, LD) if self.penalty_weights is None else wide(self.penalty_weights)
        self.q = w / w.sum()
        self.l1_j, self.l2_j = LD(self.l1) * p, LD(self.l2) * p
        self.o = np.zeros(n, LD) if self.offset is None else wide(self.offset)

    # ---- primal ----

    def predict(self, x: Any, c: float = 0.0) -> np.ndarray:
        return self.A @ wide(x) + LD(c) + self.o

    def primal(self, x: Any, c: float = 0.0) -> LD:
        x = wide(x)
        losses = phi(self.loss, self.parameter, self.predict(x, c), self.b)
        return (self.q * losses).sum() + (self.l1_j * np.abs(x) + self.l2_j * x * x / 2).sum()

    def at_zero(self) -> LD:
        return self.primal(np.zeros(self.A.shape[1]))

    def gradient_dual(self, x: Any, c: float = 0.0) -> np.ndarray:
        """y = phi'(z), the natural dual point of x."""
        return phi_prime(self.loss, self.parameter, self.predict(x, c), self.b)

    # ---- dual ----

    def inside(self, y: Any) -> np.ndarray:
        """y brought into the domains of the conjugates, row by row."""
        return np.clip(wide(y), *domain(self.loss, self.parameter, self.b))

    def outside_by(self, y: Any) -> LD:
        """How far y is outside the domains, over the rows that count."""
        y = wide(y)
        return np.abs(y - self.inside(y))[self.q > 0].max()

    def excess(self, y: Any) -> np.ndarray:
        """By how much |(A'Qy)_j| exceeds l1_j where no l2_j pays for it."""
        s = np.abs(self.A.T @ (self.q * wide(y)))
        return np.where(self.l2_j == 0, np.maximum(s - self.l1_j, 0), LD(0))

    def imbalance(self, y: Any) -> LD:
        """sum_i q_i y_i where an intercept asks it to be 0."""
        return np.abs((self.q * wide(y)).sum()) if self.fit_intercept else LD(0)

    def balanced(self, y: Any) -> np.ndarray:
        """y with its heavier sign scaled until sum_i q_i y_i = 0, if there is an intercept."""
        y = wide(y)
        if not self.fit_intercept:
            return y
        up, down = (self.q * np.maximum(y, 0)).sum(), (self.q * np.maximum(-y, 0)).sum()
        least = min(up, down)
        return np.where(y > 0, y * (least / up if up else 0), y * (least / down if down else 0))

    def dual(self, y: Any) -> LD:
        """D(y) as if y were feasible: see `outside_by`, `excess`, `imbalance` for whether it is."""
        y = wide(y)
        counts = self.q > 0
        star = phi_star(self.loss, self.parameter, self.inside(y), self.b)
        data = (self.q * (y * self.o - star))[counts].sum()
        over = np.maximum(np.abs(self.A.T @ (self.q * y)) - self.l1_j, 0)
        ridge = self.l2_j > 0
        return data - (over[ridge] ** 2 / (2 * self.l2_j[ridge])).sum()

    def conjugate_point(self, y: Any) -> np.ndarray:
        """The x at which g*(-A'Qy) is attained, where l2_j > 0."""
        s = -(self.A.T @ (self.q * wide(y)))
        soft = np.sign(s) * np.maximum(np.abs(s) - self.l1_j, 0)
        return np.where(self.l2_j > 0, soft / np.where(self.l2_j > 0, self.l2_j, 1), LD(0))

    # ---- what float64 can be held to ----

    def primal_floor(self, x: Any, c: float = 0.0) -> float:
        """Rounding of P(x): that of z, felt through phi', and that of the sums."""
        x = wide(x)
        z = self.predict(x, c)
        terms = sum(self.A.shape) + 4
        reach = np.abs(self.A) @ np.abs(x) + abs(c) + np.abs(self.o) + np.abs(self.b)
        slope = np.abs(phi_prime(self.loss, self.parameter, z, self.b))
        bend = 1 + 1 / LD(self.parameter) + LD(self.parameter)  # at least phi''
        if self.loss in STEEP:
            bend = 3 * phi_second(self.loss, self.parameter, z, self.b)
            reach = reach - np.abs(self.b) + np.abs(log_or_0(self.b)) + 1
        felt = (self.q * reach * (slope + bend * terms * EPS * reach)).sum()
        return float(terms * EPS * (felt + self.primal(x, c)))

    def dual_floor(self, y: Any, x: Any, c: float = 0.0) -> float:
        """Rounding of a bound D(y) <= P(x): an error e of A'Qy shows as e'x, whatever its size."""
        size = np.abs(self.b - self.o).max() if y is None else np.abs(self.inside(y)).max()
        size = max(size, np.abs(self.b - self.o).max(), LD(1) if self.loss in MARGIN else LD(0))
        if self.loss in STEEP:  # phi'(z) is rounded by phi'' times what z is
            z = np.clip(self.predict(x, c), -500, 500)
            size = max(size, LD(1), phi_second(self.loss, self.parameter, z, self.b).max())
            size += np.abs(log_or_0(self.b)).max()
        reach = np.abs(self.A) @ np.abs(wide(x)) + abs(c) + np.abs(self.o) + np.abs(self.b) + size
        terms = sum(self.A.shape) + 4
        return float(terms * EPS * (self.q * reach).sum() * size)
