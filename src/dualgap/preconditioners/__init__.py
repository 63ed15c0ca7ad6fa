"""Preconditioners by name: changes of variables that leave objective and certificate the user's."""

from __future__ import annotations

from dualgap._names import lookup
from dualgap.preconditioners._base import Change, Preconditioner
from dualgap.preconditioners.diagonal import Diagonal
from dualgap.preconditioners.rows import Rows
from dualgap.preconditioners.whiten import Whiten

PRECONDITIONERS: dict[str, type[Preconditioner]] = {c.name: c for c in (Diagonal, Whiten, Rows)}

__all__ = [
    "PRECONDITIONERS",
    "Change",
    "Diagonal",
    "Preconditioner",
    "Rows",
    "Whiten",
    "as_preconditioner",
]


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
