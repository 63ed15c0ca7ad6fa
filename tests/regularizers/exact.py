"""The minimum of a tiny problem with squared loss and a box, in rational numbers.

    P = (1/2n) sum_i (a_i'x + c - b_i)^2 + sum_j l1_j |x_j| + (l2_j/2) x_j^2,  lower <= x <= upper

On each piece (every coordinate at an end, at 0, positive or negative) P is a quadratic; the
minimiser of P is that of the piece it lies on, so that the least P among the minimisers of all
pieces which are where they should be is the minimum.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def exactly(values):
    """An array of fractions."""
    return np.array([Fraction(float(v)) for v in np.ravel(values)], dtype=object).reshape(
        np.shape(values)
    )


def value(A, b, g, x, c=0.0):
    """P(x, c), exactly; g is a box with arrays."""
    A, b, x, c = exactly(A), exactly(b), exactly(x), Fraction(float(c))
    r = A @ x + c - b
    total = (r @ r) / (2 * len(b))
    return total + sum(
        Fraction(float(l1)) * abs(t) + Fraction(float(l2)) / 2 * t * t
        for t, l1, l2 in zip(x, g.l1, g.l2, strict=True)
    )


def solved(H, r):
    """The solution of H t = r by elimination, None if H is singular."""
    size = len(r)
    M = [[*row, v] for row, v in zip(H.tolist(), r.tolist(), strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if M[i][k] != 0), None)
        if pivot is None:
            return None
        M[k], M[pivot] = M[pivot], M[k]
        for i in range(size):
            if i != k and M[i][k] != 0:
                f = M[i][k] / M[k][k]
                M[i] = [u - f * v for u, v in zip(M[i], M[k], strict=True)]
    return [M[k][size] / M[k][k] for k in range(size)]


def minimum(A, b, g, intercept=False):
    """P*, exactly; g is a box with arrays, A has few columns and full rank."""
    n, d = A.shape
    columns = exactly(np.column_stack((A, np.ones(n))) if intercept else A)
    target, size = exactly(b), columns.shape[1]
    l1, l2 = exactly(g.l1), exactly(g.l2)
    lower = [None if v == -np.inf else Fraction(float(v)) for v in g.lower]
    upper = [None if v == np.inf else Fraction(float(v)) for v in g.upper]
    H, r = columns.T @ columns / n, columns.T @ target / n
    for j in range(d):
        H[j, j] += l2[j]
    pieces = [[lower[j], upper[j], Fraction(0), "+", "-"] for j in range(d)]
    best = None
    for piece in itertools.product(*pieces):
        if None in piece:
            continue
        free = [j for j in range(d) if isinstance(piece[j], str)] + list(range(d, size))
        x = [Fraction(0) if j in free else piece[j] for j in range(d)] + [Fraction(0)] * (size - d)
        sign = {j: 1 if piece[j] == "+" else -1 for j in free if j < d}
        rest = r - H @ np.array(x, dtype=object)
        right = [rest[j] - (sign[j] * l1[j] if j < d else 0) for j in free]
        found = solved(H[np.ix_(free, free)], np.array(right, dtype=object)) if free else []
        if found is None:
            continue
        for j, t in zip(free, found, strict=True):
            x[j] = t
        within = all(
            (lower[j] is None or x[j] >= lower[j]) and (upper[j] is None or x[j] <= upper[j])
            for j in range(d)
        )
        if not within:  # the sign need not be looked at: |x| >= sign x
            continue
        z = columns @ np.array(x, dtype=object) - target
        here = (z @ z) / (2 * n) + sum(
            l1[j] * abs(x[j]) + l2[j] / 2 * x[j] * x[j] for j in range(d)
        )
        best = here if best is None or here < best else best
    return best
