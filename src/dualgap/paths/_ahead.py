"""Where to start at the next strength: the points before, continued by a polynomial in log lambda.

With l1 it is a line: a coefficient that is 0 stays 0, and one that would change its sign becomes 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.problem import Problem

MOST = 3
"""Points that a polynomial goes through."""


class Stop(NamedTuple):
    """A point of the path that is behind: x with the intercept as the problem keeps it."""

    strength: float
    x: Array
    y: Array
    z: Array


def ahead(problem: Problem, behind: Sequence[Stop]) -> tuple[Array, Array, Array]:
    """x, y in the domains, and z at the strength of the problem; z may lag behind x with l1."""
    behind = behind[-2:] if problem.l1 > 0 else behind[-MOST:]
    last = behind[-1]
    strength = problem.l1 + problem.l2
    if min(strength, *(stop.strength for stop in behind)) <= 0.0:
        return last.x, last.y, last.z
    at = shares([math.log(stop.strength) for stop in behind], math.log(strength))
    x, y, z = (_combined(at, arrays) for arrays in zip(*(stop[1:] for stop in behind), strict=True))
    if problem.l1 > 0:
        d = problem.d
        kept = np.sign(x[:d]) == np.sign(last.x[:d])
        if not kept.all():
            x[:d][~kept] = 0.0
            z = problem.predict(x)
    return x, problem.loss.into_domain(y, problem.b), z


def _combined(at: list[float], arrays: Sequence[Array]) -> Array:
    out = at[0] * arrays[0]
    for share, array in zip(at[1:], arrays[1:], strict=True):
        out += share * array
    return out


def shares(at: list[float], where: float) -> list[float]:
    """Of the values at these points, in the polynomial through them at the next one (Lagrange).

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
