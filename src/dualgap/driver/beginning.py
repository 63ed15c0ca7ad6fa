"""What comes before the first step: an algorithm, the variables it runs in, the first state.

An interrupt, or the time limit, ends this as it ends a run: with a point, the one to start from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.algorithms import Algorithm, Newton, as_algorithm
from dualgap.algorithms.contract import NO_ADVICE, Start, options_of, with_options
from dualgap.algorithms.needs import is_served, refuse
from dualgap.algorithms.streamed.forms import suited
from dualgap.checkpoints import identity
from dualgap.driver import arguments as given
from dualgap.driver.keeping import Earlier, Keeper
from dualgap.limits import Limits, within
from dualgap.preconditioners import Change, Preconditioner, asked, automatic_preconditioner
from dualgap.problem import Problem
from dualgap.state import State, replace
from dualgap.streamed.states import unread

FIRST = Newton()
"""The algorithm that a result names if the run ended before one was chosen."""


@dataclass
class Beginning:
    """The beginning of one call of solve.

    Parameters
    ----------
    problem : Problem
        The user's.
    algorithm : str or Algorithm
        As it was given.
    wanted : str, Preconditioner or None
        ``"auto"``, or what was asked for.
    options : dict
        adapt, mu and schedule, where they are given.
    tol : float
    random_state : int, Generator or None
    x, y : array, optional
        Where to start, in the user's variables.
    state, earlier : State, optional
        As they were given.
    keeper : Keeper, optional
        What keeps the run in a file, and may have read one to go on with.
    settled : list of str
        What the user should know about how the problem was arranged.
    """

    problem: Problem
    algorithm: str | Algorithm
    wanted: str | Preconditioner | None
    options: dict[str, Any]
    tol: float
    random_state: Any
    x: Array | None
    y: Array | None
    state: State | None
    earlier: State | None
    keeper: Keeper | None = None
    settled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Count from here; a state of a set-up that was interrupted is nothing but a point."""
        self.chosen: Algorithm = FIRST
        self.conditioner: Preconditioner | None = None
        self.notes: list[str] = [*self.problem.base.notes, *self.settled]
        self.left: Earlier | None = None
        """Where another process has left the run."""
        self.resumes = self.keeper is not None and self.keeper.file is not None
        """Whether there is such a process."""
        self.inner, self._before = self.problem, self.problem.base.ledger.passes
        if isinstance(self.state, State) and not self.state.begun:
            self.x, self.state = self.state.x, None
        if not self.problem.regularizer.has_strengths and self.state is None:
            self.x = self._inside(self.x)

    def run(self) -> None:
        """Choose, and start; or take up what another process has left."""
        keeper = self.keeper
        # What another process has done is not to be lost to a clock.
        with within(Limits()) if self.resumes else nullcontext():
            self._choose()
            if keeper is not None:
                keeper.belongs_to(self._identity(), self._homes)
                if self.resumes:
                    self._take_up(keeper)
                    return
        problem, chosen = self.problem, self.chosen
        if self.state is None:
            change = None if self.conditioner is None else self.conditioner.begin(problem)
            inner = self._in(change)
            x = (
                self.x
                if change is None or self.x is None
                else change.to_inner(problem, inner, self.x)
            )
            advice = NO_ADVICE if change is None else change.advice()
            begun = chosen.start(inner, x, self.y, advice)
            if not isinstance(begun, Start):
                raise TypeError(
                    f"start of algorithm={chosen.name!r} returned {begun!r}; it should return a "
                    "dualgap.algorithms.Start, with the first state."
                )
            _refuse_overflow(problem, begun.state.primal)
            state, earlier = replace(begun.state, change=change), self.earlier
            self.notes = self.notes + begun.notes
            if earlier is not None and earlier.algorithm == chosen.name:
                if change is earlier.change is None or (change and change.is_like(earlier.change)):
                    state = chosen.inherit(inner, state, earlier)
            chosen.prepare(inner, state)
            self.state = state
        else:
            given.check_preconditioner(self.conditioner, self.state)
            inner = self._in(self.state.change)
            given.check_state(inner, chosen, self.state)
            chosen.prepare(inner, self.state)

    def _inside(self, x: Array | None) -> Array | None:
        """Where to start, brought to where the regulariser is finite."""
        start = self.problem.zeros() if x is None else x
        inside = self.problem.regularizer.nearest(start)
        return x if np.array_equal(inside, start) else inside

    def _choose(self) -> None:
        problem, wanted, algorithm = self.problem, self.wanted, self.algorithm
        if self.options and algorithm == "auto" and problem.loss.gamma is None:
            named = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
            raise ValueError(
                f"{named} is for the primal-dual methods, whose steps rest on a bound on phi'', "
                f"and loss={problem.loss.name!r} has none (its gamma is None); leave it out."
            )
        if algorithm != "auto":
            refuse(as_algorithm(algorithm, problem)[0], problem)
        elif not is_served(problem):
            as_algorithm(algorithm, problem)  # says so, before the data are read
        conditioner, easier = None if isinstance(wanted, str) else wanted, problem
        if problem.streamed is not None:  # changes of variables look at the data
            given.refuse_change(wanted)
            wanted = None
        units = asked(problem) if wanted == "auto" else None
        if units is not None and algorithm == "auto":
            easier = self._in(units.begin(problem))
        chosen, notes = as_algorithm(algorithm, easier, with_steps=bool(self.options))
        self.notes = self.notes + notes
        if wanted == "auto":
            conditioner = automatic_preconditioner(
                chosen, problem, units, named=algorithm != "auto"
            )
        elif conditioner is not None:
            conditioner.check(problem)
            if isinstance(algorithm, str):  # by name, with no options of its own
                chosen = conditioner.adjusted(problem, chosen)
        if algorithm != "auto":  # the preconditioner may have given it other options
            refuse(chosen, problem)
        chosen = with_options(chosen, **self.options).aiming_at(self.tol)
        chosen = suited(chosen, problem)
        if self.random_state is not None and "seed" in options_of(chosen):
            chosen = with_options(chosen, seed=given.seed(self.random_state))
        self.chosen, self.conditioner = chosen, conditioner

    # ---- runs that are kept in files ----

    def _take_up(self, keeper: Keeper) -> None:
        """Go on from the file, if it is of this run."""
        self.left = keeper.take_up(self._in)
        self.state = self.left.course.state
        self.chosen.prepare(self.inner, self.state)

    def _identity(self) -> Callable[[], dict[str, Any]]:
        """What tells this run from others, whatever its limits are; the data are read for it."""
        start = (self.x, self.y) if self.state is None else (self.state.x, self.state.y)
        options = {
            "algorithm": self.chosen,
            "precondition": self.conditioner,
            "tol": self.tol,
            "x0": start[0],
            "y0": start[1],
            "earlier": None if self.earlier is None else self.earlier.x,
        }
        said = {name: identity.described(value) for name, value in options.items()}
        return lambda: {**said, **identity.of_problem(self.problem)}

    @property
    def _homes(self) -> set[str]:
        """The packages where the classes of its values may be."""
        parts = [part for part in (self.chosen, self.conditioner) if part is not None]
        return {type(part).__module__.partition(".")[0] for part in parts}

    def _in(self, change: Change | None) -> Problem:
        """The problem in these variables."""
        self.inner = self.problem if change is None else change.inner(self.problem)
        return self.inner

    def handed_over(self) -> State:
        """The first state; nothing of it is kept here, so that the run can drop its arrays."""
        state, self.state, self.left = self.state, None, None
        assert state is not None
        return state

    @property
    def passes(self) -> float:
        """What has been done with the data so far, by their ledger."""
        return self.problem.base.ledger.passes - self._before

    def give_up(self) -> None:
        """The state of an earlier run as it was; without one, where this one would have begun."""
        self.conditioner = None
        if self.state is not None:
            self._in(self.state.change)
            return
        problem = self._in(None)
        if self.chosen is FIRST and self.algorithm != "auto":
            self.chosen = as_algorithm(self.algorithm, problem)[0]
        x = problem.zeros() if self.x is None else self.x
        if problem.streamed is not None:
            self.state = replace(unread(self.chosen.name, problem, x), begun=False)
            return
        z = problem.predict(x) if x.any() else problem.predict_zero()
        self.state = State(
            algorithm=self.chosen.name, t=0, passes=0.0, x=x, y=problem.slopes(z),
            z=z, u=problem.zeros(), primal=problem.primal(x, z), dual=-np.inf, begun=False,
        )  # fmt: skip


def _refuse_overflow(problem: Problem, primal: float) -> None:
    """A first point at which an exponential is no float leads nowhere, and bounds may hold x there.

    Only losses without a bound on phi'' have such points.
    """
    if problem.loss.gamma is None and primal == math.inf:
        raise ValueError(
            "P(x) is too large for a float where the run begins (x0, or 0, or the point of the "
            f"bounds nearest to it): loss={problem.loss.name!r} takes the exponential of A x, "
            "which overflows there. Rescale the columns of A, move the bounds nearer to 0, or give "
            "an x0 at which A x is moderate."
        )
