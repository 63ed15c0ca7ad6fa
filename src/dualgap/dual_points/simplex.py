"""Dual points of losses with K predictions per row: y_i = p_i - e_{b_i}, p_i in the simplex.

The two steps of `feasible` that need more than an interval: the intercept, and free coordinates.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse.csgraph import connected_components

from dualgap._types import Array
from dualgap.linalg.normal_equations import NormalEquations
from dualgap.losses.multinomial import own, softmax
from dualgap.problem import Problem
from dualgap.spans.contract import Span

SIDE_LIMIT = 2048
"""Largest number of free coefficients for which their Hessian is factorised."""

Projected = tuple[Array, Array, float, Array | None, Span | None]
"""y, u = A'Qy, and the nu, D and span of the last step."""


def balance(y: Array, q: Array, b: Array) -> Array:
    """Scale y class by class so that sum_i q_i y_i = 0; stays in every domain.

    Let Y_c = sum of q_i y_i over the rows of class c. In row c of the K x K matrix Y the entries
    off the diagonal are sums of q_i p_ik >= 0, and the row sums to 0, because every y_i does: Y is
    the generator of a Markov chain on the classes. Such a chain has a stationary vector, t >= 0
    with t'Y = 0 and t not 0 (Y/m + I is a stochastic matrix for large m, and Perron's theorem
    gives its left eigenvector). With max t = 1, the points t_{b_i} y_i are sought: their sum is
    sum_c t_c Y_c = 0, and t p_i + (1 - t) e_{b_i} is in the simplex. Where sum_i q_i y_i = 0 was
    true already, t = 1 solves t'Y = 0, so nothing changes at an optimum.

    If the chain falls apart, every closed set of classes is scaled on its own, and classes from
    which one can leave for ever get 0.
    """
    K = y.shape[1]
    classes = b.astype(np.intp)
    Y = np.stack([np.bincount(classes, q * y[:, k], K) for k in range(K)], axis=1)
    rates = np.maximum(Y, 0.0)
    np.fill_diagonal(rates, 0.0)
    count, label = connected_components(rates > 0.0, directed=True, connection="strong")
    t = np.zeros(K)
    for part in range(count):
        inside = label == part
        if not rates[inside][:, ~inside].any():
            t[inside] = _stationary(rates[np.ix_(inside, inside)])
    return t[classes][:, None] * y


def _stationary(rates: Array) -> Array:
    """The t with t'Y = 0, max t = 1, for a chain in which every state reaches every other.

    Grassmann, Taksar & Heyman (1985): elimination without a subtraction, so that every entry of t
    is right to rounding however far apart the rates are.
    """
    R = rates / max(float(rates.max()), np.finfo(float).tiny)
    size = R.shape[0]
    with np.errstate(all="ignore"):
        for last in range(size - 1, 0, -1):
            R[:last, last] /= R[last, :last].sum()
            R[:last, :last] += np.outer(R[:last, last], R[last, :last])
        t = np.ones(size)
        for j in range(1, size):
            t[j] = t[:j] @ R[:j, j]
            t[: j + 1] /= max(1.0, t[j])  # no overflow
        t /= t.max()
    # Rates that underflowed: y = 0 is always feasible.
    return t if np.isfinite(t).all() else np.zeros(size)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def project(problem: Problem, z: Array, y: Array) -> Projected | None:
    """Bring (A'Qy)_j to 0 on the free rows j without leaving the simplices, or None.

    With what the last step takes, which only real numbers can make (see `spans`).
    """
    K, span = y.shape[1], problem.free_span
    if span is None:
        return None
    count = span.dimension
    if count <= problem.n and count * K <= SIDE_LIMIT:
        # y_i - W_i (F beta)_i with W_i = diag(p_i) - p_i p_i', p = softmax(z): the Newton step of
        # the dual, which moves an entry in proportion to itself.
        p, F = softmax(z)[0], span.basis()
        equations = _Hessian(problem, p, F)
        if equations.definite:
            new = y
            for _ in range(3):  # refined until what is left is rounding
                v = F.T @ (problem.q[:, None] * new)
                shift = F @ equations.solve(v.ravel()).reshape(count, K)
                shift = p * (shift - (p * shift).sum(axis=1, keepdims=True))
                new = closed(new - shift, problem.b)
            found = _last_step(problem, z, _shrink(problem, new))
            if found is not None:
                return found
    # Without weights every entry moves, which suits a y that is far from phi'(z).
    columns = [span.projected(np.ascontiguousarray(column)) for column in y.T]
    return _last_step(problem, z, _shrink(problem, closed(np.stack(columns, axis=1), problem.b)))


