"""Residual smoothing: a mix of the answers of conjugate gradients whose residual only falls.

The d of conjugate gradients lower the quadratic most, but their residuals go up and down. On the
line from the mix to the next d the point with the smallest residual is known (Schoenauer; Zhou and
Walker, 1994). The squared residuals of the mix are the harmonic sum of all since it began, so that
the last few are all that counts.
"""

from __future__ import annotations

from typing import NamedTuple

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.linalg.conjugate_gradients import ConjugateGradients


class Smoothed(NamedTuple):
    """A mix of the answers so far, whose coefficients add up to 1; its arrays change in place."""

    d: Array
    """The mix itself."""
    Ad: Array
    """The product A d."""
    left: Array
    """What is left of the system there, r - H d."""

    def take(self, run: ConjugateGradients, Ad: Array, inverse: Array) -> None:
        """Go on to the best point on the way to ``run.d``, by r' diag(inverse) r."""
        way = run.r - self.left
        length = dot(inverse * way, way)
        share = -dot(inverse * self.left, way) / length if length > 0.0 else 1.0
        share = min(max(share, 0.0), 1.0)
        self.left[:] += share * way
        self.d[:] += share * (run.d - self.d)
        self.Ad[:] += share * (Ad - self.Ad)
