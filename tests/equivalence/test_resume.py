"""A run in two parts is one run, bit by bit; watching a run does not change it."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

from dualgap import Problem, Status
from dualgap.adaptation import Curvature, Robust, Simple
from dualgap.algorithms import ADFBPD, AGD, BPD, DFBPD, AdaBPD
from dualgap.algorithms.primal_dual.adaptation import monitor
from dualgap.dual_points.feasible import repair_is_free
from dualgap.losses import LOSSES

from .runs import data, states

ALGORITHMS = {
    "bpd": BPD(),
    "df-bpd": DFBPD(),
    "agd": AGD(),
    "ada-bpd simple": AdaBPD(adapt=Simple(period=3)),
    "ada-bpd robust": AdaBPD(adapt=Robust(period=3)),
    "ada-bpd curvature": AdaBPD(adapt=Curvature()),
    "adf-bpd simple": ADFBPD(adapt=Simple(period=3)),
    "adf-bpd robust": ADFBPD(adapt=Robust(period=3)),
    "adf-bpd curvature": ADFBPD(adapt=Curvature()),
}
PENALTIES = {
    "l2": {"l2": 0.05},
    "elastic net": {"l1": 0.02, "l2": 0.03},
    "lasso": {"l1": 0.03},
    "none": {},
}
each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
SCALAR = [name for name, loss in LOSSES.items() if loss.code >= 0 and not loss.is_vector]
each_loss = pytest.mark.parametrize("loss", SCALAR)
each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
TIGHT = 1e-300
"""A tolerance that is never met."""


def problem(loss, penalty, **options):
    A, b = data(loss)
    return Problem(A, b, loss=loss, **penalty, **options)


def same(a, b):
    """Bitwise equality of nested states: arrays, mappings, data classes, tuples, numbers."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.tobytes() == b.tobytes()
    if dataclasses.is_dataclass(a):
        names = [f.name for f in dataclasses.fields(a)]
        return type(a) is type(b) and all(same(getattr(a, k), getattr(b, k)) for k in names)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


def assert_same_state(a, b, *, checks=True):
    """Every field bit by bit; without ``checks`` not the lower bound that paid checks have found.

    Where D is infinite along the iterates a run pays for a check now and then, and when it does
    depends on where it started. That changes no iterate.
    """
    names = [f.name for f in dataclasses.fields(a) if checks or f.name != "incumbent"]
    assert not [name for name in names if not same(getattr(a, name), getattr(b, name))]
    assert same(a.incumbent.x, b.incumbent.x) and a.incumbent.primal == b.incumbent.primal


def path(result):
    """What the trace says about the iterates and the parameters (not about clocks or checks)."""
    trace = result.trace
    columns = ("primal", "strong_convexity", "tau", "sigma", "theta")
    return np.column_stack([getattr(trace, name)[:-1] for name in columns])


# ---- in two parts ----


@each_algorithm
@each_loss
@each_penalty
def test_two_parts_are_one_run(algorithm, loss, penalty):
    assert_two_parts_are_one_run(problem(loss, penalty), algorithm)


@each_algorithm
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", [PENALTIES["l2"], PENALTIES["none"]], ids=["l2", "none"])
def test_two_parts_are_one_run_with_everything_else(algorithm, loss, penalty):
    rng = np.random.default_rng(8)
    weights, offset = rng.random(30), rng.standard_normal(30)
    small = problem(loss, penalty, fit_intercept=True, sample_weight=weights, offset=offset)
    assert_two_parts_are_one_run(small, algorithm)


def assert_two_parts_are_one_run(small, algorithm):
    whole = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=34)
    half = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=13)
    rest = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=21, state=half.state)
    assert whole.state.t == 34 and half.state.t == 13
    free = repair_is_free(small)
    assert_same_state(whole.state, rest.state, checks=free)
    assert same(whole.x, rest.x) and whole.intercept == rest.intercept
    if free:
        assert same(whole.y, rest.y)
        assert same(whole.certificate, rest.certificate)
    joined = np.vstack([path(half), path(rest)[1:]])
    assert same(joined, path(whole))


@each_algorithm
def test_many_parts_are_one_run(algorithm):
    small = problem("logistic", PENALTIES["l2"])
    whole = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=20)
    state = None
    for _ in range(20):
        state = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=1, state=state).state
    assert_same_state(whole.state, state)


@each_algorithm
def test_no_passes_change_nothing(algorithm):
    small = problem("squared", PENALTIES["elastic net"])
    state = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=7).state
    again = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=0, state=state)
    assert again.status is Status.PASS_LIMIT
    assert_same_state(again.state, state)


@each_algorithm
@each_penalty
def test_a_state_survives_pickling_and_another_problem_object(algorithm, penalty):
    one, two = (problem("logistic", penalty) for _ in range(2))
    half = one.solve(algorithm=algorithm, tol=TIGHT, max_passes=13)
    copy = pickle.loads(pickle.dumps(half.state))
    assert_same_state(copy, half.state)
    here = one.solve(algorithm=algorithm, tol=TIGHT, max_passes=9, state=half.state)
    there = two.solve(algorithm=algorithm, tol=TIGHT, max_passes=9, state=copy)
    assert_same_state(here.state, there.state)


