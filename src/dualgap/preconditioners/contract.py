"""What a preconditioner is: a change of variables x = T w that nobody else sees.

It makes of the user's problem an inner one in the variables w, with the same rows, targets, loss,
weights and offset (`units` moves targets and offset, too): P(T w) and D(y) have the same values in
both, and the dual variables are the same. Algorithms run on the inner problem; points, certificates
and snapshots are the user's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice, Algorithm
from dualgap.algorithms.needs import l1_part
from dualgap.problem import Problem
from dualgap.state import State


class Change(ABC):
    """One change of variables, kept in the state of a run: with it the run can go on bitwise."""

    preconditioner: ClassVar[str]
    """Whose change this is."""

    @abstractmethod
    def inner(self, problem: Problem) -> Problem:
        """The problem in the new variables."""

    @abstractmethod
    def coefficients(self, problem: Problem, w: Array) -> Array:
        """x = T w, without intercepts."""

    @abstractmethod
    def solve(self, problem: Problem, x: Array) -> Array:
        """A w with T w = x, or as near as the new variables reach."""

    def advice(self) -> Advice:
        """What is known of the new variables that an algorithm may use."""
        return NO_ADVICE

    def is_like(self, other: Change | None) -> bool:
        """Whether the other one has made the same columns of the data; if in doubt it has not."""
        return False

    def shift(self, x: Array) -> float | Array:
        """The new intercept less the old one."""
        return 0.0

    def to_user(self, problem: Problem, inner: Problem, w: Array) -> Array:
        """The user's point, its intercept coordinate last, of one in the new variables."""
        coefficients, c = inner.split(w)
        x = self.coefficients(problem, coefficients)
        return problem.joined(x, c - self.shift(x) if problem.fit_intercept else 0.0)

    def to_inner(self, problem: Problem, inner: Problem, x: Array) -> Array:
        """The inverse of `to_user`."""
        coefficients, c = problem.split(x)
        w = self.solve(problem, coefficients)
        return inner.joined(w, c + self.shift(coefficients) if problem.fit_intercept else 0.0)


def require_gamma(name: str, problem: Problem) -> None:
    """Refuse a loss whose phi'' has no bound, where the new variables rest on it."""
    if problem.loss.gamma is None:
        raise ValueError(
            f"precondition={name!r} rests on a bound on phi'', and loss={problem.loss.name!r} has "
            "none (its gamma is None); leave it out: 'newton', 'working-set' and 'prox-newton' "
            "serve without it."
        )


def refuse_l1(name: str, problem: Problem) -> None:
    """Refuse an l1 part, where the new variables mix the coordinates."""
    if problem.regularizer.has_l1:
        raise ValueError(
            f"precondition={name!r} mixes the coordinates, and {l1_part(problem)}, which needs "
            "them one by one; use precondition='diagonal'."
        )


def check_mixing(preconditioner: Preconditioner, problem: Problem) -> None:
    """Refuse a regulariser that needs the coordinates one by one, before any work."""
    if not problem.regularizer.has_strengths:
        raise ValueError(
            f"precondition={preconditioner.name!r} mixes the coordinates, and regularizer="
            f"{problem.given!r} needs them one by one; use precondition='diagonal'."
        )


@dataclass(frozen=True)
class Preconditioner(ABC):
    """Base of the preconditioners."""

    name: ClassVar[str]
    looks_at_steps: ClassVar[bool] = False
    """Whether `next_change` is asked before a step is judged, and not only before the next."""

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Refuse a problem that this change of variables does not fit, before any work."""

    @abstractmethod
    def begin(self, problem: Problem) -> Change | None:
        """The change of variables that a run starts with; passes are counted in the constants."""

    def accepts(self, name: str) -> bool:
        """Whether a run with this preconditioner may be in the variables of that name."""
        return name == self.name

    def adjusted(self, problem: Problem, algorithm: Algorithm) -> Algorithm:
        """An algorithm asked for by name, with the options that suit the new variables."""
        return algorithm

    def next_change(
        self, problem: Problem, inner: Problem, algorithm: Algorithm, s: State
    ) -> tuple[Change, State] | None:
        """Other variables that the run should go on in, and from which state; None to stay."""
        return None
