"""What a run is made of while it goes on: all of it is in a checkpoint, of any algorithm."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dualgap
from dualgap.algorithms import NO_ADVICE, Algorithm, Needs, Start, first_point, replace, with_dual
from dualgap.driver import course
from dualgap.driver.keeping import Keeper

from .runs import data, difference

SEEN_TO = {"rows", "attempts", "prover", "limits", "problem"}
"""Parts of a run that `course_of` takes what it needs of."""
NOT_OF_THE_COURSE = {"found", "callback"}
"""What is None between two steps, and what the caller gives."""


def problem(**changes):
    A, b, weights = data("logistic", n=60)
    arguments = {"loss": "logistic", "fit_intercept": True, "sample_weight": weights, **changes}
    return dualgap.Problem(A, b, **arguments)


@pytest.mark.parametrize("algorithm", ["adf-bpd", "newton", "working-set", "adf-spdc"])
@pytest.mark.parametrize("tol", [1e-7, 5e-324])
@pytest.mark.parametrize("strengths", [{}, {"l2": 1e-3}], ids=["none", "l2"])
def test_whatever_of_a_run_changes_is_in_its_course(
    algorithm, tol, strengths, tmp_path, monkeypatch
):
    """Law: attributes that differ from one step to the next are named in `driver.course`."""
    seen = []
    look = Keeper.look

    def watching(self, run, s):
        seen.append({**vars(run), "prover": vars(run.prover).copy()})
        look(self, run, s)

    monkeypatch.setattr(Keeper, "look", watching)
    given = {"algorithm": algorithm, "tol": tol, "max_passes": 60, "precondition": "none"}
    problem(**strengths).solve(checkpoint=tmp_path / "run.npz", checkpoint_every="1 h", **given)
    assert len(seen) > 1
    known = {*course.MOVING, *course.OF_THE_START, *SEEN_TO, *NOT_OF_THE_COURSE}
    for before, after in itertools.pairwise(seen):
        changed = {name for name in after if after[name] is not before.get(name)}
        same = {name for name in changed if repr(after[name]) == repr(before.get(name))}
        assert changed - same <= known
        moved = {k for k, v in after["prover"].items() if v is not before["prover"][k]}
        assert moved <= {"last", "failures"}
    assert all(state["found"] is None for state in seen)


def test_the_names_are_the_fields():
    fields = {field.name for field in dataclasses.fields(course.Course)}
    assert {*course.MOVING, *course.OF_THE_START} < fields


# ---- an algorithm of one's own ----


@dataclass(frozen=True, eq=False)
class Memory:
    """What the algorithm below knows."""

    older: np.ndarray
    counts: tuple[int, ...] = ()
    generator: object = None


@dataclass(frozen=True)
class HeavyBall(Algorithm):
    """Gradient steps with momentum."""

    momentum: float = 0.5
    with_generator: bool = False

    requires: ClassVar[Needs] = Needs(gamma=True, no_l1=True, regularizer="strengths")

    def start(self, problem, x0, y0, advice=NO_ADVICE):
        s, _ = first_point(self.name, problem, x0, None, problem.constants.Lam.value)
        generator = np.random.default_rng(0) if self.with_generator else None
        return Start(replace(s, own=Memory(s.x, generator=generator)))

    def step(self, problem, s):
        g = problem.elastic_net
        slope = s.u + g.l2 * s.x
        length = 1.0 / (problem.constants.Lam.value / problem.loss.gamma + g.l2.max())
        x = s.x - length * slope + self.momentum * (s.x - s.own.older)
        z = problem.predict(x)
        y = problem.loss.grad(z, problem.b)
        own = replace(s.own, older=s.x, counts=(*s.own.counts, s.t))
        new = replace(
            s, t=s.t + 1, passes=s.passes + 1.0, x=x, z=z, y=y, u=problem.adjoint(y),
            primal=problem.primal(x, z), own=own,
        )  # fmt: skip
        return with_dual(problem, new, problem.constants.Lam.value)


def test_an_algorithm_of_ones_own_is_kept(tmp_path):
    options = {"algorithm": HeavyBall(), "tol": 1e-9}
    file = tmp_path / "run.npz"
    whole = problem(l2=0.05).solve(max_passes=20, **options)
    problem(l2=0.05).solve(max_passes=9, checkpoint=file, **options)
    rest = problem(l2=0.05).solve(max_passes=20, checkpoint=file, resume=True, **options)
    assert difference(whole, rest) == []
    assert rest.state.own.counts == tuple(range(20))
    with pytest.raises(ValueError, match=r"momentum=0\.5.*momentum=0\.6"):
        problem(l2=0.05).solve(
            checkpoint=file, resume=True, **{**options, "algorithm": HeavyBall(0.6)}
        )


def test_a_state_that_no_file_can_hold_is_refused_before_the_first_step(tmp_path, monkeypatch):
    def step(*_):
        pytest.fail("a step was made")

    monkeypatch.setattr(HeavyBall, "step", step)
    algorithm, file = HeavyBall(with_generator=True), tmp_path / "run.npz"
    with pytest.raises(TypeError, match=r"state\.own\.generator of this run is a Generator"):
        problem(l2=0.05).solve(algorithm=algorithm, checkpoint=file)
    assert not file.exists()