@each_algorithm
@each_penalty
def test_a_state_is_not_used_up(algorithm, penalty):
    small = problem("huber", penalty)
    state = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=10).state
    before = pickle.dumps(state)
    runs = [small.solve(algorithm=algorithm, tol=TIGHT, max_passes=9, state=state) for _ in "12"]
    assert pickle.dumps(state) == before
    assert_same_state(runs[0].state, runs[1].state)


@pytest.mark.parametrize("penalty", [{"l2": 1e-3}, {"l1": 0.03}, {}], ids=["l2", "lasso", "none"])
def test_two_parts_are_one_run_through_a_rollback(penalty, monkeypatch):
    """A monitor without patience rolls back at once; the cut is just before, at and after that."""
    monkeypatch.setattr(monitor, "GROWTH", 1.0001)
    small = problem("logistic", penalty)
    algorithm = AdaBPD(adapt=Curvature(period=7, start=1e-5))
    whole = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=40)
    assert whole.trace.rollbacks > 0
    parts = (small.solve(algorithm=algorithm, max_passes=t) for t in range(40))
    at = next(t for t, part in enumerate(parts) if part.trace.rollbacks)
    for cut in (at - 1, at, at + 1):
        half = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=cut)
        rest = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=40 - cut, state=half.state)
        assert_same_state(whole.state, rest.state, checks=repair_is_free(small))


# ---- looking on ----


@each_algorithm
@each_loss
@each_penalty
def test_the_driver_only_steps(algorithm, loss, penalty):
    small = problem(loss, penalty)
    run = small.solve(algorithm=algorithm, tol=TIGHT, max_passes=20)
    by_hand = dataclasses.replace(states(algorithm, small, 20)[-1], incumbent=run.state.incumbent)
    assert_same_state(by_hand, run.state)


@pytest.fixture(params=["l2", "none"])
def watched(request):
    """A problem with a gap at every iteration, and one where it must be paid for."""
    return problem("logistic", PENALTIES[request.param])


@each_algorithm
def test_a_callback_only_watches(watched, algorithm):
    plain = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25)
    seen = []
    run = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, callback=seen.append)
    assert same(path(run), path(plain))
    assert_same_state(run.state, plain.state)
    assert [s.primal for s in seen] == run.trace.primal[:-1].tolist()
    assert not seen[0].x.flags.writeable and not seen[0].y.flags.writeable


@each_algorithm
def test_a_callback_that_stops_leaves_a_state_to_go_on_from(watched, algorithm):
    whole = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25)
    seen = []

    def stop_at_12(snapshot):
        seen.append(snapshot)
        return len(seen) == 13  # the start counts

    half = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, callback=stop_at_12)
    assert half.status is Status.CALLBACK and half.state.t == 12
    rest = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=13, state=half.state)
    assert_same_state(rest.state, whole.state, checks=repair_is_free(watched))


@each_algorithm
def test_verbose_only_watches(watched, algorithm, capsys):
    plain = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25)
    assert capsys.readouterr() == ("", "")
    run = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, verbose=True)
    assert algorithm.name in capsys.readouterr().err
    assert_same_state(run.state, plain.state)


@each_algorithm
def test_tol_only_stops(watched, algorithm):
    rough, fine = (
        watched.solve(algorithm=algorithm, tol=tol, max_passes=300) for tol in (1e-2, 1e-4)
    )
    assert rough.status.converged
    assert len(rough.trace) < len(fine.trace)
    ended = len(rough.trace) - 1  # the last row is the certificate
    assert same(path(rough), path(fine)[:ended])
    if repair_is_free(watched):
        assert same(rough.trace.dual[:ended], fine.trace.dual[:ended])


@each_algorithm
def test_max_time_only_stops(watched, algorithm):
    plain = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25)
    timed = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, max_time=1e9)
    assert_same_state(timed.state, plain.state)
    none = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, max_time=0)
    assert none.status is Status.TIME_LIMIT and none.state.t == 0
    rest = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, state=none.state)
    assert_same_state(rest.state, plain.state)


@each_algorithm
def test_n_threads_and_random_state_mean_nothing_to_a_batch_method(watched, algorithm):
    plain = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25)
    run = watched.solve(algorithm=algorithm, tol=TIGHT, max_passes=25, random_state=3, n_threads=1)
    # 30 x 6 numbers: no linear algebra library splits such a product.
    assert_same_state(run.state, plain.state)


# ---- what belongs together ----


def test_a_state_of_another_algorithm_is_refused():
    small = problem("squared", PENALTIES["l2"])
    state = small.solve(algorithm="bpd", max_passes=3).state
    with pytest.raises(ValueError, match="'bpd', not to 'agd'"):
        small.solve(algorithm="agd", state=state)


def test_a_state_of_another_problem_is_refused():
    small = problem("squared", PENALTIES["l2"])
    state = small.solve(algorithm="bpd", max_passes=3).state
    A, b = data("squared", n=29)
    with pytest.raises(ValueError, match="30 rows and 6"):
        Problem(A, b, l2=0.05).solve(algorithm="bpd", state=state)
    with pytest.raises(TypeError, match="state"):
        small.solve(algorithm="bpd", state={"x": 1})
