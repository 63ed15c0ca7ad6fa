"""Sums over vectors, away from the threads of the linear algebra library.

A threaded dot product of a few ten thousand entries gains nothing, and on a busy machine waits for
its threads longer than everything else in an iteration takes.
"""

from __future__ import annotations

import numpy as np

from dualgap._types import Array


def dot(a: Array, b: Array) -> float:
    """a'b."""
    return float(np.einsum("i,i->", a, b))


def weighted_sum(weights: Array, values: Array) -> float:
    """sum_i weights_i values_i, summed pairwise: objectives of many rows keep their last digits."""
    return float(np.sum(weights * values))
