"""What one chunk of rows gives: all that is wanted of it, while it is at hand.

With z = A x + c + offset, y = phi'(z) and h = phi''(z), raised by what damping asks for, the sums
are those of w phi(z), of A' diag(w) y, of A_S' diag(w h) A_S and so on; they are not divided by W.
A coordinate of x with the number d, the last, is the intercept c: its column is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dualgap._arrays import per_row, row_sums, total
from dualgap._types import Array, Places
from dualgap.compiled.clock import can_compile
from dualgap.designs.chunks import Chunk
from dualgap.losses import Loss
from dualgap.losses.multinomial import own
from dualgap.streamed.first_look import Form

MADE_DENSE = 1 << 20
"""Sparse columns of a chunk with so many entries, zeros included, are multiplied as dense ones."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """A dual point that is known by where it is the slope: y = factor (phi'(z) + h A bend).

    Here z = A x + offset and h = phi''(z), raised by a share of its bound. With several predictions
    a row the factor belongs to the class of the row.
    """

    x: Array
    """The point, with the intercept in it."""
    factors: Array
    """Of rows with phi' >= 0, and of those with phi' < 0; or one for each class."""
    bend: Array | None = None
    """What brings sums over free columns to 0, of the shape of x; None: nothing."""
    damping: float = 0.0
    """The share of its bound by which phi'' is raised."""


class Ask(NamedTuple):
    """What a reading is to find besides the mean loss at x."""

    x: Array
    """With the intercept in it."""
    slopes: bool = True
    """A'Qy, y = phi'(z)."""
    signs: bool = False
    """A'Qy of rows with y > 0 alone, or of each class, as well."""
    step: Array | None = None
    """A direction d: the mean loss at x + t d is found for each t in ``lengths``."""
    lengths: tuple[float, ...] = ()
    """The lengths t of a step that are tried."""
    ride: Slopes | None = None
    """A dual point, of which the mean of phi* is found."""
    gram: Places | None = None
    """Coordinates S: A_S' diag(q h) A_S."""
    products: tuple[Array, ...] = ()
    """Directions p: A' diag(q h) A p of each."""
    border: bool = False
    """A' diag(q h) 1: the column of an intercept."""
    diagonal: bool = False
    """The diagonal of A' diag(q h) A."""
    damping: float = 0.0
    """The share of its bound by which phi'' is raised in h."""
    norms: bool = False
    """Squared lengths of the columns, and their means."""
    margins: bool = False
    """How many rows are on the wrong side, of losses that have sides."""


class Setting(NamedTuple):
    """What is the same for all readings of a problem."""

    loss: Loss
    form: Form
    intercept: bool
    outputs: int | None


class Sums(NamedTuple):
    """The sums over rows; those that were not asked for are 0."""

    value: float
    trials: Any
    u: Any
    parts: Any
    """A' diag(w) y of rows with y > 0; of each class, (K, size, K), where there are classes."""
    masses: Any
    """Sums of w |y| and of w phi, each over y > 0 and y < 0; of w y and w phi, class by class."""
    conj: float
    gram: Any
    products: Any
    border: Any
    diagonal: Any
    level: float
    """The sum of w h, of its diagonal if it is a matrix."""
    squares: Any
    means: Any
    wrong: int
    """Rows with a margin below 0."""

    @staticmethod
    def triangles() -> tuple[str, ...]:
        """The fields of which the lower triangle is all, where they are matrices."""
        return ("gram",)


def look(
    chunk: Chunk, rows: tuple[Array, ...], ask: Ask, setting: Setting
) -> tuple[tuple[()], Sums]:
    """The sums of a chunk: a task for `Design.map_rows` that makes no rows."""
    loss, form, intercept, _ = setting
    b, w, offset = form.split(rows)
    A = Matrix(chunk, intercept)
    z = A.times(ask.x) if offset is None else A.times(ask.x) + offset
    value, y = _value_and_slope(loss, z, b, w)
    trials: Any = 0.0
    if ask.step is not None:
        Ad = A.times(ask.step)
        trials = np.array([_value(loss, z + t * Ad, b, w) for t in ask.lengths])
    conj = 0.0 if ask.ride is None else _conjugate(A, ask.ride, loss, b, w, offset)
    wy = weighted(w, y)
    u: Any = A.transposed(wy) if ask.slopes else 0.0
    parts: Any = 0.0
    masses: Any = 0.0
    if ask.signs:
        parts, masses = _by_sign(A, wy, loss, z, y, b, w)
    curved = FLAT
    if ask.gram is not None or ask.products or ask.diagonal or ask.border:
        if loss.is_vector:
            curved = _curved_classes(A, ask, loss, y, b, w)
        else:
            curved = _curved(A, ask, weighted(w, raised(loss, ask.damping, z, b, y)))
    squares: Any = 0.0
    means: Any = 0.0
    if ask.norms:
        ones = np.ones(len(b)) if w is None else w
        squares, means = A.squares(ones), A.transposed(ones)
    wrong = _wrong(loss, z if offset is None else z - offset, b, w) if ask.margins else 0
    return (), Sums(value, trials, u, parts, masses, conj, *curved, squares, means, wrong)


def _wrong(loss: Loss, z: Array, b: Array, w: Array | None) -> int:
    margins = loss.margins(z, b)
    if margins is None:
        return len(b)
    below = margins < 0.0 if margins.ndim == 1 else (margins < 0.0).any(axis=1)
    return int(np.count_nonzero(below if w is None else below & (w > 0.0)))


class Curved(NamedTuple):
    """The sums that phi'' is in; see `Sums`."""

    gram: Any = 0.0
    products: Any = 0.0
    border: Any = 0.0
    diagonal: Any = 0.0
    level: float = 0.0


FLAT = Curved()


def _curved(A: Matrix, ask: Ask, wh: Array) -> Curved:
    """For one prediction a row."""
    products: Any = 0.0
    if ask.products:
        along = A.times(np.stack(ask.products, axis=1))
        products = A.transposed(wh[:, None] * along).T
    return Curved(
        gram=0.0 if ask.gram is None else A.gram(wh, ask.gram),
        products=products,
        border=A.transposed(wh) if ask.border else 0.0,
        diagonal=A.squares(wh) if ask.diagonal else 0.0,
        level=total(wh),
    )


class Matrix:
    """The rows of a chunk and a column of ones, if there is an intercept."""

    def __init__(self, chunk: Chunk, intercept: bool) -> None:
        self.chunk, self.intercept = chunk, intercept
        self.dense = None if chunk.design.is_sparse else chunk.dense()

    def times(self, x: Array) -> Array:
        """(A, 1) x."""
        inner = x[:-1] if self.intercept else x
        z = self.chunk.matvec(inner) if self.dense is None else self.dense @ inner
        if self.intercept:
            z += x[-1]
        return np.asarray(z)

    def transposed(self, r: Array) -> Array:
        """(A, 1)'r."""
        u = self.chunk.rmatvec(r) if self.dense is None else (r.T @ self.dense).T
        if not self.intercept:
            return np.asarray(u)
        return np.concatenate((u, r.sum(axis=0, keepdims=True)))

    def squares(self, w: Array) -> Array:
        """The diagonal of (A, 1)' diag(w) (A, 1)."""
        if self.dense is None:
            squares = self.chunk.column_norms_sq(w)
        else:
            squares = w @ np.square(self.dense)
        return np.append(squares, w.sum()) if self.intercept else np.asarray(squares)

    def gram(self, w: Array, at: Places) -> Array:
        """(A, 1)_S' diag(w) (A, 1)_S, w >= 0, at least in its lower triangle."""
        return _gram(self.some(at), w)

    def some(self, at: Places) -> Any:
        """The columns S of (A, 1), dense or CSR; the last place of S may be that of the ones."""
        d = self.chunk.shape[1]
        ours = at[at < d]
        has_ones = ours.size < at.size
        if self.dense is None:
            rows: Any = self.chunk.design.rows()
            B: Any = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=self.chunk.shape)
            B = B if ours.size == d else B[:, ours]
            if B.shape[0] * at.size > MADE_DENSE or not can_compile():
                ones = sp.csr_array(np.ones((B.shape[0], 1)))
                return sp.hstack((B, ones), format="csr") if has_ones else B
            B = B.toarray()
        else:
            B = self.dense if ours.size == d else self.dense[:, ours]
        if not has_ones:
            return B
        out = np.empty((len(B), at.size))
        out[:, :-1], out[:, -1] = B, 1.0
        return out


