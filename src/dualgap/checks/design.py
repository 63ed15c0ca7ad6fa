"""The laws of a design: what algorithms and certificates rest on, whatever the data are.

A design's verbs say the same thing in many ways: products, blocks of rows, norms, Gram matrices,
sums over chunks. Each law holds two of them against each other, at random points, within what
rounding in float64 allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap._types import Array, Places
from dualgap.checks.errors import LawError
from dualgap.designs import Chunk, Design
from dualgap.designs.tasks import product_pair, there_and_back, weigh, weigh_shifted
from dualgap.linalg.rounding import EPS

SLACK = 8.0
"""Two sums may differ by this times the bound on the rounding of one, because both are rounded."""
FEW = 48
"""So many rows and columns are looked at one by one."""
SMALL = 512
"""No Gram matrix with a larger side than this is asked for."""
BLOCK = 1 << 17
"""Blocks of about so many entries are asked for."""

NEEDED_BY = {
    "matvec": "every algorithm",
    "rmatvec": "every algorithm",
    "blocks": "designs without products, and certificates with twice the digits",
    "rows": "algorithms that visit single rows, such as 'adf-spdc', 'saga' and 'sdca'",
    "columns": "'working-set'",
    "gram": "factorisations, which 'newton' makes",
    "outer": "factorisations of data with fewer rows than columns",
    "take": "'newton', which leaves out rows that do not matter",
    "narrowed": "nobody; 'newton' takes fewer seconds with it",
}
"""Verbs of a design, and who asks for them."""


def check_design(design: Design, *, needs: tuple[str, ...] = (), seed: int = 0) -> None:
    """Check that the verbs of a design agree with each other.

    Parameters
    ----------
    design : Design
        It is read some twenty times. Nothing as large as it is kept.
    needs : tuple of str
        Names of verbs, such as ``"rows"``, which it must have of its own.
    seed : int
        Of the points at which it is looked at.

    Raises
    ------
    LawError
        With the law that does not hold, and the values.
    """
    if not isinstance(design, Design):
        raise LawError(f"a design is a dualgap.designs.Design, got {type(design).__name__}.")
    _check_members(design, needs)
    if design.offers("blocks"):
        for _ in _blocks(design, max(1, BLOCK // design.shape[1])):
            pass
    _check_chunks(design)
    sample = _sample(design, seed)
    _check_products(sample)
    if design.offers("blocks"):
        _check_blocks(sample)
    _check_entries(sample)
    _check_norms(sample)
    _check_grams(sample)
    _check_tasks(sample)
    _check_parts(sample)
    if design.offers_rows:
        _check_rows(sample)
    _check_ledger(sample)


ROWS_IN_ORDER = "Chunks are the rows, each once and in order."


@dataclass(frozen=True)
class _Sample:
    """A design, where it is looked at, and what some of its rows and columns are."""

    design: Design
    x: Array
    r: Array
    w: Array
    """Weights of rows, some of them 0."""
    v: Array
    """Weights of columns."""
    some_rows: Places
    some_columns: Places
    R: Array
    """The rows at some places, from A' e_i."""
    C: Array
    """The columns at some places, from A e_j."""

    @property
    def terms(self) -> int:
        """Numbers that are added up, at most."""
        return sum(self.design.shape)


def _fail(law: str, found: str, other: str, why: str) -> LawError:
    return LawError(f"{law}: {found}, but {other}. {why}")


def _check_members(design: Design, needs: tuple[str, ...]) -> None:
    name = type(design).__name__
    shape: Any = getattr(design, "shape", None)
    whole = isinstance(shape, tuple) and len(shape) == 2
    if not whole or not all(isinstance(side, int | np.integer) and side > 0 for side in shape):
        raise LawError(f"shape: {name}.shape is {shape!r}; it is a tuple (n, d) of two integers.")
    if not design.offers("blocks"):
        needs = ("matvec", "rmatvec", *needs)
    for verb in needs:
        if verb not in NEEDED_BY:
            raise ValueError(f"needs has {verb!r}, which is not one of {sorted(NEEDED_BY)}.")
        has = design.offers_rows if verb == "rows" else design.offers(verb)
        if not has:
            hint = " It needs none if it has blocks." if "matvec" in verb else ""
            raise LawError(f"{name} has no {verb}(), needed by {NEEDED_BY[verb]}.{hint}")


