"""What an honest certificate must satisfy, checked from outside with nothing of the package."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.optimize

import dualgap

from .cases import Case
from .checker import LD, STEEP, log_or_0, phi, phi_prime, phi_second

UNDERFLOW = 1e-290
"""Longdouble reaches further down than float64."""


@dataclass(frozen=True)
class Reference:
    """The best point known, found without dualgap unless dualgap found a better one."""

    case: Case
    x: np.ndarray
    c: float
    primal: LD

    @classmethod
    def origin(cls, case: Case) -> "Reference":
        return cls(case, np.zeros(case.shape[1]), 0.0, case.checker.at_zero())

    def better(self, x: np.ndarray, c: float, slack: float = 0.0) -> "Reference":
        """That point if its P is lower (or higher by no more than so many last bits)."""
        x = np.where(np.abs(x) > 1e-90, x, 0.0)
        primal = self.case.checker.primal(x, c)
        enough = self.primal * (1 + LD(slack) * np.finfo(LD).eps)
        return Reference(self.case, x, c, primal) if primal < enough else self

    @cached_property
    def dual(self) -> np.ndarray:
        """phi'(z), the dual point that belongs to x."""
        with np.errstate(over="ignore"):
            y = self.case.checker.gradient_dual(self.x, self.c).astype(float)
        return np.where((np.abs(y) > 1e-90) & (self.case.checker.q > 0), y, 0.0)

    @cached_property
    def distance(self) -> float:
        """|x - x*| where l2 > 0 on every coordinate, from a duality gap of the checker's own."""
        check = self.case.checker
        y = check.balanced(check.gradient_dual(self.x, self.c))
        gap = max(self.primal - check.dual(y), 1e-18 * self.primal)
        return math.sqrt(2.0 * gap / check.l2_j.min())


def reference(case: Case) -> Reference:
    """scipy's L-BFGS-B on x = p - m with p, m >= 0, then Newton on the support."""
    check, d = case.checker, case.shape[1]
    parts = (check.A, check.b, check.q, check.o, check.l1_j, check.l2_j)
    A, b, q, o, l1, l2 = (np.asarray(part, float) for part in parts)

    def split(v: np.ndarray) -> tuple[np.ndarray, float]:
        return v[:d] - v[d : 2 * d], float(v[-1]) if case.fit_intercept else 0.0

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        x, c = split(v)
        z = A @ x + c + o
        y = phi_prime(check.loss, check.parameter, z, b)
        smooth = A.T @ (q * y) + l2 * x
        gradient = np.concatenate((smooth + l1, l1 - smooth, [q @ y * case.fit_intercept]))
        # l1 (p + m) for l1 |p - m|: the two agree at the minimum
        value = (
            q @ phi(check.loss, check.parameter, z, b) + l2 @ (x * x) / 2 + l1 @ (v[:d] + v[d:-1])
        )
        return float(value), gradient.astype(float)

    found = scipy.optimize.minimize(
        np.errstate(over="ignore", invalid="ignore")(value_and_gradient),
        np.zeros(2 * d + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * d) + [(None, None)],
        options={"maxiter": 100, "ftol": 1e-16, "gtol": 1e-14, "maxcor": 20},
    )
    x, c = split(found.x)
    sparse = np.where(np.abs(x) > 1e-9 * np.abs(x).max(initial=0.0), x, 0.0)
    x, sparse = np.nan_to_num(x), np.nan_to_num(sparse)
    return newton(Reference.origin(case).better(x, c).better(sparse, c))


def newton(best: Reference, steps: int = 8) -> Reference:
    """Newton's method on the coordinates that are not 0 (and the intercept), as far as P falls."""
    check, d = best.case.checker, best.case.shape[1]
    B = np.asarray(np.column_stack((check.A, np.ones(len(check.b)))), float)
    support = np.append(best.x != 0, best.case.fit_intercept)
    if not support.any():
        return best
    l1, l2 = np.append(check.l1_j, 0), np.append(check.l2_j, 0)
    for _ in range(steps):
        v = np.append(best.x, best.c)
        z, y = check.predict(best.x, best.c), check.gradient_dual(best.x, best.c)
        curvature = phi_second(check.loss, check.parameter, z, check.b)
        g = np.asarray(B.T @ (check.q * y) + l1 * np.sign(v) + l2 * v, float)[support]
        H = (B.T * np.asarray(check.q * curvature, float)) @ B + np.diag(l2.astype(float))
        step = np.zeros(d + 1)
        step[support] = np.linalg.lstsq(H[np.ix_(support, support)], g, rcond=1e-14)[0]
        new = best
        for shrink in (1.0, 0.25, 0.03):
            trial = v - shrink * step
            new = best.better(trial[:d], float(trial[d]), slack=1.0)
            if new is not best:
                break
        if new is best:
            return best
        best = new
    return best


def null_value(case: Case) -> float:
    """P of the intercept alone, by a search of its own; P(0) without one."""
    check = case.checker
    if not case.fit_intercept:
        return float(check.at_zero())
    zero = np.zeros(case.shape[1])
    wanted = np.asarray(check.b - check.o, float)
    if case.loss in STEEP:
        wanted = np.asarray(log_or_0(check.b) - check.o, float)
    ends = (float(wanted.min()) - 50.0, float(wanted.max()) + 50.0)
    found = scipy.optimize.minimize_scalar(
        lambda c: float(check.primal(zero, c)),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-9},
    )
    return min(float(found.fun), *(float(check.primal(zero, c)) for c in (*wanted, 0.0)))


