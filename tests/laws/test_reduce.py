"""Tasks on chunks of rows: the same sums as whole products, in an order that the cuts decide."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.algorithms import tasks as of_algorithms
from dualgap.designs import (
    BlockDesign,
    Cuts,
    DenseDesign,
    Design,
    InterceptDesign,
    ScaledDesign,
    Threads,
    as_design,
    tasks,
)
from dualgap.designs.contract import SomeRows
from dualgap.designs.cuts import added_by_tree, added_in_order
from dualgap.designs.executors import SERIAL, Serial, joined, rows_of, sums_of
from dualgap.designs.parted import PartedDesign
from dualgap.designs.rotated import RotatedDesign, Rotation, reflectors
from dualgap.losses import as_loss
from dualgap.losses import tasks as of_losses

N, D = 53, 7
RNG = np.random.default_rng(11)
A = (RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.6)).astype(np.float32).astype(float)
X, W, B = RNG.standard_normal(D), RNG.random(N), np.sign(RNG.standard_normal(N))
CODES = RNG.integers(0, 3, N).astype(float)


class Blocks(Design):
    """The least that a design may have: a shape and blocks."""

    def __init__(self, A):
        self.matrix, self.shape = A, A.shape

    def blocks(self, rows):
        for start in range(0, self.shape[0], min(rows, 11)):
            at = slice(start, min(start + min(rows, 11), self.shape[0]))
            yield at, self.matrix[at]


class OnlyProducts(Design):
    """The other least: a shape and products."""

    def __init__(self, A):
        self.matrix, self.shape = A, A.shape

    def matvec(self, x):
        return self.matrix @ x

    def rmatvec(self, r):
        return self.matrix.T @ r


def rotated(base):
    V, T = reflectors(np.linalg.qr(np.random.default_rng(0).standard_normal((D, 2)))[0])
    rotation = Rotation(np.linspace(0.5, 2.0, D), np.linspace(1.0, 3.0, D), V, T)
    means = np.linspace(-0.1, 0.1, D)
    product = rotation.apply_transposed((A - means).T).T
    return RotatedDesign(base, rotation, means, np.square(product).sum(axis=1), 1e9)


def parted():
    """As large CSR data are, in three partitions."""
    design = PartedDesign(sp.csr_array(A))
    design._own_cuts = Cuts((0, 20, 41, N), N)
    return design


STORED = {
    "C": lambda: as_design(A.copy()),
    "F": lambda: as_design(np.asfortranarray(A)),
    "C float32": lambda: as_design(A.astype(np.float32)),
    "F float32": lambda: as_design(np.asfortranarray(A, dtype=np.float32)),
    "CSR": lambda: as_design(sp.csr_array(A)),
    "CSC": lambda: as_design(sp.csc_array(A)),
    "CSR float32": lambda: as_design(sp.csr_array(A, dtype=np.float32)),
    "blocks": lambda: Blocks(A),
    "products": lambda: OnlyProducts(A),
    "parted CSR": parted,
    "blocks of an array": lambda: BlockDesign(A, rows_per_chunk=11),
    "blocks of CSR": lambda: BlockDesign(sp.csr_array(A), rows_per_chunk=11),
}
OVER = {
    "alone": lambda base: base,
    "intercept": lambda base: InterceptDesign(base, np.full(N, 1 / N)),
    "scaled": lambda base: ScaledDesign(base, np.linspace(0.5, 2.0, D)),
    "scaled, intercept": lambda base: InterceptDesign(
        ScaledDesign(base, np.linspace(0.5, 2.0, D)), np.full(N, 1 / N)
    ),
    "rotated": rotated,
    "rotated, intercept": lambda base: InterceptDesign(rotated(base), np.full(N, 1 / N)),
}
CUTS = {
    "whole": Cuts.whole(N),
    "chunks": Cuts((0, N), 10),
    "partitions": Cuts((0, 9, 20, 21, 40, N), 4),
}
each_design = pytest.mark.parametrize(
    "make",
    [(stored, over) for stored in STORED for over in OVER],
    ids=[f"{stored}, {over}" for stored in STORED for over in OVER],
)
each_cut = pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)


def build(make, cuts=None):
    """A design and its matrix."""
    stored, over = make
    design = OVER[over](STORED[stored]())
    matrix = np.vstack([block for _, block in OVER[over](as_design(A.copy())).blocks(N)])
    return (design if cuts is None else design.arranged(cuts=cuts)), matrix


def near(found, exact):
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-12)


def halves(z, rows, loss):
    """A function between two products that gives rows and sums of its own."""
    y = loss.grad(z, rows[0])
    w = rows[1] if z.ndim == 1 else rows[1][:, None]
    return w * y, (y, 0.5 * z), (float(np.sum(y)), y.sum(axis=0))


def every_verb(chunk, rows, at):
    """A task that asks a chunk for all that it can do."""
    w = rows[0]
    z, u = chunk.absolute_product(np.ones(chunk.shape[1]), w)
    made = (chunk.row_norms_sq(), chunk.row_norms_sq(np.arange(1.0, chunk.shape[1] + 1)), z)
    grams = chunk.gram(w), chunk.gram(w, at)
    return made, (*grams, chunk.column_norms_sq(w), u, chunk.dense().sum(axis=0))


@each_design
@each_cut
@pytest.mark.parametrize("columns", [None, 3], ids=["vector", "matrix"])
def test_there_and_back_is_two_products(make, cuts, columns):
    design, M = build(make, cuts)
    x = np.linspace(-1.0, 1.0, M.shape[1])
    loss, b = as_loss("logistic"), B
    if columns is not None:
        x, loss, b = np.outer(x, [1.0, -2.0, 0.5]), as_loss("multinomial"), CODES
    (z, y, half), (u, total, each) = design.map_rows(tasks.there_and_back, (b, W), x, halves, loss)
    exact = loss.grad(M @ x, b)
    near(z, M @ x)
    near(half, 0.5 * (M @ x))
    near(y, exact)
    near(u, M.T @ (exact * (W if columns is None else W[:, None])))
    near(total, exact.sum())
    near(each, exact.sum(axis=0))


@each_design
@each_cut
def test_chunks_have_the_verbs_of_designs(make, cuts):
    design, M = build(make, cuts)
    at = np.array([1, 3, 4])
    (lengths, weighted, z), (G, some, squares, u, total) = design.map_rows(every_verb, (W,), at)
    near(lengths, np.square(M).sum(axis=1))
    near(weighted, np.square(M) @ np.arange(1.0, M.shape[1] + 1))
    near(z, np.abs(M).sum(axis=1))
    near(G, M.T @ (W[:, None] * M))
    near(some, M[:, at].T @ (W[:, None] * M[:, at]))
    near(squares, W @ np.square(M))
    near(u, W @ np.abs(M))
    near(total, M.sum(axis=0))


@each_design
@each_cut
def test_the_tasks_of_the_package(make, cuts):
    design, M = build(make, cuts)
    x = np.linspace(-1.0, 1.0, M.shape[1])
    G = M.T @ (W[:, None] * M)
    (lengths, z), (squares, means, found) = design.map_rows(
        tasks.survey, (W,), True, tasks.product, x
    )
    near(lengths, np.square(M).sum(axis=1))
    near(z, M @ x)
    near(squares, W @ np.square(M))
    near(means, W @ M)
    near(found, G)
    (lengths,), (squares, means) = design.map_rows(tasks.survey, (W,), False, None)
    near(lengths, np.square(M).sum(axis=1))
    near(design.map_rows(tasks.gram, (W,))[1][0], G)
    (z,), (found, means) = design.map_rows(tasks.gram_beside, (W,), tasks.product, x)
    near(z, M @ x)
    near(found, G)
    near(means, W @ M)
    assert design.reduce(tasks.count_not_finite) == (0, ())
    for offset in ((), (0.1 * B,)):
        loss = as_loss("logistic")
        z = M @ x + (offset[0] if offset else 0.0)
        y = loss.grad(z, B)
        (_, slope), (u,) = design.map_rows(
            tasks.there_and_back, (B, W, *offset), x, of_losses.loss_slope, loss
        )
        near(slope, y)
        near(u, M.T @ (W * y))
    (Ad, slope), (u,) = design.map_rows(
        tasks.there_and_back, (B, W, 0.1 * B), x, of_losses.slope_beside, loss
    )
    near(Ad, M @ x)
    near(slope, loss.grad(0.1 * B + M @ x, B))
    near(u, M.T @ (W * slope))


# ---- bits ----


class Elsewhere:
    """All that a task is given goes through pickle, as to another process, and cannot be changed.

    Partitions are done in the wrong order.
    """

    def reduce(self, source, task, args):
        task, args = sent((task, args))
        done = {k: sums_of(source, k, task, args) for k in reversed(range(source.cuts.partitions))}
        return added_by_tree([done[k] for k in sorted(done)])

    def map_rows(self, source, task, rows, args):
        task, rows, args = sent((task, rows, args))
        parts = reversed(range(source.cuts.partitions))
        done = {k: rows_of(source, k, task, rows, args) for k in parts}
        order = sorted(done)
        return joined([done[k][0] for k in order]), added_by_tree([done[k][1] for k in order])


def sent(message):
    """As it arrives; its arrays are read-only."""
    return _frozen(pickle.loads(pickle.dumps(message)))


def _frozen(part):
    if isinstance(part, np.ndarray):
        part.flags.writeable = False
    elif type(part) is tuple:
        return tuple(_frozen(each) for each in part)
    return part


def bits(part):
    if isinstance(part, tuple):
        return tuple(bits(each) for each in part)
    return np.asarray(part).tobytes()


CALLS = {
    "there_and_back": (tasks.there_and_back, (W,), (X, tasks.weigh)),
    "weigh": (tasks.there_and_back, (W,), (X, tasks.weigh)),
    "weigh_shifted": (tasks.there_and_back, (W,), (X, tasks.weigh_shifted, 0.5)),
    "shifted": (tasks.there_and_back, (W,), (X, tasks.shifted, 0.5, tasks.weigh)),
    "product": (tasks.product, (), (X,)),
    "adjoint": (tasks.adjoint, (W,), ()),
    "absolute_products": (tasks.absolute_products, (W,), (np.abs(X),)),
    "row_squares": (tasks.row_squares, (), (X * X,)),
    "sweep": (tasks.sweep, (W,), (X, 0.5)),
    "column_squares": (tasks.column_squares, (W,), ()),
    "some_columns": (tasks.some_columns, (), (np.array([0, 2, 5]),)),
    "survey": (tasks.survey, (W,), (True, tasks.product, X)),
    "apart": (tasks.there_and_back, (W,), (X, tasks.apart)),
    "gram": (tasks.gram, (W,), ()),
    "gram_beside": (tasks.gram_beside, (W,), (tasks.product, X)),
    "gram_of_columns": (tasks.gram_of_columns, (W,), (np.array([0, 2, 5]),)),
    "count_not_finite": (tasks.count_not_finite, None, ()),
    "line_1": (
        tasks.there_and_back,
        (W, B, W),
        (X, of_algorithms.line_1, as_loss("logistic"), 0.3),
    ),
    "curved": (tasks.there_and_back, (W, W), (X, of_algorithms.curved, 1e-3)),
    "loss_slope": (
        tasks.there_and_back,
        (B, W),
        (X, of_losses.loss_slope, as_loss("logistic")),
    ),
    "slope_beside": (
        tasks.there_and_back,
        (B, W, W),
        (X, of_losses.slope_beside, as_loss("logistic")),
    ),
}


def test_every_task_of_the_package_is_called_here():
    assert {*tasks.__all__, *of_algorithms.__all__, *of_losses.__all__} == set(CALLS)


@pytest.mark.parametrize("stored", [*STORED])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@each_cut
def test_the_bits_do_not_depend_on_who_does_the_work(stored, call, cuts):
    task, rows, args = call
    found = []
    threads = [Threads(3)] if STORED[stored]().parts_are_apart else []
    for executor in (SERIAL, Serial(), Elsewhere(), *threads):
        design = STORED[stored]().arranged(cuts=cuts, executor=executor)
        if rows is None:
            found.append(bits(design.reduce(task, *args)))
        else:
            found.append(bits(design.map_rows(task, rows, *args)))
    assert len(set(found)) == 1


@pytest.mark.parametrize("algorithm", ["df-bpd", "adf-bpd", "newton", "prox-newton"])
@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_whole_runs_have_the_same_bits_elsewhere(algorithm, loss):
    b = B if loss == "logistic" else CODES
    l1 = 1e-2 if algorithm == "prox-newton" else 0.0
    found = []
    for executor in (SERIAL, Elsewhere()):
        design = as_design(A.copy()).arranged(cuts=Cuts((0, 30, N), 7), executor=executor)
        problem = dualgap.Problem(design, b, loss=loss, l1=l1, l2=1e-2, fit_intercept=True)
        found.append(problem.solve(algorithm=algorithm, tol=1e-10))
    assert found[0].status.converged
    assert np.array_equal(found[0].x, found[1].x) and found[0].passes == found[1].passes


class Listening(Elsewhere):
    """Counts the rows that tasks have seen."""

    def __init__(self):
        self.rows = 0

    def reduce(self, source, task, args):
        self.rows += source.shape[0]
        return super().reduce(source, task, args)

    def map_rows(self, source, task, rows, args):
        self.rows += source.shape[0]
        return super().map_rows(source, task, rows, args)


@pytest.mark.parametrize("algorithm", ["df-bpd", "ada-bpd", "agd", "newton", "working-set"])
def test_whoever_carries_out_tasks_reads_everything(algorithm):
    """Of a design that has nothing but blocks: objective, gradients, norms, Gram matrices, columns.

    The same bits as without an executor between; and the ledger has seen no row that no task saw,
    but for readings of the columns that working sets have gathered.
    """
    l1, found = 1e-2 if algorithm == "working-set" else 0.0, []
    for executor in (SERIAL, Listening()):
        design = Blocks(A.copy()).arranged(cuts=Cuts((0, N), 7), executor=executor)
        problem = dualgap.Problem(design, B, loss="logistic", l1=l1, l2=1e-2, fit_intercept=True)
        found.append((problem.solve(algorithm=algorithm, tol=1e-8, max_passes=2000), design))
    (one, _), (two, design) = found
    assert one.status.converged and np.array_equal(one.x, two.x) and one.passes == two.passes
    assert design.executor.rows > 0
    assert design.executor.rows == design.ledger.rows or algorithm == "working-set"


def test_numbers_that_are_missing_are_seen_where_data_are_read_first():
    """A design of a user's is not looked at before; the first norms are such a look."""
    bad = A.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"A is not finite.*in column 2"):
        dualgap.solve(Blocks(bad), B, loss="logistic", l2=1e-2)


