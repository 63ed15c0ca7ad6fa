"""One run of Algorithm 7, SAGA or SVRG over a stream of rows for the multinomial loss.

As `kernels.spdc`, with K predictions per row: for each row k of the stream (c = q_k/p_k)

    z   = a_k'x~ + s x~_c + offset_k   in R^K,   x~ = x + theta (x - x_old)
    v_k = (v_k + sigma z)/(1 + sigma),   y+ = softmax(v_k) - e_{b_k}
    x   = prox_{tau g}(x - tau (u + c a_k (y+ - y_k)')),   u += q_k a_k (y+ - y_k)'

Dense: x, x_old and u have one line per class, so that the innermost loops run along a row of the
data, which stays in the cache for all classes; update and next dot product are one loop. Sparse:
the lag of a coordinate is that of all its K values, which lie side by side with those of x_old
and u; what a lag costs (powers, tables) is paid once for all of them.

The last coordinate is the intercept if ``s`` is not 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import borrowed, by_kind, kernel, scalar
from dualgap.kernels.scalar import advance, powers, prox_step
from dualgap.kernels.values import (
    FREE,
    SNAPSHOT,
    ClassLines,
    Dense,
    Dual,
    Prox,
    Sparse,
    Steps,
    Targets,
    Vectors,
)


@scalar
def softmax_grad(z: Array, label: int, out: Array) -> None:
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


@kernel
def multinomial(
    rows: Any,
    stream: Any,
    targets: Targets,
    prox: Prox,
    steps: Steps,
    point: Any,
    dual: Dual,
) -> None:
    """The point and the dual point, in place, after one step for each row of the stream."""
    rows, stream, prox = borrowed(rows), borrowed(stream), borrowed(prox)
    point, dual = borrowed(point), borrowed(dual)
    b, offset, weight, ratio = targets.b, targets.offset, targets.weight, targets.ratio
    sigma, theta, rule = steps.sigma, steps.theta, steps.rule
    y, v, z, step, drift = dual.y, dual.v, dual.z, dual.step, dual.drift
    K = y.shape[1]
    if stream.size > 0:
        predict(rows, stream[0], 0, point, prox, theta, z)
    for t in range(stream.size):
        k = stream[t]
        for i in range(K):
            if offset.shape[0] > 0:
                z[i] += offset[k, i]
            if rule == FREE:
                z[i] = (v[k, i] + sigma * z[i]) / (1.0 + sigma)
                v[k, i] = z[i]
        softmax_grad(z, int(b[k]), step)
        for i in range(K):
            new = step[i]
            move = new - y[k, i]
            step[i] = ratio[k] * move
            drift[i] = 0.0
            if rule != SNAPSHOT:
                y[k, i] = new
                drift[i] = weight[k] * move
        step_and_predict(rows, stream, t, point, prox, theta, dual)
    settle(rows, stream.size, point, prox)


def _dense_predict(
    rows: Dense, k: int, now: int, point: Vectors, prox: Prox, theta: float, z: Array
) -> None:
    A, s, d = rows.matrix, rows.constant, rows.matrix.shape[1]
    a = A[k]
    for i in range(z.size):
        xi, oi = point.x[i], point.old[i]
        total = 0.0
        for j in range(d):
            total += a[j] * (xi[j] + theta * (xi[j] - oi[j]))
        if s != 0.0:
            total += s * (xi[d] + theta * (xi[d] - oi[d]))
        z[i] = total


def _dense_step(
    rows: Dense, stream: Any, t: int, point: Vectors, prox: Prox, theta: float, dual: Dual
) -> None:
    A, s, d = rows.matrix, rows.constant, rows.matrix.shape[1]
    x, old, u, z, step, drift = point.x, point.old, point.u, dual.z, dual.step, dual.drift
    tau, l1, shrink, even = prox.tau, prox.l1, prox.shrink, prox.shrink.size == 1
    a = A[stream[t]]
    last = t + 1 == stream.size
    following = a if last else A[stream[t + 1]]
    for i in range(z.size):
        xi, oi, ui, si, di = x[i], old[i], u[i], step[i], drift[i]
        if last:  # in between nobody asks for x_old: x~ is at hand
            for j in range(d):
                oi[j] = xi[j]
        total = 0.0
        if prox.has_l1:
            for j in range(d):
                xj = xi[j]
                w = xj - tau * (ui[j] + si * a[j])
                edge = tau * l1[j]
                w = (w - min(max(w, -edge), edge)) * shrink[j]
                ui[j] += di * a[j]
                xi[j] = w
                total += following[j] * (w + theta * (w - xj))
        elif even:  # the common case without a walk over shrink
            for j in range(d):
                xj = xi[j]
                w = (xj - tau * (ui[j] + si * a[j])) * shrink[0]
                ui[j] += di * a[j]
                xi[j] = w
                total += following[j] * (w + theta * (w - xj))
        else:
            for j in range(d):
                xj = xi[j]
                w = (xj - tau * (ui[j] + si * a[j])) * shrink[j]
                ui[j] += di * a[j]
                xi[j] = w
                total += following[j] * (w + theta * (w - xj))
        if s != 0.0:
            xc = xi[d]
            xi[d] = xc - tau * (ui[d] + si * s)
            oi[d] = xc
            ui[d] += di * s
            total += s * (xi[d] + theta * (xi[d] - xc))
        z[i] = total


@scalar
def catch_up(line: Array, lag: int, tau: float, l1: float, l2: float, C: Array, H: Array) -> None:
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


def _sparse_predict(
    rows: Sparse, k: int, now: int, point: ClassLines, prox: Prox, theta: float, z: Array
) -> None:
    data, indices, s = rows.data, rows.indices, rows.constant
    lines, last = point.values, point.last
    for i in range(z.size):
        z[i] = 0.0
    for p in range(rows.indptr[k], rows.indptr[k + 1]):
        j = np.uintp(indices[p])  # unsigned: no negative index to look out for
        line = lines[j]
        lag = now - last[j]
        if lag > 0:
            catch_up(line, lag, prox.tau, prox.l1[j], prox.l2[j], prox.C, prox.H)
        a = data[p]
        for i in range(z.size):
            z[i] += a * (line[0, i] + theta * (line[0, i] - line[1, i]))
    if s != 0.0:
        line = lines[lines.shape[0] - 1]
        for i in range(z.size):
            z[i] += s * (line[0, i] + theta * (line[0, i] - line[1, i]))


def _sparse_step(
    rows: Sparse, stream: Any, t: int, point: ClassLines, prox: Prox, theta: float, dual: Dual
) -> None:
    data, indices, indptr, s = rows.data, rows.indices, rows.indptr, rows.constant
    lines, last, step, drift = point.values, point.last, dual.step, dual.drift
    tau, k = prox.tau, stream[t]
    for p in range(indptr[k], indptr[k + 1]):
        j = np.uintp(indices[p])
        line = lines[j]
        a, l1, l2 = data[p], prox.l1[j], prox.l2[j]
        shrink = 1.0 / (1.0 + tau * l2)
        for i in range(step.size):
            x, u = line[0, i], line[2, i]
            if l1 == 0.0:
                line[0, i] = (x - tau * (u + step[i] * a)) * shrink
            else:
                line[0, i] = prox_step(x, u + step[i] * a, tau, l1, l2)
            line[1, i] = x
            line[2, i] = u + drift[i] * a
        last[j] = t + 1
    if s != 0.0:
        c = lines.shape[0] - 1
        line = lines[c]
        for i in range(step.size):
            x = line[0, i]
            line[0, i] = x - tau * (line[2, i] + step[i] * s)
            line[1, i] = x
            line[2, i] += drift[i] * s
        last[c] = t + 1
    if t + 1 < stream.size:
        predict(rows, stream[t + 1], t + 1, point, prox, theta, dual.z)


def _dense_settle(rows: Dense, now: int, point: Vectors, prox: Prox) -> None:
    pass


def _sparse_settle(rows: Sparse, now: int, point: ClassLines, prox: Prox) -> None:
    lines, last = point.values, point.last
    for m in range(lines.shape[0]):
        lag = now - last[m]
        if lag > 0:
            catch_up(lines[m], lag, prox.tau, prox.l1[m], prox.l2[m], prox.C, prox.H)
        last[m] = 0


predict = by_kind({Dense: _dense_predict, Sparse: _sparse_predict})
"""predict(rows, k, now, point, prox, theta, z): z <- a_k'x~ + s x~_c after ``now`` steps."""
step_and_predict = by_kind({Dense: _dense_step, Sparse: _sparse_step})
"""The step on row t of the stream by ``dual.step`` and ``dual.drift``; then z of the next row."""
settle = by_kind({Dense: _dense_settle, Sparse: _sparse_settle})
"""settle(rows, now, point, prox): bring all coordinates up to date, and count steps from 0."""
