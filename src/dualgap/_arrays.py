"""Sums over vectors, away from the threads of the linear algebra library.

A threaded dot product of a few ten thousand entries gains nothing, and on a busy machine waits for
its threads longer than everything else in an iteration takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from dualgap._types import Array
from dualgap.linalg.double import two_product

ROWS_AT_ONCE = 1 << 13
"""What is made of so many rows at a time stays in a core's cache."""


def pieces(n: int) -> Iterator[slice]:
    """Some rows after the others, all of them; pieces of one length."""
    count = -(-n // ROWS_AT_ONCE)
    for k in range(count):
        yield slice(n * k // count, n * (k + 1) // count)


def is_one_piece(n: int) -> bool:
    """Whether `pieces` are one."""
    return n <= ROWS_AT_ONCE


def by_pieces(function: Callable[..., Array], *rows: Array) -> Array:
    """function(*rows), of some rows after the others: what is made on the way stays short."""
    n = len(rows[0])
    if is_one_piece(n):
        return function(*rows)
    out = np.empty(rows[0].shape)
    for at in pieces(n):
        out[at] = function(*(row[at] for row in rows))
    return out


def dot(a: Array, b: Array) -> float:
    """a'b; the sum over all entries if they are matrices."""
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


def precise_dot(a: Array, b: Array, *more: float) -> float:
    """a'b and these numbers summed, rounded once."""
    products, rest = two_product(a, b)
    terms = (*products.tolist(), *rest.tolist(), *more)
    return math.fsum(terms) if np.isfinite(rest).all() else float(products.sum() + sum(more))


def per_row(weights: Array, like: Array) -> Array:
    """One value per row, in a form that multiplies ``like``: a vector, or a matrix of rows."""
    return weights if like.ndim == 1 else weights[:, None]


def row_sums(values: Array) -> Array:
    """A vector as it is, a matrix summed row by row: the inner products of vector predictions."""
    return values if values.ndim == 1 else np.einsum("ik->i", values)


def total(values: Array) -> float:
    """Of all entries, summed pairwise: objectives of many rows keep their last digits."""
    return float(np.add.reduce(values, axis=None))  # np.sum, at a third of its price for short ones


def weighted_sum(weights: Array, values: Array) -> float:
    """sum_i weights_i values_i, summed pairwise."""
    return total(weights * values)


def within(values: Array, limit: Array) -> Array:
    """The nearest between -limit and limit: np.clip, at half its price for short ones."""
    return np.minimum(np.maximum(values, -limit), limit)


def cache_lines(rows: int, columns: int) -> Array:
    """Zeros whose first entry begins a cache line, so that short rows lie in one each."""
    room = np.zeros(rows * columns + 8)
    start = -room.ctypes.data % 64 // 8
    return room[start : start + rows * columns].reshape(rows, columns)
