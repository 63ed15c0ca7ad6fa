"""The judge is judged: planted lies are convicted, the truth is not, and its numbers are right."""

import decimal
import math
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.certificate.cases import Case, battery
from tests.multinomial import data as classes

from . import runs
from .decimals import WORK, Objective, exact, rational_value
from .existence import find_ray
from .judge import judge, null_value
from .polish import polish
from .problems import generate
from .runs import Claim, guarded
from .solving import solve_semidefinite


def whats(case: Case, *claims: Claim) -> list[str]:
    return [c.what for c in judge(case, list(claims)).convictions]


# ---- P ----


@pytest.mark.parametrize("case", battery(), ids=lambda case: f"{case.loss}")
def test_decimals_agree_with_longdouble(case: Case) -> None:
    """Two programs for one formula: P agrees to the digits that longdouble has."""
    rng = np.random.default_rng(0)
    x, c = rng.standard_normal(case.shape[1]), float(case.fit_intercept) * 0.3
    objective = Objective(case)
    with decimal.localcontext(WORK):
        P = objective.value(objective.join(x, c))
        assert float(P) == pytest.approx(float(case.checker.primal(x, c)), rel=1e-16)
        if case.loss in ("squared", "huber", "squared_hinge", "smoothed_hinge"):
            same = Fraction(P) - rational_value(case, objective.join(x, c))
            assert abs(same) <= Fraction(P) / 10**90


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_classes_agree_with_longdouble(fit_intercept: bool) -> None:
    other = classes.case("elastic_net", fit_intercept=fit_intercept, weights=True, offset=True)
    arguments = {k: v for k, v in other.arguments.items() if k != "loss"}
    case = Case(other.A, other.b, "multinomial", **arguments)
    rng = np.random.default_rng(1)
    x, c = rng.standard_normal((other.A.shape[1], other.K)), rng.standard_normal(other.K)
    c = c if fit_intercept else 0 * c
    objective = Objective(case)
    with decimal.localcontext(WORK):
        P = objective.value(objective.join(x, c))
    assert float(P) == pytest.approx(float(other.primal(x, c)), rel=1e-15)


# ---- P* ----


def least_squares(A: np.ndarray, b: np.ndarray) -> Fraction:
    """min |A x - b|^2/(2n) in exact rationals, by eliminating the normal equations."""
    rows = [[Fraction(float(v)) for v in row] for row in A]
    right = [Fraction(float(v)) for v in b]
    n, d = A.shape
    M = [
        [sum(r[i] * r[j] for r in rows) for j in range(d)]
        + [sum(r[i] * v for r, v in zip(rows, right, strict=True))]
        for i in range(d)
    ]
    x, pivots = [Fraction(0)] * d, []
    for j in range(d):
        k = next((i for i in range(len(pivots), d) if M[i][j]), None)
        if k is None:
            continue
        at = len(pivots)
        M[at], M[k] = M[k], M[at]
        M[at] = [v / M[at][j] for v in M[at]]
        for i in range(d):
            if i != at and M[i][j]:
                M[i] = [v - M[i][j] * u for v, u in zip(M[i], M[at], strict=True)]
        pivots.append(j)
    for at, j in enumerate(pivots):
        x[j] = M[at][d]
    r = [
        sum(a * v for a, v in zip(row, x, strict=True)) - t
        for row, t in zip(rows, right, strict=True)
    ]
    return sum(v * v for v in r) / (2 * n)


def hard_data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    m = rng.standard_normal(8)
    return {
        "metres and feet": np.column_stack((m, 3.28084 * m)),
        "twins": np.column_stack((m, m, rng.standard_normal(8))),
        "near 1e15": np.column_stack((1e15 + np.arange(8.0), np.ones(8))),
        "powers": np.vander(np.linspace(1, 2, 8), 6),
        "1e-170": np.column_stack((m, rng.standard_normal(8) * 1e-170)),
        "the difference in one row": np.vstack((np.ones((7, 2)), [[0.0, 1e-14]])),
    }


@pytest.mark.parametrize("name", hard_data())
def test_the_better_point_is_the_best_one(name: str) -> None:
    """Least squares have a rational P*: where float64 sees no rank, the judge finds it."""
    A = hard_data()[name]
    b = np.arange(8.0) ** 2 % 7
    objective = Objective(Case(A, b))
    best = polish(objective, exact(np.zeros(A.shape[1])))
    P = least_squares(A, b)
    assert abs(Fraction(best.P) - P) <= P / 10**40 + Fraction(1, 10**60)


@pytest.mark.parametrize("case", battery(), ids=lambda case: f"{case.loss}")
def test_the_better_point_is_stationary(case: Case) -> None:
    """From x = 0 to a point that the longdouble checker's own dual bound finds nothing below."""
    check, objective = case.checker, Objective(case)
    best = polish(objective, exact(np.zeros(objective.shape)))
    x = best.X.astype(float)
    c = float(x[-1]) if case.fit_intercept else 0.0
    x = x[: case.shape[1]]
    primal = check.primal(x, c)
    assert float(best.P) == pytest.approx(float(primal), rel=1e-12, abs=1e-30)
    if (check.l2_j > 0).all() and not case.fit_intercept:
        gap = primal - check.dual(check.gradient_dual(x, c))
        assert gap <= 1e-14 * primal


