"""What the verbs of a design do that has no way of its own: from its blocks, or from its products.

A design without blocks is looked at through products with unit vectors, many at once. That is
dear, but asked for seldom: norms, once; blocks, by certificates that need twice the digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap._types import Array, Places
from dualgap.designs import tasks
from dualgap.designs.chunks import Chunk
from dualgap.designs.columns import Columns, DenseColumns
from dualgap.designs.executors import RowArrays, RowTask
from dualgap.designs.ledger import NORMS, products
from dualgap.designs.ungathered import UngatheredColumns
from dualgap.limits import check_time
from dualgap.memory import spares

if TYPE_CHECKING:
    from dualgap.designs.contract import Design
    from dualgap.designs.survey import Found

CHUNK_BLOCKS = 4
"""A chunk has so many blocks, more than a core's cache holds, because every chunk costs calls."""
AT_ONCE = 1 << 22
"""Products with unit vectors are made for so many entries at once."""


def missing(design: Design, *verbs: str) -> TypeError:
    """What to raise where a design has none of these."""
    name = type(design).__name__
    return TypeError(
        f"{name} has no {' and no '.join(verbs)}, which every algorithm needs. Give it either "
        "blocks(rows) or both matvec(x) and rmatvec(r)."
    )


def by_tasks(design: Design) -> bool:
    """Whether there is nothing but blocks, so that whoever carries out tasks does everything."""
    return design.offers("blocks") and not design.offers("matvec")


def read(
    design: Design, task: RowTask[Any], rows: RowArrays, *args: Any
) -> tuple[RowArrays, tuple[Any, ...]]:
    """`Design.map_rows` for tasks that return plain tuples; it takes along what is wanted."""
    if design.survey is None:
        return design.executor.map_rows(design, task, rows, args)
    return design.survey.read(design, task, rows, args)


def known_sums(design: Design, weights: Array) -> Found | None:
    """What is known of sums over the rows with these weights."""
    return None if design.survey is None else design.survey.sums(design, weights)


def matvec(design: Design, x: Array) -> Array:
    """A x, by a task on chunks."""
    if not design.offers("blocks"):
        raise missing(design, "matvec")
    design.ledger.passes += products(x)
    return read(design, tasks.product, (), x)[0][0]


def rmatvec(design: Design, r: Array) -> Array:
    """A' r, by a task on chunks."""
    if not design.offers("blocks"):
        raise missing(design, "rmatvec")
    design.ledger.passes += products(r)
    known = known_sums(design, r)
    return np.asarray(read(design, tasks.adjoint, (r,))[1][0]) if known is None else known.means


def blocks(design: Design, rows: int) -> Iterator[tuple[slice, Array]]:
    """The rows, made from products with unit vectors."""
    if not (design.offers("matvec") and design.offers("rmatvec")):
        raise missing(design, "blocks")
    return _blocks(design, rows)


