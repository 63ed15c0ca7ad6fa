"""The certificate of a point, whether the rows of the data are held or not."""

from __future__ import annotations

from dualgap._types import Array
from dualgap.certificate.by_readings import certificate_by_readings
from dualgap.certificate.certifying import proved_pair
from dualgap.certificate.value import Certificate
from dualgap.problem import Problem


def certify_point(problem: Problem, x: Array, y: Array | None = None) -> Certificate:
    """Certificate of x (with the intercept in it) and y, as `certify` does it."""
    if problem.streamed is None:
        return proved_pair(problem, x, y)[0]
    if y is not None:
        raise ValueError("y is made of x where the rows of the data are not held; leave it out.")
    return certificate_by_readings(problem, x)
