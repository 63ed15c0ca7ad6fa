"""The ledger counts what is read: every verb, once, at the data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.certificate import rows
from dualgap.designs import Cuts, DenseDesign, InterceptDesign, ScaledDesign, as_design, tasks
from dualgap.designs.moved import moved
from dualgap.designs.narrow import narrow_copy
from tests.laws.test_reduce import Blocks, OnlyProducts

N, D = 60, 5
RNG = np.random.default_rng(2)
A = RNG.standard_normal((N, D))
x, r, w = RNG.standard_normal(D), RNG.standard_normal(N), RNG.random(N)
B = np.sign(A @ x + 0.5 * r)
STORED = {
    "dense": lambda: as_design(A.copy()),
    "Fortran": lambda: as_design(np.asfortranarray(A)),
    "float32": lambda: as_design(A.astype(np.float32)),
    "CSR": lambda: as_design(sp.csr_array(A)),
    "CSC": lambda: as_design(sp.csc_array(A)),
    "blocks": lambda: Blocks(A),
    "products": lambda: OnlyProducts(A),
}
each_storage = pytest.mark.parametrize("stored", STORED.values(), ids=STORED)


def readings(design, verb, *args):
    before = design.ledger.readings
    out = getattr(design, verb)(*args)
    if verb == "blocks":
        list(out)
    return design.ledger.readings - before


@each_storage
def test_products_and_blocks_are_one_reading_each(stored):
    design = stored()
    if design.is_sparse:
        design.rows()  # of CSC data, a copy
    assert readings(design, "matvec", x) == 1.0
    assert readings(design, "rmatvec", r) == 1.0
    if design.offers("blocks"):
        assert readings(design, "blocks", 7) == pytest.approx(1.0)
        assert readings(design, "gram", w) == pytest.approx(1.0)
    elif isinstance(design, OnlyProducts):  # d products, all at once
        assert readings(design, "column_norms_sq", w) == 1.0


@pytest.mark.parametrize("stored", ["dense", "Fortran", "float32", "CSR", "blocks"])
def test_a_task_is_one_reading_where_rows_are_cut(stored):
    design = STORED[stored]().arranged(cuts=Cuts((0, 20, N), 7))
    if stored == "blocks":  # partitions after the first pass over those before
        design = STORED[stored]().arranged(cuts=Cuts((0, N), 7))
    before = design.ledger.readings
    design.map_rows(tasks.there_and_back, (w,), x, tasks.weigh)
    assert design.ledger.readings - before == pytest.approx(1.0)
    before = design.ledger.readings
    design.map_rows(tasks.gram, (w,))
    design.reduce(tasks.count_not_finite)
    assert design.ledger.readings - before == pytest.approx(2.0)


@pytest.mark.parametrize("stored", ["dense", "CSR"])
def test_and_two_where_they_are_not(stored):
    design = STORED[stored]()
    before = design.ledger.readings
    design.map_rows(tasks.there_and_back, (w,), x, tasks.weigh)
    assert design.ledger.readings - before == 2.0


def test_compiled_products_of_sparse_rows_are_one_reading(monkeypatch):
    monkeypatch.setattr("dualgap.designs.sparse.WORTH_A_KERNEL", 0)
    design = STORED["CSR"]()
    before = design.ledger.readings
    design.map_rows(tasks.there_and_back, (w,), x, tasks.weigh)
    assert design.ledger.readings - before == 1.0


def test_checking_the_data_is_a_reading_and_norms_of_columns_come_with_it():
    design = as_design(A)
    assert design.ledger.readings == 1.0
    design.column_squares()
    assert design.ledger.readings == 1.0
    design.row_norms_sq()  # as long as the data, so that they are not kept
    assert design.ledger.readings == pytest.approx(2.0)


def test_a_part_of_the_data_counts_as_its_part():
    dense, sparse = STORED["dense"](), STORED["CSC"]()
    at = np.array([1, 3])
    for design in (dense, sparse):
        before = design.ledger.readings
        columns = design.columns(at)
        assert design.ledger.readings - before == pytest.approx(2 / 5)
        columns.matvec(np.ones(2))
        columns.gram(w)
        assert design.ledger.readings - before == pytest.approx(6 / 5)
    before = dense.ledger.readings
    some = dense.take(np.arange(N) < 15)
    assert some.ledger is dense.ledger
    some.matvec(x)
    assert dense.ledger.readings - before == pytest.approx(0.5)


def test_designs_made_of_others_have_the_ledger_of_the_data():
    base = as_design(A)
    design = InterceptDesign(ScaledDesign(base, np.full(D, 2.0)), np.full(N, 1 / N))
    assert design.ledger is base.ledger
    assert design.scale > 0.0  # found from one reading, when it is first needed
    before = base.ledger.readings
    design.matvec(np.append(x, 1.0))
    design.rmatvec(r)
    assert base.ledger.readings - before == 2.0
    before = base.ledger.readings
    design.rows()  # a scaled copy
    design.rows()
    assert base.ledger.readings - before == 1.0


def test_copies_of_the_data_enter_what_is_read_of_them():
    base = as_design(A)
    before = base.ledger.readings
    other = moved(base, np.ones(D), np.ones(D))
    other.matvec(x)
    assert base.ledger.readings - before == 2.0
    before, ledger = base.ledger.readings, base.ledger
    large = np.random.default_rng(0).standard_normal((2**11, 2**9))
    narrow = narrow_copy(large, 10.0, ledger, Cuts.whole(len(large)))
    assert narrow is not None
    assert ledger.rows == before * N + len(large)
    copied = copy.copy(base)
    copied.matvec(x)
    assert copied.ledger is base.ledger
    assert pickle.loads(pickle.dumps(base)).ledger.rows == base.ledger.rows


def test_a_class_of_ones_own_that_builds_on_another_is_counted_once():
    class Own(DenseDesign):
        def matvec(self, x):
            return super().matvec(x)

        def rmatvec(self, r):
            return np.vstack([block for _, block in self.blocks(9)]).T @ r

        def row_norms_sq(self, weights=None):
            return np.square(self.A) @ (np.ones(D) if weights is None else weights)

    design = Own(A)
    assert readings(design, "matvec", x) == 1.0
    assert readings(design, "rmatvec", r) == pytest.approx(1.0)
    assert readings(design, "row_norms_sq") == 1.0


# ---- in results ----


def counted(problem, algorithm, passes, **options):
    """The readings of iterations alone: those of a longer run less those of a shorter one."""
    problem.solve(algorithm=algorithm, tol=1e-15, max_passes=1)  # constants are known from now on
    short, long = (
        problem.solve(algorithm=algorithm, tol=1e-15, max_passes=k, **options)
        for k in (passes, 3 * passes)
    )
    assert long.passes - short.passes > 0
    return long.readings - short.readings, long, short


@pytest.mark.parametrize("algorithm", ["bpd", "df-bpd", "agd"])
def test_an_iteration_of_a_batch_algorithm_is_two_products(algorithm):
    problem = dualgap.Problem(A, B, loss="logistic", l2=1e-4)
    read, long, short = counted(problem, algorithm, 10)
    assert read == 2.0 * (long.state.t - short.state.t)


def test_an_iteration_of_df_bpd_is_one_reading_where_rows_are_cut():
    design = as_design(A).arranged(cuts=Cuts((0, N), 17))
    problem = dualgap.Problem(design, B, loss="logistic", l2=1e-4)
    read, long, short = counted(problem, "df-bpd", 10)
    assert read == 1.0 * (long.state.t - short.state.t)


@pytest.mark.parametrize("algorithm", ["df-spdc", "saga", "svrg", "sdca", "katyusha"])
def test_kernels_enter_the_rows_that_they_visit(algorithm, monkeypatch):
    problem = dualgap.Problem(A, B, loss="logistic", l2=1e-2)
    seen = []
    plain = type(problem.base).matvec, type(problem.base).rmatvec
    for name, verb in zip(("matvec", "rmatvec"), plain, strict=True):
        monkeypatch.setattr(
            type(problem.base), name, lambda self, v, verb=verb: (seen.append(1), verb(self, v))[1]
        )
    sweep = rows.swept
    monkeypatch.setattr(
        rows, "swept", lambda *args, **options: (seen.append(1), sweep(*args, **options))[1]
    )
    problem.solve(algorithm=algorithm, tol=1e-15, max_passes=6)  # constants are known from now on
    seen.clear()
    result = problem.solve(algorithm=algorithm, tol=1e-15, max_passes=24)
    visits = result.readings - len(seen)
    epochs = result.state.passes
    if algorithm in ("svrg", "katyusha"):  # whose passes count the products of a loop, too
        epochs = 2.0 * result.state.t
    assert visits == pytest.approx(epochs)


def test_readings_are_those_of_one_call():
    problem = dualgap.Problem(A, B, loss="logistic", l2=1e-3)
    before = problem.base.ledger.readings
    first = problem.solve()
    assert first.readings == problem.base.ledger.readings - before > 0
    second = problem.solve()
    assert 0 < second.readings <= first.readings
    whole = dualgap.solve(A, B, loss="logistic", l2=1e-3)
    assert whole.readings == first.readings + 1.0  # the check of the data
    design = as_design(A)
    given = dualgap.solve(design, B, loss="logistic", l2=1e-3)
    assert given.readings == first.readings


@pytest.mark.parametrize("precondition", ["diagonal", "whiten", "low-rank", "units", "rows"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_runs_in_other_variables_enter_in_the_same_ledger(precondition, fit_intercept):
    wide = RNG.standard_normal((12, 30)) if precondition == "rows" else A
    b = np.sign(RNG.standard_normal(len(wide)))
    problem = dualgap.Problem(wide, b, loss="logistic", l2=1e-2, fit_intercept=fit_intercept)
    result = problem.solve(algorithm="adf-bpd", precondition=precondition, max_passes=40)
    assert result.readings >= result.passes


def test_a_lasso_counts_the_columns_that_it_reads():
    wide = RNG.standard_normal((40, 200))
    b = wide[:, 0] + 0.1 * RNG.standard_normal(40)
    for data in (wide, sp.csr_array(wide)):
        result = dualgap.solve(data, b, l1=0.1)
        assert result.status.converged
        assert 1.0 < result.readings < 60.0
