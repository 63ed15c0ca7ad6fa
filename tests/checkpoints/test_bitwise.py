"""Equivalence: a run that is resumed from a checkpoint ends as the run that nobody stopped."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pytest

import dualgap
from dualgap.adaptation import Curvature
from dualgap.algorithms import ALGORITHMS, AdaBPD
from dualgap.algorithms.needs import serves
from dualgap.designs import Design
from dualgap.dual_points.feasible import repair_is_free
from dualgap.preconditioners import PRECONDITIONERS
from tests.tuned import tuned

from .runs import data, difference, every_one_kept

STRENGTHS = {"l2": {"l2": 0.05}, "net": {"l1": 0.02, "l2": 0.01}, "lasso": {"l1": 0.03}, "none": {}}
TIGHT = 1e-9
PARTS = 4
"""So many of the checkpoints of a run are gone on from."""


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch):
    """What `fsync` is for is not tested here."""
    monkeypatch.setattr("os.fsync", lambda *_: None)


def assert_bitwise(make, tmp_path, **options):
    """The run alone, watched, and taken up at several of its checkpoints, by new objects."""
    options = {"tol": TIGHT, "max_passes": 24, **options}
    alone = make().solve(**options)
    file, copies = tmp_path / "run.npz", tmp_path / "copies"
    copies.mkdir()
    with every_one_kept(copies) as kept:
        watched = make().solve(checkpoint=file, checkpoint_every=0, **options)
    assert difference(alone, watched) == []
    chosen = kept[:: max(1, len(kept) // PARTS)]
    for one in chosen:
        shutil.copy(one, file)
        assert difference(alone, make().solve(checkpoint=file, resume=True, **options)) == []
    return alone, kept


def maker(loss, layout="dense", shape=(40, 6), more=False, change=lambda A: A, **strengths):
    """Makes the problem anew each time; ``more``: with an intercept and weights."""

    def make():
        A, b, weights = data(loss, layout, *shape)
        extra = {"fit_intercept": True, "sample_weight": weights} if more else {}
        return dualgap.Problem(change(A), b, loss=loss, **strengths, **extra)

    return make


LOSSES_AND_MORE = list(itertools.product(("squared", "logistic", "multinomial"), ("plain", "more")))
CASES = [
    (algorithm, *case, strengths)
    for case in LOSSES_AND_MORE
    for strengths, values in STRENGTHS.items()
    for problem in [maker(case[0], more=case[1] == "more", **values)()]
    for algorithm, kind in ALGORITHMS.items()
    if serves(kind(), problem)
]


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("algorithm", "loss", "more", "strengths"), CASES)
def test_every_algorithm(algorithm, loss, more, strengths, layout, tmp_path):
    make = maker(loss, layout, more=more == "more", **STRENGTHS[strengths])
    assert_bitwise(make, tmp_path, algorithm=algorithm)


CHANGED = [
    (algorithm, name)
    for algorithm in ("auto", "newton", "ada-bpd", "adf-spdc", "sdca")
    for name in (*PRECONDITIONERS, "auto")
]


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("algorithm", "name"), CHANGED)
def test_every_preconditioner(algorithm, name, layout, shape, tmp_path):
    more = algorithm != "sdca"
    make = maker("logistic", layout, shape, more=more, l2=0.05)
    assert_bitwise(make, tmp_path, algorithm=algorithm, precondition=name)


def nearly_dependent(A):
    A = A.copy()
    A[:, 1] = A[:, 0] + 1e-7 * A[:, 1]
    A[:, 2] += 1e6
    return A


@pytest.mark.parametrize("algorithm", ["auto", "newton", "prox-newton", "working-set"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_variables_that_change_on_the_way(algorithm, loss, tmp_path):
    """Of moved columns, and from them to an orthonormal basis."""
    strengths = {"l1": 0.02} if algorithm == "working-set" else {}
    make = maker(loss, shape=(60, 6), more=True, change=nearly_dependent, **strengths)
    alone, _ = assert_bitwise(make, tmp_path, algorithm=algorithm)
    assert alone.state.change is not None


class Rows(Design):
    """Blocks, and nothing else."""

    def __init__(self, A):
        self.A, self.shape = A, A.shape

    def blocks(self, rows):
        for start in range(0, len(self.A), 7):
            yield slice(start, min(start + 7, len(self.A))), self.A[start : start + 7]


class Products(Design):
    """Products, and nothing else."""

    def __init__(self, A):
        self.A, self.shape = A, A.shape

    def matvec(self, x):
        return self.A @ x

    def rmatvec(self, r):
        return self.A.T @ r


KINDS = {
    "float32": lambda A: A.astype(np.float32),
    "columns": np.asfortranarray,
    "blocks": Rows,
    "products": Products,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("algorithm", ["newton", "working-set", "adf-bpd"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_data_of_other_kinds(kind, algorithm, loss, tmp_path):
    make = maker(loss, shape=(100, 8), more=True, change=kind, l2=0.01)
    assert_bitwise(make, tmp_path, algorithm=algorithm)


@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_a_system_that_is_half_solved(loss, tmp_path, monkeypatch):
    """Newton's conjugate gradients, cut after every two products, and never factorised."""
    tuned(monkeypatch, "SYSTEMS", chunk=2)
    monkeypatch.setattr("dualgap.linalg.hessian_factor.cost", lambda *_, **__: np.inf)
    _, kept = assert_bitwise(maker(loss, l2=1e-4, more=True), tmp_path, algorithm="newton")
    assert any("course.state.own.system.run.r" in np.load(file) for file in kept)


