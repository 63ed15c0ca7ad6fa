"""What `solve` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dualgap._types import Array
from dualgap.certificate import Certificate
from dualgap.state import State
from dualgap.status import Status
from dualgap.streamed.states import Recalled
from dualgap.streamed.sums import Slopes
from dualgap.trace import Trace


class Setup(NamedTuple):
    """What was spent on constants, changes of variables, the point to start from, and kernels."""

    passes: float
    """The passes of products, norms and Gram matrices, by the ledger of the data."""
    seconds: float
    kernels: float = 0.0
    """The part of the seconds in which kernels were compiled (once; they are kept) or loaded."""


class Dual:
    """The field y of a result: an array, or what finds it when it is asked for."""

    def __get__(self, result: Result | None, owner: type) -> Any:
        """The array; reading the data where their rows are not held."""
        if result is None:
            return self
        y = result.__dict__["y"]
        return y.array() if isinstance(y, Recalled) else y

    def __set__(self, result: Result, y: Array) -> None:
        """As it is given."""
        result.__dict__["y"] = y


@dataclass(frozen=True, eq=False)
class Result:
    """A solution and its certificate.

    Attributes
    ----------
    x, intercept : array of shape (d,), float
        The primal point: the best one seen. With K classes x has shape (d, K), y (n, K) and
        intercept (K,).
    y : array of shape (n,)
        The dual point: the best one seen; ``certify(A, b, x, y, ...)`` gives ``certificate``. Where
        the rows of the data are not held it is read from them when it is asked for, and refused if
        the data have changed.
    certificate : Certificate
        The bound on P(x) - P*.
    status : Status
        How it ended; ``str(status)`` is a sentence.
    trace : Trace
        What happened at every check.
    passes, seconds : float
        Passes over the data (set-up apart), and time (set-up included).
    readings : float
        How often the data were read in this call, set-up and certificate included: entries of A
        that were read, in the data or in a copy of them, over all entries. `passes` are the
        paper's unit, rows that the algorithm has visited over n, and what limits are held against;
        this is what a run has cost where reading is dear. `dualgap.solve` includes the reading
        that checks the data, `Problem.solve` does not.
    rounds : int
        How often the workers of a cluster were sent tasks, and what they made of these was waited
        for: for readings of A, and for what was asked of targets, weights and offsets alone.
    setup : Setup
        Passes and seconds of constants, factorisations and changes of variables: before the first
        iteration, and where the run was whitened again; and the seconds in which kernels were
        compiled or loaded, whenever they were first needed.
    algorithm : str
        What was run.
    notes : list of str
        What the user should know about how it was run.
    state : State
        Hand it to ``solve(state=...)`` to go on.
    """

    x: Array
    intercept: float | Array
    y: Array
    certificate: Certificate
    status: Status
    trace: Trace
    passes: float
    seconds: float
    setup: Setup
    algorithm: str
    state: State = field(repr=False)
    notes: list[str] = field(default_factory=list)
    readings: float = 0.0
    rounds: int = 0

    @property
    def slopes(self) -> Slopes | None:
        """What stands for y where the rows of the data are not held; None where they are."""
        y = self.__dict__["y"]
        return y.slopes if isinstance(y, Recalled) else None

    def __repr__(self) -> str:
        """A few lines for people."""
        lines = [
            f"{self.algorithm}: {self.status}",
            f"  {self.certificate}",
            f"  {self.passes:g} passes after a set-up of {self.setup.passes:g}; "
            f"{self.seconds:.3g} s, set-up {self.setup.seconds:.3g} s of them",
        ]
        if self.rounds:
            lines[-1] += f"; {self.rounds} rounds on the cluster"
        if self.setup.kernels > 0.1 * self.seconds:
            lines[-1] += f" ({self.setup.kernels:.3g} s to compile or load kernels)"
        if self.trace.rollbacks:
            lines.append(f"  rolled back {self.trace.rollbacks} times")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


setattr(Result, "y", Dual())  # noqa: B010 - a field with no default, of which nobody need know more
