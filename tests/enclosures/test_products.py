"""Enclosures of A x and A' alpha against exact arithmetic in integers, for every way and layout."""

import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.designs import Cuts, DenseDesign, Design, SparseDesign
from dualgap.enclosures import products, sums
from dualgap.enclosures.products import swept
from dualgap.linalg.double import two_product

U = 2.0**-53
GRID = 1074  # every float is an integer times 2^-1074, every product one times 2^-2148


def integer(v):
    over, under = float(v).as_integer_ratio()
    return over << (GRID - (under.bit_length() - 1))


integers = np.frompyfunc(integer, 1, 1)


def violations(found, A, x, high, low):
    """How many of the claims are wrong, and of how many; A, x and alpha as exact numbers."""
    A, x = integers(np.asarray(A, dtype=np.float64)), integers(x)
    alpha = integers(high) + (0 if low is None else integers(low))
    one = 1 << GRID
    wrong = total = 0
    for value, error, exact in (
        (found.z, found.z_error, A @ x),
        (found.S, found.S_error, A.T @ alpha),
    ):
        assert value.shape == error.shape == exact.shape
        assert np.isfinite(value).all() and not np.isnan(error).any()
        open_ = np.isinf(error)  # an infinite error claims nothing
        off = abs(exact - integers(value) * one) > integers(np.where(open_, 0.0, error)) * one
        wrong += int(np.count_nonzero(off & ~open_))
        total += off.size
    size = np.where(np.isinf(found.size), 0.0, found.size)
    wrong += int(np.count_nonzero((abs(A).T @ abs(alpha) > integers(size) * one) & (size > 0.0)))
    return wrong, total


# ---- data: what makes sums lose digits ----


def scales(rng, n, d):
    """Scales 1e-12 to 1e12 within a row."""
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-12, 12, (n, d))


def cancelling(rng, n, d):
    """Rows and columns whose sums nearly vanish, with x and alpha of one sign."""
    A = np.where(rng.random((n, d)) < 0.3, 0.0, rng.standard_normal((n, d)))
    if d > 1:
        A[:, -1] = -A[:, :-1].sum(axis=1)
    if n > 1:
        A[-1] = -A[:-1].sum(axis=0)
    return A


def subnormal(rng, n, d):
    """Products that underflow, wholly or in the digits of their errors, and some that do not."""
    return rng.standard_normal((n, d)) * 10.0 ** rng.choice([-320, -310, -290, -150, 0], (n, d))


def narrow(rng, n, d):
    """float32 data: their float64 values count."""
    return scales(rng, n, d).astype(np.float32)


def huge(rng, n, d):
    """Products up to 1e300, and products that overflow, in some rows and columns."""
    return rng.standard_normal((n, d)) * 10.0 ** rng.choice([-300, 0, 150, 301], (n, d))


KINDS = [scales, cancelling, subnormal, narrow, huge]


def case(kind, seed, n, d, K=None):
    """A, x, high and low: alpha is the exact product of weights and a dual point."""
    rng = np.random.default_rng([KINDS.index(kind), seed, n, d])
    A = kind(rng, n, d)
    rest = () if K is None else (K,)
    x, y = rng.standard_normal((d, *rest)), rng.standard_normal((n, *rest))
    if kind is cancelling:
        x, y = 1.0 + 1e-9 * x, 1.0 + 1e-9 * y
    if kind is subnormal:  # the least that is allowed, too
        y[::3] = np.sign(y[::3]) * 2.0**-898
    if kind is huge:
        x, y = x * 10.0 ** rng.choice([0, 150], x.shape), y * 10.0 ** rng.choice([0, 150], y.shape)
    y[rng.random(y.shape) < 0.1] = 0.0
    if seed % 2:
        return A, x, y, None
    high, low = two_product(np.broadcast_to(rng.uniform(0.5, 2.0, y.shape), y.shape), y)
    return A, x, high, low


# ---- ways and layouts ----


LIMITS = ("SMALL", "SMALL_SHARP", "SMALL_SPARSE")
"""Up to so many entries numpy is used."""


def by_numpy(monkeypatch, block=8):
    """Also with more blocks than one, few rows as there are."""
    for limit in LIMITS:
        monkeypatch.setattr(products, limit, 10**9)
    monkeypatch.setattr(sums, "BLOCK", block)
    monkeypatch.setattr(sums, "AT_ONCE", 64)


