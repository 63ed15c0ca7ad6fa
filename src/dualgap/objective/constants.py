"""The constants of the theorems, each a bound that knows its side and where it comes from.

    Lam = lambda_max(A'QA) (= L^2/n)     M = lambda_min(A'QA) (= mu^2/n)     R = max |a_i|

A theorem stays true with an upper bound on Lam and R and a lower bound on M. An estimate is for
steps that are watched while they run (`primal_dual.batch` raises it as soon as a step shows
that it was too small); it never enters a certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.linalg

from dualgap._types import Array, Places
from dualgap.designs import Columns, Design, InterceptDesign
from dualgap.designs.moved import column_shifts, column_sizes, extreme_columns
from dualgap.designs.narrow import Narrow
from dualgap.designs.survey import not_finite
from dualgap.limits import check_time
from dualgap.linalg.lanczos import Lanczos

Side = Literal["exact", "upper", "lower", "estimate"]

GRAM_LIMIT = 8192
"""Largest side of a Gram matrix that is formed (512 MiB)."""

SMALL_GRAM = 200
"""Up to this side, forming the Gram matrix costs no more than a few products."""

UNEVEN = 0.1
"""A column with more than this share of all squares is taken for one in other units."""

UNDERFLOWING = 1e-240
"""Mean squares below this may have lost digits."""

LANCZOS_STEPS = 40
"""No eigenvalue is worth more steps of Lanczos' method than this."""
FAILURE = 1e-10
"""The bound from a random start of Lanczos' method fails with at most this probability."""

NUMBERS = ("R", "largest_column", "is_uneven", "trace", "_spectrum", "Lam", "Lam_estimate", "M")
"""Constants that are a few numbers, some of which cost many products."""


@dataclass(frozen=True)
class Bound:
    """A number, on which side of the truth it lies, and why."""

    value: float
    side: Side
    origin: str


