"""The state of a run: everything that decides how it goes on, explicit and savable.

Arrays are replaced, never written to, so a state can be kept, compared and continued from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from dualgap._types import Array
from dualgap.algorithms.primal_dual.schedules import Steps

if TYPE_CHECKING:
    from dualgap.preconditioners import Change


NO_STEPS = Steps(1.0, 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Incumbent:
    """The best primal and the best dual point so far; gap = primal - dual is certified."""

    primal: float = np.inf
    dual: float = -np.inf
    x: Array | None = None
    y: Array | None = None
    lowest: float = np.inf
    """The least P so far; of points that float64 cannot tell apart by it, x is the latest."""


class Ahead(NamedTuple):
    """v, y = phi'(v) and u = A'Qy of the next iteration, if it is made with this sigma."""

    sigma: float
    v: Array
    y: Array
    u: Array


@dataclass(frozen=True, eq=False)
class State:
    """State of a batch algorithm after t iterations.

    Attributes
    ----------
    algorithm : str
        Whose state this is.
    t : int
        Iterations done.
    passes : float
        Passes over the data that they took.
    check_passes : float
        Passes for what is computed between them: products for P, sums anew.
    budget : float
        The passes at which this call will end: for steps whose cost varies.
    x, y : array
        The primal point (with the intercept) and the dual point.
    z, zt : array
        A x + offset, and the same at the extrapolated point x~.
    u : array
        A'Qy.
    v : array or None
        Dual-free methods: y = phi'(v).
    xt : array or None
        x~ itself, or the x before x, for methods that need it.
    own : frozen dataclass
        What the algorithm alone knows; its type is defined in the algorithm's file.
    steps : Steps
        tau, sigma, theta of the next iteration.
    Lam : float
        The bound on lambda_max(A'QA) in use.
    smoothness : float
        Lam/gamma when the residual was taken.
    Delta : float
        The estimate of delta M (strong convexity from the data) in use.
    primal, dual : float
        P(x), and D at y made feasible for free (-inf where that takes the data).
    mismatch, residual : float
        Where D = -inf: sum_i q_i [phi_i(z_i) + phi_i*(y_i) - y_i z_i], and |gradient mapping|^2 at
        (x, u). Both vanish at the optimum and only there.
    memory : mapping
        What the adaptation rule and the monitor remember.
    incumbent : Incumbent
        The best points so far.
    ahead : Ahead or None
        Dual-free batch methods: line 1 of the next iteration, where it came with z.
    change : Change or None
        The change of variables of a preconditioned run: x, u and the incumbent's x are in the new
        variables, ``change.to_user(x)`` is in the user's.
    begun : bool
        False where the set-up was interrupted: x is where the run begins, and that is all.
    """

    algorithm: str
    t: int
    passes: float
    x: Array
    y: Array
    z: Array
    u: Array
    primal: float
    dual: float
    own: Any = None
    steps: Steps = NO_STEPS
    Lam: float = 1.0
    Delta: float = 0.0
    mismatch: float = np.inf
    residual: float = np.inf
    smoothness: float = 1.0
    check_passes: float = 0.0
    budget: float = np.inf
    v: Array | None = None
    zt: Any = None
    xt: Array | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    incumbent: Incumbent = field(default_factory=Incumbent)
    ahead: Ahead | None = None
    change: Change | None = None
    begun: bool = True

    @property
    def merit(self) -> float:
        """What should shrink, in units of P: the gap P - D, or its stand-in where D = -inf."""
        return self.primal - self.dual if np.isfinite(self.dual) else self.estimated_gap(np.inf)

    def estimated_gap(self, strong_convexity: float) -> float:
        """An estimate of P - P* where D = -inf: mismatch + |gradient mapping|^2/(2 m).

        m is kept at or below the smoothness of the mapping, which never asks for more.
        """
        m = min(strong_convexity, self.smoothness)
        return self.mismatch + self.residual / (2.0 * m)

    @property
    def rollbacks(self) -> int:
        """How often the monitor has rolled the run back."""
        return int(self.memory.get("rollbacks", 0))


T = TypeVar("T")


def replace(old: T, **changes: Any) -> T:
    """`dataclasses.replace`, ten times faster for states: a solve of milliseconds makes dozens."""
    if not isinstance(old, State | Incumbent):
        return cast(T, dataclasses.replace(cast(Any, old), **changes))
    if unknown := changes.keys() - old.__dataclass_fields__.keys():
        raise TypeError(f"{type(old).__name__} has no field {', '.join(sorted(unknown))}.")
    new = object.__new__(type(old))
    new.__dict__.update(old.__dict__, **changes)
    return new
