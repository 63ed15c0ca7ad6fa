"""The points of Katyusha, and what a visit of a row does to their coordinates.

The snapshot x, y = phi'(A x) and u = A'Qy stay as they are; t3 = 1 - t1 - t2. For each row k:

    xi    = t1 zeta + t2 x + t3 eta,   z = a_k'xi + s xi_c + offset_k
    zeta  = prox_{alpha g}(zeta - alpha (u + (q_k/p_k)(phi'(z) - y_k) a_k))
    eta   = t1 zeta + t2 x + t3 eta                    (zeta the new one)
    total = keep total + eta

The third line is the paper's Option II, eta = xi + t1 (zeta_new - zeta_old), without the
subtraction. ``total`` is what the next snapshot is the mean of: the weights w^j, w = 1 +
alpha lambda, divided by the last of them, are keep^(N-1-j) with keep = 1/w <= 1. They cannot
overflow, and the sum of them all is 1 + keep + ... + keep^(N-1).

Sparse: a coordinate that no row has touched for m steps has seen one slope u in all of them.
While zeta stays on one side of zero, v = u + l1 sign(zeta), a step is linear:

    zeta     (  C      0   0     0    -H    )  zeta
    eta    = (  t1 C   t3  0     t2   -t1 H )  eta      C = 1/(1 + alpha l2),  H = alpha C
    total    (  t1 C   t3  keep  t2   -t1 H )  total
                                               x
                                               v

and so are several. `tables` has the maps of 1, 2, ..., 15 times 1, 16, 256, ... steps; any m is
then a few leaps, one for each of its digits to the base 16 (base 2 where many coordinates have an
l2 of their own, to save memory). In no column do signs differ, so that no two numbers are
subtracted where maps follow each other: nothing is lost to rounding, and l2 = 0, t3 = 0 or C near
t3, where formulas with geometric series divide by zero, are nothing special. `compiled_lazy` of
the regularizers says where zero is crossed, by a plain step. A pass costs O((nnz + d) log n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import by_kind, kernel, scalar
from dualgap.kernels.points import ahead, move, moved, reach, settle, settle_lines, shrunk
from dualgap.kernels.values import Prox
from dualgap.regularizers.compiled_lazy import prox_step, stretch

FEW = 256
"""Up to so many different l2, tables are wide."""


def tables(l2: Array, steps: int, alpha: float, t1: float, t2: float, keep: float) -> Array:
    """The maps of each l2, each digit of up to ``steps``, each of its values from 1 on."""
    values = 15 if l2.size <= FEW else 1
    digits = 1
    while (values + 1) ** digits <= steps:
        digits += 1
    maps, C, t3 = np.zeros((l2.size, digits, values, 3, 5)), 1.0 / (1.0 + alpha * l2), 1.0 - t1 - t2
    one, none = maps[:, 0, 0], np.zeros_like(C)
    one[:, 0] = np.stack((C, none, none, none, -alpha * C), axis=1)
    one[:, 1:] = t1 * one[:, :1] + np.array((0.0, t3, 0.0, t2, 0.0))
    one[:, 2, 2] = keep
    tabulate(maps)
    return maps


@kernel
def tabulate(maps: Array) -> None:
    """Fill in the tables, of which the maps of one step are known."""
    digits, values = maps.shape[1], maps.shape[2]
    for level in maps:
        for digit in range(digits):
            if digit > 0:
                compose(level[digit - 1, values - 1], level[digit - 1, 0], level[digit, 0])
            for value in range(1, values):
                compose(level[digit, value - 1], level[digit, 0], level[digit, value])


@scalar
def compose(first: Array, then: Array, both: Array) -> None:
    """The map of some steps and then others."""
    for i in range(3):
        for j in range(5):
            total = then[i, j] if j > 2 else 0.0
            for k in range(3):
                total += then[i, k] * first[k, j]
            both[i, j] = total


@scalar
def leap(
    zeta: float, eta: float, total: float, x: float, v: float, m: int, maps: Array
) -> tuple[float, float, float]:
    """(zeta, eta, total) after m steps on one side of zero; ``maps`` are those of its l2."""
    values = maps.shape[1]
    shift = 4 if values == 15 else 1
    digit = 0
    while m > 0:
        value = m & values
        if value > 0:
            w = maps[digit, value - 1]
            total = w[2, 0] * zeta + w[2, 1] * eta + w[2, 2] * total + w[2, 3] * x + w[2, 4] * v
            eta = w[1, 0] * zeta + w[1, 1] * eta + w[1, 3] * x + w[1, 4] * v
            zeta = w[0, 0] * zeta + w[0, 4] * v
        m >>= shift
        digit += 1
    return zeta, eta, total


class Mix(NamedTuple):
    """The numbers of Katyusha."""

    alpha: float
    t1: float
    t2: float
    keep: float


@by_kind
def mixed(mix: Mix, zeta: float, x: float, eta: float) -> float:
    """t1 zeta + t2 x + t3 eta."""
    xi: float = mix.t1 * zeta + mix.t2 * x + (1.0 - mix.t1 - mix.t2) * eta
    return xi


class Coupled(NamedTuple):
    """The points, where rows are dense."""

    x: Array
    zeta: Array
    eta: Array
    total: Array
    u: Array
    prox: Prox
    mix: Mix


class CoupledLines(NamedTuple):
    """The points, where rows are sparse."""

    values: Array
    """(zeta, eta, total, step of the last update, x, u, number of its l2), each a line."""
    maps: Array
    """`tables` of each l2."""
    prox: Prox
    mix: Mix


@scalar
def catch_up(line: Array, m: int, maps: Array, l1: float, l2: float, mix: Mix) -> None:
    """Zeta, eta and total of a line after m steps with constant u; ``maps`` are those of its l2."""
    zeta, eta, total, x, u = line[0], line[1], line[2], line[4], line[5]
    alpha = mix.alpha
    while m > 0:
        few, v = stretch(zeta, u, alpha, l1, l2, m)
        zeta, eta, total = leap(zeta, eta, total, x, v, few, maps)
        m -= few
        if m > 0:
            zeta = prox_step(zeta, u, alpha, l1, 1.0 / (1.0 + alpha * l2))
            eta = mixed(mix, zeta, x, eta)
            total = mix.keep * total + eta
            m -= 1
    line[0], line[1], line[2] = zeta, eta, total


@ahead.of(Coupled)
def _(point: Coupled, j: int, theta: float) -> float:
    return mixed(point.mix, point.zeta[j], point.x[j], point.eta[j])


@moved.of(Coupled)
def _(
    point: Coupled, j: int, a: float, theta: float, step: float, drift: float, free: bool
) -> float:
    mix, slope, x = point.mix, point.u[j] + step * a, point.x[j]
    zeta = shrunk(point.prox, point.zeta[j] - mix.alpha * slope, j, free)
    eta = mixed(mix, zeta, x, point.eta[j])
    point.zeta[j], point.eta[j] = zeta, eta
    point.total[j] = mix.keep * point.total[j] + eta
    return mixed(mix, zeta, x, eta)


@reach.of(CoupledLines)
def _(point: CoupledLines, z: float, j: int, a: float, now: int, theta: float) -> float:
    line, prox = point.values[j], point.prox
    lag = now - int(line[3])
    if lag > 0:
        catch_up(line, lag, point.maps[int(line[6])], prox.l1[j], prox.l2[j], point.mix)
        line[3] = now
    return z + a * mixed(point.mix, line[0], line[4], line[1])


@move.of(CoupledLines)
def _(
    point: CoupledLines, j: int, a: float, now: int, step: float, drift: float, free: bool
) -> None:
    line, mix = point.values[j], point.mix
    slope = line[5] + step * a
    line[0] = shrunk(point.prox, line[0] - mix.alpha * slope, j, free)
    line[1] = mixed(mix, line[0], line[4], line[1])
    line[2] = mix.keep * line[2] + line[1]
    line[3] = now


settle.of(CoupledLines)(settle_lines)
