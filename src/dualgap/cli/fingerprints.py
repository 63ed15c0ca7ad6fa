"""Hashes of data, by which `certify` tells other data; they prove nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array
from dualgap.datasets.clusters import is_spread
from dualgap.datasets.folders.manifest import is_folder, read_manifest
from dualgap.designs import Design

BY_MANIFEST = "folder-sha256:"
"""What the fingerprint of a folder begins with that is made of the sums in its manifest."""

BY_FOOTERS = "parquet-sha256:"
"""The same of Parquet files, by what their last bytes say of their columns."""


def fingerprint(A: Any, b: Array) -> str:
    """A hash of the numbers, whatever form they are stored in."""
    if isinstance(A, Design):
        return _fingerprint_of_rows(A, b)
    matrix = sp.csr_array(A, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    digest = hashlib.sha256(repr(matrix.shape).encode())
    for array in (matrix.indptr, matrix.indices):
        digest.update(np.asarray(array, dtype="<i8").tobytes())
    for values in (matrix.data, b):
        digest.update(np.asarray(values, dtype="<f8").tobytes())
    return f"sha256:{digest.hexdigest()}"


def _fingerprint_of_rows(A: Design, b: Array) -> str:
    """The same of data that stay on disk, in three readings: pointers come first, and values last.

    No more than a chunk is held, and what each row holds is counted from the one before.
    """
    digest = hashlib.sha256(repr(A.shape).encode())
    entries = 0
    digest.update(np.zeros(1, dtype="<i8").tobytes())
    for rows in _rows(A):
        digest.update((entries + rows.indptr[1:]).astype("<i8").tobytes())
        entries += rows.nnz
    for rows in _rows(A):
        digest.update(rows.indices.astype("<i8").tobytes())
    for rows in _rows(A):
        digest.update(rows.data.astype("<f8").tobytes())
    digest.update(np.asarray(b, dtype="<f8").tobytes())
    return f"sha256:{digest.hexdigest()}"


def _rows(A: Design) -> Iterator[Any]:
    """Chunk by chunk, without zeros."""
    for part in range(A.cuts.partitions):
        for chunk in A.chunks(part):
            rows = sp.csr_array(chunk.dense() if chunk.sparse is None else chunk.sparse, copy=True)
            rows.eliminate_zeros()
            rows.indptr = rows.indptr.astype(np.int64)
            yield rows


def manifest_fingerprint(folder: Path) -> str:
    """Of a folder by the sums that its manifest gives, without a reading.

    Opening a folder does not check these sums; `dualgap check` does.
    """
    manifest = read_manifest(folder)
    said = [f"{manifest.rows} x {manifest.columns}"]
    said += [f"{name} {entry.dtype.str} {entry.sha256}" for name, entry in manifest.arrays.items()]
    return BY_MANIFEST + hashlib.sha256("\n".join(said).encode()).hexdigest()


def footers_fingerprint(source: str) -> str:
    """Of Parquet files by their footers: kinds, places, and often ranges, of all their columns.

    Files with the same footers and other numbers are not told apart.
    """
    folder, digest = Path(source), hashlib.sha256()
    found = folder.glob("*.parquet") if folder.is_dir() else map(Path, glob(source))
    for path in sorted(found):
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - length, os.SEEK_END)
            digest.update(file.read(length))
    return BY_FOOTERS + digest.hexdigest()


def mark_of(source: str) -> str:
    """The fingerprint of data that are not read for it."""
    folder = Path(source)
    return manifest_fingerprint(folder) if is_folder(folder) else footers_fingerprint(source)


def is_of(known: str, source: str, A: Any, b: Array) -> bool | None:
    """Whether data have this fingerprint; None where other kinds of them cannot be compared.

    Parameters
    ----------
    known : str
        The fingerprint.
    source : str
        The file or folder that the data are from.
    A, b
        The data.
    """
    if known.startswith(BY_FOOTERS):
        return footers_fingerprint(source) == known if is_spread(source) else None
    if is_spread(source):
        return None
    if not known.startswith(BY_MANIFEST):
        return fingerprint(A, b) == known
    folder = Path(source)
    return manifest_fingerprint(folder) == known if is_folder(folder) else None
