"""Limits bind inside of a step, and a run ends with a point however early it is ended.

Time is counted, not measured: the clock of these tests moves with every product with the data.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap import Status, limits
from dualgap.algorithms.second_order import set_models
from dualgap.designs import DenseDesign
from dualgap.designs import columns as of_columns
from dualgap.designs.columns import DenseColumns, row_pieces
from dualgap.limits import BESIDE, Limits, one_pass, within
from dualgap.linalg import compiled_descent as coordinate
from dualgap.linalg import hessian_factor
from tests.tuned import tuned

RNG = np.random.default_rng(7)
A = RNG.standard_normal((60, 25)) + RNG.standard_normal((60, 1))
Z = A @ (RNG.standard_normal(25) * (RNG.random(25) < 0.5)) + RNG.standard_normal(60)
SIGNS = np.where(Z > 0, 1.0, -1.0)
CLASSES = np.digitize(Z, np.quantile(Z, [0.3, 0.6]))


class Clock:
    """Counts products, and calls ``at`` when so many are done."""

    def __init__(self):
        self.time, self.when, self.at = 0, math.inf, None
        self.at_the_end = None

    def tick(self):
        self.time += 1
        if self.time == self.when:
            self.at()


class Counting(DenseDesign):
    """Each product with A or A' is a tick."""

    clock: Clock

    def matvec(self, x):
        self.clock.tick()
        return super().matvec(x)

    def rmatvec(self, r):
        self.clock.tick()
        return super().rmatvec(r)


@pytest.fixture
def clock(monkeypatch):
    """The clock of all limits; products with gathered columns move it, too."""
    clock = Clock()
    monkeypatch.setattr(limits, "now", lambda: clock.time)
    for name in ("matvec", "rmatvec", "_sweep"):
        plain = getattr(DenseColumns, name)
        monkeypatch.setattr(
            DenseColumns, name, lambda *given, plain=plain: (clock.tick(), plain(*given))[1]
        )
    lifted = Limits.lift

    def lift(self):
        clock.at_the_end = clock.time  # what follows is the certificate
        lifted(self)

    monkeypatch.setattr(Limits, "lift", lift)
    return clock


def counted(clock, b, **options):
    design = Counting(A)
    design.clock = clock
    return dualgap.Problem(design, b, **options)


def by_conjugate_gradients(monkeypatch):
    tuned(monkeypatch, "SYSTEMS", at_once=0.0)
    monkeypatch.setattr(hessian_factor, "cost", lambda *_, **__: math.inf)


def by_columns(monkeypatch):
    monkeypatch.setattr(set_models, "may_form", lambda *_: False)
    monkeypatch.setattr(of_columns, "PIECE", 0.0)


