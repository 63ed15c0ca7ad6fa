"""What is run: panels of figures, sizes and pass limits; full, quick, or as small as a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dualgap.experiments import contenders
from dualgap.experiments.contenders import Contender
from dualgap.experiments.problems import STRENGTHS, DataSet, data_home, real_set


@dataclass(frozen=True)
class Plan:
    """Sizes and limits.

    Attributes
    ----------
    name : str
        What the report calls it.
    synthetic1, synthetic2 : (n, d)
        Sizes of the synthetic sets.
    cpuact, rcv1_sub : int
        Rows drawn from the real sets; 0 takes all.
    batch_passes, random_passes : tuples of int
        Pass limits for lambda = 1, 1e-2, 1e-4 over n, and for lambda = 0.
    """

    name: str
    synthetic1: tuple[int, int]
    synthetic2: tuple[int, int]
    cpuact: int
    rcv1_sub: int
    batch_passes: tuple[int, int, int, int]
    random_passes: tuple[int, int, int, int]


FULL = Plan(
    "full size",
    synthetic1=(5000, 3000),
    synthetic2=(5000, 500),
    cpuact=0,
    rcv1_sub=0,
    batch_passes=(100, 300, 1200, 1000),
    random_passes=(60, 150, 200, 120),
)
QUICK = Plan(
    "quick: smaller data",
    synthetic1=(600, 360),
    synthetic2=(800, 80),
    cpuact=1000,
    rcv1_sub=800,
    batch_passes=(100, 300, 600, 600),
    random_passes=(60, 100, 150, 100),
)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a problem and the contenders on it."""

    figure: int
    data: DataSet
    strength: float
    lines: tuple[Contender, ...]
    oracles: tuple[Contender, ...]
    """Run for the part beyond the paper, not drawn in the paper's figures."""
    limit: int

    @property
    def title(self) -> str:
        """As under the paper's panels."""
        lam = {1.0: "1/n", 1e-2: "10⁻²/n", 1e-4: "10⁻⁴/n", 0.0: "0"}[self.strength]
        return f"{self.data.name}, λ = {lam}"


def panels(plan: Plan, data_folder: Path | None) -> tuple[list[Panel], list[str]]:
    """The panels in the paper's order, then those beyond it; and the sets that are absent."""
    home = data_home(data_folder)
    one = DataSet("synthetic1", *plan.synthetic1)
    two = DataSet("synthetic2", *plan.synthetic2)
    cpuact = real_set("cpuact", plan.cpuact, home)
    rcv1 = real_set("rcv1_sub", plan.rcv1_sub, home)
    absent = [name for name, found in (("cpuact", cpuact), ("rcv1_sub", rcv1)) if found is None]
    out = [
        Panel(1, one, s, contenders.BATCH, (), limit)
        for s, limit in zip(STRENGTHS, plan.batch_passes, strict=False)
    ]
    for figure, data in ((2, one), (2, cpuact), (3, two), (3, rcv1)):
        if data is None:
            continue
        oracles = (contenders.OPT_SPDC, contenders.OPT_DF_SPDC) if figure == 2 else ()
        for s, limit in zip(STRENGTHS, plan.random_passes, strict=False):
            out.append(Panel(figure, data, s, contenders.RANDOMISED, oracles, limit))
    # Beyond the paper: no regulariser at all.
    out.append(Panel(4, one, 0.0, contenders.BATCH, (), plan.batch_passes[3]))
    for data in (one, cpuact):
        if data is not None:
            lines = (*contenders.RANDOMISED, contenders.OPT_DF_SPDC)
            out.append(Panel(4, data, 0.0, lines, (contenders.OPT_SPDC,), plan.random_passes[3]))
    return out, absent