def _gram(B: Any, w: Array) -> Array:
    if isinstance(B, np.ndarray):
        M = np.sqrt(w)[:, None] * B
        return np.asarray(M.T @ M)  # numpy sees that it is symmetric, and does half the work
    if can_compile():
        from dualgap.linalg.compiled_gram import csr_gram

        H = np.zeros((B.shape[1], B.shape[1]))
        B.sort_indices()
        csr_gram(B.data, B.indices, B.indptr, 0.0, w, H)
        return H
    M = B.multiply(np.sqrt(w)[:, None]).tocsr()
    return np.asarray((M.T @ M).toarray())


def weighted(w: Array | None, values: Array) -> Array:
    """w values; 0 where w is, whatever the value."""
    if w is None:
        return values
    each = per_row(w, values)
    return np.where(each > 0.0, each * values, 0.0)


def raised(loss: Loss, damping: float, z: Array, b: Array, y: Array) -> Array:
    """phi''(z), raised by a share of its bound; without a bound, of `Loss.secant`."""
    h = loss.hess_beside(z, b, y)
    if not damping > 0.0:
        return h
    more = 1.0 / loss.gamma if loss.gamma is not None else loss.secant(z, b, y)
    return np.asarray(h + damping * more)


def scaled(y: Array, b: Array, factors: Array) -> Array:
    """Slopes times the factor of their sign, or of the class of their row."""
    if (factors == 1.0).all():
        return y
    if y.ndim == 2:
        return np.asarray(factors[b.astype(np.intp)][:, None] * y)
    return np.asarray(np.where(y >= 0.0, factors[0], factors[1]) * y)


