"""What happened at every check: to numpy, to a dict, to a picture."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap._types import Array

COLUMNS = (
    "passes",
    "seconds",
    "primal",
    "dual",
    "gap",
    "strong_convexity",
    "tau",
    "sigma",
    "theta",
)


@dataclass(frozen=True)
class Snapshot:
    """What a callback sees; arrays are read-only.

    ``primal`` belongs to ``x``; ``dual`` is the best lower bound on P* so far, attained by ``y``.
    """

    passes: float
    seconds: float
    primal: float
    dual: float
    gap: float
    strong_convexity: float
    x: Array
    intercept: float | Array
    y: Array


class Trace:
    """One row per check, and a last one that is the certificate of the point that is returned.

    Attributes
    ----------
    passes, seconds : array
        Passes over the data (set-up apart) and time since the call (set-up included, and first:
        also what of it fell between rows).
    primal : array
        P at the iterate.
    dual : array
        The best lower bound on P* so far (-inf until there is one).
    gap : array
        primal - dual, in float64; in the last row the certificate's, which no rounding spoils.
    strong_convexity : array
        The estimate of delta mu^2/n in use.
    tau, sigma, theta : array
        The parameters in use.
    rollbacks : int
        How often the monitor rolled the run back.
    tol_gap : float
        The gap at which the run was asked to stop (the last row's unit), for the picture.
    """

    passes: Array
    seconds: Array
    primal: Array
    dual: Array
    gap: Array
    strong_convexity: Array
    tau: Array
    sigma: Array
    theta: Array

    def __init__(self, rows: list[tuple[float, ...]], rollbacks: int, tol_gap: float) -> None:
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
        for k, name in enumerate(COLUMNS):
            column = np.ascontiguousarray(table[:, k])
            column.flags.writeable = False
            setattr(self, name, column)
        self.rollbacks = rollbacks
        self.tol_gap = tol_gap

    def timed(self, seconds: Array) -> Trace:
        """The same rows at other times."""
        other = copy.copy(self)
        other.seconds = np.array(seconds)
        other.seconds.flags.writeable = False
        return other

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.passes)

    def __repr__(self) -> str:
        """One line."""
        if not len(self):
            return "Trace(empty)"
        return (
            f"Trace({len(self)} rows, {self.passes[-1]:g} passes, gap {self.gap[0]:.3g} -> "
            f"{self.gap[-1]:.3g}, {self.rollbacks} roll-backs)"
        )

    def to_dict(self) -> dict[str, Array]:
        """The columns by name; ``pandas.DataFrame(trace.to_dict())`` makes a frame."""
        return {name: getattr(self, name) for name in COLUMNS}

    def plot(self, axes: Any = None) -> Any:
        """Draw gap and strong convexity against passes.

        Parameters
        ----------
        axes : two matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        The two axes.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                "trace.plot() draws with matplotlib; install it with the extra dualgap[plot]."
            ) from None
        if axes is None:
            _, axes = plt.subplots(
                2, 1, sharex=True, figsize=(6.4, 5.6), height_ratios=(3, 2), layout="constrained"
            )
        upper, lower = axes
        known = np.isfinite(self.gap) & (self.gap > 0)
        # The last lower bound is the best one: what is left of P above it.
        final = self.primal - self.dual[-1] if len(self) else self.primal
        below = np.isfinite(final) & (final > 0)
        upper.semilogy(self.passes[known], self.gap[known], color="#0072B2", label="certified gap")
        upper.semilogy(
            self.passes[below],
            final[below],
            color="#D55E00",
            linestyle="--",
            label="P(x) - best lower bound",
        )
        if np.isfinite(self.tol_gap) and self.tol_gap > 0:
            upper.axhline(self.tol_gap, color="0.5", linewidth=0.8, linestyle=":", label="tol")
        upper.set_ylabel("gap, in units of P")
        upper.legend(frameon=False)
        positive = self.strong_convexity > 0
        lower.semilogy(self.passes[positive], self.strong_convexity[positive], color="#009E73")
        lower.set_ylabel("strong convexity\nfrom the data")
        lower.set_xlabel("passes over the data")
        for axis in (upper, lower):
            axis.grid(alpha=0.25)
        return axes


Recorder = Callable[[Snapshot], bool | None]
