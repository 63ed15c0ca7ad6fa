"""A few strong directions taken away, for data too wide to whiten: x = F H D w.

With F = diag(p)^(-1/2), p the penalty weights, the quadratic form of the data is
M = F A_c'Q A_c F (A_c: centred columns, c' = c + means'x, where there is an intercept). A sketch
gives its r largest eigenvalues s_i and their eigenvectors U. H = I - V T V' is orthogonal and
begins with U, so that

    g = (l2/2) sum_j D_j^2 w_j^2,   D_i^2 = t/(s_i/gamma + l2) for i <= r, 1 beyond

stays separable, and the largest curvature of P falls from s_1/gamma + l2 to t = s_(r+1)/gamma + l2,
or nearly so. The least, l2 in the directions that A does not see, stays. So it pays where the
spectrum of M falls fast; the rest of it is as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms import Algorithm
from dualgap.algorithms.contract import Advice
from dualgap.algorithms.primal_dual.randomised import Randomised
from dualgap.designs import RotatedDesign
from dualgap.designs.contract import block_rows
from dualgap.designs.ledger import NORMS
from dualgap.designs.rotated import Rotation, reflectors
from dualgap.designs.sparse import SparseDesign
from dualgap.linalg.rounding import EPS
from dualgap.preconditioners.contract import (
    Change,
    Preconditioner,
    check_mixing,
    refuse_l1,
    require_gamma,
)
from dualgap.preconditioners.whiten import BUDGET, centred_product
from dualgap.problem import Problem
from dualgap.regularizers import ElasticNet

RANK = 50
"""So many strong directions are taken away by default."""
OVERSAMPLING = 10
"""The sketch has so many directions more than are taken away, which makes those more accurate."""
SEED = 20170806
"""The random sketch always starts from this seed, so that the same data give the same variables."""


@dataclass(frozen=True, eq=False)
class Rotated(Change):
    """x = F H D w; c' = c + means'x with an intercept."""

    rotation: Rotation
    strengths: Array
    """The l2 of each new coordinate."""
    means: Array | None
    lengths: Array
    """Squared lengths of the rows in the new variables."""
    curvature: float
    """Where the estimate of the least curvature of P starts."""
    intercept_scale: float
    budget: float

    preconditioner: ClassVar[str] = "low-rank"

    def inner(self, problem: Problem) -> Problem:
        """A F H D, never formed."""
        return problem.in_variables(
            RotatedDesign(problem.base, self.rotation, self.means, self.lengths, self.budget),
            ElasticNet(np.zeros(problem.d), self.strengths),
            intercept_scale=self.intercept_scale,
        )

    def advice(self) -> Advice:
        """The least curvature, which the strong directions that were taken out have shown."""
        return Advice(curvature=self.curvature)

    def coefficients(self, problem: Problem, w: Array) -> Array:
        """F H D w."""
        return self.rotation.apply(w)

    def solve(self, problem: Problem, x: Array) -> Array:
        """D^-1 H'F^-1 x."""
        return self.rotation.solve(x)

    def shift(self, x: Array) -> float | Array:
        """means'x."""
        assert self.means is not None
        return self.means @ x


