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
While zeta stays on one side of zero (or l1 = 0) a step is linear in (zeta, eta, total), with
v = u + l1 sign(zeta):

    zeta_m  = C zeta - H v
    eta_m   = E eta + X x + Z zeta - U v
    total_m = K total + e eta + f x + g zeta - h v

For m = 1:  C = 1/(1 + alpha l2), H = alpha C;  E = t3, X = t2, Z = t1 C, U = t1 H;
            K = keep, (e, f, g, h) = (E, X, Z, U).
First so many steps and then others (with ' and no mark), by putting the formulas into each other:

    C C'       H + C H'
    E E'       X + E X'            E Z' + Z C'           U + E U' + Z H'
    K K'       K e' + e E'         f + K f' + e X'       K g' + e Z' + g C'
               h + K h' + e U' + g H'

Every number is >= 0 and no two are subtracted: nothing is lost to rounding, and l2 = 0, t3 = 0
or C near t3, where formulas with geometric series divide by zero, are nothing special. `tables`
has the maps of 1, 2, ..., 15 times 1, 16, 256, ... steps; any m is then a few leaps, one for each
of its digits to the base 16 (base 2 where many coordinates have an l2 of their own, to save
memory). zeta is monotone on the way to zero, so if it has not crossed zero after m steps it never
did; where it crosses, the leap ends one step short of it (`regularizers.lazy` has the count), a
plain step crosses, and there zeta either stays at zero (v = 0 above) or goes on for ever on the
other side. A pass costs O((nnz + d) log n).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import kernel, scalar
from dualgap.kernels.points import ahead, move, moved, reach, settle, settle_lines, shrunk
from dualgap.kernels.values import Prox
from dualgap.regularizers.compiled_lazy import prox_step, stretch

FEW = 256
"""Up to so many different l2, tables are wide."""


def tables(l2: Array, steps: int, alpha: float, t1: float, t2: float, keep: float) -> Array:
    """(C, H, E, X, Z, U, K, e, f, g, h) for each l2, each digit of up to ``steps``, its values."""
    base = 16 if l2.size <= FEW else 2
    digits = 1
    while base**digits <= steps:
        digits += 1
    maps = np.zeros((l2.size, digits, base, 11))
    tabulate(l2, alpha, t1, t2, keep, maps)
    return maps


@scalar
def compose(first: Array, then: Array, both: Array) -> None:
    """The map of some steps and then others."""
    c, h, e, x, z, u, k = first[0], first[1], first[2], first[3], first[4], first[5], first[6]
    both[0] = then[0] * c
    both[1] = then[1] + then[0] * h
    both[2] = then[2] * e
    both[3] = then[3] + then[2] * x
    both[4] = then[2] * z + then[4] * c
    both[5] = then[5] + then[2] * u + then[4] * h
    both[6] = then[6] * k
    both[7] = then[6] * first[7] + then[7] * e
    both[8] = then[8] + then[6] * first[8] + then[7] * x
    both[9] = then[6] * first[9] + then[7] * z + then[9] * c
    both[10] = then[10] + then[6] * first[10] + then[7] * u + then[9] * h


@kernel
def tabulate(l2: Array, alpha: float, t1: float, t2: float, keep: float, maps: Array) -> None:
    """Fill in the tables."""
    digits, base = maps.shape[1], maps.shape[2]
    for i in range(l2.size):
        for digit in range(digits):
            level = maps[i, digit]
            level[0, 0] = level[0, 2] = level[0, 6] = 1.0  # no steps at all
            if digit == 0:
                C = 1.0 / (1.0 + alpha * l2[i])
                one = level[1]
                one[0], one[1] = C, alpha * C
                one[2] = one[7] = 1.0 - t1 - t2
                one[3] = one[8] = t2
                one[4] = one[9] = t1 * C
                one[5] = one[10] = t1 * alpha * C
                one[6] = keep
            else:
                below = maps[i, digit - 1]
                compose(below[base - 1], below[1], level[1])
            for value in range(2, base):
                compose(level[value - 1], level[1], level[value])


@scalar
def leap(
    zeta: float, eta: float, total: float, x: float, v: float, m: int, maps: Array
) -> tuple[float, float, float]:
    """(zeta, eta, total) after m steps on one side of zero; ``maps`` are those of its l2."""
    mask = maps.shape[1] - 1
    shift = 4 if mask == 15 else 1
    digit = 0
    while m > 0:
        w = maps[digit, m & mask]
        total = w[6] * total + (w[7] * eta + w[8] * x + w[9] * zeta - w[10] * v)
        eta = w[2] * eta + (w[3] * x + w[4] * zeta - w[5] * v)
        zeta = w[0] * zeta - w[1] * v
        m >>= shift
        digit += 1
    return zeta, eta, total


class Mix(NamedTuple):
    """The numbers of Katyusha."""

    alpha: float
    t1: float
    t2: float
    keep: float


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
    alpha, t1, t2, keep = mix.alpha, mix.t1, mix.t2, mix.keep
    while m > 0:
        few, v = stretch(zeta, u, alpha, l1, l2, m)
        zeta, eta, total = leap(zeta, eta, total, x, v, few, maps)
        m -= few
        if m > 0:
            zeta = prox_step(zeta, u, alpha, l1, 1.0 / (1.0 + alpha * l2))
            eta = t1 * zeta + t2 * x + (1.0 - t1 - t2) * eta
            total = keep * total + eta
            m -= 1
    line[0], line[1], line[2] = zeta, eta, total


@ahead.of(Coupled)
def _(point: Coupled, j: int, theta: float) -> float:
    t1, t2 = point.mix.t1, point.mix.t2
    xi: float = t1 * point.zeta[j] + t2 * point.x[j] + (1.0 - t1 - t2) * point.eta[j]
    return xi


@moved.of(Coupled)
def _(
    point: Coupled, j: int, a: float, theta: float, step: float, drift: float, free: bool
) -> float:
    t1, t2, keep = point.mix.t1, point.mix.t2, point.mix.keep
    t3 = 1.0 - t1 - t2
    slope = point.u[j] + step * a
    zeta = shrunk(point.prox, point.zeta[j] - point.mix.alpha * slope, j, free)
    pull: float = t1 * zeta + t2 * point.x[j]
    eta: float = pull + t3 * point.eta[j]
    point.zeta[j] = zeta
    point.eta[j] = eta
    point.total[j] = keep * point.total[j] + eta
    return pull + t3 * eta


@reach.of(CoupledLines)
def _(point: CoupledLines, z: float, j: int, a: float, now: int, theta: float) -> float:
    line, prox, t1, t2 = point.values[j], point.prox, point.mix.t1, point.mix.t2
    lag = now - int(line[3])
    if lag > 0:
        catch_up(line, lag, point.maps[int(line[6])], prox.l1[j], prox.l2[j], point.mix)
        line[3] = now
    xi: float = t1 * line[0] + t2 * line[4] + (1.0 - t1 - t2) * line[1]
    return z + a * xi


@move.of(CoupledLines)
def _(
    point: CoupledLines, j: int, a: float, now: int, step: float, drift: float, free: bool
) -> None:
    line, t1, t2 = point.values[j], point.mix.t1, point.mix.t2
    slope = line[5] + step * a
    line[0] = shrunk(point.prox, line[0] - point.mix.alpha * slope, j, free)
    line[1] = t1 * line[0] + t2 * line[4] + (1.0 - t1 - t2) * line[1]
    line[2] = point.mix.keep * line[2] + line[1]
    line[3] = now


settle.of(CoupledLines)(settle_lines)
