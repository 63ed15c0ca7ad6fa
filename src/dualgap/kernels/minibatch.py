"""Algorithms 5 and 7 with small blocks of rows: one primal step for m dual ones.

For each block K of m rows (c_k = q_k/(m p_k)):

    z_k = a_k'x~ + s x~_c + offset_k for k in K,      x~ = x + theta (x - x_old)
    y_k as in `kernels.epoch`, one row after the other
    x   = prox_{tau g}(x - tau (u + sum_K c_k (y_k+ - y_k) a_k)),   u += sum_K q_k (y_k+ - y_k) a_k

The vectors x, x_old and u are walked once per block instead of once per row; a last block may be
smaller. Sparse: a coordinate that several rows of a block touch is stepped once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import borrowed, by_kind, kernel
from dualgap.kernels.epoch import answer
from dualgap.kernels.points import Lines, Vectors, settle, shrunk
from dualgap.kernels.rows import predict
from dualgap.kernels.values import Dense, Dual, Sparse, Steps, Targets


@kernel
def minibatch(
    rows: Any, stream: Any, targets: Targets, loss: Any, steps: Steps, point: Any, dual: Dual,
    room: Array,
) -> None:  # fmt: skip
    """The point and the dual point, in place; a block has as many rows as ``dual.step`` entries.

    ``room`` is for as many numbers as x has; of sparse rows the lines have room for two more.
    """
    rows, stream, targets, steps, point, dual, room = borrowed(
        (rows, stream, targets, steps, point, dual, room)
    )
    m, blocks = dual.step.size, 0
    for start in range(0, stream.size, m):
        block = stream[start : start + m]
        for r in range(block.size):
            z = predict(rows, block[r], blocks, point, steps.theta)
            step, drift = answer(loss, block[r], z, targets, steps, dual)
            dual.step[r], dual.drift[r] = step / block.size, drift
        step_by_block(rows, block, blocks, point, dual, room)
        blocks += 1
    settle(point, blocks)


@by_kind
def step_by_block(rows: Any, block: Any, now: int, point: Any, dual: Dual, room: Array) -> None:
    """The step on x and u of a block of rows, by ``dual.step`` and ``dual.drift``."""
    raise NotImplementedError


@step_by_block.of(Dense)
def _(rows: Dense, block: Any, now: int, point: Vectors, dual: Dual, room: Array) -> None:
    s, d = rows.constant, rows.matrix.shape[1]
    x, old, u, prox = point.x, point.old, point.u, point.prox
    for j in range(d):  # until the step below, the sums of the steps and of the drifts
        room[j] = old[j] = 0.0
    total, sums = 0.0, 0.0
    for r in range(block.size):
        a, step, drift = rows.matrix[block[r]], dual.step[r], dual.drift[r]
        for j in range(d):
            room[j] += step * a[j]
            old[j] += drift * a[j]
        total += step
        sums += drift
    if s != 0.0:
        room[d], old[d] = s * total, s * sums
    for j in range(x.size):
        w = shrunk(prox, x[j] - prox.tau * (u[j] + room[j]), j, j == d)
        u[j] += old[j]
        old[j] = x[j]
        x[j] = w


@step_by_block.of(Sparse)
def _(rows: Sparse, block: Any, now: int, point: Lines, dual: Dual, room: Array) -> None:
    data, indices, indptr, s = rows.data, rows.indices, rows.indptr, rows.constant
    state = point.values
    for r in range(block.size):
        step, drift = dual.step[r], dual.drift[r]
        for p in range(indptr[block[r]], indptr[block[r] + 1]):
            j = np.uintp(indices[p])
            state[j, 4] += step * data[p]
            state[j, 5] += drift * data[p]
        if s != 0.0:
            state[rows.columns, 4] += step * s
            state[rows.columns, 5] += drift * s
    for r in range(block.size):
        for p in range(indptr[block[r]], indptr[block[r] + 1]):
            step_once(point, np.uintp(indices[p]), now, False)
    if s != 0.0:
        step_once(point, np.uintp(rows.columns), now, True)


@by_kind
def step_once(point: Lines, j: int, now: int, free: bool) -> None:
    """The step on a coordinate, for the first row of a block that asks for it."""
    state, prox = point.values, point.prox
    if int(state[j, 3]) == now:
        x, u = state[j, 0], state[j, 2]
        state[j, 0] = shrunk(prox, x - prox.tau * (u + state[j, 4]), j, free)
        state[j, 1], state[j, 2], state[j, 3] = x, u + state[j, 5], now + 1
        state[j, 4] = state[j, 5] = 0.0
