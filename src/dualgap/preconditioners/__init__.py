"""Preconditioners by name: changes of variables that leave objective and certificate the user's."""

from __future__ import annotations

from dualgap._names import lookup
from dualgap.algorithms import Algorithm, Newton
from dualgap.linalg import hessian_factor
from dualgap.preconditioners.contract import Change, Preconditioner
from dualgap.preconditioners.diagonal import Diagonal
from dualgap.preconditioners.low_rank import LowRank
from dualgap.preconditioners.orthonormal import Orthonormal, may_ask
from dualgap.preconditioners.rows import Rows
from dualgap.preconditioners.units import Moved, Units, asked
from dualgap.preconditioners.whiten import Whiten
from dualgap.problem import Problem

PRECONDITIONERS: dict[str, type[Preconditioner]] = {
    c.name: c for c in (Diagonal, Whiten, Rows, LowRank, Units, Orthonormal)
}

__all__ = [
    "PRECONDITIONERS",
    "Change",
    "Diagonal",
    "LowRank",
    "Moved",
    "Orthonormal",
    "Preconditioner",
    "Rows",
    "Units",
    "Whiten",
    "as_preconditioner",
    "asked",
    "automatic_preconditioner",
]

_CHEAP_BASIS = 10.0
"""Passes that the basis of the row space may cost."""


def as_preconditioner(precondition: str | Preconditioner) -> Preconditioner | str | None:
    """Turn a name into a value with its default options: ``"auto"`` stays, ``"none"`` is None."""
    if isinstance(precondition, Preconditioner):
        return precondition
    if not isinstance(precondition, str):
        raise TypeError(
            f"precondition must be a name or a dualgap preconditioner, got {precondition!r}."
        )
    known = {"auto": "auto", "none": None, **PRECONDITIONERS}
    named = lookup("precondition", precondition, known)
    return named() if isinstance(named, type) else named


def automatic_preconditioner(
    algorithm: Algorithm, problem: Problem, units: Units | None, *, named: bool
) -> Preconditioner | None:
    """What ``"auto"`` adds to an algorithm, after the units that the data ask for.

    On columns without a penalty Newton may come to need another basis. On few and long dense rows
    it takes several systems, if it was not asked for by name, and each is as small as the rows are
    few in a basis of their space.
    """
    if may_ask(algorithm, problem):
        return Orthonormal(at_once=False, first=units)
    if units is not None or named:
        return units
    loss, design = problem.loss, problem.base
    if not isinstance(algorithm, Newton) or loss.is_vector or loss.is_quadratic:
        return None
    g = problem.elastic_net
    if design.is_sparse or not g.has_l2 or not (g.l2[: problem.d] > 0.0).all():
        return None
    few = (
        4 * problem.n <= problem.d
        and hessian_factor.cost(design, g.l2[: problem.d]) <= _CHEAP_BASIS
    )
    return Rows(whiten=False) if few else None
