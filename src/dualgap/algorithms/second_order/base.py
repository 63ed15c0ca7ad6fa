"""What the second-order algorithms share: they take Newton steps, whose lengths they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.points import first_point
from dualgap.feasible import repair_is_free
from dualgap.problem import Problem
from dualgap.state import State


@dataclass(frozen=True)
class SecondOrder(Algorithm):
    """Base of the algorithms that take Newton steps."""

    is_second_order: ClassVar[bool] = True
    patience: ClassVar[int] = 1


def first_state(name: str, problem: Problem, x0: Array | None) -> State:
    """The state at x0, or at 0, with y = phi'(z).

    The bound Lam on lambda_max(A'QA) is the trace. It serves nothing but estimates of the gap, and
    those are made only where D = -inf along the iterates.
    """
    Lam = 1.0 if repair_is_free(problem) else problem.constants.trace
    if Lam <= 0.0:  # all rows are zero: any positive number will do
        Lam = 1.0
    x = problem.zeros() if x0 is None else x0
    return first_point(name, problem, x, None, Lam / problem.loss.gamma)[0]
