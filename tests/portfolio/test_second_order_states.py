"""The states of the second-order algorithms: typed, never written to, whole when pickled."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import ALGORITHMS
from dualgap.algorithms.second_order import class_blocks
from dualgap.algorithms.second_order.newton import NewtonState
from dualgap.algorithms.second_order.newton_system import SystemState
from dualgap.algorithms.second_order.prox_newton import ProxNewtonState
from dualgap.algorithms.second_order.working_set import WorkingSetState
from tests.tuned import tuned

OWN = {"newton": NewtonState, "working-set": WorkingSetState, "prox-newton": ProxNewtonState}
LOSSES = ["squared", "logistic", "huber", "squared_hinge", "multinomial"]
CASES = [
    (name, loss)
    for name in OWN
    for loss in LOSSES
    if not (name == "working-set" and loss == "multinomial")
]


def make(name, loss, layout="dense", **options):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 9)) * (rng.random((60, 9)) < 0.7) * np.logspace(0, 1.5, 9)
    z = A @ rng.standard_normal(9) + rng.standard_normal(60)
    b = {"squared": z, "huber": z, "multinomial": np.arange(60) % 3}.get(loss, np.sign(z))
    strengths = {"l2": 1e-4} if name == "newton" else {"l1": 1e-2}
    data = A if layout == "dense" else sp.csr_array(A)
    return dualgap.Problem(data, b, loss=loss, fit_intercept=True, **{**strengths, **options})


def walk(name, problem, steps=8):
    """The states before each step and the one after the last."""
    algorithm = ALGORITHMS[name]().aiming_at(1e-12)
    states = [algorithm.start(problem, None, None).state]
    for _ in range(steps):
        states.append(algorithm.step(problem, states[-1]))
    return algorithm, states


def parts(value):
    """All that a state holds, dataclasses and tuples taken apart."""
    yield value
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from parts(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from parts(part)


def content(state):
    return [v.tobytes() if isinstance(v, np.ndarray) else v for v in parts(state) if _is_plain(v)]


def _is_plain(value):
    return value is None or isinstance(value, np.ndarray | float | int | str)


@pytest.fixture(autouse=True)
def quiet():
    """As the driver has it."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        yield


@pytest.fixture(params=["as it is", "in pieces"])
def pieces(request, monkeypatch):
    """Also with systems of many steps, no factor and products with no end."""
    if request.param == "in pieces":
        tuned(monkeypatch, "SYSTEMS", chunk=2)
        monkeypatch.setattr("dualgap.linalg.hessian_factor.cost", lambda *_, **__: np.inf)
        monkeypatch.setattr(class_blocks, "price", lambda problem: 20.0)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("name", "loss"), CASES)
def test_a_step_writes_to_no_state(name, loss, layout, pieces):
    problem = make(name, loss, layout)
    algorithm, (first, *_) = walk(name, problem, 0)
    state = first
    for _ in range(8):
        before = content(state)
        new = algorithm.step(problem, state)
        assert content(state) == before
        state = new
    assert type(state.own) is OWN[name]


@pytest.mark.parametrize(("name", "loss"), CASES)
def test_what_an_algorithm_knows_is_typed(name, loss, pieces):
    """No mapping hides in it, and it is frozen."""
    for state in walk(name, make(name, loss))[1]:
        assert not any(isinstance(part, dict) for part in parts(state.own))
        field = dataclasses.fields(state.own)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(state.own, field, None)


@pytest.mark.parametrize(("name", "loss"), CASES)
def test_a_pickled_state_goes_on_bitwise(name, loss, pieces):
    problem = make(name, loss)
    algorithm, states = walk(name, problem)
    for state, new in itertools.pairwise(states):
        again = algorithm.step(problem, pickle.loads(pickle.dumps(state)))
        assert content(again) == content(new)


def test_a_system_is_kept_until_it_is_solved(monkeypatch):
    tuned(monkeypatch, "SYSTEMS", chunk=2)
    monkeypatch.setattr("dualgap.linalg.hessian_factor.cost", lambda *_, **__: np.inf)
    states = walk("newton", make("newton", "logistic"))[1]
    kept = [state.own.system for state in states]
    assert kept[0] is None
    assert any(isinstance(system, SystemState) for system in kept)
    for system, state in zip(kept, states, strict=True):
        if system is not None:
            assert system.base.x is state.x and system.base.z is state.z


@pytest.mark.parametrize(("name", "loss"), CASES)
def test_a_step_back_counts_what_was_spent(name, loss):
    """Law: only counters come from the step that failed."""
    problem = make(name, loss)
    algorithm, (s, failed) = walk(name, problem, 1)
    back = algorithm.step_back(problem, s, failed)
    counters = {"t": failed.t, "passes": failed.passes, "check_passes": failed.check_passes}
    assert vars(back) == {**vars(s), **counters}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("method", ["start", "prepare"])
def test_an_interrupted_set_up_has_prepared_nothing(name, method, monkeypatch):
    """An equivalence: ``earlier`` of such a run is as good as none."""

    def interrupt(*_):
        raise KeyboardInterrupt

    problem = make(name, "logistic")
    with monkeypatch.context() as patch:
        patch.setattr(ALGORITHMS[name], method, interrupt)
        earlier = problem.solve(algorithm=name).state
    assert not earlier.begun
    ours = problem.solve(algorithm=name, earlier=earlier)
    alone = problem.solve(algorithm=name)
    assert (ours.x == alone.x).all() and (ours.y == alone.y).all()
