"""min over t of a quadratic with a dense H, plus l1 and l2: descent, and factorisations.

    m(t) = u'(t - x) + (1/2)(t - x)'H(t - x) + sum_j l1_j |t_j| + (l2_j/2) t_j^2

Coordinate descent finds the support, a factorisation of H on it finishes what would take many
sweeps. `working_set` minimises its models with it, `paths` theirs. Between bounds, where low <= t
<= high, sweeps clip each coordinate, and what is factorised is strictly inside its piece.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap._arrays import within
from dualgap._types import Array, Mask
from dualgap.algorithms.second_order import tuning
from dualgap.designs.columns import PIECE, Bounds
from dualgap.limits import current
from dualgap.linalg.cholesky import solved_once
from dualgap.linalg.rounding import EPS


def descend(
    H: Array,
    u: Array,
    x: Array,
    l1: Array,
    l2: Array,
    goal: float,
    enough: Callable[[Array, Array], bool] | None = None,
    ends: Bounds | None = None,
) -> tuple[Array, float]:
    """The minimiser of m, and the sweeps that it took (a factorisation counts as what it saves).

    Until a sweep moves no coordinate by more than ``goal``, in (H_jj + l2_j) step^2, or until
    ``enough(t, gradient of the quadratic)``, or until the limits of the call end it. With ``ends``,
    low and high, t stays between them.
    """
    from dualgap.kernels.coordinate import EVERYWHERE, gram_sweeps

    bounds = EVERYWHERE if ends is None else np.array(ends)
    t, g, count, limits = x.copy(), u.copy(), 0.0, current()
    goal = max(goal, float(np.max(H.diagonal() * (EPS * x) ** 2, initial=0.0)))  # rounding of x
    for _ in range(tuning.DESCENT.rounds):
        support = int(np.count_nonzero(t))
        most = 10 + support // 20 + tuning.DESCENT.factor_entries // (H.shape[0] * max(1, support))
        sweeps, left = 0, np.inf
        work = float(H.shape[0] * (support + tuning.DESCENT.visit))
        piece = max(1, int(PIECE // work))
        while sweeps < most and left > goal:
            done, left = gram_sweeps(H, g, t, l1, l2, bounds, min(piece, most - sweeps), goal)
            sweeps += done
            if limits.ends_beside(done * work):
                return t, count + sweeps
        count += sweeps
        if left <= goal or (enough is not None and enough(t, g)):
            break
        if ends is None:
            polish(H, g, t, l1, l2)
        else:
            polish_between(H, g, t, l1, l2, *ends)
        count += tuning.DESCENT.factor_sweeps
        g = u + H @ (t - x)
        if enough is not None and enough(t, g):
            break
    return t, count


def polish(H: Array, g: Array, x: Array, l1: Array, l2: Array) -> bool:
    """Move x to the minimiser on the support, dropping what would change its sign; in place.

    Returns whether x has moved. Where H is singular on the support (equal columns) a trace of its
    diagonal makes the step long along what H does not see: until a coordinate is 0, which is right.
    """
    from dualgap.kernels.coordinate import step_with_signs
    from dualgap.kernels.gram import symmetric_part

    on = np.flatnonzero(((x != 0) | (l1 == 0)) & (H.diagonal() + l2 > 0))
    if on.size == 0:
        return False
    M = np.empty((on.size, on.size))
    symmetric_part(H, on, M)
    M.flat[:: on.size + 1] += l2[on] + tuning.DESCENT.ridge * M.diagonal()
    here, limits = x[on], l1[on]
    r = -(g[on] + limits * np.sign(here) + l2[on] * here)
    solved = solved_once(M, r)
    if solved is None:
        return False
    factor, step = solved
    new = here + step
    if ((limits > 0) & (here * new <= 0.0) & (step != 0)).any():
        new = here.copy()
        step_with_signs(factor.T, new, step, limits)
    move = new - here
    if not float(r @ move) - 0.5 * float(move @ (M @ move)) > 0.0:
        return False
    x[on] = new
    return True


def polish_between(
    H: Array, g: Array, x: Array, l1: Array, l2: Array, low: Array, high: Array
) -> None:
    """Towards the minimiser on what is strictly inside its piece; x and g in place.

    What would leave its piece is put at the end of it where that lowers m, else the first that
    would ends the step; then the others go on.
    """
    start, before = x.copy(), g.copy()
    for _ in range(tuning.DESCENT.rounds):
        on = np.flatnonzero(_inside(x, l1, low, high) & (H.diagonal() + l2 > 0.0))
        if on.size == 0:
            return
        M = H[np.ix_(on, on)]
        M.flat[:: on.size + 1] += l2[on] + tuning.DESCENT.ridge * M.diagonal()
        here = x[on]
        r = -(g[on] + l1[on] * np.sign(here) + l2[on] * here)
        solved = solved_once(M, r)
        if solved is None:
            return
        step = solved[1]
        kinked = l1[on] > 0.0
        floor = np.where(kinked & (here > 0.0), np.maximum(low[on], 0.0), low[on])
        roof = np.where(kinked & (here < 0.0), np.minimum(high[on], 0.0), high[on])
        new = np.minimum(np.maximum(here + step, floor), roof)
        whole = (new == here + step).all()
        move = new - here
        if not float(r @ move) - 0.5 * float(move @ (M @ move)) > 0.0:
            ends = np.where(step > 0.0, roof, floor)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(step != 0.0, (ends - here) / step, np.inf)
            first = int(np.argmin(shares))
            new = np.minimum(np.maximum(here + shares[first] * step, floor), roof)
            new[first] = ends[first]
            if not np.isfinite(new).all():
                return
        x[on] = new
        g[:] = before + H @ (x - start)
        if whole:
            return


def _inside(x: Array, l1: Array, low: Array, high: Array) -> Mask:
    """Strictly inside the bounds, and off the kink of l1."""
    return np.asarray((x > low) & (x < high) & ((x != 0.0) | (l1 == 0.0)))


def moved_alone(
    h: Array, u: Array, x: Array, l1: Array, l2: Array, ends: Bounds | None = None
) -> Array:
    """Where each coordinate goes if the others stay: h is the diagonal of H."""
    total, v = h + l2, h * x - u
    v -= within(v, l1)
    new = np.divide(v, total, out=np.where(l1 > 0.0, 0.0, x), where=total > 0.0)
    return new if ends is None else np.minimum(np.maximum(new, ends[0]), ends[1])


def largest_gain(
    h: Array, u: Array, x: Array, l1: Array, l2: Array, ends: Bounds | None = None
) -> float:
    """The largest (h_j + l2_j) step_j^2, each coordinate moving alone from x."""
    step = moved_alone(h, u, x, l1, l2, ends) - x
    return float(np.max((h + l2) * step * step, initial=0.0))
