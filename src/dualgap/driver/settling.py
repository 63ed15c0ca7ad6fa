"""Whether the rows of data on disk are held in memory, where their design leaves that open.

A fit that holds its rows has vectors with an entry for each of them, and any algorithm may run; one
that does not reads the data a few times and needs no such vector (`streamed`). The choice follows
from the size of the vectors and the memory of the call, unless something of the call asks for rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.algorithms import Algorithm
from dualgap.algorithms.needs import KNOWN, is_served
from dualgap.driver.keeping import Keeper
from dualgap.memory import check_rows, current, row_vectors, written
from dualgap.preconditioners import Preconditioner
from dualgap.problem import Problem
from dualgap.state import State


def settled(
    problem: Problem,
    algorithm: str | Algorithm,
    wanted: str | Preconditioner | None,
    y0: Any,
    begun: State | None,
    keeper: Keeper | None,
) -> tuple[Problem, list[str]]:
    """The problem with its rows held or not, and a note on why if that was open.

    Parameters
    ----------
    problem : Problem
    algorithm, wanted, y0
        The algorithm, the preconditioner and the dual point to start from, as they were given.
    begun : State or None
        A state that is gone on from.
    keeper : Keeper or None
        Who may have a run to go on with.

    Raises
    ------
    ValueError
        Where rows are held and there is no memory for it.
    """
    notes: list[str] = []
    if problem.open is not None:
        easy = current().holds_easily(row_vectors(problem.n, problem.outputs))
        held, because = _as_before(begun, keeper)
        if held is None:
            because = "" if easy else _asks_for_rows(problem, algorithm, wanted, y0)
            held = easy or bool(because)
        if held:
            check_rows(problem.n, problem.outputs, on_disk=True)
        problem = problem.holding(held)
        notes = [_note(problem, because)]
    elif problem.streamed is None:
        check_rows(problem.n, problem.outputs)
    return problem, notes


def _as_before(begun: State | None, keeper: Keeper | None) -> tuple[bool | None, str]:
    """What a run that is gone on with has done, and words for that."""
    if isinstance(begun, State):
        return isinstance(begun.y, np.ndarray), ", as where the run began"
    if keeper is not None and keeper.file is not None:
        return keeper.file.holds_rows, ", as where the run began"
    return None, ""


def _asks_for_rows(
    problem: Problem, algorithm: str | Algorithm, wanted: str | Preconditioner | None, y0: Any
) -> str:
    """What asks for rows in memory, in words; empty if nothing does."""
    if y0 is not None:
        return ", for y0 has an entry for each"
    if wanted is not None and wanted != "auto":
        name = wanted if isinstance(wanted, str) else wanted.name
        return f", which precondition={name!r} looks at"
    kind = KNOWN.get(algorithm) if isinstance(algorithm, str) else type(algorithm)
    if kind is not None and kind.requires.held_rows:
        return f", which algorithm={kind.name!r} needs"
    if algorithm == "auto" and not is_served(problem.holding(False)):
        return ", which every algorithm for this problem needs"
    return ""


def _note(problem: Problem, because: str) -> str:
    """For the user: what was chosen, and why."""
    memory, need = current(), row_vectors(problem.n, problem.outputs)
    sizes = (
        f"vectors with an entry for each row take up to {written(need)} of the "
        f"{written(memory.limit)} {memory.origin}."
    )
    if problem.streamed is None:
        return f"rows are held in memory{because}: {sizes}"
    return f"rows are not held in memory{because}, and the data are read instead: {sizes}"
