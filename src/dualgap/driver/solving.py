"""One call of solve: the arguments are checked, an algorithm is chosen, and the driver runs it."""

from __future__ import annotations

import math
import os
import time
from functools import partial
from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap.algorithms import Algorithm
from dualgap.algorithms.primal_dual.adaptation import Rule
from dualgap.compiled.clock import as_setup
from dualgap.designs.threads import within_threads
from dualgap.driver import arguments as given
from dualgap.driver.beginning import Beginning
from dualgap.driver.keeping import EVERY, Keeper, Spent, check_keeping
from dualgap.driver.loop import Run, status_of
from dualgap.driver.progress import line_of
from dualgap.driver.settling import settled
from dualgap.driver.streamed import StreamedRun
from dualgap.limits import Limits, OutOfTime, within
from dualgap.memory import as_bytes, within_memory
from dualgap.preconditioners import Preconditioner, as_preconditioner
from dualgap.problem import Problem
from dualgap.result import Result, Setup
from dualgap.state import State, replace
from dualgap.trace import Recorder


def solve_problem(
    problem: Problem,
    *,
    algorithm: str | Algorithm = "auto",
    adapt: str | Rule | None = None,
    mu: float | None = None,
    schedule: str | None = None,
    precondition: str | Preconditioner = "auto",
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    x0: Any = None,
    y0: Any = None,
    state: State | None = None,
    earlier: State | None = None,
    random_state: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    callback: Recorder | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float | str = EVERY,
    resume: bool = False,
    memory_limit: int | str | None = None,
) -> Result:
    """Check the arguments, start, run, certify; the parameters are those of `dualgap.solve`."""
    called, ledger = time.perf_counter(), problem.base.ledger
    before, rounds = ledger.readings, ledger.rounds
    limit = as_bytes("memory_limit", memory_limit)
    tol = check.real("tol", tol, low=0.0, strict=True)
    max_passes = given.limit("max_passes", max_passes)
    seconds = math.inf if max_time is None else given.limit("max_time", max_time)
    wanted = as_preconditioner(precondition)
    given.check_random_state(random_state)
    n_threads = given.check_run_options(n_threads, callback, verbose)
    check_keeping(checkpoint, checkpoint_every, resume)
    keeper = None if checkpoint is None else Keeper(checkpoint, checkpoint_every, resume)
    with within_memory(limit) as memory, within_threads(n_threads):
        begun = earlier if state is None else state
        problem, notes = settled(problem, algorithm, wanted, y0, begun, keeper)
    given.check_earlier(problem, earlier)
    if state is not None and not (x0 is None and y0 is None):
        raise ValueError(
            "x0 and y0 mean nothing to a run that goes on from a state; leave them out."
        )
    if state is not None and earlier is not None:
        raise ValueError("earlier means nothing to a run that goes on from a state; leave it out.")
    start_x, start_y = given.starting_points(problem, x0, y0)
    if start_x is None and problem.is_solved_by_null:
        # Nothing is below 0: the intercept alone is a solution, and only exact numbers show it.
        start_x = problem.joined(problem.zeros()[: problem.d], problem.null_model[0])
    options = {"adapt": adapt, "mu": mu, "schedule": schedule}
    options = {name: option for name, option in options.items() if option is not None}
    beginning = Beginning(
        problem, algorithm, wanted, options, tol, random_state, start_x, start_y, state, earlier,
        keeper, notes,
    )  # fmt: skip
    quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
    with within_memory(memory), within_threads(n_threads, problem.base.executor), quiet:
        result = _carried_out(
            beginning, called, before, seconds, verbose, callback, tol=tol, max_passes=max_passes
        )
    return replace(result, rounds=ledger.rounds - rounds)


def _carried_out(
    beginning: Beginning,
    called: float,
    readings: float,
    seconds: float,
    verbose: bool,
    callback: Recorder | None,
    **limited: float,
) -> Result:
    """The result of a run that was called for at this time, with so many readings in the ledger."""
    keeper, problem = beginning.keeper, beginning.problem
    file = None if keeper is None else keeper.file
    spent = Spent() if file is None else file.spent
    began, readings = called - spent.seconds, readings - spent.readings
    with within(Limits(seconds - spent.seconds)) as limits:
        made = partial(_run, beginning, began=began, limits=limits, readings=readings, **limited)
        ended = None
        try:
            beginning.run()
            run = made(callback=callback)
        except (KeyboardInterrupt, OutOfTime) as stop:
            if beginning.resumes:  # nothing was done here, and the file has the best point
                raise
            ended = status_of(stop)
            limits.lift()
            beginning.give_up()
            run = made(callback=None)
        if verbose:
            name = beginning.chosen.name
            run.line = line_of(name, problem.base, held=problem.streamed is None)
        ready = time.perf_counter()
        setup = Setup(beginning.passes, ready - called)
        try:
            result = run.to_the_end(beginning.handed_over(), setup, beginning.notes, ended)
        finally:
            run.line.close()
    result = replace(result, readings=problem.base.ledger.readings - readings)
    return as_setup(result, called, ready, spent.seconds)


def _run(beginning: Beginning, **arguments: Any) -> Run:
    kind = Run if beginning.problem.streamed is None else StreamedRun
    return kind(
        beginning.problem, beginning.inner, beginning.chosen, beginning.conditioner,
        keeper=beginning.keeper, earlier=beginning.left, **arguments,
    )  # fmt: skip