class Constants:
    """Constants of A under the weights q, computed when asked for and kept.

    Parameters
    ----------
    design : Design
        A, with the column of ones if there is an intercept.
    q : array of shape (n,)
        Weights that sum to one.
    """

    def __init__(self, design: Design, q: Array) -> None:
        self.design = design
        self.q = q
        self.samplers: dict[Any, Any] = {}
        self.gathered: Columns | None = None
        """The columns that were asked for last, by any of the problems that share these data."""
        self.moved: Any = None
        """The data from other origins and in other units, where a run has asked for them;"""
        self.orthonormal: Any = None
        """and in an orthonormal basis of their free columns."""
        self.nearly_dependent: Any = None
        """Some columns, and whether they ask for such a basis."""

    def __getstate__(self) -> dict[str, Any]:
        """Without copies of the data, which can be made again."""
        return {**self.__dict__, "gathered": None, "moved": None, "orthonormal": None}

    def small(self) -> tuple[tuple[str, Any], ...]:
        """What has been found so far that is a few numbers, for `recall`."""
        return tuple((name, self.__dict__[name]) for name in NUMBERS if name in self.__dict__)

    def recall(self, found: tuple[tuple[str, Any], ...]) -> None:
        """Take what `small` has told of the same data, rather than find it again."""
        self.__dict__.update((name, value) for name, value in found if name in NUMBERS)

    @property
    def knows_columns(self) -> bool:
        """Whether a reading has found the lengths of columns and their means."""
        return "column_norms" in self.__dict__

    def learn(self, squares: Array, means: Array) -> None:
        """The mean squares of columns, and their means, are known from a reading."""
        self.__dict__.update(column_norms=np.sqrt(squares), column_means=means)

    @property
    def base(self) -> Design:
        """A without the column of an intercept."""
        return self.design.base if isinstance(self.design, InterceptDesign) else self.design

    @cached_property
    def column_shifts(self) -> Array | None:
        """`designs.moved.column_shifts`, found once."""
        return column_shifts(self.base, self.q)

    @cached_property
    def extreme_columns(self) -> tuple[Places, Array]:
        """Columns that need another unit, and their largest magnitudes."""
        at = extreme_columns(self.base)
        return at, column_sizes(self.base, at) if at.size else np.empty(0)

    @cached_property
    def R(self) -> Bound:
        """max |a_i| over the rows with weight."""
        norms = self.design.row_norms_sq()
        return Bound(math.sqrt(float(norms[self.q > 0].max())), "exact", "row norms")

    @cached_property
    def column_means(self) -> Array:
        """A'q."""
        return self.design.rmatvec(self.q)

    @cached_property
    def column_norms(self) -> Array:
        """sqrt(sum_i q_i a_ij^2); where squares underflow, at most this: the largest |a_ij|."""
        squares = self.design.column_norms_sq(self.q)
        if not np.isfinite(squares).all():
            raise not_finite(self.design, squares)
        norms = np.sqrt(squares)
        tiny = np.flatnonzero(squares < UNDERFLOWING)
        if tiny.size and self.design.may_underflow:
            norms[tiny] = self.design.column_sizes(tiny)
        return norms

    @cached_property
    def largest_column(self) -> float:
        """The largest of `column_norms`."""
        return float(self.column_norms.max())

    @cached_property
    def narrow(self) -> Narrow | None:
        """`Design.narrowed`, made once."""
        return self.design.narrowed()

    @cached_property
    def is_uneven(self) -> bool:
        """Whether columns come in units of their own."""
        squares = self.column_norms**2
        return bool(squares.max() > UNEVEN * squares.sum())

    @cached_property
    def trace(self) -> float:
        """Trace of A'QA: the sum of the squares of `column_norms`, at least Lam."""
        return float(np.square(self.column_norms).sum())

    @property
    def gram_side(self) -> int:
        """min(n, d): the side of the smaller Gram matrix."""
        return min(self.design.shape)

    def gram_eigenvalues(self, weights: Array) -> Array:
        """Eigenvalues, ascending, of A' diag(weights) A; min(n, d) of them (the rest are 0)."""
        n, d = self.design.shape
        if d <= n:
            G = self.design.gram(weights)
        else:
            root = np.sqrt(weights)
            G = root[:, None] * self.design.outer(np.ones(d)) * root
        values = scipy.linalg.eigh(G, eigvals_only=True, overwrite_a=True, check_finite=False)
        return np.asarray(values)

    @cached_property
    def _spectrum(self) -> tuple[float, float]:
        """Smallest and largest eigenvalue of A'QA."""
        e = self.gram_eigenvalues(self.q)
        n, d = self.design.shape
        noise = 10.0 * d * np.finfo(float).eps * float(e[-1])
        return (float(e[0]) if d <= n and e[0] > noise else 0.0), float(e[-1])

    @cached_property
    def Lam(self) -> Bound:
        """Lam as an upper bound that may be relied on.

        The largest eigenvalue of the Gram matrix where that can be formed; else the least of
        the trace, the Collatz-Wielandt quotient of |A|'Q|A| (nearly exact for data >= 0) and the
        bound of Kuczynski & Wozniakowski (1992) on a Lanczos run from a random start.
        """
        if self.gram_side <= GRAM_LIMIT // 2:
            side = self.gram_side
            slack = 1.0 + 1e-12 + 10.0 * side * np.finfo(float).eps
            return Bound(self._spectrum[1] * slack, "upper", "eigenvalues of the Gram matrix")
        ritz, steps = self._lanczos(patient=True)
        root = math.log(1.648 * math.sqrt(self.design.shape[1]) / FAILURE) / (2 * steps - 1)
        options = {
            "trace of the Gram matrix": self.trace,
            "Collatz-Wielandt quotient of |A|'Q|A|": self._collatz_wielandt(),
        }
        if root < 1.0:
            options[f"Lanczos, {steps} steps, with probability 1 - {FAILURE:g}"] = ritz / (
                1.0 - root**2
            )
        origin = min(options, key=lambda k: options[k])
        return Bound(options[origin] * (1.0 + 1e-9), "upper", origin)

    @cached_property
    def Lam_estimate(self) -> Bound:
        """Lam to about a percent, for steps that are watched."""
        if "_spectrum" in self.__dict__ or self.gram_side <= SMALL_GRAM:
            return Bound(self._spectrum[1], "exact", "eigenvalues of the Gram matrix")
        ritz, steps = self._lanczos(patient=False)
        return Bound(1.005 * ritz, "estimate", f"Lanczos, {steps} steps")

    @cached_property
    def M(self) -> Bound:
        """M exactly (to the rounding of the Gram matrix); 0 if n < d."""
        if self.design.shape[0] < self.design.shape[1]:
            return Bound(0.0, "exact", "fewer rows than columns")
        if self.gram_side > GRAM_LIMIT:
            raise ValueError(
                f"mu from the data needs a Gram matrix of side {self.gram_side}, more than "
                f"{GRAM_LIMIT}. Give mu=..., or use an adaptive algorithm, which needs none."
            )
        return Bound(self._spectrum[0], "exact", "eigenvalues of the Gram matrix")

    def weighted_Lam(self, weights: Array) -> tuple[float, int]:
        """lambda_max(A' diag(weights) A) to about a percent, and the passes that it took."""
        cost = self.gram_side
        if cost <= LANCZOS_STEPS:
            found = float(self.gram_eigenvalues(weights)[-1])
        else:
            ritz, cost = self._lanczos(patient=False, weights=weights)
            found = 1.005 * ritz
        return found, cost

    def _lanczos(self, *, patient: bool, weights: Array | None = None) -> tuple[float, int]:
        """Largest Ritz value of A'QA and the number of steps taken; all of them if ``patient``.

        ``weights`` stand in for q.

        No reorthogonalisation: lost orthogonality only repeats eigenvalues already found. Products
        are in units of the trace, so that no scale of the data over- or underflows.
        """
        unit = self.trace or 1.0
        weights = self.q if weights is None else weights
        design, (n, d) = self.design, self.design.shape

        def product(v: Array) -> Array:
            return np.asarray(design.rmatvec(weights * design.matvec(v)) / unit)

        space = Lanczos(product, np.random.default_rng(20170806).standard_normal(d))
        ritz, calm = 0.0, 0
        while True:
            check_time()
            space.grow()
            last, ritz = ritz, space.largest_eigenvalue()
            calm = calm + 1 if ritz - last <= 2e-3 * ritz else 0
            enough = calm == 2 and not patient
            if enough or space.size == min(LANCZOS_STEPS, n, d) or space.off[-1] <= 1e-12 * ritz:
                return unit * ritz, space.size

    def _collatz_wielandt(self) -> float:
        """max_j (|A|'Q|A| w)_j / w_j for a positive w, sharpened by power iteration."""
        w = np.ones(self.design.shape[1])
        best = math.inf
        for _ in range(5):
            check_time()
            z, _ = self.design.absolute_product(w, np.zeros(self.design.shape[0]))
            _, new = self.design.absolute_product(np.zeros_like(w), self.q * z)
            best = min(best, float((new / w).max()))
            if not new.any():
                break
            w = new / new.max() + 1e-3
        return best
