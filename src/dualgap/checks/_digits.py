"""How many digits the formulas of a loss lose: float64 against the longer floats of the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.dual_points.loss_errors import ROUNDINGS
from dualgap.linalg.rounding import UNIT
from dualgap.losses.contract import Loss


def lost_digits(loss: Loss, z: Array, y: Array, b: Array) -> tuple[Array, Array] | None:
    """How far phi(z) + phi*(y) is off, and how far it may be; None if that cannot be seen.

    It can where the machine has longer floats and the formulas take them. What may be lost: some
    roundings of the result, of y z and of what a rounding of z does; or, where the loss does not
    claim to be accurate, of its `terms`.
    """
    if np.finfo(np.longdouble).eps > 0.01 * UNIT:
        return None
    try:
        wide: Any = [v.astype(np.longdouble) for v in (z, y, b)]
        exact: Any = loss.value(wide[0], wide[2]) + loss.conj(wide[1], wide[2])
    except TypeError:  # a function that takes float64 only
        return None
    if exact.dtype != np.longdouble:
        return None
    value, conj = loss.value(z, b), loss.conj(y, b)
    off: Array = np.abs(exact - value - conj).astype(np.float64)
    if loss.is_accurate:
        felt = np.abs(loss.grad(z, b)) * (1.0 + np.abs(z) + np.abs(b))
        felt += loss.hess(z, b) * UNIT * (1.0 + np.abs(z) + np.abs(b)) ** 2
        felt += np.abs(y) * (1.0 + np.abs(loss.conj_grad(y, b)) + np.abs(b))
        sizes = np.abs(value) + np.abs(conj) + np.abs(y * z) + felt
    else:
        sizes = loss.terms(z, y, b)
    return off, ROUNDINGS * UNIT * sizes
