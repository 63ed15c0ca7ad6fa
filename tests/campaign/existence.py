"""Whether a problem has no minimiser: a direction along which P falls for ever, proved exactly.

Only losses that never reach their infimum can do without: logistic, multinomial, and Poisson where
b = 0. A piecewise quadratic P that is bounded below has a minimiser, strong_logistic is strongly
convex in z, and a row of Gamma's grows to both sides.
"""

import decimal
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog

from .decimals import WORK, Objective, exact

LOSSES = ("logistic", "multinomial", "poisson")


def margins(objective: Objective, V: np.ndarray) -> np.ndarray:
    """How much each row gains along V: b z, or z_b - z_k for the other classes k.

    A count of 0 gains where z falls; one above 0 loses whichever way z goes.
    """
    z = objective.A @ V
    if objective.loss == "poisson":
        return np.where(objective.b > 0, -abs(z), -z)
    if not objective.K:
        return objective.b * z
    own = z[np.arange(len(z)), objective.b]
    return own[:, None] - z


def is_ray(objective: Objective, V: np.ndarray) -> bool:
    """Whether nothing is lost along V by any row, and something gained for ever by one."""
    with decimal.localcontext(WORK):
        V = V.copy()
        V[~objective.free] *= 0
        if objective.bounded and not _is_open(objective, V):
            return False
        gains = margins(objective, V)
        return bool((gains >= 0).all() and (gains > 0).any())


def _is_open(objective: Objective, V: np.ndarray) -> bool:
    """Whether no bound ends the way along V."""
    low, high = objective.per_row(objective.lower), objective.per_row(objective.upper)
    ends = [end.is_finite() for end in np.where(V > 0, high, low).flat]
    return not any(end and v for end, v in zip(ends, V.flat, strict=True))


def find_ray(objective: Objective, *hints: Any) -> np.ndarray | None:
    """A direction of recession that stands exact arithmetic: a hint, or by linear programming."""
    if objective.loss not in LOSSES or not objective.free.any():
        return None
    for hint in hints:
        if is_ray(objective, hint):
            return hint
    if objective.loss == "poisson" or objective.bounded:
        return None  # no program is written for these: only what the library says is looked at
    for guess in _missing_class(objective), *_programs(objective):
        if guess is not None and is_ray(objective, guess):
            return guess
    return None


def _missing_class(objective: Objective) -> np.ndarray | None:
    """An intercept that leaves a class that no row has."""
    if not (objective.K and objective.fit_intercept):
        return None
    missing = sorted(set(range(objective.K)) - set(objective.b.tolist()))
    V = exact(np.zeros(objective.shape))
    for k in missing:
        V[-1, k] -= 1
    return V if missing else None


def _programs(objective: Objective) -> Iterator[np.ndarray]:
    """Directions from linear programs in float64 on scaled columns.

    The largest least gain; else the largest sum of gains. The second is rounded,
    because rows that gain nothing have to do so exactly, in units of the columns and without.
    """
    free = objective.free
    A = objective.floats[:, free]
    top = np.abs(A).max(axis=0)
    top = np.where(top > 0, top, 1.0)
    B = _gains(objective, A / top)
    rows, m = B.shape
    least = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack((-B, np.ones(rows))),
        b_ub=np.zeros(rows),
        bounds=[(-1, 1)] * m + [(None, 1)],
    )
    if least.x is not None and -least.fun > 1e-12:
        yield _direction(objective, least.x[:m], top)
        return
    most = linprog(
        -B.sum(axis=0),
        A_ub=np.vstack((-B, B)),
        b_ub=np.append(np.zeros(rows), np.ones(rows)),
        bounds=(-1e6, 1e6),
    )
    if most.x is not None and -most.fun >= 1e-6:
        yield _direction(objective, np.round(most.x, 9), top)
    bounded = linprog(-B.sum(axis=0), A_ub=-B, b_ub=np.zeros(rows), bounds=(-1, 1))
    if bounded.x is not None and -bounded.fun >= 1e-9:
        eighths = np.round(8 * bounded.x) / 8
        yield _direction(objective, eighths, top)
        yield _direction(objective, eighths, np.ones_like(top))


def _direction(objective: Objective, found: np.ndarray, top: np.ndarray) -> np.ndarray:
    """What a program found, in the units of the problem's own columns."""
    V = exact(np.zeros(objective.shape))
    scale = exact(top)
    V[objective.free] = exact(found).reshape(len(top) if not objective.K else (-1, objective.K)) / (
        scale[:, None] if objective.K else scale
    )
    return V


def _gains(objective: Objective, A: np.ndarray) -> np.ndarray:
    """The matrix whose product with v (by rows, then classes) is every gain along v."""
    if not objective.K:
        return objective.b.astype(float)[:, None] * A
    out = []
    for row, own in zip(A, objective.b, strict=True):
        for k in range(objective.K):
            if k != own:
                gain = np.zeros((A.shape[1], objective.K))
                gain[:, own] += row
                gain[:, k] -= row
                out.append(gain.ravel())
    return np.array(out)