def by_kernels(monkeypatch):
    for limit in LIMITS:
        monkeypatch.setattr(products, limit, -1)
    monkeypatch.setattr(products, "BLOCK_ENTRIES", 20)


def without_kernels(monkeypatch):
    for limit in LIMITS:
        monkeypatch.setattr(products, limit, -1)
    monkeypatch.setattr(products, "_kernels", lambda: None)


WAYS = [by_numpy, by_kernels, without_kernels]


class Blocks(Design):
    """Nothing but blocks."""

    def __init__(self, A):
        self.A, self.shape = np.asarray(A, dtype=np.float64), A.shape

    def blocks(self, rows):
        for start in range(0, self.shape[0], rows):
            stop = min(start + rows, self.shape[0])
            yield slice(start, stop), self.A[start:stop]


class Products(Design):
    """Nothing but products."""

    def __init__(self, A):
        self.A, self.shape = np.asarray(A, dtype=np.float64), A.shape

    def matvec(self, x):
        return self.A @ x

    def rmatvec(self, r):
        return self.A.T @ r


def streamed(A, rows=7):
    """In chunks of few rows, in two partitions where there is more than one row."""
    design, n = Blocks(A), A.shape[0]
    return design.arranged(cuts=Cuts.even(n, 2, rows) if n > 1 else Cuts.whole(n))


