"""The ``solver`` parameter: our algorithms by name, and scikit-learn's names.

``"auto"`` chooses, as `solve` does. scikit-learn's names stand for ``"auto"``: the objective, and
with it the answer, is the same (``"liblinear"`` penalises the intercept, which
`LogisticRegression` respects). ``"saga"`` is among them, for there it is the only way to an elastic
net, and says nothing of what the user wants; our own SAGA is ``"dualgap-saga"`` here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dualgap._names import lookup
from dualgap.algorithms import ALGORITHMS, BATCH, Algorithm
from dualgap.algorithms.needs import Needs
from dualgap.api import Problem

STAND_FOR_AUTO = (
    "cholesky",
    "lbfgs",
    "liblinear",
    "lsqr",
    "newton-cg",
    "newton-cholesky",
    "sag",
    "saga",
    "sparse_cg",
    "svd",
)
"""scikit-learn's solvers that become ``"auto"``."""

OURS = {f"dualgap-{name}" if name in STAND_FOR_AUTO else name: name for name in ALGORITHMS}
"""Our algorithms by the names that ``solver`` takes."""

FOR_MULTINOMIAL = (
    "auto",
    *(
        name
        for name, cls in ALGORITHMS.items()
        if not (cls.requires.dual_prox or cls.requires.scalar_loss)
    ),
)
"""What can be run on a loss of several predictions a row and without dual prox."""


class Kind(NamedTuple):
    """What decides whether a solver fits."""

    l1: bool = False
    """There is an l1 penalty."""
    l2_everywhere: bool = False
    """Every coordinate has l2: no free intercept."""
    multinomial: bool = False
    """More than two classes."""
    penalised: bool = True
    """There is a penalty."""
    many_short_runs: bool = False
    """There will be many runs, each from the primal and dual points of the last."""
    positive: bool = False
    """Coefficients must not be negative."""


def kind_of(problem: Problem) -> Kind:
    """Of a problem."""
    g = problem.regularizer
    strong = g.strong_convexity > 0.0
    if not g.has_strengths:
        return Kind(True, strong, problem.loss.is_vector, positive=True)
    penalised = g.has_l1 or problem.elastic_net.has_l2
    return Kind(g.has_l1, strong, problem.loss.is_vector, penalised)


def algorithm_for(solver: Any, kind: Kind) -> str | Algorithm:
    """What `solve` is to run for this ``solver``; one that does not fit is refused."""
    if isinstance(solver, Algorithm):
        name = solver.name
    elif isinstance(solver, str):
        known = {"auto": "auto", **OURS, **dict.fromkeys(STAND_FOR_AUTO, "auto")}
        name = lookup("solver", solver, known)
    else:
        raise TypeError(f"solver must be a name or a dualgap algorithm, got {solver!r}.")
    reason = misfit(name, kind)
    if reason is not None:
        fits = ["auto", *(ours for ours, n in OURS.items() if misfit(n, kind) is None)]
        raise ValueError(
            f"solver={solver!r} {reason}. Solvers that fit: {', '.join(map(repr, fits))}."
        )
    return solver if isinstance(solver, Algorithm) else name


def misfit(name: str, kind: Kind) -> str | None:
    """Why this solver cannot be run on problems of this kind; None if it can."""
    if kind.multinomial and name not in FOR_MULTINOMIAL:
        return (
            "does not fit the multinomial loss (there are more than two classes), for want of a "
            "dual prox or kernel. Only binary classification is supported by it"
        )
    needs = ALGORITHMS[name].requires if name in ALGORITHMS else Needs(regularizer="prox")
    if kind.positive and needs.regularizer == "strengths":
        return "does not fit positive=True: it is written for a penalty without bounds"
    if needs.no_l1 and kind.l1:
        return "does not fit a penalty with l1, which has no second derivative"
    if name == "working-set" and not kind.penalised:
        return (
            "needs a penalty: without one, and with more features than rows, there are many "
            "minimisers, and it does not come to the one of least norm"
        )
    if kind.many_short_runs and name not in ("auto", "newton", *(cls.name for cls in BATCH)):
        return (
            "does not fit the search for the scale, which makes many short runs, each from the "
            "points of the last: that is for Newton's and for batch methods"
        )
    if needs.l2_everywhere and not kind.l2_everywhere:
        return (
            "needs an l2 penalty on every coefficient, and on the intercept too "
            "(fit_intercept=False leaves it out)"
        )
    return None


def fits_multinomial(solver: Any) -> bool:
    """Whether this solver can be run with more than two classes."""
    if isinstance(solver, Algorithm):
        return solver.name in FOR_MULTINOMIAL
    return solver in STAND_FOR_AUTO or OURS.get(solver, solver) in FOR_MULTINOMIAL
