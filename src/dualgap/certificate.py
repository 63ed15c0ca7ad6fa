"""The certificate: an upper bound on P(x) - P*, in float64, from the user's data.

It knows nothing of how x and y were found, uses no estimate, and can be recomputed by anybody
with `certify`. The gap is evaluated as a sum of terms that are >= 0 one by one,

    P - D = sum_i q_i [phi_i(z_i) + phi_i*(y_i) - y_i z_i] + [g(x) + g*(s) - s'x],   s = -A'Qy,

so it does not suffer from the cancellation of P - D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dualgap import _validation as check
from dualgap._arrays import dot, per_row, row_sums
from dualgap._types import Array, Data
from dualgap.constants import GRAM_LIMIT
from dualgap.feasible import DualPoint, make_feasible
from dualgap.losses import Loss
from dualgap.normal_equations import NormalEquations, certified_inverse_form
from dualgap.problem import Problem

Kind = Literal[
    "gap",
    "gap_scaled_dual",
    "gap_projected_dual",
    "gradient_bound",
    "self_concordance",
    "none",
]
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Certificate:
    """A bound on how far x is from optimal, in the units of the objective.

    Attributes
    ----------
    primal : float
        P(x).
    dual : float
        A lower bound on P*: primal - gap.
    gap : float
        P(x) - P* <= gap.
    relative_gap : float
        gap / max(P(x), 1e-12 P(0)), what ``tol`` is held against.
    certified : bool
        Whether the gap provably bounds P(x) - P* (whether or not a tolerance was met).
    kind : str
        How the bound was found: ``"gap"`` (y as it was given), ``"gap_scaled_dual"`` (y scaled
        into feasibility), ``"gap_projected_dual"`` (y projected), ``"gradient_bound"``,
        ``"self_concordance"``, or ``"none"``.
    rounding : float
        An estimate of the floor below which the gap means nothing.
    distance : float
        |x - x*| <= distance, from strong convexity l2 (inf without; the intercept excluded).
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    certified: bool
    kind: Kind
    rounding: float
    distance: float

    def __str__(self) -> str:
        """One line for people."""
        if not self.certified:
            return f"no certificate: P(x) = {self.primal:.10g}, and no bound on P(x) - P* was found"
        how = {
            "gap": "duality gap",
            "gap_scaled_dual": "duality gap at a scaled dual point",
            "gap_projected_dual": "duality gap at a projected dual point",
            "gradient_bound": "strong convexity and the gradient",
            "self_concordance": "self-concordance and the Newton decrement",
        }[self.kind]
        return (
            f"P(x) = {self.primal:.10g}, P(x) - P* <= {self.gap:.3g} "
            f"({self.relative_gap:.2g} relative; {how})"
        )


def certify(
    A: Data,
    b: Any,
    x: Any,
    y: Any = None,
    *,
    loss: str | Loss = "squared",
    l1: float = 0.0,
    l2: float = 0.0,
    penalty_weights: Any = None,
    intercept: Any = 0.0,
    sample_weight: Any = None,
    offset: Any = None,
    fit_intercept: bool | None = None,
) -> Certificate:
    """Bound P(x) - P* for any x, whoever found it.

    The objective is that of `Problem`: (1/W) sum_i w_i phi_i(a_i'x + c + offset_i) +
    sum_j p_j (l1|x_j| + (l2/2)x_j^2).

    Parameters
    ----------
    A, b, loss, l1, l2, penalty_weights, sample_weight, offset
        The problem, as in `Problem`.
    x : array of shape (d,)
        The primal point.
    y : array of shape (n,), optional
        The dual point to start from, y_i ~ phi_i'(a_i'x); made feasible where it is not. Without
        one, y = phi'(Ax).
    intercept : float
        The intercept c. For ``loss="multinomial"`` x has shape (d, K), y (n, K), intercept (K,).
    fit_intercept : bool, optional
        Whether c was free to move. By default it was if ``intercept`` is not 0; say True for a
        fitted intercept that happens to be 0.

    Returns
    -------
    Certificate
    """
    if fit_intercept is None:
        values = check.numeric("intercept", intercept)
        fit_intercept = bool(values.any() if values.ndim else check.real("intercept", intercept))
    problem = Problem(
        A,
        b,
        loss=loss,
        l1=l1,
        l2=l2,
        penalty_weights=penalty_weights,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        offset=offset,
    )
    return problem.certify(x, y, intercept=intercept)


def certify_point(problem: Problem, x: Array, y: Array | None = None) -> Certificate:
    """Certificate of x (with the intercept in it) and y, as `certify` does it."""
    return certified_pair(problem, x, y)[0]


def certified_pair(problem: Problem, x: Array, y: Array | None) -> tuple[Certificate, Array]:
    """The same and y, which is phi'(A x) if none is given."""
    return certified_at(problem, x, y)[:2]


