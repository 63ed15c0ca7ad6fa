"""Points, and what a visit of a row does to their coordinates.

The functions come first, each with a body for every kind of point that needs one: here for those of
the primal-dual methods, SAGA and SVRG; `kernels.katyusha` and `kernels.sdca` have their own. With
c = q_k/p_k times the move of y_k (``step``), q_k times it (``drift``) and
x~ = x + theta (x - x_old), for row k of the stream and the row l that follows:

    x = prox_{tau g}(x - tau (u + step a_k)),   u += drift a_k,   z = a_l'x~ + s x~_c

Dense: these are one loop over the coordinates. Sparse: a coordinate that no row has touched for m
steps went through m prox steps with one u_j, whose closed form (`regularizers.lazy`) brings it up
to date when it is touched; its four numbers lie side by side.

K predictions per row, dense: x, x_old and u have one line per class, so that the innermost loops
run along a row of the data, which stays in the cache for all classes. Sparse: the lag of a
coordinate is that of all its K values; what a lag costs (powers, tables) is paid once for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import by_kind
from dualgap.kernels.scalar import advance, powers
from dualgap.kernels.values import Prox

# ---- dense rows ----


@by_kind
def ahead(point: Any, j: int, theta: float) -> float:
    """x~_j, which the next row sees."""
    raise NotImplementedError


@by_kind
def moved(
    point: Any, j: int, a: float, theta: float, step: float, drift: float, free: bool
) -> float:
    """x~_j after the step on an entry a of a row; ``free`` of the penalty is an intercept."""
    raise NotImplementedError


@by_kind
def remember(point: Any) -> None:
    """Keep what nobody asks for before the end of a run: the last row is next."""


@by_kind
def product(point: Any, a: Array, s: float, theta: float) -> Any:
    """a'x~ + s x~_c for a row a."""
    z, d = 0.0, a.size
    for j in range(d):
        z += a[j] * ahead(point, j, theta)
    if s != 0.0:
        z += s * ahead(point, d, theta)
    return z


@by_kind
def walk(
    point: Any, a: Array, following: Array, s: float, theta: float, step: Any, drift: Any
) -> Any:
    """The step on a row a, and the product with the row that follows, in one loop."""
    z, d = 0.0, a.size
    for j in range(d):
        z += following[j] * moved(point, j, a[j], theta, step, drift, False)
    if s != 0.0:
        z += s * moved(point, d, s, theta, step, drift, True)
    return z


# ---- sparse rows ----


@by_kind
def nothing(point: Any) -> Any:
    """The prediction for an empty row, to which `reach` adds."""
    return 0.0


@by_kind
def reach(point: Any, z: Any, j: int, a: float, now: int, theta: float) -> Any:
    """z + a x~_j, once coordinate j has made those steps up to ``now`` that were put off."""
    return z + a * ahead(point, j, theta)


@by_kind
def move(point: Any, j: int, a: float, now: int, step: Any, drift: Any, free: bool) -> None:
    """The step on an entry a of a row, after which ``now`` steps were made."""
    raise NotImplementedError


@by_kind
def settle(point: Any, now: int) -> None:
    """Bring all coordinates up to date, and count steps from 0; by default none are put off."""


# ---- the primal-dual methods, SAGA and SVRG ----


@by_kind
def shrunk(prox: Prox, v: float, j: int, free: bool) -> float:
    """prox_{tau g}(v) of coordinate j; ``free`` of the penalty is an intercept."""
    if free:
        return v
    if prox.common > 0.0:
        return v * prox.common
    if prox.has_l1:
        edge = prox.tau * prox.l1[j]
        v -= min(max(v, -edge), edge)
    shrink: float = prox.shrink[j]
    return v * shrink


class Vectors(NamedTuple):
    """The point, where rows are dense; ``old`` is the x before the last step."""

    x: Array
    old: Array
    u: Array
    prox: Prox


@ahead.of(Vectors)
def _(point: Vectors, j: int, theta: float) -> float:
    x, old = point.x[j], point.old[j]
    extrapolated: float = x + theta * (x - old)
    return extrapolated


@moved.of(Vectors)
def _(
    point: Vectors, j: int, a: float, theta: float, step: float, drift: float, free: bool
) -> float:
    x: float = point.x[j]
    u = point.u[j]
    new = shrunk(point.prox, x - point.prox.tau * (u + step * a), j, free)
    point.x[j] = new
    point.u[j] = u + drift * a
    return new + theta * (new - x)


@remember.of(Vectors)
def _(point: Vectors) -> None:  # in between nobody asks for x_old: x~ is at hand
    for j in range(point.x.size):
        point.old[j] = point.x[j]


class ClassVectors(NamedTuple):
    """The same for K predictions per row: arrays (K, size), and room for K numbers."""

    x: Array
    old: Array
    u: Array
    prox: Prox
    z: Array


