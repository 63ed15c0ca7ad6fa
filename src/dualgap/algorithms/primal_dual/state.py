"""What the paper's algorithms carry beside the point: steps, estimates, and what watches them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice
from dualgap.algorithms.primal_dual.schedules import Steps
from dualgap.state import State, replace


class Ahead(NamedTuple):
    """v, y = phi'(v) and u = A'Qy of the next iteration, if it is made with this sigma."""

    sigma: float
    v: Array
    y: Array
    u: Array


class Best(NamedTuple):
    """The point that the monitor goes back to."""

    x: Array
    y: Array
    z: Array
    u: Array
    v: Array | None


@dataclass(frozen=True, eq=False)
class Watch:
    """What the monitor remembers of a run."""

    score: float = np.inf
    """The least gap so far, or the least P where the gap is infinite."""
    t: int = 0
    """The iteration that found it, or the one of the last roll-back."""
    best: Best | None = None
    """The point where it was found."""
    rollbacks: int = 0
    """How often the run was rolled back."""
    boldness: float = 1.0
    """What is left of steps that are longer than a theorem's; halved at each roll-back."""


UNWATCHED = Watch()


@dataclass(frozen=True, eq=False)
class Remembered:
    """What an adaptation rule remembers from one update to the next; each rule has its own."""

    floor: float | None = None
    """P*, where it is known and P - D is infinite: then P - P* takes the place of the gap."""


@dataclass(frozen=True, eq=False)
class PrimalDualState:
    """What an algorithm of the primal-dual family knows beside the point."""

    steps: Steps
    """tau, sigma and theta of the next iteration."""
    Lam: float
    """The bound on lambda_max(A'QA) in use; R^2 for randomised methods."""
    Delta: float
    """The estimate of delta M, the strong convexity from the data, in use."""
    zt: Array
    """A x~ + offset at the extrapolated point x~."""
    xt: Array | None = None
    """x~ itself, or the x before x, for methods that need it."""
    v: Array | None = None
    """The point of dual-free methods, where y = phi'(v)."""
    ahead: Ahead | None = None
    """Line 1 of the next iteration of a batch method without dual steps, where it came with z."""
    advice: Advice = NO_ADVICE
    """What the change of variables has to say to the steps and to the sampling."""
    rule: str | None = None
    """The name of the adaptation rule."""
    remembered: Remembered | None = None
    """What that rule remembers."""
    watch: Watch = UNWATCHED
    """What the monitor remembers."""
    history: tuple[tuple[float, float], ...] | None = None
    """Passes and gaps since the last update, for randomised methods, whose gap fluctuates."""
    level: float = 1.0
    """Mean of gamma phi'' when Lam was found: 1 for the bound, 0 if it is kept for good."""
    looked: tuple[Array, Array] | None = None
    """z and phi'(z) where the curvature along a step was looked at last."""
    anchors: tuple[tuple[Array, Array], ...] = ()
    """The last few x, each with its z, that the run was whitened at."""


OF_THE_RUN = frozenset(f.name for f in fields(State))
"""The fields that every algorithm shares; all others are in ``State.own``."""


def update(s: State, **changes: Any) -> State:
    """`replace` for a state and for what is its algorithm's own, whichever has the field."""
    shared = {name: value for name, value in changes.items() if name in OF_THE_RUN}
    rest = {name: value for name, value in changes.items() if name not in OF_THE_RUN}
    return replace(s, **shared, own=replace(s.own, **rest)) if rest else replace(s, **shared)