@dataclass(frozen=True)
class LowRank(Preconditioner):
    """A sketch of a few strong directions, for l2 or no regulariser and many columns.

    Parameters
    ----------
    rank : int
        Directions that are taken away; no more than min(n, d) are.
    rounds : int
        Of subspace iteration, each with rank + 10 products with A and A': the first finds the
        directions, the others sharpen them.
    budget : float
        Bytes that the sketch, and the data in the new variables where an algorithm walks rows, may
        take.
    """

    rank: int = RANK
    rounds: int = 2
    budget: float = BUDGET

    name: ClassVar[str] = "low-rank"

    def __post_init__(self) -> None:
        """Check the options."""
        check.integer("rank", self.rank)
        check.integer("rounds", self.rounds)
        check.real("budget", self.budget, low=0.0)

    def columns(self, problem: Problem) -> int:
        """The columns of the sketch."""
        return min(self.rank + OVERSAMPLING, problem.n, problem.d)

    def check(self, problem: Problem) -> None:
        """A gamma, no l1, l2 everywhere or nowhere, and within the budget."""
        require_gamma(self.name, problem)
        check_mixing(self, problem)
        refuse_l1(self.name, problem)
        l2, weights = _ridge(problem)
        if l2 > 0.0 and not weights.all():
            raise ValueError(
                "precondition='low-rank' needs l2 > 0 on every coefficient, or on none, and "
                f"{int((weights == 0.0).sum())} of the penalty_weights are 0; use "
                "precondition='whiten', or 'diagonal'."
            )
        need = 8.0 * 3.0 * self.columns(problem) * (problem.n + problem.d)
        if need > self.budget:
            raise ValueError(
                f"precondition='low-rank' needs about {need / 2**30:.3g} GiB for {problem!r}, more "
                f"than its budget of {self.budget / 2**30:.3g} GiB. Use precondition='diagonal', "
                "or dualgap.preconditioners.LowRank(rank=...) with a smaller rank."
            )

    def adjusted(self, problem: Problem, algorithm: Algorithm) -> Algorithm:
        """Refuse one that walks rows where these do not fit, before any work."""
        need = 8.0 * problem.n * problem.d
        if isinstance(algorithm, Randomised) and need > self.budget:
            raise ValueError(
                f"precondition='low-rank' is for batch algorithms: algorithm={algorithm.name!r} "
                f"walks rows, which take about {need / 2**30:.3g} GiB in the new variables, more "
                f"than its budget of {self.budget / 2**30:.3g} GiB. Use algorithm='adf-bpd', or "
                "precondition='diagonal'."
            )
        return algorithm

    def begin(self, problem: Problem) -> Change:
        """Sketch A_c'Q A_c."""
        base, gamma = problem.base, problem.loss.known_gamma
        l2, weights = _ridge(problem)
        F = 1.0 / np.sqrt(weights) if l2 > 0.0 else np.ones(problem.d)
        means = base.rmatvec(problem.q) if problem.fit_intercept else None
        U, sigma, image = self._sketch(problem, F, means)
        kept = sigma > 16.0 * sigma.size * EPS * max(float(sigma[0]), np.finfo(float).tiny)
        r = min(self.rank, int(kept.sum()))
        left = float(sigma[r]) ** 2 if kept[r : r + 1].any() else 0.0
        H = sigma[:r] ** 2 / gamma + l2
        # What is left may be nothing: then all curvatures are made alike.
        t = left / gamma + l2 or (float(H[-1]) if r else 1.0)
        D = np.ones(problem.d)
        D[:r] = np.sqrt(t / H)
        V, T = reflectors(U[:, :r])
        seen = image[:, :r] ** 2
        unseen = np.maximum(_row_squares(problem, F, means) - seen.sum(axis=1), 0.0)
        return Rotated(
            Rotation(F, D, V, T), l2 * D * D, means, unseen + seen @ D[:r] ** 2,
            curvature=math.sqrt(t) * math.sqrt(max(l2, 1e-6 * t)),
            intercept_scale=math.sqrt(0.5 * gamma * t), budget=self.budget,
        )  # fmt: skip

    def _sketch(self, problem: Problem, F: Array, means: Array | None) -> tuple[Array, ...]:
        """U, the roots of the eigenvalues of M there, and A_c F U, by subspace iteration."""
        base, k = problem.base, self.columns(problem)
        root = np.sqrt(problem.q)[:, None]
        Z = np.random.default_rng(SEED).standard_normal((problem.n, k))
        for _ in range(self.rounds):
            R = root * np.linalg.qr(Z)[0]
            Y = base.rmatvec(R)
            if means is not None:
                Y = Y - np.outer(means, R.sum(axis=0))
            Y = np.linalg.qr(F[:, None] * Y)[0]
            image = centred_product(base, F[:, None] * Y, means)
            Z = root * image
        _, sigma, turn = scipy.linalg.svd(np.linalg.qr(Z, mode="r"), check_finite=False)
        return Y @ turn.T, sigma, image @ turn.T


def _ridge(problem: Problem) -> tuple[float, Array]:
    """The l2 of the coefficients, as one number and a weight for each."""
    if problem.given is None:
        return problem.l2, problem.penalty_weights
    strengths = problem.elastic_net.l2.reshape(-1)[: problem.d]
    largest = float(strengths.max())
    return largest, strengths / largest if largest > 0.0 else np.ones(problem.d)


def _row_squares(problem: Problem, F: Array, means: Array | None) -> Array:
    """|F (a_i - means)|^2."""
    base, squares = problem.base, F * F
    if means is None:
        return base.row_norms_sq(squares)
    if isinstance(base, SparseDesign):
        cross = base.matvec(squares * means)
        return np.asarray(base.row_norms_sq(squares) - 2.0 * cross + squares @ means**2)
    base.ledger.passes += NORMS
    out = np.empty(problem.n)
    for at, block in base.blocks(block_rows(problem.d)):
        np.einsum("ij,j->i", (block - means) ** 2, squares, out=out[at])
    return out
