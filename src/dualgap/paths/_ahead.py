"""Where to start at the next strength: the points before, continued by a polynomial in log lambda.

With l1 it is a line, unless the signs of its points are the same: a coefficient that is 0 stays 0,
and one that would change its sign becomes 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.problem import Problem

CONTINUED = 3
"""One polynomial continues so many points; a path with no more is left to solves."""


class Stop(NamedTuple):
    """A point of the path that was found: x with the intercept as the problem keeps it, y and z."""

    strength: float
    x: Array
    y: Array
    z: Array | None
    """A x + offset, where somebody will ask for it."""


def ahead(problem: Problem, behind: Sequence[Stop]) -> tuple[Array, Array | None]:
    """x, and z if it is kept, at the strength of the problem."""
    near, at = _polynomial(problem, behind)
    x, d = _combined(at, [stop.x for stop in near]), problem.d
    z = None if near[-1].z is None else _combined(at, [stop.z for stop in near])
    if problem.l1 > 0:
        turned = np.sign(x[:d]) != np.sign(near[-1].x[:d])
        if turned.any():
            x[:d][turned] = 0.0
            z = None if z is None else problem.predict(x)
    return x, z


def dual_ahead(problem: Problem, behind: Sequence[Stop]) -> Array:
    """y at the strength of the problem, moved into the domains."""
    near, at = _polynomial(problem, behind)
    return problem.loss.into_domain(_combined(at, [stop.y for stop in near]), problem.b)


def _combined(at: list[float], arrays: list[Any]) -> Array:
    """sum_k at_k arrays_k."""
    return np.asarray(sum(share * array for share, array in zip(at, arrays, strict=True)))


def _polynomial(problem: Problem, behind: Sequence[Stop]) -> tuple[Sequence[Stop], list[float]]:
    """The points that the polynomial goes through, and the share of each in its value."""
    near = behind[-CONTINUED:]
    signs = [np.sign(stop.x[: problem.d]) for stop in near] if problem.l1 > 0 else []
    if any(not np.array_equal(signs[0], others) for others in signs[1:]):
        near = behind[-2:]
    strength = problem.l1 + problem.l2
    if min(strength, *(stop.strength for stop in near)) <= 0.0:
        return near[-1:], [1.0]
    return near, shares([math.log(stop.strength) for stop in near], math.log(strength))


def shares(at: list[float], where: float) -> list[float]:
    """The share of each point at ``at`` in their polynomial's value at ``where`` (Lagrange).

    Points that are much nearer to each other than the next one is to them, or out of order, would
    only magnify what is left in them of errors: they get no share.
    """
    strides = np.diff([*at, where])
    kept = 1
    while kept < len(at) and 0.5 < strides[-1 - kept] / (strides[-1] or np.inf) < np.inf:
        kept += 1
    near = at[-kept:]
    out = [
        math.prod((where - q) / (p - q) for k, q in enumerate(near) if k != j)
        for j, p in enumerate(near)
    ]
    return [0.0] * (len(at) - kept) + out