def _sample(design: Design, seed: int) -> _Sample:
    rng, (n, d) = np.random.default_rng(seed), design.shape
    x, r, v = rng.standard_normal(d), rng.standard_normal(n), rng.random(d)
    w = rng.random(n) * (rng.random(n) < 0.8)
    w[0] = 0.5
    rows, columns = (np.sort(rng.permutation(side)[:FEW]) for side in (n, d))
    for given in (x, r, v, w):
        given.flags.writeable = False
    R = _product(design, "rmatvec", _units(n, rows)).T
    C = _product(design, "matvec", _units(d, columns))
    return _Sample(design, x, r, w, v, rows, columns, R, C)


def _units(side: int, at: Places) -> Array:
    E = np.zeros((side, at.size))
    E[at, np.arange(at.size)] = 1.0
    return E


def _product(design: Design, verb: str, x: Array) -> Array:
    """A x or A' x, if it has the form that it should have."""
    n, d = design.shape
    try:
        out: Any = getattr(design, verb)(x)
    except ValueError as error:
        if "read-only" in str(error):
            raise LawError(f"{verb} writes to its argument, which it must not.") from error
        raise
    form = (n if verb == "matvec" else d, *x.shape[1:])
    if getattr(out, "shape", None) != form or getattr(out, "dtype", None) != np.float64:
        given = f"{getattr(out, 'dtype', type(out).__name__)} of shape {np.shape(out)}"
        raise LawError(
            f"{verb} of an argument of shape {x.shape} is {given}; it is float64 of shape {form}."
        )
    if not np.isfinite(out).all():
        raise LawError(f"{verb} of finite numbers is not finite; data are finite numbers.")
    return np.asarray(out)


def _same(law: str, found: Array, other: Array, magnitude: Any, terms: int, why: str) -> None:
    """Entries that differ by no more than the rounding of sums of so many terms."""
    if found.shape != other.shape:
        raise _fail(law, f"one has shape {found.shape}", f"the other {other.shape}", why)
    off = np.abs(found - other)
    bound = np.broadcast_to(SLACK * (terms + 8) * EPS * np.asarray(magnitude), off.shape)
    wrong = ~(off <= bound)
    if wrong.any():
        at = np.unravel_index(int(np.argmax(np.where(wrong, off, -1.0))), off.shape)
        place = f" at {tuple(int(k) for k in at)}" if off.ndim else ""
        raise _fail(
            law,
            f"one gives {found[at]:.17g}{place}",
            f"the other {other[at]:.17g}, and rounding explains no more than {bound[at]:.2g}",
            why,
        )


def _check_products(s: _Sample) -> None:
    design = s.design
    z, u = _product(design, "matvec", s.x), _product(design, "rmatvec", s.r)
    if not (np.array_equal(z, design.matvec(s.x)) and np.array_equal(u, design.rmatvec(s.r))):
        raise LawError(
            "repeated products: A x or A' r has other bits the second time; a run could not be "
            "repeated."
        )
    size = _length(z) * _length(s.r) + _length(u) * _length(s.x)
    _same(
        "adjointness, <A x, r> = <x, A' r>",
        np.asarray(z @ s.r), np.asarray(s.x @ u), size + _frobenius(s), s.terms,
        "Every step and every certificate rests on it.",
    )  # fmt: skip
    reach = SLACK * _frobenius(s)
    for verb, point, one in (("matvec", s.x, z), ("rmatvec", s.r, u)):
        both = _product(design, verb, np.column_stack((point, -2.0 * point, np.roll(point, 1))))
        why = f"{verb} takes a matrix, too, one column per product."
        _same(f"{verb} of a matrix", both[:, 0], one, reach, s.terms, why)
        why = "A design is a matrix: its products are linear."
        _same(f"{verb} is linear", both[:, 1], -2.0 * one, reach, s.terms, why)
        third = _product(design, verb, point + np.roll(point, 1))
        _same(f"{verb} is linear", one + both[:, 2], third, reach, s.terms, why)


