"""The algorithms by name; each file reads next to the paper."""

from __future__ import annotations

from dualgap._names import lookup
from dualgap.algorithms.baselines.agd import AGD
from dualgap.algorithms.baselines.katyusha import Katyusha
from dualgap.algorithms.baselines.saga import SAGA
from dualgap.algorithms.baselines.sdca import SDCA
from dualgap.algorithms.baselines.svrg import SVRG
from dualgap.algorithms.contract import NO_ADVICE, Advice, Algorithm, Shown, Start, no_algorithm
from dualgap.algorithms.needs import KNOWN, Needs
from dualgap.algorithms.points import first_point, with_dual
from dualgap.algorithms.portfolio import choose
from dualgap.algorithms.primal_dual.ada_bpd import ADFBPD, AdaBPD
from dualgap.algorithms.primal_dual.ada_spdc import ADFSPDC, AdaSPDC
from dualgap.algorithms.primal_dual.bpd import BPD
from dualgap.algorithms.primal_dual.df_bpd import DFBPD
from dualgap.algorithms.primal_dual.df_spdc import DFSPDC
from dualgap.algorithms.primal_dual.oracle import OptBPD, OptDFSPDC, OptSPDC
from dualgap.algorithms.primal_dual.spdc import SPDC
from dualgap.algorithms.second_order.newton import Newton
from dualgap.algorithms.second_order.prox_newton import ProxNewton
from dualgap.algorithms.second_order.working_set import WorkingSet
from dualgap.problem import Problem
from dualgap.state import State, replace

BATCH = (BPD, OptBPD, AdaBPD, DFBPD, ADFBPD, AGD)
"""The paper's algorithms that read all rows in each step, and Primal AG."""
RANDOMISED = (SPDC, OptSPDC, AdaSPDC, DFSPDC, OptDFSPDC, ADFSPDC, SAGA, SVRG, Katyusha)
"""Its randomised ones, and what it compares them with."""
BEYOND = (Newton, ProxNewton, SDCA, WorkingSet)
"""What the paper does not have."""
ALGORITHMS: dict[str, type[Algorithm]] = {cls.name: cls for cls in (*BATCH, *RANDOMISED, *BEYOND)}
KNOWN.update(ALGORITHMS)

__all__ = [
    "ADFBPD",
    "ADFSPDC",
    "AGD",
    "ALGORITHMS",
    "BATCH",
    "BEYOND",
    "BPD",
    "DFBPD",
    "DFSPDC",
    "NO_ADVICE",
    "RANDOMISED",
    "SAGA",
    "SDCA",
    "SPDC",
    "SVRG",
    "AdaBPD",
    "AdaSPDC",
    "Advice",
    "Algorithm",
    "Katyusha",
    "Needs",
    "Newton",
    "OptBPD",
    "OptDFSPDC",
    "OptSPDC",
    "Problem",
    "ProxNewton",
    "Shown",
    "Start",
    "State",
    "WorkingSet",
    "as_algorithm",
    "first_point",
    "replace",
    "with_dual",
]


def as_algorithm(
    algorithm: str | Algorithm, problem: Problem, *, with_steps: bool = False
) -> tuple[Algorithm, list[str]]:
    """Turn a name into an algorithm with its default options, and say why if the choice is ours."""
    if isinstance(algorithm, Algorithm):
        return algorithm, []
    if not isinstance(algorithm, str):
        raise TypeError(no_algorithm(algorithm))
    known: dict[str, type[Algorithm] | None] = {"auto": None, **ALGORITHMS}
    named = lookup("algorithm", algorithm, known)
    if named is not None:
        return named(), []
    chosen, reason = choose(problem, with_steps=with_steps)
    return chosen, [f"auto chose {chosen.name}: {reason}."]
