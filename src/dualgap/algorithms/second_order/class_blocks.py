"""H for `prox_newton`: without its ties between classes, one matrix for each class, and whole.

    H = A' diag(q (diag(p) - pp' + m/gamma)) A, p = softmax(z) of each row, and of its diagonal
    G_k = A' diag(q (p_k (1 - p_k) + m/gamma)) A,   k = 1, ..., K

They know how columns are correlated, and 2 diag(p_k (1 - p_k)) >= diag(p) - pp', so that 2 G is
an upper bound of H at hand. With one prediction a row G is H.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dualgap._types import Array, Mask
from dualgap.algorithms.second_order import tuning
from dualgap.algorithms.second_order.set_models import GramModel
from dualgap.designs.contract import BLAS3_GAIN
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.hessian_factor import symmetric_gram
from dualgap.linalg.penalised import Penalty
from dualgap.problem import Problem


def price(problem: Problem) -> float:
    """What the blocks cost, in passes."""
    design = problem.design
    d = design.shape[1]
    if d > tuning.CLASSES.largest_side or d * math.prod(problem.shape) > tuning.CLASSES.largest:
        return np.inf
    work = design.gram_multiplications(True) + d**3 / 3.0 / BLAS3_GAIN
    return float(work / (2.0 * design.nonzeros))


def whole_price(problem: Problem) -> float:
    """What all of H costs, K (K + 1)/2 blocks, in passes."""
    side = math.prod(problem.shape)
    K = side // problem.shape[0]
    return 0.5 * (K + 1) * price(problem) if side <= tuning.CLASSES.largest_whole else np.inf


def class_blocks(problem: Problem, hess: Array, least: float | Array) -> Array:
    """G, of shape (K, d, d); ``hess`` is what `curvature` gives, ``least`` what it is raised by."""
    diagonals = hess[:, None] if hess.ndim == 1 else hess * (1.0 - hess)
    return np.stack([symmetric_gram(problem.design, problem.q * (w + least)) for w in diagonals.T])


def whole_hessian(problem: Problem, hess: Array, least: float | Array) -> Array:
    """H with its ties, of side d K, class by class."""
    n, d = problem.design.shape
    p = hess.reshape(n, -1)
    K = p.shape[1]
    H = np.empty((K, d, K, d))
    for k in range(K):
        for other in range(k):
            tie = -symmetric_gram(problem.design, problem.q * p[:, k] * p[:, other])
            H[k, :, other] = H[other, :, k] = tie
    for k, G in enumerate(class_blocks(problem, hess, least)):
        H[k, :, k] = G
    return H.reshape(K * d, K * d)


def inverse_on(G: Array, l2: Array, free: Mask) -> Callable[[Array], Array]:
    """The map r -> (G_k + l2)_FF^(-1) r_F, class by class, over the coordinates that are free."""
    places = [np.flatnonzero(column) for column in free.reshape(len(free), -1).T]
    factors = []
    for at, block, ridge in zip(places, G, _columns(l2), strict=True):
        M = block[np.ix_(at, at)]
        M.flat[:: at.size + 1] += ridge[at]
        factors.append(cholesky(M) if at.size else None)

    def solve(r: Array) -> Array:
        out = np.zeros_like(r)
        columns, into = r.reshape(len(r), -1), out.reshape(len(r), -1)
        for k, (at, factor) in enumerate(zip(places, factors, strict=True)):
            if factor is not None:
                into[at, k] = factor.solve(columns[at, k])
        return out

    return solve


def descent(G: Array, share: float, u: Array, x: Array, l1: Array, l2: Array) -> Array:
    """The minimiser of u'(t - x) + (share/2)(t - x)'G(t - x) + g(t), but for `Classes.exact`."""
    out = np.empty_like(x)
    parts = zip(G, *map(_columns, (u, x, l1, l2, out)), strict=True)
    for block, slope, start, limits, ridge, into in parts:
        penalty = Penalty(np.ascontiguousarray(limits), np.ascontiguousarray(ridge))
        H = block if share == 1.0 else share * block
        into[:] = GramModel(H, slope, start, penalty).minimiser(tuning.CLASSES.exact)
    return out


def _columns(x: Array) -> Array:
    """One row for each class: a view."""
    return x.reshape(len(x), -1).T
