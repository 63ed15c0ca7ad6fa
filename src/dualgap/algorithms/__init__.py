"""The algorithms by name; each file reads next to the paper."""

from __future__ import annotations

import dataclasses
from typing import Any

from dualgap._names import lookup
from dualgap.algorithms.baselines.agd import AGD
from dualgap.algorithms.baselines.katyusha import Katyusha
from dualgap.algorithms.baselines.saga import SAGA
from dualgap.algorithms.baselines.sdca import SDCA
from dualgap.algorithms.baselines.svrg import SVRG
from dualgap.algorithms.contract import Algorithm, Start
from dualgap.algorithms.portfolio import choose
from dualgap.algorithms.primal_dual.ada_bpd import ADFBPD, AdaBPD
from dualgap.algorithms.primal_dual.ada_spdc import ADFSPDC, AdaSPDC
from dualgap.algorithms.primal_dual.bpd import BPD, OptBPD
from dualgap.algorithms.primal_dual.df_bpd import DFBPD
from dualgap.algorithms.primal_dual.df_spdc import DFSPDC, OptDFSPDC
from dualgap.algorithms.primal_dual.spdc import SPDC, OptSPDC
from dualgap.algorithms.second_order.newton import Newton
from dualgap.algorithms.second_order.prox_newton import ProxNewton
from dualgap.algorithms.second_order.working_set import WorkingSet
from dualgap.problem import Problem
from dualgap.regularizers import Regularizer
from dualgap.regularizers.capabilities import is_served, refuse

BATCH = (BPD, OptBPD, AdaBPD, DFBPD, ADFBPD, AGD)
RANDOMISED = (SPDC, OptSPDC, AdaSPDC, DFSPDC, OptDFSPDC, ADFSPDC, SAGA, SVRG, Katyusha)
BEYOND = (Newton, ProxNewton, SDCA, WorkingSet)
ALGORITHMS: dict[str, type[Algorithm]] = {cls.name: cls for cls in (*BATCH, *RANDOMISED, *BEYOND)}

__all__ = [
    "ADFBPD",
    "ADFSPDC",
    "AGD",
    "ALGORITHMS",
    "BPD",
    "DFBPD",
    "DFSPDC",
    "SAGA",
    "SDCA",
    "SPDC",
    "SVRG",
    "AdaBPD",
    "AdaSPDC",
    "Algorithm",
    "Katyusha",
    "Newton",
    "OptBPD",
    "OptDFSPDC",
    "OptSPDC",
    "ProxNewton",
    "Start",
    "WorkingSet",
    "as_algorithm",
    "check_served",
    "serving",
]


def as_algorithm(
    algorithm: str | Algorithm, problem: Problem, *, with_steps: bool = False
) -> tuple[Algorithm, list[str]]:
    """Turn a name into an algorithm with its default options, and say why if the choice is ours."""
    if isinstance(algorithm, Algorithm):
        return algorithm, []
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm must be a name or a dualgap algorithm, got {algorithm!r}.")
    known: dict[str, type[Algorithm] | None] = {"auto": None, **ALGORITHMS}
    named = lookup("algorithm", algorithm, known)
    if named is not None:
        return named(), []
    chosen, reason = choose(problem, with_steps=with_steps)
    return chosen, [f"auto chose {chosen.name}: {reason}."]


def check_served(algorithm: Algorithm, problem: Problem) -> None:
    """Refuse a regulariser that the algorithm cannot treat, before any work."""
    if problem.given is not None:
        refuse(
            f"algorithm={algorithm.name!r}",
            algorithm.needs_of_regularizer,
            problem.given,
            problem.regularizer,
            serving(problem.regularizer),
        )


def serving(g: Regularizer) -> list[str]:
    """The names of the algorithms that can treat this regulariser."""
    return [name for name, cls in ALGORITHMS.items() if is_served(cls.needs_of_regularizer, g)]


def with_options(algorithm: Algorithm, **options: Any) -> Algorithm:
    """Set the options that were given; one that the algorithm does not take is refused."""
    given = {name: value for name, value in options.items() if value is not None}
    known = {f.name for f in dataclasses.fields(algorithm)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"{name}={value!r} means nothing to algorithm={algorithm.name!r}, which takes "
                f"{', '.join(sorted(known))}."
            )
    return dataclasses.replace(algorithm, **given)
