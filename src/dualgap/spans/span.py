"""The span of the columns F that nothing penalises, and the way of a dual point out of it.

A dual point needs F'Qy = 0, which no float y satisfies to the last bit. It need not: for weights
D_i >= 0 of our choice let

    G = F' diag(q D) F,    rho = F'Qy,    y' = y - D F G^(-1) rho,    nu^2 = rho' G^(-1) rho.

Then F'Qy' = 0 in real arithmetic, and by Cauchy and Schwarz |y'_i - y_i| <= nu sqrt(D_i/q_i) and
|(A'Qy')_j - (A'Qy)_j| <= nu sqrt(sum_i q_i D_i a_ij^2). So nothing has to be solved exactly: a
bound on nu is enough, and nu is about the rounding of y. What it takes is a proof that G is
regular:

- `GramSpan`, where the Gram matrix is well conditioned: a Cholesky factorisation of G - c I;
- `BasisSpan` where it is not: any X for which C = diag(sqrt(q D)) F X has C'C near I. Then
  nu <= |X' rho|/(1 - |C'C - I|)^(1/2). X comes from a QR factorisation, in float64 or, for columns
  that are nearly dependent, with twice the digits.

`Span.distance` says so up to rounding, for steps and estimates; `Span.proved_distance` is a theorem
about the floats as they are (see `proofs`), for certificates.

Columns are left out only if they are proved to be combinations of the others: a column of zeros, or
an exact relation with small integers (a duplicate, a one-hot code and the constant). No singular
value is ever taken for 0; where there is no proof there is no span.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs import Design
from dualgap.designs.contract import block_rows
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.normal_equations import NormalEquations
from dualgap.linalg.rounding import UNIT, sum_error
from dualgap.objective.constants import GRAM_LIMIT
from dualgap.spans.bases import groups_of_rows, orthonormal
from dualgap.spans.proofs import (
    BasisProof,
    GramProof,
    basis_proof,
    columns_of,
    exact_sums,
    gram_proof,
    rows_of,
)

DENSE_LIMIT = 1 << 26
"""Most entries of a dense copy of the columns (512 MiB)."""
FEW_ENTRIES = 4096
"""Columns with at most this many entries are summed with twice the digits (some microseconds)."""


class Span(ABC):
    """Columns F, weights D; see the module."""

    D: Array | None
    """The weights; None stands for 1."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Columns of `basis`."""

    @abstractmethod
    def basis(self) -> Array:
        """Independent columns that span what F spans, dense."""

    @abstractmethod
    def projected(self, y: Array) -> Array:
        """y' in float64: what is left of F'Qy' is rounding."""

    @abstractmethod
    def distance(self, y: Array, u: Array) -> float:
        """An upper bound on nu, given u = A'Qy in float64; inf where none can be had."""

    @property
    @abstractmethod
    def root(self) -> Array:
        """r: the weights of the real move are omega = r^2, the squares of these floats."""

    @abstractmethod
    def proved_distance(self, high: Array, low: Array | None = None, open_: float = 0.0) -> float:
        """An upper bound on nu in real arithmetic, every rounding counted; inf where none is known.

        Here sums are not divided by W: with the rows' own weights w let alpha_i = w_i y_i and

            G = F' diag(r^2) F,    rho = F' alpha,    nu^2 = rho' G^(-1) rho,
            y' = y - diag(r^2/w) F G^(-1) rho,    r as in `root`, 0 where w is.

        Then F' diag(w) y' = 0, |y'_i - y_i| <= nu r_i/w_i and, for every column a_j of the design,
        |sum_i a_ij w_i (y'_i - y_i)| <= nu sqrt(sum_i (r_i a_ij)^2). Columns of F that were left
        out have sum_i f_i w_i y'_i = 0 as well. The columns are what `Design.blocks` says they are.

        Parameters
        ----------
        high, low : array of shape (n,)
            alpha = high + low exactly; low is 0 by default.
        open_ : float
            Or but for this share of |alpha|.
        """