def certify(case: Case, x: Any, c: float = 0.0, y: Any = None) -> dualgap.Certificate:
    return dualgap.certify(case.A, case.b, x, y, intercept=c, **case.arguments)


def assert_honest(
    best: Reference, x: np.ndarray, c: float, y: np.ndarray | None
) -> dualgap.Certificate:
    """Certify (x, c, y) and hold the certificate against the checker and the best point known."""
    case, check = best.case, best.case.checker
    got = certify(case, x, c, y)
    primal = check.primal(x, c)
    floor = check.primal_floor(x, c) + UNDERFLOW
    assert abs(got.primal - primal) <= 1e-13 * primal + floor, "P(x) is wrong"
    assert_consistent(case, got)
    if got.kind == "gap" and y is not None:
        assert_dual_value(case, got, x, c, y)
    if not got.certified:
        return got
    floor += check.dual_floor(y, best.x, best.c) + check.primal_floor(best.x, best.c)
    short = (primal - best.primal) - LD(got.gap)
    assert short <= floor, f"gap {got.gap} is {short:.3g} short of P(x) - P*: {got}"
    if check.l2_j.min() > 0:
        off = np.linalg.norm(x - best.x)
        reach = got.distance + math.sqrt(2.0 * floor / float(check.l2_j.min()))
        assert off <= reach + best.distance, f"x is {off} from x*, not within {got.distance}"
    return got


def assert_dual_value(case: Case, got: dualgap.Certificate, x: Any, c: float, y: Any) -> None:
    """The kind "gap" says that y is feasible as it is, and then the gap is P(x) - D(y)."""
    check = case.checker
    y = check.gradient_dual(x, c) if y is None else y
    attained = check.conjugate_point(y)
    floor = check.primal_floor(x, c) + UNDERFLOW
    floor += check.dual_floor(y, x, c) + check.dual_floor(y, attained)
    assert check.outside_by(y) == 0.0 and check.imbalance(y) == 0.0, "y is not feasible"
    assert (check.excess(y) * np.abs(x)).max(initial=0.0) <= floor, "y is not feasible"
    off = LD(got.gap) - (check.primal(x, c) - check.dual(y))
    # From above: the gap contains what rounding may hide.
    assert -floor <= off <= floor + 1e-11 * got.gap + hidden(case, got.gap, x, c, y), (
        f"gap {got.gap} is off P(x) - D(y) by {off:.3g}"
    )


def hidden(case: Case, gap: float, x: Any, c: float, y: Any) -> float:
    """What rounding of z and A'Qy may hide where phi and g* are smooth: (sqrt(gap) + r)^2 - gap.

    r^2 is the gap that errors of gamma_k |A||x| and gamma_k |A|'Q|y| make by themselves.
    """
    check, size = case.checker, np.abs(case.checker.A)
    n, d = size.shape
    u = LD(2.0**-53)
    z = check.predict(x, c)
    e = 16 * (d + 8) * u * (size @ np.abs(np.asarray(x, LD)) + np.abs(z) + np.abs(check.b))
    bent = phi_second(check.loss, check.parameter, z, check.b)
    bent = np.maximum(bent, 1.0 if check.loss not in STEEP else 0.0)
    of_y = 16 * (n + 8) * u * (size.T @ (check.q * np.abs(np.asarray(y, LD))))
    curved = check.l2_j > 0
    r2 = float(check.q @ (bent * e * e)) + float(
        np.sum(of_y[curved] ** 2 / check.l2_j[curved])
        + np.sum((of_y * np.abs(np.asarray(x, LD)))[~curved])
    )
    # Beyond |z| = 600 logistic bounds leave out phi* <= 0, which is no less than -log 2.
    far = float(check.q @ (np.abs(z) > 600)) if "logistic" in check.loss else 0.0
    return 2.0 * math.sqrt(gap * r2) + r2 + 0.7 * far


def assert_consistent(case: Case, got: dualgap.Certificate) -> None:
    """The parts of a certificate fit together."""
    assert got.certified == (got.kind not in ("none", "float", "gap_in_box"))
    assert got.certified == (got.reason == "") == math.isfinite(got.dual)
    assert math.isfinite(got.gap) == (got.kind != "none")
    assert got.gap >= 0.0
    assert got.dual <= got.primal - got.gap
    null = null_value(case)
    # P0 is known to a thousandth, and P(x) from below, by `dual`.
    lowest = min(got.primal, max(got.dual + got.gap, 0.0) * (1 - 1e-15))
    units = [max(lowest, 1e-12 * null), max(got.primal, 1e-12 * null * 1.01)]
    if got.certified and units[0] > 1e-25 * float(case.checker.at_zero()):  # P0 is not rounding
        assert got.gap / units[1] * (1 - 1e-12) <= got.relative_gap
        assert got.relative_gap <= got.gap / units[0] * (1 + 1e-12) + 1e-300
    strong = float(case.checker.l2_j.min())
    if got.certified and strong > 0:
        wanted = math.sqrt(2.0 * got.gap / strong)
        assert wanted <= got.distance <= wanted * (1 + 1e-12) + 1e-150
    else:
        assert got.distance == math.inf
