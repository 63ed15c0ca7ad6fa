"""check_design: designs that obey the laws pass, and each law that is broken is named."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap
from dualgap.checks import LawError, check_design
from dualgap.designs import Cuts, Design, InterceptDesign, Rows, ScaledDesign, as_design
from dualgap.designs.columns import DenseColumns
from tests.laws.test_reduce import OVER, STORED

N, D = 40, 6
RNG = np.random.default_rng(5)
A = RNG.standard_normal((N, D))


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("cut", [False, True])
def test_every_design_of_the_package_obeys_the_laws(stored, over, cut):
    design = OVER[over](STORED[stored]())
    if cut:
        design = design.arranged(cuts=Cuts((0, 20, design.shape[0]), 6))
    check_design(design)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (700, 3), (3, 700)])
def test_any_shape(shape):
    check_design(as_design(RNG.standard_normal(shape)))
    check_design(as_design(sp.csr_array(RNG.standard_normal(shape))))
    check_design(Products(RNG.standard_normal(shape)))


@pytest.mark.parametrize("unit", [1e-90, 1e-8, 1e8, 1e90])
def test_any_unit(unit):
    check_design(as_design(unit * A))
    check_design(as_design(sp.csr_array(unit * A)))
    check_design(InterceptDesign(ScaledDesign(as_design(unit * A), np.ones(D)), np.full(N, 1 / N)))


class Products(Design):
    """Three members."""

    def __init__(self, matrix=A):
        self.matrix, self.shape, self.rows_read = matrix, matrix.shape, []

    def matvec(self, x):
        self.rows_read.append(len(self.matrix))
        return self.matrix @ x

    def rmatvec(self, r):
        self.rows_read.append(len(self.matrix))
        return self.matrix.T @ r


class OfBlocks(Design):
    """Two members."""

    def __init__(self):
        self.shape, self.rows_read = A.shape, []

    def blocks(self, rows):
        for start in range(0, N, rows):
            block = A[start : start + rows]
            self.rows_read.append(len(block))
            yield slice(start, start + len(block)), block


def broken(base, **verbs):
    return type("Broken", (base,), verbs)()


def _writes(self, x):
    x *= 2.0
    return self.matrix @ x


def _drifts(self, x):
    self.count = getattr(self, "count", 0) + 1
    return self.matrix @ x * (1.0 + 1e-15 * self.count)


def _permuted_blocks(self, rows):
    at = list(OfBlocks.blocks(self, 10))
    yield from at[::-1]


def _short_blocks(self, rows):
    yield from list(OfBlocks.blocks(self, 10))[:-1]


def _long_blocks(self, rows):
    yield slice(0, N), A


def _narrow_blocks(self, rows):
    for at, block in OfBlocks.blocks(self, rows):
        yield at, block.astype(np.float32)


def _other_blocks(self, rows):
    for start in range(0, N, rows):
        yield slice(start, min(start + rows, N)), 2.0 * A[start : start + rows]


def _rows(dense):
    return lambda self: Rows(dense, None, None, None, 0.0)


BROKEN = {
    "adjointness": (Products, {"rmatvec": lambda self, r: (self.matrix * 1.0000001).T @ r}),
    "writes to its argument": (Products, {"matvec": _writes}),
    "of a matrix": (Products, {"matvec": lambda self, x: self.matrix @ np.roll(x, 1, axis=-1)
                               if x.ndim == 2 and x.shape[1] == 3 else self.matrix @ x}),
    "is float64 of shape": (Products, {"matvec": lambda self, x: (self.matrix @ x)[:-1]}),
    "float32 of shape": (
        Products,
        {"matvec": lambda self, x: (self.matrix @ x).astype(np.float32)},
    ),
    "not finite": (Products, {"matvec": lambda self, x: self.matrix @ x * np.inf}),
    "other bits": (Products, {"matvec": _drifts}),
    "after row 0": (OfBlocks, {"blocks": _permuted_blocks}),
    "end at row 30 of 40": (OfBlocks, {"blocks": _short_blocks}),
    "blocks.*are float32": (OfBlocks, {"blocks": _narrow_blocks}),
    "matvec against blocks": (Products, {"blocks": _other_blocks}),
    r"row_norms_sq\(\)": (Products, {"row_norms_sq": lambda self, w=None: np.ones(N)}),
    "column_norms_sq": (Products, {"column_norms_sq": lambda self, w: w @ np.abs(self.matrix)}),
    "absolute_product": (
        Products,
        {"absolute_product": lambda self, x, r: (self.matrix @ x, self.matrix.T @ r)},
    ),
    "gram": (Products, {"gram": lambda self, w: self.matrix.T @ self.matrix}),
    "outer": (Products, {"outer": lambda self, w: self.matrix @ self.matrix.T}),
    "column_sizes": (Products, {"column_sizes": lambda self, at: np.ones(at.size)}),
    "columns": (
        Products,
        {"columns": lambda self, at, constant=0.0, known=None: DenseColumns(at, 2 * A.T[at])},
    ),
    "take": (Products, {"take": lambda self, rows: as_design(A[::-1][rows])}),
    r"rows\(\)": (Products, {"rows": _rows(A[::-1].copy())}),
    "there_and_back": (
        Products,
        {"weighted_sweep": lambda self, x, w, shift=0.0: (A @ x, A.T @ (A @ x))},
    ),
    r"chunks\(0\)": (
        OfBlocks,
        {"chunks": lambda self, part: as_design(A[:39]).chunks(0)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", BROKEN)
def test_a_law_that_is_broken_is_named(law):
    base, verbs = BROKEN[law]
    with pytest.raises(LawError, match=law):
        check_design(broken(base, **verbs))


def test_unbroken_ones_pass():
    check_design(Products())
    check_design(OfBlocks())
    check_design(broken(Products, rows=_rows(A)), needs=("rows",))


def test_what_is_missing_is_named_with_who_needs_it():
    class Nothing(Design):
        shape = (3, 2)

    class Half(Nothing):
        def matvec(self, x):
            return np.zeros(3)

    with pytest.raises(LawError, match=r"Nothing has no matvec.*, needed by every algorithm"):
        check_design(Nothing())
    with pytest.raises(LawError, match="Half has no rmatvec"):
        check_design(Half())
    with pytest.raises(LawError, match=r"OfBlocks has no rows.*visit single rows"):
        check_design(OfBlocks(), needs=("rows",))
    with pytest.raises(ValueError, match="needs has 'feet'"):
        check_design(OfBlocks(), needs=("feet",))
    with pytest.raises(LawError, match="shape"):
        check_design(broken(OfBlocks, __init__=lambda self: setattr(self, "shape", (3,))))
    with pytest.raises(LawError, match=r"dualgap\.designs\.Design"):
        check_design(A)


def test_solve_says_what_is_missing_before_any_work():
    class Half(Design):
        shape = (3, 2)

        def matvec(self, x):
            return np.zeros(3)

    with pytest.raises(TypeError, match="Half has no rmatvec"):
        dualgap.solve(Half(), np.zeros(3))
    Half.shape = (3, 2.5)
    with pytest.raises(TypeError, match="tuple of two integers"):
        dualgap.solve(Half(), np.zeros(3))
    Half.shape = (0, 2)
    with pytest.raises(ValueError, match="empty"):
        dualgap.solve(Half(), np.zeros(0))
    with pytest.raises(ValueError, match=r"the design OfBlocks has no rows\(\)"):
        dualgap.solve(OfBlocks(), np.sign(A[:, 0]), loss="logistic", l2=1e-2, algorithm="saga")


# ---- designs of one's own, solved ----

BATCH = ["auto", "bpd", "ada-bpd", "df-bpd", "adf-bpd", "agd", "newton"]


@pytest.mark.parametrize("make", [Products, OfBlocks])
@pytest.mark.parametrize("algorithm", BATCH)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_three_methods_are_enough(make, algorithm, fit_intercept):
    b = np.sign(A[:, 0] + 0.5 * RNG.standard_normal(N))
    options = {"loss": "logistic", "l2": 1e-2, "fit_intercept": fit_intercept}
    design = make()
    own = dualgap.solve(design, b, algorithm=algorithm, max_passes=20000, **options)
    # What the result says of readings is what was asked of the design, the certificate's included.
    assert own.readings == pytest.approx(sum(design.rows_read) / N, rel=1e-12)
    same = dualgap.solve(A, b, algorithm=algorithm, max_passes=20000, **options)
    assert own.status.converged
    for one, other in ((own, same), (same, own)):
        assert one.certificate.dual <= other.certificate.primal
    again = dualgap.certify(make(), b, own.x, own.y, intercept=own.intercept, **options)
    assert again.gap <= 1e-6 * again.primal * 1.01


@pytest.mark.parametrize("make", [Products, OfBlocks])
@pytest.mark.parametrize(
    "options",
    [
        {"l1": 0.05},
        {"l1": 0.05, "loss": "huber", "fit_intercept": True},
        {"l2": 1e-3, "precondition": "whiten", "algorithm": "adf-bpd"},
        {"l2": 1e-3, "precondition": "low-rank", "algorithm": "adf-bpd"},
        {"l2": 1e-3, "precondition": "diagonal", "algorithm": "adf-bpd"},
        {},
    ],
    ids=["lasso", "huber", "whiten", "low-rank", "diagonal", "least squares"],
)
def test_everything_that_visits_no_single_rows(make, options):
    b = A[:, 0] - A[:, 3] + 0.1 * RNG.standard_normal(N)
    own, same = dualgap.solve(make(), b, **options), dualgap.solve(A, b, **options)
    assert own.status.converged
    assert own.certificate.dual <= same.certificate.primal
    assert same.certificate.dual <= own.certificate.primal


def test_multinomial_on_a_design_of_ones_own():
    codes = RNG.integers(0, 3, N)
    for make in (Products, OfBlocks):
        own = dualgap.solve(make(), codes, loss="multinomial", l2=1e-2, fit_intercept=True)
        assert own.status.converged


def test_auto_takes_nothing_that_a_design_lacks():
    """Where sdca would be taken, were there rows."""
    wide = RNG.standard_normal((40, 4000))
    b = np.sign(RNG.standard_normal(40))
    options = {"loss": "logistic", "l2": 1e4}
    assert dualgap.solve(wide, b, **options).algorithm == "sdca"
    assert dualgap.solve(Products(wide), b, **options).algorithm == "newton"


@pytest.mark.parametrize("wrong", ["wide", "short", "object", "product"])
def test_what_has_not_the_form_that_it_promises_is_refused(wrong):
    """Without check_design, too: a sentence that names the design and what it gave."""

    class Odd(dualgap.designs.Design):
        shape = A.shape

        if wrong == "product":

            def matvec(self, x):
                return (A @ x)[:-1]

            def rmatvec(self, r):
                return A.T @ r

        else:

            def blocks(self, rows):
                given = {"wide": np.c_[A, A[:, 0]], "short": A[:20], "object": A.astype(object)}
                yield slice(0, len(given[wrong])), given[wrong]

    expected = {
        "wide": "Odd of shape .* block at 0:40 gave float64 of shape",
        "short": "its blocks are the rows 0 to 20 in order",
        "object": "block at 0:40 gave object",
        "product": "matvec gave float64",
    }
    with pytest.raises(ValueError, match=expected[wrong]):
        dualgap.solve(Odd(), np.sign(A[:, 0]), loss="logistic", l2=0.1)
