"""One run of Algorithm 7 over a stream of rows for the multinomial loss, dense and sparse.

As `kernels.spdc`, with K predictions per row: for each row k of the stream (c = q_k/p_k)

    z   = a_k'x~ + s x~_c + offset_k   in R^K,   x~ = x + theta (x - x_old)
    v_k = (v_k + sigma z)/(1 + sigma),   y+ = softmax(v_k) - e_{b_k}
    x   = prox_{tau g}(x - tau (u + c a_k (y+ - y_k)')),   u += q_k a_k (y+ - y_k)'

With sigma = infinity, where v_k = z, and theta = 0 this is SAGA.

Dense: x, x_old and u have one line per class, so that the innermost loops run along a row of the
data, which stays in the cache for all classes; update and next dot product are one loop. Sparse:
the lag of a coordinate is that of all its K values, which lie side by side with those of x_old
and u; what a lag costs (powers, tables) is paid once for all of them.

``work`` is room for three vectors of K values. The last coordinate is the intercept if ``s`` is
not 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap._jit import kernel, scalar
from dualgap.kernels.scalar import Floats, advance, powers, prox_step


@scalar
def softmax_grad(z: Floats, label: int, out: Floats) -> None:
    """Out <- softmax(z) - e_label."""
    K = z.size
    top = z[0]
    for i in range(1, K):
        top = max(top, z[i])
    total = 0.0
    for i in range(K):
        out[i] = math.exp(z[i] - top)
        total += out[i]
    others = 0.0
    for i in range(K):
        out[i] /= total
        if i != label:
            others += out[i]
    out[label] = -others  # p - 1 without cancellation


@scalar
def softmax_move(
    v: Floats, y: Floats, label: int, ratio: float, weight: float, step: Floats, drift: Floats
) -> None:
    """y <- softmax(v) - e_label; step and drift: ratio and weight times what y moved by."""
    softmax_grad(v, label, step)
    for i in range(v.size):
        move = step[i] - y[i]
        y[i] = step[i]
        step[i] = ratio * move
        drift[i] = weight * move


@kernel
def multinomial_dense(
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
    has_l1: bool,
    shrink: Floats,
    work: Floats,
) -> None:
    """Dense rows; x, old and u are (K, size); ``shrink`` is 1/(1 + tau l2)."""
    d = A.shape[1]
    c = d
    K = y.shape[1]
    z, step, drift = work[0], work[1], work[2]
    if rows.size > 0:
        first = A[rows[0]]
        for i in range(K):
            xi, oi = x[i], old[i]
            total = 0.0
            for j in range(d):
                total += first[j] * (xi[j] + theta * (xi[j] - oi[j]))
            z[i] = total
    for t in range(rows.size):
        k = rows[t]
        a = A[k]
        vk = v[k]
        for i in range(K):
            zi = z[i]
            if offset.shape[0] > 0:
                zi += offset[k, i]
            if s != 0.0:
                zi += s * (x[i, c] + theta * (x[i, c] - old[i, c]))
            vk[i] = zi if sigma == math.inf else (vk[i] + sigma * zi) / (1.0 + sigma)
        softmax_move(vk, y[k], int(b[k]), ratio[k], q[k], step, drift)
        following = A[rows[t + 1]] if t + 1 < rows.size else a
        for i in range(K):
            xi, oi, ui = x[i], old[i], u[i]
            si, di = step[i], drift[i]
            if s != 0.0:
                xc = xi[c]
                xi[c] = xc - tau * (ui[c] + si * s)
                oi[c] = xc
                ui[c] += di * s
            total = 0.0
            if has_l1:
                for j in range(d):
                    xj = xi[j]
                    w = xj - tau * (ui[j] + si * a[j])
                    edge = tau * l1[j]
                    w = (w - min(max(w, -edge), edge)) * shrink[j]
                    ui[j] += di * a[j]
                    oi[j] = xj
                    xi[j] = w
                    total += following[j] * (w + theta * (w - xj))
            else:
                for j in range(d):
                    xj = xi[j]
                    w = (xj - tau * (ui[j] + si * a[j])) * shrink[j]
                    ui[j] += di * a[j]
                    oi[j] = xj
                    xi[j] = w
                    total += following[j] * (w + theta * (w - xj))
            z[i] = total


@scalar
def catch_up(
    line: Floats, lag: int, tau: float, l1: float, l2: float, C: Floats, H: Floats
) -> None:
    """Lag >= 1 prox steps of the K values of a coordinate: x and x_old of its (x, x_old, u)."""
    x, old, u = line[0], line[1], line[2]
    tables = C[0] >= 0.0
    before = lag - 1 if tables else 0
    c, h = C[before], H[before]
    if l1 == 0.0:
        if not tables:
            c, h = powers(lag - 1, tau, l2)
        shrink = 1.0 / (1.0 + tau * l2)
        for i in range(x.size):
            old[i] = c * x[i] - h * u[i]
            x[i] = (old[i] - tau * u[i]) * shrink
    else:
        for i in range(x.size):
            x[i], old[i] = advance(x[i], u[i], tau, l1, l2, lag, c, h)


@kernel
def multinomial_csr(
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
    lines: Floats,
    last: Any,
    y: Floats,
    v: Floats,
    tau: float,
    theta: float,
    l1: Floats,
    l2: Floats,
    C: Floats,
    H: Floats,
    work: Floats,
) -> None:
    """Sparse rows; ``lines`` is (d + 1, 3, K): x, x_old and u of each coordinate.

    ``last`` is the step of its last update. C and H are tables for `scalar.advance`, or
    C = (-1,).
    """
    c = lines.shape[0] - 1
    K = y.shape[1]
    z, step, drift = work[0], work[1], work[2]
    for t in range(rows.size):
        k = rows[t]
        if offset.shape[0] > 0:
            for i in range(K):
                z[i] = offset[k, i]
        else:
            for i in range(K):
                z[i] = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])  # unsigned: no negative index to look out for
            line = lines[j]
            lag = t - last[j]
            if lag > 0:
                catch_up(line, lag, tau, l1[j], l2[j], C, H)
            a = data[p]
            for i in range(K):
                z[i] += a * (line[0, i] + theta * (line[0, i] - line[1, i]))
        if s != 0.0:
            for i in range(K):
                z[i] += s * (lines[c, 0, i] + theta * (lines[c, 0, i] - lines[c, 1, i]))
        vk = v[k]
        for i in range(K):
            vk[i] = z[i] if sigma == math.inf else (vk[i] + sigma * z[i]) / (1.0 + sigma)
        softmax_move(vk, y[k], int(b[k]), ratio[k], q[k], step, drift)
        for p in range(indptr[k], indptr[k + 1]):
            j = np.uintp(indices[p])
            line = lines[j]
            a = data[p]
            if l1[j] == 0.0:
                shrink = 1.0 / (1.0 + tau * l2[j])
                for i in range(K):
                    x, u = line[0, i], line[2, i]
                    line[0, i] = (x - tau * (u + step[i] * a)) * shrink
                    line[1, i] = x
                    line[2, i] = u + drift[i] * a
            else:
                for i in range(K):
                    x, u = line[0, i], line[2, i]
                    line[0, i] = prox_step(x, u + step[i] * a, tau, l1[j], l2[j])
                    line[1, i] = x
                    line[2, i] = u + drift[i] * a
            last[j] = t + 1
        if s != 0.0:
            for i in range(K):
                x = lines[c, 0, i]
                lines[c, 0, i] = x - tau * (lines[c, 2, i] + step[i] * s)
                lines[c, 1, i] = x
                lines[c, 2, i] += drift[i] * s
            last[c] = t + 1
    for m in range(lines.shape[0]):
        lag = rows.size - last[m]
        if lag > 0:
            catch_up(lines[m], lag, tau, l1[m], l2[m], C, H)
        last[m] = 0
