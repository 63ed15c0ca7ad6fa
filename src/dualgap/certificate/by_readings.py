"""From a point to its certificate where rows are not held: one reading, or two.

The theorem is that of `proof`, and so are its bounds, chunk by chunk. After the reading it is known
how far the sums over free columns are from 0 and how far others are out of their intervals. Where
an intercept is all that is free, the sign that weighs more gives in by a factor 1 - tau; sums that
are outside are brought inside by a factor t: both enter afterwards, by the scaling lemma. Where
more columns are free, y moves by as much as their Gram matrix allows (`spans`): the distance is
assumed before a reading, which shows whether it was enough.

With several predictions a row and an intercept, let r_k = sum_i w_i y_ik, and R_k at most the sum
of w_i p_ik. Every row gives a share eps_k = max(r_k, 0)/R_k of its p_ik to the classes with r_l < 0
(the lemma of `enclosures.class_sums`, served by all rows). With eps the largest of these, p' is a
mix of (1 - eps) p and eps times a point of the simplex, where h <= max z - min z + log K. A row's
entries move by eps at most, so that S_j moves by eps sum_i w_i |a_ij| <= eps W |a_j|_Q.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dualgap._types import Array, Mask
from dualgap.certificate.certifying import NO_DUAL_POINT, stated, without_proof
from dualgap.certificate.chunks import Piece, Way, prove_chunk
from dualgap.certificate.proof import Bounds, Penalty, Weight
from dualgap.certificate.value import Certificate, Kind, not_proved
from dualgap.designs.executors import sum_rows
from dualgap.dual_points.feasible import needs_factorisation
from dualgap.enclosures.directed import (
    TINY,
    add_up,
    divide_up,
    down,
    gam,
    multiply_up,
    up,
)
from dualgap.linalg.cholesky import units
from dualgap.linalg.double import of
from dualgap.problem import Problem
from dualgap.spans.proofs import GramProof, factor_proof
from dualgap.streamed.gap import Dual, dual_at
from dualgap.streamed.pieces import framed
from dualgap.streamed.reading import read, rows
from dualgap.streamed.sums import Ask, Slopes

ROUNDING = 1e-10
"""The distance that the first reading assumes, over the root of W P(0): ample for rounding, and it
costs some 1e-20 n P(0)."""
AMPLE = 1.0 + 1e-6
"""The distance that a second reading assumes is this times what the first has found."""
MOST_FREE = 4096
"""With more free columns than this nothing is proved: their Gram matrix would take too long."""


def certificate_by_readings(
    problem: Problem, x: Array, slopes: Slopes | None = None
) -> Certificate:
    """Certificate of x (with the intercept in it) and of the dual point at these slopes.

    Parameters
    ----------
    problem : Problem
        Whose rows are not held.
    x : array
    slopes : Slopes, optional
        By default phi' at x itself, made feasible as far as a reading before can tell.
    """
    if not np.isfinite(x).all():
        return not_proved(math.inf, "x or y is not finite.")
    why = without_proof(problem)
    if why is None and needs_factorisation(problem) and _free(problem).sum() > MOST_FREE:
        why = NO_DUAL_POINT
    with np.errstate(all="ignore"):
        if why is not None:
            return _without_proof(problem, x, why)
        return _proved(problem, x, _dual(problem, x).slopes if slopes is None else slopes)


def _dual(problem: Problem, x: Array) -> Dual:
    """The dual point at the slopes of x, as far as a reading can make it feasible."""
    some = np.flatnonzero(_free(problem)) if needs_factorisation(problem) else None
    found = read(problem, Ask(x, signs=problem.free_intercept_only, gram=some))
    primal = found.mean_loss + problem.regularizer.value(x)
    return dual_at(problem, x, found, some)._replace(primal=primal)


def _without_proof(problem: Problem, x: Array, why: str) -> Certificate:
    """What floats say, of which nothing is proved."""
    dual = _dual(problem, x)
    if not math.isfinite(dual.gap):
        return not_proved(dual.primal, why)
    return not_proved(dual.primal, why, "float", dual.gap, problem.scale(dual.primal))


def _free(problem: Problem) -> Mask:
    return problem.regularizer.free.reshape(-1)[: problem.size]


def _proved(problem: Problem, x: Array, slopes: Slopes) -> Certificate:
    K = problem.outputs or 1
    way = Way(
        rows(problem).form, problem.free_intercept_only,
        None, _free(problem),
    )  # fmt: skip
    if needs_factorisation(problem):
        unit = problem.scale(problem.primal_at_zero) * rows(problem).known.total
        way = way._replace(nu=np.full(K, ROUNDING * math.sqrt(unit)))
    found = _read(problem, x, slopes, way)
    nu = _distances(problem, found, way)
    if way.nu is not None and nu is not None and (nu > way.nu).any():
        assumed = AMPLE * nu
        way = way._replace(nu=assumed)
        found = _read(problem, x, slopes, way)
        nu = _distances(problem, found, way)
        nu = None if nu is None or (nu > assumed).any() else nu
    bounds, kind = _bounds(problem, x, slopes, found, way, nu)
    low, high = bounds.primal_low, bounds.primal_high
    primal = found.value / rows(problem).known.total + problem.regularizer.value(x)
    if not math.isfinite(high):
        return not_proved(primal, "P(x) is not finite.")
    primal = min(max(primal, low), high) if primal == primal else high
    return stated(problem, x, bounds, kind, primal)


def _read(problem: Problem, x: Array, slopes: Slopes, way: Way) -> Piece:
    """The sums of all chunks, with what adding them up rounds off."""
    base = problem.base
    args = (framed(problem), x, slopes, way)
    sums = sum_rows(base.executor, base, prove_chunk, rows(problem).arrays, args)
    base.ledger.passes += 2.0 * (problem.outputs or 1)  # A, |A| and their transposes
    more = 1.0 + gam(_chunks(problem) + 8.0)
    S_error = up(up(sums.S_error + up(gam(_chunks(problem) + 8.0) * sums.S_size)) * more)
    S_error = np.where(np.isfinite(sums.S) & np.isfinite(S_error), S_error, np.inf)
    total_error = up(gam(_chunks(problem) + 8.0) * sums.total_size)
    return sums._replace(
        gap=up(sums.gap * more), at_zero=up(sums.at_zero * more), above=up(sums.above * more),
        below=max(down(down(sums.below) * (2.0 - more)), 0.0),
        S=np.where(np.isfinite(sums.S), sums.S, 0.0), S_error=up(S_error + TINY),
        size=up(sums.size * more),
        total_error=up(up(sums.total_error * more) + total_error),
        masses=np.maximum(down(sums.masses * (2.0 - more)), 0.0), spread=up(sums.spread * more),
    )  # fmt: skip


def _chunks(problem: Problem) -> float:
    """How many there are, and so at most so many additions behind a sum."""
    cuts = problem.base.cuts
    return float(sum(-(-(stop - start) // cuts.rows) for start, stop in pairwise(cuts.edges)))


def _bounds(
    problem: Problem, x: Array, slopes: Slopes, found: Piece, way: Way, nu: Array | None
) -> tuple[Bounds, Kind]:
    """What the sums prove; without a feasible dual point, of P(x) alone."""
    weights = rows(problem).known
    weight = Weight(weights.low, weights.high)
    coefficients = problem.split(x)[0]
    penalty = Penalty(problem, coefficients)
    least, most = penalty.value_below(), penalty.value_above()
    nothing: Any = None
    known = Bounds(
        max(down(down(found.below / weight.high) + least), 0.0),
        add_up(divide_up(found.above, weight.low), most),
        add_up(divide_up(found.at_zero, weight.low), most),
        nothing, nothing, weight, blur=penalty.blur,
    )  # fmt: skip
    repaired = _repaired(problem, found, way, nu)
    if repaired is None:
        return known, "gap_scaled_dual"
    loss, error = repaired
    s = penalty.dual_interval_of(found.S, error, weight)
    t = penalty.scale_into(*s)
    if t < 1.0:
        loss = add_up(multiply_up(t, loss), multiply_up(up(1.0 - t), found.at_zero))
        s = down(t * s[0]), up(t * s[1])
    bounds = known._replace(
        loss=divide_up(loss, weight.low), penalty=penalty.gap_above(*s), s=s, scaled=t
    )
    if way.nu is not None:
        return bounds, "gap_projected_dual"
    scaled = way.by_sign or t < 1.0 or (slopes.factors != 1.0).any()
    return bounds, "gap_scaled_dual" if scaled or bounds.is_trivial else "gap"


def _repaired(
    problem: Problem, found: Piece, way: Way, nu: Array | None
) -> tuple[float, Array] | None:
    """The loss's part of the gap, and S_error, at a real dual point whose free sums are 0."""
    if way.nu is not None:
        if nu is None:
            return None
        squares = np.asarray(found.reach)[: problem.d]
        lengths = up(np.sqrt(up(squares * (1.0 + gam(problem.n + 16.0)))) + 1e-150)
        reach = up(up(np.multiply.outer(lengths, nu if problem.outputs else nu[0])))
        return found.gap, up(found.S_error + reach)
    if not way.by_sign:
        return found.gap, found.S_error
    if problem.outputs is None:
        tau = _tau(found)
        if tau is None:
            return None
        error = up(found.S_error + up(found.size * tau))
        return add_up(found.gap, multiply_up(tau, found.at_zero)), error
    eps = _shares(found)
    if eps is None:
        return None
    W = rows(problem).known.high
    loss = up(found.spread + up(W * up(math.log(problem.outputs) * (1.0 + 1e-12))))
    lengths = up(problem.column_norms[: problem.d] * (1.0 + gam(problem.n + 16.0)) + 1e-150)
    error = up(found.S_error + up(up(up(eps * W) * lengths))[:, None])
    return add_up(found.gap, multiply_up(eps, loss)), error


