"""Where the rows of a `BlockDesign` come from: arrays in memory, and in files.

A source gives some consecutive rows as float64, dense or as CSR. Narrower numbers are widened and
integers converted there, so that no copy of all of them is ever made.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array
from dualgap.designs.files import FileArray, Stored, Watched, mark_of
from dualgap.designs.sparse import on_arrays

Sequence = Stored | FileArray | Watched
"""What has a dtype, a shape and slices of its first axis."""


class RowSource(Protocol):
    """Rows that can be read in any order, also by several threads at once."""

    shape: tuple[int, int]
    nbytes: int
    """How many bytes one reading of all rows reads."""

    def rows(self, start: int, stop: int) -> Any:
        """Some rows as float64: an array in C order, or a CSR matrix."""


class DenseSource:
    """Rows of a matrix.

    Parameters
    ----------
    A : array or FileArray of shape (n, d)
        Of real numbers of any kind.
    """

    def __init__(self, A: Sequence) -> None:
        self.A = A
        self.shape = (int(A.shape[0]), int(A.shape[1]))
        self.nbytes = self.shape[0] * self.shape[1] * A.dtype.itemsize

    def __sizeof__(self) -> int:
        """What dask takes a block to weigh."""
        return self.nbytes

    @property
    def mark(self) -> str:
        """Of its file."""
        return mark_of(self.A)

    def rows(self, start: int, stop: int) -> Array:
        """As they are where they are float64 already."""
        return np.ascontiguousarray(self.A[start:stop], dtype=np.float64)


class SparseSource:
    """Rows of a matrix in compressed rows.

    What compiled code takes on trust, places within the shape and each entry once, is looked at
    where a row is read for the first time.

    Parameters
    ----------
    data, indices, indptr : array or FileArray
        As in scipy's CSR format.
    shape : tuple of int
    """

    def __init__(
        self, data: Sequence, indices: Sequence, indptr: Sequence, shape: tuple[int, int]
    ) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self.nonzeros = len(data)
        entry = data.dtype.itemsize + indices.dtype.itemsize
        self.nbytes = self.nonzeros * entry + len(indptr) * indptr.dtype.itemsize
        self._seen: dict[tuple[int, int], bool] = {}
        """Rows that were looked at, and whether each of their entries is there once, in order."""

    def __sizeof__(self) -> int:
        """What dask takes a block to weigh."""
        return self.nbytes

    @property
    def mark(self) -> str:
        """Of its files."""
        return ";".join(mark_of(part) for part in (self.data, self.indices, self.indptr))

    def rows(self, start: int, stop: int) -> Any:
        """As CSR on the arrays of the source, where these need no conversion."""
        pointers = np.asarray(self.indptr[start : stop + 1])
        key = (start, stop)
        self._check_pointers(start, pointers)
        low, high = int(pointers[0]), int(pointers[-1])
        indices = self.indices[low:high]
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        data = np.ascontiguousarray(self.data[low:high], dtype=np.float64)
        local = (pointers - low).astype(indices.dtype)
        if key not in self._seen:
            self._check_places(low, indices)
        out = on_arrays(sp.csr_array, (stop - start, self.shape[1]), (data, indices, local))
        if key not in self._seen:
            self._seen[key] = bool(out.has_canonical_format)
        if not self._seen[key]:
            out = out.copy()
            out.sum_duplicates()
        out.has_canonical_format = True
        return out

    def entries(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """How many entries each of these rows has."""
        return np.diff(np.asarray(self.indptr[start : stop + 1]))

    def _check_pointers(self, start: int, pointers: np.ndarray[Any, Any]) -> None:
        falls = np.flatnonzero(pointers[1:] < pointers[:-1])
        if falls.size:
            row = start + int(falls[0])
            raise ValueError(f"indptr falls at row {row}; the data are no compressed rows.")
        if pointers[0] < 0 or pointers[-1] > self.nonzeros:
            raise ValueError(
                f"indptr points to entry {int(pointers[-1])} after row {start}, and there are "
                f"{self.nonzeros} entries."
            )

    def _check_places(self, low: int, indices: np.ndarray[Any, Any]) -> None:
        unsigned = indices.view(f"u{indices.itemsize}")  # negative ones become the largest
        if indices.size and int(unsigned.max()) >= self.shape[1]:
            at = int(unsigned.argmax())
            raise ValueError(
                f"indices[{low + at}] = {int(indices[at])}, but columns are numbered 0 to "
                f"{self.shape[1] - 1}."
            )
