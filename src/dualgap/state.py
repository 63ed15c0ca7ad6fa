"""The state of a run: everything that decides how it goes on, explicit and savable.

Arrays are replaced, never written to, so a state can be kept, compared and continued from.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dualgap._types import Array

if TYPE_CHECKING:
    from dualgap.preconditioners import Change

STATE_VERSION = 2
"""The version of saved states.

It grows by one when a field of `State`, or of what it holds, comes, goes or changes.
0 stands for the states of before there was a version.
"""


def refusal(version: object) -> ValueError:
    """Why a saved state of another version is not read, and what to do."""
    return ValueError(
        f"this state of a run was saved by another version of dualgap (states of version {version} "
        f"there, of version {STATE_VERSION} here), and a run cannot go on from it. To start again "
        "from its point, load it with that version, keep result.x as an array, and pass it as x0."
    )


@dataclass(frozen=True, eq=False)
class Incumbent:
    """The best primal and the best dual point so far; primal - dual is the gap in floats."""

    primal: float = np.inf
    dual: float = -np.inf
    x: Array | None = None
    y: Array | None = None
    lowest: float = np.inf
    """The least P so far; of points that float64 cannot tell apart by it, x is the latest."""


@dataclass(frozen=True, eq=False)
class State:
    """State of a run after t iterations: what every algorithm shares, and what is its own.

    Attributes
    ----------
    algorithm : str
        Whose state this is.
    t : int
        Iterations done.
    passes : float
        Passes over the data that they took.
    x, y : array
        The primal point (with the intercept) and the dual point.
    z : array
        A x + offset.
    u : array
        A'Qy.
    primal, dual : float
        P(x), and D at y made feasible for free (-inf where that takes the data).
    own : frozen dataclass
        What the algorithm alone knows; its type is defined in the algorithm's file.
    mismatch, residual : float
        Where D = -inf: sum_i q_i [phi_i(z_i) + phi_i*(y_i) - y_i z_i], and |gradient mapping|^2 at
        (x, u). Both vanish at the optimum and only there.
    smoothness : float
        The smoothness of the loss part that the gradient mapping was taken with.
    check_passes : float
        Passes for what is computed between iterations: products for P, sums made anew.
    budget : float
        The passes at which this call will end: for steps whose cost varies.
    incumbent : Incumbent
        The best points so far.
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
    mismatch: float = np.inf
    residual: float = np.inf
    smoothness: float = 1.0
    check_passes: float = 0.0
    budget: float = np.inf
    incumbent: Incumbent = field(default_factory=Incumbent)
    change: Change | None = None
    begun: bool = True

    # ---- saving ----

    def __reduce__(self) -> tuple[Any, ...]:
        """The version first, for another is refused before what has moved meanwhile is looked for.

        Formats that save by `__getstate__` alone find it there.
        """
        return _begin, (STATE_VERSION,), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        return {"version": STATE_VERSION, **self.__dict__}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        version = saved.get("version", 0)
        if version != STATE_VERSION:
            raise refusal(version)
        # Interned, as pickle does by itself: a state that is saved again is the same bytes.
        self.__dict__.update({sys.intern(k): v for k, v in saved.items() if k != "version"})

    # ---- what is computed from it ----

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


def _begin(version: int) -> State:
    """An empty state for `pickle` to fill; saved states know this function by its name."""
    if version != STATE_VERSION:
        raise refusal(version)
    return object.__new__(State)


T = TypeVar("T")


def replace(old: T, **changes: Any) -> T:
    """`dataclasses.replace`, ten times faster for states: a solve of milliseconds makes dozens.

    It copies the values of the fields and runs no ``__init__``. Where a dataclass needs more than
    that it is `dataclasses.replace` itself.
    """
    kind: type = type(old)
    known = _plain_fields(kind)
    if known is None:
        return cast(T, dataclasses.replace(cast(Any, old), **changes))
    if not known.issuperset(changes):
        raise TypeError(
            f"{kind.__name__} has no field {', '.join(sorted(changes.keys() - known))}."
        )
    new: T = object.__new__(kind)
    new.__dict__.update(old.__dict__, **changes)
    return new


@cache
def _plain_fields(kind: type) -> frozenset[str] | None:
    """The fields of a dataclass whose instances hold their values and nothing else; or None.

    Others check their values, keep them in slots, or remember what they have computed from them.
    """
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    members = [member for base in kind.__mro__ for member in vars(base).items()]
    if any(name == "__slots__" or isinstance(value, cached_property) for name, value in members):
        return None
    fields = dataclasses.fields(kind)
    return frozenset(f.name for f in fields) if all(f.init for f in fields) else None