def _tau(found: Piece) -> float | None:
    """|sum w y| over the weight of the heavier sign; of both where neither is known to be."""
    off, open_ = float(found.total), float(found.total_error)
    if off == open_ == 0.0:
        return 0.0
    above, below = (float(mass) for mass in found.masses)
    weight = min(above, below)
    if abs(off) > open_:
        weight = above if off > 0.0 else below
    if not weight > 0.0:
        return None
    tau = float(up(up(abs(off) + open_) / weight))
    return tau if tau <= 1.0 else None


def _shares(found: Piece) -> float | None:
    """The largest eps_k."""
    most = up(np.asarray(found.total) + found.total_error)
    room = down(found.masses + down(np.asarray(found.total) - found.total_error))
    if not (most > 0.0).any():
        return 0.0
    if not (room[most > 0.0] > 0.0).all():
        return None
    eps = float(up(most[most > 0.0] / room[most > 0.0]).max())
    return eps if eps <= 1.0 else None


def _distances(problem: Problem, found: Piece, way: Way) -> Array | None:
    """At least nu, for each class; None where the free columns may depend on each other."""
    if way.nu is None:
        return None
    proof = _gram_proof(problem, found)
    if proof is None:
        return None
    d, free = problem.d, way.free
    S, error = (v if v.ndim == 2 else v[:, None] for v in (found.S, found.S_error))
    rho, blur = S[free[:d]], error[free[:d]]
    if problem.fit_intercept:  # whose column is 1
        last = (np.reshape(v, (1, -1)) for v in (found.total, found.total_error))
        rho, blur = (np.concatenate(pair) for pair in zip((rho, blur), last, strict=True))
    nu = [
        proof.distance(of(np.ascontiguousarray(r)), np.ascontiguousarray(e))
        if r.any() or e.any() else 0.0
        for r, e in zip(rho.T, blur.T, strict=True)
    ]  # fmt: skip
    return np.array(nu) if np.isfinite(nu).all() else None


def _gram_proof(problem: Problem, found: Piece) -> GramProof | None:
    """That the columns without penalty are independent, weighted as the move is."""
    G = np.asarray(found.gram)
    if not np.isfinite(G).all() or not (np.diag(G) > 0.0).all():
        return None
    exponents = np.round(np.log2(units(np.diag(G)))).astype(np.intp)
    if np.abs(exponents).max() > 300:
        return None
    U = np.ldexp(1.0, exponents)
    H = G * np.multiply.outer(U, U)
    m = len(H)
    least = float(np.linalg.eigvalsh(H)[0])
    if not least > 0.0:
        return None
    terms = min(float(problem.n), problem.base.cuts.rows + _chunks(problem)) + 24.0
    most = max(float(U.max()) ** 2, 1.0)
    below = 16.0 * TINY * problem.n * m * m * (1.0 + math.sqrt(float(found.roots))) * most
    return factor_proof(H, exponents, terms, below, least)
