"""Regularisation paths: one problem for many strengths, each solve started at the last solution.

Along a path l1 = lambda l1_ratio and l2 = lambda (1 - l1_ratio), from the largest lambda down. The
data, their constants and what a solver sets up for them are shared by the whole path.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from dualgap import _validation as check
from dualgap._types import Array, Data
from dualgap.certificate import Certificate
from dualgap.problem import Problem
from dualgap.result import Result
from dualgap.status import Status


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
        The dual points: ``certify`` gives the certificates from them.
    certificates : list of Certificate
        The bound on P(x) - P* at every point.
    statuses : list of Status
        How every solve ended.
    passes : array of shape (k,)
        Passes over the data at every point.
    """

    lambdas: Array
    x: Array
    intercepts: Array
    y: Array
    certificates: list[Certificate]
    statuses: list[Status]
    passes: Array

    @property
    def converged(self) -> bool:
        """Whether every point is certified to the tolerance."""
        return all(status.converged for status in self.statuses)

    def __len__(self) -> int:
        """Number of points."""
        return len(self.lambdas)

    def __repr__(self) -> str:
        """One line."""
        worst = max((c.relative_gap for c in self.certificates), default=0.0)
        done = sum(status.converged for status in self.statuses)
        return (
            f"Path({len(self)} points, lambda {self.lambdas[0]:.3g} to {self.lambdas[-1]:.3g}, "
            f"{done} converged, largest relative gap {worst:.2g}, {self.passes.sum():g} passes)"
        )


def path(
    A: Data,
    b: Any,
    *,
    lambdas: Any = 100,
    l1_ratio: float = 1.0,
    eps: float = 1e-3,
    loss: Any = "squared",
    penalty_weights: Any = None,
    fit_intercept: bool = False,
    sample_weight: Any = None,
    offset: Any = None,
    **options: Any,
) -> Path:
    """Solve for many strengths lambda, with l1 = lambda l1_ratio and l2 = lambda (1 - l1_ratio).

    The objective at each is that of `solve`: (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) +
    sum_j p_j (l1|x_j| + (l2/2)x_j^2). Each solve starts at the solution of the one before.

    Parameters
    ----------
    A, b, loss, penalty_weights, fit_intercept, sample_weight, offset
        The problem, as in `Problem`.
    lambdas : int or array
        The strengths; or how many there should be between the smallest one for which x = 0, and
        ``eps`` times that, evenly spaced in the logarithm.
    l1_ratio : float
        Share of the l1 penalty, in [0, 1]; 0 needs ``lambdas`` as an array.
    eps : float
        The smallest lambda over the largest, where they are not given.
    options
        What `Problem.solve` takes, for every point: algorithm, tol, max_passes, ...

    Returns
    -------
    Path
    """
    ratio = check.real("l1_ratio", l1_ratio, low=0.0)
    if ratio > 1.0:
        raise ValueError(f"l1_ratio must be at most 1, got {ratio:g}.")
    for name in ("x0", "y0", "state"):
        if name in options:
            raise ValueError(f"{name} belongs to one solve; a path chooses its own starts.")
    problem = Problem(
        A,
        b,
        loss=loss,
        penalty_weights=penalty_weights,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        offset=offset,
    )
    if isinstance(lambdas, int | np.integer) and not isinstance(lambdas, bool):
        grid = lambda_grid(problem, ratio, check.integer("lambdas", lambdas), eps)
    else:
        grid = _given(lambdas)
    results = list(walk(problem, ((v * ratio, v * (1.0 - ratio)) for v in grid), **options))
    return Path(
        lambdas=grid,
        x=np.stack([r.x for r in results]),
        intercepts=np.stack([np.asarray(r.intercept) for r in results]),
        y=np.stack([r.y for r in results]),
        certificates=[r.certificate for r in results],
        statuses=[r.status for r in results],
        passes=np.array([r.passes for r in results]),
    )


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


def walk(
    problem: Problem, strengths: Iterable[tuple[float, float]], **options: Any
) -> Iterator[Result]:
    """Solve for each (l1, l2), from the solution before; an interrupt ends the walk.

    Parameters
    ----------
    problem : Problem
        Its data are shared by all; its own strengths do not matter.
    strengths : iterable of (l1, l2)
        In the order in which to solve.
    options
        What `Problem.solve` takes. ``x0`` (with the intercept) and ``y0`` start the first.
    """
    start: dict[str, Any] = {k: options.pop(k) for k in ("x0", "y0") if k in options}
    behind: list[_Stop] = []
    result: Result | None = None
    for l1, l2 in strengths:
        problem = problem.replace(l1=l1, l2=l2)
        if result is not None:
            start = {**_ahead(problem, *behind), "earlier": result.state}
        result = problem.solve(**start, **options)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        here = _Stop(l1 + l2, joined(result, problem.fit_intercept), result.y)
        behind = [*behind[-2:], here]
        yield result


