"""One run of a randomised method over a stream of rows: the only epoch.

For each row k of the stream (c = q_k/p_k; K predictions per row make y_k, v_k and z vectors):

    z  = a_k'x~ + s x~_c + offset_k,   x~ = x + theta (x - x_old)
    y+ = prox_{sigma phi*}(y_k + sigma z)      or, dual-free,
    v_k = (v_k + sigma z)/(1 + sigma),  y+ = phi'(v_k)
    x  = prox_{tau g}(x - tau (u + c (y+ - y_k) a_k)),   u += q_k (y+ - y_k) a_k

So Algorithms 5 and 7. SAGA is the dual-free method with sigma = infinity and theta = 0:
y+ = phi'(z). SVRG is SAGA with the y and the u of a snapshot, which stay as they are. Katyusha is
SVRG whose point is three (`kernels.katyusha`), SDCA the first with a sigma for each row and an x
that follows from u (`kernels.sdca`). `kernels.points` has the steps on x and u; with
the points of `kernels.blocks` several rows take one step together.
"""

from __future__ import annotations

import math
from typing import Any

from dualgap._types import Array
from dualgap.compiled.jit import borrowed, by_kind, kernel
from dualgap.kernels.points import begun, nothing, settle
from dualgap.kernels.rows import fetch, looks_ahead, predict, step_on_row
from dualgap.kernels.values import FREE, PROX, SNAPSHOT, Dual, ScalarLoss, Softmax, Steps, Targets
from dualgap.losses.compiled import grad, prox_conj, softmax_grad


@kernel
def run_epoch(
    rows: Any, stream: Any, targets: Targets, loss: Any, steps: Steps, point: Any, dual: Dual
) -> None:
    """The point and the dual point, in place, after one step for each row of the stream."""
    rows, stream, targets, steps, point, dual = borrowed(
        (rows, stream, targets, steps, point, dual)
    )
    z = nothing(point)
    for t in range(stream.size):
        if t == 0 or not looks_ahead(rows):
            z = predict(rows, stream[t], begun(point, t), point, steps.theta)
        if t + 1 < stream.size:
            fetch(rows, stream[t + 1], dual)
        step, drift = answer(loss, stream[t], z, targets, steps, dual)
        z = step_on_row(rows, stream, t, point, steps.theta, step, drift)
    settle(point, -begun(point, -stream.size))  # rounded up: a last block may be smaller


@by_kind
def answer(
    loss: Any, k: int, z: Any, targets: Targets, steps: Steps, dual: Dual
) -> tuple[Any, Any]:
    """y+ and v_k, in place, after z was predicted for row k.

    Returns (q_k/p_k)(y+ - y_k), by which x is moved, and q_k (y+ - y_k), by which u is.
    """
    raise NotImplementedError


@answer.of(ScalarLoss)
def _(
    loss: ScalarLoss, k: int, z: float, targets: Targets, steps: Steps, dual: Dual
) -> tuple[float, float]:
    i = 0 if targets.offset.size == 1 else k
    z, b, y = z + targets.offset[i], targets.b[k], dual.y[k]
    sigma = steps.sigma[0 if steps.sigma.size == 1 else k]
    if steps.rule == FREE:
        v = (dual.v[k] + sigma * z) / (1.0 + sigma)
        dual.v[k] = v
        new = grad(loss.code, loss.parameter, v, b)
    elif steps.rule == PROX and sigma < math.inf:
        new = prox_conj(loss.code, loss.parameter, y + sigma * z, sigma, b, z, steps.precision)
    else:
        new = grad(loss.code, loss.parameter, z, b)
    drift = 0.0
    if steps.rule != SNAPSHOT:
        dual.y[k] = new
        drift = targets.weight[i] * (new - y)
    return targets.ratio[i] * (new - y), drift


@answer.of(Softmax)
def _(
    loss: Softmax, k: int, z: Array, targets: Targets, steps: Steps, dual: Dual
) -> tuple[Array, Array]:
    y, v, step, drift, sigma = dual.y, dual.v, dual.step, dual.drift, steps.sigma[0]
    i = 0 if targets.weight.size == 1 else k
    shared = 0 if targets.offset.shape[0] == 1 else k
    for c in range(loss.classes):
        z[c] += targets.offset[shared, c]
        if steps.rule == FREE:
            z[c] = (v[k, c] + sigma * z[c]) / (1.0 + sigma)
            v[k, c] = z[c]
    softmax_grad(z, int(targets.b[k]), step)
    for c in range(loss.classes):
        move = step[c] - y[k, c]
        drift[c] = 0.0
        if steps.rule != SNAPSHOT:
            y[k, c] = step[c]
            drift[c] = targets.weight[i] * move
        step[c] = targets.ratio[i] * move
    return step, drift