def test_partitions_are_added_by_a_fixed_tree():
    parts = [(f"{k}",) for k in range(7)]

    class Text(str):
        def __add__(self, other):
            return Text(f"({self!s}+{other!s})")

    words = [(Text(name),) for (name,) in parts]
    assert added_by_tree(words) == ("(((0+1)+(2+3))+((4+5)+6))",)
    assert added_by_tree(words[:5]) == ("(((0+1)+(2+3))+4)",)
    assert added_in_order(iter(words[:4])) == ("(((0+1)+2)+3)",)


def test_sums_of_a_design_follow_the_tree():
    """Numbers whose sum depends on the order tell it."""
    a = np.array([1.0, 1e16, -1e16, 1.0, 3.0, 1e16, -1e16, 1.0])[:, None]
    cuts = Cuts((0, 3, 4, 6, 8), 1)
    design = DenseDesign(a).arranged(cuts=cuts)
    (_,), (u,) = design.map_rows(tasks.there_and_back, (np.ones(8),), np.ones(1), tasks.weigh)
    ones = np.ones(8)
    inside = []
    for start, stop in ((0, 3), (3, 4), (4, 6), (6, 8)):
        total = 0.0
        for value in (a[start:stop, 0] ** 2) * ones[start:stop]:
            total = total + value
        inside.append(total)
    assert u[0] == (inside[0] + inside[1]) + (inside[2] + inside[3])


