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
from functools import cached_property

import numpy as np

from dualgap._types import Array, Mask
from dualgap.designs import Design
from dualgap.linalg.double import Double, of, two_product
from dualgap.linalg.normal_equations import NormalEquations
from dualgap.linalg.rounding import sum_error
from dualgap.objective.constants import GRAM_LIMIT
from dualgap.spans.basis_span import BasisSpan
from dualgap.spans.contract import Span, dense_columns, open_sums
from dualgap.spans.proofs import (
    BasisProof,
    GramProof,
    basis_proof,
    columns_of,
    exact_sums,
    gram_proof,
)

DENSE_LIMIT = 1 << 26
"""Most entries of a dense copy of the columns (512 MiB)."""
FEW_ENTRIES = 4096
"""Columns with at most this many entries are summed with twice the digits (some microseconds)."""


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
        return dense_columns(self.equations.design, self.equations.columns)

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
            error = error + open_sums(self.basis(), high, open_)
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
