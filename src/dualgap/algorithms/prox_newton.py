"""Newton on the nonzero coordinates: for l1 with several predictions a row (multinomial).

    1.  s = sign(x_j), or minus that of grad_j where x_j = 0 and |grad_j| > l1_j; else j is left out
    2.  H_FF d = -(grad + l1 s)_F   over the coordinates F that are left, by conjugate gradients
    3.  x+ = x + t d, coordinates that change their sign set to 0; t from a line search on P
    4.  each row x_j of x+ less the c that makes g(x_j - c) smallest

On the orthant of s the objective is smooth, so these are Newton's steps there, and the projection
of line 3 is how coordinates leave (Schmidt, 2010, on projected scaled subgradients), or, where that
spoils the step, the first one to reach 0 is where it ends. They enter a few at a time. Line 4: the
loss does not change if all classes move together, so only g can say where, and it says so in closed
form; without it H_FF is singular. Once the support is found the convergence is that of Newton.

The conjugate gradients are preconditioned by the diagonal of H, or, once they have cost as many
passes as that takes, by its blocks of one class each, A' diag(q p_k (1 - p_k)) A + l2, which know
how columns are correlated. phi'' is raised by a share of its bound where full steps overshoot, as
in `newton`. Where no step will do, a proximal gradient step in the metric of the diagonal of H is
taken instead: that one always gets somewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap._arrays import dot, per_row
from dualgap._types import Array, Mask
from dualgap.algorithms._base import Algorithm, Start
from dualgap.algorithms._batch import first_state, with_dual
from dualgap.algorithms._curvature import (
    curvature,
    curvature_map,
    mean_curvature,
    next_damping,
)
from dualgap.algorithms._newton_system import AT_ONCE
from dualgap.designs._base import BLAS3_GAIN
from dualgap.factorised import cholesky, cholesky_solve, weighted_gram
from dualgap.feasible import repair_is_free
from dualgap.problem import Problem
from dualgap.schedules import Steps
from dualgap.state import State, replace

FORCING = 1e-3
"""The residual of line 2, squared and in the norm of its preconditioner, falls to this share."""
ENTERS = 0.7
"""A coordinate at 0 is let in if it promises this share of what the best one does,"""
GROWTH = 0.3
"""and at most so many, as a share of those that are not 0."""
MOST_PRODUCTS = 100
"""With H, for one system."""
LARGEST_SIDE = 1024
"""Of a block."""


@dataclass(frozen=True)
class ProxNewton(Algorithm):
    """Newton on the nonzero coordinates, for any regulariser and loss."""

    name: ClassVar[str] = "prox-newton"
    patience: ClassVar[int] = 1

    def steps(self, problem: Problem, Lam: float, Delta: float, boldness: float = 1.0) -> Steps:
        """There are none to choose."""
        return Steps(1.0, 1.0, 0.0)

    def start(self, problem: Problem, x0: Array | None, y0: Array | None) -> Start:
        """x0 or 0, and y = phi'(z) there (y0 plays no part)."""
        x = problem.zeros() if x0 is None else x0
        # Only where D = -inf along the iterates are estimates made, which rest on Lam.
        Lam = 1.0 if repair_is_free(problem) else problem.constants.trace
        s = first_state(self, problem, x, None, Lam=Lam, Delta=0.0)
        hess = curvature(problem, s.z, s.y)
        level = mean_curvature(problem, hess)
        memory = {"hess": hess, "damping": 0.0, "level": level, "spent": 0.0, "blocks": None,
                  "bound": 1.0}  # fmt: skip
        return Start(replace(s, memory=memory))

    def step(self, problem: Problem, s: State) -> State:
        """Lines 1 to 4."""
        memory = dict(s.memory)
        price = _price(problem)
        if memory["spent"] >= price or price <= AT_ONCE:
            memory["blocks"], memory["spent"] = _blocks(problem, s), 0.0
        orthant = _Orthant(problem, replace(s, memory=memory))
        d, gain, products = orthant.newton_direction()
        t, x, z, primal, tried, first = orthant.search(d)
        if t == 0.0:
            x, z, primal, memory["bound"], more = orthant.gradient_step(memory["bound"])
            tried += more
        if problem.loss.is_vector:
            x, z, primal = _centred(problem, x, z, primal)
        memory["spent"] += products
        y = problem.loss.grad(z, problem.b)
        memory["hess"] = curvature(problem, z, y)
        memory["level"] = mean_curvature(problem, memory["hess"])
        stretch = 1.0 if t >= first else t  # a step that ends at a zero is not for want of damping
        memory["damping"] = next_damping(
            problem, s.memory["damping"], gain, stretch, s.primal - primal, memory["level"]
        )
        new = replace(
            s, t=s.t + 1, passes=s.passes + products + 0.5 * tried + 0.5, x=x, z=z, zt=z, y=y,
            u=problem.adjoint(y), primal=primal, memory=memory,
        )  # fmt: skip
        return with_dual(problem, new)


