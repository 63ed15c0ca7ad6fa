"""Which form of an algorithm suits the data."""

from __future__ import annotations

from dualgap.algorithms.contract import Algorithm, options_of
from dualgap.algorithms.second_order.newton import Newton
from dualgap.algorithms.second_order.working_set import WorkingSet
from dualgap.algorithms.streamed.newton import StreamedNewton
from dualgap.algorithms.streamed.working_set import StreamedWorkingSet
from dualgap.problem import Problem

FORMS: dict[type[Algorithm], type[Algorithm]] = {
    Newton: StreamedNewton,
    WorkingSet: StreamedWorkingSet,
}
"""For data whose rows are not held."""


def suited(algorithm: Algorithm, problem: Problem) -> Algorithm:
    """The form of an algorithm that suits the data, which may not hold their rows."""
    form = FORMS.get(type(algorithm))
    if problem.streamed is None or form is None:
        return algorithm
    return form(**{name: getattr(algorithm, name) for name in options_of(algorithm)})