def _value(loss: Loss, z: Array, b: Array, w: Array | None) -> float:
    return loss.total(z, b) if w is None else total(weighted(w, loss.value(z, b)))


def _value_and_slope(loss: Loss, z: Array, b: Array, w: Array | None) -> tuple[float, Array]:
    if w is None:
        return loss.total_grad(z, b)
    values, y = loss.value_grad(z, b)
    return total(weighted(w, values)), y


def dual_point(A: Matrix, slopes: Slopes, loss: Loss, b: Array, offset: Array | None) -> Array:
    """The y of some rows, in the domains."""
    z = A.times(slopes.x) if offset is None else A.times(slopes.x) + offset
    y = loss.grad(z, b)
    if slopes.bend is not None:
        step = A.times(slopes.bend)
        if loss.is_vector:
            p, least = _probabilities(y, b), slopes.damping / loss.known_gamma
            y = y + _bent(p, step, least)
        else:
            y = y + raised(loss, slopes.damping, z, b, y) * step
    y = loss.into_domain(scaled(y, b, slopes.factors), b)
    return np.where(np.isfinite(y), y, 0.0)


def _conjugate(
    A: Matrix, ride: Slopes, loss: Loss, b: Array, w: Array | None, offset: Array | None
) -> float:
    """The sum of w (phi*(y) - y offset) at a dual point."""
    y = dual_point(A, ride, loss, b, offset)
    conj = loss.conj(y, b)
    return total(weighted(w, conj if offset is None else conj - row_sums(y * offset)))


def _by_sign(
    A: Matrix, wy: Array, loss: Loss, z: Array, y: Array, b: Array, w: Array | None
) -> tuple[Any, Any]:
    """What makes the sums of y vanish later: sums over rows of one sign, or of one class."""
    values = weighted(w, loss.value(z, b))
    if y.ndim == 1:
        above = np.maximum(wy, 0.0)
        positive = wy > 0.0
        masses = [total(above), total(above - wy), total(values[positive])]
        return A.transposed(above), np.array([*masses, total(values[~positive])])
    K = y.shape[1]
    classes = b.astype(np.intp)
    parts = np.stack([A.transposed(np.where((classes == k)[:, None], wy, 0.0)) for k in range(K)])
    sums = np.stack([np.bincount(classes, wy[:, k], K) for k in range(K)], axis=1)
    return parts, np.column_stack((sums, np.bincount(classes, values, K)))


def _curved_classes(A: Matrix, ask: Ask, loss: Loss, y: Array, b: Array, w: Array | None) -> Curved:
    """H = A' diag(q (diag(p) - pp' + m/gamma)) A, p = softmax(z), for K predictions a row."""
    p = _probabilities(y, b)
    least = ask.damping / loss.known_gamma
    weights = np.ones(len(b)) if w is None else w
    diagonals = p * (1.0 - p) + least
    gram: Any = 0.0
    products: Any = 0.0
    diagonal: Any = 0.0
    if ask.gram is not None:
        K, B = p.shape[1], A.some(ask.gram)
        side = ask.gram.size
        gram = np.empty((K, side, K, side))
        for k in range(K):
            gram[k, :, k] = _symmetric(_gram(B, weights * diagonals[:, k]))
            for other in range(k):
                tie = -_symmetric(_gram(B, weights * p[:, k] * p[:, other]))
                gram[k, :, other] = gram[other, :, k] = tie
    if ask.products:
        found = (_bent(p, A.times(step), least) for step in ask.products)
        products = np.stack([A.transposed(weights[:, None] * r) for r in found])
    if ask.diagonal:
        columns = (A.squares(weights * one) for one in diagonals.T)
        diagonal = np.stack(list(columns), axis=1)
    return Curved(gram, products, 0.0, diagonal, total(weights * diagonals.mean(axis=1)))


def _probabilities(y: Array, b: Array) -> Array:
    """p = y + e_b."""
    p = y.copy()
    p[own(b)] += 1.0
    return p


def _bent(p: Array, step: Array, least: float) -> Array:
    """(diag(p) - pp' + least) step, row by row."""
    each = p * step
    return np.asarray(each - p * each.sum(axis=1)[:, None] + least * step)


def _symmetric(H: Array) -> Array:
    """The lower triangle, mirrored."""
    low = np.tril(H)
    return np.asarray(low + np.tril(H, -1).T)
