"""States of this version go on as if nothing had been; those of another are refused."""

from __future__ import annotations

import copy
import pickle
import sys
from types import ModuleType

import numpy as np
import pytest

import dualgap
from dualgap import state as states
from dualgap.state import STATE_VERSION, replace
from tests.reliability.problems import regression
from tests.structure import state_fields

REFUSED = r"saved by another version of dualgap .*keep result\.x as an array, and pass it as x0\.$"


def first_part(algorithm="ada-bpd", **options):
    problem = dualgap.Problem(*regression(), l2=0.01)
    return problem, problem.solve(algorithm=algorithm, tol=1e-14, max_passes=4, **options)


def from_version(version, value, monkeypatch, dumps=pickle.dumps):
    """What a dualgap with that version would have saved."""
    with monkeypatch.context() as patch:
        patch.setattr(states, "STATE_VERSION", version)
        return dumps(value)


@pytest.mark.parametrize(
    "save", [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy]
)
@pytest.mark.parametrize("algorithm", ["ada-bpd", "adf-spdc", "newton", "working-set", "sdca"])
def test_a_saved_state_goes_on_bitwise(algorithm, save):
    problem, result = first_part(algorithm)
    again = save(result.state)
    assert vars(again).keys() == vars(result.state).keys()
    options = {"algorithm": algorithm, "tol": 1e-14, "max_passes": 4}
    one = problem.solve(state=result.state, **options)
    other = problem.solve(state=again, **options)
    assert np.array_equal(one.x, other.x) and np.array_equal(one.y, other.y)
    assert np.array_equal(one.trace.gap, other.trace.gap)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_saves_it(protocol):
    state = first_part()[1].state
    again = pickle.loads(pickle.dumps(state, protocol))
    assert np.array_equal(again.x, state.x)
    assert again.own.steps == state.own.steps


@pytest.mark.parametrize("version", [0, STATE_VERSION + 1])
@pytest.mark.parametrize("kept", ["state", "result", "in a list"])
def test_another_version_is_refused(kept, version, monkeypatch):
    result = first_part()[1]
    value = {"state": result.state, "result": result, "in a list": [1.0, result.state]}[kept]
    saved = from_version(version, value, monkeypatch)
    with pytest.raises(ValueError, match=REFUSED):
        pickle.loads(saved)


def test_it_is_refused_before_what_has_moved_is_looked_for(monkeypatch):
    """Law: the sentence comes, and not that a module of the other version does not exist."""

    class Own:
        pass

    gone = ModuleType("dualgap.gone")
    gone.Own, Own.__module__, Own.__qualname__ = Own, "dualgap.gone", "Own"
    state = replace(first_part()[1].state, own=Own())
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "dualgap.gone", gone)
        old = from_version(STATE_VERSION + 1, state, monkeypatch)
        ours = pickle.dumps(state)
    with pytest.raises(ValueError, match=REFUSED):
        pickle.loads(old)
    with pytest.raises(ModuleNotFoundError):  # as it would be without a version
        pickle.loads(ours)


def test_formats_that_know_no_reduce_refuse_it_too(monkeypatch):
    skops = pytest.importorskip("skops.io")
    X, y = regression()
    model = dualgap.Lasso(0.1, warm_start=True, keep_run=True).fit(X, y)
    saved = from_version(STATE_VERSION + 1, model, monkeypatch, skops.dumps)
    with pytest.raises(ValueError, match=REFUSED):
        skops.loads(saved, trusted=skops.get_untrusted_types(data=saved))


def test_values_without_a_version_are_refused():
    state = first_part()[1].state
    with pytest.raises(ValueError, match=r"of version 0 there, of version \d+ here"):
        object.__new__(type(state)).__setstate__(dict(vars(state)))


def test_what_states_hold_is_written_down_with_their_version():
    """Law: states of one version have the same fields."""
    written = state_fields.FILE.read_text(encoding="utf-8")
    assert state_fields.text() == written, (
        "What a state holds has changed: raise STATE_VERSION in dualgap/state.py, once a release, "
        f"and then: {state_fields.COMMAND}"
    )
