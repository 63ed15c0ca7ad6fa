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

Columns are left out only if they are proved to be combinations of the others: a column of zeros, or
an exact relation with small integers (a duplicate, a one-hot code and the constant). No singular
value is ever taken for 0; where there is no proof there is no span.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import scipy.linalg
import scipy.linalg.lapack

from dualgap._double import Double, of, two_product
from dualgap._rounding import UNIT, gamma, sum_error
from dualgap._types import Array, Mask, Places
from dualgap.constants import GRAM_LIMIT
from dualgap.designs import Design
from dualgap.designs.contract import block_rows
from dualgap.normal_equations import NormalEquations

DENSE_LIMIT = 1 << 26
"""Most entries of a dense copy of the columns (512 MiB)."""
PRECISE_LIMIT = 2e7
"""Most n m^2 for which m columns are made orthonormal with twice the digits (about a second)."""
FEW_ENTRIES = 4096
"""Columns with at most this many entries are summed with twice the digits (some microseconds)."""
INDEPENDENT = 1e-10
"""Of a column at unit length, what must be left of it beside the others for float64 to say so."""
PRECISELY_INDEPENDENT = 2.0**-85
"""The same with twice the digits."""
LARGEST_DENOMINATOR = 64
"""Of the coefficients in exact relations between columns."""
RELATION_LIMIT = 4_000_000
"""Most entries of an exact relation that are added up one by one."""


Orthonormal = tuple[Double, Array, float, Places]
"""X, C = B_kept X, a lower bound on the least singular value of B_kept X, and which are kept."""


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
    ) -> None:
        self.F, self.X, self.C, self.r, self.q, self.D = F, X, C, r, q, D
        self.weights, self.low, self.untouched, self.everything = (
            weights, low, untouched, everything,
        )  # fmt: skip
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
        F = _in_powers_of_two(F)
        F = _indicators(F[:, F.any(axis=0)])
        # A column that no moving row touches is none to divide by; F'Qy has to be 0 as it is.
        touched = (F * (r > 0.0)[:, None]).any(axis=0)
        F, untouched = F[:, touched], F[:, ~touched]
        row_scale = _in_powers_of_two(r[:, None] * F, only_factors=True)
        F = np.ldexp(F, row_scale)
        B = Double(*two_product(r[:, None], F))
        found = _orthonormal(B, F, counts)
        if found is None and not untouched.size and r[counts].all():
            groups = _groups_of_rows(F, counts)
            if groups is not None:  # they span what F spans
                F = groups
                B = Double(*two_product(r[:, None], F))
                found = _orthonormal(B, F, counts)
        if found is None:
            return None
        X, C, low, kept = found
        everything = len(kept) == int(counts.sum()) == int((r[counts] > 0.0).sum())
        return cls(F[:, kept], X, C, r, q, D, weights, low, untouched, everything)

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


def _groups_of_rows(F: Array, counts: Mask) -> Array | None:
    """The indicators of equal rows, if these span what the columns F span; else None.

    Let R be the distinct rows of F that are not 0 and E the indicators of where they stand: F = E
    R. If the rows of R are independent, F and E have the same span.
    """
    some = np.flatnonzero(counts & F.any(axis=1))
    distinct, group = np.unique(F[some], axis=0, return_inverse=True)
    k = distinct.shape[0]
    if k > F.shape[1]:
        return None
    turned = np.ascontiguousarray(distinct.T)
    rows = _orthonormal(of(turned), turned, np.ones(F.shape[1], dtype=bool))
    if rows is None or rows[3].size < k:
        return None
    E = np.zeros((F.shape[0], k))
    E[some, group.reshape(-1)] = 1.0
    return E


def _dense(design: Design, columns: Mask) -> Array:
    F = np.empty((design.shape[0], int(columns.sum())))
    for at, block in design.blocks(block_rows(design.shape[1])):
        F[at] = block[:, columns]
    return F


def _in_powers_of_two(F: Array, only_factors: bool = False) -> Array:
    """Columns times the power of two that brings their largest entry near 1 (or the exponents)."""
    exponents = -np.frexp(np.abs(F).max(axis=0, initial=0.0))[1]
    return np.asarray(exponents if only_factors else np.ldexp(F, exponents))


def _indicators(F: Array) -> Array:
    """Columns whose entries are 0 or one number, with that number made 1: the same span."""
    largest = np.abs(F).max(axis=0, initial=0.0)
    one_size = ((np.abs(F) == largest) | (F == 0.0)).all(axis=0)
    one_sign = (F >= 0.0).all(axis=0) | (F <= 0.0).all(axis=0)
    return np.where(one_size & one_sign, (F != 0.0).astype(np.float64), F)


def _orthonormal(B: Double, F: Array, counts: Mask) -> Orthonormal | None:
    """A basis made nearly orthonormal.

    None where a column is neither independent of the others nor proved to be a combination of them.
    """
    n, m = F.shape
    found = _by_householder(B, F, counts)
    if found is None and n * m * m <= PRECISE_LIMIT:
        found = _by_gram_schmidt(B, F, counts)
    return found


