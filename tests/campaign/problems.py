"""Problems by number: the same (family, seed, index) is the same problem, everywhere."""

from dataclasses import dataclass

import numpy as np

from tests.certificate.cases import Case

from . import new_kinds, old_kinds, rigor_kinds

FAMILIES = {"old": old_kinds.KINDS, "new": new_kinds.KINDS, "rigor": rigor_kinds.KINDS}


@dataclass(frozen=True)
class Generated:
    """A problem and where it comes from."""

    family: str
    seed: int
    index: int
    kind: str
    case: Case

    @property
    def name(self) -> str:
        return f"{self.family} {self.seed}:{self.index} ({self.kind}, {self.case.loss})"


def generate(family: str, seed: int, index: int) -> Generated:
    """Problem number ``index``; no other number has a part in it."""
    kinds = FAMILIES[family]
    rng = np.random.default_rng([seed, sorted(FAMILIES).index(family), index])
    shares = np.array([share for _, share in kinds.values()], dtype=float)
    kind = str(rng.choice(list(kinds), p=shares / shares.sum()))
    return Generated(family, seed, index, kind, kinds[kind][0](rng))


def position(family: str, at: int) -> tuple[str, int]:
    """The family and the index of the problem at a place in the queue; "all" takes turns."""
    if family != "all":
        return family, at
    return tuple(FAMILIES)[at % len(FAMILIES)], at // len(FAMILIES)