def span(
    design: Design, q: Array, columns: Mask, D: Array | None = None, weights: Array | None = None
) -> Span | None:
    """The span of some columns of A, or None where it cannot be known.

    Parameters
    ----------
    design : Design
        A.
    q : array of shape (n,)
        The rows' weights, which sum to one but for rounding.
    columns : bool array of shape (d,)
        Which columns are F.
    D : array of shape (n,), optional
        Weights of the move, >= 0; 1 by default.
    weights : array of shape (n,), optional
        The user's own w, q = w/sum(w) before it was rounded; 1 by default.
    """
    n, m = design.shape[0], int(columns.sum())
    if m <= min(n, GRAM_LIMIT):
        quick = GramSpan.of(design, q, columns, D)
        if quick is not None:
            return quick
    if n * m > DENSE_LIMIT:
        return None
    return BasisSpan.of(design, q, columns, D, weights)


def _open_sums(F: Array, high: Array, open_: float) -> Array:
    """At least what F' alpha is off if each alpha_i is by a share of itself."""
    return np.asarray(2.0 * open_ * (np.abs(F).T @ np.abs(high)))


class GramSpan(Span):
    """The span of well-conditioned columns, known from their Gram matrix."""

    def __init__(self, equations: NormalEquations, q: Array, D: Array | None, norms: Array) -> None:
        self.equations, self.q, self.D, self.norms = equations, q, D, norms

    @classmethod
    def of(cls, design: Design, q: Array, columns: Mask, D: Array | None) -> GramSpan | None:
        """The span, if G is positive definite beyond doubt."""
        weights = q if D is None else q * D
        equations = NormalEquations(design, weights, columns, prove=True)
        if not (equations.definite and equations.proved > 0.0):
            return None
        norms = 1.0 / equations.unit
        if D is not None:
            norms = np.sqrt(design.column_norms_sq(q)[columns])
        return cls(equations, q, D, norms)

    @property
    def dimension(self) -> int:
        """All of them."""
        return int(self.equations.columns.sum())

    def basis(self) -> Array:
        """F itself."""
        return _dense(self.equations.design, self.equations.columns)

    def projected(self, y: Array) -> Array:
        """By the factor, three times; the last time, of few columns, with F'Qy to twice the digits.

        The factor magnifies the rounding of F'Qy by the condition number of the columns.
        """
        design, columns = self.equations.design, self.equations.columns
        few = y.size * self.dimension <= FEW_ENTRIES
        for turn in range(3):
            beta = np.zeros(design.shape[1])
            if few and turn == 2:
                terms = Double(*two_product(self.q, y)).at(slice(None), None).scaled(self.basis())
                rho = terms.sum().high
            else:
                rho = design.rmatvec(self.q * y)[columns]
            beta[columns] = self.equations.solve(rho)
            move = design.matvec(beta)
            y = y - (move if self.D is None else self.D * move)
        return y

    def distance(self, y: Array, u: Array) -> float:
        """|L^(-1) rho|, and what rounding leaves open of rho over the least eigenvalue."""
        length = math.sqrt(float(self.q @ (y * y)))
        open_ = sum_error(y.size + 8) * length * self.norms * self.equations.unit
        known = self.equations.norm(u[self.equations.columns])
        return 1.0001 * (known + float(np.linalg.norm(open_)) / math.sqrt(self.equations.proved))

    @cached_property
    def root(self) -> Array:
        """The rounded roots of q D."""
        return np.sqrt(self.q if self.D is None else self.q * self.D)

    def proved_distance(self, high: Array, low: Array | None = None, open_: float = 0.0) -> float:
        """By a factor of the Gram matrix, or of the columns where that is not enough."""
        if not (high.any() or (low is not None and low.any())):
            return 0.0
        if self._proof is None:
            return math.inf
        design, columns = self.equations.design, self.equations.columns
        rho, error = exact_sums(columns_of(design, columns), self.dimension, high, low)
        if open_:
            error = error + _open_sums(self.basis(), high, open_)
        return self._proof.distance(rho, error)

    def proved_by_sums(self, rho: Array, error: Array) -> float:
        """The same for rho = F' alpha that is known to within ``error``, entry by entry."""
        if not (rho.any() or error.any()):
            return 0.0
        return math.inf if self._proof is None else self._proof.distance(of(rho), error)

    @cached_property
    def _proof(self) -> GramProof | BasisProof | None:
        equations = self.equations
        design, columns = equations.design, equations.columns
        proof = gram_proof(design, columns, self.root, equations.unit, equations.proved)
        if proof is None and design.shape[0] * self.dimension <= DENSE_LIMIT:
            return basis_proof(self.basis(), of(equations.inverse_factor()), self.root)
        return proof


