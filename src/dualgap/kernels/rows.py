"""How a row is walked, dense and sparse: all that knows of the layout.

A step on row k of the stream is followed by the prediction for the row l after it. Dense: both are
one loop over the coordinates, so a row is read from memory once. Sparse: the next row is fetched
from memory while this one is worked on; a coordinate that no row has touched for m steps is brought
up to date when it is touched. What happens to a coordinate is the matter of `kernels.points`.

The last coordinate is the intercept if ``s`` is not 0: it has no penalty and every row touches it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.compiled.jit import by_kind, prefetch
from dualgap.kernels.points import move, nothing, product, reach, remember, walk
from dualgap.kernels.values import Dense, Dual, Sparse


@by_kind
def predict(rows: Any, k: int, now: int, point: Any, theta: float) -> Any:
    """a_k'x~ + s x~_c after ``now`` steps."""
    raise NotImplementedError


@by_kind
def step_on_row(
    rows: Any, stream: Any, t: int, point: Any, theta: float, step: Any, drift: Any
) -> Any:
    """The step on row t of the stream; returns the prediction for the next, if it looks ahead."""
    raise NotImplementedError


@by_kind
def looks_ahead(rows: Any) -> bool:
    """Whether a step also makes the prediction for the row that follows."""
    return False


@by_kind
def fetch(rows: Any, k: int, dual: Dual) -> None:
    """Ask for row k and what belongs to it; by default they come by themselves."""


@predict.of(Dense)
def _(rows: Dense, k: int, now: int, point: Any, theta: float) -> Any:
    return product(point, rows.matrix[k], rows.constant, theta)


@step_on_row.of(Dense)
def _(rows: Dense, stream: Any, t: int, point: Any, theta: float, step: Any, drift: Any) -> Any:
    a = rows.matrix[stream[t]]
    following = a
    if t + 1 < stream.size:
        following = rows.matrix[stream[t + 1]]
    else:
        remember(point)
    return walk(point, a, following, rows.constant, theta, step, drift)


@looks_ahead.of(Dense)
def _(rows: Dense) -> bool:
    return True


@predict.of(Sparse)
def _(rows: Sparse, k: int, now: int, point: Any, theta: float) -> Any:
    z = nothing(point)
    for p in range(rows.indptr[k], rows.indptr[k + 1]):
        j = np.uintp(rows.indices[p])  # unsigned: no negative index to look out for
        z = reach(point, z, j, rows.data[p], now, theta)
    if rows.constant != 0.0:
        z = reach(point, z, np.uintp(rows.columns), rows.constant, now, theta)
    return z


@step_on_row.of(Sparse)
def _(rows: Sparse, stream: Any, t: int, point: Any, theta: float, step: Any, drift: Any) -> Any:
    for p in range(rows.indptr[stream[t]], rows.indptr[stream[t] + 1]):
        move(point, np.uintp(rows.indices[p]), rows.data[p], t + 1, step, drift, False)
    if rows.constant != 0.0:
        move(point, np.uintp(rows.columns), rows.constant, t + 1, step, drift, True)
    return nothing(point)


@fetch.of(Sparse)
def _(rows: Sparse, k: int, dual: Dual) -> None:
    for p in range(rows.indptr[k], rows.indptr[k + 1], 8):  # rows in random order come late
        prefetch(rows.data, p)
        prefetch(rows.indices, p)
    prefetch(dual.y, k)
    prefetch(dual.v, k)
