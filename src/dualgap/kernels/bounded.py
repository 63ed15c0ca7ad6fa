"""Cyclic coordinate descent between bounds: `coordinate`, with x_j kept in [low_j, high_j].

One coordinate at a time, exactly:
x_j <- clip(S(H_jj x_j - g_j, l1_j)/(H_jj + l2_j), low_j, high_j). The parabola's minimiser is
clipped, because m is convex in x_j. Kernels of their own: those without bounds stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.compiled.jit import inlined, kernel
from dualgap.kernels.coordinate import ACTIVE_SWEEPS
from dualgap.kernels.scalar import Floats


@inlined
def best_between(
    x: float, g: float, h: float, l1: float, l2: float, low: float, high: float
) -> float:
    """The minimiser of (h/2)(t - x)^2 + g (t - x) + l1|t| + (l2/2)t^2 over low <= t <= high."""
    if h + l2 <= 0.0:  # a column of zeros, where nothing but l1 has a say
        return min(max(0.0, low), high) if l1 > 0.0 else x
    v = h * x - g
    return min(max((v - min(max(v, -l1), l1)) / (h + l2), low), high)


@kernel
def bounded_gram_sweeps(
    H: Floats,
    g: Floats,
    x: Floats,
    l1: Floats,
    l2: Floats,
    low: Floats,
    high: Floats,
    most: int,
    goal: float,
) -> tuple[int, float]:
    """As `coordinate.gram_sweeps`."""
    worst = 0.0
    sweeps = 0
    while sweeps < most:
        sweeps += 1
        worst = 0.0
        for j in range(x.size):
            h = H[j, j]
            new = best_between(x[j], g[j], h, l1[j], l2[j], low[j], high[j])
            move = new - x[j]
            if move != 0.0:
                x[j] = new  # and not x + move, which may be beyond the end by a rounding
                row = H[j]
                for k in range(x.size):
                    g[k] += move * row[k]
                worst = max(worst, (h + l2[j]) * move * move)
        if worst <= goal:
            break
    return sweeps, worst


@kernel
def bounded_dense_sweeps(
    T: Floats,
    w: Floats,
    r: Floats,
    x: Floats,
    h: Floats,
    l1: Floats,
    l2: Floats,
    low: Floats,
    high: Floats,
    same: bool,
    most: float,
    goal: float,
    visits: int,
    rounds: int,
    pause: float,
) -> tuple[int, int, float]:
    """As `coordinate.dense_sweeps`."""
    n = r.size
    worst = 0.0
    last, owed = T[0], 0.0
    while visits < most * x.size and visits < pause:
        everywhere = rounds % (ACTIVE_SWEEPS + 1) == 0
        rounds += 1
        worst = 0.0
        for j in range(x.size):
            if x[j] == 0.0 and not everywhere:
                continue
            visits += 1
            column = T[j]
            g = 0.0
            if owed == 0.0:
                for i in range(n):
                    g += column[i] * r[i]
            elif same:
                step = owed * w[0]
                for i in range(n):
                    v = r[i] + step * last[i]
                    r[i] = v
                    g += column[i] * v
            else:
                for i in range(n):
                    v = r[i] + owed * w[i] * last[i]
                    r[i] = v
                    g += column[i] * v
            new = best_between(x[j], g, h[j], l1[j], l2[j], low[j], high[j])
            move = new - x[j]
            last, owed = column, move
            if move != 0.0:
                x[j] = new
                worst = max(worst, (h[j] + l2[j]) * move * move)
        if worst <= goal:
            if everywhere:
                rounds = -1
                break
            rounds = 0
    for i in range(n):
        r[i] += owed * w[i] * last[i]
    return visits, rounds, worst


@kernel
def bounded_csc_sweeps(
    data: Any,
    indices: Any,
    indptr: Any,
    constant: float,
    w: Floats,
    r: Floats,
    x: Floats,
    h: Floats,
    l1: Floats,
    l2: Floats,
    low: Floats,
    high: Floats,
    most: float,
    goal: float,
    visits: int,
    rounds: int,
    pause: float,
) -> tuple[int, int, float]:
    """As `coordinate.csc_sweeps`."""
    n = r.size
    sparse = indptr.size - 1
    budget = most * (indptr[sparse] + (n if constant != 0.0 else 0))
    worst = 0.0
    while visits <= budget and visits < pause:
        everywhere = rounds % (ACTIVE_SWEEPS + 1) == 0
        rounds += 1
        worst = 0.0
        for j in range(x.size):
            if x[j] == 0.0 and not everywhere:
                continue
            g = 0.0
            if j < sparse:
                start, stop = indptr[j], indptr[j + 1]
                visits += stop - start
                for p in range(start, stop):
                    g += data[p] * r[np.uintp(indices[p])]
            else:
                visits += n
                for i in range(n):
                    g += r[i]
                g *= constant
            new = best_between(x[j], g, h[j], l1[j], l2[j], low[j], high[j])
            move = new - x[j]
            if move != 0.0:
                x[j] = new
                if j < sparse:
                    for p in range(indptr[j], indptr[j + 1]):
                        k = np.uintp(indices[p])
                        r[k] += move * w[k] * data[p]
                else:
                    for i in range(n):
                        r[i] += move * constant * w[i]
                worst = max(worst, (h[j] + l2[j]) * move * move)
        if worst <= goal:
            if everywhere:
                rounds = -1
                break
            rounds = 0
    return visits, rounds, worst
