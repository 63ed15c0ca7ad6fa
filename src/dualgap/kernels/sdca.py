"""Exact steps in one dual variable after the other, dense and sparse.

w = -A'Qy and x = S(w, l1)/l2 belong to y at all times. For each row k of the stream, with
rho_k = q_k sum_j a_kj^2/l2_j (what a unit of y_k moves a_k'x by):

    z  = a_k'x + offset_k
    y+ = prox_{phi*/rho_k}(y_k + z/rho_k),   w -= q_k (y+ - y_k) a_k

A row touches the coordinates of its own entries only: nothing is lazy here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._jit import kernel, prefetch
from dualgap.kernels.scalar import Floats, fetch_row, grad, prox_conj

ENOUGH = 0.01
"""Where the prox is iterative: the next visit goes on from there, and the error is squared."""


@kernel
def sdca_dense(
    A: Any,
    b: Floats,
    offset: Floats,
    rows: Any,
    q: Floats,
    rho: Floats,
    w: Floats,
    y: Floats,
    l1: Floats,
    inverse_l2: Floats,
    has_l1: bool,
    code: int,
    parameter: float,
) -> None:
    """Dense rows; l1 and inverse_l2 have one entry where all coordinates share theirs."""
    d = A.shape[1]
    alike = l1.size == 1
    # The last move enters w while the next row is read: one walk over w for both.
    last, owed = A[0], 0.0
    for t in range(rows.size):
        k = rows[t]
        a = A[k]
        if t + 1 < rows.size:
            following = A[rows[t + 1]]
            for j in range(0, d, 8):
                prefetch(following, j)
            prefetch(y, rows[t + 1])
        z = 0.0
        if alike and not has_l1:
            for j in range(d):
                v = w[j] - owed * last[j]
                w[j] = v
                z += a[j] * v
            z *= inverse_l2[0]
        else:
            for j in range(d):
                v = w[j] - owed * last[j]
                w[j] = v
                i = 0 if alike else j
                z += a[j] * (v - min(max(v, -l1[i]), l1[i])) * inverse_l2[i]
        z += offset[k]
        if rho[k] > 0.0:
            s = 1.0 / rho[k]
            new = prox_conj(code, parameter, y[k] + s * z, s, b[k], z, ENOUGH)
        else:
            new = grad(code, parameter, z, b[k])
        last, owed = a, q[k] * (new - y[k])
        y[k] = new
    for j in range(d):
        w[j] -= owed * last[j]


@kernel
def sdca_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    b: Floats,
    offset: Floats,
    rows: Any,
    q: Floats,
    rho: Floats,
    w: Floats,
    y: Floats,
    l1: Floats,
    inverse_l2: Floats,
    has_l1: bool,
    code: int,
    parameter: float,
) -> None:
    """Sparse rows; l1 and inverse_l2 have one entry where all coordinates share theirs."""
    alike = l1.size == 1
    for t in range(rows.size):
        k = rows[t]
        if t + 1 < rows.size:
            following = rows[t + 1]
            fetch_row(data, indices, indptr[following], indptr[following + 1])
            prefetch(y, following)
        z = 0.0
        if alike and not has_l1:
            for p in range(indptr[k], indptr[k + 1]):
                z += data[p] * w[np.uintp(indices[p])]
            z *= inverse_l2[0]
        else:
            for p in range(indptr[k], indptr[k + 1]):
                j = np.uintp(indices[p])
                i = np.uintp(0) if alike else j
                edge = l1[i]
                z += data[p] * (w[j] - min(max(w[j], -edge), edge)) * inverse_l2[i]
        z += offset[k]
        if rho[k] > 0.0:
            s = 1.0 / rho[k]
            new = prox_conj(code, parameter, y[k] + s * z, s, b[k], z, ENOUGH)
        else:
            new = grad(code, parameter, z, b[k])
        move = q[k] * (new - y[k])
        y[k] = new
        if move != 0.0:
            for p in range(indptr[k], indptr[k + 1]):
                w[np.uintp(indices[p])] -= move * data[p]