CASES = {
    "newton, squared": ("newton", Z, {"l2": 1e-9}, by_conjugate_gradients),
    "newton, logistic": ("newton", SIGNS, {"l2": 1e-9, "loss": "logistic"}, by_conjugate_gradients),
    "newton, with factors": ("newton", SIGNS, {"l2": 1e-9, "loss": "logistic"}, None),
    "working sets": ("working-set", Z, {"l1": 1e-3}, None),
    "working sets, columns": ("working-set", Z, {"l1": 1e-3}, by_columns),
    "working sets, huber": ("working-set", Z, {"l1": 1e-3, "loss": "huber"}, by_columns),
    "prox-newton": ("prox-newton", CLASSES, {"l1": 1e-4, "loss": "multinomial"}, None),
    "ada-bpd": ("ada-bpd", Z, {"l2": 1e-6}, None),
    "adf-bpd": ("adf-bpd", SIGNS, {"l2": 1e-6, "loss": "logistic"}, None),
    "agd": ("agd", Z, {"l1": 1e-3}, None),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def set_up(case, monkeypatch):
    algorithm, b, options, hook = case
    if hook is not None:
        hook(monkeypatch)
    return algorithm, b, options


# ---- seconds ----


@each_case
@pytest.mark.parametrize("seconds", [0, 5, 20, 33])
def test_time_ends_within_one_product_with_A_and_one_with_its_transpose(
    case, seconds, clock, monkeypatch
):
    algorithm, b, options = set_up(case, monkeypatch)
    problem = counted(clock, b, **options)
    result = problem.solve(algorithm=algorithm, tol=1e-13, max_time=seconds)
    if result.status is Status.TIME_LIMIT:  # the pair that was on its way, and that of the end
        assert clock.at_the_end <= seconds + 2 + 2
    assert result.certificate.primal <= problem.primal_at_zero
    assert np.isfinite(result.certificate.primal)


@each_case
def test_time_changes_no_iterate(case, clock, monkeypatch):
    """A run that was stopped anywhere goes on as if it had not been."""
    algorithm, b, options = set_up(case, monkeypatch)
    whole = counted(clock, b, **options).solve(algorithm=algorithm, tol=1e-13, max_passes=60)
    for seconds in (5, 13, 27):
        state, rest = None, 60.0
        for _ in range(60):
            problem = counted(clock, b, **options)
            part = problem.solve(
                algorithm=algorithm, tol=1e-13, max_passes=rest, max_time=seconds, state=state
            )
            if part.status is not Status.TIME_LIMIT:
                break
            rest = 60.0 - part.state.passes
            if state is not None and state.passes == part.state.passes:
                seconds *= 2  # a step may take longer
            state = part.state
        assert part.state.passes == whole.state.passes
        np.testing.assert_array_equal(part.state.x, whole.state.x)


def test_a_step_that_is_cut_short_has_something_to_show(clock, monkeypatch):
    """The first step of a lasso is most of the work: what it has found by then is the answer."""
    by_columns(monkeypatch)
    problem = counted(clock, Z, l1=1e-3)
    result = problem.solve(algorithm="working-set", tol=1e-13, max_time=4)
    assert result.status is Status.TIME_LIMIT
    assert result.state.t == 0  # the step does not count, and is done again
    assert result.certificate.primal < 0.5 * problem.primal_at_zero


def test_time_ends_a_set_up(clock, monkeypatch):
    """Lanczos steps for the step sizes; the state leads on from the same point."""
    monkeypatch.setattr("dualgap.objective.constants.SMALL_GRAM", 0)
    problem = counted(clock, Z, l2=0.1)
    x0 = np.full(25, 0.01)
    result = problem.solve(algorithm="ada-bpd", max_time=2, x0=x0)
    assert result.status is Status.TIME_LIMIT
    assert clock.at_the_end <= 2 + 1 + 2
    np.testing.assert_array_equal(result.x, x0)
    again = problem.solve(algorithm="ada-bpd", state=result.state)
    assert again.status is Status.CONVERGED


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_gram_matrices_are_given_up(layout, clock):
    """Block by block, each asks for the time."""
    design = dualgap.designs.as_design(layout(np.tile(A, (60, 1))))
    clock.time = 5
    with within(Limits(seconds=10)) as ours, pytest.raises(limits.OutOfTime):
        clock.time = 16
        assert ours.time_is_up
        dualgap.linalg.hessian_factor.weighted_gram(design, np.ones(3600))


# ---- passes ----


def spying(monkeypatch):
    """Multiplications of sweeps over Gram matrices."""
    plain, work = coordinate.gram_sweeps, []

    def sweeps(H, *rest):
        done, left = plain(H, *rest)
        work.append(done * H.size)
        return done, left

    monkeypatch.setattr(coordinate, "gram_sweeps", sweeps)
    return work


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("max_passes", [10, 300])
def test_sweeps_over_small_matrices_end_with_the_passes(loss, max_passes, monkeypatch):
    """A column that is constant but for its last digits: descent beside an intercept crawls.

    In variables that suit the column there is no such thing, so they are not allowed here.
    """
    work = spying(monkeypatch)
    k = np.arange(20.0)
    b = np.where(k % 3 == 0, 1.0, -1.0) if loss == "logistic" else 0.3 * k + np.cos(k)
    problem = dualgap.Problem((1.7e9 + k)[:, None], b, loss=loss, l1=1e-3, fit_intercept=True)
    result = problem.solve(precondition="none", max_passes=max_passes)
    assert result.status is Status.PASS_LIMIT
    if max_passes == 300:  # before the passes were spent
        assert "sweeps over small matrices" in result.notes[-1]
    allowed = (BESIDE * max_passes + limits.ALWAYS) * (one_pass(problem) + limits.CALL)
    assert sum(work) <= allowed + 2 * of_columns.PIECE


def test_work_that_is_allowed_is_not_cut(monkeypatch):
    """The same answer as without limits, bit for bit."""
    free = dualgap.solve(A, Z, l1=1e-2)
    bound = dualgap.solve(A, Z, l1=1e-2, max_passes=20, max_time=1e6)
    assert free.status is bound.status is Status.CONVERGED
    np.testing.assert_array_equal(free.x, bound.x)


@pytest.mark.parametrize("algorithm, options", [
    ("working-set", {"l1": 1e-3, "loss": "huber"}),
    ("prox-newton", {"l1": 1e-4, "loss": "multinomial"}),
])  # fmt: skip
@pytest.mark.parametrize("max_passes", [3, 6, 12])
def test_passes_bind_inside_of_a_step(algorithm, options, max_passes, clock, monkeypatch):
    """Two ticks are a pass; a step that would take more ends, and the next call begins it anew.

    (Up to one pass more, not the hundred that a step may take otherwise.)
    """
    by_columns(monkeypatch)
    monkeypatch.setattr(limits, "MORE", 1.0)
    b = CLASSES if options["loss"] == "multinomial" else Z
    problem = counted(clock, b, **options)
    result = problem.solve(algorithm=algorithm, tol=1e-13, max_passes=max_passes)
    assert result.status is Status.PASS_LIMIT
    assert result.state.passes <= max_passes + 2.0
    one_step_more = 10  # a set-up, a line search, the gradient at the end
    assert clock.at_the_end <= 2 * max_passes + one_step_more


# ---- pieces are no other way to walk ----


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_sweeps_in_pieces_are_the_same_sweeps(layout, monkeypatch):
    data = layout(np.where(np.abs(A) < 1.5, 0.0, A))
    columns = dualgap.designs.as_design(data).columns(np.arange(25))
    w, h = np.full(60, 1 / 60), columns.norms_sq(np.full(60, 1 / 60))
    l1, l2, found = np.full(25, 0.05), np.zeros(25), []
    for piece in (math.inf, 0.0):
        monkeypatch.setattr(of_columns, "PIECE", piece)
        for most, goal in ((3.0, 0.0), (2.5, 0.0), (100.0, 1e-9)):
            x, r = np.zeros(25), -Z / 60
            swept = columns.sweeps(w, r, x, h, l1, l2, most, goal)
            found.append((*swept, x.tobytes(), r.tobytes()))
    assert found[:3] == found[3:]


def test_a_gram_matrix_in_pieces_is_the_same(monkeypatch):
    data = dualgap.designs.as_design(sp.csr_array(np.where(np.abs(A) < 1.0, 0.0, A)))
    w = RNG.random(60)
    whole = dualgap.linalg.hessian_factor.weighted_gram(data, w)
    monkeypatch.setattr(of_columns, "PIECE", 1.0)
    with within(Limits(seconds=1e9)):
        assert len(list(row_pieces(data.rows().indptr, w))) > 3
        np.testing.assert_array_equal(dualgap.linalg.hessian_factor.weighted_gram(data, w), whole)


# ---- interrupts ----


def interrupted():
    raise KeyboardInterrupt


@each_case
@pytest.mark.parametrize("from_somewhere", [False, True])
def test_an_interrupt_at_any_product(case, from_somewhere, clock, monkeypatch):
    """Also in the set-up, or in the first step: the best point so far, at worst the start."""
    algorithm, b, options = set_up(case, monkeypatch)
    shape = (25, 3) if algorithm == "prox-newton" else 25
    x0 = np.full(shape, 1e-3) if from_somewhere else None
    for when in (1, 2, 3, 4, 5, 8, 13, 21):
        problem = counted(clock, b, **options)
        clock.time, clock.when, clock.at = 0, when, interrupted
        try:
            result = problem.solve(algorithm=algorithm, tol=1e-13, x0=x0)
        except KeyboardInterrupt:  # which would end pytest
            if clock.at_the_end is None or clock.at_the_end >= when:
                pytest.fail(f"the interrupt at product {when} went through solve")
            continue  # in the certificate of a run that had ended
        if clock.time < when:
            continue
        assert result.status is Status.INTERRUPTED
        start = problem.zeros() if x0 is None else x0
        assert result.certificate.primal <= problem.primal(start, A @ start) * (1 + 1e-12)
        if when in (1, 8):
            resumed = problem.solve(algorithm=algorithm, state=result.state, max_passes=20)
            assert resumed.certificate.primal <= result.certificate.primal


def test_an_interrupt_while_kernels_are_loaded(monkeypatch):
    monkeypatch.setattr(dualgap.algorithms.SAGA, "prepare", lambda *_: interrupted())
    try:
        result = dualgap.solve(A, Z, l2=0.1, algorithm="saga")
    except KeyboardInterrupt:
        pytest.fail("the interrupt went through solve")
    assert result.status is Status.INTERRUPTED
    assert not result.x.any()
    assert result.certificate.certified
