"""Points of Algorithms 5 and 7 with small blocks of rows: one primal step for m dual ones.

For each block K of m rows (c_k = q_k/(m p_k)):

    z_k = a_k'x~ + s x~_c + offset_k for k in K,      x~ = x + theta (x - x_old)
    y_k as in `kernels.epoch`, one row after the other
    x   = prox_{tau g}(x - tau (u + sum_K c_k (y_k+ - y_k) a_k)),   u += sum_K q_k (y_k+ - y_k) a_k

A visit of a row enters it into the two sums. Dense: the last row of a block takes the step. Sparse:
the step is put off like all others, and is the first of those that a coordinate owes when a later
block asks for it. The last block of a run may be smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import by_kind
from dualgap.kernels.points import (
    Lines,
    Vectors,
    ahead,
    begun,
    move,
    product,
    reach,
    remember,
    settle,
    settle_lines,
    shrunk,
    walk,
)  # fmt: skip
from dualgap.kernels.values import Prox


class BlockVectors(NamedTuple):
    """The point, where rows are dense."""

    now: Vectors
    steps: Array
    """The first sum, without its 1/m; with the next an entry for each of x."""
    drifts: Array
    m: int
    entered: np.ndarray[Any, np.dtype[np.int64]]
    """How many rows of the block have been visited; and 1 once the last row of the run is next."""


class BlockLines(NamedTuple):
    """The point, where rows are sparse."""

    values: Array
    """(x, x_old, u, block of the last update, the two sums), each a line."""
    prox: Prox
    m: int
    rows: int
    """In the whole run."""


@ahead.of(BlockVectors)
def _(point: BlockVectors, j: int, theta: float) -> float:
    return ahead(point.now, j, theta)


@walk.of(BlockVectors)
def _(
    point: BlockVectors, a: Array, following: Array, s: float, theta: float, step: float,
    drift: float,
) -> float:  # fmt: skip
    steps, drifts = point.steps, point.drifts
    for j in range(a.size):
        steps[j] += step * a[j]
        drifts[j] += drift * a[j]
    if s != 0.0:
        steps[a.size] += step * s
        drifts[a.size] += drift * s
    point.entered[0] += 1
    if point.entered[0] == point.m or point.entered[1] == 1:
        take_step(point)
    z: float = product(point, following, s, theta)
    return z


@by_kind
def take_step(point: BlockVectors) -> None:
    """The step of the rows that were visited since the last one."""
    (x, before, u, prox), share = point.now, 1.0 / point.entered[0]
    last = prox.l1.size - 1  # an intercept
    for j in range(x.size):
        old = x[j]
        x[j] = shrunk(prox, old - prox.tau * (u[j] + share * point.steps[j]), j, j == last)
        before[j] = old
        u[j] += point.drifts[j]
        point.steps[j] = point.drifts[j] = 0.0
    point.entered[0] = 0


@remember.of(BlockVectors)
def _(point: BlockVectors) -> None:
    point.entered[1] = 1


@move.of(BlockLines)
def _(point: BlockLines, j: int, a: float, now: int, step: float, drift: float, free: bool) -> None:
    point.values[j, 4] += step * a
    point.values[j, 5] += drift * a


@reach.of(BlockLines)
def _(point: BlockLines, z: float, j: int, a: float, now: int, theta: float) -> float:
    state, prox = point.values, point.prox
    last = int(state[j, 3])
    if now > last:
        x, u, free = state[j, 0], state[j, 2], j == prox.l1.size - 1
        slope = u + state[j, 4] / min(point.m, point.rows - last * point.m)
        state[j, 0] = shrunk(prox, x - prox.tau * slope, j, free)
        state[j, 1], state[j, 2], state[j, 3] = x, u + state[j, 5], last + 1
        state[j, 4] = state[j, 5] = 0.0
    z = reach(Lines(state, prox), z, j, a, now, theta)
    return z


@begun.of(BlockLines)
def _(point: BlockLines, t: int) -> int:
    return t // point.m


settle.of(BlockLines)(settle_lines)
