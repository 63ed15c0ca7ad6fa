"""Algorithms 5 and 7 with small blocks of rows: one primal step for m dual ones.

For each block K of m rows (c_k = q_k/(m p_k)):

    z_k = a_k'x~ + s x~_c + offset_k for k in K,      x~ = x + theta (x - x_old)
    y_k as in `kernels.spdc`, one row after the other
    x   = prox_{tau g}(x - tau (u + sum_K c_k (y_k+ - y_k) a_k)),   u += sum_K q_k (y_k+ - y_k) a_k

The vectors x, x_old and u are walked once per block instead of once per row. ``ratio`` holds
q_k/p_k; a last block may be smaller. Sparse: a coordinate that several rows of a block touch is
stepped once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._jit import kernel
from dualgap.kernels.scalar import Floats, advance, grad, prox_conj, prox_step


@kernel
def minibatch_dense(
    A: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
    m: int,
    q: Floats,
    ratio: Floats,
    sigma: float,
    x: Floats,
    old: Floats,
    u: Floats,
    y: Floats,
    v: Floats,
    tau: float,
    theta: float,
    l1: Floats,
    l2: Floats,
    code: int,
    parameter: float,
    dual_free: bool,
    ahead: Floats,
    step: Floats,
    drift: Floats,
) -> None:
    """Dense rows; ``ahead`` (d + 1), ``step`` and ``drift`` (m) are work space."""
    d = A.shape[1]
    for start in range(0, rows.size, m):
        size = min(m, rows.size - start)
        for j in range(x.size):
            ahead[j] = x[j] + theta * (x[j] - old[j])
        for r in range(size):
            k = rows[start + r]
            z = offset[k]
            for j in range(d):
                z += A[k, j] * ahead[j]
            if s != 0.0:
                z += s * ahead[d]
            if dual_free:
                v[k] = (v[k] + sigma * z) / (1.0 + sigma)
                new = grad(code, parameter, v[k], b[k])
            else:
                new = prox_conj(code, parameter, y[k] + sigma * z, sigma, b[k], z)
            move = new - y[k]
            y[k] = new
            step[r], drift[r] = ratio[k] * move / size, q[k] * move
        for j in range(d):
            ahead[j] = 0.0
            old[j] = 0.0  # until the step below, the sum of the drifts
        for r in range(size):
            a = A[rows[start + r]]
            for j in range(d):
                ahead[j] += step[r] * a[j]
                old[j] += drift[r] * a[j]
        for j in range(d):
            w = prox_step(x[j], u[j] + ahead[j], tau, l1[j], l2[j])
            u[j] += old[j]
            old[j] = x[j]
            x[j] = w
        if s != 0.0:
            total, sums = 0.0, 0.0
            for r in range(size):
                total += step[r]
                sums += drift[r]
            xc = x[d]
            x[d] = xc - tau * (u[d] + s * total)
            old[d] = xc
            u[d] += s * sums


@kernel
def minibatch_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
    m: int,
    q: Floats,
    ratio: Floats,
    sigma: float,
    state: Floats,
    y: Floats,
    v: Floats,
    tau: float,
    theta: float,
    l1: Floats,
    l2: Floats,
    C: Floats,
    H: Floats,
    code: int,
    parameter: float,
    dual_free: bool,
    step: Floats,
    drift: Floats,
) -> None:
    """Sparse rows; ``state`` has a line (x, x_old, u, step of the last update, two sums).

    C and H are tables for `scalar.advance`, or C = (-1,).
    """
    c = state.shape[0] - 1
    tables = C[0] >= 0.0
    t = 0
    for start in range(0, rows.size, m):
        size = min(m, rows.size - start)
        for r in range(size):
            k = rows[start + r]
            z = offset[k]
            for p in range(indptr[k], indptr[k + 1]):
                j = np.uintp(indices[p])
                lag = t - int(state[j, 3])
                if lag > 0:
                    before = lag - 1 if tables else 0
                    state[j, 0], state[j, 1] = advance(
                        state[j, 0], state[j, 2], tau, l1[j], l2[j], lag, C[before], H[before]
                    )
                    state[j, 3] = t
                z += data[p] * (state[j, 0] + theta * (state[j, 0] - state[j, 1]))
            if s != 0.0:
                z += s * (state[c, 0] + theta * (state[c, 0] - state[c, 1]))
            if dual_free:
                v[k] = (v[k] + sigma * z) / (1.0 + sigma)
                new = grad(code, parameter, v[k], b[k])
            else:
                new = prox_conj(code, parameter, y[k] + sigma * z, sigma, b[k], z)
            move = new - y[k]
            y[k] = new
            step[r], drift[r] = ratio[k] * move / size, q[k] * move
        for r in range(size):
            k = rows[start + r]
            for p in range(indptr[k], indptr[k + 1]):
                j = np.uintp(indices[p])
                state[j, 4] += step[r] * data[p]
                state[j, 5] += drift[r] * data[p]
        for r in range(size):
            k = rows[start + r]
            for p in range(indptr[k], indptr[k + 1]):
                j = np.uintp(indices[p])
                if int(state[j, 3]) == t:  # not stepped yet in this block
                    x = state[j, 0]
                    state[j, 0] = prox_step(x, state[j, 2] + state[j, 4], tau, l1[j], l2[j])
                    state[j, 1] = x
                    state[j, 2] += state[j, 5]
                    state[j, 3] = t + 1
                    state[j, 4] = 0.0
                    state[j, 5] = 0.0
        if s != 0.0:
            total, sums = 0.0, 0.0
            for r in range(size):
                total += step[r]
                sums += drift[r]
            x = state[c, 0]
            state[c, 0] = x - tau * (state[c, 2] + s * total)
            state[c, 1] = x
            state[c, 2] += s * sums
            state[c, 3] = t + 1
        t += 1
    for i in range(state.shape[0]):
        lag = t - int(state[i, 3])
        if lag > 0:
            before = lag - 1 if tables else 0
            x, u = state[i, 0], state[i, 2]
            state[i, 0], state[i, 1] = advance(x, u, tau, l1[i], l2[i], lag, C[before], H[before])
        state[i, 3] = 0.0
