"""Algorithms 5 and 7 with small blocks of rows: one primal step for m dual ones.

For each block K of m rows (c_k = q_k/(m p_k)):

    z_k = a_k'x~ + s x~_c + offset_k for k in K,      x~ = x + theta (x - x_old)
    y_k as in `kernels.spdc`, one row after the other
    x   = prox_{tau g}(x - tau (u + sum_K c_k (y_k+ - y_k) a_k)),   u += sum_K q_k (y_k+ - y_k) a_k

The vectors x, x_old and u are walked once per block instead of once per row; a last block may be
smaller. Sparse: a coordinate that several rows of a block touch is stepped once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.compiled.jit import borrowed, by_kind, kernel
from dualgap.kernels.rows import predict, settle
from dualgap.kernels.scalar import grad, prox_conj, prox_step
from dualgap.kernels.values import (
    FREE,
    Dense,
    Dual,
    Lines,
    Loss,
    Prox,
    Sparse,
    Steps,
    Targets,
    Vectors,
)


@kernel
def minibatch(
    rows: Any,
    stream: Any,
    targets: Targets,
    loss: Loss,
    prox: Prox,
    steps: Steps,
    point: Any,
    dual: Dual,
) -> None:
    """The point and the dual point, in place; a block has as many rows as ``dual.step`` entries."""
    rows, stream, prox = borrowed(rows), borrowed(stream), borrowed(prox)
    point, dual = borrowed(point), borrowed(dual)
    b, offset, weight, ratio = targets.b, targets.offset, targets.weight, targets.ratio
    code, parameter = loss.code, loss.parameter
    sigma, theta = steps.sigma, steps.theta
    y, v, step, drift = dual.y, dual.v, dual.step, dual.drift
    m, blocks = step.size, 0
    for start in range(0, stream.size, m):
        block = stream[start : start + m]
        for r in range(block.size):
            k = block[r]
            z = predict(rows, k, blocks, point, prox, theta) + offset[k]
            if steps.rule == FREE:
                v[k] = (v[k] + sigma * z) / (1.0 + sigma)
                new = grad(code, parameter, v[k], b[k])
            else:
                new = prox_conj(code, parameter, y[k] + sigma * z, sigma, b[k], z)
            move = new - y[k]
            y[k] = new
            step[r], drift[r] = ratio[k] * move / block.size, weight[k] * move
        step_by_block(rows, block, blocks, point, prox, dual)
        blocks += 1
    settle(rows, blocks, point, prox)


def _dense_step(rows: Dense, block: Any, now: int, point: Vectors, prox: Prox, dual: Dual) -> None:
    A, s, d = rows.matrix, rows.constant, rows.matrix.shape[1]
    x, old, u, moves = point.x, point.old, point.u, dual.z
    step, drift = dual.step, dual.drift
    tau, l1, l2 = prox.tau, prox.l1, prox.l2
    for j in range(x.size):
        moves[j] = 0.0
    for j in range(d):
        old[j] = 0.0  # until the step below, the sum of the drifts
    total, sums = 0.0, 0.0
    for r in range(block.size):
        a, size, share = A[block[r]], step[r], drift[r]
        for j in range(d):
            moves[j] += size * a[j]
            old[j] += share * a[j]
        total += size
        sums += share
    for j in range(d):
        w = prox_step(x[j], u[j] + moves[j], tau, l1[j], l2[j])
        u[j] += old[j]
        old[j] = x[j]
        x[j] = w
    if s != 0.0:
        xc = x[d]
        x[d] = xc - tau * (u[d] + s * total)
        old[d] = xc
        u[d] += s * sums


def _sparse_step(rows: Sparse, block: Any, now: int, point: Lines, prox: Prox, dual: Dual) -> None:
    data, indices, indptr, s = rows.data, rows.indices, rows.indptr, rows.constant
    state, step, drift = point.values, dual.step, dual.drift
    tau, l1, l2 = prox.tau, prox.l1, prox.l2
    total, sums = 0.0, 0.0
    for r in range(block.size):
        k = block[r]
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            state[j, 4] += step[r] * data[p]
            state[j, 5] += drift[r] * data[p]
        total += step[r]
        sums += drift[r]
    for r in range(block.size):
        k = block[r]
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            if int(state[j, 3]) == now:  # not stepped yet in this block
                x = state[j, 0]
                state[j, 0] = prox_step(x, state[j, 2] + state[j, 4], tau, l1[j], l2[j])
                state[j, 1] = x
                state[j, 2] += state[j, 5]
                state[j, 3] = now + 1
                state[j, 4] = 0.0
                state[j, 5] = 0.0
    if s != 0.0:
        c = state.shape[0] - 1
        x = state[c, 0]
        state[c, 0] = x - tau * (state[c, 2] + s * total)
        state[c, 1] = x
        state[c, 2] += s * sums
        state[c, 3] = now + 1


step_by_block = by_kind({Dense: _dense_step, Sparse: _sparse_step})
"""The step on x and u of a block of rows, by ``dual.step`` and ``dual.drift``."""