class _Orthant:
    """The orthant of line 1: P is smooth on it."""

    def __init__(self, problem: Problem, s: State) -> None:
        self.problem, self.s = problem, s
        g = problem.regularizer
        self.l1, self.l2 = np.broadcast_to(g.l1, s.x.shape), g.l2
        self.grad = s.u + self.l2 * s.x
        diagonal = per_row(problem.column_norms**2, s.x) * s.memory["level"] + self.l2
        self.diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        # What a step of the one coordinate alone would gain, as a square root.
        lures = np.maximum(np.abs(self.grad) - self.l1, 0.0) / np.sqrt(self.diagonal)
        lures = np.where(s.x == 0.0, lures, 0.0)
        enter = (lures > 0.0) & (lures >= _threshold(lures, s.x))
        inward = np.where(enter, -np.sign(self.grad), 0.0)
        self.signs = np.where(s.x != 0.0, np.sign(s.x), inward)
        self.free: Mask = (self.signs != 0.0) | (self.l1 == 0.0)
        self.slope = np.where(self.free, self.grad + self.l1 * self.signs, 0.0)
        self.precondition = self._preconditioner(s.memory["blocks"])

    def _preconditioner(self, blocks: Array | None) -> Callable[[Array], Array]:
        if blocks is None:
            return lambda r: np.asarray(r / self.diagonal)
        places = [np.flatnonzero(column) for column in self.free.reshape(len(self.free), -1).T]
        factors = [
            cholesky(G[np.ix_(at, at)]) if at.size else None
            for at, G in zip(places, blocks, strict=True)
        ]

        def solve(r: Array) -> Array:
            out = np.zeros_like(r)
            columns, into = r.reshape(len(r), -1), out.reshape(len(r), -1)
            for k, (at, factor) in enumerate(zip(places, factors, strict=True)):
                if factor is not None:
                    into[at, k] = cholesky_solve(factor, columns[at, k])
            return out

        return solve

    def newton_direction(self) -> tuple[Array, float, float]:
        """Line 2: d, what the model gains by it, and the products it took."""
        design, q = self.problem.design, self.problem.q
        apply = curvature_map(self.problem, self.s.memory["hess"], self.s.memory["damping"])
        d, r = np.zeros_like(self.slope), -self.slope
        p = self.precondition(r)
        rho = first = dot(r, p)
        gain, count = 0.0, 0
        while rho > FORCING * first and count < MOST_PRODUCTS:
            Hp = design.sweep(p, lambda at, D: per_row(q[at], D) * apply(at, D))[1]
            Hp = np.where(self.free, Hp + self.l2 * p, 0.0)
            count += 1
            bend = dot(p, Hp)
            if not bend > 0.0:  # a flat direction, or the end of precision
                break
            a = rho / bend
            d, r = d + a * p, r - a * Hp
            gain += 0.5 * a * rho
            search = self.precondition(r)
            rho, before = dot(r, search), rho
            p = search + (rho / before) * p
        if d.ndim == 2:  # what moves all classes alike and is not penalised is nothing but rounding
            d -= np.where((self.l1 == 0.0) & (self.l2 == 0.0), d.mean(axis=1, keepdims=True), 0.0)
        return d, gain, float(count)

    def search(self, d: Array) -> tuple[float, Array, Array, float, int, float]:
        """Line 3: t (0 if none will do), x+, A x+, P there, products it took, the first zero."""
        s, problem = self.s, self.problem
        crossing = (self.l1 > 0.0) & (s.x * (s.x + d) < 0.0)
        first = float(np.min(-s.x[crossing] / d[crossing], initial=1.0))
        ladder = [1.0, 0.5, 0.25, *(min(first, 0.25) * 0.25**k for k in range(4))]
        for tried, t in enumerate(ladder, start=1):
            x = s.x + t * d
            x = np.where((self.l1 > 0.0) & (np.sign(x) != self.signs), 0.0, x)
            if t == first:  # to 0, whatever the rounding
                x[crossing & (np.abs(x) <= 1e-15 * np.abs(s.x))] = 0.0
            z = problem.predict(x)
            primal = problem.primal(x, z)
            promised = dot(self.slope, x - s.x)
            if primal <= s.primal + 1e-4 * promised + 1e-14 * abs(s.primal) and promised <= 0.0:
                return t, x, z, primal, tried, first
        return 0.0, s.x, s.z, s.primal, len(ladder), first

    def gradient_step(self, bound: float) -> tuple[Array, Array, float, float, int]:
        """x+ = prox of g in the metric L diag(H), with an L that majorises."""
        s, problem, tried = self.s, self.problem, 0
        L = max(0.5 * bound, 1e-3)
        metric = self.diagonal
        while True:
            v = s.x - self.grad / (L * metric)
            x = np.sign(v) * np.maximum(np.abs(v) - self.l1 / (L * metric), 0.0)
            z = problem.predict(x)
            primal = problem.primal(x, z)
            tried += 1
            dx = x - s.x
            model = dot(self.grad, dx) + 0.5 * L * dot(metric * dx, dx)
            model += float(np.sum(self.l1 * (np.abs(x) - np.abs(s.x))))
            if primal <= s.primal + model + 1e-14 * abs(s.primal):
                return x, z, primal, L, tried
            if L > 1e12:  # the end of precision
                return s.x, s.z, s.primal, bound, tried
            L *= 2.0


