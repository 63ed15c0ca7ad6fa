"""What a design is: a data matrix as a set of verbs.

Algorithms see products only and never ask how the data are stored. Everything that comes out is
float64, whatever the data are; float32 data stay float32 in memory and are widened block by
block, so products are accumulated safely and no second copy is made.

Three members are enough for a design of one's own: ``shape`` and ``blocks``, or ``shape``,
``matvec`` and ``rmatvec``. All other verbs follow from these (`_defaults`); what a design can do
faster, it overrides.
"""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dualgap._types import Array, Mask, Places
from dualgap.designs import _defaults as default
from dualgap.designs._counting import enter_what_is_read
from dualgap.designs.chunks import Chunk
from dualgap.designs.columns import Columns
from dualgap.designs.cuts import Cuts, Sums
from dualgap.designs.executors import SERIAL, Executor, RowArrays, RowTask, Task
from dualgap.designs.ledger import Ledger, products
from dualgap.designs.protocols import Rows, Stored
from dualgap.designs.survey import Survey
from dualgap.designs.tasks import Between, there_and_back, weigh, weigh_shifted
from dualgap.designs.threads import current_threads

if TYPE_CHECKING:
    from dualgap.designs.narrow import Narrow

BLOCK_BYTES = 1 << 19
"""A widened block stays in a core's cache."""

SMALL_SQUARE_ROOT = 1e-120
"""Numbers below this have squares that, weighted, may lose digits or vanish."""

BLAS3_GAIN = 5.0
"""How much faster a multiplication is in a product of matrices than with a vector."""


