"""numpy's npz archives: of their members, those that are needed, and no more of them than fits."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.datasets._errors import DataError
from dualgap.datasets._limits import check_expansion, checked_bytes
from dualgap.designs import check_structure

PARTS = ("data", "indices", "indptr", "shape")
MATRICES = {"csr": sp.csr_array, "csc": sp.csc_array}
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
PIECE = 1 << 20
SINGLE_ARRAY = b"\x93NUMPY"


def load_npz(path: str | Path, *, max_bytes: int | None = None) -> tuple[Any, Array]:
    """Read arrays ``A`` and ``b`` (or ``X`` and ``y``) from an npz archive; objects are refused.

    A sparse matrix is stored as `scipy.sparse.save_npz` does it: ``data``, ``indices``, ``indptr``,
    ``shape`` and ``format`` (``"csr"``, which is the default, or ``"csc"``) in place of ``A``.
    Nothing else in the archive is read.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int, optional
        Bytes that its compressed arrays may hold; by default 64 MiB, or 100 times their own size.

    Returns
    -------
    A, b : array or sparse array of shape (n, d), array of shape (n,)
    """
    max_bytes = checked_bytes(max_bytes)
    try:
        with open(path, "rb") as file:
            if file.read(len(SINGLE_ARRAY)) == SINGLE_ARRAY:
                raise ValueError("it holds a single array.")
            with zipfile.ZipFile(file) as archive:
                return _Archive(str(path), archive, max_bytes).data()
    except (DataError, MemoryError):
        raise
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} cannot be read as an npz archive: {reason}.") from None
    except Exception as error:
        # zipfile and the decompressors raise whatever comes first for a damaged or encrypted
        # archive: RuntimeError, NotImplementedError, struct.error, zlib.error, ...
        raise DataError(f"{path} cannot be read as an npz archive: {error}") from None


class _Archive:
    """The members of an open archive."""

    def __init__(self, name: str, archive: zipfile.ZipFile, max_bytes: int | None) -> None:
        self.name, self.archive, self.max_bytes = name, archive, max_bytes
        self.members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        self.held = self.compressed = 0

    def data(self) -> tuple[Any, Array]:
        """A and b, checked."""
        b = self._first("b", "y")
        try:
            A = self._matrix()
            n = A.shape[0]
            return A, check.vector("b", self._read(b), n, what="row of A")
        except (TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.name}: {error}") from None

    def _first(self, *names: str) -> str:
        known = next((name for name in names if name in self.members), None)
        if known is None:
            held = ", ".join(self.members) or "nothing"
            raise DataError(f"{self.name} has no array {' (or '.join(names)}); it has {held}.")
        return known

    def _matrix(self) -> Any:
        if not self.members.keys() & {"A", "X"} and self.members.keys() >= set(PARTS):
            return self._sparse()
        A = check.numeric("A", self._read(self._first("A", "X")))
        if A.ndim != 2:
            raise DataError(f"{self.name}: A must have two dimensions, got shape {A.shape}.")
        return A

    def _sparse(self) -> Any:
        """The format tells compressed rows from columns; of a square matrix nothing else does."""
        kind = _text(self._read("format")) if "format" in self.members else "csr"
        if kind not in MATRICES:
            raise DataError(
                f"{self.name} holds a sparse matrix of the format {kind!r}; save it as A.tocsr()."
            )
        data, indices, indptr, shape = (self._read(name) for name in PARTS)
        for name, places in (("indices", indices), ("indptr", indptr), ("shape", shape)):
            if places.ndim != 1 or places.dtype.kind not in "iu":
                raise ValueError(f"{name} is no vector of integers.")
        if shape.size != 2:
            raise ValueError(f"shape has {shape.size} entries, not 2.")
        check.numeric("data", data)
        A = MATRICES[kind]((data, indices, indptr), shape=tuple(shape.tolist()))
        check_structure("A", A)
        return A

    def _read(self, name: str) -> np.ndarray[Any, Any]:
        """A member, after its size is known and found to be right."""
        info = self.members[name]
        if info.compress_type != zipfile.ZIP_STORED:
            self.held += info.file_size
            self.compressed += info.compress_size
            check_expansion(self.name, self.held, self.compressed, self.max_bytes)
        with self.archive.open(info) as stream:
            version = np.lib.format.read_magic(stream)
            if version not in HEADERS:
                raise ValueError(f"{name} has the version {version} of numpy's format")
            shape, fortran_order, dtype = HEADERS[version](stream)
            if dtype.hasobject:
                raise ValueError(f"{name} holds objects, which are never loaded.")
            expected = math.prod(shape) * dtype.itemsize
            left = info.file_size - stream.tell()
            if expected != left:
                raise ValueError(f"{name} should have {expected} bytes and has {left}.")
            values = np.empty(math.prod(shape), dtype=dtype)
            _fill(values.view(np.uint8), stream, name)
        return values.reshape(shape, order="F" if fortran_order else "C")


def _fill(room: np.ndarray[Any, Any], stream: Any, name: str) -> None:
    """Read piece by piece into an array of bytes."""
    at = 0
    while at < room.size:
        got = stream.readinto(room[at : at + PIECE].data)
        if not got:
            raise ValueError(f"{name} breaks off after {at} of {room.size} bytes.")
        at += got


def _text(array: np.ndarray[Any, Any]) -> str:
    """The one string in an array; scipy writes bytes."""
    value = array.item()
    return value.decode("ascii") if isinstance(value, bytes) else str(value)
