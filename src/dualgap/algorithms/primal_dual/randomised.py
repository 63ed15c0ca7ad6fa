"""What the randomised algorithms share: seeds, the start, and the check after every few passes.

One step of a randomised algorithm is a few passes over a stream of rows, then a check: the product
A x, which gives P(x) and feeds the adaptation. The check visits the rows too and is counted.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.points import conjugate_at
from dualgap.algorithms.primal_dual.adaptation import known_curvature
from dualgap.algorithms.primal_dual.family import PrimalDual, first_state, with_dual
from dualgap.algorithms.primal_dual.sampling import Sampler, Stream, make_sampler
from dualgap.algorithms.primal_dual.state import update
from dualgap.problem import Problem
from dualgap.state import State, replace

EPOCHS = 2
"""So many passes are made between two checks."""
REFRESH = 20
"""Passes after which u is summed anew from y, so that rounding does not pile up in it."""


@dataclass(frozen=True)
class Randomised(PrimalDual):
    """Base of the randomised algorithms.

    Parameters
    ----------
    sampling : str or array of shape (n,), optional
        ``"uniform"`` (the default; ``"balanced"`` where whitened), ``"permuted"``, ``"runs"``,
        ``"importance"``, ``"balanced"`` or probabilities; see `sampling`.
    seed : int
        Decides which rows are visited.
    check_every : int
        Passes between two checks; each costs one more.
    """

    sampling: Any = None
    seed: int = 0
    check_every: int = EPOCHS

    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True, rows=True)

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        object.__setattr__(self, "check_every", check.integer("check_every", self.check_every))

    @property
    def passes_per_step(self) -> float:
        """Passes of one step."""
        return float(self.check_every)

    def stream(self, problem: Problem, s: State) -> Stream:
        """The rows that the next step visits."""
        sampler, first = self.sampler(problem, s.own.advice), int(s.passes)
        rows = sampler.rows(first)
        if self.check_every == 1:
            return rows
        stream = np.empty(rows.size * self.check_every, dtype=rows.dtype)
        for e in range(self.check_every):  # every pass has as many
            stream[e * rows.size : (e + 1) * rows.size] = sampler.rows(first + e) if e else rows
        return stream

    @abstractmethod
    def visit(self, problem: Problem, s: State, stream: Stream) -> State:
        """The points after one update for each row of the stream; nothing else is counted."""

    def prepare(self, problem: Problem, s: State) -> None:
        """Compile the kernel or load it from the cache: run it over no rows."""
        self.visit(problem, s, np.zeros(0, dtype=np.int64))

    def sampler(self, problem: Problem, advice: Advice = NO_ADVICE) -> Sampler:
        """The sampler for this problem (kept with its constants)."""
        kept: dict[Any, Sampler] = problem.constants.samplers
        named = self.sampling is None or isinstance(self.sampling, str)
        key = (self.sampling if named else np.asarray(self.sampling).tobytes(), self.seed, advice)
        if key not in kept:
            kept[key] = make_sampler(problem, self.sampling, self.seed, advice)
        return kept[key]

    def time_scale(self, problem: Problem, s: State) -> float:
        """1 + sqrt(R^2/(n gamma m)) passes, in steps."""
        m = problem.regularizer.strong_convexity + s.own.Delta
        if m <= 0.0:
            return math.inf
        passes = 1.0 + math.sqrt(s.own.Lam / (problem.n * problem.loss.known_gamma * m))
        return passes / self.passes_per_step


def start_estimate(problem: Problem, advice: Advice) -> float:
    """First estimate of delta mu^2/n: between lambda and the mean eigenvalue of A'QA."""
    if advice.curvature is not None:
        return known_curvature(problem, advice.curvature)
    mean = problem.constants.trace / problem.constants.gram_side / problem.loss.known_gamma
    mean = mean if mean > 0 else 1.0
    low = max(problem.regularizer.penalised_strength, 1e-6 * mean)
    return float(np.sqrt(mean * min(low, mean)))


def randomised_start(
    algorithm: Randomised,
    problem: Problem,
    x0: Array | None,
    y0: Array | None,
    *,
    Delta: float,
    dual_free: bool,
    advice: Advice,
) -> State:
    """The points of `first_state`, with Lam = R^2 and x_old = x."""
    R = algorithm.sampler(problem, advice).R
    s = first_state(
        algorithm, problem, x0, y0, Lam=R * R, Delta=Delta, dual_free=dual_free, advice=advice
    )
    return update(s, xt=s.x)


def passes_and_check(algorithm: Randomised, problem: Problem, s: State) -> State:
    """A few passes; then P and D: one product with A, and now and then one with A'."""
    stream = algorithm.stream(problem, s)
    problem.design.ledger.rows += stream.size
    s = algorithm.visit(problem, s, stream)
    del stream  # as long as the data have rows
    s = replace(s, t=s.t + 1, passes=s.passes + algorithm.check_every)
    z = problem.predict(s.x)
    cost = 1.0
    u = s.u
    if int(s.passes) % REFRESH == 0:
        u = problem.adjoint(s.y)
        cost += 1.0
    new = update(
        s, z=z, zt=z, u=u, primal=problem.primal(s.x, z), check_passes=s.check_passes + cost
    )
    conj, v = None, s.own.v
    if v is not None:
        conj = conjugate_at(problem, v, s.y, problem.mean_loss(v, s.y))
    return with_dual(problem, new, conj)