class Design(ABC):
    """A matrix A of n rows (samples) and d columns (features).

    A subclass gives ``shape`` and either ``blocks`` or both ``matvec`` and ``rmatvec``; the rest
    follows from these. `dualgap.check_design` tells whether what it gives is right, and `solve`
    takes it in the place of an array. Algorithms that visit single rows need ``rows``, too.

    Attributes
    ----------
    shape : tuple of int
        (n, d).
    is_sparse : bool
        Whether ``rows`` are sparse: for those who choose between kernels, never for algorithms.
    """

    shape: tuple[int, int]
    is_sparse: bool = False
    holds_rows: bool | None = True
    """Whether arrays with an entry for each row may be made; if not, only sums over rows are. None:
    a problem on these data decides, by the memory there is."""
    fingerprint: str = ""
    """What tells these data from others, such as the size and time of a file; empty: unknown."""
    notes: tuple[str, ...] = ()
    """What a result says of how these data were taken."""
    survey: Survey | None = None
    """What the first reading finds out besides; None where nobody has asked for it (`surveyed`)."""
    dtype: np.dtype[np.float64] = np.dtype(np.float64)
    """The type of all that comes out, whatever that of the data is."""
    parts_are_apart: bool = False
    """Whether partitions can be read each by itself, also by several threads at once."""
    _executor: Executor | None = None

    def __init_subclass__(cls, counts: bool = False, **rest: Any) -> None:
        """``counts``: the class enters in the ledger what it reads; else that is done for it."""
        super().__init_subclass__(**rest)
        if not counts:
            enter_what_is_read(cls)

    def offers(self, verb: str) -> bool:
        """Whether this design has a way of its own to do it."""
        return getattr(type(self), verb) is not getattr(Design, verb)

    @property
    def offers_rows(self) -> bool:
        """Whether there are `rows` for kernels."""
        return self.offers("rows")

    @cached_property
    def ledger(self) -> Ledger:
        """What was read of the data."""
        return Ledger(self.shape[0])

    # ---- products ----

    def matvec(self, x: Array) -> Array:
        """A x; x may be a matrix, one column per product."""
        return default.matvec(self, x)

    def rmatvec(self, r: Array) -> Array:
        """A' r; r may be a matrix, one column per product."""
        return default.rmatvec(self, r)

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Dense float64 blocks of at most ``rows`` consecutive rows, in order, with their place."""
        return default.blocks(self, rows)

    def absolute_product(self, x: Array, r: Array) -> tuple[Array, Array]:
        """|A| x and |A|' r: the products with all entries made positive."""
        return default.absolute_product(self, x, r, block_rows(self.shape[1]))

    # ---- tasks on chunks of rows ----

    @cached_property
    def cuts(self) -> Cuts:
        """Where rows are cut; see `cuts`. Not at all, unless there are blocks."""
        n, d = self.shape
        if not self.offers("blocks"):
            return Cuts.whole(n)
        return Cuts((0, n), min(n, default.CHUNK_BLOCKS * block_rows(d)))

    @property
    def executor(self) -> Executor:
        """Who carries out tasks: who was asked to, or else the threads of the call."""
        if self._executor is not None:
            return self._executor
        return current_threads() if self.parts_are_apart else SERIAL

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"the design {type(self).__name__}"

    def arranged(self, *, cuts: Cuts | None = None, executor: Executor | None = None) -> Self:
        """The same data, cut elsewhere or in other hands.

        Parameters
        ----------
        cuts : Cuts, optional
            They decide on the last bits of sums.
        executor : Executor, optional
            Who carries out tasks; decides on no bit.
        """
        other = copy.copy(self)
        if cuts is not None:
            cuts.check(self.shape[0])
            other.cuts = cuts
        if executor is not None:
            other._executor = executor
        other.ledger = self.ledger
        return other

    def in_use(self) -> AbstractContextManager[None]:
        """While this lasts a design may keep what it then releases."""
        return nullcontext()

    def place_of(self, row: int) -> str:
        """What messages call a row."""
        return f"row {row}"

    def holding(self, rows: bool) -> Design:
        """The same data with their rows held, or not, for who decides on that."""
        other = self.arranged()
        other.holds_rows = rows
        return other

    @property
    def streams(self) -> bool:
        """Whether there are blocks and no products, so that what is wanted at once is read at once.

        Data in memory have products of their own, which are faster than any task.
        """
        return default.by_tasks(self)

    def surveyed(self, weights: Array, *, gram: bool) -> Self:
        """The same data; where they stream, the first reading finds out what is asked of all data.

        Parameters
        ----------
        weights : array of shape (n,)
            Weights >= 0 of the rows, for which norms, means and the Gram matrix are known then.
            They are not written to.
        gram : bool
            Whether the Gram matrix is wanted.
        """
        if not self.streams:
            return self
        other = self.arranged()
        other.survey = Survey(weights, gram)
        return other

    def knows_gram(self, weights: Array) -> bool:
        """Whether `gram` takes no reading beyond the survey."""
        return self.survey is not None and self.survey.knows_gram(weights)

    def gram_comes(self, weights: Array) -> None:
        """Say that `gram` will be asked for, which may then come with whatever is read next."""
        if self.survey is not None and not self.survey.knows_gram(weights):
            self.survey.wanted = weights

    def chunks(self, part: int) -> Iterator[Chunk]:
        """The chunks of a partition, in order, each of which is one reading of its rows."""
        if self.offers("matvec") and not self.cuts.any:
            return iter((Chunk(slice(0, self.shape[0]), self),))
        return default.chunks(self, part, BlockRows)

    @property
    def reads_once(self) -> bool:
        """Whether a task with two products takes one reading of the data and not two."""
        return self.cuts.any or not self.offers("matvec")

    def reduce(self, task: Task[Sums], *args: Any) -> Sums:
        """The sums of ``task(chunk, *args)`` over all chunks of rows.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module. It returns a tuple or NamedTuple of arrays
            and numbers, whose sizes do not depend on the chunk: they are added one by one, in the
            order that `cuts` says.
        *args
            The same for all chunks; the task does not write to them.

        Returns
        -------
        tuple
            Of the kind that the task returns.
        """
        return self.executor.reduce(self, task, args)

    def map_rows(self, task: RowTask[Sums], rows: RowArrays, *args: Any) -> tuple[RowArrays, Sums]:
        """The same where there are arrays with an entry, or a row, for each row of the data.

        The task `tasks.there_and_back` is known to designs, which may have a faster way for it.

        Parameters
        ----------
        task : callable
            ``task(chunk, rows, *args) -> (rows, sums)``, as for `reduce`.
        rows : tuple of array
            Of length n; the task gets those of its chunk, and does not write to them.
        *args
            The same for all chunks.

        Returns
        -------
        rows : tuple of array
            What the task has made of the chunks, put together.
        sums : tuple
            As for `reduce`.
        """
        if task is there_and_back:
            return self._there_and_back(rows, *args)
        return self.executor.map_rows(self, task, rows, args)

    def made_rows(
        self, task: RowTask[Sums], rows: RowArrays, *args: Any, tail: tuple[int, ...] = ()
    ) -> Any:
        """The one array that the task makes in `map_rows`, or what finds it when it is asked for.

        Parameters
        ----------
        task, rows, *args
            As for `map_rows`.
        tail : tuple of int
            The shape of an entry.
        """
        return self.map_rows(task, rows, *args)[0][0]

    def _there_and_back(
        self, rows: RowArrays, x: Array, between: Between, *args: Any
    ) -> tuple[RowArrays, Any]:
        """`tasks.there_and_back`; with `tasks.weigh` it is A' diag(w) A x, which has a name."""
        if between is weigh and x.ndim == 1:
            z, u = self.weighted_sweep(x, rows[0])
            return (z,), (u,)
        return self._swept(rows, x, between, *args)

    def _swept(
        self, rows: RowArrays, x: Array, between: Between, *args: Any
    ) -> tuple[RowArrays, tuple[Any, ...]]:
        """`tasks.there_and_back`, as any other task."""
        if self.reads_once:  # else the whole is one chunk, whose products count themselves
            self.ledger.passes += 2.0 * products(x)
        return default.read(self, there_and_back, rows, x, between, *args)

    def weighted_sweep(self, x: Array, weights: Array, shift: float = 0.0) -> tuple[Array, Array]:
        """z = A x + shift and A' diag(weights) z, for a vector x: what `map_rows` calls."""
        if not shift:
            (z,), (u,) = self._swept((weights,), x, weigh)
            return z, u
        (z,), (u,) = self._swept((weights,), x, weigh_shifted, shift)
        return z + shift, u

    # ---- norms and sizes ----

    @property
    def row_terms(self) -> int:
        """At most so many numbers that are not 0 are added up in a product of a row with x."""
        return self.shape[1]

    @property
    def column_terms(self) -> int:
        """The same for a column."""
        return self.shape[0]

    @property
    def nonzeros(self) -> int:
        """Stored entries: what a product touches."""
        return self.shape[0] * self.shape[1]

    def row_norms_sq(self, weights: Array | None = None) -> Array:
        """sum_j weights_j a_ij^2 for every row; |a_i|^2 without weights."""
        return default.row_norms_sq(self, weights, block_rows(self.shape[1]))

    def column_norms_sq(self, weights: Array) -> Array:
        """sum_i weights_i a_ij^2 for every column."""
        return default.column_norms_sq(self, weights, block_rows(self.shape[1]))

    def column_squares(self) -> Array:
        """sum_i a_ij^2 for every column."""
        return self.column_norms_sq(np.ones(self.shape[0]))

    def column_sizes(self, at: Places) -> Array:
        """max_i |a_ij| of some columns."""
        return default.column_sizes(self, at, block_rows(self.shape[1]))

    @property
    def may_underflow(self) -> bool:
        """Whether squares of entries may be lost; asked only where a column's squares are tiny."""
        return True

    # ---- rows, columns, Gram matrices ----

    def rows(self) -> Rows:
        """The data laid out by rows, for kernels; at most one re-laid copy, kept."""
        raise TypeError(
            f"{type(self).__name__} has no rows(), which algorithms that visit single rows need. "
            "Use a batch algorithm such as 'newton', 'adf-bpd' or 'working-set', or give it one "
            "that returns dualgap.designs.Rows."
        )

    def stored(self, passes: float) -> Stored | None:
        """The data as they lie in memory, for whoever reads all of them once; None if they do not.

        Parameters
        ----------
        passes : float
            What is entered in the ledger for it, beside one reading.
        """
        return None

    def take(self, rows: Mask) -> Design:
        """Some of the rows; a copy, where the data are in memory."""
        return SomeRows(self, rows)  # nothing is known of the memory that there is

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """The columns at these places, gathered.

        Parameters
        ----------
        at : array of int
            Places; of sparse data they ascend.
        constant : float
            If not 0, place d is that of an appended column of this value.
        known : Columns, optional
            Columns gathered before: what they hold need not be read again.
        """
        return default.columns(self, at, constant, known, block_rows(self.shape[1]))

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A, d x d, weights >= 0, accumulated over blocks in a fixed order."""
        return default.gram(self, weights)

    def outer(self, weights: Array) -> Array:
        """A diag(weights) A', n x n, weights >= 0, from pairs of blocks; for few rows."""
        return default.outer(self, weights)

    def gram_multiplications(self, columns: bool) -> float:
        """What `gram` (or `outer`) costs, in multiplications of a product with a vector."""
        n, d = self.shape
        return n * d * min(n, d) / 2.0 / BLAS3_GAIN

    def narrowed(self) -> Narrow | None:
        """Some of these verbs to a few digits, for less; None where there is no such thing."""
        return None


