"""The algorithms by name; each file reads next to the paper."""

from __future__ import annotations

import dataclasses
from typing import Any

from dualgap._names import lookup
from dualgap.algorithms._base import Algorithm, Start
from dualgap.algorithms.ada_bpd import ADFBPD, AdaBPD
from dualgap.algorithms.ada_spdc import ADFSPDC, AdaSPDC
from dualgap.algorithms.agd import AGD
from dualgap.algorithms.bpd import BPD, OptBPD
from dualgap.algorithms.df_bpd import DFBPD
from dualgap.algorithms.df_spdc import DFSPDC, OptDFSPDC
from dualgap.algorithms.katyusha import Katyusha
from dualgap.algorithms.saga import SAGA
from dualgap.algorithms.spdc import SPDC, OptSPDC
from dualgap.algorithms.svrg import SVRG
from dualgap.algorithms.working_set import WorkingSet
from dualgap.problem import Problem

BATCH = (BPD, OptBPD, AdaBPD, DFBPD, ADFBPD, AGD)
RANDOMISED = (SPDC, OptSPDC, AdaSPDC, DFSPDC, OptDFSPDC, ADFSPDC, SAGA, SVRG, Katyusha)
COORDINATE = (WorkingSet,)
ALGORITHMS: dict[str, type[Algorithm]] = {
    cls.name: cls for cls in (*BATCH, *RANDOMISED, *COORDINATE)
}

__all__ = [
    "ADFBPD",
    "ADFSPDC",
    "AGD",
    "ALGORITHMS",
    "BPD",
    "DFBPD",
    "DFSPDC",
    "SAGA",
    "SPDC",
    "SVRG",
    "AdaBPD",
    "AdaSPDC",
    "Algorithm",
    "Katyusha",
    "OptBPD",
    "OptDFSPDC",
    "OptSPDC",
    "Start",
    "WorkingSet",
    "as_algorithm",
    "choose",
]


def as_algorithm(algorithm: str | Algorithm, problem: Problem) -> Algorithm:
    """Turn a name into an algorithm with its default options; an algorithm stays itself."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm must be a name or a dualgap algorithm, got {algorithm!r}.")
    known: dict[str, type[Algorithm] | None] = {"auto": None, **ALGORITHMS}
    named = lookup("algorithm", algorithm, known)
    return choose(problem) if named is None else named()


def choose(problem: Problem) -> Algorithm:
    """What ``algorithm="auto"`` runs: Ada-BPD where the dual prox is a formula, else ADF-BPD."""
    by_formula = problem.loss.has_dual_prox and not problem.loss.prox_is_iterative
    return AdaBPD() if by_formula else ADFBPD()


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
