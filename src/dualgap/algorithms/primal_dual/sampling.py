"""Seeds to index streams: which rows a randomised algorithm visits, and with what probability.

The stream of pass number e is a function of (seed, e) alone, so a run can be cut anywhere and
continued exactly. With weights q_i and probabilities p_i, the primal step sees (q_i/p_i)(y+ -
y_i)a_i, and R^2 = max_i |a_i|^2 q_i/p_i takes the place of max |a_i|^2 in the steps (sigma_i =
sigma).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap._names import lookup
from dualgap._types import Array
from dualgap.algorithms.contract import NO_ADVICE, Advice
from dualgap.problem import Problem

Stream = np.ndarray[Any, np.dtype[np.int64]]
"""Numbers of rows, in the order in which they are visited."""

NAMES = {
    "uniform": "with replacement, p_i = q_i: uniform without weights (the paper's)",
    "permuted": "every row once a pass, in random order",
    "runs": "the same, in runs of eight rows that lie together: memory reads ahead",
    "importance": "with replacement, p_i = q_i/2 + (1/2) q_i |a_i|^2 / sum q |a|^2",
    "balanced": "p as importance; row i comes n p_i times a pass, rounded up or down at random, in "
    "random order",
}

RUN = 8
"""A run has so many rows, which lie together."""


@dataclass(frozen=True)
class Sampler:
    """Probabilities, their consequences, and the streams."""

    p: Array
    """Probability of each row."""
    ratio: Array
    """q_i/p_i, 0 for rows that are never drawn."""
    R: float
    permuted: bool
    seed: int
    balanced: bool = False
    run: int = 1
    """How many rows that lie together a permutation keeps together."""
    least: float = field(init=False)
    """The smallest positive probability."""
    even: bool = field(init=False)
    """All rows have the same probability."""

    def __post_init__(self) -> None:
        """Fill in what follows from p."""
        object.__setattr__(self, "least", float(self.p[self.p > 0].min()))
        object.__setattr__(self, "even", bool((self.p == self.least).all()))

    def rows(self, epoch: int) -> Stream:
        """The rows of one pass."""
        rng = np.random.default_rng([self.seed, epoch])
        n = self.p.size
        if self.permuted:
            count = n if self.even else np.count_nonzero(self.p)
            order = rng.permutation(np.arange(0, count, self.run))
            if self.run > 1:
                order = (order[:, None] + np.arange(self.run)).ravel()
                order = order[order < count]
            order = order if self.even else np.flatnonzero(self.p > 0)[order]
            return np.asarray(order, dtype=np.int64)
        if self.even:
            return rng.integers(0, n, n, dtype=np.int64)
        edges = np.cumsum(self.p)
        if self.balanced:
            # One random number places n evenly spaced points on the rows' intervals.
            points = (np.arange(n) + rng.random()) * (edges[-1] / n)
            return rng.permutation(np.searchsorted(edges, points, side="right"))
        drawn = np.searchsorted(edges, rng.random(n) * edges[-1], side="right")
        return np.asarray(np.minimum(drawn, np.flatnonzero(self.p > 0)[-1]), dtype=np.int64)


def _short(values: Array) -> Array:
    """One number that stands for all, where they are the same."""
    same = bool((values == values[0]).all())
    return np.broadcast_to(values[0].copy(), values.shape) if same else values


def make_sampler(problem: Problem, sampling: Any, seed: int, advice: Advice = NO_ADVICE) -> Sampler:
    """Turn a name or an array of probabilities into a sampler.

    Raises
    ------
    ValueError
        If probabilities do not sum to one, or are zero on a row with weight.
    """
    q = problem.q
    norms = problem.design.row_norms_sq()
    if advice.row_curvature is not None:
        norms = norms * advice.row_curvature
    if sampling is None:
        sampling = advice.sampling
    permuted = isinstance(sampling, str) and sampling in ("permuted", "runs")
    balanced = isinstance(sampling, str) and sampling == "balanced"
    if isinstance(sampling, str):
        lookup("sampling", sampling, NAMES)
        if permuted:
            p = (q > 0) / np.count_nonzero(q)
        elif sampling in ("importance", "balanced"):
            weighted = q * norms
            total = float(weighted.sum())
            p = 0.5 * q + 0.5 * weighted / total if total > 0 else q
        else:
            p = q
    else:
        p = check.nonnegative(
            "sampling", sampling, problem.n, what="row of A", zero="for rows without weight only"
        )
        if abs(float(p.sum()) - 1.0) > 1e-9:
            raise ValueError(f"sampling must sum to 1, got {float(p.sum()):g}; divide by the sum.")
        hidden = (q > 0) & (p == 0)
        if hidden.any():
            at = int(np.flatnonzero(hidden)[0])
            raise ValueError(
                f"sampling[{at}] = 0, but row {at} has weight; give it a positive probability."
            )
    ratio = np.divide(q, p, out=np.zeros(q.shape), where=p > 0)
    R = math.sqrt(float((norms * ratio).max()))
    return Sampler(
        p=_short(np.array(p)),
        ratio=_short(ratio),
        R=R if R > 0 else 1.0,
        permuted=permuted,
        seed=seed,
        balanced=balanced,
        run=RUN if isinstance(sampling, str) and sampling == "runs" else 1,
    )