@product.of(ClassVectors)
def _(point: ClassVectors, a: Array, s: float, theta: float) -> Array:
    for i in range(point.z.size):
        line = Vectors(point.x[i], point.old[i], point.u[i], point.prox)
        point.z[i] = product(line, a, s, theta)
    return point.z


@walk.of(ClassVectors)
def _(
    point: ClassVectors, a: Array, following: Array, s: float, theta: float, step: Array,
    drift: Array,
) -> Array:  # fmt: skip
    for i in range(point.z.size):
        line = Vectors(point.x[i], point.old[i], point.u[i], point.prox)
        point.z[i] = walk(line, a, following, s, theta, step[i], drift[i])
    return point.z


@remember.of(ClassVectors)
def _(point: ClassVectors) -> None:
    for i in range(point.z.size):
        remember(Vectors(point.x[i], point.old[i], point.u[i], point.prox))


class Lines(NamedTuple):
    """The point, where rows are sparse; a line is (x, x_old, u, step of the last update)."""

    values: Array
    prox: Prox


class ClassLines(NamedTuple):
    """The same for K predictions per row: K times x, K times x_old, and so on."""

    values: Array
    prox: Prox
    z: Array


@by_kind
def powers_of(prox: Prox, j: int, lag: int) -> tuple[float, float]:
    """C and H of `regularizers.lazy` for all but the last of the steps that were put off."""
    if prox.C.size > 0:
        return prox.C[lag - 1], prox.H[lag - 1]
    if prox.l1[j] == 0.0:
        return powers(lag - 1, prox.tau, prox.l2[j])
    return -1.0, 0.0


@reach.of(Lines)
def _(point: Lines, z: float, j: int, a: float, now: int, theta: float) -> float:
    state, prox = point.values, point.prox
    x, old, u = state[j, 0], state[j, 1], state[j, 2]
    lag = now - int(state[j, 3])
    if lag > 0:
        if prox.common > 0.0:  # the common case, spelled out: 1.1 times as fast
            old = prox.C[lag - 1] * x - prox.H[lag - 1] * u
            x = prox.common * (old - prox.tau * u)
        else:
            c, h = powers_of(prox, j, lag)
            x, old = advance(x, u, prox.tau, prox.l1[j], prox.l2[j], lag, c, h)
        state[j, 0], state[j, 1], state[j, 3] = x, old, now
    extrapolated: float = x + theta * (x - old)
    return z + a * extrapolated


@move.of(Lines)
def _(point: Lines, j: int, a: float, now: int, step: float, drift: float, free: bool) -> None:
    state, prox = point.values, point.prox
    x, u = state[j, 0], state[j, 2]
    state[j, 0] = shrunk(prox, x - prox.tau * (u + step * a), j, free)
    state[j, 1] = x
    state[j, 2] = u + drift * a
    state[j, 3] = now


@nothing.of(ClassVectors)
@nothing.of(ClassLines)
def _(point: Any) -> Array:
    z: Array = point.z
    z[:] = 0.0
    return z


@reach.of(ClassLines)
def _(point: ClassLines, z: Array, j: int, a: float, now: int, theta: float) -> Array:
    state, prox, K = point.values, point.prox, z.size
    lag = now - int(state[j, 3 * K])
    if lag > 0:
        c, h = powers_of(prox, j, lag)
        tau, l1, l2, shrink = prox.tau, prox.l1[j], prox.l2[j], prox.shrink[j]
        for i in range(K):
            x, u = state[j, i], state[j, 2 * K + i]
            if l1 == 0.0:
                old = c * x - h * u
                x = (old - tau * u) * shrink
            else:
                x, old = advance(x, u, tau, l1, l2, lag, c, h)
            state[j, i], state[j, K + i] = x, old
        state[j, 3 * K] = now
    for i in range(K):
        x = state[j, i]
        z[i] += a * (x + theta * (x - state[j, K + i]))
    return z


@move.of(ClassLines)
def _(point: ClassLines, j: int, a: float, now: int, step: Array, drift: Array, free: bool) -> None:
    state, prox, K = point.values, point.prox, step.size
    for i in range(K):
        x, u = state[j, i], state[j, 2 * K + i]
        state[j, i] = shrunk(prox, x - prox.tau * (u + step[i] * a), j, free)
        state[j, K + i] = x
        state[j, 2 * K + i] = u + drift[i] * a
    state[j, 3 * K] = now


@settle.of(Lines)
@settle.of(ClassLines)
def settle_lines(point: Any, now: int) -> None:
    """Each line, by a row of zeros."""
    z = nothing(point)
    for line in range(point.values.shape[0]):
        j = np.uintp(line)
        reach(point, z, j, 0.0, now, 0.0)
        point.values[j, 3 * classes(point)] = 0.0


@by_kind
def classes(point: Any) -> int:
    """K."""
    return 1


@classes.of(ClassLines)
def _(point: ClassLines) -> int:
    K: int = point.z.size
    return K
