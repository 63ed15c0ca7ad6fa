"""Folders made of blocks of rows, one after the other: no more than a block is held."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap import _validation as check
from dualgap.datasets._errors import DataError
from dualgap.datasets.folders.manifest import VECTORS, Manifest
from dualgap.datasets.folders.opening import Folder, open_folder
from dualgap.datasets.folders.writing import ArrayFile, making, write_manifest
from dualgap.designs import check_structure
from dualgap.designs.blocks import chunk_rows
from dualgap.designs.sources import DenseSource, SparseSource
from dualgap.designs.sparse import trimmed


class RowFiles:
    """The files of a folder that is being made.

    Parameters
    ----------
    folder : Path
        A new one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.rows = folder, 0
        self.files: dict[str, ArrayFile] = {}

    def file(self, name: str, dtype: Any, tail: tuple[int, ...] = ()) -> ArrayFile:
        """That of an array, made when it is first asked for."""
        if name not in self.files:
            self.files[name] = ArrayFile(self.folder, name, dtype, tail)
        return self.files[name]

    def append_dense(self, A: np.ndarray[Any, Any]) -> None:
        """Some rows of a matrix."""
        self.file("A", A.dtype, A.shape[1:]).append(A)
        self.rows += len(A)

    def append_sparse(
        self,
        data: np.ndarray[Any, Any],
        indices: np.ndarray[Any, Any],
        ends: np.ndarray[Any, Any],
    ) -> None:
        """Some compressed rows.

        Parameters
        ----------
        data, indices : array
            Their entries, and the columns of these.
        ends : array of int
            Where each row ends in them.
        """
        pointers = self.file("indptr", np.int64)
        if not pointers.length:
            pointers.append(np.zeros(1, dtype=np.int64))
        values = self.file("data", data.dtype)
        pointers.append(values.length + ends.astype(np.int64))
        values.append(data)
        self.file("indices", np.int32).append(indices)
        self.rows += len(ends)

    def append_vector(self, name: str, values: np.ndarray[Any, Any]) -> None:
        """Some targets, weights or offsets, as float64."""
        self.file(name, np.float64).append(values)

    def finish(self, columns: int, **named: Any) -> None:
        """Complete the files, and write the manifest.

        Parameters
        ----------
        columns : int
        **named
            Fields of `Manifest`: what columns, targets and codes are called.
        """
        source: Any
        if "A" in self.files:
            kind = self.files["A"].dtype
            shaped = np.broadcast_to(np.zeros(1, kind), (self.rows, columns))
            source = DenseSource(shaped)
        else:
            entries = np.broadcast_to(np.int32(0), (self.files["data"].length,))
            pointers = np.broadcast_to(np.int64(0), (self.rows + 1,))
            source = SparseSource(entries, entries, pointers, (self.rows, columns))
        arrays = {name: file.entry() for name, file in self.files.items()}
        write_manifest(
            self.folder, Manifest(self.rows, columns, chunk_rows(source), arrays, **named)
        )

    def close(self) -> None:
        """Let go of the files, whatever is in them."""
        for file in self.files.values():
            file.close()


def write_folder(
    folder: str | os.PathLike[str],
    blocks: Iterable[Any],
    *,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    classes: Sequence[str] | None = None,
    overwrite: bool = False,
) -> Folder:
    """Write a folder of arrays from blocks of rows, which need not fit into memory together.

    Parameters
    ----------
    folder : str or Path
        The folder to make. It stands there when it is complete, and not before.
    blocks : iterable
        Blocks of rows, one after the other: ``A`` alone, ``(A, b)``, ``(A, b, weights)`` or
        ``(A, b, weights, offset)``, None for what there is none of. A is an array of real numbers
        of any kind, which the folder keeps, or a scipy matrix, which becomes CSR.
    columns : sequence of str, optional
        The names of the columns.
    target : str, optional
        The name of what b is.
    classes : sequence of str, optional
        What the codes 0, 1, ... in b stand for.
    overwrite : bool
        Whether a folder of arrays of this name is replaced.

    Returns
    -------
    Folder

    Raises
    ------
    dualgap.datasets.DataError
        Where a block does not fit those before it, or a number is not finite: with the block.
    """
    where = Path(folder)
    names = None if columns is None else [str(name) for name in columns]
    with making(where, overwrite=overwrite) as part:
        files = RowFiles(part)
        try:
            shape = append_blocks(files, blocks)
            if names is not None and len(set(names)) != shape:
                raise DataError(f"columns has {len(set(names))} names for {shape} columns.")
            files.finish(
                shape,
                column_names=names,
                target_name=target,
                classes=None if classes is None else [str(name) for name in classes],
            )
        finally:
            files.close()
    return open_folder(where)


