"""How a solve ended: an enum whose values are sentences."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solve ended."""

    CONVERGED = "Converged: the certified gap is within tol."
    ESTIMATED = (
        "The gap in floats is within tol, but it is not proved: the certificate says what a proof "
        "lacks."
    )
    STATIONARY = (
        "Stationary but not certified: the steps no longer lower P, and no bound on its distance "
        "from the optimum could be proved."
    )
    PASS_LIMIT = "Stopped at the pass limit before the gap was within tol; raise max_passes."
    TIME_LIMIT = "Stopped at the time limit before the gap was within tol; raise max_time."
    CALLBACK = "Stopped by the callback."
    INTERRUPTED = "Interrupted; this is the best point so far."
    ROUNDING = (
        "Stalled at rounding: the gap is as small as float64 can show here, though not within tol."
    )
    NO_MINIMISER = (
        "No minimiser exists: nothing penalises a direction in which the loss falls for ever "
        "(separated classes, rows without counts); add l2 > 0."
    )
    DIVERGED = "Diverged: an iterate was not finite; please report this problem."

    def __str__(self) -> str:
        """The sentence."""
        return self.value

    @property
    def converged(self) -> bool:
        """Whether the gap is certified and within tol."""
        return self is Status.CONVERGED
