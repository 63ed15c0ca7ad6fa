"""What states and results hold of a dual point where rows are not held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.chunks import Chunk
from dualgap.problem import Problem
from dualgap.state import State
from dualgap.streamed.reading import rows
from dualgap.streamed.sums import Matrix, Setting, Slopes, dual_point

NOTHING = np.empty(0)


def slopes_at(problem: Problem, x: Array) -> Slopes:
    """The dual point phi'(z) at x, as it is."""
    return Slopes(x, np.ones(problem.outputs or 2))


def unread(name: str, problem: Problem, x: Array) -> State:
    """A state at x of which no reading has said anything."""
    return State(
        algorithm=name, t=0, passes=0.0, x=x, y=cast(Array, slopes_at(problem, x)), z=NOTHING,
        u=NOTHING, primal=np.inf, dual=-np.inf,
    )  # fmt: skip


def mark(problem: Problem) -> str:
    """What tells the data of a problem from others, as far as files can tell."""
    return f"{problem.base.fingerprint};{rows(problem).fingerprint}"


@dataclass(frozen=True, eq=False)
class Recalled:
    """The dual point of a result, which reads the data when it is asked for."""

    problem: Problem | None
    """Whose rows are read; None after a result was saved, for the data are not saved with it."""
    slopes: Slopes
    mark: str
    """`mark` of the data that the result is of."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "problem": None}

    def array(self) -> Any:
        """y, with an entry for each row: an array, or one of dask where the data are dask's."""
        problem = self.problem
        if problem is None:
            raise ValueError(
                "y is read from the data, and a result that was saved does not hold them. Solve "
                "again, from x0=result.x."
            )
        if mark(problem) != self.mark:
            raise ValueError(
                "the data have changed since this result was found, so that its y is not known any "
                "more. Solve again, or restore the files."
            )
        kept = rows(problem)
        setting = Setting(problem.loss, kept.form, problem.fit_intercept, problem.outputs)
        with problem.base.in_use():
            return dual_rows(problem.base, kept.arrays, self.slopes, setting)


def dual_rows(base: Design, arrays: Any, slopes: Slopes, setting: Setting) -> Any:
    """The dual point that slopes stand for, with an entry for each row, for a reading.

    Parameters
    ----------
    base : Design
        Whose rows may be held or not.
    arrays : tuple
        Targets, and weights and offset as far as ``setting.form`` says that there are some.
    slopes : Slopes
    setting : Setting

    Returns
    -------
    array, or one of dask where the data are dask's
    """
    return base.made_rows(dual_rows_of, arrays, slopes, setting, tail=slopes.x.shape[1:])


def dual_rows_of(
    chunk: Chunk, rows: tuple[Array, ...], slopes: Slopes, setting: Setting
) -> tuple[tuple[Array], tuple[Any, ...]]:
    """The dual point of a chunk: a task for `Design.map_rows`."""
    b, w, offset = setting.form.split(rows)
    y = dual_point(Matrix(chunk, setting.intercept), slopes, setting.loss, b, offset)
    if w is not None:
        y = np.where((w > 0.0) if y.ndim == 1 else (w > 0.0)[:, None], y, 0.0)
    return (y,), ()
