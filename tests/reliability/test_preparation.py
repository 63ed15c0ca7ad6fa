"""Kernels are compiled or loaded in the set-up, by a run over no rows that changes nothing."""

import importlib

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import RANDOMISED, SPDC
from dualgap.driver import solving

KERNELS = {"epoch": "run_epoch"}
VECTORS = [c for c in RANDOMISED if not c.requires.scalar_loss and getattr(c, "dual_free", True)]

CASES = [
    *[(c(), "logistic") for c in RANDOMISED],
    *[(c(batch=4), "logistic") for c in RANDOMISED if issubclass(c, SPDC)],
    *[(c(), "multinomial") for c in VECTORS],
]


def make(loss, layout, **options):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((20, 5)) * (rng.random((20, 5)) < 0.6)
    b = np.arange(20) % 3 if loss == "multinomial" else np.where(rng.random(20) < 0.5, 1.0, -1.0)
    data = A if layout == "dense" else sp.csr_array(A)
    return dualgap.Problem(data, b, loss=loss, **{"l2": 0.05, **options})


def label(case):
    return f"{case[0].name}-{getattr(case[0], 'batch', 1)}-{case[1]}"


@pytest.fixture
def calls(monkeypatch):
    """(kernel, types of its arguments) of every call."""
    seen = []

    def spy(name, kernel):
        def call(*arguments):
            seen.append((name, tuple(numba.typeof(a) for a in arguments)))
            return kernel(*arguments)

        return call

    for module_name, name in KERNELS.items():
        module = importlib.import_module(f"dualgap.kernels.{module_name}")
        monkeypatch.setattr(module, name, spy(name, getattr(module, name)))
    return seen


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("case", CASES, ids=label)
def test_the_first_step_finds_its_kernel_compiled(case, layout, calls):
    """Same kernel, same types of arguments: nothing is left to compile or load."""
    algorithm, loss = case
    problem = make(loss, layout, fit_intercept=True)
    state = algorithm.start(problem, None, None).state
    assert not calls
    algorithm.prepare(problem, state)
    prepared = set(calls)
    calls.clear()
    algorithm.step(problem, state)
    assert calls and set(calls) <= prepared


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("case", CASES, ids=label)
def test_a_visit_of_no_rows_changes_nothing(case, layout):
    algorithm, loss = case
    problem = make(loss, layout, l1=0.01)
    state = algorithm.step(problem, algorithm.start(problem, None, None).state)
    after = algorithm.visit(problem, state, np.zeros(0, dtype=np.int64))
    before, now = ({**vars(s), **vars(s.own)} for s in (state, after))
    arrays = [name for name, value in before.items() if isinstance(value, np.ndarray)]
    assert {"x", "y", "u"} <= set(arrays)
    for name in arrays:
        np.testing.assert_array_equal(now[name], before[name], err_msg=name)


def test_the_set_up_contains_the_loading(monkeypatch):
    """`solve` prepares once, before the clock of the set-up stops and before the first step."""
    order = []
    algorithm = dualgap.algorithms.ADFSPDC
    for name in ("start", "prepare", "step"):
        method = getattr(algorithm, name)

        def noted(self, *arguments, name=name, method=method):
            order.append(name)
            return method(self, *arguments)

        monkeypatch.setattr(algorithm, name, noted)
    setup = solving.Setup
    monkeypatch.setattr(solving, "Setup", lambda *n: (order.append("clock"), setup(*n))[1])
    problem = make("logistic", "dense")
    half = problem.solve(algorithm="adf-spdc", tol=1e-15, max_passes=4)
    problem.solve(algorithm="adf-spdc", tol=1e-15, max_passes=2, state=half.state)
    assert order == ["start", "prepare", "clock", "step", "step", "prepare", "clock", "step"]
