"""Column scaling: x_j = w_j/s_j with s_j^2 = sum_i q_i a_ij^2/gamma + l2_j.

The Hessian of P has at most 1 on its diagonal in the new variables, whatever the units of the
columns: l1_j becomes l1_j/s_j and l2_j becomes l2_j/s_j^2. A column of zeros without l2 keeps its
unit. Sparse data are not copied (`designs.scaled`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import per_row
from dualgap._types import Array
from dualgap.designs import ScaledDesign
from dualgap.preconditioners.contract import Change, Preconditioner, require_gamma
from dualgap.problem import Problem
from dualgap.regularizers.wrappers import scaled


@dataclass(frozen=True, eq=False)
class Scaling(Change):
    """x_j = f_j w_j; the intercept stays itself."""

    factors: Array

    preconditioner: ClassVar[str] = "diagonal"

    def inner(self, problem: Problem) -> Problem:
        """Columns times f, and the regulariser in the new units."""
        return problem.in_variables(
            ScaledDesign(problem.base, self.factors),
            scaled(problem.penalty, self.factors),
            intercept_scale=problem.loss.known_gamma**0.5,
        )

    def coefficients(self, problem: Problem, w: Array) -> Array:
        """f w, in the domain of the regulariser whatever rounding did."""
        return problem.into_domain(per_row(self.factors, w) * w)

    def solve(self, problem: Problem, x: Array) -> Array:
        """x/f."""
        return x / per_row(self.factors, x)


@dataclass(frozen=True)
class Diagonal(Preconditioner):
    """Column scaling, for every loss with a gamma and every regulariser."""

    name: ClassVar[str] = "diagonal"

    def check(self, problem: Problem) -> None:
        """It fits every loss with a gamma."""
        require_gamma(self.name, problem)

    def begin(self, problem: Problem) -> Change:
        """Scale by the diagonal of the largest Hessian."""
        smooth = np.broadcast_to(problem.penalty.smooth_part(), (problem.d,))
        columns = problem.column_norms[: problem.d] / problem.loss.known_gamma**0.5
        s = np.hypot(columns, np.sqrt(smooth))
        return Scaling(1.0 / np.where(s > 0, s, 1.0))
