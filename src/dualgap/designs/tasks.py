"""Tasks: pure functions of one chunk of rows, for `Design.reduce` and `Design.map_rows`.

They are at the top level of a module and take all that they need as arguments, so that they may be
sent to another thread or process; and they write to none of these. Arguments are the same for all
chunks; what has an entry for each row is handed to `map_rows`, which cuts it.

`there_and_back` is the form of most work on the data, A x and then A' r with an r that is made of
A x row by row. Designs know it (see `Design.map_rows`), and some have something faster for it; so
what differs from one use to the next is a function that it is given, ``between``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap._arrays import per_row
from dualgap._types import Array, Places
from dualgap.designs.chunks import Chunk

if TYPE_CHECKING:
    from dualgap.designs.contract import Design

Between = Callable[..., tuple[Array, tuple[Array, ...], tuple[Any, ...]]]
"""between(z, rows, *args) -> (r, more rows, more sums): what lies between A x and A' r."""

__all__ = [
    "absolute_products",
    "adjoint",
    "apart",
    "column_squares",
    "count_not_finite",
    "gram",
    "gram_beside",
    "gram_of_columns",
    "product",
    "row_squares",
    "shifted",
    "some_columns",
    "survey",
    "sweep",
    "there_and_back",
    "weigh",
    "weigh_shifted",
]


def there_and_back(
    chunk: Chunk, rows: tuple[Array, ...], x: Array, between: Between, *args: Any
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """Rows (z, ...) and sums (A' r, ...), with z = A x and (r, ..., ...) = between(z, rows, *args).

    Both products are made while the chunk is at hand: one reading of the data.
    """
    z = chunk.matvec(x)
    r, made, sums = between(z, rows, *args)
    return (z, *made), (chunk.rmatvec(r), *sums)


def product_pair(
    design: Design, rows: tuple[Array, ...], x: Array, between: Between, *args: Any
) -> tuple[Array, Array]:
    """A x and A' r of `there_and_back`, where nothing else is wanted."""
    made, sums = design.map_rows(there_and_back, rows, x, between, *args)
    return made[0], sums[0]


# ---- what lies between the two products ----


def weigh(z: Array, rows: tuple[Array]) -> tuple[Array, tuple[()], tuple[()]]:
    """r = diag(w) z: with it `there_and_back` is the product x -> A' diag(w) A x."""
    return per_row(rows[0], z) * z, (), ()


def weigh_shifted(z: Array, rows: tuple[Array], shift: float) -> tuple[Array, tuple[()], tuple[()]]:
    """r = diag(w) (z + shift)."""
    return per_row(rows[0], z) * (z + shift), (), ()


def apart(z: Array, rows: tuple[Array]) -> tuple[Array, tuple[()], tuple[()]]:
    """An r that is known before: `there_and_back` is two products that are wanted at once."""
    return rows[0], (), ()


def shifted(
    z: Array, rows: tuple[Array, ...], shift: Any, between: Between, *args: Any
) -> tuple[Array, tuple[Array, ...], tuple[Any, ...]]:
    """``between`` at z + shift; the sum of r comes first, which a constant column needs."""
    r, made, sums = between(z + shift, rows, *args)
    return r, made, (r.sum(axis=0), *sums)


# ---- single verbs ----


def product(chunk: Chunk, rows: tuple[Array, ...], x: Array) -> tuple[tuple[Array], tuple[()]]:
    """Rows z = A x: for `map_rows`."""
    return (chunk.matvec(x),), ()


def adjoint(chunk: Chunk, rows: tuple[Array]) -> tuple[tuple[()], tuple[Array]]:
    """A' r: for `map_rows`."""
    return (), (chunk.rmatvec(rows[0]),)


def absolute_products(
    chunk: Chunk, rows: tuple[Array], x: Array
) -> tuple[tuple[Array], tuple[Array]]:
    """Rows |A| x and |A|' r: for `map_rows`."""
    z, u = chunk.absolute_product(x, rows[0])
    return (z,), (u,)


def row_squares(
    chunk: Chunk, rows: tuple[Array, ...], weights: Array | None
) -> tuple[tuple[Array], tuple[()]]:
    """Rows sum_j weights_j a_ij^2: for `map_rows`."""
    return (chunk.row_norms_sq(weights),), ()


def sweep(
    chunk: Chunk, rows: tuple[Array], x: Array, shift: float
) -> tuple[tuple[Array], tuple[Array]]:
    """Rows z = A x + shift and A' diag(w) z: for `map_rows`."""
    z, u = chunk.design.weighted_sweep(x, rows[0], shift)
    return (z,), (u,)


def column_squares(chunk: Chunk, rows: tuple[Array]) -> tuple[tuple[()], tuple[Array]]:
    """sum_i w_i a_ij^2: for `map_rows`."""
    return (), (chunk.column_norms_sq(rows[0]),)


def some_columns(
    chunk: Chunk, rows: tuple[Array, ...], at: Places
) -> tuple[tuple[Array], tuple[()]]:
    """Rows of the columns at these places: for `map_rows`."""
    return (chunk.some_columns(at),), ()


# ---- sums ----


def survey(
    chunk: Chunk,
    rows: tuple[Array, ...],
    with_gram: bool,
    task: Callable[..., Any] | None,
    *args: Any,
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """Rows |a_i|^2, sums of w_i a_ij^2 and A'w, A' diag(w) A if wanted, and what ``task`` makes.

    For `map_rows`. Rows (w, ...), of which the task gets all but the first; it may be None.
    """
    w = rows[0]
    made, sums = ((), ()) if task is None else task(chunk, rows[1:], *args)
    products = (chunk.gram(w),) if with_gram else ()
    found = (chunk.column_norms_sq(w), chunk.rmatvec(w), *products)
    return (chunk.row_norms_sq(), *made), (*found, *sums)


def gram(chunk: Chunk, rows: tuple[Array]) -> tuple[tuple[()], tuple[Array]]:
    """A' diag(w) A, w >= 0: for `map_rows`."""
    return (), (chunk.gram(rows[0]),)


def gram_beside(
    chunk: Chunk, rows: tuple[Array, ...], task: Callable[..., Any], *args: Any
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """A' diag(w) A and A'w, which border it beside a constant column, and what ``task`` makes.

    For `map_rows`. Rows (w, ...), of which the task gets all but the first.
    """
    made, sums = task(chunk, rows[1:], *args)
    return made, (chunk.gram(rows[0]), chunk.rmatvec(rows[0]), *sums)


def gram_of_columns(chunk: Chunk, rows: tuple[Array], at: Places) -> tuple[tuple[()], tuple[Array]]:
    """A_S' diag(w) A_S for the columns S at these places, w >= 0: for `map_rows`."""
    return (), (chunk.gram(rows[0], at),)


def count_not_finite(chunk: Chunk) -> tuple[int, tuple[int, ...]]:
    """How many entries are not finite numbers, and the first row with such an entry."""
    count = int(np.count_nonzero(~np.isfinite(chunk.entries())))
    if not count:
        return 0, ()
    if chunk.sparse is None:
        bad = np.flatnonzero(~np.isfinite(chunk.dense()).all(axis=1))
    else:
        entries = chunk.sparse.tocoo()
        bad = entries.row[~np.isfinite(entries.data)]
    return count, (chunk.rows.start + int(bad.min()),)
