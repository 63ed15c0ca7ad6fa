"""Points, and what a visit of a row does to their coordinates.

The functions come first, each with a body for every kind of point that needs one: here for those of
the primal-dual methods, SAGA and SVRG; `kernels.katyusha` and `kernels.sdca` have their own. With
c = q_k/p_k times the move of y_k (``step``), q_k times it (``drift``) and
x~ = x + theta (x - x_old), for row k of the stream and the row l that follows:

    x = prox_{tau g}(x - tau (u + step a_k)),   u += drift a_k,   z = a_l'x~ + s x~_c

Dense: these are one loop over the coordinates. Sparse: a coordinate that no row has touched for m
steps went through m prox steps with one u_j, whose closed form (`regularizers.compiled_lazy`)
brings it up to date when it is touched; its four numbers lie side by side.

K predictions per row, dense: x, x_old and u have one line per class, so that the innermost loops
run along a row of the data, which stays in the cache for all classes. Sparse: the lag of a
coordinate is that of all its K values; what a lag costs (powers, tables) is paid once for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import by_kind
from dualgap.kernels.values import Prox
from dualgap.regularizers.compiled_lazy import one_side, powers, prox_step, skip

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
def begun(point: Any, t: int) -> int:
    """The steps that were made when t rows have been visited."""
    return t


@by_kind
def settle(point: Any, now: int) -> None:
    """Bring all coordinates up to date, and count steps from 0; by default none are put off."""


# ---- the primal-dual methods, SAGA and SVRG ----


@by_kind
def strengths(prox: Prox, j: int) -> tuple[float, float]:
    """The l1 of coordinate j, and what its prox multiplies by; numbers, where all share them."""
    if prox.common > 0.0:
        return prox.common_l1, prox.common
    return prox.l1[j], prox.shrink[j]


@by_kind
def shrunk(prox: Prox, v: float, j: int, free: bool) -> float:
    """prox_{tau g}(v) of coordinate j; ``free`` of the penalty is an intercept."""
    if free:
        return v
    l1, shrink = strengths(prox, j)
    if prox.has_l1:
        edge = prox.tau * l1
        v -= min(max(v, -edge), edge)
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
    """The same for K predictions per row: a line is K times x, K times x_old, and so on."""

    values: Array
    prox: Prox
    z: Array


@by_kind
def classes(point: Any) -> int:
    """K."""
    return 1


@classes.of(ClassLines)
def _(point: ClassLines) -> int:
    K: int = point.z.size
    return K


@by_kind
def part(point: Any, several: Any, i: int) -> float:
    """What belongs to class i; a number, where there is one prediction."""
    number: float = several
    return number


@part.of(ClassLines)
def _(point: ClassLines, several: Array, i: int) -> float:
    number: float = several[i]
    return number


@by_kind
def added(point: Any, z: Any, i: int, value: float) -> Any:
    """Predictions z, after a value was added to the one of class i."""
    return z + value


@added.of(ClassLines)
def _(point: ClassLines, z: Array, i: int, value: float) -> Array:
    z[i] += value
    return z


@nothing.of(ClassVectors)
@nothing.of(ClassLines)
def _(point: Any) -> Array:
    z: Array = point.z
    z[:] = 0.0
    return z


@by_kind
def powers_of(prox: Prox, j: int, lag: int) -> tuple[float, float]:
    """C and H for all but the last of the steps that were put off; C = -1 if nobody knows yet."""
    if prox.C.size > 0:
        return prox.C[lag - 1], prox.H[lag - 1]
    if prox.l1[j] == 0.0:
        return powers(lag - 1, prox.tau, prox.l2[j])
    return -1.0, 0.0


@reach.of(Lines)
@reach.of(ClassLines)
def _(point: Any, z: Any, j: int, a: float, now: int, theta: float) -> Any:
    state, prox, K = point.values, point.prox, classes(point)
    lag, l1, shrink, c, h = now - int(state[j, 3 * K]), 0.0, 0.0, 0.0, 0.0
    simple = prox.common > 0.0 and not prox.has_l1  # the common case: 1.3 times as fast alone
    if lag > 0:
        state[j, 3 * K] = now
        if simple:
            c, h = prox.C[lag - 1], prox.H[lag - 1]
        else:
            l1, shrink = strengths(prox, j)
            c, h = powers_of(prox, j, lag)
    for i in range(K):
        x, old = state[j, i], state[j, K + i]
        if lag > 0:
            u = state[j, 2 * K + i]
            if simple:
                old = c * x - h * u
                x = prox.common * (old - prox.tau * u)
            else:
                side, v = one_side(x, u, l1)
                old = c * x - h * v
                if c < 0.0 or not (side * v <= 0.0 or side * old > 0.0):
                    old = skip(x, u, prox.tau, l1, prox.l2[j], lag - 1)
                x = prox_step(old, u, prox.tau, l1, shrink)
            state[j, i], state[j, K + i] = x, old
        z = added(point, z, i, a * (x + theta * (x - old)))
    return z


@move.of(Lines)
@move.of(ClassLines)
def _(point: Any, j: int, a: float, now: int, step: Any, drift: Any, free: bool) -> None:
    state, prox, K = point.values, point.prox, classes(point)
    for i in range(K):
        x, u = state[j, i], state[j, 2 * K + i]
        slope = u + part(point, step, i) * a
        state[j, i] = shrunk(prox, x - prox.tau * slope, j, free)
        state[j, K + i] = x
        state[j, 2 * K + i] = u + part(point, drift, i) * a
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
