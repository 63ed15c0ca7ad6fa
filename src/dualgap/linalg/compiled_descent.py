"""Cyclic coordinate descent on a quadratic model of the loss; what gathers columns for it.

The model in the coordinates x of a working set, H = B' diag(w) B with B the set's columns:

    m(x) = (1/2)(x - x0)'H(x - x0) + g0'(x - x0) + sum_j l1_j |x_j| + (l2_j/2) x_j^2

One coordinate at a time, exactly:
x_j <- clip(S(H_jj x_j - g_j, l1_j)/(H_jj + l2_j), low_j, high_j), g = grad of the smooth part; the
parabola's minimiser is clipped, because m is convex in x_j. A Gram model carries g and needs H; the
other two carry r = r0 + diag(w) B (x - x0) and read the columns, g_j = b_j'r. The last move enters
g or r while the next column is read: of dense columns that is one walk over r for both.

A visit of coordinate j lowers m by at least (H_jj + l2_j) step^2/2; the sweeps stop once the
largest (H_jj + l2_j) step^2 of a whole round is at most ``goal``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.compiled.jit import borrowed, by_kind, inlined, kernel
from dualgap.kernels.values import Sparse

NONZERO_ROUNDS = 8
"""Rounds over the nonzero coordinates between two over all."""
EVERYWHERE = np.zeros((2, 0))
"""The ends of coordinates that have none."""


class Penalty(NamedTuple):
    """What is added to the model."""

    l1: Array
    l2: Array
    ends: Array
    """Between which x stays: low and high, a line each; empty where there are none."""


class GramModel(NamedTuple):
    """The model by its matrix."""

    H: Array
    g: Array


class DenseModel(NamedTuple):
    """The model by columns of B that lie one after the other."""

    columns: Array
    """B', contiguous rows."""
    w: Array
    """A single entry if all are the same."""
    r: Array
    h: Array
    """The diagonal of H."""


class SparseModel(NamedTuple):
    """The model by compressed columns."""

    columns: Sparse
    w: Array
    r: Array
    h: Array


@inlined
def best_coordinate(x: float, g: float, h: float, l1: float, l2: float) -> float:
    """The minimiser of (h/2)(t - x)^2 + g (t - x) + l1|t| + (l2/2)t^2 over t."""
    if h + l2 <= 0.0:  # a column of zeros, where nothing but l1 has a say
        return 0.0 if l1 > 0.0 else x
    v = h * x - g
    return (v - min(max(v, -l1), l1)) / (h + l2)


@kernel
def sweeps(
    model: Any, x: Array, penalty: Penalty, stop: float, goal: float, between: int,
    visits: int, rounds: int,
) -> tuple[int, int, float]:  # fmt: skip
    """Rounds over all coordinates, with so many in between over those that are not 0.

    No round begins once there were ``stop`` visits; x is overwritten, and the slopes of the model.
    Visits and rounds lead on from an earlier call. Returns them, with -1 rounds once ``goal`` is
    reached, and what is held against it.
    """
    model, x, penalty = borrowed((model, x, penalty))
    l1, l2, ends = penalty.l1, penalty.l2, penalty.ends
    worst, last, owed = 0.0, 0, 0.0
    while visits < stop:
        everywhere = rounds % (between + 1) == 0
        rounds += 1
        worst = 0.0
        for j in range(x.size):
            if x[j] == 0.0 and not everywhere:
                continue
            visits += size(model, j)
            g, h = slope(model, last, owed, j), curvature(model, j)
            new = best_coordinate(x[j], g, h, l1[j], l2[j])
            if ends.size > 0:
                new = min(max(new, ends[0, j]), ends[1, j])
            last, owed = j, new - x[j]
            if owed != 0.0:  # x + owed may be beyond an end by a rounding
                x[j] = new if ends.size > 0 else x[j] + owed
                worst = max(worst, (h + l2[j]) * owed * owed)
        if worst <= goal:
            if everywhere:
                rounds = -1
                break
            rounds = 0
    if owed != 0.0:
        enter(model, last, owed)
    return visits, rounds, worst