def _frobenius(s: _Sample) -> float:
    """About |A|_F (|x| + |r|): what rounding in products is held against."""
    n, d = s.design.shape
    rows = float(np.square(s.R).sum()) * n / len(s.some_rows)
    columns = float(np.square(s.C).sum()) * d / len(s.some_columns)
    long = _length(s.x) + _length(s.r)
    return float(np.sqrt(max(rows, columns))) * long


def _length(v: Array) -> float:
    """|v|, without squares that leave the range of float64."""
    unit = float(np.abs(v).max()) or 1.0
    return unit * float(np.linalg.norm(v / unit))


def _check_blocks(s: _Sample) -> None:
    design, (n, d) = s.design, s.design.shape
    z, size = np.empty(n), np.empty(n)
    u, reach = np.zeros(d), np.zeros(d)
    for at, block in _blocks(design, max(1, BLOCK // d)):
        z[at], size[at] = block @ s.x, np.abs(block) @ np.abs(s.x)
        u += s.r[at] @ block
        reach += np.abs(s.r[at]) @ np.abs(block)
    why = "Blocks are the rows of the matrix that products are made with."
    _same("matvec against blocks", design.matvec(s.x), z, size, d, why)
    _same("rmatvec against blocks", design.rmatvec(s.r), u, reach, n, why)


def _blocks(design: Design, rows: int) -> Iterator[tuple[slice, Array]]:
    """Those of a design, if they have the form that they should have."""
    (n, d), last = design.shape, 0
    verb: Any = type(design).blocks
    verb = getattr(verb, "__wrapped__", verb)  # as it was written: what is wrong is said here
    for at, block in verb(design, rows):
        length = min(at.stop, n) - at.start
        if at.start != last or length > rows or block.shape != (length, d):
            raise LawError(
                f"blocks({rows}): after row {last} comes a block of shape {block.shape} for the "
                f"rows {at.start} to {at.stop}. Blocks have at most as many rows as were asked "
                "for, one after the other, and all columns."
            )
        if block.dtype != np.float64:
            raise LawError(f"blocks({rows}) are {block.dtype}; they are float64.")
        last = at.stop
        yield at, block
    if last != n:
        raise LawError(f"blocks({rows}) end at row {last} of {n}.")


def _check_entries(s: _Sample) -> None:
    why = "Both are entries of the same matrix."
    one, other = s.R[:, s.some_columns], s.C[s.some_rows]
    lengths = np.sqrt(np.square(s.R).sum(axis=1, keepdims=True))
    _same("entries, (A' e_i)_j = (A e_j)_i", one, other, lengths, 1, why)


def _check_norms(s: _Sample) -> None:
    design, n, d = s.design, *s.design.shape
    why = "Steps and bounds on rounding are made of norms."
    for law, found, other in (
        ("row_norms_sq()", design.row_norms_sq()[s.some_rows], np.square(s.R).sum(axis=1)),
        ("row_norms_sq(weights)", design.row_norms_sq(s.v)[s.some_rows], np.square(s.R) @ s.v),
    ):
        _same(law, found, other, np.abs(other), d, why)
    other = s.w @ np.square(s.C)
    found = design.column_norms_sq(s.w)[s.some_columns]
    _same("column_norms_sq(weights)", found, other, other, n, why)
    found = design.column_sizes(s.some_columns)
    other = np.abs(s.C).max(axis=0)
    _same("column_sizes", found, other, other, 1, why)
    z, u = design.absolute_product(np.abs(s.x), np.abs(s.r))
    other = np.abs(s.R) @ np.abs(s.x)
    _same("absolute_product, |A| x", z[s.some_rows], other, other, d, why)
    other = np.abs(s.r) @ np.abs(s.C)
    _same("absolute_product, |A|' r", u[s.some_columns], other, other, n, why)


def _check_grams(s: _Sample) -> None:
    design, (n, d) = s.design, s.design.shape
    why = "Newton's method solves with it."
    if d <= SMALL:
        G = design.gram(s.w)[np.ix_(s.some_columns, s.some_columns)]
        size = np.abs(s.C).T @ (s.w[:, None] * np.abs(s.C))
        _same("gram(weights)", G, s.C.T @ (s.w[:, None] * s.C), size, n, why)
    if n <= SMALL:
        K = design.outer(s.v)[np.ix_(s.some_rows, s.some_rows)]
        size = (s.v * np.abs(s.R)) @ np.abs(s.R).T
        _same("outer(weights)", K, (s.v * s.R) @ s.R.T, size, d, why)


def _rows_seen(chunk: Chunk, rows: tuple[Array]) -> tuple[tuple[Array], tuple[int]]:
    """Which rows a chunk says that it has; a task of `map_rows`."""
    return (np.arange(chunk.rows.start, chunk.rows.stop) - rows[0],), (chunk.shape[0],)


def _sums(chunk: Chunk, x: Array) -> tuple[float, int]:
    """The sum of A x, and the number of rows; a task of `reduce`."""
    return float(chunk.matvec(x).sum()), chunk.shape[0]


def _check_chunks(design: Design) -> None:
    """Before anything else, for products may be made of chunks."""
    design.cuts.check(design.shape[0])
    why = ROWS_IN_ORDER
    for part in range(design.cuts.partitions):
        wanted = [*design.cuts.chunks(part)]
        given = [(chunk.rows, chunk.shape[0]) for chunk in design.chunks(part)]
        if given != [(at, at.stop - at.start) for at in wanted]:
            raise _fail(f"chunks({part})", f"they are {given}", f"the cuts ask for {wanted}", why)


def _check_tasks(s: _Sample) -> None:
    design, n, why = s.design, s.design.shape[0], ROWS_IN_ORDER
    (off,), (count,) = design.map_rows(_rows_seen, (np.arange(n, dtype=float),))
    if count != n or off.any():
        raise _fail("map_rows", f"{count} rows were seen", f"there are {n}, 0 to {n - 1}", why)
    total, count = design.reduce(_sums, s.x)
    z = design.matvec(s.x)
    size = float(np.abs(z).sum()) + _frobenius(s)
    _same("reduce against matvec", np.asarray(total), np.asarray(z.sum()), size, s.terms, why)
    if count != n:
        raise _fail("reduce", f"{count} rows were seen", f"there are {n}", why)
    why = "Products for one reading are those for two."
    u = design.rmatvec(s.w * z)
    reach = SLACK * (_length(u) + _frobenius(s) * (1.0 + _length(z)))
    made, sums = design.map_rows(there_and_back, (s.w,), s.x, weigh_shifted, 0.0)
    for pair in ((made[0], sums[0]), product_pair(design, (s.w,), s.x, weigh)):
        _same("there_and_back, A x", pair[0], z, SLACK * _frobenius(s), s.terms, why)
        _same("there_and_back, A' r", pair[1], u, reach, s.terms, why)


def _check_parts(s: _Sample) -> None:
    design, (n, d) = s.design, s.design.shape
    why = "Working sets are made of columns."
    gathered = design.columns(s.some_columns)
    part = s.x[s.some_columns]
    size = np.abs(s.C) @ np.abs(part)
    _same("columns(at), B x", gathered.matvec(part), s.C @ part, size, d, why)
    size = np.abs(s.r) @ np.abs(s.C)
    _same("columns(at), B' r", gathered.rmatvec(s.r), s.r @ s.C, size, n, why)
    kept = s.w > 0.0
    why = "Newton's method leaves out rows that do not matter."
    z = design.matvec(s.x)
    found = design.take(kept).matvec(s.x)
    _same("take(rows)", found, z[kept], SLACK * _frobenius(s), s.terms, why)


def _check_rows(s: _Sample) -> None:
    rows, why = s.design.rows(), "Compiled kernels walk these rows."
    out = np.zeros_like(s.R)
    for k, i in enumerate(s.some_rows):
        if rows.dense is not None:
            out[k, : rows.dense.shape[1]] = rows.dense[i]
        else:
            assert rows.data is not None and rows.indices is not None and rows.indptr is not None
            at = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
            np.add.at(out[k], rows.indices[at], rows.data[at])
        if rows.constant:
            out[k, -1] += rows.constant
    _same("rows()", out, s.R, np.abs(s.R) + SLACK * np.abs(out), s.terms, why)


def _check_ledger(s: _Sample) -> None:
    ledger = s.design.ledger
    before = ledger.rows
    s.design.matvec(s.x)
    if not ledger.rows > before:
        raise LawError(
            "ledger: a product has entered nothing in design.ledger, so that readings of the data "
            "would not be known. Leave counts=True out of the class, or enter it."
        )