def _blocks(design: Design, rows: int) -> Iterator[tuple[slice, Array]]:
    n, d = design.shape
    few = min(rows, max(1, AT_ONCE // max(n, d)))
    for start in range(0, n, few):
        at = slice(start, min(start + few, n))
        units = np.zeros((n, at.stop - start))
        units[np.arange(start, at.stop), np.arange(at.stop - start)] = 1.0
        yield at, np.ascontiguousarray(design.rmatvec(units).T)


def column_groups(design: Design) -> Iterator[tuple[slice, Array]]:
    """The matrix by columns, from d products."""
    n, d = design.shape
    few = max(1, AT_ONCE // max(n, d))
    for start in range(0, d, few):
        at = slice(start, min(start + few, d))
        units = np.zeros((d, at.stop - start))
        units[np.arange(start, at.stop), np.arange(at.stop - start)] = 1.0
        yield at, design.matvec(units)


def _by_columns(design: Design) -> bool:
    """Whether there are no blocks, and columns cost fewer products than rows."""
    return not design.offers("blocks") and design.shape[1] <= design.shape[0]


def _enter(design: Design, passes: float) -> None:
    """Passes of what is made from blocks; products count themselves."""
    if design.offers("blocks"):
        design.ledger.passes += passes


def absolute_product(design: Design, x: Array, r: Array, rows: int) -> tuple[Array, Array]:
    """|A| x and |A|' r, by a task on chunks, or from columns or blocks."""
    _enter(design, NORMS)
    if by_tasks(design):
        (z,), (u,) = read(design, tasks.absolute_products, (r,), x)
        return z, u
    z, u = np.zeros(design.shape[0]), np.zeros(design.shape[1])
    if _by_columns(design):
        for at, some in column_groups(design):
            magnitude = np.abs(some)
            z += magnitude @ x[at]
            u[at] = magnitude.T @ r
        return z, u
    for at, block in design.blocks(rows):
        magnitude = np.abs(block)
        z[at] = magnitude @ x
        u += magnitude.T @ r[at]
    return z, u


def row_norms_sq(design: Design, weights: Array | None, rows: int) -> Array:
    """sum_j weights_j a_ij^2 of every row, by a task on chunks, or from columns or blocks."""
    survey = design.survey if weights is None else None
    if survey is None or survey.found is None:
        _enter(design, NORMS)
    if survey is not None:
        return survey.row_squares(design)
    if by_tasks(design):
        return read(design, tasks.row_squares, (), weights)[0][0]
    out = np.zeros(design.shape[0])
    if _by_columns(design):
        for at, some in column_groups(design):
            other = some if weights is None else some * weights[at]
            out += np.einsum("ij,ij->i", some, other)
        return out
    for at, block in design.blocks(rows):
        other = block if weights is None else block * weights
        np.einsum("ij,ij->i", block, other, out=out[at])
    return out


def column_norms_sq(design: Design, weights: Array, rows: int) -> Array:
    """sum_i weights_i a_ij^2 of every column, by a task on chunks, or from columns or blocks."""
    is_first = design.survey is None or design.survey.found is None
    known = known_sums(design, weights)
    if known is None or known.columns is None or is_first:
        _enter(design, NORMS)
    if known is not None and known.columns is not None:
        return known.columns
    if by_tasks(design):
        return np.asarray(read(design, tasks.column_squares, (weights,))[1][0])
    out = np.zeros(design.shape[1])
    if _by_columns(design):
        for at, some in column_groups(design):
            out[at] = weights @ (some * some)
        return out
    for at, block in design.blocks(rows):
        out += weights[at] @ (block * block)
    return out


def column_sizes(design: Design, at: Places, rows: int) -> Array:
    """max_i |a_ij| of some columns, from blocks."""
    _enter(design, NORMS)
    sizes = np.zeros(at.size)
    for _, block in design.blocks(rows):
        np.maximum(sizes, np.abs(block[:, at]).max(axis=0), out=sizes)
    return sizes


def chunks(design: Design, part: int, made: Callable[[Array], Design]) -> Iterator[Chunk]:
    """From blocks, put together or cut until they are the chunks of the partition.

    Blocks of the partitions before are read, and passed over; ``made`` makes a design of a block.
    """
    wanted = design.cuts.chunks(part)
    at = next(wanted)
    parts: list[Array] = []
    have = at.start
    for place, block in design.blocks(design.cuts.rows):
        while have < place.stop:
            stop = min(at.stop, place.stop)
            parts.append(block[have - place.start : stop - place.start])
            have = stop
            if have < at.stop:
                break
            yield Chunk(at, made(parts[0] if len(parts) == 1 else np.concatenate(parts)))
            parts = []
            following = next(wanted, None)
            if following is None:
                return
            at = following


def columns(
    design: Design, at: Places, constant: float, known: Columns | None, rows: int
) -> Columns:
    """Some columns, by a task on chunks, or from blocks; what is known is copied, not read."""
    n, d = design.shape
    if not spares(8.0 * n * at.size):
        return UngatheredColumns(design, at, constant, rows)
    T, wanted = np.empty((at.size, n)), np.flatnonzero(at < d)
    T[at == d] = constant
    if isinstance(known, DenseColumns):
        _, here, there = np.intersect1d(at, known.at, assume_unique=True, return_indices=True)
        T[here] = known.T[there]
        wanted = np.setdiff1d(wanted, here, assume_unique=True)
    if wanted.size and by_tasks(design):
        T[wanted] = read(design, tasks.some_columns, (), at[wanted])[0][0].T
    elif wanted.size:
        for some, block in design.blocks(rows):
            T[wanted, some] = block[:, at[wanted]].T
    return DenseColumns(at, T).of(design.ledger, n, n * d)


def gram(design: Design, weights: Array) -> Array:
    """A' diag(weights) A, by a task on chunks, or summed over blocks in order."""
    _enter(design, design.shape[1])
    if by_tasks(design):
        known = known_sums(design, weights)
        if known is not None and known.gram is not None:
            return known.gram
        if design.survey is not None and design.survey.is_wanted(weights):
            design.survey.wanted = None  # this is it
        return np.asarray(read(design, tasks.gram, (weights,))[1][0])
    d = design.shape[1]
    total = np.zeros((d, d))
    root = np.sqrt(weights)
    for rows, block in design.blocks(max(256, d)):
        check_time()
        scaled = root[rows, None] * block
        total += scaled.T @ scaled  # numpy sees that it is symmetric, and does half the work
    return total


def outer(design: Design, weights: Array) -> Array:
    """The matrix A diag(w) A', made from pairs of blocks."""
    n, root = design.shape[0], np.sqrt(weights)
    _enter(design, n)
    out = np.empty((n, n))
    rows = max(256, n // 8)
    for at, block in design.blocks(rows):
        left = root * block
        for also, other in design.blocks(rows):
            check_time()
            if also == at:
                out[at, at] = left @ left.T  # numpy sees that it is symmetric
            elif also.start < at.start:
                out[at, also] = left @ (root * other).T
                out[also, at] = out[at, also].T
    return out
