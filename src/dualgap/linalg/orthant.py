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


class OnOrthant:
    """The system of the first line.

    Parameters
    ----------
    product : callable
        p -> H p.
    r : array
        The right-hand side of the first line, 0 on what is not free.
    l2 : array
        What is added to the diagonal of H.
    free : mask
        The coordinates F.
    inverse : Inverse
        The preconditioner.
    """

    def __init__(
        self,
        product: Callable[[Array], Array],
        r: Array,
        l2: Array,
        free: Mask,
        inverse: Inverse,
    ) -> None:
        self.product, self.l2, self.free, self.inverse = product, l2, free, inverse
        self.run = ConjugateGradients.begun(r)
        self.run.turn(inverse(r))
        self.products = 0
        """The products with H that were made."""

    def solve(
        self, is_solved: Callable[[ConjugateGradients], bool], most: int, work: float
    ) -> Array:
        """d, by at most so many products, each of which takes so many multiplications."""
        run, limits = self.run, current()
        while self.products < most and not is_solved(run) and not limits.ends(work):
            assert run.p is not None
            self.products += 1
            Hp = self.product(run.p) + self.l2 * run.p
            if not run.advance(np.where(self.free, Hp, 0.0)):
                break
            run.turn(self.inverse(run.r))
        return run.d


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
