"""What the second-order algorithms share: they take Newton steps, whose lengths they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.points import first_point
from dualgap.algorithms.second_order.curvature import first_x
from dualgap.feasible import repair_is_free
from dualgap.problem import Problem
from dualgap.state import State


@dataclass(frozen=True)
class SecondOrder(Algorithm):
    """Base of the algorithms that take Newton steps."""

    is_second_order: ClassVar[bool] = True
    patience: ClassVar[int] = 1


def first_state(name: str, problem: Problem, x0: Array | None) -> State:
    """The state at x0, or where nothing is known, with y = phi'(z)."""
    x = first_x(problem) if x0 is None else x0
    return first_point(name, problem, x, None, bound_on_gram(problem))[0]


def bound_on_gram(problem: Problem) -> float:
    """A bound on lambda_max(A'QA): the trace.

    It serves nothing but estimates of the gap, and those are made only where D = -inf along the
    iterates; elsewhere it is not looked for.
    """
    if repair_is_free(problem):
        return 1.0
    return problem.constants.trace or 1.0  # all rows are zero: any positive number will do
