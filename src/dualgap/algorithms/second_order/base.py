"""What the second-order algorithms share: they take Newton steps, whose lengths they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.points import first_point
from dualgap.algorithms.second_order.curvature import first_x
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
    return first_point(name, problem, x, None)[0]