def _by_householder(B: Double, F: Array, counts: Mask) -> Orthonormal | None:
    """In float64."""
    n, m = F.shape
    if m == 0:
        return of(np.zeros((0, 0))), np.zeros((n, 0)), 1.0, np.zeros(0, dtype=np.intp)
    lengths = np.linalg.norm(B.high, axis=0)
    R, order = scipy.linalg.qr(
        B.high / lengths, mode="r", pivoting=True, check_finite=False, overwrite_a=True
    )
    rank = int((np.abs(np.diag(R)) > INDEPENDENT).sum())
    kept, others = order[:rank], order[rank:]
    inverse = scipy.linalg.solve_triangular(R[:rank, :rank], np.eye(rank), check_finite=False)
    rows = int(counts.sum())
    if rank < rows and others.size:
        T = (inverse @ R[:rank, rank:]) / lengths[kept, None] * lengths[others]
        if not _are_combinations(F, kept, others, T, exact=False):
            return None
    X = inverse / lengths[kept, None]
    C = B.high[:, kept] @ X
    sizes = np.abs(B.high[:, kept]) @ np.abs(X)
    low = _least_singular_value(C, gamma(rank + 8) * float(np.linalg.norm(sizes)))
    return (of(X), C, low, kept) if low > 0.5 else None


def _by_gram_schmidt(B: Double, F: Array, counts: Mask) -> Orthonormal | None:
    """Modified Gram-Schmidt with pivoting and twice the digits; X goes through the same steps."""
    n, m = F.shape
    scale = _inverse_root(B.times(B).sum())
    V = B.times(scale)
    X = Double(np.diag(scale.high), np.diag(scale.low))
    left = np.arange(m)
    kept: list[int] = []
    coefficients: list[Double] = []
    while left.size:
        squares = V.times(V).sum()
        k = int(np.argmax(squares.high))
        if squares.high[k] <= PRECISELY_INDEPENDENT**2 or len(kept) == int(counts.sum()):
            break
        unit = _inverse_root(squares.at(slice(k, k + 1)))
        v, x = V.at(slice(None), k).times(unit), X.at(slice(None), k).times(unit)
        kept.append(int(left[k]))
        coefficients.append(x)
        others = np.delete(np.arange(left.size), k)
        left = left[others]
        V, X = V.at(slice(None), others), X.at(slice(None), others)
        v, x = v.at(slice(None), None), x.at(slice(None), None)
        part = V.times(v).sum()
        V, X = V.minus(v.times(part)), X.minus(x.times(part))
    at = np.array(kept, dtype=np.intp)
    basis = Double(
        np.stack([x.high[at] for x in coefficients], axis=1),
        np.stack([x.low[at] for x in coefficients], axis=1),
    )
    if len(kept) < int(counts.sum()) and left.size:
        # A column that is left is F_j less a sum of the kept ones: X says which.
        T = -X.high[at] / np.diagonal(X.high[left])
        if not _are_combinations(F, at, left, T, exact=True):
            return None
    product, size = of(np.zeros((n, at.size))), np.zeros((n, at.size))
    for j, column in enumerate(at):
        term = B.at(slice(None), column, None).times(basis.at(j))
        size += np.abs(term.high)
        product = product.plus(term)
    C = product.high
    error = 64.0 * (at.size + 4) * UNIT**2 * float(np.linalg.norm(size))
    error += UNIT * float(np.linalg.norm(C))
    low = _least_singular_value(C, error)
    return (basis, C, low, at) if low > 0.5 else None


def _inverse_root(a: Double) -> Double:
    """1/sqrt(a)."""
    return of(np.ones_like(a.high)).over(a.root())


def _least_singular_value(C: Array, error: float) -> float:
    """A lower bound on that of any matrix within ``error`` (Frobenius) of C."""
    gram = C.T @ C
    off = float(np.abs(gram - np.eye(C.shape[1])).sum(axis=1).max(initial=0.0))
    off += gamma(C.shape[0] + 4) * float((C * C).sum())
    return math.sqrt(1.0 - off) - error if off < 1.0 else 0.0


def _are_combinations(F: Array, kept: Places, others: Places, T: Array, exact: bool) -> bool:
    """Whether every other column is, exactly, a combination of the kept ones near T.

    With ``exact`` T is good to the last bit, so that coefficients may be any floats; else they are
    looked for as fractions of small integers.
    """
    return all(_is_combination(F, kept, int(j), t, exact) for j, t in zip(others, T.T, strict=True))


def _is_combination(F: Array, kept: Places, j: int, t: Array, exact: bool) -> bool:
    """den F_j = sum_k num_k F_k in every row."""
    if exact and _relation_holds(F, kept, j, np.where(np.abs(t) > 2.0**-80, t, 0.0), 1.0):
        return True
    for den in range(1, LARGEST_DENOMINATOR + 1):
        num = np.round(den * t)
        if np.abs(den * t - num).max(initial=0.0) <= 1e-6 * den:
            return _relation_holds(F, kept, j, num, float(den))
    return False


def _relation_holds(F: Array, kept: Places, j: int, num: Array, den: float) -> bool:
    kept, num = kept[num != 0.0], num[num != 0.0]
    columns = np.column_stack((F[:, kept], F[:, j]))
    factors = np.append(num, -den)
    short = columns * 2.0**12
    if (factors == np.round(factors)).all() and np.abs(factors).sum() < 2.0**40:
        if (short == np.floor(short)).all():
            return not (columns @ factors).any()  # multiples of 2^-12 below 2^40: sums are exact
    if columns.size > RELATION_LIMIT:
        return False
    high, low = two_product(columns, np.broadcast_to(factors, columns.shape))
    return all(math.fsum((*a, *b)) == 0.0 for a, b in zip(high.tolist(), low.tolist(), strict=True))
