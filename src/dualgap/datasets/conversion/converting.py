"""`convert`: which reader a file needs, and what it may be told."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

from dualgap.datasets._errors import DataError
from dualgap.datasets.archives import load_npz
from dualgap.datasets.conversion.csv import convert_csv
from dualgap.datasets.conversion.parquet import convert_parquet
from dualgap.datasets.conversion.roles import Wanted
from dualgap.datasets.conversion.svmlight import convert_svmlight
from dualgap.datasets.folders import Folder, RowFiles, making, open_folder
from dualgap.datasets.folders.building import append_blocks
from dualgap.datasets.loading import check_at_hand, format_of
from dualgap.designs.contract import block_rows

PARQUET = (".parquet", ".pq")
TABLES = ("csv", "parquet")
FOR_TABLES = ("target", "weights", "offset", "categories")


def convert(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | None = None,
    weights: str | int | None = None,
    offset: str | int | None = None,
    categories: Sequence[str | int] = (),
    header: bool | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    max_bytes: int | None = None,
    overwrite: bool = False,
) -> Folder:
    """Convert a file into a folder of arrays, which `dualgap.open` opens.

    The file is read once, piece by piece. A target that is text becomes the codes 0, 1, ... of its
    values in alphabetical order, a column of categories one column of zeros and ones for each of
    its values; the folder keeps what they are called. Other columns of text are refused.

    Parameters
    ----------
    source : str or Path
        An svmlight, CSV, Parquet or npz file; ``"-"`` is standard input. Compression by gzip, bzip2
        or xz is recognised. Parquet needs the package pyarrow; of npz archives the arrays are held
        in memory.
    folder : str or Path
        The folder to make. It stands there when it is complete, and not before.
    format : str, optional
        ``"svmlight"``, ``"csv"``, ``"parquet"`` or ``"npz"``; by default from the ending, svmlight
        if it tells nothing.
    target, weights, offset : str or int, optional
        For tables, the columns of the targets (the last one by default), of weights of the rows and
        of offsets: by name or by number.
    categories : sequence of str or int
        For tables, columns of which each value becomes a column of its own.
    header : bool, optional
        For CSV files, whether the first line names the columns, as in `load_csv`.
    n_features, zero_based
        For svmlight files, as in `load_svmlight`.
    max_bytes : int, optional
        Bytes that a compressed file may hold; by default 64 MiB, or 100 times its own size.
    overwrite : bool
        Whether a folder of arrays of this name is replaced.

    Returns
    -------
    Folder

    Raises
    ------
    dualgap.datasets.DataError
        With the file and the place of what cannot be converted.
    """
    path, where = os.fspath(source), Path(folder)
    kind = _kind(path, format)
    wanted = Wanted(target, weights, offset, tuple(categories))
    for name in FOR_TABLES:
        if kind not in TABLES and getattr(wanted, name) not in (None, ()):
            raise DataError(f"{name} is for CSV and Parquet files, not for {kind}.")
    if kind != "svmlight" and (n_features is not None or zero_based is not None):
        raise DataError(f"n_features and zero_based are for svmlight files, not for {kind}.")
    if kind != "csv" and header is not None:
        raise DataError(f"header is for CSV files, not for {kind}.")
    check_at_hand(path, kind)
    with making(where, overwrite=overwrite) as part:
        files = RowFiles(part)
        try:
            if kind == "csv":
                convert_csv(path, files, wanted, header, max_bytes)
            elif kind == "parquet":
                convert_parquet(path, files, wanted)
            elif kind == "npz":
                A, b = load_npz(path, max_bytes=max_bytes)
                files.finish(append_blocks(files, _slices(A, b)))
            else:
                convert_svmlight(path, files, n_features, zero_based, max_bytes)
        finally:
            files.close()
    return open_folder(where)


def _kind(path: str, given: str | None) -> str:
    if given == "parquet" or (given is None and PurePath(path).suffix.lower() in PARQUET):
        return "parquet"
    kind = format_of(path, given)
    if kind == "arff":
        raise DataError(
            "ARFF files are not converted; write them by dualgap.datasets.write_folder."
        )
    return kind


def _slices(A: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    """Data in memory, piece by piece; columns are laid out by rows first."""
    A = A.tocsr() if hasattr(A, "tocsr") else A
    step = 16 * block_rows(A.shape[1])
    for start in range(0, A.shape[0], step):
        yield A[start : start + step], b[start : start + step]
