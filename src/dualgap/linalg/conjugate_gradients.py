"""Conjugate gradients for H d = r, one step at a time.

Who runs them applies H and the preconditioner M^(-1), and says when to end:

    run = ConjugateGradients.begun(r)
    run.turn(M^(-1) run.r)
    while ...:
        if not run.advance(H run.p): break      # H is flat along p, or precision has ended
        run.turn(M^(-1) run.r)

So a run can be interrupted anywhere and taken up again, H may be applied in several ways, and what
belongs to d (such as A d) is carried along with ``run.length`` and ``run.p``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array


@dataclass(eq=False)
class ConjugateGradients:
    """A system H d = r that is being solved; d, r and p are changed in place."""

    d: Array
    """The answer so far."""
    r: Array
    """What is left of the system, as the recurrence carries it along."""
    p: Array | None = None
    """The next direction; None before the first."""
    rho: float = 0.0
    """The square of r in the norm of the preconditioner: r'M^(-1) r."""
    gain: float = 0.0
    """By how much d lowers the quadratic model (1/2) d'Hd - r'd."""
    count: int = 0
    """The number of steps taken."""
    length: float = 0.0
    """The length of the last step along its direction."""

    @classmethod
    def begun(cls, r: Array) -> ConjugateGradients:
        """The system of which nothing is solved yet; r is changed in place from now on."""
        return cls(np.zeros_like(r), r)

    def copy(self) -> ConjugateGradients:
        """The same run, in arrays of its own."""
        p = None if self.p is None else self.p.copy()
        return ConjugateGradients(
            self.d.copy(), self.r.copy(), p, self.rho, self.gain, self.count, self.length
        )

    def advance(self, Hp: Array, flat: float = 0.0) -> bool:
        """A step along p; False, and none, where p'Hp is not above ``flat``."""
        assert self.p is not None
        curvature = dot(self.p, Hp)
        if not (curvature > flat and self.rho > 0.0):
            return False
        self.length = self.rho / curvature
        self.d += self.length * self.p
        self.r -= self.length * Hp
        self.gain += 0.5 * self.length * self.rho
        self.count += 1
        return True

    def turn(self, search: Array) -> None:
        """The next direction, from M^(-1) r: conjugate to the last one."""
        rho = dot(self.r, search)
        if self.p is None:
            self.p = np.array(search)
        else:
            self.p *= rho / self.rho
            self.p += search
        self.rho = rho

    def restart(self, search: Array) -> None:
        """The next direction is M^(-1) r alone: the preconditioner or r has changed."""
        self.p = None
        self.turn(search)
