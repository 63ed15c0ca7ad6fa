"""The watchmen watched: every bug planted in the package is caught by the honesty checks."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dualgap import losses
from dualgap.certificate import certifying, feasibility, proof, quadratic, rows
from dualgap.certificate.feasibility import NOT_AT_ALL
from dualgap.dual_points import feasible
from dualgap.dual_points.feasible import DualPoint
from dualgap.problem import Problem
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
        if best.case.loss == "huber":  # where squares are least, at slopes that Huber does not have
            squares = reference(replace(best.case, loss="squared"))
            assert_honest(best, squares.x, squares.c, squares.dual)


def test_the_package_as_it_is_passes() -> None:
    inspect()


def plant(module: object, name: str, wrong: Callable) -> Callable:
    """Replace what a module knows under this name."""
    return lambda monkeypatch: monkeypatch.setattr(module, name, wrong)


def all_of(*plants: Callable) -> Callable:
    def every(monkeypatch: pytest.MonkeyPatch) -> None:
        for each in plants:
            each(monkeypatch)

    return every


def halved(cls: type, name: str) -> Callable:
    """A bound from above that is half of what it should be."""
    right = getattr(cls, name)
    return plant(cls, name, lambda self, *args: 0.5 * right(self, *args))


def everywhere(self: losses.Loss, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.full(b.shape, -np.inf), np.full(b.shape, np.inf)


right_sweep, right_rows, right_weight = rows.swept, proof.dual_rows, proof.total_weight
right_end, right_enclosed = certifying.stated, proof.enclosed
right_gap = ElasticNet.gap_above


def with_sums(change: Callable) -> Callable:
    def wrong(*args: object, **options: object) -> object:
        found = right_sweep(*args, **options)
        return found._replace(S=change(found.S))

    return wrong


def with_offset(sign: float) -> Callable:
    def wrong(problem: Problem, *args: object, **options: object) -> object:
        other = copy.copy(problem)
        other.offset = None if problem.offset is None else sign * problem.offset
        return right_enclosed(other, *args, **options)

    return wrong


def stated(**changes: Callable) -> Callable:
    """A certificate with some fields changed."""

    def wrong(problem: Problem, *args: object) -> object:
        got = right_end(problem, *args)
        return replace(got, **{name: change(problem, got) for name, change in changes.items()})

    return wrong


def with_weights(change: Callable) -> Callable:
    """The proof with other weights than those that were given."""

    def in_rows(problem: Problem, y: np.ndarray | None) -> object:
        return right_rows(weighted(problem), y)

    def weighted(problem: Problem) -> Problem:
        other = copy.copy(problem)
        other.sample_weight = change(problem.sample_weight)
        return other

    return all_of(
        plant(proof, "dual_rows", in_rows),
        plant(proof, "total_weight", lambda problem: right_weight(weighted(problem))),
        plant(proof, "weighted_sum_up", lambda w, t: float(np.sum(t if w is None else change(w) * t)
              if change(w) is not None else np.sum(t))),
    )  # fmt: skip


BUGS = {
    **{
        f"half the gap of {loss.name}": halved(loss, "gap_above")
        for loss in (
            losses.Logistic, losses.SmoothedHinge, losses.SquaredHinge,
            losses.Huber, losses.StrongLogistic,
        )
    },
    "half the gap of squared": plant(quadratic, "_half", lambda length: 0.25 * length * length),
    "S twice as large": plant(rows, "swept", with_sums(lambda S: 2.0 * S)),
    "sign of S": plant(rows, "swept", with_sums(lambda S: -S)),
    "W too large": plant(
        proof, "total_weight", lambda p: proof.Weight(2.0 * right_weight(p).low, 2.0 * p.n)
    ),
    "1/2 missing in g*": plant(
        ElasticNet, "gap_above", lambda self, *args: 0.25 * right_gap(self, *args)
    ),
    "the penalty's part forgotten": plant(
        ElasticNet, "gap_above", lambda self, x, *args: np.zeros_like(x)
    ),
    "offset forgotten": plant(proof, "enclosed", with_offset(0.0)),
    "offset subtracted": plant(proof, "enclosed", with_offset(-1.0)),
    "sum of y left as it is": all_of(
        plant(proof, "real_point", lambda *args: NOT_AT_ALL),
        plant(certifying, "make_feasible", lambda problem, z, y, *args, **options: DualPoint(
            problem.loss.into_domain(y, problem.b), y, "gap", y, y)),
    ),
    "y outside the box of l1": all_of(
        plant(proof.Penalty, "scale_into", lambda self, *args: 1.0),
        plant(certifying, "make_feasible", lambda problem, z, y, *args, **options: None
              if problem.regularizer.has_free else DualPoint(
                  problem.loss.into_domain(y, problem.b), y, "gap", y, y)),
    ),
    "weights ignored": with_weights(lambda w: None),
    "rows without weight counted": with_weights(lambda w: None if w is None else w + 1.0),
    "domain not checked after projection": all_of(
        plant(feasibility, "_has_room", lambda *args: True),
        plant(feasible, "_into_domain", lambda problem, y: y),
        plant(feasible, "_room", lambda problem, y: np.full_like(y, np.inf)),
        plant(losses.Loss, "into_domain", lambda self, y, b: y),
    ),
    "domain of Huber forgotten": plant(losses.Huber, "domain", everywhere),
    "domain of smoothed hinge forgotten": plant(losses.SmoothedHinge, "domain", everywhere),
    "domain of squared hinge forgotten": plant(losses.SquaredHinge, "domain", everywhere),
    "gap halved": plant(certifying, "stated", stated(gap=lambda p, got: 0.5 * got.gap)),
    "distance without the 2": plant(
        certifying, "stated", stated(distance=lambda p, got: got.distance / 2**0.5)
    ),
    "relative to P(0)": plant(
        certifying, "stated", stated(relative_gap=lambda p, got: got.gap / p.primal_at_zero)
    ),
    "dual too high": plant(certifying, "stated", stated(dual=lambda p, got: got.primal)),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    references()
    BUGS[bug](monkeypatch)
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        inspect()
