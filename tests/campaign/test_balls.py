"""The 400-bit judge is judged: its P against exact rationals and formulas written another way."""

import decimal
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from tests.certificate.cases import Case, battery, build
from tests.certificate.checker import STEEP

from .balls import BITS, Balls
from .bounded import BoundedCase
from .decimals import RATIONAL, WORK, Objective, exact, rational_value
from .polish import polish


def all_losses() -> list[Case]:
    steep = [
        build(7 + k, loss=loss, penalty=penalty, n=9, d=3, offset=True, fit_intercept=k % 2 == 0)
        for k, (loss, penalty) in enumerate((a, b) for a in STEEP for b in ("none", "elastic_net"))
    ]
    return battery() + steep


def point(case: Case) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(case.shape[1] + case.fit_intercept)


def holds(ball: arb, value: Fraction) -> bool:
    with ctx.workprec(2000):
        return ball.contains(arb(fmpq(value.numerator, value.denominator)))


@pytest.mark.parametrize("case", all_losses(), ids=lambda case: case.loss)
def test_the_ball_contains_p_and_is_small(case: Case) -> None:
    """Exact rationals where P is rational; elsewhere longdouble, to the digits that it has."""
    X = point(case)
    P = Balls(case).value(X)
    assert P.rel_accuracy_bits() > BITS - 40
    if case.loss in RATIONAL:
        assert holds(P, rational_value(case, X))
    x, c = X[: case.shape[1]], float(X[-1]) if case.fit_intercept else 0.0
    assert float(P) == pytest.approx(float(case.checker.primal(x, c)), rel=1e-14)


@pytest.mark.parametrize("case", all_losses(), ids=lambda case: case.loss)
def test_decimals_lie_beside_the_ball(case: Case) -> None:
    """The point of the search is found with the same P, to its sixty digits."""
    X = point(case)
    with ctx.workprec(BITS):
        off = abs(Balls(case).value(X) - arb(str(Objective(case).value(exact(X)))))
        assert off < arb("1e-55") * (1 + Balls(case).value(X))


@pytest.mark.parametrize("loss", ["huber", "squared_hinge", "smoothed_hinge"])
def test_kinks_are_inside_the_ball(loss: str) -> None:
    """z = 1/3 of a float at a kink: the decimal of 1/3 cannot tell on which side it is."""
    b = {"huber": 0.0, "squared_hinge": 1.0, "smoothed_hinge": 1.0}[loss]
    case = Case(
        np.array([[3.0]]),
        np.array(
            [
                b,
            ]
        ),
        loss,
        parameter=1.0,
    )
    third = exact(1.0).item() / 3
    P = Balls(case).value(np.array([third], dtype=object))
    assert holds(P, rational_value(case, np.array([third], dtype=object)))


@pytest.mark.parametrize("loss", STEEP)
def test_steep_losses_are_nothing_at_their_own_target(loss: str) -> None:
    """Deviances: phi = 0 at z = log b, up to the last bits of a float log b."""
    case = Case(np.array([[1.0]]), np.array([2.0]), loss)
    assert float(Balls(case).value(np.array([math.log(2.0)]))) < 1e-31
    away = float(Balls(case).value(np.array([0.0])))  # 1 - 2 (0 - log 2 + 1), and 2 - 1 - log 2
    known = {"poisson": 2 * math.log(2) - 1, "gamma": 1 - math.log(2)}
    assert away == pytest.approx(known[loss], rel=1e-15)


def test_products_of_floats_are_those_of_real_numbers() -> None:
    """l1 p = 0.1 * 0.1 and w/W = 0.1/0.4 are no floats: the ball has the real ones."""
    case = Case(
        np.array([[1.0], [1.0]]), np.zeros(2), l1=0.1, penalty_weights=[0.1],
        sample_weight=np.array([0.1, 0.3]), offset=np.array([1.0, 0.0]),
    )  # fmt: skip
    w1, w2 = Fraction(0.1), Fraction(0.3)
    real = (w1 * 4 / 2 + w2 / 2) / (w1 + w2) + Fraction(0.1) ** 2
    assert holds(Balls(case).value(np.array([1.0])), real)


def test_outside_of_the_bounds_p_is_infinite() -> None:
    case = BoundedCase(np.eye(2), np.ones(2), lower=0.0, upper=np.array([1.0, 2.0]))
    assert Balls(case).value(np.array([0.5, 1.5])).is_finite()
    for x in ([-1e-300, 1.0], [1.0, math.nextafter(2.0, 3.0)]):
        assert Balls(case).value(np.array(x)) > arb(1e300)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "poisson", "gamma"])
@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize("ends", [(0.0, np.inf), (-0.1, 0.1), (0.2, 0.3)], ids=str)
def test_the_better_point_within_bounds_is_the_best(
    loss: str, l1: float, ends: tuple[float, float]
) -> None:
    """Optimality by coordinate: a slope that no bound and no l1 stops is 0 to twenty digits."""
    plain = build(3, loss=loss, penalty="l2", n=8, d=3)
    arguments = {**vars(plain), "l1": l1, "l2": 0.01}
    arguments.pop("checker", None)
    case = BoundedCase(**arguments, lower=ends[0], upper=ends[1])
    objective = Objective(case)
    best = polish(objective, objective.nearest(exact(np.zeros(3))))
    assert objective.is_inside(best.X)
    with decimal.localcontext(WORK):
        y, _ = objective.slopes(objective.predict(best.X))
        slopes, l1 = objective.gradient(best.X, y), Decimal(l1)
        for x, g in zip(best.X, slopes, strict=True):
            low = -l1 if x <= 0 else l1  # subgradients of l1 |x| lie between these
            high = l1 if x >= 0 else -l1
            assert g + low <= Decimal("1e-20") or x == Decimal(ends[0])
            assert g + high >= Decimal("-1e-20") or x == Decimal(ends[1])


def test_classes_in_balls_agree_with_two_classes_of_logistic() -> None:
    """K = 2 with scores (0, z): the cross-entropy is the logistic loss of z."""
    logistic = build(1, loss="logistic", penalty="l2", n=8, d=3)
    b = (logistic.b > 0).astype(int)
    assert set(b) == {0, 1}
    classes = replace(logistic, b=b, loss="multinomial", parameter=1.0)
    x = np.random.default_rng(2).standard_normal(3)
    X = np.column_stack((np.zeros(3), x))
    with ctx.workprec(BITS):
        off = Balls(classes).value(X) - Balls(logistic).value(x)
        assert abs(off) < arb("1e-110")
