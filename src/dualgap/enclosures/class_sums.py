"""Sums over rows, class by class, brought to 0 in real arithmetic: multinomial with an intercept.

A dual point is y_i = p_i - e_{b_i} with p_i in the simplex. Of the floats y_ik only those with
k != b_i count, each >= 0; the own entry is the *real* number that makes the row sum to 0. With an
intercept, r_k = sum_i w_i y_ik has to be 0 for every class k; floats leave a little.

LEMMA. Let w_i > 0 be the weights of some rows, R+ = sum_k max(r_k, 0) and, for every class k with
r_k > 0, let I_k be rows and theta_ki >= 0 with sum_{i in I_k} theta_ki = 1 and
theta_ki r_k <= w_i p_ik. Then

    p'_i = p_i + sum_{k: r_k > 0, i in I_k} (theta_ki r_k/w_i) (v - e_k),
    v = sum_{l: r_l < 0} (-r_l/R+) e_l,

is in the simplex for every i, and sum_i w_i y'_i = 0.

Proof. Rows sum to 0, so that sum_k r_k = 0 and sum_{l: r_l < 0} (-r_l) = R+: a step keeps the sum
of its row. Only entries k with r_k > 0 become smaller, each by theta_ki r_k/w_i <= p_ik, and
nothing else takes from them. Class k with r_k > 0 changes by -sum_i w_i theta_ki r_k/w_i = -r_k,
class l with r_l < 0 by sum_k r_k (-r_l)/R+ = -r_l. QED

Since r_k (-r_l)/R+ <= min(r_k, -r_l), y_ik moves by at most theta_ki r_k/w_i, and y_il by at most
the sum of theta_ki min(r_k, -r_l)/w_i over the k that row i serves. A class needs room only in its
own column, sum_i w_i p_ik >= r_k, and has it in one row as a rule: that with the largest w_i p_ik.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import NamedTuple

import numpy as np

from dualgap._types import Array, Places
from dualgap.enclosures.directed import down, gam, sum_down, up
from dualgap.linalg.double import two_product

LEAST = 2.0**-900
"""Products below this are not split exactly; they are left out, and counted as an error."""


class ClassMoves(NamedTuple):
    """Rows that move, and how far."""

    rows: Places
    amounts: Array
    """One row each: at least |y'_ik - y_ik|, for every class k."""


def residual_sums(w: Array | None, y: Array, classes: Places) -> tuple[Array, Array]:
    """r_k = sum_i w_i y_ik for every class, between two floats; both are 0 where r_k is.

    Products are split into two floats without error, and `math.fsum` rounds their sum once.

    Parameters
    ----------
    w : array of shape (n,), optional
        Weights >= 0; 1 by default.
    y : array of shape (n, K)
        Own entries do not matter.
    classes : int array of shape (n,)
        b.
    """
    others = _others(y, classes)
    parts, lost = [others], 0
    if w is not None:
        p, e = two_product(np.broadcast_to(w[:, None], others.shape), others)
        missing = (np.abs(p) < LEAST) & (others != 0.0) & (w[:, None] != 0.0)
        lost = int(missing.sum())
        parts = [np.where(missing, 0.0, p), np.where(missing, 0.0, e)]
    low, high = np.zeros(y.shape[1]), np.zeros(y.shape[1])
    for k in range(y.shape[1]):
        own = classes == k
        terms = chain(*(chain(a[:, k].tolist(), (-a[own]).ravel().tolist()) for a in parts))
        value = math.fsum(terms)
        if value or lost:
            blur = up(lost * (2.0 * LEAST)) if lost else 0.0
            low[k], high[k] = down(down(value) - blur), up(up(value) + blur)
            if not lost:  # rounded once: one step suffices, and keeps the sign
                low[k], high[k] = down(value), up(value)
    return low, high


def class_moves(
    w: Array | None, y: Array, classes: Places, low: Array, high: Array
) -> ClassMoves | None:
    """The step of the lemma for any r with low <= r <= high; None where there is no room.

    Every row that serves class k takes the share theta_ki = room_ki/(sum of the room of all that
    serve it), room_ki <= w_i p_ik. The other parameters are those of `residual_sums`.
    """
    weights = np.ones(len(y)) if w is None else w
    others = _others(y, classes)
    served: dict[int, Array] = {}
    falls = np.maximum(-low, 0.0)
    for k in np.flatnonzero(high > 0.0):
        found = _rows_with_room(_room(weights, others, classes, int(k)), float(high[k]))
        if found is None:
            return None
        most = np.minimum(falls, high[k])
        most[k] = high[k]
        for row, share in zip(*found, strict=True):
            each = up(up(share * most) / weights[row])
            before = served.get(int(row))
            served[int(row)] = np.where(most > 0.0, each, 0.0) + (0.0 if before is None else before)
            if before is not None:
                served[int(row)] = up(served[int(row)])
    rows = np.array(sorted(served), dtype=np.intp)
    amounts = np.array([served[int(row)] for row in rows]).reshape(len(rows), y.shape[1])
    return ClassMoves(rows, amounts)


def sums_moved(moves: ClassMoves, w: Array | None, block: Array) -> Array:
    """At least |sum_i a_ij w_i (y'_ik - y_ik)| for every column j and class k, shape (d, K).

    ``block`` holds the rows of A at ``moves.rows``.
    """
    k = len(moves.rows)
    weighted = moves.amounts if w is None else up(w[moves.rows, None] * moves.amounts)
    total = np.abs(block).T @ weighted
    return np.asarray(up(up(up(total) * (1.0 + gam(k + 8.0))) + 8.0 * k * 2.0**-1074))


def _others(y: Array, classes: Places) -> Array:
    """y, with 0 in place of own entries."""
    out = y.copy()
    out[np.arange(len(y)), classes] = 0.0
    return out


def _room(w: Array, others: Array, classes: Places, k: int) -> Array:
    """At most w_i p_ik, p_ik = y_ik or, where k is the own class, 1 less the others."""
    p = others[:, k].copy()
    own = np.flatnonzero(classes == k)
    sums = others[own].sum(axis=1)
    sums = up(up(sums) * (1.0 + gam(others.shape[1] + 8.0)))
    p[own] = np.maximum(down(1.0 - sums), 0.0)
    return np.asarray(np.maximum(down(w * p), 0.0))


def _rows_with_room(room: Array, needed: float) -> tuple[Places, list[float]] | None:
    """Rows that have it together, the roomiest first, and their shares, which may be above."""
    first = int(np.argmax(room))
    if room[first] >= needed:
        return np.array([first], dtype=np.intp), [1.0]
    order = np.argsort(-room, kind="stable")
    count = 1 + int(np.searchsorted(np.cumsum(room[order]), needed * (1.0 + 1e-9)))
    rows = order[: min(count, order.size)]
    rows = rows[room[rows] > 0.0]
    total = sum_down(room[rows])
    if not total >= needed:
        return None
    return rows, [float(up(float(v) / total)) for v in room[rows]]
