"""How much a proof costs: the proved bound over what floats show of the gap."""

from typing import Any

import numpy as np

import dualgap
from dualgap import certificate as package
from tests.certificate.cases import Case

FLOOR = 1e-13
"""Of P: float64 shows no less of a gap than this."""
OF_EXPONENTIALS = 1e-11
EXPONENTIAL = ("logistic", "multinomial")


def float_gap(problem: dualgap.Problem, x: np.ndarray, y: Any) -> float | None:
    """The gap at (x, y) in plain float64, the intercept being in x; None if there is no such.

    This is the one place that knows the name of the package's estimate.
    """
    estimate = getattr(package, "estimated_gap", None)
    if estimate is None:
        return None
    with np.errstate(all="ignore"):
        value = float(estimate(problem, x, y))
    return value if np.isfinite(value) else None


def least(case: Case, primal: float) -> float:
    """What a bound is never held to be finer than."""
    return (OF_EXPONENTIALS if case.loss in EXPONENTIAL else FLOOR) * abs(primal)


def tightness(
    case: Case, primal: float, gap: float, above: float, shown: float | None
) -> float | None:
    """gap / max(float gap, P(x) - P*, 1e-13 P); without a float gap of what is true alone."""
    under = max(shown or 0.0, above, least(case, primal))
    return gap / under if under > 0 and np.isfinite([gap, under]).all() else None


def penalty_of(case: Case) -> str:
    """The regulariser in a few words."""
    if hasattr(case, "is_non_negative"):
        name = "non-negative" if case.is_non_negative else "box"
    else:
        name = {
            (False, False): "none", (False, True): "l2", (True, False): "l1",
            (True, True): "elastic net",
        }[bool(case.l1), bool(case.l2)]  # fmt: skip
        if name != "none" and case.penalty_weights is not None:
            name += ", zero weights" if (np.asarray(case.penalty_weights) == 0).any() else ""
    return name + (" + intercept" if case.fit_intercept else "")
