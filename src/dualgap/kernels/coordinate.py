"""Cyclic coordinate descent on a quadratic model of the loss; what gathers columns for it.

The model in the coordinates x of a working set, H = B' diag(w) B with B the set's columns:

    m(x) = (1/2)(x - x0)'H(x - x0) + g0'(x - x0) + sum_j l1_j |x_j| + (l2_j/2) x_j^2

One coordinate at a time, exactly:  x_j <- S(H_jj x_j - g_j, l1_j)/(H_jj + l2_j), g = grad of the
smooth part. `gram_sweeps` carries g and needs H; the other two carry r = r0 + diag(w) B (x - x0)
and read the columns, g_j = b_j'r.

A visit of coordinate j lowers m by at least (H_jj + l2_j) step^2/2; the sweeps stop once the
largest (H_jj + l2_j) step^2 of a whole round is at most ``goal``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.compiled.jit import inlined, kernel
from dualgap.kernels.scalar import Floats

ACTIVE_SWEEPS = 8
"""Sweeps over the nonzero coordinates between two over all."""


@inlined
def best_coordinate(x: float, g: float, h: float, l1: float, l2: float) -> float:
    """The minimiser of (h/2)(t - x)^2 + g (t - x) + l1|t| + (l2/2)t^2 over t."""
    if h + l2 <= 0.0:  # a column of zeros, where nothing but l1 has a say
        return 0.0 if l1 > 0.0 else x
    v = h * x - g
    return (v - min(max(v, -l1), l1)) / (h + l2)


@kernel
def gram_sweeps(
    H: Floats, g: Floats, x: Floats, l1: Floats, l2: Floats, most: int, goal: float
) -> tuple[int, float]:
    """At most ``most`` sweeps; x and g are overwritten.

    Returns the sweeps, and what is held against ``goal``.
    """
    worst = 0.0
    sweeps = 0
    while sweeps < most:
        sweeps += 1
        worst = 0.0
        for j in range(x.size):
            h = H[j, j]
            move = best_coordinate(x[j], g[j], h, l1[j], l2[j]) - x[j]
            if move != 0.0:
                x[j] += move
                row = H[j]
                for k in range(x.size):
                    g[k] += move * row[k]
                worst = max(worst, (h + l2[j]) * move * move)
        if worst <= goal:
            break
    return sweeps, worst


@kernel
def step_with_signs(factor: Floats, x: Floats, step: Floats, l1: Floats) -> int:
    """Towards x + step, the minimiser of a quadratic; what would change its sign stops at 0.

    The quadratic's matrix is U'U, and ``factor`` has U in its upper triangle; x is overwritten,
    ``step`` is lost. At each stop k the rest of the way is that to the minimiser with x_k held
    at 0, too: the way less step_k/c_k times c, where c is column k of (U'U)^(-1) less the cc'/c_k
    of the stops before. Returns the stops.
    """
    size = x.size
    columns = np.empty((size, size))  # one for each stop
    at = np.empty(size, np.intp)
    for stops in range(size):
        share, k = 1.0, -1
        for j in range(size):
            if l1[j] > 0.0 and step[j] != 0.0 and x[j] * (x[j] + step[j]) <= 0.0:
                ratio = -x[j] / step[j]
                if k < 0 or ratio < share:
                    share, k = ratio, j
        if k < 0:
            for j in range(size):
                x[j] += step[j]
            return stops
        c = columns[stops]
        _column_of_inverse(factor, k, c)
        for earlier in range(stops):
            held = at[earlier]
            old = columns[earlier]
            scale = old[k] / old[held]
            for j in range(size):
                c[j] -= scale * old[j]
            c[held] = 0.0
        if not c[k] > 0.0:
            return stops
        for j in range(size):
            x[j] += share * step[j]
            step[j] *= 1.0 - share
        scale = step[k] / c[k]
        for j in range(size):
            step[j] -= scale * c[j]
        x[k] = 0.0
        step[k] = 0.0
        at[stops] = k
    return size


@inlined
def _column_of_inverse(factor: Floats, k: int, c: Floats) -> None:
    """c = (U'U)^(-1) e_k; U is in the upper triangle."""
    size = c.size
    for j in range(size):
        c[j] = 0.0
    c[k] = 1.0
    for j in range(k, size):  # U'v = e_k
        row = factor[j]
        c[j] /= row[j]
        for i in range(j + 1, size):
            c[i] -= c[j] * row[i]
    for j in range(size - 1, -1, -1):  # U c = v
        row = factor[j]
        total = c[j]
        for i in range(j + 1, size):
            total -= row[i] * c[i]
        c[j] = total / row[j]


@kernel
def dense_sweeps(
    T: Floats,
    w: Floats,
    r: Floats,
    x: Floats,
    h: Floats,
    l1: Floats,
    l2: Floats,
    same: bool,
    most: float,
    goal: float,
    visits: int,
    rounds: int,
    pause: float,
) -> tuple[int, int, float]:
    """Columns are the rows of T; x is overwritten, and r, which goes with it.

    ``same`` says that all w are. Stops after ``most`` sweeps' worth of columns, or at visit
    ``pause``: then the visits and rounds that are returned lead on from there. Returns these, with
    -1 rounds once ``goal`` is reached, and what is held against it.
    """
    n = r.size
    worst = 0.0
    # The last move enters r while the next column is read: one walk over r for both.
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
            move = best_coordinate(x[j], g, h[j], l1[j], l2[j]) - x[j]
            last, owed = column, move
            if move != 0.0:
                x[j] += move
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
def csc_sweeps(
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
    most: float,
    goal: float,
    visits: int,
    rounds: int,
    pause: float,
) -> tuple[int, int, float]:
    """As `dense_sweeps`, for compressed columns; the last one is ``constant`` if that is not 0.

    Visits are those of entries.
    """
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
            move = best_coordinate(x[j], g, h[j], l1[j], l2[j]) - x[j]
            if move != 0.0:
                x[j] += move
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


@kernel
def gather_columns(A: Any, at: Any, ours: Any, T: Floats) -> None:
    """T[j] = A[:, at[j]] for the j in ``ours``, a few rows of A at a time, which stay in cache."""
    n = A.shape[0]
    for start in range(0, n, 32):
        stop = min(start + 32, n)
        for k in range(ours.size):
            j = ours[k]
            place = at[j]
            for i in range(start, stop):
                T[j, i] = A[i, place]
