"""The walk along a path: each point by the cheapest way that gets it certified.

Squared loss and few columns, or l2 alone: all points from one Gram matrix or one Krylov space
(`_squared`). Other losses, and l1 with many columns: light runs of Newton's method that share their
matrix, or what stands in for it (`_chords`). What these do not get certified, and everything else:
a solve that starts ahead of the points before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.certificate import Certificate, Estimate
from dualgap.driver import arguments as given
from dualgap.driver.light import MOST_STEPS, LightRun
from dualgap.driver.solving import solve_problem
from dualgap.paths import _chords, _squared
from dualgap.paths._ahead import CONTINUED, Stop, ahead, dual_ahead
from dualgap.preconditioners import asked
from dualgap.problem import Problem
from dualgap.result import Result
from dualgap.status import Status

PLAIN = {"algorithm", "tol", "max_passes", "random_state"}
"""The only options with which points may be found together; with any other (a callback, a limit on
time) every point is a solve."""
LEAST_TOL = 1e-11
"""With a smaller tol every point is a solve: a Gram matrix is known to rounding only."""

Strengths = Sequence[tuple[float, float]]


NO_ROWS = np.empty(0)
"""y where rows are not held."""


class Point(NamedTuple):
    """What a path keeps of a solve; the names are those of `Result`."""

    x: Array
    intercept: float | Array
    y: Array
    certificate: Certificate | Estimate
    """A proof, or a gap in floats."""
    status: Status
    passes: float


def walk(problem: Problem, strengths: Strengths, **options: Any) -> Iterator[Point]:
    """Solve for each (l1, l2), from the solutions before; an interrupt ends the walk.

    Parameters
    ----------
    problem : Problem
        Its data are shared by all; its own strengths do not matter.
    strengths : sequence of (l1, l2)
        In the order in which to solve.
    options
        What `Problem.solve` takes. ``x0`` (with the intercept) and ``y0`` start the first.
    """
    tol, passes = check_options(options)
    ours = _left_to_us(options) and tol >= LEAST_TOL and passes >= MOST_STEPS
    # Gram matrices of columns far from 0 know nothing of them; a solve moves the data first.
    ours = ours and problem.streamed is None and problem.given is None and asked(problem) is None
    if ours and _squared.pays(problem, strengths):
        return _walk_together(problem, strengths, tol, passes, options)
    light = ours and _chords.pays(problem, strengths)
    return _walk(problem, strengths, light_run(tol, passes) if light else None, options)


def light_run(tol: float, most: float) -> LightRun:
    """What finds points one after the other, in so many passes each."""
    return LightRun(_chords.Chords(), tol, most)


def check_options(options: dict[str, Any]) -> tuple[float, float]:
    """The tolerance and the limit on passes; what `solve` would refuse is refused before it."""
    tol = check.real("tol", options.get("tol", 1e-6), low=0.0, strict=True)
    passes = given.limit("max_passes", options.get("max_passes", np.inf))
    given.check_random_state(options.get("random_state"))
    given.check_algorithm(options.get("algorithm", "auto"))
    given.check_run_options(
        options.get("n_threads"), options.get("callback"), options.get("verbose", False)
    )
    return tol, passes


def _left_to_us(options: dict[str, Any]) -> bool:
    """Whether nothing is asked for but answers."""
    return options.keys() <= PLAIN and options.get("algorithm", "auto") == "auto"


def _walk(
    problem: Problem,
    strengths: Strengths,
    light: LightRun | None,
    options: dict[str, Any],
) -> Iterator[Point]:
    start: dict[str, Any] = {k: options.pop(k) for k in ("x0", "y0") if k in options}
    behind: list[Stop] = []
    for l1, l2 in strengths:
        problem = problem.with_strengths(l1, l2)
        in_vain = 0.0
        if behind:
            x, z = ahead(problem, behind)
            found = None if z is None or light is None else light.find(problem, x, z)
            if found is not None:
                behind = [*behind[1 - CONTINUED :], Stop(l1 + l2, found.x, found.y, found.z)]
                x, c = problem.split(found.x)
                yield Point(x, c, found.y, found.certificate, Status.CONVERGED, found.passes)
                continue
            in_vain = 0.0 if light is None else light.spent
            start |= {"x0": _given(problem, x)}
            if problem.streamed is None:
                start |= {"y0": dual_ahead(problem, behind)}
        result = solve_problem(problem, **start, **options)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        start = {"earlier": result.state}
        x = problem.joined(result.x, result.intercept)
        z = None if light is None or light.gave_up else problem.predict(x)
        point = _point(problem, result)
        behind = [*behind[1 - CONTINUED :], Stop(l1 + l2, x, point.y, z)]
        yield point._replace(passes=in_vain + result.passes)


def _walk_together(
    problem: Problem, strengths: Strengths, tol: float, most: float, options: dict[str, Any]
) -> Iterator[Point]:
    done, x = 0, problem.zeros()
    for x, y, _, certificate, passes in _squared.points(problem, strengths, tol, most):
        if _squared.is_good(problem, certificate, tol):
            yield Point(*problem.split(x), y, certificate, Status.CONVERGED, passes)
        else:
            x0 = _given(problem, x) if np.isfinite(x).all() else None
            result = solve_problem(problem.with_strengths(*strengths[done]), x0=x0, **options)
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            yield _point(problem, result)._replace(passes=passes + result.passes)
        done += 1
    left = strengths[done:]
    if left:
        light = light_run(tol, most) if _chords.pays(problem, left) else None
        start = {"x0": _given(problem, x)} if np.isfinite(x).all() else {}
        yield from _walk(problem, left, light, {**options, **start})


def _point(problem: Problem, result: Result) -> Point:
    """Without y where rows are not held: it would be read from the data for every point."""
    y = result.y if problem.streamed is None else NO_ROWS
    return Point(result.x, result.intercept, y, result.certificate, result.status, result.passes)


def _given(problem: Problem, x: Array) -> Array:
    """x0 for a solve: x with the intercept as users know it."""
    return _below(*problem.split(x)) if problem.fit_intercept else x


def joined(result: Result, fit_intercept: bool) -> Array:
    """x0 of the next solve: the coefficients, and the intercept below them."""
    return _below(result.x, result.intercept) if fit_intercept else result.x


def _below(x: Array, intercept: float | Array) -> Array:
    return np.concatenate((x, np.reshape(intercept, (1, *x.shape[1:]))))
