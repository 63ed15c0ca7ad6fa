"""Checks on the arguments of `solve` that need the problem or the algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm, no_algorithm
from dualgap.preconditioners import Preconditioner
from dualgap.problem import Problem
from dualgap.state import State
from dualgap.streamed.reading import value_at


def name(argument: str, value: Any) -> str:
    """The value, if it is a string; refused otherwise."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a name, got {value!r}.")
    return value


def limit(argument: str, value: Any) -> float:
    """The value as a number >= 0, which may be infinite; refused otherwise."""
    if isinstance(value, float) and math.isinf(value) and value > 0:
        return value
    return check.real(argument, value, low=0.0)


MOST_THREADS = 4096
"""More than any machine has, and few enough for the libraries' own counters."""


def check_algorithm(algorithm: Any) -> None:
    """A name or an algorithm."""
    if not isinstance(algorithm, str | Algorithm):
        raise TypeError(no_algorithm(algorithm))


def check_run_options(n_threads: Any, callback: Any, verbose: Any) -> int | None:
    """Check the options that change nothing about the answer; the number of threads is returned."""
    threads = check_threads(n_threads)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {callback!r}.")
    check.flag("verbose", verbose)
    return threads


def check_threads(n_threads: Any) -> int | None:
    """The number of threads, if one is given."""
    threads = None if n_threads is None else check.integer("n_threads", n_threads)
    if threads is not None and threads > MOST_THREADS:
        raise ValueError(f"n_threads must be at most {MOST_THREADS}; leave it out for all.")
    return threads


def check_earlier(problem: Problem, earlier: Any) -> None:
    """A state of a run on data of the same shape, or None."""
    if earlier is None:
        return
    if not isinstance(earlier, State):
        raise TypeError(f"earlier must be the state of an earlier result, got {earlier!r}.")
    rows = dual_shape(problem)
    if np.shape(earlier.y) != rows or (earlier.change is None and earlier.x.shape != problem.shape):
        raise ValueError(
            f"earlier belongs to a problem with {len(earlier.y)} rows and {earlier.x.size} "
            f"coefficients, not to {problem!r}. Pass the state of a run on the same data."
        )


def dual_shape(problem: Problem) -> tuple[int, ...]:
    """The shape of the y of states; none where rows are not held, and slopes stand for it."""
    return (problem.n, *problem.shape[1:]) if problem.streamed is None else ()


def refuse_change(wanted: str | Preconditioner | None) -> None:
    """No preconditioner can be had where rows are not held."""
    if wanted is not None and wanted != "auto":
        name = wanted if isinstance(wanted, str) else wanted.name
        raise ValueError(
            f"precondition={name!r} looks at the rows of the data, which are not held in memory; "
            "leave it out: 'newton' and 'working-set' need none."
        )


def check_random_state(random_state: Any) -> None:
    """None, an integer >= 0 or a numpy Generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(
            f"random_state must be None, an integer or a numpy Generator, got {random_state!r}."
        )
    if random_state < 0:
        raise ValueError(f"random_state must not be negative, got {random_state}.")


def seed(random_state: Any) -> int:
    """The seed that a random_state stands for."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(random_state)


def starting_points(problem: Problem, x0: Any, y0: Any) -> tuple[Array | None, Array | None]:
    """x0 and y0 as the algorithms take them: the intercept joined on, y in the domains."""
    x = None
    if x0 is not None:
        shape = np.shape(x0)
        if problem.fit_intercept and problem.outputs is not None and shape == problem.shape:
            given = check.matrix("x0", x0, shape, what="column of A and the intercept")
            x = problem.join(given[:-1], given[-1], argument="x0")
        elif problem.fit_intercept and shape == (problem.d + 1,):
            given = check.point("x0", x0, problem.d + 1, what="column of A and the intercept")
            x = problem.join(given[:-1], given[-1], argument="x0")
        else:
            x = problem.join(x0, argument="x0").copy()
    if y0 is not None and problem.streamed is not None:
        raise ValueError(
            "y0 has an entry for each row, and the rows of these data are not held; leave it out."
        )
    y = problem.dual_point("y0", y0)
    if y is not None and problem.loss.is_vector:
        inside = problem.loss.into_domain(y, problem.b)
        far = np.abs(inside - y).max(axis=1) > 1e-9
        if far.any():
            at = int(np.flatnonzero(far)[0])
            raise ValueError(
                f"y0[{at}] = {y[at]} is outside the domain of the conjugate of loss="
                f"{problem.loss.name!r}: y0 + e_b must be >= 0 and sum to 1. Start from "
                "y = phi'(A x)."
            )
        y = inside.copy()
    elif y is not None:
        low, high = problem.loss.domain(problem.b)
        outside = (y < low) | (y > high)
        if outside.any():
            at = int(np.flatnonzero(outside)[0])
            raise ValueError(
                f"y0[{at}] = {y[at]:g} is outside the domain [{low[at]:g}, {high[at]:g}] of the "
                f"conjugate of loss={problem.loss.name!r}. Start from y = phi'(A x)."
            )
        y = y.copy()
    return x, y


def check_preconditioner(preconditioner: Preconditioner | None, state: Any) -> None:
    """A state must be one, and be continued with the change of variables that it was made in."""
    if not isinstance(state, State):
        raise TypeError(f"state must be the state of an earlier result, got {type(state)}.")
    theirs = "none" if state.change is None else state.change.preconditioner
    mine = "none" if preconditioner is None else preconditioner.name
    if theirs != mine and (preconditioner is None or not preconditioner.accepts(theirs)):
        raise ValueError(
            f"state belongs to precondition={theirs!r}, not to {mine!r}; pass the same one."
        )


def check_state(problem: Problem, algorithm: Algorithm, state: State) -> None:
    """A state must belong to this algorithm, rule and problem."""
    if state.algorithm != algorithm.name:
        raise ValueError(
            f"state belongs to algorithm={state.algorithm!r}, not to {algorithm.name!r}; "
            "pass the same algorithm."
        )
    if state.x.shape != problem.shape or np.shape(state.y) != dual_shape(problem):
        raise ValueError(
            f"state belongs to a problem with {len(state.y)} rows and {state.x.size} "
            f"coefficients, not to {problem!r}."
        )
    rule = getattr(state.own, "rule", None)
    mine = getattr(getattr(algorithm, "adapt", None), "name", None)
    if rule != mine:
        raise ValueError(f"state belongs to adapt={rule!r}, not to {mine!r}; pass the same rule.")
    # A problem of the same shape may still be another one: P tells.
    primal = (
        problem.primal(state.x, problem.predict(state.x))
        if problem.streamed is None
        else value_at(problem, state.x)
    )
    same = abs(primal - state.primal) <= 1e-9 * (abs(primal) + abs(state.primal))
    if not same or math.isinf(primal) != math.isinf(state.primal):
        raise ValueError(
            f"state belongs to another problem than {problem!r}: P is {primal:.6g} there, "
            f"not {state.primal:.6g}. Pass the same data and the same strengths."
        )
