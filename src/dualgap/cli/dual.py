"""The dual point of a model: an array, or where it is the slope, if rows were not held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dualgap
from dualgap._types import Array
from dualgap.certificate import Certificate
from dualgap.certificate.by_readings import certificate_by_readings
from dualgap.streamed.first_look import Form
from dualgap.streamed.states import dual_rows
from dualgap.streamed.sums import Setting, Slopes

if TYPE_CHECKING:
    from dualgap.cli.model import Model


def slopes_fields(slopes: Slopes) -> dict[str, Any]:
    """For JSON: y_i = factor (phi'(z_i) + h_i a_i'bend), z = A x + c, where x ends with c."""
    return {
        "at": slopes.x.tolist(),
        "factors": slopes.factors.tolist(),
        "bend": None if slopes.bend is None else slopes.bend.tolist(),
        "damping": slopes.damping,
    }


def slopes_from(
    at: Array, factors: Array, bend: Array | None, damping: float, shape: tuple[int, ...]
) -> Slopes:
    """From numbers of a file, whose shapes must fit a point x of this shape."""
    K = shape[1] if len(shape) == 2 else 2
    for name, array, wanted in (
        ("at", at, shape),
        ("factors", factors, (K,)),
        ("bend", bend, shape),
    ):
        if array is not None and array.shape != wanted:
            raise ValueError(f"dual_point has {name} of shape {array.shape}, not {wanted}")
    return Slopes(at, factors, bend, damping)


def certificate_of(model: Model, problem: dualgap.Problem) -> Certificate:
    """The certificate of the point, and of the dual point as the model has it."""
    slopes = model.slopes
    if slopes is None:
        return problem.certify(model.x, model.y, intercept=model.intercept)
    if problem.streamed is not None:
        x = problem.join(model.x, model.intercept)
        return certificate_by_readings(problem, x, slopes)
    setting = Setting(problem.loss, Form(False, False), problem.fit_intercept, problem.outputs)
    y = dual_rows(problem.base, (np.asarray(problem.b),), slopes, setting)
    return problem.certify(model.x, y, intercept=model.intercept)
