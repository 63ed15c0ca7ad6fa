"""Where g is least on a line: all classes of a feature move together, which softmax cannot see."""

from __future__ import annotations

import numpy as np

from dualgap._types import Array


def best_shifts(x: Array, l1: Array, l2: Array) -> Array:
    """The c, for each row of x, that minimises sum_k l1|x_k - c| + (l2/2)(x_k - c)^2; as a column.

    The slope in c, l2 (K c - sum x) + l1 (#{x_k < c} - #{x_k > c}), changes its sign at one of the
    x_k or between two neighbours of them.
    """
    K = x.shape[1]
    points = np.sort(x, axis=1)
    below = np.arange(K)
    rest = l2 * (K * points - x.sum(axis=1, keepdims=True))
    # The slope just left of the points, where `below` of them are smaller, and just right.
    rises = rest + l1 * (2 * below + 2 - K) >= 0.0
    first = rises.argmax(axis=1)[:, None]
    at = np.take_along_axis(points, first, axis=1)
    left = np.take_along_axis(rest, first, axis=1) + l1 * (2 * first - K)
    # Falling slope on the left of the point: it is the minimiser. Else the zero lies before it.
    back = np.divide(left, K * l2, out=np.zeros_like(left), where=(l2 > 0.0) & (left > 0.0))
    return np.asarray(at - back)
