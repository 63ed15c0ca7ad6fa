"""A float32 copy of dense data, for products that need a few digits only, at half the reading.

Newton's conjugate gradients use it: what they make of a system is looked at with the data
themselves, so nothing rests on it but speed.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dualgap._arrays import dot
from dualgap._types import Array
from dualgap.designs.contract import block_rows
from dualgap.designs.cuts import Cuts
from dualgap.designs.ledger import PRODUCT, Ledger
from dualgap.designs.parts import over_parts, steps
from dualgap.limits import check_time
from dualgap.memory import spares

LEAST_ENTRIES = 1 << 20
"""Fewer lie in the cache, where nothing is gained."""
MOST_BYTES = 1 << 30
"""No copy is made that takes more bytes than this."""
MODERATE = 1e12
"""Data whose longest row is longer than this, or shorter than its inverse, are left alone."""


class Narrow(Protocol):
    """Verbs of a design to six digits or so."""

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """A x + shift and A' diag(weights) (A x + shift)."""

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A."""


class NarrowCopy:
    """A float32 copy. Vectors are scaled to 1 before they are rounded: none over- or underflows.

    Parameters
    ----------
    A : array of shape (n, d)
    ledger : Ledger
    cuts : Cuts
        The partitions of A, which threads share.
    """

    def __init__(self, A: np.ndarray[Any, Any], ledger: Ledger, cuts: Cuts) -> None:
        self.A, self.ledger, self.cuts = np.empty_like(A, dtype=np.float32), ledger, cuts
        ledger.rows += len(A)

        def work(start: int, stop: int) -> tuple[()]:
            self.A[start:stop] = A[start:stop]
            return ()

        over_parts(cuts, work)

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """Block by block where rows are contiguous, so that each entry is read once."""
        n, d = self.A.shape
        self.ledger.rows += n
        self.ledger.passes += 2.0 * PRODUCT
        unit = float(np.abs(x).max()) or 1.0
        heavy = float(weights.max()) or 1.0
        narrow, w = (x / unit).astype(np.float32), (weights / heavy).astype(np.float32)
        z = np.empty(n, np.float32)
        step = 8 * block_rows(d) if self.A.flags.c_contiguous else n

        def work(start: int, stop: int) -> tuple[Array]:
            u = np.zeros(d)
            for rows in steps(start, stop, step):
                block = self.A[rows]
                np.matmul(block, narrow, out=z[rows])
                z[rows] += np.float32(shift / unit)
                u += (w[rows] * z[rows]) @ block
            return (u,)

        (u,) = over_parts(self.cuts, work)
        return unit * z.astype(np.float64), (unit * heavy) * u

    def gram(self, weights: Array) -> Array:
        """Summed in float64 over blocks of rows."""
        n, d = self.A.shape
        self.ledger.rows += n
        self.ledger.passes += d
        heavy = float(weights.max()) or 1.0
        root = np.sqrt(weights / heavy).astype(np.float32)

        def work(start: int, stop: int) -> tuple[Array]:
            total = np.zeros((d, d))
            for rows in steps(start, stop, max(256, d)):
                check_time()
                scaled = root[rows, None] * self.A[rows]
                total += scaled.T @ scaled
            return (total,)

        return heavy * over_parts(self.cuts, work)[0]


class NarrowIntercept:
    """A narrow design and a column of the constant ``scale``."""

    def __init__(self, base: Narrow, scale: float) -> None:
        self.base, self.scale = base, scale

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """The base's, with the constant column."""
        return bordered_sweep(self.base, self.scale, x, weights, shift)

    def gram(self, weights: Array) -> Array:
        """The base's, bordered."""
        G = self.base.gram(weights)
        border = self.base.weighted_sweep(np.zeros(len(G)), weights, self.scale)[1]
        corner = self.scale**2 * float(weights.sum())
        return np.block([[G, border[:, None]], [border[None], np.array([[corner]])]])


def bordered_sweep(
    base: Any, scale: float, x: Array, weights: Array, shift: float
) -> tuple[Array, Array]:
    """`weighted_sweep` of (A, scale 1), from the base's of A."""
    z, u = base.weighted_sweep(x[:-1], weights, shift + scale * float(x[-1]))
    return z, np.append(u, scale * dot(weights, z))


def narrow_copy(
    A: np.ndarray[Any, Any], longest_row: float, ledger: Ledger, cuts: Cuts
) -> NarrowCopy | None:
    """The copy, if these data are large and not too large for one."""
    fits = LEAST_ENTRIES <= A.size <= MOST_BYTES // 4 and spares(4.0 * A.size)
    moderate = 1.0 / MODERATE < longest_row < MODERATE
    return NarrowCopy(A, ledger, cuts) if A.dtype == np.float64 and fits and moderate else None
