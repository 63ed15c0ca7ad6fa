"""Newton's step within the orthant of the present signs s, where g is a quadratic.

    H_FF d = -(u + l1 s + l2 x)_F    by conjugate gradients, over the coordinates F that are free
    x(t) = x + t d, what would change its sign being set to 0

The projection in x(t) is how coordinates leave. Where it spoils the step, the first coordinate that
reaches 0 is where the step may end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap._types import Array, Mask
from dualgap.limits import current
from dualgap.linalg.conjugate_gradients import ConjugateGradients

Inverse = Callable[[Array], Array]
"""r -> M^(-1) r for a matrix M that stands for that of the model on F; 0 where r is."""


def solve_on_orthant(
    product: Callable[[Array], Array],
    r: Array,
    free: Mask,
    inverse: Inverse,
    is_solved: Callable[[ConjugateGradients, float], bool],
    most: int,
    work: float,
) -> tuple[ConjugateGradients, int]:
    """The run that has the d of the first line, and the products that it took.

    Parameters
    ----------
    product : callable
        p -> (H + diag(l2)) p, which is asked for on what is free.
    r : array
        The right-hand side, 0 on what is not free.
    free : mask
        The coordinates F.
    inverse : Inverse
        The preconditioner.
    is_solved : callable
        Whether a run is good enough, of which r'M^(-1)r was so much at first.
    most : int
        The most products, of which each takes so many multiplications as ``work`` says.
    """
    run, count, limits = ConjugateGradients.begun(r), 0, current()
    run.turn(inverse(run.r))
    first = run.rho
    while count < most and not is_solved(run, first) and not limits.ends(work):
        assert run.p is not None
        count += 1
        if not run.advance(np.where(free, product(run.p), 0.0)):
            break
        run.turn(inverse(run.r))
    return run, count


class Ray:
    """The points x(t) of the second line.

    Parameters
    ----------
    x, d : array
    signs : array
        The signs s, which may be those of coordinates that are still 0.
    l1 : array
        What has none may change its sign.
    """

    def __init__(self, x: Array, d: Array, signs: Array, l1: Array) -> None:
        self.x, self.d, self.signs, self.l1 = x, d, signs, l1
        self.crossing = (l1 > 0.0) & (x * (x + d) < 0.0)
        crossing = self.crossing
        self.first = float(np.min(-x[crossing] / d[crossing], initial=1.0))
        """The length at which the first coordinate reaches 0; 1 if none does."""

    @property
    def lengths(self) -> list[float]:
        """The lengths to try, one after the other: the last end at the first zero or before."""
        last = min(self.first, 0.25)
        return list(dict.fromkeys((1.0, 0.5, 0.25, *(last * 0.25**k for k in range(4)))))

    def at(self, t: float) -> Array:
        """The point x(t)."""
        x = self.x + t * self.d
        x = np.where((self.l1 > 0.0) & (np.sign(x) != self.signs), 0.0, x)
        if t == self.first:  # to 0, whatever the rounding
            x[self.crossing & (np.abs(x) <= 1e-15 * np.abs(self.x))] = 0.0
        return x
