"""Fits by readings: the answer, the certificate and the statuses of fits that hold the rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms.streamed import newton, working_set
from dualgap.certificate import certificate_by_readings

from .data import EXTRAS, PENALTIES, TARGETS, A, D, N, Streamed, StreamedSparse, Threads, given

CASES = [(loss, penalty, extra) for loss in TARGETS for penalty in PENALTIES for extra in EXTRAS]
PENALISED = [case for case in CASES if case[1] not in ("none", "some free")]
each_case = pytest.mark.parametrize("case", CASES, ids=[", ".join(case) for case in CASES])


def fits(case, design=None, **options):
    """By readings, and in memory."""
    b, problem = TARGETS[case[0]], given(*case)
    design = Streamed(A) if design is None else design
    return dualgap.solve(design, b, **problem, **options), dualgap.solve(A, b, **problem)


def agree(ours, theirs):
    """Both are converged, and each bounds how far P of the other may be below its own."""
    assert ours.status.converged and theirs.status.converged
    a, b = ours.certificate, theirs.certificate
    rounding = 1e-12 * abs(a.primal)
    assert -a.gap - rounding <= b.primal - a.primal <= b.gap + rounding
    assert np.linalg.norm(ours.x - theirs.x) <= a.distance + b.distance


@each_case
def test_the_fit_is_that_of_rows_in_memory(case):
    agree(*fits(case))


@pytest.mark.parametrize("case", PENALISED, ids=[", ".join(case) for case in PENALISED])
def test_conjugate_gradients_and_small_sets_find_it_too(case, monkeypatch):
    monkeypatch.setattr(newton, "LARGEST_SIDE", 3)
    monkeypatch.setattr(working_set, "ALL_OF", 3)
    monkeypatch.setattr(working_set, "FIRST", 2)
    agree(*fits(case))


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic net"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_sparse_rows_say_the_same(loss, penalty, extra, monkeypatch):
    """Columns of which half the entries are 0; sets of a few coordinates, and of all."""
    rows = np.where(np.abs(A) > 0.5, A, 0.0)
    b, problem = TARGETS[loss], given(loss, penalty, extra)
    theirs = dualgap.solve(sp.csr_array(rows), b, **problem)
    agree(dualgap.solve(StreamedSparse(rows), b, **problem), theirs)
    monkeypatch.setattr(newton, "LARGEST_SIDE", 3)
    monkeypatch.setattr(working_set, "ALL_OF", 3)
    agree(dualgap.solve(StreamedSparse(rows), b, **problem), theirs)


@each_case
def test_the_certificate_is_nearly_that_in_memory(case):
    """Of the same x and y: the same theorem, and the same sums in another order.

    Of y = phi'(z) beside free columns, or out of its interval, this one makes more than a proof at
    that y would: it is never worse by more than a few per cent.
    """
    loss, *_ = case
    b, problem = TARGETS[loss], given(*case)
    ours = dualgap.solve(Streamed(A), b, **problem)
    stored = dualgap.Problem(A, b, **problem)
    theirs = stored.certify(ours.x, ours.y, intercept=ours.intercept)
    assert ours.certificate.gap <= 1.05 * theirs.gap + 1e-13 * theirs.primal
    for field in ("primal", "dual"):
        near = getattr(theirs, field)
        assert abs(getattr(ours.certificate, field) - near) <= theirs.gap + 1e-12 * abs(near)


@each_case
def test_certify_takes_any_point(case):
    """Also points that are far from a solution, at which readings know nothing beforehand."""
    loss, *_ = case
    b, problem = TARGETS[loss], given(*case)
    streamed, stored = (dualgap.Problem(data, b, **problem) for data in (Streamed(A), A))
    best = stored.solve(tol=1e-9)
    for share in (1.0, 0.99, 0.5, 0.0):
        c = best.intercept if problem.get("fit_intercept") else 0.0
        ours = streamed.certify(share * best.x, intercept=c)
        assert ours.certified
        at = stored.join(share * best.x, c)
        above = stored.primal(at, stored.predict(at)) - best.certificate.primal
        assert ours.gap >= above * (1.0 - 1e-9) - 1e-13 * best.certificate.primal
        assert ours.relative_gap <= 1.0 + 1e-9 or share == 0.0


@pytest.mark.parametrize("case", CASES[::5], ids=[", ".join(case) for case in CASES[::5]])
def test_threads_find_the_same_bits(case):
    b, problem = TARGETS[case[0]], given(*case)
    cut = Streamed(A, rows=17, partitions=5)
    one = dualgap.solve(cut, b, **problem)
    two = dualgap.solve(cut.arranged(executor=Threads()), b, **problem)
    np.testing.assert_array_equal(one.x, two.x)
    assert one.certificate.gap == two.certificate.gap
    np.testing.assert_array_equal(one.y, two.y)


@pytest.mark.parametrize(
    "regularizer",
    [
        dualgap.regularizers.NonNegative(l1=0.01, l2=0.01),
        dualgap.regularizers.Box(-0.1, 0.3, l1=0.01),
    ],
    ids=["not negative", "between bounds"],
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_bounds_are_kept(loss, regularizer, intercept):
    problem = {"loss": loss, "regularizer": regularizer, "fit_intercept": intercept}
    ours, theirs = (dualgap.solve(data, TARGETS[loss], **problem) for data in (Streamed(A), A))
    agree(ours, theirs)


def test_a_proof_may_take_two_readings_where_many_columns_are_free():
    """From a point and its slopes, of which nothing is known to fit."""
    from dualgap.streamed.states import slopes_at

    design = Streamed(A)
    problem = dualgap.Problem(design, TARGETS["logistic"], loss="logistic")
    x = dualgap.solve(A, TARGETS["logistic"], loss="logistic", tol=1e-9).x
    before = design.ledger.readings
    certificate = certificate_by_readings(problem, x, slopes_at(problem, x))
    assert design.ledger.readings - before <= 2.0
    assert certificate.certified and certificate.relative_gap < 1e-3
    assert x.size == D and problem.n == N