class BlockRows(Design, counts=True):
    """The rows of a block as a design: what a chunk is made of. Whoever has cut it has counted it.

    Parameters
    ----------
    block : array of shape (rows, d)
    """

    def __init__(self, block: Array) -> None:
        self.block, self.shape = block, (block.shape[0], block.shape[1])

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """Some rows after the others."""
        for start in range(0, len(self.block), rows):
            stop = min(start + rows, len(self.block))
            yield slice(start, stop), self.block[start:stop]

    def matvec(self, x: Array) -> Array:
        """A x."""
        return np.asarray(self.block @ x)

    def rmatvec(self, r: Array) -> Array:
        """A' r, along the rows where r is a matrix."""
        return np.asarray((r.T @ self.block).T)


class SomeRows(Design, counts=True):
    """Some rows of a design, not copied: it is read again, and the rest left out.

    Parameters
    ----------
    base : Design
    rows : array of bool
        Which of its rows.
    """

    def __init__(self, base: Design, rows: Mask) -> None:
        self.base, self.kept = base, rows
        self.shape = (int(np.count_nonzero(rows)), base.shape[1])
        self.ledger = base.ledger

    def blocks(self, rows: int) -> Iterator[tuple[slice, Array]]:
        """The base's, without the others."""
        start = 0
        for at, block in self.base.blocks(rows):
            some = block[self.kept[at]]
            if len(some):
                yield slice(start, start + len(some)), some
                start += len(some)


def block_rows(columns: int) -> int:
    """How many rows of ``columns`` float64 values fit a block."""
    return max(1, BLOCK_BYTES // (8 * max(1, columns)))
