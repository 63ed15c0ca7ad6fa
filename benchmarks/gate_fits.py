"""What `benchmarks gate BASE_REF --fits` measures: default fits on the real data sets.

As `gate_cases` this is run as a script, with the package of one tree or the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dualgap
from benchmarks.data_sets import load
from benchmarks.gate_cases import Action, main

SETS = {
    "gas": "squared",
    "cpuact": "squared",
    "cpusmall_scale": "squared",
    "qsar10012": "squared",
    "german.numer_scale": "logistic",
    "leukemia": "logistic",
    "mushrooms": "logistic",
    "a9a": "logistic",
    "rcv1_sub": "logistic",
}
PENALTIES: dict[str, dict[str, float]] = {
    "l2 = 1/n": {"l2": 1.0},
    "l2 = 1e-4/n": {"l2": 1e-4},
    "l1 = 0.05 of its maximum": {"l1": 0.05},
    "no penalty": {},
}
TOO_LONG = ("a9a", "no penalty")
"""Half a minute a fit: its dependent columns have no answer that could be proved."""


def problems(name: str) -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Penalty to data, targets and arguments of `solve`, for one data set."""
    A, b = load(name)
    loss, n = SETS[name], A.shape[0]
    targets = np.where(b > b.mean(), 1.0, -1.0) if loss == "logistic" else b
    steep = np.abs(A.T @ (targets if loss == "squared" else 0.5 * targets)).max() / n
    out = {}
    for penalty, strengths in PENALTIES.items():
        given: dict[str, Any] = {k: v / n if k == "l2" else v * steep for k, v in strengths.items()}
        out[penalty] = A, targets, {"loss": loss, "fit_intercept": True, **given}
    return out


def fits() -> dict[str, Action]:
    """Each data set with each penalty."""
    return {
        f"{name}, {penalty}": lambda A=A, b=b, given=given: dualgap.solve(A, b, **given)
        for name in SETS
        for penalty, (A, b, given) in problems(name).items()
        if (name, penalty) != TOO_LONG
    }


if __name__ == "__main__":
    main((fits,))