@kernel
def gram_sweeps(
    H: Array, g: Array, x: Array, l1: Array, l2: Array, ends: Array, most: int, goal: float
) -> tuple[int, float]:
    """At most ``most`` sweeps by a Gram matrix; x and g are overwritten.

    Returns the sweeps, and what is held against ``goal``. (Arrays and no values: the call from
    Python would take longer than a sweep over a small matrix.)
    """
    stop = float(most * x.size)
    visits, _, worst = sweeps(GramModel(H, g), x, Penalty(l1, l2, ends), stop, goal, 0, 0, 0)
    return visits // max(1, x.size), worst


@by_kind
def size(model: Any, j: int) -> int:
    """What a visit of coordinate j counts for."""
    return 1


@by_kind
def curvature(model: Any, j: int) -> float:
    """H_jj."""
    h: float = model.h[j]
    return h


@by_kind
def enter(model: Any, j: int, move: float) -> None:
    """Let g or r know that x_j has moved."""
    raise NotImplementedError


@by_kind
def slope(model: Any, last: int, owed: float, j: int) -> float:
    """g_j, after the coordinate before has entered with what it moved."""
    raise NotImplementedError


@curvature.of(GramModel)
def _(model: GramModel, j: int) -> float:
    h: float = model.H[j, j]
    return h


@enter.of(GramModel)
def _(model: GramModel, j: int, move: float) -> None:
    row = model.H[j]
    for k in range(row.size):
        model.g[k] += move * row[k]


@slope.of(GramModel)
def _(model: GramModel, last: int, owed: float, j: int) -> float:
    if owed != 0.0:
        enter(model, last, owed)
    g: float = model.g[j]
    return g


@enter.of(DenseModel)
def _(model: DenseModel, j: int, move: float) -> None:
    column, w, r = model.columns[j], model.w, model.r
    for i in range(r.size):
        r[i] += move * w[i if w.size > 1 else 0] * column[i]


@slope.of(DenseModel)
def _(model: DenseModel, last: int, owed: float, j: int) -> float:
    column, before, w, r = model.columns[j], model.columns[last], model.w, model.r
    same, common = w.size == 1, owed * w[0]
    g = 0.0
    if owed == 0.0:
        for i in range(r.size):
            g += column[i] * r[i]
        return g
    for i in range(r.size):
        v = r[i] + (common if same else owed * w[i]) * before[i]
        r[i] = v
        g += column[i] * v
    return g


@size.of(SparseModel)
def _(model: SparseModel, j: int) -> int:
    entries: int = model.r.size
    if j < model.columns.columns:
        entries = model.columns.indptr[j + 1] - model.columns.indptr[j]
    return entries


@enter.of(SparseModel)
def _(model: SparseModel, j: int, move: float) -> None:
    columns, w, r = model.columns, model.w, model.r
    if j < columns.columns:
        for p in range(columns.indptr[j], columns.indptr[j + 1]):
            k = np.uintp(columns.indices[p])  # unsigned: no negative index to look out for
            r[k] += move * w[k] * columns.data[p]
    else:
        for i in range(r.size):
            r[i] += move * columns.constant * w[i]


@slope.of(SparseModel)
def _(model: SparseModel, last: int, owed: float, j: int) -> float:
    if owed != 0.0:
        enter(model, last, owed)
    columns, r, g = model.columns, model.r, 0.0
    if j < columns.columns:
        for p in range(columns.indptr[j], columns.indptr[j + 1]):
            g += columns.data[p] * r[np.uintp(columns.indices[p])]
        return g
    for i in range(r.size):
        g += r[i]
    return g * columns.constant


@kernel
def step_with_signs(factor: Array, x: Array, step: Array, l1: Array) -> int:
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
def _column_of_inverse(factor: Array, k: int, c: Array) -> None:
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
def gather_columns(A: Any, at: Any, ours: Any, T: Array) -> None:
    """T[j] = A[:, at[j]] for the j in ``ours``, a few rows of A at a time, which stay in cache."""
    n = A.shape[0]
    for start in range(0, n, 32):
        stop = min(start + 32, n)
        for k in range(ours.size):
            j = ours[k]
            place = at[j]
            for i in range(start, stop):
                T[j, i] = A[i, place]
