"""Who runs: the algorithms of the paper's figures, under the names the paper gives them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from dualgap.algorithms import ALGORITHMS, Algorithm
from dualgap.algorithms.baselines.svrg import Snapshots
from dualgap.algorithms.primal_dual.adaptation import Robust
from dualgap.algorithms.primal_dual.randomised import Randomised

DEFAULT, THEOREM = "default", "theorem"
ORACLES = ("opt-bpd", "opt-spdc", "opt-df-spdc")


@dataclass(frozen=True)
class Contender:
    """One line of a figure.

    Attributes
    ----------
    label : str
        Its name in legends and tables.
    algorithm : str
        Its name in `dualgap.algorithms`.
    rule : str
        ``"robust"``: Algorithm 4 with the paper's T = 10, 0.95, 1.5; ``""``: the algorithm's own.
    """

    label: str
    algorithm: str
    rule: str = ""

    @property
    def step_sizes(self) -> tuple[str, ...]:
        """Default and theorem's, where they differ."""
        known = {f.name for f in fields(ALGORITHMS[self.algorithm])}
        same = "schedule" not in known or self.algorithm == "df-spdc"
        return (DEFAULT,) if same else (DEFAULT, THEOREM)

    @property
    def is_random(self) -> bool:
        """Whether it depends on a seed."""
        return issubclass(ALGORITHMS[self.algorithm], Randomised)

    def build(self, steps: str, mu: float, *, every_pass: bool) -> Algorithm:
        """The algorithm; an oracle is given mu.

        ``every_pass`` looks at P after each pass instead of each second one. The snapshot methods
        keep their inner loop of m = 2n: a look costs them nothing, and comes every three passes.
        """
        options: dict[str, Any] = {}
        if steps == THEOREM:
            options["schedule"] = "theorem"
        if self.rule == "robust":
            options["adapt"] = Robust(period=10, low=0.95, high=1.5)
        if self.algorithm in ORACLES:
            options["mu"] = mu
        if self.algorithm == "adf-bpd":  # the paper's, whose steps rest on bounds
            options["local"] = False
        algorithm = ALGORITHMS[self.algorithm](**options)
        if every_pass and isinstance(algorithm, Randomised):
            if not isinstance(algorithm, Snapshots):
                algorithm = replace(algorithm, check_every=1)
        return algorithm


AG = Contender("Primal AG", "agd")
BPD = Contender("BPD", "bpd")
OPT_BPD = Contender("Opt-BPD", "opt-bpd")
ADA_BPD = Contender("Ada-BPD, robust", "ada-bpd", "robust")
ADA_BPD_CURVATURE = Contender("Ada-BPD, curvature", "ada-bpd")
ADF_BPD_CURVATURE = Contender("ADF-BPD, curvature", "adf-bpd")
SVRG = Contender("SVRG", "svrg")
SAGA = Contender("SAGA", "saga")
KATYUSHA = Contender("Katyusha", "katyusha")
SPDC = Contender("SPDC", "spdc")
DF_SPDC = Contender("DF-SPDC", "df-spdc")
ADA_SPDC = Contender("Ada-SPDC, robust", "ada-spdc", "robust")
ADA_SPDC_CURVATURE = Contender("Ada-SPDC, curvature", "ada-spdc")
ADF_SPDC = Contender("ADF-SPDC, robust", "adf-spdc", "robust")
ADF_SPDC_CURVATURE = Contender("ADF-SPDC, curvature", "adf-spdc")
OPT_SPDC = Contender("Opt-SPDC", "opt-spdc")
OPT_DF_SPDC = Contender("Opt-DF-SPDC", "opt-df-spdc")

BATCH = (AG, BPD, OPT_BPD, ADA_BPD, ADA_BPD_CURVATURE)
RANDOMISED = (
    SVRG,
    SAGA,
    KATYUSHA,
    SPDC,
    DF_SPDC,
    ADA_SPDC,
    ADA_SPDC_CURVATURE,
    ADF_SPDC,
    ADF_SPDC_CURVATURE,
)
OURS_FOR = {ADA_BPD: ADA_BPD_CURVATURE, ADA_SPDC: ADA_SPDC_CURVATURE, ADF_SPDC: ADF_SPDC_CURVATURE}
"""The same algorithm with the curvature rule in place of the robust one."""
