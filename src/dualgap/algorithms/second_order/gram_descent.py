"""min over t of a quadratic with a dense H, plus l1 and l2: descent, and factorisations.

    m(t) = u'(t - x) + (1/2)(t - x)'H(t - x) + sum_j l1_j |t_j| + (l2_j/2) t_j^2

Coordinate descent finds the support, a factorisation of H on it finishes what would take many
sweeps. `working_set` minimises its models with it, `paths` theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap._arrays import within
from dualgap._types import Array
from dualgap.algorithms.primal_dual.batch import EPS
from dualgap.designs.columns import PIECE
from dualgap.limits import current
from dualgap.linalg.cholesky import solved_once

ROUNDS = 50
"""Descent and factorisation take turns at most so often."""
FREE = 100_000
"""Sweeps read so many entries of H in the time that the smallest factorisation takes."""
SPARED = 50.0
"""A factorisation counts as so many sweeps, which it saves at least."""
VISIT = 16
"""A visit of a coordinate costs as much as so many multiplications, beside those with H."""
RIDGE = 1e-11
"""This share of its diagonal is added to H before it is factorised."""


def descend(
    H: Array,
    u: Array,
    x: Array,
    l1: Array,
    l2: Array,
    goal: float,
    enough: Callable[[Array, Array], bool] | None = None,
) -> tuple[Array, float]:
    """The minimiser of m, and the sweeps that it took (a factorisation counts as what it saves).

    Until a sweep moves no coordinate by more than ``goal``, in (H_jj + l2_j) step^2, or until
    ``enough(t, gradient of the quadratic)``, or until the limits of the call end it.
    """
    from dualgap.kernels.coordinate import gram_sweeps

    def sweep(g: Array, t: Array, most: int, goal: float) -> tuple[int, float]:
        return gram_sweeps(H, g, t, l1, l2, most, goal)

    def finish(g: Array, t: Array) -> None:
        polish(H, g, t, l1, l2)

    return in_turns(H, u, x, goal, sweep, finish, enough)


def in_turns(
    H: Array,
    u: Array,
    x: Array,
    goal: float,
    sweep: Callable[[Array, Array, int, float], tuple[int, float]],
    finish: Callable[[Array, Array], None],
    enough: Callable[[Array, Array], bool] | None = None,
) -> tuple[Array, float]:
    """Sweeps and factorisations from x, with the gradient u of the quadratic, as in `descend`.

    Parameters
    ----------
    H, u, x, goal, enough
        See `descend`.
    sweep : callable
        sweep(g, t, most, goal): at most so many sweeps, which change t and the gradient g in
        place; returns their number and the largest step of the last one.
    finish : callable
        finish(g, t): a factorisation, and a step of t in place.
    """
    t, g, count, limits = x.copy(), u.copy(), 0.0, current()
    goal = max(goal, float(np.max(H.diagonal() * (EPS * x) ** 2, initial=0.0)))  # rounding of x
    for _ in range(ROUNDS):
        support = int(np.count_nonzero(t))
        most = 10 + support // 20 + FREE // (H.shape[0] * max(1, support))
        sweeps, left = 0, np.inf
        work = float(H.shape[0] * (support + VISIT))
        piece = max(1, int(PIECE // work))
        while sweeps < most and left > goal:
            done, left = sweep(g, t, min(piece, most - sweeps), goal)
            sweeps += done
            if limits.ends_beside(done * work):
                return t, count + sweeps
        count += sweeps
        if left <= goal or (enough is not None and enough(t, g)):
            break
        finish(g, t)
        count += SPARED
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
    M.flat[:: on.size + 1] += l2[on] + RIDGE * M.diagonal()
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


def largest_gain(h: Array, u: Array, x: Array, l1: Array, l2: Array) -> float:
    """The largest (h_j + l2_j) step_j^2, each coordinate moving alone from x."""
    total = h + l2
    v = h * x - u
    v -= within(v, l1)
    step = np.divide(v, total, out=x.copy(), where=total > 0) - x
    return float(np.max(total * step * step, initial=0.0))