def test_rank_is_seen_and_a_way_out_found() -> None:
    """H = vv' with v = (1, 1): 2 = Hx has solutions, (1, -1) leads out of its range."""
    with decimal.localcontext(WORK):
        H = exact(np.ones((2, 2)))
        x, beyond = solve_semidefinite(H, exact([2.0, 2.0]))
        assert beyond is None
        assert (H @ x == 2).all()
        _, beyond = solve_semidefinite(H, exact([1.0, -1.0]))
        assert beyond is not None
        assert not (H @ beyond).any()
        assert beyond[0] - beyond[1] > 0


# ---- charges ----

RIDGE = Case(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), l2=1.0)
# P(x) = ((x - 1)^2 + (2x - 1)^2)/4 + x^2/2 is least at x = 3/7, and P(1) - P* = 12/21.


def claim(gap: float, **given: Any) -> Claim:
    return Claim("planted", np.array([1.0]), gap=gap, certified=True, kind="gap", **given)


def test_a_false_gap_is_convicted_and_a_true_one_is_not() -> None:
    """(7/4)(1 - 3/7)^2 = 4/7; no float is 4/7, one neighbour is too small, the other is not."""
    above = float(Fraction(4, 7))
    below = above
    while Fraction(above) < Fraction(4, 7):
        above = math.nextafter(above, 1)
    while Fraction(below) >= Fraction(4, 7):
        below = math.nextafter(below, 0)
    assert whats(RIDGE, claim(above)) == []
    assert whats(RIDGE, claim(below)) == ["false gap, rounding"]
    assert whats(RIDGE, claim(0.5 * above)) == ["false gap, gross"]


def test_no_certificate_is_no_false_one() -> None:
    assert whats(RIDGE, Claim("planted", np.array([1.0]), gap=math.inf)) == []


@pytest.mark.parametrize(
    ("gap", "tol", "guilty"), [(0.6, 1e-6, True), (0.6, 1.0, False)], ids=["above", "within"]
)
def test_converged_means_within_tol(gap: float, tol: float, guilty: bool) -> None:
    """P(1) = 3/4."""
    found = whats(RIDGE, claim(gap, status="CONVERGED", tol=tol))
    assert found == (["converged above tol"] if guilty else [])


def test_the_floor_of_converged_is_that_of_the_null_model() -> None:
    """Targets near 1e12 tell nothing of P: the best intercept alone leaves 1/8 of (0, 1)."""
    case = Case(np.array([[1.0], [-1.0]]), 1e12 + np.array([0.0, 1.0]), fit_intercept=True, l2=1.0)
    assert float(null_value(case)) == pytest.approx(1 / 8, rel=1e-6)
    away = Claim("planted", np.zeros(1), 1e12, gap=293.0, certified=True, kind="gap")
    away.status, away.tol = "CONVERGED", 1e-9
    assert whats(case, away) == ["converged above tol"]


def test_stationary_claims_nothing_and_is_counted() -> None:
    far = Claim("planted", np.array([1.0]), status="STATIONARY", tol=1e-3)
    near = Claim("planted", np.array([3 / 7]), status="STATIONARY", tol=1e-3)
    verdict = judge(RIDGE, [far, near, replace(claim(5.0), label="another")])
    assert not verdict.convictions and verdict.far == 1


