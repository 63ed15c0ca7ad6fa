"""Whole trajectories of an algorithm, stepped through its own `start` and `step`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dualgap.algorithms.primal_dual.schedules import Steps

from .reference import long


@dataclass(frozen=True)
class Run:
    """Iterates as rows, t = 0, 1, ..., and the steps that were to be taken from each."""

    X: np.ndarray
    Y: np.ndarray
    V: np.ndarray | None
    steps: list[Steps]


def follow(algorithm, problem, x0=None, y0=None, *, small=1e-12, iterations=None):
    """Keep every iterate until rate^t < small, or for so many iterations."""
    s = algorithm.start(problem, x0, y0).state
    if iterations is None:
        iterations = iterations_until(s.own.steps.rate, small)
    states = [s]
    for _ in range(iterations):
        s = algorithm.step(problem, s)
        states.append(s)
    return Run(
        np.array([s.x for s in states]),
        np.array([s.y for s in states]),
        None if s.own.v is None else np.array([s.own.v for s in states]),
        [s.own.steps for s in states],
    )


def iterations_until(rate, small):
    """The first t with rate^t < small."""
    return math.ceil(math.log(small) / math.log(rate))


def powers(rate, count):
    """rate^t for t = 0, ..., count - 1."""
    return long(rate) ** np.arange(count)


def partners(problem, saddle, Y):
    """V with Y = phi'(V), to extended precision."""
    b = np.tile(problem.b, len(Y))
    V = problem.loss.conj_grad(Y.ravel(), b).reshape(Y.shape)
    return saddle.phi.inverse_grad(long(Y), long(V))


def starts(case, saddle):
    """Points (x0, y0) to start from: along the slowest and the fastest direction, and at random.

    From (x*, y*) + (slowest direction, 0) the bound holds with equality at t = 0.
    """
    rng = np.random.default_rng(2017)
    x, y = saddle.x.astype(float), saddle.y.astype(float)
    directions = np.linalg.eigh(case.A.T @ (case.problem.q[:, None] * case.A))[1]
    slow, fast = directions[:, 0], directions[:, -1]
    return {
        "slow x": (x + slow, y),
        "fast x": (x + fast, y),
        "fast y": (x, y + case.A @ fast),
        "random": (x + rng.standard_normal(x.size), y + rng.standard_normal(y.size)),
        "far": (x + 100.0 * rng.standard_normal(x.size), 30.0 * rng.standard_normal(y.size)),
    }
