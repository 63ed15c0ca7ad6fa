"""Proofs that no minimiser exists: the loss falls for ever along a ray that nothing penalises.

It separates the classes (logistic, multinomial), or lowers the predictions of rows whose count is 0
and leaves all others where they are (Poisson). `Loss.margins` says which rays are such.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from dualgap._types import Array
from dualgap.designs.contract import block_rows
from dualgap.linalg.double import two_product
from dualgap.linalg.rounding import gamma
from dualgap.problem import Problem

PROGRAM_LIMIT = 20_000
"""Most entries of A for which a linear program looks for a direction."""
EXACT_LIMIT = 1_000_000
"""Most entries of A for which margins are added up exactly."""


def one_class(problem: Problem) -> bool:
    """Whether an unpenalised intercept alone is such a ray: one class only, or no count but 0.

    With K classes one that no row has is enough: its intercept goes to -inf.
    """
    b = problem.b[problem.q > 0]
    if problem.outputs is not None:
        return problem.fit_intercept and bool(np.unique(b).size < problem.outputs)
    if not problem.free_intercept_only:
        return False
    both = (problem.loss.margins(np.full(b.shape, way), b) for way in (1.0, -1.0))
    return any(margins is not None and _falls(margins) for margins in both)


def _falls(margins: Array) -> bool:
    return bool((margins >= 0.0).all() and (margins > 0.0).any())


def separates(problem: Problem, x: Array, z: Array) -> bool:
    """Whether x proves that the infimum is not attained: its ray lowers P for ever.

    Only for a loss that need not reach its infimum, where no penalty holds x back. What the floats
    suggest is proved by the exact signs of the margins (of large data, by their bounds).
    """
    if not problem.regularizer.free.all() or not _suggested(problem, z):
        return False
    against, towards = rays(problem, x, exact=is_small(problem.n, problem.size))
    return not against and bool(towards)


def is_small(n: int, size: int) -> bool:
    """Whether margins of so many rows are added up exactly."""
    return n * size <= EXACT_LIMIT


def rays(problem: Problem, x: Array, *, exact: bool) -> tuple[int, int]:
    """Margins along the ray of x, on rows with weight: how many may be below 0, and how many rise.

    Parameters
    ----------
    problem : Problem
    x : array
    exact : bool
        Whether they are added up exactly; else they are told by their bounds.
    """
    counts = problem.q > 0
    if problem.outputs is None:
        margins = problem.loss.margins(_signs(problem, x, exact=exact), problem.b)
        if margins is None:
            return 1, 0
        margins = margins[counts]
        return int((~(margins >= 0.0)).sum()), int((margins > 0.0).sum())
    against = towards = 0
    for mine in np.unique(problem.b[counts]).astype(np.intp):
        rows = counts & (problem.b == mine)
        for k in range(problem.outputs):
            if k != mine and not against:
                signs = _signs(problem, x[:, mine], x[:, k], exact=exact)[rows]
                against += int((~(signs >= 0)).sum())
                towards += int((signs > 0).sum())
    return against, towards


def has_direction(problem: Problem) -> bool:
    """Whether some direction is proved to separate, found by a linear program; small data only.

    The v of largest total margin with all margins >= 0 and |v_j| <= 1. Classes that overlap in part
    may be separated in part, and then iterates show no direction.
    """
    if not problem.regularizer.free.all() or problem.n * problem.size > PROGRAM_LIMIT:
        return False
    if problem.loss.margins(problem.predict_zero(), problem.b) is None:
        return False
    A = np.concatenate([block for _, block in problem.design.blocks(problem.n)])[problem.q > 0]
    b = problem.b[problem.q > 0]
    still = np.zeros((0, A.shape[1] * (problem.outputs or 1)))
    if problem.outputs is None:
        up, down = (problem.loss.margins(np.full(b.shape, way), b) for way in (1.0, -1.0))
        assert up is not None and down is not None
        stays = (up < 0.0) & (down < 0.0)
        M, still = np.where(up > 0.0, 1.0, -1.0)[~stays, None] * A[~stays], A[stays]
        if not len(M):
            return False
    else:
        K, rows = problem.outputs, []
        for i, mine in enumerate(b.astype(np.intp)):
            for k in range(K):
                if k != mine:
                    row = np.zeros((A.shape[1], K))
                    row[:, mine], row[:, k] = A[i], -A[i]
                    rows.append(row.ravel())
        M = np.array(rows)
    size = np.abs(M).max(axis=0, initial=0.0)
    size = np.where(size > 0.0, size, 1.0)
    found = linprog(
        -(M / size).sum(axis=0), A_ub=-(M / size), b_ub=np.zeros(len(M)), bounds=(-1.0, 1.0),
        A_eq=still / size, b_eq=np.zeros(len(still)),
    )  # fmt: skip
    if found.x is None or found.fun is None or not found.fun < -1e-9:
        return False
    v = np.where(np.abs(found.x) > 1e-9, found.x, 0.0) / size
    return any(
        separates(problem, point, problem.design.matvec(point) + problem.predict_zero())
        for point in (v.reshape(problem.shape), _simple(v * size).reshape(problem.shape))
    )


def _simple(v: Array) -> Array:
    """v in eighths, where rows whose margins are 0 have a better chance to be so exactly."""
    return np.round(8.0 * v) / 8.0


def _suggested(problem: Problem, z: Array) -> bool:
    """Whether the margins are >= 0 but for rounding, and not all 0."""
    margins = problem.loss.margins(z if problem.offset is None else z - problem.offset, problem.b)
    if margins is None:
        return False
    margins = margins[problem.q > 0]
    size = float(np.abs(margins).max(initial=0.0))
    return bool(size > 0.0 and (margins >= -1e-9 * size).all())


def _signs(problem: Problem, x: Array, less: Array | None = None, *, exact: bool) -> Array:
    """The sign of each a_i'x (of a_i'(x - less)), or nan where it cannot be told."""
    design = problem.design
    if not exact:
        value = design.matvec(x) - (0.0 if less is None else design.matvec(less))
        sizes = np.abs(x) + (0.0 if less is None else np.abs(less))
        doubt = design.absolute_product(sizes, np.zeros(problem.n))[0]
        doubt *= gamma(design.row_terms + 8)
        told = np.where(np.abs(value) > doubt, np.sign(value), np.nan)
        return np.where(doubt == 0.0, 0.0, told)
    out = np.empty(problem.n)
    for at, block in design.blocks(block_rows(8 * design.shape[1])):
        terms = _exact_terms(block, x)
        if less is not None:
            terms = np.concatenate((terms, -_exact_terms(block, less)), axis=1)
        out[at] = [math.fsum(row) for row in terms.tolist()]  # correctly rounded: its sign is right
    return np.sign(out)


def _exact_terms(block: Array, x: Array) -> Array:
    """Numbers whose sum, row by row, is exactly a_i'x; powers of two go from x to A."""
    mantissa, exponent = np.frexp(x)
    pair = two_product(np.ldexp(block, exponent), np.broadcast_to(mantissa, block.shape))
    return np.concatenate(pair, axis=1)
