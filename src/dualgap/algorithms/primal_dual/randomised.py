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
from dualgap._arrays import cache_lines
from dualgap._types import Array
from dualgap.algorithms.contract import Algorithm
from dualgap.algorithms.needs import Needs
from dualgap.algorithms.primal_dual.adaptation import known_curvature
from dualgap.algorithms.primal_dual.batch import conjugate_at, first_state, with_dual
from dualgap.algorithms.primal_dual.sampling import Rows, Sampler, make_sampler
from dualgap.problem import Problem
from dualgap.state import State, replace

EPOCHS = 2
"""Passes between two checks."""
REFRESH = 20
"""Passes after which u is summed anew from y, so that rounding does not pile up in it."""


@dataclass(frozen=True)
class Randomised(Algorithm):
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

    requires: ClassVar[Needs] = Needs(gamma=True, compiled_loss=True)

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        object.__setattr__(self, "check_every", check.integer("check_every", self.check_every))

    @property
    def passes_per_step(self) -> float:
        """Passes of one step."""
        return float(self.check_every)

    def stream(self, problem: Problem, s: State) -> Rows:
        """The rows that the next step visits."""
        sampler, first = self.sampler(problem), int(s.passes)
        return np.concatenate([sampler.rows(first + e) for e in range(self.check_every)])

    @abstractmethod
    def visit(self, problem: Problem, s: State, stream: Rows) -> State:
        """The points after one update for each row of the stream; nothing else is counted."""

    def prepare(self, problem: Problem, s: State) -> None:
        """Compile the kernel or load it from the cache: run it over no rows."""
        self.visit(problem, s, np.zeros(0, dtype=np.int64))

    def sampler(self, problem: Problem) -> Sampler:
        """The sampler for this problem (kept with its constants)."""
        kept: dict[Any, Sampler] = problem.constants.samplers
        named = self.sampling is None or isinstance(self.sampling, str)
        key = (self.sampling if named else np.asarray(self.sampling).tobytes(), self.seed)
        if key not in kept:
            kept[key] = make_sampler(problem, self.sampling, self.seed)
        return kept[key]

    def time_scale(self, problem: Problem, s: State) -> float:
        """1 + sqrt(R^2/(n gamma m)) passes, in steps."""
        m = problem.regularizer.strong_convexity + s.Delta
        if m <= 0.0:
            return math.inf
        passes = 1.0 + math.sqrt(s.Lam / (problem.n * problem.loss.known_gamma * m))
        return passes / self.passes_per_step


def distinct_rows(problem: Problem, sampler: Sampler) -> int:
    """1 if all rows have the same weight, probability and offset, else n.

    Sparse kernels then read one entry of each instead of fetching one for every row.
    """
    return 1 if problem.uniform and sampler.even and problem.offset is None else problem.n


def sparse_lines(d: int, *columns: Array, width: int = 4) -> Array:
    """Lines of d coordinates and one more for an intercept, with these first columns."""
    lines = cache_lines(d + 1, width)
    for k, values in enumerate(columns):
        lines[: values.size, k] = values
    return lines


def start_estimate(problem: Problem) -> float:
    """First estimate of delta mu^2/n: between lambda and the mean eigenvalue of A'QA."""
    if problem.curvature is not None:
        return known_curvature(problem, problem.curvature)
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
) -> State:
    """The points of `first_state`, with Lam = R^2 and x_old = x."""
    R = algorithm.sampler(problem).R
    state = first_state(algorithm, problem, x0, y0, Lam=R * R, Delta=Delta, dual_free=dual_free)
    return replace(state, xt=state.x)


def passes_and_check(algorithm: Randomised, problem: Problem, s: State) -> State:
    """A few passes; then P and D: one product with A, and now and then one with A'."""
    s = algorithm.visit(problem, s, algorithm.stream(problem, s))
    s = replace(s, t=s.t + 1, passes=s.passes + algorithm.check_every)
    z = problem.predict(s.x)
    cost = 1.0
    u = s.u
    if int(s.passes) % REFRESH == 0:
        u = problem.adjoint(s.y)
        cost += 1.0
    new = replace(
        s, z=z, zt=z, u=u, primal=problem.primal(s.x, z), check_passes=s.check_passes + cost
    )
    conj = None
    if s.v is not None:
        conj = conjugate_at(problem, s.v, s.y, problem.mean_loss(s.v, s.y))
    return with_dual(problem, new, conj)
