"""The ``solver`` parameter: our algorithms by name, and scikit-learn's names.

``"auto"`` chooses. Of scikit-learn's names, ``"saga"`` is one of ours too; the others name solvers
that this library does not have, and stand for ``"auto"``: the objective, and with it the answer,
is the same (``"liblinear"`` penalises the intercept, which `LogisticRegression` respects).
"""

from __future__ import annotations

from typing import Any

from dualgap._names import lookup
from dualgap.algorithms import ALGORITHMS, Algorithm

STAND_FOR_AUTO = (
    "cholesky",
    "lbfgs",
    "liblinear",
    "lsqr",
    "newton-cg",
    "newton-cholesky",
    "sag",
    "sparse_cg",
    "svd",
)
"""scikit-learn's solvers that become ``"auto"``."""

FOR_MULTINOMIAL = (
    "auto",
    "df-bpd",
    "adf-bpd",
    "agd",
    "df-spdc",
    "opt-df-spdc",
    "adf-spdc",
    "saga",
    "svrg",
)
"""What can be run on a loss without dual prox."""


def algorithm_for(solver: Any, *, multinomial: bool = False) -> str | Algorithm:
    """What `solve` is to run for this ``solver``."""
    if isinstance(solver, Algorithm):
        name = solver.name
    elif isinstance(solver, str):
        known = {"auto": "auto", **{name: name for name in ALGORITHMS}}
        known |= dict.fromkeys(STAND_FOR_AUTO, "auto")
        name = lookup("solver", solver, known)
    else:
        raise TypeError(f"solver must be a name or a dualgap algorithm, got {solver!r}.")
    if multinomial and name not in FOR_MULTINOMIAL:
        fits = ", ".join(repr(fit) for fit in FOR_MULTINOMIAL)
        raise ValueError(
            f"solver={name!r} does not fit the multinomial loss (there are more than two "
            f"classes): it needs a dual prox or kernel that this loss does not have. "
            f"Solvers that fit: {fits}."
        )
    return solver if isinstance(solver, Algorithm) else name


def fits_multinomial(solver: Any) -> bool:
    """Whether this solver can be run with more than two classes."""
    name = solver.name if isinstance(solver, Algorithm) else solver
    return name in FOR_MULTINOMIAL or name in STAND_FOR_AUTO
