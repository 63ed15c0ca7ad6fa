"""What compiled code takes on trust of a sparse matrix: that its places are within its shape.

scipy checks neither arrays that were assigned to a matrix nor, for speed, most of those that one is
made of; a place outside the shape makes its C code, and ours, read and write foreign memory. Each
check reads the places once, at the speed of memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

AXES = {"csr": ("row", "column"), "csc": ("column", "row"), "bsr": ("block row", "block column")}
"""What is counted by indptr, and by indices."""
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
LARGEST_SIDE = 2**31 - 1
"""The longest vector that the linear algebra libraries take: their lengths are 32-bit numbers."""


def check_structure(argument: str, A: Any) -> None:
    """Refuse a sparse matrix whose arrays do not fit together, before compiled code sees it.

    Parameters
    ----------
    argument : str
        What the message calls it.
    A : sparse matrix or array
        In any of scipy's formats.

    Raises
    ------
    TypeError, ValueError
        With the entry at fault.
    """
    if len(A.shape) != 2:
        return  # refused by whoever asks for rows and columns
    check_sides(argument, A.shape)
    try:
        if A.format in AXES:
            _check_compressed(A)
        elif A.format == "coo":
            _check_coordinates(A)
        elif A.format == "dia":
            _check_diagonals(A)
        elif A.format == "lil":
            _check_lists(A)
    except _Fault as fault:
        raise fault.kind(
            f"{argument} is no valid {A.format.upper()} matrix: {fault}. Make it anew from its "
            "entries, for instance by scipy.sparse.coo_array((values, (rows, columns)), shape)."
        ) from None


def check_sides(argument: str, shape: tuple[int, ...]) -> None:
    """Refuse a matrix that no vector fits: there is one of each length in every solve."""
    if max(shape) > LARGEST_SIDE:
        raise ValueError(
            f"{argument} has shape {tuple(map(int, shape))}; at most {LARGEST_SIDE} rows and "
            "columns can be handled. Leave out the columns without entries, or number "
            "(hash) the features into fewer columns."
        )


class _Fault(Exception):
    """What is wrong, and the error that it is."""

    def __init__(self, problem: str, kind: type[Exception] = ValueError) -> None:
        super().__init__(problem)
        self.kind = kind


def _places(name: str, array: Any) -> np.ndarray[Any, Any]:
    """A vector of 32- or 64-bit integers."""
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise _Fault(f"{name} is no vector but {_described(array)}", TypeError)
    if array.dtype not in INDEX_TYPES:
        raise _Fault(f"{name} has dtype {array.dtype}, not int32 or int64", TypeError)
    return array


def _described(array: Any) -> str:
    if isinstance(array, np.ndarray):
        return f"an array of shape {array.shape}"
    return f"of type {type(array).__name__}"


def _within(name: str, array: Any, size: int, what: str) -> None:
    """0 <= array < size, in one reading: as unsigned numbers, the negative ones are the largest."""
    places = _places(name, array)
    unsigned = places.view(f"u{places.itemsize}")
    if places.size and int(unsigned.max()) >= size:
        at = int(unsigned.argmax())
        raise _Fault(f"{name}[{at}] = {places[at]}, but {what}s are numbered 0 to {size - 1}")


def _same_length(name: str, array: Any, length: int, other: str, dimensions: int = 1) -> None:
    if not isinstance(array, np.ndarray) or array.ndim != dimensions:
        raise _Fault(f"{name} is {_described(array)}, not of {dimensions} dimension(s)", TypeError)
    if array.shape[0] != length:
        raise _Fault(f"{name} has {array.shape[0]} entries, and {other} has {length}")


def _check_compressed(A: Any) -> None:
    """indptr = (0, ascending, at most the number of entries); indices within the other axis."""
    counted, placed = AXES[A.format]
    major, minor = (A.shape[1], A.shape[0]) if A.format == "csc" else A.shape
    indptr, indices = _places("indptr", A.indptr), _places("indices", A.indices)
    _same_length("data", A.data, indices.size, "indices", 3 if A.format == "bsr" else 1)
    if A.format == "bsr":
        high, wide = A.data.shape[1:]
        if min(high, wide) < 1 or major % high or minor % wide:
            raise _Fault(f"blocks of shape {(high, wide)} do not divide the shape {A.shape}")
        major, minor = major // high, minor // wide
    if indptr.size != major + 1:
        raise _Fault(f"indptr has {indptr.size} entries, not {major + 1}, for {major} {counted}s")
    if indptr[0] != 0:
        raise _Fault(f"indptr[0] = {indptr[0]}, not 0")
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        at = int(falls.argmax())
        raise _Fault(f"indptr falls, from {indptr[at]} to {indptr[at + 1]} at {counted} {at}")
    if indptr[-1] > indices.size:
        raise _Fault(f"indptr ends with {indptr[-1]}, and indices has {indices.size} entries")
    _within("indices", indices[: indptr[-1]], minor, placed)


def _check_coordinates(A: Any) -> None:
    _within("row", A.row, A.shape[0], "row")
    _within("col", A.col, A.shape[1], "column")
    _same_length("col", A.col, A.row.size, "row")
    _same_length("data", A.data, A.row.size, "row")


def _check_diagonals(A: Any) -> None:
    _same_length("data", A.data, _places("offsets", A.offsets).size, "offsets", 2)


def _check_lists(A: Any) -> None:
    """As many values as columns in every row, and each column within the shape."""
    d = A.shape[1]
    for name, lists in (("rows", A.rows), ("data", A.data)):
        _same_length(name, lists, A.shape[0], "the shape")
    for i, (columns, values) in enumerate(zip(A.rows, A.data, strict=True)):
        if len(columns) != len(values):
            raise _Fault(f"row {i} has {len(columns)} columns and {len(values)} values")
        if columns and not 0 <= min(columns) <= max(columns) < d:
            raise _Fault(f"row {i} has the columns {columns}, which are numbered 0 to {d - 1}")
