"""One inner loop of SVRG over a stream of rows for the multinomial loss, dense and sparse.

As `kernels.svrg`, with K predictions per row: for each row k of the stream

    z = a_k'x + s x_c + offset_k   in R^K
    x = prox_{tau g}(x - tau (u + (q_k/p_k) a_k (softmax(z) - e_{b_k} - y_k)'))

The layout is that of `kernels.multinomial`; ``work`` is room for two vectors of K values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._jit import kernel, scalar
from dualgap.kernels.multinomial import softmax_grad
from dualgap.kernels.scalar import Floats, advance, powers, prox_step


@kernel
def multinomial_svrg_dense(
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
    work: Floats,
) -> None:
    """Dense rows; x and u are (K, size); ``shrink`` is 1/(1 + tau l2)."""
    d = A.shape[1]
    c = d
    K = y.shape[1]
    z, step = work[0], work[1]
    if rows.size > 0:
        first = A[rows[0]]
        for i in range(K):
            xi = x[i]
            total = 0.0
            for j in range(d):
                total += first[j] * xi[j]
            z[i] = total
    for t in range(rows.size):
        k = rows[t]
        a = A[k]
        for i in range(K):
            if offset.shape[0] > 0:
                z[i] += offset[k, i]
            if s != 0.0:
                z[i] += s * x[i, c]
        softmax_grad(z, int(b[k]), step)
        following = A[rows[t + 1]] if t + 1 < rows.size else a
        for i in range(K):
            xi, ui = x[i], u[i]
            si = ratio[k] * (step[i] - y[k, i])
            if s != 0.0:
                xi[c] -= tau * (ui[c] + si * s)
            total = 0.0
            if has_l1:
                for j in range(d):
                    w = xi[j] - tau * (ui[j] + si * a[j])
                    edge = tau * l1[j]
                    w = (w - min(max(w, -edge), edge)) * shrink[j]
                    xi[j] = w
                    total += following[j] * w
            else:
                for j in range(d):
                    w = (xi[j] - tau * (ui[j] + si * a[j])) * shrink[j]
                    xi[j] = w
                    total += following[j] * w
            z[i] = total


@scalar
def catch_up(
    line: Floats, lag: int, tau: float, l1: float, l2: float, C: Floats, H: Floats
) -> None:
    """Lag >= 1 prox steps of the K values of a coordinate: the x of its (x, u)."""
    x, u = line[0], line[1]
    tables = C[0] >= 0.0
    before = lag - 1 if tables else 0
    c, h = C[before], H[before]
    if l1 == 0.0:
        if not tables:
            c, h = powers(lag - 1, tau, l2)
        shrink = 1.0 / (1.0 + tau * l2)
        for i in range(x.size):
            x[i] = (c * x[i] - h * u[i] - tau * u[i]) * shrink
    else:
        for i in range(x.size):
            x[i] = advance(x[i], u[i], tau, l1, l2, lag, c, h)[0]


@kernel
def multinomial_svrg_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    s: float,
    b: Floats,
    offset: Floats,
    rows: Any,
    ratio: Floats,
    lines: Floats,
    last: Any,
    y: Floats,
    tau: float,
    l1: Floats,
    l2: Floats,
    C: Floats,
    H: Floats,
    work: Floats,
) -> None:
    """Sparse rows; ``lines`` is (d + 1, 2, K): x and u of each coordinate.

    ``last`` is the step of its last update. C and H are tables for `scalar.advance`, or
    C = (-1,).
    """
    c = lines.shape[0] - 1
    K = y.shape[1]
    z, step = work[0], work[1]
    for t in range(rows.size):
        k = rows[t]
        for i in range(K):
            z[i] = s * lines[c, 0, i]
            if offset.shape[0] > 0:
                z[i] += offset[k, i]
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])  # unsigned: no negative index to look out for
            line = lines[j]
            lag = t - last[j]
            if lag > 0:
                catch_up(line, lag, tau, l1[j], l2[j], C, H)
            for i in range(K):
                z[i] += data[p] * line[0, i]
        softmax_grad(z, int(b[k]), step)
        for i in range(K):
            step[i] = ratio[k] * (step[i] - y[k, i])
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            line = lines[j]
            a = data[p]
            if l1[j] == 0.0:
                shrink = 1.0 / (1.0 + tau * l2[j])
                for i in range(K):
                    line[0, i] = (line[0, i] - tau * (line[1, i] + step[i] * a)) * shrink
            else:
                for i in range(K):
                    line[0, i] = prox_step(line[0, i], line[1, i] + step[i] * a, tau, l1[j], l2[j])
            last[j] = t + 1
        if s != 0.0:
            for i in range(K):
                lines[c, 0, i] -= tau * (lines[c, 1, i] + step[i] * s)
            last[c] = t + 1
    for m in range(lines.shape[0]):
        lag = rows.size - last[m]
        if lag > 0:
            catch_up(lines[m], lag, tau, l1[m], l2[m], C, H)
        last[m] = 0
