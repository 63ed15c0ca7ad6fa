"""Whitening: the variables in which the largest Hessian of P is the identity.

    H = A'Q diag(h) A + diag(l2),   h_i = 1/gamma >= phi_i'':   x = T w with T'HT = I,
    T' diag(l2) T = diag(strengths)

so that g stays separable: (1/2) sum_j strengths_j w_j^2. Directions in which H vanishes are
dropped. With an intercept the columns are centred first, c' = c + mean'x, which makes it
orthogonal to the rest. H is put in units of its own diagonal before it is factorised, so that the
units of the columns do not matter.

The rows of A T have the leverage scores of the data as squared lengths, and are sampled by them.

Whitening again: where phi'' is far below 1/gamma (logistic loss, rows classified with confidence)
h_i = max(phi_i''(z_i), damping * mean loss) whitens better, at the best combination of the present
point and the last such points. This bounds nothing. The damping, as Levenberg's, keeps rows that
are classified with confidence from moving far: it falls while P falls, and rises where P rose.
Steps count on min(1, MARGIN gamma h_i) in place of 1 for each row, under the monitor: a roll-back
counts as a rise of P, and after three the run goes back to the first change of variables for good.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.linalg

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import Advice, Algorithm, with_options
from dualgap.algorithms.primal_dual.adaptation import Curvature
from dualgap.designs import DenseDesign, Design, SparseDesign
from dualgap.designs.contract import block_rows
from dualgap.designs.ledger import products
from dualgap.linalg.cholesky import factor_and_condition
from dualgap.linalg.rounding import EPS
from dualgap.preconditioners.contract import (
    Change,
    Preconditioner,
    check_mixing,
    refuse_l1,
    require_gamma,
)
from dualgap.problem import Problem
from dualgap.regularizers import ElasticNet
from dualgap.state import State

BUDGET = 1 << 30
"""Bytes (1 GiB) that the matrix A T and its factorisations may take."""
AGAIN = (*range(1, 21), 24, 28, 32, 40, 48, 64)
"""Passes after which a run is whitened again."""
MARGIN = 4.0
"""How far phi'' of a row may grow before the steps are too long for it."""
DAMPING, EASE, TIGHTEN = 1.0, 0.3, 3.0
"""phi'' counts as at least a multiple of the mean loss: where it starts, and what success and
failure make of it."""
TRUST = 3
"""Roll-backs after which local curvature is not trusted any more."""
GOOD_ENOUGH = 0.1
"""Whitening again has nothing to gain where the curvature of P is seen to be 1 but for this."""
WELL_CONDITIONED = 1e-8
"""Above this reciprocal condition number one factorisation is accurate enough."""
CONSTANT = 1e-13
"""A column that varies by less than this part of its length is constant."""


@dataclass(frozen=True, eq=False)
class Local:
    """What whitening at a point has to remember."""

    row_curvature: Array
    """min(1, MARGIN gamma h)."""
    damping: float
    """h_i was at least this multiple of the mean loss."""
    primal: float
    """P at the point."""
    times: int
    """Entries of ``again`` that are done with."""
    rollbacks: int
    """Roll-backs of the run by then."""


@dataclass(frozen=True, eq=False)
class Whitening(Change):
    """What a run in whitened variables goes on from; c' = c + means'x with an intercept."""

    strengths: Array
    """The l2 of each new coordinate."""
    means: Array | None
    local: Local | None
    """Where the run was whitened; None for the majorant."""

    @abstractmethod
    def product(self, problem: Problem) -> Array:
        """(A - 1 means') T."""

    def inner(self, problem: Problem) -> Problem:
        """A T, formed; P has curvature 1 there, at most."""
        return problem.in_variables(
            DenseDesign(self.product(problem), ledger=problem.base.ledger),
            ElasticNet(np.zeros(self.strengths.size), self.strengths),
            intercept_scale=(problem.loss.gamma or 1.0) ** 0.5,
        )

    def advice(self) -> Advice:
        """Rows are drawn by their leverage; P has curvature 1, and rows the local one."""
        return Advice("balanced", 1.0, None if self.local is None else self.local.row_curvature)

    def shift(self, x: Array) -> float | Array:
        """means'x."""
        assert self.means is not None
        return self.means @ x


@dataclass(frozen=True, eq=False)
class Whitened(Whitening):
    """x = T w."""

    T: Array

    preconditioner: ClassVar[str] = "whiten"

    def product(self, problem: Problem) -> Array:
        """(A - 1 means') T."""
        return centred_product(problem.base, self.T, self.means)

    def coefficients(self, problem: Problem, w: Array) -> Array:
        """T w."""
        return np.asarray(self.T @ w)

    def solve(self, problem: Problem, x: Array) -> Array:
        """The w nearest to T^-1 x, with the rows of T at unit length."""
        size = np.linalg.norm(self.T, axis=1)
        unit = (1.0 / np.where(size > 0, size, 1.0)).reshape(-1, 1)
        right = unit * x.reshape(len(x), -1)
        w = scipy.linalg.lstsq(self.T * unit, right, check_finite=False, lapack_driver="gelsy")[0]
        return np.asarray(w).reshape(-1, *x.shape[1:])


@dataclass(frozen=True)
class Whitener(Preconditioner):
    """What `Whiten` and `Rows` share.

    Parameters
    ----------
    budget : float
        Bytes that the data in the new variables and their factorisation may take.
    again : tuple of float
        Passes after which the run is whitened again at its present point, for losses whose
        curvature varies and algorithms that can use it (``"adf-spdc"``); () for never.
    """

    budget: float = BUDGET
    again: tuple[float, ...] = AGAIN

    def __post_init__(self) -> None:
        """Check the options."""
        check.real("budget", self.budget, low=0.0)
        times = tuple(check.real("again", t, low=0.0) for t in self.again)
        object.__setattr__(self, "again", tuple(sorted(times)))

    @abstractmethod
    def change(self, problem: Problem, h: Array, local: Local | None) -> Whitening:
        """Whiten with the curvatures h of the rows."""

    @abstractmethod
    def bytes(self, problem: Problem) -> float:
        """What it needs."""

    @property
    def rests_on_gamma(self) -> bool:
        """Whether h is looked at."""
        return True

    def check(self, problem: Problem) -> None:
        """A gamma, no l1, and within the budget."""
        check_mixing(self, problem)
        if self.rests_on_gamma:
            require_gamma(self.name, problem)
        refuse_l1(self.name, problem)
        if self.bytes(problem) > self.budget:
            raise ValueError(
                f"precondition={self.name!r} needs about {self.bytes(problem) / 2**30:.3g} GiB for "
                f"{problem!r}, more than its budget of {self.budget / 2**30:.3g} GiB. Use "
                f"precondition='diagonal', or dualgap.preconditioners.{type(self).__name__}"
                "(budget=...) with more bytes."
            )

    def begin(self, problem: Problem) -> Change:
        """Whiten with the largest curvature that phi can have; without gamma nobody looks at it."""
        return self.change(problem, np.full(problem.n, 1.0 / (problem.loss.gamma or 1.0)), None)

    def adjusted(self, problem: Problem, algorithm: Algorithm) -> Algorithm:
        """A check, and a look at the curvature, after every pass where it may whiten again."""
        if not (self.again and _may_whiten_again(problem, algorithm)):
            return algorithm
        return with_options(algorithm, check_every=1, adapt=Curvature(period=1))

    def next_change(
        self, problem: Problem, inner: Problem, algorithm: Algorithm, s: State
    ) -> tuple[Change, State] | None:
        """Whiten with phi'' at the present point when it is time, or go back after a roll-back."""
        old, loss = s.change, problem.loss
        assert isinstance(old, Whitening)
        if not _may_whiten_again(problem, algorithm):
            return None
        now = old.local
        if s.own.watch.rollbacks >= TRUST:  # local curvature has misled the run: no more of it
            return None if now is None else (self.begin(problem), s)
        misled = now is not None and s.own.watch.rollbacks > now.rollbacks
        due = sum(t <= s.passes for t in self.again)
        if not misled and due <= (0 if now is None else now.times):
            return None
        before = math.inf if now is None else now.primal
        damping = DAMPING if now is None else now.damping
        seen = s.own.Delta + float(old.strengths.min())
        if not misled and s.primal < before and abs(seen - 1.0) <= GOOD_ENOUGH:
            return None
        reached, s = s.primal, best_combination(inner, s)
        if misled or reached >= before:  # phi'' grew on the way: the next ways are to be shorter
            damping *= TIGHTEN
        elif before - reached > 0.9 * (before - s.primal):
            damping *= EASE * EASE
        else:
            damping *= EASE
        h = np.maximum(loss.hess(s.z, problem.b), damping * problem.mean_loss(s.z))
        h = np.minimum(h, 1.0 / loss.known_gamma)
        row_curvature = np.minimum(1.0, MARGIN * loss.known_gamma * h)
        local = Local(row_curvature, damping, s.primal, due, s.own.watch.rollbacks)
        return self.change(problem, h, local), s


def _may_whiten_again(problem: Problem, algorithm: Algorithm) -> bool:
    """Self-concordance makes phi'' <= phi: only then is the damping in the right unit."""
    loss = problem.loss
    return loss.is_self_concordant and not loss.is_vector and algorithm.uses_local_curvature


@dataclass(frozen=True)
class Whiten(Whitener):
    """Whitening by a d x d factorisation, for l2 and no regulariser and moderate d."""

    name: ClassVar[str] = "whiten"

    def bytes(self, problem: Problem) -> float:
        """A T, and a few matrices of side d."""
        return 8.0 * problem.d * (problem.n + 4.0 * problem.d)

    def change(self, problem: Problem, h: Array, local: Local | None) -> Whitening:
        """Factorise A'Q diag(h) A + diag(l2)."""
        weights = problem.q * h
        means = None
        if problem.fit_intercept:
            means = problem.base.rmatvec(weights) / weights.sum()
        l2 = problem.elastic_net.l2.reshape(-1)[: problem.d]
        T = whitening_matrix(problem.base, weights, means, l2)
        strengths = l2 @ (T * T)
        if not l2.all():
            strengths[strengths <= 1e-13] = 0.0  # rounding of a direction without penalty
        return Whitened(strengths, means, local, T)


def best_combination(problem: Problem, s: State) -> State:
    """Move to the minimiser of P over the span of x and of the last points of whitening.

    No product with A is needed, as A x is known for all. Away from 0, where phi'' falls, the first
    passes find the direction long before the length; and a way that led too far is cut short.
    Damped Newton steps in a few variables.
    """
    points = [(s.x, s.z), *s.own.anchors]
    offset = np.zeros(problem.n) if problem.offset is None else problem.offset
    X = np.stack([x for x, _ in points], axis=1)
    Z = np.stack([z - offset for _, z in points], axis=1)
    penalty = X.T @ (problem.elastic_net.l2[:, None] * X)

    def value(c: Array) -> float:
        return problem.mean_loss(Z @ c + offset) + 0.5 * float(c @ penalty @ c)

    c = min(np.eye(len(points)), key=value)
    best = value(c)
    for _ in range(50):
        z = Z @ c + offset
        slope = Z.T @ (problem.q * problem.loss.grad(z, problem.b)) + penalty @ c
        hess = problem.q * problem.loss.hess(z, problem.b)
        step = -np.linalg.lstsq(Z.T @ (hess[:, None] * Z) + penalty, slope, rcond=1e-12)[0]
        promised, t = -float(slope @ step), 1.0
        while (new := value(c + t * step)) > best - 1e-4 * t * promised and t > 1e-10:
            t *= 0.5
        if not new < best - 1e-9 * abs(best):
            break
        c, best = c + t * step, new
    x, z = X @ c, Z @ c + offset
    primal = problem.primal(x, z)
    return replace(s, x=x, z=z, primal=primal) if primal < s.primal else s


def whitening_matrix(base: Design, weights: Array, means: Array | None, l2: Array) -> Array:
    """T with T' (A_c' diag(weights) A_c + diag(l2)) T = I and T' diag(l2) T diagonal."""
    G = centred_gram(base, weights, means)
    diagonal = np.diag(G) + l2
    unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    G *= unit * unit[:, None]
    penalty = l2 * unit * unit
    G[np.diag_indices_from(G)] += penalty
    T, rcond = inverse_root(G)
    if T.shape[1] == 0:  # nothing in A, nothing in g: any direction will do
        return np.eye(len(l2), 1)
    if rcond < WELL_CONDITIONED:
        # The Gram matrix has lost the short directions; in the new variables they are long.
        B = centred_product(base, unit[:, None] * T, means)
        K = B.T @ (weights[:, None] * B) + T.T @ (penalty[:, None] * T)
        T = T @ inverse_root(K)[0]
    if penalty.any():
        rotation = scipy.linalg.eigh(T.T @ (penalty[:, None] * T), check_finite=False)[1]
        T = T @ rotation
    return np.asarray(unit[:, None] * T)


def inverse_root(K: Array) -> tuple[Array, float]:
    """T with T'KT = I on the range of K, and the reciprocal of K's condition number."""
    factor, rcond = factor_and_condition(K)
    if factor is not None and rcond >= WELL_CONDITIONED:
        inverse, _ = scipy.linalg.lapack.dtrtri(factor, lower=1)
        return np.ascontiguousarray(np.tril(inverse).T), rcond
    e, V = scipy.linalg.eigh(K, check_finite=False)
    kept = e > 4.0 * len(e) * EPS * max(float(e[-1]), np.finfo(float).tiny)
    return V[:, kept] / np.sqrt(e[kept]), rcond


def centred_gram(base: Design, weights: Array, means: Array | None) -> Array:
    """(A - 1 means')' diag(weights) (A - 1 means'); a constant column becomes 0."""
    if means is None:
        return base.gram(weights)
    lengths = base.column_norms_sq(weights)
    centred = base.gram(weights)
    centred -= float(weights.sum()) * np.outer(means, means)
    if (np.diag(centred) < 1e-6 * lengths).any():  # too much cancels: subtract before squaring
        centred[:] = 0.0
        base.ledger.passes += base.shape[1]
        for at, block in base.blocks(max(256, base.shape[1])):
            B = block - means
            centred += B.T @ (weights[at, None] * B)
    constant = np.diag(centred) <= CONSTANT**2 * lengths
    centred[constant] = 0.0
    centred[:, constant] = 0.0
    return centred


def centred_product(base: Design, T: Array, means: Array | None) -> Array:
    """(A - 1 means') T, in C order."""
    if means is None or isinstance(base, SparseDesign):
        out = np.ascontiguousarray(base.matvec(T))
        return out if means is None else out - means @ T
    base.ledger.passes += products(T)
    out = np.empty((base.shape[0], T.shape[1]))
    for at, block in base.blocks(block_rows(base.shape[1])):
        np.matmul(block - means, T, out=out[at])
    return out