def certified_at(
    problem: Problem, x: Array, y: Array | None = None
) -> tuple[Certificate, Array, Array]:
    """The same and z = A x + offset."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        z = problem.predict(x)
        if y is None:
            y = problem.loss.grad(z, problem.b)
        return _certify_point(problem, x, z, y), y, z


def _certify_point(problem: Problem, x: Array, z: Array, y: Array) -> Certificate:
    primal = problem.primal(x, z)
    if not (np.isfinite(x).all() and math.isfinite(primal)):
        return _make(problem, primal, math.inf, "none", math.inf)
    best = _duality_gap(problem, x, z, y, primal)
    if best is None or (best.kind == "gap_projected_dual" and best.gap <= 2.0 * best.rounding):
        # No dual point, or one whose own infeasibility hides the gap: the bounds that need none.
        other = _without_dual(problem, x, z, primal)
        if other is not None and (best is None or other.gap < best.gap):
            best = other
    return best or _make(problem, primal, math.inf, "none", math.inf)


def _make(problem: Problem, primal: float, gap: float, kind: Kind, rounding: float) -> Certificate:
    certified = kind != "none" and math.isfinite(gap)
    if not certified:
        gap, kind, rounding = math.inf, "none", math.inf
    scale = problem.scale(primal)
    relative = gap / scale if 0 < scale < math.inf else (0.0 if gap == 0 else math.inf)
    strong = problem.regularizer.l2[: problem.d].min()
    distance = math.sqrt(2.0 * gap / strong) if certified and strong > 0 else math.inf
    return Certificate(
        primal=primal,
        dual=primal - gap if certified else -math.inf,
        gap=gap,
        relative_gap=relative,
        certified=certified,
        kind=kind,
        rounding=rounding,
        distance=distance,
    )


def _duality_gap(
    problem: Problem, x: Array, z: Array, y: Array, primal: float
) -> Certificate | None:
    point = make_feasible(problem, z, y)
    if point is None:
        return None
    y, s = point.y, -point.u
    terms = problem.loss.fenchel_gap(z, y, problem.b)
    mismatch = problem.mean(terms)
    gap = mismatch + float(problem.regularizer.fenchel_gap(x, s).sum())
    # A'Qy on the free coordinates F is 0 only to rounding; L(x*, y) then differs from D(y) by
    # <y, A_F x*>, at most |part of y in the range of A_F| |A_F x*|, and z stands in for A_F x*. It
    # is added: never hidden. (Class numbers say nothing of sizes: e_b does, whose length is 1.)
    aim = 1.0 if problem.loss.is_vector else math.sqrt(problem.mean(problem.b * problem.b))
    leftover = point.residual * (math.sqrt(problem.inner(z, z)) + aim)
    rounding = leftover + _rounding(problem, x, z, point, primal + mismatch)
    return _make(problem, primal, gap + leftover, point.kind, rounding)


def _rounding(problem: Problem, x: Array, z: Array, point: DualPoint, primal: float) -> float:
    """What rounding in sums, in z = A x and in u = A'Qy can do to P and D.

    ``primal`` is P and the loss's part of the gap: with |y z| it bounds |phi*(y)|.
    """
    y, g = point.y, problem.regularizer
    terms = primal + 2.0 * problem.mean(row_sums(np.abs(y * z)))
    length = np.sqrt(problem.q @ (y * y))  # one per class
    error = 4.0 * EPS * length * per_row(problem.column_norms, x)  # of each u_j
    moved = np.abs(x) + np.abs(g.dual_x(-point.u))
    total = 4.0 * EPS * (primal + terms) + dot(error, moved)
    if g.has_l2:  # g*(s) = s^2/(2 l2) is curved
        total += float((error * error / (2.0 * g.divisors)).sum())
    if g.has_boxed:  # y may have to shrink by error/l1 to be feasible
        boxed = g.boxed.reshape(-1)
        total += float((error[boxed] / g.l1[boxed]).max()) * terms
    return total


def _without_dual(problem: Problem, x: Array, z: Array, primal: float) -> Certificate | None:
    """Bounds from the gradient of a smooth P: strong convexity, or self-concordance."""
    loss, regularizer = problem.loss, problem.regularizer
    if regularizer.has_l1 or problem.size > min(problem.n, GRAM_LIMIT) or loss.is_vector:
        return None
    gradient = problem.adjoint(loss.grad(z, problem.b)) + regularizer.l2 * x
    everything = np.ones(problem.size, dtype=bool)
    length = math.sqrt(problem.mean(loss.grad(z, problem.b) ** 2))
    undecided = 16.0 * EPS * (length * problem.column_norms + regularizer.l2 * np.abs(x))
    # z = A x carries a rounding of eps |A||x|, and with it P and the gradient.
    rounding = 8.0 * EPS * primal + 4.0 * EPS * length * float(problem.column_norms @ np.abs(x))
    if loss.delta > 0:
        # P(x') >= P(x) + g'(x'-x) + (1/2)(x'-x)'H(x'-x) with H = delta A'QA + diag(l2).
        H = loss.delta * problem.design.gram(problem.q) + np.diag(regularizer.l2)
        form = certified_inverse_form(H, gradient, undecided)
        if form is not None:
            return _make(problem, primal, 0.5 * form, "gradient_bound", rounding)
    if loss.is_self_concordant:
        # nu^2 = g'H^-1 g, kap^2 = max a_i'H^-1 a_i; nu kap < 1 bounds P - P* (|phi'''| <= phi'').
        weights = problem.q * loss.hess(z, problem.b)
        equations = NormalEquations(problem.design, weights, everything, regularizer.l2)
        if not equations.definite:  # a direction left out might carry the gap
            return None
        nu = equations.norm(gradient) + equations.norm(undecided)
        kap = math.sqrt(equations.largest_leverage(problem.q > 0))
        if nu * kap < 1.0 and kap > 0.0:
            gap = (2.0 / kap**2) * (1.0 - math.sqrt(1.0 - nu * kap)) ** 2
            return _make(problem, primal, gap, "self_concordance", rounding)
    return None