OVERLAP = Case(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 1.0]), "logistic")
APART = Case(np.array([[1.0], [-2.0], [3.0]]), np.array([1.0, -1.0, 1.0]), "logistic")
TOUCHING = Case(  # the two rows at 0.5 hold each other, the others go for ever
    np.array([[0.5, 0.0], [0.5, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0]), "logistic"
)


@pytest.mark.parametrize(
    ("case", "none"), [(OVERLAP, False), (APART, True), (TOUCHING, True)],
    ids=["overlap", "apart", "touching"],
)  # fmt: skip
def test_minimisers_are_denied_only_where_there_are_none(case: Case, none: bool) -> None:
    denied = Claim("planted", np.zeros(case.shape[1]), status="NO_MINIMISER", tol=1e-6)
    denied = replace(denied, certified=True, gap=1.0, kind="gap")
    assert (find_ray(Objective(case)) is not None) == none
    verdict = judge(case, [denied])
    assert [c.what for c in verdict.convictions] == ([] if none else ["minimiser denied"])
    assert (verdict.minimiser == "none") == none


def test_without_minimiser_a_gap_is_held_against_the_infimum() -> None:
    """P falls to 0 along the ray, so that any gap below P(x) is false."""
    P = float(Objective(APART).value(exact([0.01])))
    assert whats(APART, Claim("planted", np.array([0.01]), gap=2 * P, certified=True)) == []
    assert whats(APART, Claim("planted", np.array([0.01]), gap=0.9 * P, certified=True)) == [
        "false gap, gross"
    ]


def test_what_holds_each_other_is_held_against_its_own_optimum() -> None:
    """Two of three rows stay at log 2 each: P falls to (2/3) log 2 and no further."""
    x = np.array([0.5, 0.0])
    objective = Objective(TOUCHING)
    off = float(objective.value(exact(x))) - 2 / 3 * math.log(2)
    assert whats(TOUCHING, Claim("planted", x, gap=1.0001 * off, certified=True)) == []
    for status in ("NO_MINIMISER", ""):
        false = Claim("planted", x, gap=0.9999 * off, certified=True, status=status)
        assert whats(TOUCHING, false) == ["false gap, gross"]


def test_a_gap_of_0_is_false_where_no_float_can_hold_the_truth() -> None:
    """P = log(1 + exp(-1e9)), about 10^(-4e8), is above 0, and below the least float above 0."""
    case = replace(APART, offset=1e9 * APART.b)
    claim = Claim("planted", np.array([0.01]), certified=True, gap=0.0, kind="gap")
    assert whats(case, claim) == ["false gap, underflow"]
    assert whats(case, replace(claim, gap=math.ulp(0.0))) == []


def test_what_a_call_does_wrong_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings, exceptions that are not the library's own sentences, and calls that hang."""

    def warned() -> None:
        warnings.warn("planted", RuntimeWarning, stacklevel=1)

    def raised() -> None:
        np.linalg.cholesky(-np.eye(2))

    def busy() -> None:
        while True:
            pass

    def asleep() -> None:
        time.sleep(60)

    monkeypatch.setattr(runs, "TIMEOUT", 0.05)
    found = {warned: "warning", raised: "exception", busy: "timeout", asleep: "timeout"}
    for call, what in found.items():
        case = Claim("planted")
        assert guarded(case, call) is None
        assert [fault for fault, _ in case.faults] == [what]


def test_a_sentence_of_the_library_is_a_refusal() -> None:
    case = Case(np.full((2, 1), np.nan), np.zeros(2))
    refused = runs.solve(case)
    assert refused.status == "REFUSED" and refused.faults == []


class Fake:
    """A result with a trace, as the library makes it."""

    def __init__(self, gap: float, last: float) -> None:
        self.x, self.intercept, self.y = np.zeros(1), 0.0, np.zeros(2)
        self.status, self.passes = type("Status", (), {"name": "PASS_LIMIT"}), 1.0
        self.certificate = type(
            "Certificate", (),
            {"gap": gap, "primal": 1.0, "dual": 1.0 - gap, "certified": True, "kind": "gap"},
        )  # fmt: skip
        self.trace = self

    primal, dual = np.array([1.0, 1.0]), np.array([0.0, 0.5])

    def __len__(self) -> int:
        return 2

    @property
    def gap(self) -> np.ndarray:
        return np.array([self.first, 0.5])

    first = 1.0


@pytest.mark.parametrize(
    ("gap", "first", "guilty"),
    [
        (0.5, 1.0, []),
        (0.25, 1.0, ["last row"]),
        (0.5, -1e-20, ["negative gap"]),
        (0.5, math.nan, ["negative gap"]),
        (-0.5, 1.0, ["negative gap", "last row"]),
    ],
)
def test_traces_and_certificates_are_read(
    gap: float, first: float, guilty: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake(gap, 0.5)
    fake.first = first
    monkeypatch.setattr(runs.dualgap, "solve", lambda *args, **given: fake)
    assert [what for what, _ in runs.solve(RIDGE).faults] == guilty


def test_a_negative_gap_of_a_snapshot_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*args: Any, callback: Any, **given: Any) -> Fake:
        callback(type("Snapshot", (), {"gap": -1e-20}))
        return Fake(0.5, 0.5)

    monkeypatch.setattr(runs.dualgap, "solve", solve)
    assert [what for what, _ in runs.solve(RIDGE, watch=True).faults] == ["negative gap"]


def test_divergence_is_convicted() -> None:
    assert whats(RIDGE, Claim("planted", status="DIVERGED")) == ["diverged"]


def test_decimals_reach_where_floats_do_not() -> None:
    """0.1 (1e8) + 0.1 (1 - 1e8) is 0.1, whatever float64 makes of it."""
    case = Case(np.array([[0.1, 0.1]]), np.array([0.0]))
    objective, P = Objective(case), Fraction(0.1) ** 2 / 2
    X = objective.join([1e8, 1 - 1e8])
    assert rational_value(case, X) == P
    assert abs(Fraction(objective.value(X)) - P) < Fraction(1, 10**100)
    assert 0.1 * 1e8 + 0.1 * (1 - 1e8) != 0.1


def test_a_ray_that_moves_two_rows_of_many_is_found() -> None:
    """A class that one column shows in part: rows without it gain nothing, and exactly so."""
    generated = generate("old", 1, 4062)
    ray = find_ray(Objective(generated.case))
    assert ray is not None
    verdict = judge(generated.case, [runs.solve(generated.case)])
    assert verdict.minimiser == "none"
    assert verdict.convictions == []
