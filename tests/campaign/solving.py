"""Linear equations with a semidefinite matrix, in decimals: rank is decided fifty digits down."""

from decimal import Decimal

import numpy as np

RANK = Decimal("1e-70")
"""Of a diagonal of ones: float64 data that are not exactly dependent leave far more than this."""


def _powers(diagonal: np.ndarray) -> np.ndarray:
    """Exponents s with H_jj 10^(2 s_j) near 1."""
    return np.array([0 if v <= 0 else -(v.adjusted() // 2) for v in diagonal], dtype=object)


def solve_semidefinite(H: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """x with H x = g, and, where g leaves the range of H, a v with H v = 0 and g'v > 0.

    Elimination with the largest pivot first; coordinates whose pivot vanishes stay 0.
    """
    m = len(g)
    s = _powers(np.diag(H))
    unit = np.array([Decimal(1).scaleb(int(k)) for k in s], dtype=object)
    R, r = H * unit[:, None] * unit, g * unit
    order, left = [], list(range(m))
    size = max((abs(v) for v in r), default=Decimal(0))
    while left:
        k = max(left, key=lambda j: R[j, j])
        if R[k, k] <= RANK:
            break
        left.remove(k)
        order.append(k)
        if left:
            rest = np.array(left)
            column = R[rest, k] / R[k, k]
            R[np.ix_(rest, rest)] -= np.multiply.outer(column, R[k, rest])
            r[rest] -= column * r[k]
    x = np.array([Decimal(0)] * m, dtype=object)
    _back(R, r, order, x)
    beyond = None
    if size and left and max(abs(r[j]) for j in left) > size * Decimal("1e-50"):
        beyond = np.array([Decimal(0)] * m, dtype=object)
        beyond[left] = r[left]
        _back(R, r * 0, order, beyond, left)
        beyond = beyond * unit
    return x * unit, beyond


def _back(
    R: np.ndarray, r: np.ndarray, order: list[int], x: np.ndarray, known: list[int] | None = None
) -> None:
    """Solve the triangular system for the pivots, given the other coordinates of x."""
    done = list(known or [])
    for k in reversed(order):
        x[k] = (r[k] - (R[k, done] @ x[done] if done else 0)) / R[k, k]
        done.append(k)


def solve_in_floats(H: np.ndarray, g: np.ndarray) -> np.ndarray | None:
    """The same in float64; None where a column is too near the span of the others for that."""
    try:
        R = np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        return None
    if np.diag(R).min() < 1e-5:  # of unit columns: conditions of 1e10 and more
        return None
    return np.linalg.solve(R.T, np.linalg.solve(R, g))
