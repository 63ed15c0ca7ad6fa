"""Data matrices as sets of verbs, and how a user's data become one.

What is copied: nothing, if the data are float64 or float32, dense in C or Fortran order, or CSR or
CSC. One copy is made of integers and bools (to float64), of other sparse formats (to CSR), of
sparse data with duplicate entries (summed) and of data frames (by their own conversion). Large maps
of integers in files are read block by block (`blocks`), and not copied, and so is what memory does
not spare a copy of. The arrays of sparse data
are looked at first: see `_structure`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap import _validation as check
from dualgap._types import Array, Data
from dualgap.designs._defaults import missing
from dualgap.designs._structure import LARGEST_SIDE, check_structure
from dualgap.designs.blocks import BlockDesign
from dualgap.designs.chunks import Chunk
from dualgap.designs.cluster import RoundFailed, RoundTimeout
from dualgap.designs.collections import is_dask
from dualgap.designs.columns import Columns
from dualgap.designs.contract import Design, block_rows
from dualgap.designs.cuts import Cuts
from dualgap.designs.dask import DaskDesign
from dualgap.designs.dense import DenseDesign
from dualgap.designs.executors import Executor, Serial
from dualgap.designs.files import FileArray, is_mapped
from dualgap.designs.intercept import InterceptDesign
from dualgap.designs.ledger import Ledger
from dualgap.designs.maps import LARGE
from dualgap.designs.observations import Observations
from dualgap.designs.parted import PartedDesign, pays_to_part
from dualgap.designs.parts import over_parts, steps
from dualgap.designs.protocols import (
    ColumnAccess,
    GramAccess,
    Narrowing,
    Products,
    Reduce,
    RowAccess,
    Rows,
    Stored,
)
from dualgap.designs.rotated import RotatedDesign
from dualgap.designs.scaled import ScaledDesign
from dualgap.designs.sparse import SparseDesign, trimmed
from dualgap.designs.threads import Threads
from dualgap.memory import spares

_SAFE = 1e-180
"""Sums of squares beyond this and its inverse call for a closer look."""

__all__ = [
    "LARGEST_SIDE",
    "BlockDesign",
    "Chunk",
    "ColumnAccess",
    "Columns",
    "Cuts",
    "DaskDesign",
    "DenseDesign",
    "Design",
    "Executor",
    "FileArray",
    "GramAccess",
    "InterceptDesign",
    "Ledger",
    "Narrowing",
    "Observations",
    "Products",
    "Reduce",
    "RotatedDesign",
    "RoundFailed",
    "RoundTimeout",
    "RowAccess",
    "Rows",
    "ScaledDesign",
    "Serial",
    "SparseDesign",
    "Stored",
    "Threads",
    "as_design",
    "check_structure",
]


def as_design(A: Data) -> Design:
    """Check a data matrix and wrap it.

    Parameters
    ----------
    A : array, sparse matrix or array, data frame or Design of shape (n, d)
        Real and finite. A `Design` is taken as it is: nothing of it is read here.

    Raises
    ------
    TypeError, ValueError
        With the entry at fault, before any work.
    """
    if isinstance(A, Design):
        return _checked_design(A)
    if is_dask(A):
        return DaskDesign(A)
    if sp.issparse(A):
        A = _checked_sparse(A)
        parted = A.format == "csr" and pays_to_part(A.shape[1], A.nnz)
        kind = PartedDesign if parted else SparseDesign
        return kind(A, Ledger(A.shape[0], rows=A.shape[0]))
    if hasattr(A, "to_numpy"):
        A = A.to_numpy()
    if isinstance(A, type) or any(hasattr(A, verb) for verb in ("matvec", "rmatvec", "blocks")):
        raise TypeError(_no_design(A))
    return _checked_dense(A)


def _shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        hint = " Use A.reshape(-1, 1) for a single feature." if len(shape) == 1 else ""
        raise ValueError(f"A must have two dimensions (rows, features), got shape {shape}.{hint}")
    if 0 in shape:
        raise ValueError(f"A is empty: shape {shape}. At least one row and one feature are needed.")


def _no_design(A: Any) -> str:
    """The sentence on what has verbs of a design and is none, or is a class."""
    if isinstance(A, type):
        return f"A is the class {A.__name__}; give a value, {A.__name__}(...)."
    name, enough = type(A).__name__, hasattr(A, "blocks")
    verbs = [verb for verb in ("matvec", "rmatvec") if not (enough or hasattr(A, verb))]
    lacks = f" It lacks {' and '.join(verbs)}, which every algorithm needs." if verbs else ""
    return (
        f"A must be a matrix or a design, and {name} does not derive from dualgap.designs.Design. "
        f"Derive it: a design has a shape and either blocks(rows) or both matvec(x) and "
        f"rmatvec(r).{lacks}"
    )


def _checked_design(design: Design) -> Design:
    """What can be told of it without reading it."""
    shape = getattr(design, "shape", None)
    if not (isinstance(shape, tuple) and all(isinstance(side, int | np.integer) for side in shape)):
        raise TypeError(f"shape of a design is a tuple of two integers (n, d), got {shape!r}.")
    _shape(shape)
    if not design.offers("blocks"):
        lacking = [verb for verb in ("matvec", "rmatvec") if not design.offers(verb)]
        if lacking:
            raise missing(design, *lacking)
    return design


def _checked_dense(values: Any) -> Design:
    """In one reading, which also gives the squared norms of columns, and of the longest row."""
    A = check.numeric("A", values)
    _shape(A.shape)
    if A.dtype not in (np.float64, np.float32) or not A.dtype.isnative:
        mapped = is_mapped(A) and A.flags.c_contiguous and 8 * A.size >= LARGE
        if mapped or not spares(8.0 * A.size):
            return BlockDesign(A)
        A = A.astype(np.float64)
    if not (A.flags.c_contiguous or A.flags.f_contiguous):
        if not spares(float(A.nbytes)):
            return BlockDesign(A)
        A = np.ascontiguousarray(A)
    walked = A if A.flags.c_contiguous else A.T
    along, step = np.empty(walked.shape[0]), block_rows(walked.shape[1])
    ones = np.ones(walked.shape[1])

    def work(start: int, stop: int) -> tuple[Array]:
        across, room = np.zeros(walked.shape[1]), np.empty((min(step, stop - start), ones.size))
        for at in steps(start, stop, step):
            block = walked[at]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                squares = np.square(block, out=room[: len(block)], dtype=np.float64)
                sums = np.matmul(squares, ones, out=along[at])
                across += np.ones(len(block)) @ squares
            if not np.isfinite(sums.sum()):
                _name_entry(A)
        return (across,)

    (across,) = over_parts(DenseDesign(A).cuts if walked is A else Cuts.whole(len(walked)), work)
    if not _SAFE < along.max() < 1.0 / _SAFE:  # squares may have left the range of float64
        check.scale("A", max(float(A.max()), -float(A.min())))
    by_row, by_column = (along, across) if walked is A else (across, along)
    return DenseDesign(A, float(by_row.max()), by_column, Ledger(len(A), rows=len(A)))


def _name_entry(A: np.ndarray[Any, Any]) -> None:
    for i in range(A.shape[0]):
        bad = ~np.isfinite(A[i])
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"A is not finite: A[{i}, {j}] = {A[i, j]}. Drop or impute missing values first."
            )


def _checked_sparse(A: Any) -> Any:
    _shape(A.shape)
    check_structure("A", A)
    if A.format in ("lil", "dok"):  # whose values are no array
        A = A.tocsr()
    check.numeric("A", A.data)
    if A.format not in ("csr", "csc"):
        A = A.tocsr()
    if A.data.size > A.nnz:  # entries set aside, which mean nothing
        A = trimmed(A)
    if A.dtype not in (np.float64, np.float32):
        A = A.astype(np.float64)
    if not A.has_canonical_format:  # norms and Gram matrices must see each entry once
        A = A.copy()
        A.sum_duplicates()
    if A.nnz:
        top = max(float(A.data.max()), -float(A.data.min()))
        if not np.isfinite(top):
            C = A.tocoo()
            k = int(np.flatnonzero(~np.isfinite(C.data))[0])
            raise ValueError(
                f"A is not finite: A[{C.row[k]}, {C.col[k]}] = {C.data[k]}. "
                "Drop or impute missing values first."
            )
        check.scale("A", top)
    return A