class BasisSpan(Span):
    """The span of any columns of which a basis can be proved to be one.

    Attributes
    ----------
    F : array of shape (n, m)
        The columns of the basis, each times a power of two.
    X : pair of arrays of shape (m, m)
        C = diag(r) F X is nearly orthonormal, r^2 = q D.
    everything : bool
        Whether the basis spans all of R^n, so that y' = 0.
    counts : bool array of shape (n,)
        Rows that were looked at: those with q > 0. The others neither move nor may be other than 0.
    faithful : bool
        Whether no entry of F was rounded when columns were scaled.
    groups : tuple, optional
        The distinct rows of the columns, turned, where the basis is the indicators of equal rows,
        and an X that shows them to be independent.
    """

    def __init__(
        self,
        F: Array,
        X: Double,
        C: Array,
        r: Array,
        q: Array,
        D: Array | None,
        weights: Array | None,
        low: float,
        untouched: Array,
        everything: bool,
        counts: Mask,
        faithful: bool,
        groups: tuple[Array, Double] | None,
    ) -> None:
        self.F, self.X, self.C, self.r, self.q, self.D = F, X, C, r, q, D
        self.weights, self.low, self.untouched, self.everything = (
            weights, low, untouched, everything,
        )  # fmt: skip
        self.counts, self.faithful, self.groups = counts, faithful, groups
        self.total = float(q.size) if weights is None else math.fsum(weights)

    @classmethod
    def of(
        cls, design: Design, q: Array, columns: Mask, D: Array | None, weights: Array | None
    ) -> BasisSpan | None:
        """The span, if the columns that are left out can be proved to be in it."""
        F = _dense(design, columns)
        counts = q > 0.0
        if not counts.all():
            F = np.where(counts[:, None], F, 0.0)
        r = np.sqrt(q if D is None else q * D)
        F, faithful = _scaled(F, _to_unit_size(F))
        F = _indicators(F[:, F.any(axis=0)])
        # A column that no moving row touches is none to divide by; F'Qy has to be 0 as it is.
        touched = (F * (r > 0.0)[:, None]).any(axis=0)
        F, untouched = F[:, touched], F[:, ~touched]
        F, again = _scaled(F, _to_unit_size(r[:, None] * F))
        B = Double(*two_product(r[:, None], F))
        found, groups = orthonormal(B, F, counts), None
        if found is None and not untouched.size and r[counts].all():
            by_rows = groups_of_rows(F, counts)
            if by_rows is not None:  # they span what F spans
                F, groups = by_rows
                B = Double(*two_product(r[:, None], F))
                found = orthonormal(B, F, counts)
        if found is None:
            return None
        X, C, low, kept = found
        everything = len(kept) == int(counts.sum()) == int((r[counts] > 0.0).sum())
        faithful = faithful and again
        return cls(
            F[:, kept], X, C, r, q, D, weights, low, untouched, everything, counts, faithful, groups
        )

    @property
    def dimension(self) -> int:
        """Those that are kept."""
        return int(self.F.shape[1])

    def basis(self) -> Array:
        """Columns of F (or what stands for them), times powers of two."""
        return self.F

    def projected(self, y: Array) -> Array:
        """By the basis, three times."""
        if self.everything:
            return np.zeros_like(y)
        factor = np.divide(self.r, self.q, out=np.zeros_like(self.r), where=self.q > 0.0)
        for _ in range(3):
            y = y - factor * (self.C @ self._coefficients(y)[0])
        return y

    def distance(self, y: Array, u: Array) -> float:
        """|X' rho|/low, with what even twice the digits leave open."""
        if self.everything and not y.any():
            return 0.0
        if (self.untouched * y[:, None]).any():  # said to sum to 0 only where every term is 0
            return math.inf
        t, open_ = self._coefficients(y)
        return 1.0001 * (float(np.linalg.norm(t)) + float(np.linalg.norm(open_))) / self.low

    @property
    def root(self) -> Array:
        """The rounded roots of q D."""
        return self.r

    def proved_distance(self, high: Array, low: Array | None = None, open_: float = 0.0) -> float:
        """|X' rho|/low, where nothing else stands in the way."""
        moving = high != 0.0 if low is None else (high != 0.0) | (low != 0.0)
        if not moving.any():
            return 0.0
        # Relations were looked at, and columns that do not move left out, for rows that count only.
        if (moving & ~self.counts).any() or (self.untouched[moving] != 0.0).any():
            return math.inf
        if self.dimension == 0:
            return 0.0
        if self._proof is None:
            return math.inf
        rho, error = exact_sums(rows_of(self.F), self.dimension, high, low)
        if open_:
            error = error + _open_sums(self.F, high, open_)
        return self._proof.distance(rho, error)

    @cached_property
    def _proof(self) -> BasisProof | None:
        if not self.faithful:
            return None
        if self.groups is not None:
            rows, X = self.groups
            if basis_proof(rows, X, np.ones(len(rows))) is None:
                return None
        return basis_proof(self.F, self.X, self.r)

    def _coefficients(self, y: Array) -> tuple[Array, Array]:
        """X' rho, and a bound on its error."""
        if self.F.shape[1] == 0:
            return np.zeros(0), np.zeros(0)
        alpha = of(y) if self.weights is None else Double(*two_product(self.weights, y))
        terms = alpha.at(slice(None), None).scaled(self.F)
        rho = terms.sum()
        steps = 32.0 + 16.0 * math.log2(y.size + 1.0)
        error = steps * UNIT**2 * np.abs(terms.high).sum(axis=0)
        t = self.X.times(rho.at(slice(None), None)).sum()
        size = np.abs(self.X.high).T
        open_ = (
            size @ error + steps * UNIT**2 * (size @ np.abs(rho.high)) + 2.0 * UNIT * np.abs(t.high)
        )
        return t.high / self.total, open_ / self.total


def _dense(design: Design, columns: Mask) -> Array:
    F = np.empty((design.shape[0], int(columns.sum())))
    for at, block in design.blocks(block_rows(design.shape[1])):
        F[at] = block[:, columns]
    return F


def _to_unit_size(F: Array) -> Places:
    """The exponents of two that bring the largest entries of columns near 1."""
    return np.asarray(-np.frexp(np.abs(F).max(axis=0, initial=0.0))[1], dtype=np.intp)


def _scaled(F: Array, exponents: Places) -> tuple[Array, bool]:
    """Columns times powers of two, and whether that is exact: small entries may underflow."""
    out = np.ldexp(F, exponents)
    return out, bool((np.ldexp(out, -exponents) == F).all())


def _indicators(F: Array) -> Array:
    """Columns whose entries are 0 or one number, with that number made 1: the same span."""
    largest = np.abs(F).max(axis=0, initial=0.0)
    one_size = ((np.abs(F) == largest) | (F == 0.0)).all(axis=0)
    one_sign = (F >= 0.0).all(axis=0) | (F <= 0.0).all(axis=0)
    return np.where(one_size & one_sign, (F != 0.0).astype(np.float64), F)
