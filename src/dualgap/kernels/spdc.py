"""One run of Algorithm 5 or 7 over a stream of rows, dense and sparse.

For each row k of the stream (c = q_k/p_k):

    z  = a_k'x~ + s x~_c + offset_k,   x~ = x + theta (x - x_old)
    y+ = prox_{sigma phi*}(y_k + sigma z)      or, dual-free,
    v_k = (v_k + sigma z)/(1 + sigma),  y+ = phi'(v_k)
    x  = prox_{tau g}(x - tau (u + c (y+ - y_k) a_k)),   u += q_k (y+ - y_k) a_k

Dense: the update of one step and the dot product of the next are one loop over the coordinates,
so a row is read from memory once. Sparse: a coordinate that no row has touched for m steps is
brought up to date by the closed form of m prox steps when it is touched; its four numbers lie
side by side.

The last coordinate is the intercept if ``s`` is not 0: it has no penalty and every row touches
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._jit import kernel, prefetch
from dualgap.kernels.scalar import Floats, advance, fetch_row, grad, prox_conj, prox_step


@kernel
def spdc_dense(
    A: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
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
    has_l1: bool,
    shrink: Floats,
    code: int,
    parameter: float,
    dual_free: bool,
) -> None:
    """Dense rows; ``shrink`` is 1/(1 + tau l2)."""
    d = A.shape[1]
    c = d
    even = True  # by a loop: an expression of arrays takes seconds to compile
    for j in range(d):
        even = even and shrink[j] == shrink[0]
    z = 0.0
    if rows.size > 0:
        first = A[rows[0]]
        for j in range(d):
            z += first[j] * (x[j] + theta * (x[j] - old[j]))
    for t in range(rows.size):
        k = rows[t]
        a = A[k]
        z += offset[k]
        if s != 0.0:
            z += s * (x[c] + theta * (x[c] - old[c]))
        if dual_free:
            v[k] = (v[k] + sigma * z) / (1.0 + sigma)
            new = grad(code, parameter, v[k], b[k])
        else:
            new = prox_conj(code, parameter, y[k] + sigma * z, sigma, b[k], z)
        move = new - y[k]
        y[k] = new
        step, drift = ratio[k] * move, q[k] * move
        if s != 0.0:
            xc = x[c]
            x[c] = xc - tau * (u[c] + step * s)
            old[c] = xc
            u[c] += drift * s
        following = A[rows[t + 1]] if t + 1 < rows.size else a
        if t + 1 == rows.size:  # in between nobody asks for x_old: x~ is at hand
            for j in range(d):
                old[j] = x[j]
        z = 0.0
        if has_l1:
            for j in range(d):
                xj = x[j]
                w = xj - tau * (u[j] + step * a[j])
                edge = tau * l1[j]
                w = (w - min(max(w, -edge), edge)) * shrink[j]
                u[j] += drift * a[j]
                x[j] = w
                z += following[j] * (w + theta * (w - xj))
        elif even:  # the common case without a walk over shrink
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


@kernel
def spdc_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
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
) -> None:
    """Sparse rows; ``state`` has a line (x, x_old, u, step of the last update) for each coordinate.

    C and H are tables for `scalar.advance`, or C = (-1,). Where all rows share their numbers
    (offset, weight, probability) there is one entry of each instead of n.
    """
    c = state.shape[0] - 1
    tables = C[0] >= 0.0
    smooth = tables and l1.max() == 0.0  # the common case, spelled out: twice as fast
    shrink = C[1] if smooth and C.size > 1 else 1.0
    alike = offset.size == 1
    for t in range(rows.size):
        k = rows[t]
        if t + 1 < rows.size:
            following = rows[t + 1]
            fetch_row(data, indices, indptr[following], indptr[following + 1])
            prefetch(y, following)
            prefetch(v, following)
        i = 0 if alike else k
        z = offset[i]
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])  # unsigned: no negative index to look out for
            x, old = state[j, 0], state[j, 1]
            lag = t - int(state[j, 3])
            if lag > 0:
                u = state[j, 2]
                if smooth:
                    old = C[lag - 1] * x - H[lag - 1] * u
                    x = shrink * (old - tau * u)
                else:
                    before = lag - 1 if tables else 0
                    x, old = advance(x, u, tau, l1[j], l2[j], lag, C[before], H[before])
                state[j, 0] = x
            z += data[p] * (x + theta * (x - old))
        if s != 0.0:
            z += s * (state[c, 0] + theta * (state[c, 0] - state[c, 1]))
        if dual_free:
            v[k] = (v[k] + sigma * z) / (1.0 + sigma)
            new = grad(code, parameter, v[k], b[k])
        else:
            new = prox_conj(code, parameter, y[k] + sigma * z, sigma, b[k], z)
        move = new - y[k]
        y[k] = new
        step, drift = ratio[i] * move, q[i] * move
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
            x = state[c, 0]
            state[c, 0] = x - tau * (state[c, 2] + step * s)
            state[c, 1] = x
            state[c, 2] += drift * s
            state[c, 3] = t + 1
    for m in range(state.shape[0]):
        lag = rows.size - int(state[m, 3])
        if lag > 0:
            x, u = state[m, 0], state[m, 2]
            before = lag - 1 if tables else 0
            state[m, 0], state[m, 1] = advance(x, u, tau, l1[m], l2[m], lag, C[before], H[before])
        state[m, 3] = 0.0
