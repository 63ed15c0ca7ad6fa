"""Regularisation paths: one problem for many strengths, each point started at the ones before.

Along a path l1 = lambda l1_ratio and l2 = lambda (1 - l1_ratio), from the largest lambda down. The
data, their constants and what a solver sets up for them are shared by the whole path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array, Data
from dualgap.algorithms import Algorithm
from dualgap.algorithms.primal_dual.adaptation import Rule
from dualgap.certificate import Certificate, Estimate, certify_point
from dualgap.designs.threads import within_threads
from dualgap.losses import Loss
from dualgap.memory import as_bytes, within_memory
from dualgap.paths._grid import MOST_POINTS, check_grid, lambda_grid, largest_lambda
from dualgap.paths._walk import Point, check_options, joined, walk
from dualgap.preconditioners import Preconditioner
from dualgap.problem import Problem
from dualgap.regularizers import Regularizer
from dualgap.status import Status
from dualgap.trace import Recorder

__all__ = [
    "MOST_POINTS",
    "Path",
    "Point",
    "joined",
    "lambda_grid",
    "largest_lambda",
    "path",
    "walk",
]


@dataclass(frozen=True, eq=False)
class Path:
    """The solutions along a path, from the largest lambda to the smallest.

    Attributes
    ----------
    lambdas : array of shape (k,)
        The strengths.
    x : array of shape (k, d) or (k, d, K)
        The coefficients.
    intercepts : array of shape (k,) or (k, K)
        The intercepts.
    y : array of shape (k, n) or (k, n, K)
        The dual points: ``certify`` gives the certificates from them. Empty where the rows of the
        data are not held.
    certificates : list of Certificate
        The proof of P(x) - P* <= gap at every point. The walk itself goes by gaps in floats; what
        is not proved yet is so when this is first looked at.
    relative_gaps : array of shape (k,)
        Those in floats, which cost nothing to look at.
    statuses : list of Status
        How every solve ended.
    passes : array of shape (k,)
        Passes over the data at every point.
    """

    lambdas: Array
    x: Array
    intercepts: Array
    y: Array
    relative_gaps: Array
    statuses: list[Status]
    passes: Array
    points: list[tuple[Problem, Certificate | Estimate]] = field(repr=False)
    """The problem at every point, and what is known of the gap there."""

    @cached_property
    def certificates(self) -> list[Certificate]:
        """The proofs."""
        pairs = zip(self.points, self.x, self.intercepts, self.y, strict=True)
        return [
            known
            if isinstance(known, Certificate)
            else certify_point(problem, problem.joined(x, c), y)
            for (problem, known), x, c, y in pairs
        ]

    def __getstate__(self) -> dict[str, Any]:
        """A pickle has the proofs, and not the data."""
        return {**self.__dict__, "certificates": self.certificates, "points": []}

    @property
    def converged(self) -> bool:
        """Whether every point is certified to the tolerance."""
        return all(status.converged for status in self.statuses)

    def __len__(self) -> int:
        """Number of points."""
        return len(self.lambdas)

    def __repr__(self) -> str:
        """One line."""
        worst = self.relative_gaps.max(initial=0.0)
        done = sum(status.converged for status in self.statuses)
        return (
            f"Path({len(self)} points, lambda {self.lambdas[0]:.3g} to {self.lambdas[-1]:.3g}, "
            f"{done} converged, largest relative gap {worst:.2g}, {self.passes.sum():g} passes)"
        )


def path(
    A: Data,
    b: Any = None,
    *,
    lambdas: Any = 100,
    l1_ratio: float = 1.0,
    eps: float = 1e-3,
    loss: str | Loss = "squared",
    penalty_weights: Any = None,
    regularizer: Regularizer | None = None,
    fit_intercept: bool = False,
    sample_weight: Any = None,
    offset: Any = None,
    algorithm: str | Algorithm = "auto",
    adapt: str | Rule | None = None,
    mu: float | None = None,
    schedule: str | None = None,
    precondition: str | Preconditioner = "auto",
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_time: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    callback: Recorder | None = None,
    verbose: bool = False,
    memory_limit: int | str | None = None,
) -> Path:
    """Solve for many strengths lambda, with l1 = lambda l1_ratio and l2 = lambda (1 - l1_ratio).

    The objective at each is that of `solve`: (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) +
    sum_j p_j (l1|x_j| + (l2/2)x_j^2). Each point starts from the ones before.

    Parameters
    ----------
    A, b, loss, penalty_weights, regularizer, fit_intercept, sample_weight, offset
        The problem, as in `Problem`; a regulariser such as ``NonNegative()`` gets its strengths
        from the path.
    lambdas : int or array
        The strengths; or how many (at most 100 000) there should be between the smallest one for
        which x = 0, and ``eps`` times that, evenly spaced in the logarithm.
    l1_ratio : float
        Share of the l1 penalty, in [0, 1]; 0 needs ``lambdas`` as an array.
    eps : float
        The smallest lambda over the largest, less than 1, where they are not given.
    algorithm, adapt, mu, schedule, precondition, tol, max_passes, max_time
        As in `solve`, for every point.
    random_state, n_threads, callback, verbose
        As in `solve`, for every point.
    memory_limit : int or str, optional
        As in `solve`, for the whole path, whose dual points have an entry for each row: rows of
        data on disk are held.

    Returns
    -------
    Path
    """
    ratio = check.real("l1_ratio", l1_ratio, low=0.0)
    if ratio > 1.0:
        raise ValueError(f"l1_ratio must be at most 1, got {ratio:g}.")
    options = {
        "algorithm": algorithm,
        "tol": tol,
        "max_passes": max_passes,
        "random_state": random_state,
        **_without_defaults(
            adapt=(adapt, None),
            mu=(mu, None),
            schedule=(schedule, None),
            precondition=(precondition, "auto"),
            max_time=(max_time, None),
            n_threads=(n_threads, None),
            callback=(callback, None),
            verbose=(verbose, False),
        ),
    }
    counted = isinstance(lambdas, int | np.integer) and not isinstance(lambdas, bool)
    check_grid(lambdas if counted else 1, eps)
    check_options(options)
    with within_memory(as_bytes("memory_limit", memory_limit)):
        with within_threads(n_threads):
            problem = Problem(
                A,
                b,
                loss=loss,
                penalty_weights=penalty_weights,
                regularizer=regularizer,
                fit_intercept=fit_intercept,
                sample_weight=sample_weight,
                offset=offset,
            )
            problem = problem.held()
        with within_threads(n_threads, problem.base.executor), problem.base.in_use():
            grid = lambda_grid(problem, ratio, lambdas, eps) if counted else _given(lambdas)
            strengths = [(v * ratio, v * (1.0 - ratio)) for v in grid]
            results = list(walk(problem, strengths, **options))
        return Path(
            lambdas=grid,
            x=np.stack([r.x for r in results]),
            intercepts=np.stack([np.asarray(r.intercept) for r in results]),
            y=np.stack([r.y for r in results]),
            relative_gaps=np.array([r.certificate.relative_gap for r in results]),
            statuses=[r.status for r in results],
            passes=np.array([r.passes for r in results]),
            points=[
                (problem.with_strengths(*pair), r.certificate)
                for pair, r in zip(strengths, results, strict=True)
            ],
        )


def _without_defaults(**options: tuple[Any, Any]) -> dict[str, Any]:
    """The options that are not at their default: any of these makes every point a solve."""

    def given(value: Any, default: Any) -> bool:
        return value is not default and not (isinstance(value, str) and value == default)

    return {name: pair[0] for name, pair in options.items() if given(*pair)}


def _given(lambdas: Any) -> Array:
    """Strengths of the user's, in descending order."""
    values = check.numeric("lambdas", lambdas)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"lambdas must be a number of points or a list of strengths, got {lambdas!r}."
        )
    grid = check.nonnegative(
        "lambdas", values, values.size, what="point", zero="for no regulariser"
    )
    return np.sort(grid)[::-1]
