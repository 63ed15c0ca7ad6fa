"""One inner loop of SVRG over a stream of rows, dense and sparse.

y = phi'(A x) and u = A'Qy belong to the snapshot and stay as they are. For each row k:

    z = a_k'x + s x_c + offset_k
    x = prox_{tau g}(x - tau (u + (q_k/p_k)(phi'(z) - y_k) a_k))

Dense: the update of one step and the dot product of the next are one loop over the coordinates,
so a row is read from memory once. Sparse: u is constant, so a coordinate that no row has touched
for m steps is brought up to date by the closed form of m prox steps (`regularizers.lazy`) when it
is touched.

The last coordinate is the intercept if ``s`` is not 0: it has no penalty and every row touches
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._jit import kernel, prefetch
from dualgap.kernels.scalar import Floats, advance, fetch_row, grad, prox_step


@kernel
def svrg_dense(
    A: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
    ratio: Floats,
    x: Floats,
    u: Floats,
    y: Floats,
    tau: float,
    l1: Floats,
    has_l1: bool,
    shrink: Floats,
    code: int,
    parameter: float,
) -> None:
    """Dense rows; ``shrink`` is 1/(1 + tau l2)."""
    d = A.shape[1]
    c = d
    z = 0.0
    if rows.size > 0:
        first = A[rows[0]]
        for j in range(d):
            z += first[j] * x[j]
    for t in range(rows.size):
        k = rows[t]
        a = A[k]
        z += offset[k]
        if s != 0.0:
            z += s * x[c]
        step = ratio[k] * (grad(code, parameter, z, b[k]) - y[k])
        if s != 0.0:
            x[c] -= tau * (u[c] + step * s)
        following = A[rows[t + 1]] if t + 1 < rows.size else a
        z = 0.0
        if has_l1:
            for j in range(d):
                w = x[j] - tau * (u[j] + step * a[j])
                edge = tau * l1[j]
                w = (w - min(max(w, -edge), edge)) * shrink[j]
                x[j] = w
                z += following[j] * w
        else:
            for j in range(d):
                w = (x[j] - tau * (u[j] + step * a[j])) * shrink[j]
                x[j] = w
                z += following[j] * w


@kernel
def svrg_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
    ratio: Floats,
    state: Floats,
    y: Floats,
    tau: float,
    l1: Floats,
    l2: Floats,
    C: Floats,
    H: Floats,
    code: int,
    parameter: float,
) -> None:
    """Sparse rows; ``state`` has a line (x, u, step of the last update) for each coordinate.

    C and H are tables for `scalar.advance`, or C = (-1,). Where all rows share their numbers
    (offset, weight, probability) there is one entry of each instead of n.
    """
    c = state.shape[0] - 1
    tables = C[0] >= 0.0
    smooth = tables and l1.max() == 0.0  # the common case, spelled out
    shrink = C[1] if smooth and C.size > 1 else 1.0
    alike = offset.size == 1
    for t in range(rows.size):
        k = rows[t]
        if t + 1 < rows.size:
            following = rows[t + 1]
            fetch_row(data, indices, indptr[following], indptr[following + 1])
            prefetch(y, following)
        i = 0 if alike else k
        z = offset[i]
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])  # unsigned: no negative index to look out for
            x = state[j, 0]
            lag = t - int(state[j, 2])
            if lag > 0:
                u = state[j, 1]
                if smooth:
                    x = shrink * (C[lag - 1] * x - H[lag - 1] * u - tau * u)
                else:
                    before = lag - 1 if tables else 0
                    x = advance(x, u, tau, l1[j], l2[j], lag, C[before], H[before])[0]
                state[j, 0] = x
            z += data[p] * x
        if s != 0.0:
            z += s * state[c, 0]
        step = ratio[i] * (grad(code, parameter, z, b[k]) - y[k])
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            slope = state[j, 1] + step * data[p]
            if smooth:
                state[j, 0] = shrink * (state[j, 0] - tau * slope)
            else:
                state[j, 0] = prox_step(state[j, 0], slope, tau, l1[j], l2[j])
            state[j, 2] = t + 1
        if s != 0.0:
            state[c, 0] -= tau * (state[c, 1] + step * s)
            state[c, 2] = t + 1
    for m in range(state.shape[0]):
        lag = rows.size - int(state[m, 2])
        if lag > 0:
            before = lag - 1 if tables else 0
            x, u = state[m, 0], state[m, 1]
            state[m, 0] = advance(x, u, tau, l1[m], l2[m], lag, C[before], H[before])[0]
        state[m, 2] = 0.0