def _last_step(problem: Problem, z: Array, y: Array | None) -> Projected | None:
    """Rows whose probabilities are all large enough take up, class by class, what rounding left."""
    if y is None:
        return None
    u = problem.adjoint(y)
    if not y.any():
        return y, u, 0.0, None, problem.free_span
    smallest = probabilities(y, problem.b).min(axis=1)
    for least in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10):
        D = (smallest >= least).astype(np.float64)
        if not (D * problem.q).any():
            continue
        span = problem.free_span if D.all() else problem.weighted_span(D)
        if span is None:
            continue
        pairs = zip(y.T, u.T, strict=True)
        nu = math.hypot(*(span.distance(np.ascontiguousarray(a), b) for a, b in pairs))
        if cost(problem, z, y, nu, D) is not None:
            return y, u, nu, D, span
    return None


def probabilities(y: Array, b: Array) -> Array:
    """p = y + e_b."""
    p = y.copy()
    p[own(b)] += 1.0
    return p


def cost(problem: Problem, z: Array, y: Array, nu: float, D: Array | None) -> float | None:
    """What a move of every y_ik by at most nu sqrt(D_i/q_i) adds to the gap; None without room.

    The gap's terms are convex in y_i with derivative log p_i - z_i (along the simplex: less any
    constant), and phi*'' = diag(1/p).
    """
    moving = problem.q > 0.0 if D is None else (D > 0.0) & (problem.q > 0.0)
    p = probabilities(y, problem.b)[moving]
    if p.size == 0 or not math.isfinite(nu):
        return 0.0 if nu == 0.0 else None
    least = p.min(axis=1)
    if (2.0 * nu > least * np.sqrt(problem.q[moving])).any():
        return None
    slope = np.log(p) - z[moving]
    slope -= slope.mean(axis=1, keepdims=True)
    steep = math.sqrt(float(problem.q[moving] @ (slope * slope).sum(axis=1)))
    return nu * steep + nu * nu / float(least.min())


def closed(y: Array, b: Array) -> Array:
    """The own class takes what the others leave, so that rows sum to 0.

    Where a row did not, <y_i, z_i> would depend on what is added to all scores of the row. What was
    given stays as it is: it may be the y of a state, or the caller's.
    """
    at, out = own(b), y.copy()
    out[at] = 0.0
    out[at] = -out.sum(axis=1)
    return out


class _Hessian(NormalEquations):
    """H = sum_i q_i W_i (x) a_i a_i' on the free coordinates, plus what fixes the gauge.

    Adding one vector to all classes changes no softmax: H is 0 along 1 (x) g, and maps into what
    is orthogonal to it. Every right side (A'Qy sums to 0 over the classes) is in there too, so
    adding 11' (x) diag to H changes no solution and makes it definite.
    """

    def __init__(self, problem: Problem, p: Array, F: Array) -> None:
        count, K = F.shape[1], p.shape[1]
        H = np.zeros((count * K, count * K))
        blocks = H.reshape(count, K, count, K)
        rows = max(256, count * K)
        for start in range(0, problem.n, rows):
            at = slice(start, start + rows)
            a, weights = F[at], problem.q[at, None] * p[at]
            for k in range(K):
                blocks[:, k, :, k] += a.T @ (weights[:, k, None] * a)
            root = np.sqrt(problem.q[at])[:, None, None] * a[:, :, None] * p[at][:, None, :]
            root = root.reshape(-1, count * K)
            H -= root.T @ root
        each = np.arange(count)
        blocks[each, :, each, :] += np.einsum("jkjk->j", blocks)[:, None, None] / K
        self._factorise(H)


def _shrink(problem: Problem, y: Array) -> Array | None:
    """Shrink y as a whole, which keeps A'Qy = 0, into the simplices; None if it cannot be done."""
    y = np.where(problem.q[:, None] > 0, y, 0.0)
    at = own(problem.b)
    mine = y[at]
    others = y.copy()
    others[at] = 0.0
    if (others < 0.0).any():
        return None
    lowest = float(mine.min())
    return y / -lowest if lowest < -1.0 else y