class _Stop(NamedTuple):
    """A point of the walk."""

    strength: float
    x: Array
    y: Array


def _ahead(problem: Problem, *behind: _Stop) -> dict[str, Array]:
    """Where to start: the last two or three points, continued by a polynomial in log lambda.

    With l1 it is a line: a coefficient that is 0 stays 0, and one that would change its sign
    becomes 0.
    """
    behind = behind[-2:] if problem.l1 > 0 else behind
    last = behind[-1]
    strength = problem.l1 + problem.l2
    if min(strength, *(stop.strength for stop in behind)) <= 0.0:
        return {"x0": last.x, "y0": last.y}
    shares = _shares([math.log(stop.strength) for stop in behind], math.log(strength))
    x, y = np.zeros_like(last.x), np.zeros_like(last.y)
    for share, stop in zip(shares, behind, strict=True):
        x += share * stop.x
        y += share * stop.y
    if problem.l1 > 0:
        d = problem.d
        x[:d] = np.where(np.sign(x[:d]) == np.sign(last.x[:d]), x[:d], 0.0)
    return {"x0": x, "y0": problem.loss.into_domain(y, problem.b)}


def _shares(at: list[float], where: float) -> list[float]:
    """Of the values at these points, in the polynomial through them at the next one (Lagrange).

    Points that are much nearer to each other than the next one is to them, or out of order, would
    only magnify what is left in them of errors: they get no share.
    """
    strides = np.diff([*at, where])
    kept = 1
    while kept < len(at) and 0.5 < strides[-1 - kept] / (strides[-1] or np.inf) < np.inf:
        kept += 1
    near = at[-kept:]
    shares = [
        math.prod((where - q) / (p - q) for k, q in enumerate(near) if k != j)
        for j, p in enumerate(near)
    ]
    return [0.0] * (len(at) - kept) + shares


def joined(result: Result, fit_intercept: bool) -> Array:
    """x0 of the next solve: the coefficients, and the intercept below them."""
    if not fit_intercept:
        return result.x
    return np.concatenate((result.x, np.reshape(result.intercept, (1, *result.x.shape[1:]))))


# ---- the grid ----


def lambda_grid(problem: Problem, l1_ratio: float, count: int, eps: float) -> Array:
    """``count`` strengths from `largest_lambda` down to ``eps`` times it."""
    eps = check.real("eps", eps, low=0.0, strict=True)
    if l1_ratio == 0.0:
        raise ValueError(
            "without l1 no lambda is large enough for x = 0, so a grid cannot be made up "
            "(l1_ratio=0); give the lambdas."
        )
    top = largest_lambda(problem) / l1_ratio
    tiny = float(np.finfo(np.float64).resolution)
    if top <= tiny:
        return np.full(count, tiny)
    return np.geomspace(top, top * eps, num=count)


def largest_lambda(problem: Problem) -> float:
    """The smallest l1 for which x = 0: max_j |A'Q phi'(c + offset)|_j / p_j at the best c."""
    weights = problem.penalty_weights
    if not weights.all():
        raise ValueError(
            "penalty_weights leave a column free, so that x = 0 at no strength; give the lambdas."
        )
    z = problem.predict_zero()
    if problem.fit_intercept:
        z = z + _null_intercept(problem)
    u = problem.adjoint(problem.loss.grad(z, problem.b))[: problem.d]
    return float(np.max(np.abs(u) / weights.reshape(-1, *[1] * (u.ndim - 1))))


def _null_intercept(problem: Problem) -> Any:
    """The best intercept where x = 0."""
    loss, b = problem.loss, problem.b
    offset = 0.0 if problem.offset is None else problem.offset
    if problem.outputs is not None:
        if problem.offset is not None:
            raise ValueError("with an offset and several classes, give the lambdas.")
        share = np.bincount(b.astype(np.intp), weights=problem.q, minlength=problem.outputs)
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(share), -700.0)
    if loss.is_quadratic:
        return problem.mean(b - offset)

    def slope(c: float) -> float:
        return problem.mean(loss.grad(c + offset + np.zeros(problem.n), b))

    low, high = -1.0, 1.0
    while slope(low) > 0 and low > -1e12:
        low *= 2.0
    while slope(high) < 0 and high < 1e12:
        high *= 2.0
    if slope(low) * slope(high) >= 0:  # flat: one class only, or a tie
        return low if abs(slope(low)) < abs(slope(high)) else high
    return float(brentq(slope, low, high, xtol=1e-14, rtol=1e-15))
