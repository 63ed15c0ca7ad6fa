"""A reading of data whose rows are not held, and what it says: sums, divided by W."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.designs import Design
from dualgap.designs.chunks import Chunk
from dualgap.designs.executors import sum_rows
from dualgap.designs.survey import not_finite
from dualgap.objective.separability import is_small, rays
from dualgap.problem import Problem
from dualgap.streamed.first_look import Form
from dualgap.streamed.pieces import framed, piece_of
from dualgap.streamed.rows import Rows
from dualgap.streamed.sums import Ask, Setting, look

NOTHING = np.empty(0)
"""What was not asked for."""
NO_MASSES = np.zeros(4)
WIDE_BYTES = 1 << 25
"""The most bytes of a chunk that is longer for the sake of a matrix."""


class Look(NamedTuple):
    """What a reading has found at x; see `sums.Sums`, of which these are the means."""

    mean_loss: float
    u: Array
    """A'Qy, the gradient of the mean loss."""
    parts: Array = NOTHING
    masses: Array = NO_MASSES
    trials: Array = NOTHING
    conj: float = 0.0
    gram: Array = NOTHING
    products: Array = NOTHING
    border: Array = NOTHING
    diagonal: Array = NOTHING
    level: float = 0.0
    damping: float = 0.0
    """The share of its bound by which phi'' was raised."""
    wrong: int = 1
    """Rows on the wrong side; 1 where nobody has counted."""


def rows(problem: Problem) -> Rows:
    """What belongs to the rows of a problem that does not hold them."""
    assert problem.streamed is not None
    return problem.streamed


def read(problem: Problem, ask: Ask) -> Look:
    """One reading.

    Parameters
    ----------
    problem : Problem
        Whose rows are not held.
    ask : Ask
        The first reading of the data finds the lengths of columns besides.
    """
    known = problem.constants.knows_columns
    if not known:
        ask = ask._replace(norms=True)
    # Where nothing is penalised there may be no minimiser.
    ask = ask._replace(margins=bool(problem.regularizer.free.all()))
    kept, base = rows(problem), problem.base
    setting = Setting(problem.loss, kept.form, problem.fit_intercept, problem.outputs)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        cut = _cut_for(base, ask)
        sums = sum_rows(cut.executor, cut, look, kept.arrays, (ask, setting))
    base.ledger.passes += 1.0
    W = kept.known.total
    if not known:
        squares = np.asarray(sums.squares)
        if not np.isfinite(squares).all():
            raise not_finite(base, squares[: problem.d])
        problem.constants.learn(squares / W, np.asarray(sums.means) / W)
    gram: Any = sums.gram
    if isinstance(gram, np.ndarray):
        gram = mirrored(gram) / W if gram.ndim == 2 else by_class(gram) / W
    trials, u, parts, masses = (
        np.asarray(part) / W for part in (sums.trials, sums.u, sums.parts, sums.masses)
    )
    products, border, diagonal = (
        np.asarray(part) / W for part in (sums.products, sums.border, sums.diagonal)
    )
    return Look(
        mean_loss=sums.value / W, u=u, parts=parts, masses=masses, trials=trials,
        conj=sums.conj / W, gram=np.asarray(gram), products=products, border=border,
        diagonal=diagonal, level=sums.level / W, damping=ask.damping,
        wrong=sums.wrong if ask.margins else 1,
    )  # fmt: skip


def _cut_for(base: Design, ask: Ask) -> Design:
    """The data in chunks of as many rows as a matrix has columns, where one is wanted.

    Adding up the matrices of shorter chunks would cost more than making them.
    """
    n, d = base.shape
    side = 0 if ask.gram is None else ask.gram.size
    most = side if base.is_sparse else min(side, WIDE_BYTES // (8 * d))
    rows = min(most, n)
    return base.arranged(cuts=base.cuts._replace(rows=rows)) if rows > base.cuts.rows else base


def value_at(problem: Problem, x: Array) -> float:
    """P(x), for a reading."""
    found = read(problem, Ask(x, slopes=False)).mean_loss
    return found + problem.regularizer.value(x)


def separates(problem: Problem, x: Array) -> bool:
    """Whether the ray of x is proved to lower P for ever, for a reading."""
    kept = rows(problem)
    exact = is_small(problem.n, problem.size)
    base, args = problem.base, (framed(problem), x, kept.form, exact)
    found = sum_rows(base.executor, base, rays_of, kept.arrays, args)
    return not found[0] and bool(found[1])


def rays_of(
    chunk: Chunk, some: tuple[Array, ...], frame: Problem, x: Array, form: Form, exact: bool
) -> tuple[tuple[()], tuple[int, int]]:
    """`separability.rays` of a chunk: a task for `Design.map_rows` that makes no rows."""
    return (), rays(piece_of(chunk, some, frame, form), x, exact=exact)


def mirrored(H: Array) -> Array:
    """A matrix of which the lower triangle is known."""
    out = np.tril(H)
    out += np.tril(H, -1).T
    return out


def by_class(H: Array) -> Array:
    """(K, side, K, side) as a matrix of the coordinates (side, K) in their order."""
    K, side = H.shape[:2]
    return np.ascontiguousarray(H.transpose(1, 0, 3, 2).reshape(side * K, side * K))
