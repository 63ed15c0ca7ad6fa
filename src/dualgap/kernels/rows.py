"""How a step on one row moves the point, dense and sparse: all that knows of the layout.

With c = q_k/p_k times the move of y_k (``step``), q_k times it (``drift``) and
x~ = x + theta (x - x_old), for row k of the stream and the row l that follows:

    x = prox_{tau g}(x - tau (u + step a_k)),   u += drift a_k,   z = a_l'x~ + s x~_c

Dense: these are one loop over the coordinates, so a row is read from memory once. Sparse: a
coordinate that no row has touched for m steps went through m prox steps with one u_j, whose closed
form (`regularizers.lazy`) brings it up to date when it is touched; its four numbers lie side by
side, and the next row is fetched from memory while this one is worked on.

The last coordinate is the intercept if ``s`` is not 0: it has no penalty and every row touches it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import by_kind, prefetch
from dualgap.kernels.scalar import advance, fetch_row, prox_step
from dualgap.kernels.values import Dense, Lines, Prox, Sparse, Vectors


def _dense_predict(
    rows: Dense, k: int, now: int, point: Vectors, prox: Prox, theta: float
) -> float:
    A, s, d = rows.matrix, rows.constant, rows.matrix.shape[1]
    x, old, a = point.x, point.old, A[k]
    z = 0.0
    for j in range(d):
        z += a[j] * (x[j] + theta * (x[j] - old[j]))
    if s != 0.0:
        z += s * (x[d] + theta * (x[d] - old[d]))
    return z


def _sparse_predict(
    rows: Sparse, k: int, now: int, point: Lines, prox: Prox, theta: float
) -> float:
    data, indices, state, s = rows.data, rows.indices, point.values, rows.constant
    tau, l1, l2, C, H = prox.tau, prox.l1, prox.l2, prox.C, prox.H
    tables = C[0] >= 0.0
    smooth = tables and not prox.has_l1  # the common case, spelled out: twice as fast
    shrink = C[1] if smooth and C.size > 1 else 1.0
    z = 0.0
    for p in range(rows.indptr[k], rows.indptr[k + 1]):
        j = np.uintp(indices[p])  # unsigned: no negative index to look out for
        x, old = state[j, 0], state[j, 1]
        lag = now - int(state[j, 3])
        if lag > 0:
            u = state[j, 2]
            if smooth:
                old = C[lag - 1] * x - H[lag - 1] * u
                x = shrink * (old - tau * u)
            else:
                before = lag - 1 if tables else 0
                x, old = advance(x, u, tau, l1[j], l2[j], lag, C[before], H[before])
            state[j, 0], state[j, 1], state[j, 3] = x, old, now
        z += data[p] * (x + theta * (x - old))
    if s != 0.0:
        c = state.shape[0] - 1
        z += s * (state[c, 0] + theta * (state[c, 0] - state[c, 1]))
    return z


def _dense_step(
    rows: Dense, stream: Any, t: int, point: Vectors, prox: Prox, theta: float, step: float,
    drift: float,
) -> float:  # fmt: skip
    A, s, d = rows.matrix, rows.constant, rows.matrix.shape[1]
    x, old, u = point.x, point.old, point.u
    tau, l1, shrink = prox.tau, prox.l1, prox.shrink
    a = A[stream[t]]
    last = t + 1 == stream.size
    following = a if last else A[stream[t + 1]]
    if last:  # in between nobody asks for x_old: x~ is at hand
        for j in range(d):
            old[j] = x[j]
    z = 0.0
    if prox.has_l1:
        for j in range(d):
            xj = x[j]
            w = xj - tau * (u[j] + step * a[j])
            edge = tau * l1[j]
            w = (w - min(max(w, -edge), edge)) * shrink[j]
            u[j] += drift * a[j]
            x[j] = w
            z += following[j] * (w + theta * (w - xj))
    elif shrink.size == 1:  # the common case without a walk over shrink
        for j in range(d):
            xj = x[j]
            w = (xj - tau * (u[j] + step * a[j])) * shrink[0]
            u[j] += drift * a[j]
            x[j] = w
            z += following[j] * (w + theta * (w - xj))
    else:
        for j in range(d):
            xj = x[j]
            w = (xj - tau * (u[j] + step * a[j])) * shrink[j]
            u[j] += drift * a[j]
            x[j] = w
            z += following[j] * (w + theta * (w - xj))
    if s != 0.0:
        xc = x[d]
        x[d] = xc - tau * (u[d] + step * s)
        old[d] = xc
        u[d] += drift * s
        z += s * (x[d] + theta * (x[d] - xc))
    return z


def _sparse_step(
    rows: Sparse, stream: Any, t: int, point: Lines, prox: Prox, theta: float, step: float,
    drift: float,
) -> float:  # fmt: skip
    data, indices, indptr, s = rows.data, rows.indices, rows.indptr, rows.constant
    state = point.values
    tau, l1, l2, C = prox.tau, prox.l1, prox.l2, prox.C
    smooth = C[0] >= 0.0 and not prox.has_l1
    shrink = C[1] if smooth and C.size > 1 else 1.0
    k = stream[t]
    for p in range(indptr[k], indptr[k + 1]):
        j = np.uintp(indices[p])
        x, u = state[j, 0], state[j, 2]
        if smooth:
            state[j, 0] = shrink * (x - tau * (u + step * data[p]))
        else:
            state[j, 0] = prox_step(x, u + step * data[p], tau, l1[j], l2[j])
        state[j, 1] = x
        state[j, 2] = u + drift * data[p]
        state[j, 3] = t + 1
    if s != 0.0:
        c = state.shape[0] - 1
        x = state[c, 0]
        state[c, 0] = x - tau * (state[c, 2] + step * s)
        state[c, 1] = x
        state[c, 2] += drift * s
        state[c, 3] = t + 1
    if t + 1 == stream.size:
        return 0.0
    return predict(rows, stream[t + 1], t + 1, point, prox, theta)  # type: ignore[no-any-return]


def _dense_ahead(rows: Dense, k: int, y: Array, v: Array) -> None:
    pass


def _sparse_ahead(rows: Sparse, k: int, y: Array, v: Array) -> None:
    fetch_row(rows.data, rows.indices, rows.indptr[k], rows.indptr[k + 1])
    prefetch(y, k)
    prefetch(v, k)


def _dense_settle(rows: Dense, now: int, point: Vectors, prox: Prox) -> None:
    pass


def _sparse_settle(rows: Sparse, now: int, point: Lines, prox: Prox) -> None:
    state, C, H = point.values, prox.C, prox.H
    for m in range(state.shape[0]):
        lag = now - int(state[m, 3])
        if lag > 0:
            x, u = state[m, 0], state[m, 2]
            before = lag - 1 if C[0] >= 0.0 else 0
            state[m, 0], state[m, 1] = advance(
                x, u, prox.tau, prox.l1[m], prox.l2[m], lag, C[before], H[before]
            )
        state[m, 3] = 0.0


predict = by_kind({Dense: _dense_predict, Sparse: _sparse_predict})
"""predict(rows, k, now, point, prox, theta): a_k'x~ + s x~_c after ``now`` steps."""
step_and_predict = by_kind({Dense: _dense_step, Sparse: _sparse_step})
"""The step on row t of the stream; returns z of the row that follows."""
fetch = by_kind({Dense: _dense_ahead, Sparse: _sparse_ahead})
"""fetch(rows, k, y, v): ask for row k, where it does not come by itself."""
settle = by_kind({Dense: _dense_settle, Sparse: _sparse_settle})
"""settle(rows, now, point, prox): bring all coordinates up to date, and count steps from 0."""
