"""Exact steps in one dual variable after the other.

w = -A'Qy and x = S(w, l1)/l2 belong to y at all times. For each row k of the stream, with
rho_k = q_k sum_j a_kj^2/l2_j (what a unit of y_k moves a_k'x by):

    z  = a_k'x + offset_k
    y+ = prox_{phi*/rho_k}(y_k + z/rho_k),   w -= q_k (y+ - y_k) a_k

A row touches the coordinates of its own entries only: nothing is lazy here. The last move enters w
while the next row is read: of dense rows that is one walk over w for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import borrowed, by_kind, kernel, prefetch
from dualgap.kernels.scalar import fetch_row, grad, prox_conj
from dualgap.kernels.values import Dense, Loss, Sparse, Targets, Threshold

ENOUGH = 0.01
"""Where the prox is iterative: the next visit goes on from there, and the error is squared."""


@kernel
def sdca(
    rows: Any,
    stream: Any,
    targets: Targets,
    loss: Loss,
    threshold: Threshold,
    rho: Array,
    w: Array,
    y: Array,
) -> None:
    """The points w and y, in place, after one step for each row of the stream."""
    rows, stream, threshold = borrowed(rows), borrowed(stream), borrowed(threshold)
    w, y = borrowed(w), borrowed(y)
    b, offset, weight = targets.b, targets.offset, targets.weight
    last, owed = 0, 0.0
    for t in range(stream.size):
        k = stream[t]
        if t + 1 < stream.size:
            fetch(rows, stream[t + 1])
            prefetch(y, stream[t + 1])
        z = move_and_predict(rows, last, owed, k, w, threshold) + offset[k]
        if rho[k] > 0.0:
            s = 1.0 / rho[k]
            new = prox_conj(loss.code, loss.parameter, y[k] + s * z, s, b[k], z, ENOUGH)
        else:
            new = grad(loss.code, loss.parameter, z, b[k])
        last, owed = k, weight[k] * (new - y[k])
        y[k] = new
    move(rows, last, owed, w)


def _dense_predict(
    rows: Dense, last: int, owed: float, k: int, w: Array, threshold: Threshold
) -> float:
    d, before, a = rows.matrix.shape[1], rows.matrix[last], rows.matrix[k]
    l1, inverse_l2 = threshold.l1, threshold.inverse_l2
    alike = l1.size == 1
    z = 0.0
    if alike and not threshold.has_l1:
        for j in range(d):
            v = w[j] - owed * before[j]
            w[j] = v
            z += a[j] * v
        return z * inverse_l2[0]  # type: ignore[no-any-return]
    for j in range(d):
        v = w[j] - owed * before[j]
        w[j] = v
        i = 0 if alike else j
        z += a[j] * (v - min(max(v, -l1[i]), l1[i])) * inverse_l2[i]
    return z


def _sparse_predict(
    rows: Sparse, last: int, owed: float, k: int, w: Array, threshold: Threshold
) -> float:
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    l1, inverse_l2 = threshold.l1, threshold.inverse_l2
    alike = l1.size == 1
    move(rows, last, owed, w)
    z = 0.0
    if alike and not threshold.has_l1:
        for p in range(indptr[k], indptr[k + 1]):
            z += data[p] * w[np.uintp(indices[p])]
        return z * inverse_l2[0]  # type: ignore[no-any-return]
    for p in range(indptr[k], indptr[k + 1]):
        j = np.uintp(indices[p])
        i = np.uintp(0) if alike else j
        z += data[p] * (w[j] - min(max(w[j], -l1[i]), l1[i])) * inverse_l2[i]
    return z


def _dense_move(rows: Dense, k: int, owed: float, w: Array) -> None:
    a = rows.matrix[k]
    for j in range(a.size):
        w[j] -= owed * a[j]


def _sparse_move(rows: Sparse, k: int, owed: float, w: Array) -> None:
    if owed != 0.0:
        for p in range(rows.indptr[k], rows.indptr[k + 1]):
            w[np.uintp(rows.indices[p])] -= owed * rows.data[p]


def _dense_fetch(rows: Dense, k: int) -> None:
    row = rows.matrix[k]
    for j in range(0, row.size, 8):
        prefetch(row, j)


def _sparse_fetch(rows: Sparse, k: int) -> None:
    fetch_row(rows.data, rows.indices, rows.indptr[k], rows.indptr[k + 1])


move = by_kind({Dense: _dense_move, Sparse: _sparse_move})
"""move(rows, k, owed, w): w -= owed a_k."""
move_and_predict = by_kind({Dense: _dense_predict, Sparse: _sparse_predict})
"""First ``owed`` times the row before, then a_k'x."""
fetch = by_kind({Dense: _dense_fetch, Sparse: _sparse_fetch})
"""fetch(rows, k): ask for a row that is needed next."""
