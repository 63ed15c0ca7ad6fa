"""Multinomial logistic loss: K scores per row, one class per row.

With p = softmax(z) and the class b: phi(z) = log sum_k exp(z_k) - z_b, phi'(z) = p - e_b. A y is in
the domain of phi* if p = y + e_b is in the simplex, and there phi*(y) = sum_k p_k log p_k.

The entry of y for the row's own class is -(sum of the others), which keeps its last digits where
p_b is near 1; the same care is taken with 1 - p_b everywhere below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlog1py, xlogy

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.enclosures import classes
from dualgap.linalg.rounding import EPS
from dualgap.losses.contract import Loss

NEAR = 0.03
"""|p - softmax|/softmax below which the divergence is summed as a series."""
MOST_CLASSES = 1_000_000
"""Every row has a prediction for each class, and so has every column a coefficient."""


def own(b: Array) -> tuple[Any, Any]:
    """The index of each row's own class."""
    return np.arange(b.size), b.astype(np.intp)


def row_max(z: Array) -> Array:
    """max_k z_k of every row; column by column where rows are short, which is faster."""
    if z.shape[1] > 8:
        return np.asarray(z.max(axis=1))
    largest = z[:, 0].copy()
    for k in range(1, z.shape[1]):
        np.maximum(largest, z[:, k], out=largest)
    return largest


def softmax(z: Array) -> tuple[Array, Array, Array]:
    """softmax(z), max_k z_k, and log sum_k exp(z_k - max) of every row."""
    top = z.argmax(axis=1)
    at = np.arange(z.shape[0]), top
    largest = z[at]
    e = np.exp(z - largest[:, None])
    e[at] = 0.0
    rest = e.sum(axis=1)
    e[at] = 1.0
    e /= (1.0 + rest)[:, None]
    return e, largest, np.log1p(rest)