def append_blocks(files: RowFiles, blocks: Iterable[Any]) -> int:
    """All blocks; the number of columns is returned."""
    first: _Block | None = None
    for number, given in enumerate(blocks):
        block = _Block(number, given)
        if block.rows == 0:
            continue
        first = block if first is None else first
        block.check_against(first)
        block.append_to(files, first.A.dtype)
    if first is None:
        raise DataError("there is no row in any of the blocks.")
    return int(first.A.shape[1])


class _Block:
    """A block of rows and what belongs to them, checked by itself."""

    def __init__(self, number: int, given: Any) -> None:
        parts = given if isinstance(given, tuple) else (given,)
        if not 1 <= len(parts) <= 4:
            raise DataError(f"block {number} has {len(parts)} parts; see write_folder.")
        self.number, self.is_sparse = number, sp.issparse(parts[0])
        self.vectors: dict[str, np.ndarray[Any, Any]] = {}
        try:
            self.A: Any = _canonical(parts[0]) if self.is_sparse else check.numeric("A", parts[0])
            if self.A.ndim != 2:
                raise ValueError(f"A must have two dimensions, got shape {self.A.shape}.")
            self.rows = int(self.A.shape[0])
            self._check_entries()
            for name, part in zip(VECTORS, parts[1:], strict=False):
                if part is not None:
                    self.vectors[name] = self._vector(name, part)
        except (TypeError, ValueError) as error:
            raise DataError(f"block {number}: {error}") from None

    def _check_entries(self) -> None:
        bad = ~np.isfinite(self.A.data if self.is_sparse else self.A)
        if bad.any():
            place = np.argwhere(bad)[0]
            indptr = self.A.indptr if self.is_sparse else None
            row = place[0] if indptr is None else int((indptr <= place[0]).sum()) - 1
            raise ValueError(f"A is not finite in row {row} of the block. Drop or impute it.")

    def _vector(self, name: str, part: Any) -> np.ndarray[Any, Any]:
        values = check.numeric(name, part)
        if values.shape != (self.rows,):
            raise ValueError(f"{name} has shape {values.shape}, not ({self.rows},).")
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise ValueError(f"{name} is not finite in row {bad[0]} of the block.")
        if name == "weights" and values.min(initial=0) < 0:
            raise ValueError(f"{name} are negative in row {int(values.argmin())} of the block.")
        return values

    def check_against(self, first: _Block) -> None:
        """Refuse what does not fit the first block."""
        here = f"block {self.number}"
        if self.A.shape[1] != first.A.shape[1]:
            raise DataError(
                f"{here} has {self.A.shape[1]} columns; the first has {first.A.shape[1]}."
            )
        if self.is_sparse != first.is_sparse:
            kinds = ("sparse", "dense") if self.is_sparse else ("dense", "sparse")
            raise DataError(f"{here} is {kinds[0]}; the first is {kinds[1]}.")
        if not np.can_cast(self.A.dtype, first.A.dtype, "safe"):
            raise DataError(
                f"{here} is of {self.A.dtype}, which the first one's {first.A.dtype} cannot hold. "
                "Give all blocks the same dtype."
            )
        if self.vectors.keys() != first.vectors.keys():
            name = min(self.vectors.keys() ^ first.vectors.keys())
            has, lacks = (here, "block 0") if name in self.vectors else ("block 0", here)
            raise DataError(f"{has} has {name}, and {lacks} has none.")

    def append_to(self, files: RowFiles, dtype: Any) -> None:
        """Write it."""
        if self.is_sparse:
            data = self.A.data.astype(dtype, copy=False)
            files.append_sparse(data, self.A.indices, self.A.indptr[1:])
        else:
            files.append_dense(self.A.astype(dtype, copy=False))
        for name, vector in self.vectors.items():
            files.append_vector(name, vector)


def _canonical(A: Any) -> Any:
    """As CSR, each entry once and in order."""
    check_structure("A", A)
    out: Any = sp.csr_array(A)
    check.numeric("A", out.data)
    if not out.has_canonical_format:
        out = out.copy()
        out.sum_duplicates()
    return trimmed(out)
