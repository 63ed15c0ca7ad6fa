"""One run of Algorithm 5 or 7, SAGA or SVRG over a stream of rows.

For each row k of the stream (c = q_k/p_k):

    z  = a_k'x~ + s x~_c + offset_k,   x~ = x + theta (x - x_old)
    y+ = prox_{sigma phi*}(y_k + sigma z)      or, dual-free,
    v_k = (v_k + sigma z)/(1 + sigma),  y+ = phi'(v_k)
    x  = prox_{tau g}(x - tau (u + c (y+ - y_k) a_k)),   u += q_k (y+ - y_k) a_k

SAGA is the dual-free method with sigma = infinity and theta = 0: y+ = phi'(z). SVRG is SAGA with
the y and the u of a snapshot, which stay as they are. `kernels.rows` has the steps on x and u.
"""

from __future__ import annotations

from typing import Any

from dualgap.compiled.jit import borrowed, kernel
from dualgap.kernels.rows import fetch, predict, settle, step_and_predict
from dualgap.kernels.scalar import grad, prox_conj
from dualgap.kernels.values import FREE, PROX, SNAPSHOT, Dual, Loss, Prox, Steps, Targets


@kernel
def spdc(
    rows: Any,
    stream: Any,
    targets: Targets,
    loss: Loss,
    prox: Prox,
    steps: Steps,
    point: Any,
    dual: Dual,
) -> None:
    """The point and the dual point, in place, after one step for each row of the stream."""
    rows, stream, prox = borrowed(rows), borrowed(stream), borrowed(prox)
    point, dual = borrowed(point), borrowed(dual)
    b, offset, weight, ratio = targets.b, targets.offset, targets.weight, targets.ratio
    code, parameter = loss.code, loss.parameter
    sigma, theta, rule = steps.sigma, steps.theta, steps.rule
    y, v = dual.y, dual.v
    alike = offset.size == 1
    z = 0.0
    if stream.size > 0:
        z = predict(rows, stream[0], 0, point, prox, theta)
    for t in range(stream.size):
        k = stream[t]
        if t + 1 < stream.size:
            fetch(rows, stream[t + 1], y, v)
        i = 0 if alike else k
        z += offset[i]
        if rule == PROX:
            new = prox_conj(code, parameter, y[k] + sigma * z, sigma, b[k], z)
        elif rule == FREE:
            v[k] = (v[k] + sigma * z) / (1.0 + sigma)
            new = grad(code, parameter, v[k], b[k])
        else:
            new = grad(code, parameter, z, b[k])
        move = new - y[k]
        drift = 0.0
        if rule != SNAPSHOT:
            y[k] = new
            drift = weight[i] * move
        z = step_and_predict(rows, stream, t, point, prox, theta, ratio[i] * move, drift)
    settle(rows, stream.size, point, prox)
