"""The watchmen watched: every bug planted in the package is caught by the honesty checks."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dualgap import certificate, feasible, losses, problem
from dualgap.feasible import DualPoint
from dualgap.normal_equations import NormalEquations
from dualgap.problem import Problem
from dualgap.products import PLAIN, Products
from dualgap.regularizers import ElasticNet

from .cases import Case, battery
from .honesty import Reference, assert_honest, reference
from .test_bound import pairs


@cache
def references() -> list[Reference]:
    """Computed once and by scipy, so that no planted bug can touch them."""
    rng = np.random.default_rng(0)
    overlapping = Case(
        rng.standard_normal((40, 3)), np.where(rng.random(40) < 0.5, 1.0, -1.0), "logistic"
    )
    return [reference(case) for case in [*battery(), overlapping]]


def inspect() -> None:
    for seed, best in enumerate(references()):
        for x, c, y in pairs(best, seed):
            assert_honest(best, x, c, y)


def test_the_package_as_it_is_passes() -> None:
    inspect()


def in_certificates(name: str, wrong: Callable) -> Callable:
    """Replace what `certificate` and `feasible` know under this name."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (certificate, feasible):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, wrong)

    return plant


def in_class(cls: type, name: str, wrong: Callable) -> Callable:
    return lambda monkeypatch: monkeypatch.setattr(cls, name, wrong)


def both(*plants: Callable) -> Callable:
    """One bug alone is caught by the other place."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        for each in plants:
            each(monkeypatch)

    return plant


def flipped_conjugate(loss: type[losses.Loss]) -> Callable:
    """phi* with the wrong sign, in the gap and wherever else it is used."""
    right = loss.conj

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(loss, "conj", lambda self, y, b: -right(self, y, b))
        monkeypatch.setattr(loss, "fenchel_gap", losses.Loss.fenchel_gap)

    return plant


right_point = feasible.make_feasible


def free_coordinates_forgotten(
    problem: Problem,
    z: np.ndarray,
    y: np.ndarray,
    products: Products = PLAIN,
    phi: float | None = None,
) -> DualPoint | None:
    """The dual point as it comes, with A'Qy on the free coordinates passed over."""
    point = right_point(problem, z, y, products, phi)
    if point is None:
        return None
    y = np.clip(y, *problem.loss.domain(problem.b))
    u = np.where(problem.regularizer.free, 0.0, problem.adjoint(y))
    return point._replace(y=y, u=feasible._into_box(problem, u), extra=0.0)


def half_gap(right: Callable = certificate._make) -> Callable:
    def wrong(problem: Problem, primal: float, gap: float, *others: object) -> object:
        return right(problem, primal, 0.5 * gap, *others)

    return wrong


def without_half(self: ElasticNet, x: np.ndarray, s: np.ndarray) -> np.ndarray:
    off = x - self.dual_x(s)
    kept = np.clip(s, -self.l1, self.l1)
    return 0.25 * self.l2 * off * off + np.maximum(self.l1 * np.abs(x) - kept * x, 0.0)


def ridge_conjugate(self: ElasticNet, s: np.ndarray) -> np.ndarray:
    """s/l2 instead of S(s, l1)/l2."""
    return np.divide(s, self.l2, out=np.zeros_like(s), where=self.l2 > 0)


def no_l1_term(self: ElasticNet, x: np.ndarray, s: np.ndarray) -> np.ndarray:
    off = x - self.dual_x(s)
    return 0.5 * self.l2 * off * off


def everywhere(self: losses.Loss, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.full(b.shape, -np.inf), np.full(b.shape, np.inf)


right_leverage = NormalEquations.largest_leverage
right_distance = certificate._make

BUGS = {
    "conjugate of squared": flipped_conjugate(losses.Squared),
    "conjugate of logistic": flipped_conjugate(losses.Logistic),
    "conjugate of smoothed hinge": flipped_conjugate(losses.SmoothedHinge),
    "conjugate of squared hinge": flipped_conjugate(losses.SquaredHinge),
    "conjugate of Huber": flipped_conjugate(losses.Huber),
    "conjugate of strong logistic": flipped_conjugate(losses.StrongLogistic),
    "1/n missing in A'Qy": in_class(
        Problem, "adjoint", lambda self, y: self.design.rmatvec((self.q > 0) * y)
    ),
    "1/n missing in the mean": in_class(
        Problem, "mean", lambda self, values: float(((self.q > 0) * values).sum())
    ),
    "1/2 missing in g*": in_class(ElasticNet, "fenchel_gap", without_half),
    "l1 missing in g*": in_class(ElasticNet, "dual_x", ridge_conjugate),
    "l1 missing in the gap": in_class(ElasticNet, "fenchel_gap", no_l1_term),
    "offset forgotten": in_class(Problem, "predict", lambda self, x: self.design.matvec(x)),
    "offset subtracted": in_class(
        Problem,
        "predict",
        lambda self, x: self.design.matvec(x) - (0.0 if self.offset is None else self.offset),
    ),
    "sum of y left as it is": in_certificates("make_feasible", free_coordinates_forgotten),
    "y outside the box of l1": in_certificates(
        "l1_scales", lambda problem, y, u, error: (1.0, 1.0)
    ),
    "weights ignored": lambda monkeypatch: monkeypatch.setattr(
        problem, "_shares", lambda weight, n: np.full(n, 1.0 / n)
    ),
    "weights ignored in A'Qy": in_class(
        Problem, "adjoint", lambda self, y: self.design.rmatvec(y / self.n)
    ),
    "rows without weight counted": lambda monkeypatch: monkeypatch.setattr(
        problem, "_shares", lambda weight, n: _weights_plus_one(weight, n)
    ),
    "domain not checked after projection": both(
        in_certificates("_into_domain", lambda problem, y: y),
        in_certificates("_room", lambda problem, y: np.full_like(y, np.inf)),
    ),
    "domain of Huber forgotten": in_class(losses.Huber, "domain", everywhere),
    "domain of smoothed hinge forgotten": in_class(losses.SmoothedHinge, "domain", everywhere),
    "domain of squared hinge forgotten": in_class(losses.SquaredHinge, "domain", everywhere),
    "gap halved": in_certificates("_make", half_gap()),
    "kap too small": in_class(
        NormalEquations,
        "largest_leverage",
        lambda self, rows: 1e-6 * right_leverage(self, rows),
    ),
    "distance without the 2": in_certificates(
        "_make",
        lambda *args: replace(got := right_distance(*args), distance=got.distance / 2**0.5),
    ),
    "relative to P(0)": in_certificates(
        "_make",
        lambda problem, *args: replace(
            got := right_distance(problem, *args), relative_gap=got.gap / problem.primal_at_zero
        ),
    ),
}


def _weights_plus_one(weight: np.ndarray | None, n: int) -> np.ndarray:
    w = np.ones(n) if weight is None else np.asarray(weight) + 1.0
    return w / w.sum()


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    references()
    BUGS[bug](monkeypatch)
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        inspect()
