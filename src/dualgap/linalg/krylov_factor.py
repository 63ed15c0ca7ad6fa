"""What stands in for a factor of H = A'WA + diag(l2) where none can be had: H in a Krylov space.

With p the weights of the penalty, l2 = s p, and the intercept eliminated, h and k being its column
of H and its corner, C = A'WA - hh'/k is taken to be V'TV on the space of V, in the variables
diag(p)^(1/2) d, and the smallest eigenvalue of T outside of it. The space is that of one system:
its solution is right but for `KNOWN`, those of systems nearby are nearly so.
"""

from __future__ import annotations

import math

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.intercept import InterceptDesign
from dualgap.designs.tasks import product_pair, weigh
from dualgap.linalg.hessian_factor import HessianFactor, cost
from dualgap.linalg.lanczos import Lanczos

KNOWN = 1e-3
"""A Krylov space is large enough once it leaves this share of the system it is made for."""
FEW, MOST = 2, 40
"""A Krylov space has so many vectors at least, and so many at most."""
LARGEST = 2.0
"""A basis has at most this many times the entries of the data, or `ALWAYS` vectors."""
LONGEST = 300
"""A basis of more vectors than this takes longer than what it spares."""
FACTORISED = 10.0
"""H is factorised if that costs no more passes over the data than this."""
ALWAYS = 20
"""A basis of up to so many vectors is never too large, whatever the data."""


def factor_nearby(
    design: Design, w: Array, l2: Array, r: Array, known: HessianFactor | KrylovFactor | None
) -> tuple[HessianFactor | KrylovFactor, float]:
    """A factor of H, or what stands in for it where that would take too long; and its passes.

    ``r`` is the system that is next to be solved, ``known`` the last factor with the same l2.
    """
    outer, last = None, None
    if isinstance(known, HessianFactor):
        outer, last = known.outer, known.last
    passes = cost(design, l2, outer_known=outer is not None)
    if passes <= FACTORISED:
        return HessianFactor(design, w, l2, outer=outer, last=last), passes
    stand_in = KrylovFactor(design, w, l2, r)
    return stand_in, float(stand_in.space.size)


class KrylovFactor:
    """An approximate inverse of A'WA + diag(l2), for every multiple of l2.

    Parameters
    ----------
    design : Design
        A, maybe with the column of an intercept, which has no l2.
    w : array of shape (n,)
        The diagonal of W.
    l2 : array
    r : array
        The system that it is made for.
    """

    is_exact, is_narrow, outer, passes = False, False, None, 0.0

    def __init__(self, design: Design, w: Array, l2: Array, r: Array) -> None:
        base = design.base if isinstance(design, InterceptDesign) else design
        d = base.shape[1]
        self.scale = design.scale if isinstance(design, InterceptDesign) else 0.0
        self.shift = float(l2[:d].max())
        self.unit = np.sqrt(self.shift / l2[:d])
        self.h, self.corner = np.zeros(d), 1.0
        if self.scale:
            self.h, self.corner = base.rmatvec(w), float(w.sum()) or 1.0
        m = self.h / math.sqrt(self.corner)
        space = krylov_space(base, w, m, self.unit, self._reduced(r)[0], MOST)
        while space.may_grow:
            space.grow()
            left = space.left(space.solve(self.shift))
            if space.size >= FEW and left <= KNOWN * space.length:
                break
        self.space = space
        self.outside = max(0.0, float(np.linalg.eigvalsh(space.T)[0])) if space.size else 0.0

    def with_strengths(self, l2: Array) -> KrylovFactor:
        """The same for another multiple of l2."""
        other: KrylovFactor = object.__new__(KrylovFactor)
        other.__dict__.update(self.__dict__, shift=float(l2[: self.unit.size].max()))
        return other

    def newton_step(self, *_: Array) -> None:
        """A d is not known beside d."""

    def solve(self, r: Array) -> Array:
        """About H^(-1) r."""
        inner, last = self._reduced(r)
        d = self.unit * self.space.inverse(inner, self.shift, self.shift + self.outside)
        if not self.scale:
            return d
        return np.append(d, (last - float(self.h @ d) / self.corner) / self.scale)

    def _reduced(self, r: Array) -> tuple[Array, float]:
        """The system without the intercept, in the variables of the space; and what moves it."""
        if not self.scale:
            return self.unit * r, 0.0
        last = float(r[-1]) / (self.scale * self.corner)
        return self.unit * (r[:-1] - last * self.h), last


def krylov_space(
    base: Design, w: Array, m: Array, unit: Array, v: Array, most: int = LONGEST
) -> Lanczos:
    """That of diag(unit) (A' diag(w) A - mm') diag(unit) and v; its basis is kept."""
    n, d = base.shape

    def product(t: Array) -> Array:
        x = unit * t
        image = product_pair(base, (w,), x, weigh)[1]
        return np.asarray(unit * (image - float(m @ x) * m))

    limit = max(ALWAYS, int(LARGEST * base.nonzeros / d))
    return Lanczos(product, v, min(limit, most, n, d))