def test_sums_do_not_write_to_what_a_task_returns():
    given = np.ones(3)
    found = added_in_order((given, 1) for _ in range(4))
    assert (given == 1.0).all() and (found[0] == 4.0).all() and found[1] == 4


class Totals(NamedTuple):
    """Sums with names."""

    rows: int
    columns: np.ndarray


def totals(chunk):
    """How many rows, and the sums of the columns."""
    return Totals(chunk.shape[0], chunk.rmatvec(np.ones(chunk.shape[0])))


def test_a_named_tuple_stays_one():
    found = as_design(A).arranged(cuts=Cuts((0, 20, N), 6)).reduce(totals)
    assert type(found) is Totals
    assert found.rows == N
    near(found.columns, A.sum(axis=0))


@pytest.mark.parametrize(
    "cuts", [Cuts((0, 10), 3), Cuts((1, N), 3), Cuts((0, 9, 9, N), 3), Cuts((0, N), 0)]
)
def test_cuts_that_do_not_fit_are_refused(cuts):
    with pytest.raises(ValueError, match=r"edges must rise|a chunk has at least one row"):
        as_design(A).arranged(cuts=cuts)


def test_cuts():
    assert Cuts.even(10, 3, 2).edges == (0, 3, 6, 10)
    assert [*Cuts((0, 5, 8), 2).chunks(0)] == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert not Cuts.whole(5).any and Cuts((0, 5), 4).any and Cuts((0, 2, 5), 9).any


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("cuts", [Cuts((0, N), 10), Cuts((0, 9, 20, 21, 40, N), 4)])
def test_blocks_of_any_size_make_the_same_chunks(call, cuts):
    """The same cuts give the same bits, wherever the rows come from."""
    task, rows, args = call
    found = []
    for base in (as_design(A.copy()), Blocks(A)):
        design = base.arranged(cuts=cuts)
        sums = design.reduce(task, *args) if rows is None else design.map_rows(task, rows, *args)
        found.append(bits(sums))
    assert found[0] == found[1]


def test_some_rows_of_a_design_without_a_copy():
    kept = np.arange(N) % 3 != 1
    some = Blocks(A).take(kept)
    assert isinstance(some, SomeRows)
    near(some.matvec(X), A[kept] @ X)
    near(some.rmatvec(W[kept]), A[kept].T @ W[kept])
    near(some.gram(W[kept]), A[kept].T @ (W[kept, None] * A[kept]))