LAYOUTS = {
    "C": lambda A: DenseDesign(np.ascontiguousarray(A)),
    "Fortran": lambda A: DenseDesign(np.asfortranarray(A)),
    "CSR": lambda A: SparseDesign(sp.csr_array(A)),
    "CSC": lambda A: SparseDesign(sp.csc_array(A)),
    "blocks": streamed,
}
SHAPES = [(1, 1), (2, 3), (30, 5), (3, 40), (41, 9)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_enclosure_holds_in_exact_arithmetic(monkeypatch, kind, way, layout):
    way(monkeypatch)
    wrong = total = known = 0
    for seed in range(2):
        for n, d in SHAPES:
            A, x, high, low = case(kind, seed, n, d)
            for sharp in (False, True):
                found = swept(LAYOUTS[layout](A), x, high, low, sharp=sharp)
                more = violations(found, A, x, high, low)
                wrong, total = wrong + more[0], total + more[1]
                known += np.isfinite(found.z_error).sum() + np.isfinite(found.S_error).sum()
    assert (wrong, total) == (0, 540)  # 2 seeds, sharp or not: 4 times all rows and columns
    # An infinite bound would pass, so it must be rare: only products beyond 1e308 have one.
    assert known == total if kind is not huge else known > 30


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_classes_are_columns_of_their_own(monkeypatch, way, layout):
    way(monkeypatch)
    for kind in (scales, subnormal):
        A, x, high, low = case(kind, 0, 23, 6, K=3)
        for sharp in (False, True):
            found = swept(LAYOUTS[layout](A), x, high, low, sharp=sharp)
            assert found.z.shape == (23, 3) and found.size.shape == (6, 3)
            assert violations(found, A, x, high, low) == (0, 3 * 29)


@pytest.mark.parametrize("layout", ["C", "Fortran"])
@pytest.mark.parametrize("n, d", [(3, 600), (600, 3), (513, 4), (5, 257)])
def test_tiles_and_lanes_of_kernels_leave_nothing_out(monkeypatch, layout, n, d):
    """More columns and rows than a tile has, and a remainder."""
    by_kernels(monkeypatch)
    A, x, high, low = case(scales, 0, n, d)
    found = swept(LAYOUTS[layout](A), x, high, low, sharp=True)
    assert violations(found, A, x, high, low) == (0, n + d)


@pytest.mark.parametrize("made", [LAYOUTS["C"], LAYOUTS["CSR"], Blocks], ids=["C", "CSR", "blocks"])
def test_larger_data_as_they_come(made):
    """Nothing is set here: float32 data that kernels take, and two chunks, one of which is small.

    A thousandth of u size is beyond plain sums, and it is what kernels promise without `sharp`.
    """
    A, x, high, low = case(narrow, 0, 2700, 100)
    design = made(A)
    found = swept(design, x, high, low, sharp=False)
    assert violations(found, A, x, high, low) == (0, 2800)
    if made is Blocks:
        assert design.cuts.rows < 2700
    else:
        second = found.S_error - 1.01 * U * np.abs(found.S)
        assert (second < 1e-3 * U * found.size).all()


def test_a_design_of_products_only_is_read_through_unit_vectors():
    A, x, high, low = case(scales, 0, 30, 5)
    found = swept(Products(A), x, high, low, sharp=True)
    assert violations(found, A, x, high, low) == (0, 35)


# ---- how sharp ----


@pytest.mark.parametrize("layout", ["C", "Fortran", "CSR", "CSC"])
@pytest.mark.parametrize("way", [by_numpy, by_kernels], ids=lambda way: way.__name__)
def test_sharp_sums_know_twice_the_digits(monkeypatch, way, layout):
    """S_error is u |S| + O(n^2 u^2) |A|'|alpha|: with S = 1e-10 of the size, far below u size.

    The plain way cannot know it: its bound is above u size.
    """
    way(monkeypatch)
    rng = np.random.default_rng(5)
    A = rng.standard_normal((200, 6))
    alpha = rng.standard_normal(200)
    for j in range(6):  # the last row makes up for the others, but for 1e-10
        A[-1, j] = -(A[:-1, j] @ alpha[:-1]) / alpha[-1] * (1.0 + 1e-10)
    x = np.ones(6)
    found = swept(LAYOUTS[layout](A), x, alpha, None, sharp=True)
    assert violations(found, A, x, alpha, None) == (0, 206)
    assert (np.abs(found.S) < 1e-9 * found.size).all()
    assert (found.S_error <= 1.01 * U * np.abs(found.S) + (700.0 * U) ** 2 * found.size).all()
    assert (found.S_error < 1e-6 * U * found.size).all()
    if way is by_numpy:
        rough = swept(LAYOUTS[layout](A), x, alpha, None, sharp=False)
        assert (rough.S_error > U * rough.size).all()


@pytest.mark.parametrize("layout", ["C", "Fortran", "CSR", "CSC"])
@pytest.mark.parametrize("way", [by_numpy, by_kernels], ids=lambda way: way.__name__)
def test_sums_that_vanish_need_the_term_of_second_order(monkeypatch, way, layout):
    """Where |S| is far below u size, u |S| alone is wrong: the errors of errors are lost."""
    way(monkeypatch)
    rng = np.random.default_rng(8)
    n, d = 60, 50
    A, alpha = rng.standard_normal((n, d)), rng.uniform(0.7, 1.3, n)
    alpha[-4:] = 1.0
    A[-4:] = 0.0
    for row in range(-4, 0):  # what is left of the exact sum, digits after digits
        left = integers(A).T @ integers(alpha)
        A[row] = [-float(Fraction(v, 1 << 2 * GRID)) for v in left]
    mixed = np.random.default_rng(9).permutation(n)
    A, alpha, x = A[mixed], alpha[mixed], np.ones(d)
    found = swept(LAYOUTS[layout](A), x, alpha, None, sharp=True)
    assert violations(found, A, x, alpha, None) == (0, n + d)
    exact = [Fraction(v, 1 << 2 * GRID) for v in integers(A).T @ integers(alpha)]
    off = np.array([float(abs(v - Fraction(s))) for v, s in zip(exact, found.S, strict=True)])
    assert np.count_nonzero(off > 1.01 * U * np.abs(found.S)) > d // 4
    # The most roundings are those of numpy in 60 blocks: 314 by 70.
    assert (found.S_error <= 1.01 * U * np.abs(found.S) + (150.0 * U) ** 2 * found.size).all()


def test_blocks_of_rows_keep_the_plain_bound_small():
    """Of n = 3000 rows it is that of 256 and not of 3000; kernels are not used for so few."""
    rng = np.random.default_rng(6)
    A, alpha = rng.standard_normal((3000, 4)), rng.standard_normal(3000)
    found = swept(DenseDesign(A), np.ones(4), alpha, None, sharp=False)
    assert (found.S_error < 270.0 * U * found.size).all()


def test_errors_of_single_products():
    """Both ways to the error of a product, with and without a fused multiplication.

    a b = p + q exactly if p is 0 or above 2^-960; below that at most 5 times 2^-1074 is lost.
    """
    from dualgap.compiled.jit import HAS_FUSED
    from dualgap.enclosures import compiled_products

    ways = [compiled_products.split_error, compiled_products.split_error.py_func]
    ways += [compiled_products.fused_error] if HAS_FUSED else []
    rng = np.random.default_rng(7)
    for power in (0, 140, -140, -150, -155, -160):
        a = rng.standard_normal(300) * 10.0 ** rng.uniform(power - 2, power + 2, 300)
        b = rng.standard_normal(300) * 10.0 ** rng.uniform(power - 2, power + 2, 300)
        for error in ways:
            for left, right in zip(a.tolist(), b.tolist(), strict=True):
                p = left * right
                lost = integer(left) * integer(right) - (
                    (integer(p) + integer(error(left, right, p))) << GRID
                )
                assert abs(lost) <= (0 if abs(p) > 2.0**-960 else 5 << GRID)


# ---- what is read, and by whom ----


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_everything_takes_one_reading(monkeypatch, way, layout):
    """A x, |A||x|, A' alpha and |A|'|alpha| are four products: two passes, but one reading."""
    way(monkeypatch)
    A, x, high, low = case(scales, 0, 41, 9)
    design = LAYOUTS[layout](A)
    before, passes = design.ledger.readings, design.ledger.passes
    swept(design, x, high, low, sharp=False)
    read = design.ledger.readings - before
    if layout == "blocks":  # a partition passes over what is before it
        assert read < 2.0
        design = Blocks(A)
        swept(design, x, high, low, sharp=False)
        read = design.ledger.readings
    assert read == 1.0 and design.ledger.passes - passes == 2.0


def test_the_task_for_chunks_can_be_sent_elsewhere():
    assert pickle.loads(pickle.dumps(products.sweep_chunk)) is products.sweep_chunk


def test_nothing_is_written_to():
    A, x, high, low = case(scales, 0, 30, 5)
    arrays = [A, x, high, low]
    copies = [v.copy() for v in arrays]
    for array in arrays:
        array.flags.writeable = False
    for layout in LAYOUTS.values():
        for sharp in (False, True):
            swept(layout(A), x, high, low, sharp=sharp)
    assert all(np.array_equal(v, w) for v, w in zip(arrays, copies, strict=True))


HIDDEN = """
import sys
sys.modules["numba"] = None  # importing it raises ImportError
import numpy as np
from dualgap.designs import DenseDesign
from dualgap.enclosures import products
rng = np.random.default_rng(0)
A, x, y = rng.standard_normal((500, 500)), rng.standard_normal(500), rng.standard_normal(500)
assert A.size > products.SMALL
plain = products.swept(DenseDesign(A), x, y, None, sharp=False)
sharp = products.swept(DenseDesign(A), x, y, None, sharp=True)
assert "dualgap.enclosures.compiled_products" not in sys.modules
assert (abs(plain.S - sharp.S) <= plain.S_error + sharp.S_error).all()
assert 20.0 * sharp.S_error.max() < plain.S_error.min()
"""


def test_without_numba_numpy_does_all_of_it():
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


UNFUSED = """
from fractions import Fraction
import numpy as np
from dualgap.compiled import jit
from dualgap.designs import DenseDesign
from dualgap.enclosures import products
assert not jit.HAS_FUSED
products.SMALL = products.SMALL_SHARP = products.SMALL_SPARSE = -1
rng = np.random.default_rng(0)
A = rng.standard_normal((21, 7)) * 10.0 ** rng.uniform(-12, 12, (21, 7))
y = rng.standard_normal(21)
found = products.swept(DenseDesign(A), np.ones(7), y, None, sharp=True)
for j in range(7):
    exact = sum(Fraction(a) * Fraction(v) for a, v in zip(A[:, j], y))
    assert abs(exact - Fraction(found.S[j])) <= Fraction(found.S_error[j])
assert (found.S_error < 1.01 * 2.0**-53 * abs(found.S) + 2.0**-90 * found.size).all()
"""


def test_kernels_hold_on_processors_without_fused_multiplications(tmp_path):
    """numba is told to compile for a plain one, so that products are split into halves."""
    told = {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", UNFUSED], env=os.environ | told, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
