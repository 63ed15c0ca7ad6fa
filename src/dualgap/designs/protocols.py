"""What a design may offer, as small protocols: algorithms need some of them, and most need few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dualgap._types import Array, Places
from dualgap.designs.columns import Columns
from dualgap.designs.cuts import Sums
from dualgap.designs.executors import RowArrays, RowTask, Task

if TYPE_CHECKING:
    from dualgap.designs.narrow import Narrow


class Rows(NamedTuple):
    """Row access for compiled kernels: a C-ordered matrix, or the three arrays of CSR."""

    dense: np.ndarray[Any, Any] | None
    data: np.ndarray[Any, Any] | None
    indices: np.ndarray[Any, Any] | None
    indptr: np.ndarray[Any, Any] | None
    constant: float
    """The value of an appended constant column, 0 if there is none."""


class Stored(NamedTuple):
    """The data as they lie in memory, float64 or float32, not to be written to."""

    dense: np.ndarray[Any, Any] | None
    """A matrix in C or Fortran order, or else None."""
    sparse: Any
    """A scipy matrix, CSR or CSC; None of dense data."""


@runtime_checkable
class Products(Protocol):
    """Enough for the batch algorithms of the paper."""

    shape: tuple[int, int]

    def matvec(self, x: Array) -> Array:
        """A x; x may be a matrix, one column per product."""

    def rmatvec(self, r: Array) -> Array:
        """A' r; r may be a matrix, one column per product."""


@runtime_checkable
class Reduce(Protocol):
    """One verb for whatever reads rows."""

    def reduce(self, task: Task[Sums], *args: Any) -> Sums:
        """The sums of task(chunk, *args) over all chunks."""

    def map_rows(self, task: RowTask[Sums], rows: RowArrays, *args: Any) -> tuple[RowArrays, Sums]:
        """The sums, and rows that the task makes, where arrays have an entry for each row."""


@runtime_checkable
class RowAccess(Protocol):
    """What compiled kernels ask for that visit one row after the other."""

    def rows(self) -> Rows:
        """The data laid out by rows."""


@runtime_checkable
class ColumnAccess(Protocol):
    """What working sets ask for."""

    def columns(self, at: Places, constant: float = 0.0, known: Columns | None = None) -> Columns:
        """The columns at these places, gathered."""


@runtime_checkable
class GramAccess(Protocol):
    """What factorisations ask for."""

    def gram(self, weights: Array) -> Array:
        """A' diag(weights) A."""

    def outer(self, weights: Array) -> Array:
        """A diag(weights) A'."""


@runtime_checkable
class Narrowing(Protocol):
    """What is asked for by products that need a few digits only."""

    def narrowed(self) -> Narrow | None:
        """Some of these verbs to a few digits, for less; None where there is no such thing."""
