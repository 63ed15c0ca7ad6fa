"""Exact steps in one dual variable after the other: the point of SDCA.

w = -A'Qy and x = S(w, l1)/l2 belong to y at all times. For each row k of the stream, with
rho_k = q_k sum_j a_kj^2/l2_j (what a unit of y_k moves a_k'x by):

    z  = a_k'x + offset_k
    y+ = prox_{phi*/rho_k}(y_k + z/rho_k),   w -= q_k (y+ - y_k) a_k

So the epoch of Algorithm 5 with sigma = 1/rho_k. A row touches the coordinates of its own entries
only: nothing is lazy here.
"""

from __future__ import annotations

from typing import NamedTuple

from dualgap._types import Array
from dualgap.kernels.points import ahead, move, moved, shrunk
from dualgap.kernels.values import Prox

ENOUGH = 0.01
"""The precision of a prox that is iterative: the next visit goes on, and the error is squared."""


class Exact(NamedTuple):
    """The point, whose x follows from w."""

    w: Array
    prox: Prox
    """The map from w to x: tau = 1, and 1/l2 for what the prox multiplies by."""


@ahead.of(Exact)
def _(point: Exact, j: int, theta: float) -> float:
    return shrunk(point.prox, point.w[j], j, False)


@moved.of(Exact)
def _(point: Exact, j: int, a: float, theta: float, step: float, drift: float, free: bool) -> float:
    point.w[j] -= drift * a
    return ahead(point, j, theta)


@move.of(Exact)
def _(point: Exact, j: int, a: float, now: int, step: float, drift: float, free: bool) -> None:
    if drift != 0.0:
        point.w[j] -= drift * a
