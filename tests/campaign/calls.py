"""A call of the library as a value: it can be repeated on a problem that was made smaller."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.certificate.cases import Case

from .judge import Conviction, judge
from .runs import Claim, certify, solve


@dataclass(frozen=True)
class Call:
    """`solve`, or `certify` at a point if there is an x."""

    algorithm: str = "auto"
    tol: float = 1e-6
    max_passes: float = 1000
    x: Any = None
    c: Any = 0.0
    y: Any = None

    @classmethod
    def of(cls, claim: Claim) -> "Call":
        if claim.algorithm:
            return cls(claim.algorithm, claim.tol, claim.max_passes)
        return cls(x=claim.x, c=claim.c, y=claim.y)

    def repeat(self, case: Case) -> Claim:
        if self.x is None:
            return solve(case, self.algorithm, self.tol, self.max_passes, watch=True)
        return certify(case, "certify", self.x, self.c, self.y)

    def keep(self, *, rows: Any = slice(None), columns: Any = slice(None)) -> "Call":
        if self.x is None:
            return self
        y = None if self.y is None else np.asarray(self.y)[rows]
        return replace(self, x=np.asarray(self.x)[columns], y=y)


@dataclass(frozen=True)
class Failure:
    """A problem, a call, and what the judge convicts it of."""

    case: Case
    call: Call
    what: str

    def repeated(self) -> tuple[Claim, Conviction | None]:
        """Do it again; None if this time all is well."""
        claim = self.call.repeat(self.case)
        other = solve(self.case, tol=1e-12)  # where a better point may be found from
        found = judge(self.case, [claim, replace(other, label="other", faults=[], certified=False)])
        for c in found.convictions:
            if c.label == claim.label and c.what == self.what:
                return claim, c
        return claim, None
