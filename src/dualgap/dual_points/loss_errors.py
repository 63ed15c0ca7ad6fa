"""What an error of z can do to the loss's part of a gap, h(z) = phi(z) + phi*(y) - y z.

h is >= 0. Where phi is 1/gamma-smooth, so is h in z: |h'|^2 <= 2 h/gamma, and

    h(z + e) <= (sqrt(h(z)) + |e|/sqrt(2 gamma))^2,   summed up by Minkowski's inequality.

Without a gamma phi'' is bounded by H_i between z_i - r_i and z_i + r_i, where |e_i| <= r_i: of an
error of which only |e|_Q <= E is known no entry is larger than r_i = E/sqrt(q_i). Then

    h(z + e) <= h(z) + |phi'(z) - y| |e| + H e^2/2,

summed up by the inequality of Cauchy and Schwarz. Both are true bounds, the one as the other.
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._types import Array
from dualgap.linalg.rounding import UNIT
from dualgap.problem import Problem

ROUNDINGS = 32.0
"""Formulas that are not accurate are taken to lose so many roundings of `Loss.terms`."""
SAFE = 1.0 + 1e-12
"""Bounds are raised by this factor, for the roundings that they have themselves."""


def largest_within(
    problem: Problem,
    value: float,
    z: Array,
    error: float,
    y: Array | None = None,
    reach: float = 0.0,
) -> float:
    """The most that sum_i q_i h_i can be at predictions that are |e|_Q <= error from z.

    Parameters
    ----------
    problem : Problem
    value : float
        sum_i q_i h_i at z.
    z : array
    error : float
        A bound on |e|_Q.
    y : array, optional
        The dual point of h; 0 if not given, so that h is phi less its infimum.
    reach : float
        h is meant at a dual point that is as far as this from y, in |.|_Q.
    """
    gamma, value = problem.loss.gamma, max(value, 0.0)
    if gamma is not None:
        root = math.sqrt(value) + error / math.sqrt(2.0 * gamma)
        return root * root  # may be inf, where a power would raise
    if error == 0.0:
        return value
    grad = problem.loss.grad(z, problem.b)
    slope = grad if y is None else grad - y
    largest = steepest(problem, z, error)
    # phi'(z) is rounded, too: in its last bits, and like an error of z.
    rounded = 4.0 * UNIT * (_norm(problem, grad) + largest * _norm(problem, 1.0 + np.abs(z)))
    size = SAFE * (_norm(problem, slope) + rounded) + reach
    return (value + SAFE * error * (size + 0.5 * largest * error)) * (1.0 + 4.0 * UNIT)


def _norm(problem: Problem, values: Array) -> float:
    return math.sqrt(problem.inner(values, values))


def steepest(problem: Problem, z: Array, error: float) -> float:
    """At least phi'' on the way to any prediction that is |e|_Q <= error from z."""
    gamma = problem.loss.gamma
    if gamma is not None:
        return 1.0 / gamma
    counts = problem.q > 0.0
    b, z = problem.b[counts], z[counts]
    r = SAFE * (error / np.sqrt(problem.q[counts])) + 2.0 * UNIT * np.abs(z)
    bound = float(problem.loss.hess_bound(z - r, z + r, b).max(initial=0.0))
    return SAFE * bound if bound == bound else math.inf


def cancelled(problem: Problem, z: Array, y: Array, phi: float, length: float) -> float:
    """What roundings leave of phi + phi* - y z where it is a difference of larger terms.

    ``length`` is |y|_Q.
    """
    left = 16.0 * UNIT * (phi + length * math.sqrt(problem.inner(z, z)))
    return left + noise(problem, z, y)


def noise(problem: Problem, z: Array, y: Array | None = None) -> float:
    """What roundings leave of phi, or of phi + phi* - y z, in formulas that are not accurate."""
    loss = problem.loss
    if loss.is_accurate:
        return 0.0
    return (
        ROUNDINGS
        * UNIT
        * problem.mean(loss.terms(z, np.zeros_like(z) if y is None else y, problem.b))
    )
