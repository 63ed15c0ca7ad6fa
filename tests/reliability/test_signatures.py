"""Signatures say what can be said: help, completion and type checkers know every argument."""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import dualgap
from dualgap import api, paths

STARTS = ("x0", "y0", "state", "earlier")
"""Arguments of one solve that a path chooses itself."""
OF_ONE_RUN = ("checkpoint", "checkpoint_every", "resume")
"""Arguments about the file of one run, where a path is many."""
OF_A_PATH = ("lambdas", "l1_ratio", "eps")


def parameters(function):
    return dict(inspect.signature(function).parameters)


def of_problem_and_solve():
    """Of `Problem`, then of its `solve`, as one function has them."""
    out = parameters(dualgap.Problem) | parameters(dualgap.Problem.solve)
    del out["self"]
    return out


def test_solve_takes_what_problem_and_its_solve_take():
    """Equivalence: the same names in the same order, kinds, defaults and types."""
    ours, theirs = parameters(dualgap.solve), of_problem_and_solve()
    assert ours == theirs
    assert list(ours) == list(theirs)


def test_path_takes_them_but_for_strengths_and_starts():
    ours, theirs = parameters(dualgap.path), of_problem_and_solve()
    assert {k: v for k, v in ours.items() if k not in OF_A_PATH} == {
        k: v for k, v in theirs.items() if k not in ("l1", "l2", *STARTS, *OF_ONE_RUN)
    }


def test_certify_takes_the_arguments_of_problem():
    """But that fit_intercept may be left to the intercept that is given."""
    ours, theirs = parameters(dualgap.certify), parameters(dualgap.Problem)
    del theirs["fit_intercept"]
    assert {k: ours.get(k) for k in theirs} == theirs


@pytest.mark.parametrize("function", [dualgap.solve, dualgap.path, dualgap.certify])
def test_nothing_is_taken_unnamed_or_untyped(function):
    known = parameters(function)
    assert not [p for p in known.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    assert set(typing.get_type_hints(function)) == {*known, "return"}


def test_solve_hands_every_argument_on(monkeypatch):
    """Law: each to the argument of its name."""
    seen = {}

    @dataclass(frozen=True)
    class Outcome:
        readings: float = 0.0
        rounds: int = 0

    class Recorder:
        base = SimpleNamespace(ledger=SimpleNamespace(readings=3.0, rounds=2))

        def __init__(self, A, b, **arguments):
            seen.update(A=A, b=b, **arguments)

        def solve(self, **arguments):
            seen.update(arguments)
            return Outcome()

    monkeypatch.setattr(api, "Problem", Recorder)
    given = {name: object() for name in parameters(dualgap.solve)}
    given["memory_limit"] = "1 GB"  # which is looked at, because a problem is made within it
    given["n_threads"] = 2  # threads look at the data before there is a problem
    result = dualgap.solve(**given)
    assert (result.readings, result.rounds) == (3.0, 2)
    assert seen == given


def test_path_hands_every_option_on(monkeypatch):
    seen = {}

    def walk(problem, strengths, **options):
        seen.update(options)
        return paths._walk.walk(problem, strengths)

    monkeypatch.setattr(paths, "walk", walk)
    options = set(parameters(dualgap.Problem.solve)) - {"self", *STARTS, *OF_ONE_RUN}
    options -= {"memory_limit"}  # the whole path has it
    given = {
        "algorithm": "ada-bpd", "adapt": "simple", "mu": 0.5, "schedule": "theorem",
        "precondition": "diagonal", "tol": 1e-5, "max_passes": 77, "max_time": 5.0,
        "random_state": 3, "n_threads": 1, "callback": len, "verbose": True,
    }  # fmt: skip
    assert set(given) == options
    dualgap.path(np.eye(3), np.ones(3), lambdas=[0.1], **given)
    assert seen == given


def test_defaults_leave_the_way_along_a_path_open(monkeypatch):
    """Law: what is not asked for is not handed on, for any wish makes every point a solve."""
    seen = {}

    def walk(problem, strengths, **options):
        seen.update(options)
        return paths._walk.walk(problem, strengths)

    monkeypatch.setattr(paths, "walk", walk)
    dualgap.path(np.eye(3), np.ones(3), lambdas=[0.1])
    assert set(seen) <= paths._walk.PLAIN


@pytest.mark.parametrize("function", [dualgap.solve, dualgap.path])
def test_an_unknown_argument_is_refused_before_the_data_are_read(function):
    with pytest.raises(TypeError, match="unexpected keyword argument 'tolerance'"):
        function(None, None, tolerance=1e-3)