@dataclass(frozen=True)
class Multinomial(Loss):
    """phi = log sum_k exp(z_k) - z_b for a row of class b = 0, ..., K-1; gamma = 2, delta = 0.

    phi*(y) = sum_k p_k log p_k where p = y + e_b is in the simplex. There is no dual prox.

    Parameters
    ----------
    classes : int, optional
        K, from 2 to 1 000 000. If not given, one more than the largest class in b, and then each
        class must occur in b: one that never does is most often a mistake in the numbering.
    """

    classes: int | None = None

    name: ClassVar[str] = "multinomial"
    is_accurate: ClassVar[bool] = True
    code: ClassVar[int] = 6
    gamma: ClassVar[float] = 2.0
    delta: ClassVar[float] = 0.0
    has_dual_prox: ClassVar[bool] = False
    is_vector: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the number of classes."""
        K = self.classes
        if K is None:
            return
        if isinstance(K, bool | np.bool_) or not isinstance(K, int | np.integer):
            raise TypeError(f"classes must be an integer, got {K!r}.")
        if K < 2:
            raise ValueError(f"classes must be at least 2, got {K}.")
        if K > MOST_CLASSES:
            raise ValueError(
                f"classes must be at most {MOST_CLASSES}, got {K}. Number the classes that occur, "
                "e.g. by np.unique(b, return_inverse=True)."
            )
        object.__setattr__(self, "classes", int(K))

    def targets(self, b: Any, n: int) -> Array:
        """Classes 0, ..., K-1, as floats."""
        labels = check.vector("b", b, n, what="row of A")
        bad = (labels != np.floor(labels)) | (labels < 0)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"b[{at}] = {labels[at]:g} is not a class: loss={self.name!r} takes integers "
                "0, 1, ..., K-1. Number your classes, e.g. by np.unique(b, return_inverse=True)."
            )
        largest = int(labels.max())
        if self.classes is None and largest < 1:
            raise ValueError(
                f"b holds class 0 only; loss={self.name!r} takes at least two classes. Say "
                "loss=dualgap.losses.Multinomial(classes=K) if the others are not in these rows."
            )
        if self.classes is not None and largest >= self.classes:
            at = int(labels.argmax())
            raise ValueError(
                f"b[{at}] = {largest}, but classes={self.classes}: classes are numbered from 0 to "
                f"{self.classes - 1}. Raise classes or renumber."
            )
        if self.classes is None:
            _refuse_gaps(labels)
        return labels

    def outputs(self, b: Array) -> int:
        """K."""
        return int(b.max()) + 1 if self.classes is None else self.classes

    def value(self, z: Array, b: Array) -> Array:
        """(max z - z_b) + log sum_k exp(z_k - max z)."""
        return self.value_grad(z, b)[0]

    def grad(self, z: Array, b: Array) -> Array:
        """softmax(z) - e_b."""
        return self.value_grad(z, b)[1]

    def value_grad(self, z: Array, b: Array) -> tuple[Array, Array]:
        """Both from one exponential; the sum is taken over the others, then the own class."""
        at = np.arange(b.size) * z.shape[1] + b.astype(np.intp)
        largest = row_max(z)
        y = np.ascontiguousarray(z - largest[:, None])
        flat = y.reshape(-1)
        above = flat[at]
        np.exp(y, out=y)
        mine = flat[at]
        flat[at] = 0.0
        others = np.einsum("ik->i", y)
        total = mine + others
        y /= total[:, None]
        flat[at] = -others / total
        # mine = 1 where the own class has the largest score: a tiny sum of others is not lost.
        return np.log1p(others + (mine - 1.0)) - above, y

    def hess(self, z: Array, b: Array) -> Array:
        """diag(p) - p p' for every row: an array of shape (n, K, K)."""
        p = softmax(z)[0]
        return np.asarray(p[:, :, None] * np.eye(z.shape[1]) - p[:, :, None] * p[:, None, :])

    def conj(self, y: Array, b: Array) -> Array:
        """sum_k p_k log p_k, with 0 log 0 = 0; what rounding puts outside counts as the end."""
        at = own(b)
        p = np.maximum(y, 0.0)
        total = xlogy(p, p)
        inside = np.clip(y[at], -1.0, 0.0)
        total[at] = xlog1py(1.0 + inside, inside)
        return np.asarray(total.sum(axis=1))

    def conj_grad(self, y: Array, b: Array) -> Array:
        """log p, p kept off 0."""
        p = y.copy()
        p[own(b)] += 1.0
        return np.asarray(np.log(np.maximum(p, 1e-300)))

    def into_domain(self, y: Array, b: Array) -> Array:
        """p = y + e_b, negative entries cut off, divided by its sum, where it was outside."""
        at = own(b)
        others = y.copy()
        others[at] = 0.0
        K = y.shape[1]
        outside = (others < 0.0).any(axis=1) | (y[at] < -1.0 - 4.0 * K * EPS)
        outside |= np.abs(y.sum(axis=1)) > 8.0 * K * EPS
        if not outside.any():
            return y
        others = np.maximum(others[outside], 0.0)
        sums = others.sum(axis=1)
        total = np.maximum(y[at][outside] + 1.0, 0.0) + sums
        empty = total == 0.0  # nothing left of p: e_b
        others /= np.where(empty, 1.0, total)[:, None]
        out = y.copy()
        out[outside] = others
        out[at[0][outside], at[1][outside]] = -others.sum(axis=1)
        return out

    def margins(self, z: Array, b: Array) -> Array:
        """z_b - z_k for every class k, less what rounding may have made of it."""
        mine = z[own(b)][:, None]
        margins = mine - z - 4.0 * EPS * (np.abs(mine) + np.abs(z))
        margins[own(b)] = 0.0
        return np.asarray(margins)

    def fenchel_gap(self, z: Array, y: Array, b: Array) -> Array:
        """sum_k p_k log(p_k/s_k) - p_k + s_k with s = softmax(z): terms that are >= 0 one by one.

        Where r = (p_k - s_k)/s_k is small a term is s_k (r^2/2 - r^3/6 + r^4/12 - ...).
        """
        s, largest, log_sum = softmax(z)
        at = own(b)
        slope = s.copy()
        slope[at] = 0.0
        slope[at] = -slope.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            r = (y - slope) / s
        near = np.abs(r) <= NEAR  # False where s = 0
        r = np.where(near, r, 0.0)
        series = np.full_like(r, 1.0 / 72.0)
        for m in range(8, 1, -1):
            series = 1.0 / (m * (m - 1)) - r * series
        terms = s * r * r * series
        far = ~near
        if far.any():
            p = np.maximum(y, 0.0)
            p[at] = np.clip(1.0 + y[at], 0.0, 1.0)
            log_s = (z - largest[:, None]) - log_sum[:, None]
            p, log_s, s = p[far], log_s[far], s[far]
            terms[far] = np.maximum(xlogy(p, p) - p * log_s - p + s, 0.0)
        return np.asarray(terms.sum(axis=1))

    def gap_above(
        self, z_lo: Array, z_hi: Array, y: Array, b: Array, slack: Array | None = None
    ) -> Array:
        """At least sum_k p_k log(p_k/s_k) for every real z in the box, s = softmax(z), row by row.

        Parameters
        ----------
        z_lo, z_hi : array of shape (n, K)
            The ends, score by score; a constant may be added to a row of both.
        y : array of shape (n, K)
            Floats >= 0 whose sum over the other classes, rounded up, is at most 1. The entry of a
            row's own class is not read: it is minus the *real* sum of the others.
        b : array
            The classes.
        slack : array of shape (n, K), optional
            The bound then holds for every real y' in the domain with |y'_k - y_k| <= slack_k, where
            y_k is that real number for the own class.
        """
        return classes.gap_above(z_lo, z_hi, np.broadcast_to(y, z_lo.shape), own(b), slack)

    def value_below(self, z_lo: Array, z_hi: Array, b: Array) -> Array:
        """log sum_k exp(z_k - z_b) with the least z_k and the largest z_b, rounded down."""
        return classes.value_below(z_lo, z_hi, own(b))

    def rounded(self, z: Array, b: Array) -> Array:
        """1 and z_k - max z, as far as its exponential is not 0."""
        return 1.0 + np.minimum(row_max(z)[:, None] - z, 750.0)

    def start(self, b: Array) -> Array:
        """v = 0: every class is as likely as any other."""
        return np.zeros((b.size, self.outputs(b)))


def _refuse_gaps(labels: Array) -> None:
    """Labels 1, ..., K would make a class 0 that no row has: its fit means nothing."""
    largest = int(labels.max())
    seen = np.unique(labels)
    if seen.size == largest + 1:
        return
    missing = int(np.argmax(seen != np.arange(seen.size)))
    raise ValueError(
        f"b[{int(labels.argmax())}] = {largest} would make {largest + 1} classes, of which "
        f"{seen.size} are seen; class {missing} is not. Number your classes 0, 1, ..., K-1, e.g. "
        "by np.unique(b, return_inverse=True), or say loss=dualgap.losses.Multinomial("
        f"classes={largest + 1}) if the others are just not in these rows."
    )
