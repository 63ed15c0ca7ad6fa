"""Reading all of a folder: whether its sums are right, and its numbers finite."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.datasets._errors import DataError
from dualgap.datasets.folders.arrays import file_array
from dualgap.datasets.folders.manifest import Manifest
from dualgap.designs.files import FileArray

PIECE = 1 << 23
"""Bytes that are read at a time."""


def check_folder(folder: Path, manifest: Manifest) -> None:
    """Raise for the first thing that is wrong, numbers first: they say where it is."""
    arrays = {name: file_array(folder, entry) for name, entry in manifest.arrays.items()}
    for name, array in arrays.items():
        digest = hashlib.sha256()
        step = max(1, PIECE // max(1, array.nbytes // max(1, len(array))))
        before = 0
        for start in range(0, len(array), step):
            piece = array[start : start + step]
            digest.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
            _check_finite(manifest, arrays, name, start, piece)
            if name == "indptr":
                before = _check_pointers(array, start, piece, before, len(arrays["data"]))
            elif name == "indices":
                _check_places(manifest, arrays, start, piece)
            elif name == "weights" and piece.min() < 0.0:
                raise DataError(f"{array.path}: weights must not be negative.")
        if digest.hexdigest() != manifest.arrays[name].sha256:
            raise DataError(
                f"{array.path}: its sha256 is {digest.hexdigest()}, and the manifest says "
                f"{manifest.arrays[name].sha256}. Its numbers are not those that were written."
            )


def _row_of(arrays: dict[str, FileArray], name: str, at: int) -> int:
    """The row that an entry of the first axis belongs to."""
    if name not in ("data", "indices"):
        return at
    return int(np.searchsorted(np.asarray(arrays["indptr"]), at, side="right")) - 1


def _place(manifest: Manifest, row: int) -> str:
    return f"in chunk {row // manifest.rows_per_chunk}, row {row}"


def _check_finite(
    manifest: Manifest, arrays: dict[str, FileArray], name: str, start: int, piece: Any
) -> None:
    if piece.dtype.kind != "f":
        return
    bad = ~np.isfinite(piece)
    if bad.any():
        place = [int(k) for k in np.argwhere(bad)[0]]
        row = _row_of(arrays, name, start + place[0])
        column = f", column {place[1]}" if len(place) > 1 else ""
        raise DataError(
            f"{arrays[name].path} is not finite {_place(manifest, row)}{column}: "
            f"{piece[tuple(place)]}. Drop or impute missing values before the data are converted."
        )


def _check_pointers(array: FileArray, start: int, piece: Any, before: int, entries: int) -> int:
    values = np.concatenate(([before], piece.astype(np.int64)))
    falls = np.flatnonzero(values[1:] < values[:-1])
    if falls.size:
        raise DataError(f"{array.path} falls at row {start + int(falls[0]) - 1}.")
    if start == 0 and piece[0] != 0:
        raise DataError(f"{array.path} begins with {int(piece[0])}, not with 0.")
    last = int(piece[-1])
    if last > entries or (start + len(piece) == len(array) and last != entries):
        raise DataError(f"{array.path} ends with {last}, and there are {entries} entries.")
    return last


def _check_places(manifest: Manifest, arrays: dict[str, FileArray], start: int, piece: Any) -> None:
    bad = np.flatnonzero((piece < 0) | (piece >= manifest.columns))
    if bad.size:
        at = int(bad[0])
        row = _row_of(arrays, "indices", start + at)
        raise DataError(
            f"{arrays['indices'].path} has column {int(piece[at])} {_place(manifest, row)}; "
            f"columns are numbered 0 to {manifest.columns - 1}."
        )