def _centred(problem: Problem, x: Array, z: Array, primal: float) -> tuple[Array, Array, float]:
    """Line 4; z moves with x, all classes alike."""
    g = problem.regularizer
    c = np.where((g.l1 > 0.0) | (g.l2 > 0.0), best_shifts(x, g.l1, g.l2), 0.0)
    shifted = x - c
    fallen = g.value(x) - g.value(shifted)
    if not fallen > 1e-15 * abs(primal):
        return x, z, primal
    z = z - problem.design.matvec(c[:, 0])[:, None]
    return shifted, z, problem.primal(shifted, z)


def best_shifts(x: Array, l1: Array, l2: Array) -> Array:
    """The c, for each row of x, that minimises sum_k l1|x_k - c| + (l2/2)(x_k - c)^2; as a column.

    The slope in c, l2 (K c - sum x) + l1 (#{x_k < c} - #{x_k > c}), changes its sign at one of the
    x_k or between two neighbours of them.
    """
    K = x.shape[1]
    points = np.sort(x, axis=1)
    below = np.arange(K)
    rest = l2 * (K * points - x.sum(axis=1, keepdims=True))
    # The slope just left of the points, where `below` of them are smaller, and just right.
    rises = rest + l1 * (2 * below + 2 - K) >= 0.0
    first = rises.argmax(axis=1)[:, None]
    at = np.take_along_axis(points, first, axis=1)
    left = np.take_along_axis(rest, first, axis=1) + l1 * (2 * first - K)
    # Falling slope on the left of the point: it is the minimiser. Else the zero lies before it.
    back = np.divide(left, K * l2, out=np.zeros_like(left), where=(l2 > 0.0) & (left > 0.0))
    return np.asarray(at - back)


def _threshold(lures: Array, x: Array) -> float:
    """What a coordinate at 0 must promise to be let in: columns that are alike come in turn."""
    most = max(1, int(GROWTH * np.count_nonzero(x)))
    ranked = np.sort(lures, axis=None)
    last = float(ranked[-most]) if most < ranked.size else 0.0
    return max(ENTERS * float(ranked[-1]), last)


def _price(problem: Problem) -> float:
    """What the blocks cost, in passes."""
    d = problem.shape[0]
    if problem.design.shape[1] > LARGEST_SIDE:
        return np.inf
    work = problem.design.gram_multiplications(True) + d**3 / 3.0 / BLAS3_GAIN
    return float(work / (2.0 * problem.design.nonzeros))


def _blocks(problem: Problem, s: State) -> Array:
    """A' diag(q (p_k (1 - p_k) + m/gamma)) A + diag(l2) for each class k."""
    least = s.memory["damping"] / problem.loss.gamma
    hess = s.memory["hess"]
    diagonals = hess[:, None] if hess.ndim == 1 else hess * (1.0 - hess)
    out = np.stack([weighted_gram(problem.design, problem.q * (w + least)) for w in diagonals.T])
    at = np.arange(out.shape[1])
    out[:, at, at] += problem.regularizer.l2.reshape(-1)
    return out