def test_certificates_that_must_be_paid_for(tmp_path):
    """The attempts, the bound that they found and their passes are part of a run."""
    make = maker("logistic", more=True)
    assert not repair_is_free(make())
    assert_bitwise(make, tmp_path, algorithm="adf-bpd", max_passes=300, tol=1e-6)


@pytest.mark.parametrize("algorithm", ["adf-bpd", AdaBPD(adapt=Curvature(period=7, start=1e-5))])
def test_a_run_through_roll_backs(algorithm, tmp_path, monkeypatch):
    monkeypatch.setattr("dualgap.algorithms.primal_dual.adaptation.monitor.GROWTH", 1.0001)
    make = maker("logistic", l2=1e-4)
    alone, _ = assert_bitwise(make, tmp_path, algorithm=algorithm, max_passes=60)
    assert alone.trace.rollbacks > 0


def test_where_a_run_begins_does_not_matter(tmp_path):
    """x0, a state, preparations of another run: what came of them is in the file."""
    make = maker("logistic", l2=0.05)
    half = make().solve(algorithm="ada-bpd", tol=TIGHT, max_passes=7)
    other = make().replace(l2=0.04).solve(algorithm="newton")
    for number, start in enumerate(
        (
            {"algorithm": "ada-bpd", "state": half.state},
            {"algorithm": "ada-bpd", "x0": half.x, "y0": half.y},
            {"algorithm": "newton", "earlier": other.state},
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_bitwise(make, folder, **start)


def test_a_limit_that_is_raised(tmp_path):
    """Passes count from where the run began, whoever has made them."""
    make, file = maker("logistic", l2=1e-3), tmp_path / "run.npz"
    options = {"algorithm": "ada-bpd", "tol": TIGHT}
    whole = make().solve(max_passes=30, **options)
    half = make().solve(max_passes=12, checkpoint=file, **options)
    assert half.status is dualgap.Status.PASS_LIMIT
    assert half.passes == 12
    rest = make().solve(max_passes=30, checkpoint=file, resume=True, **options)
    assert difference(whole, rest) == []
    none = make().solve(max_passes=40, max_time=0.0, checkpoint=file, resume=True, **options)
    assert none.status is dualgap.Status.TIME_LIMIT
    assert none.passes == 30
