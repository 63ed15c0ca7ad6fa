"""The span of any columns of which a basis can be proved to be one; the theory is in `span`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs import Design
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.rounding import UNIT
from dualgap.spans.bases import Orthonormal, groups_of_rows, orthonormal
from dualgap.spans.contract import Span, dense_columns, open_sums
from dualgap.spans.proofs import BasisProof, basis_proof, exact_sums, rows_of


class RowWeights(NamedTuple):
    """How much each row counts, and how far it may move."""

    q: Array
    """The weights of the problem, which sum to one but for rounding."""
    D: Array | None
    """The weights of the move; None stands for 1."""
    own: Array | None
    """The weights as the user gave them; None stands for 1."""

    @property
    def counts(self) -> Mask:
        """The rows that have any weight."""
        return self.q > 0.0

    @property
    def root(self) -> Array:
        """r with r^2 = q D."""
        return np.sqrt(self.q if self.D is None else self.q * self.D)


class BasisSpan(Span):
    """The span of any columns of which a basis can be proved to be one.

    Parameters
    ----------
    F : array of shape (n, m)
        The columns of the basis, each times a power of two.
    found : Orthonormal
        What shows that they are independent: C = diag(r) F X is nearly orthonormal, r^2 = q D.
    weights : RowWeights
        Of the rows; those without weight neither move nor may be other than 0.
    untouched : array of shape (n, k)
        Further columns, which no row that moves touches.
    faithful : bool
        Whether no entry of F was rounded when columns were scaled.
    groups : tuple, optional
        The distinct rows of the columns, turned, where the basis is the indicators of equal rows,
        and an X that shows them to be independent.
    """

    def __init__(
        self,
        F: Array,
        found: Orthonormal,
        weights: RowWeights,
        *,
        untouched: Array,
        faithful: bool,
        groups: tuple[Array, Double] | None,
    ) -> None:
        self.F, self.X, self.C, self.low = F, found.X, found.C, found.low
        self.q, self.D, self.weights = weights
        self.r, self.counts = weights.root, weights.counts
        self.untouched, self.faithful, self.groups = untouched, faithful, groups
        self.total = float(self.q.size) if self.weights is None else math.fsum(self.weights)
        moving = int((self.r[self.counts] > 0.0).sum())
        self.everything = F.shape[1] == int(self.counts.sum()) == moving
        """Whether the basis spans all of R^n, so that y' = 0."""

    @classmethod
    def of(
        cls, design: Design, q: Array, columns: Mask, D: Array | None, weights: Array | None
    ) -> BasisSpan | None:
        """The span, if the columns that are left out can be proved to be in it."""
        F, of_rows = dense_columns(design, columns), RowWeights(q, D, weights)
        r, counts = of_rows.root, of_rows.counts
        if not counts.all():
            F = np.where(counts[:, None], F, 0.0)
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
        return cls(
            F[:, found.kept],
            found,
            of_rows,
            untouched=untouched,
            faithful=faithful and again,
            groups=groups,
        )

    @property
    def dimension(self) -> int:
        """How many columns are kept."""
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
            error = error + open_sums(self.F, high, open_)
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
