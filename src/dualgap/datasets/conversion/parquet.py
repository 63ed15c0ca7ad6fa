"""Parquet files into a folder, by pyarrow, one batch of rows after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.datasets._errors import DataError
from dualgap.datasets._streams import STDIN
from dualgap.datasets.conversion.encoding import Column, TableRows
from dualgap.datasets.conversion.roles import Roles, Wanted
from dualgap.datasets.folders import RowFiles
from dualgap.designs.contract import block_rows

BATCH_BLOCKS = 8
"""A batch has so many blocks of rows, some megabytes."""


def convert_parquet(path: str, files: RowFiles, wanted: Wanted) -> None:
    """Write all rows, and complete the folder."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            'Parquet files are read by pyarrow: pip install "dualgap[parquet]"'
        ) from None
    if path == STDIN:
        raise DataError("Parquet files cannot be read from standard input; name a file.")
    try:
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            names = list(file.schema_arrow.names)
            if len(set(names)) < len(names):
                raise DataError(f"{path}: two columns have the same name; rename one of them.")
            if len(names) < 2:
                raise DataError(f"{path} has one column; a target and a feature are needed.")
            if file.metadata.num_rows == 0:
                raise DataError(f"{path} has no row of data.")
            roles = Roles.of(path, wanted, len(names), names)
            rows = TableRows(files, roles)
            _check_types(pyarrow, file.schema_arrow, roles)
            size = BATCH_BLOCKS * block_rows(len(names))
            for batch in file.iter_batches(batch_size=size, use_threads=False):
                if batch.num_rows:
                    rows.append(_columns(pyarrow, batch, roles, files.rows))
            rows.finish()
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{path} cannot be read as a Parquet file: {error}") from None


def _is_text(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    if types.is_dictionary(kind):
        return _is_text(pyarrow, kind.value_type)
    view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or view(kind))


def _is_number(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _check_types(pyarrow: Any, schema: Any, roles: Roles) -> None:
    """Before anything is read: every column is a number, or text where text may be."""
    for column, kind in enumerate(schema.types):
        if column in roles.categories or column == roles.vectors["b"]:
            if _is_text(pyarrow, kind) or _is_number(pyarrow, kind):
                continue
        elif _is_number(pyarrow, kind):
            continue
        elif _is_text(pyarrow, kind) and column in roles.numbers:
            raise roles.refuse_text(column)
        raise DataError(
            f"{roles.source}: {roles.called(column)} is of the type {kind}, which is no number. "
            "Convert it, or leave it out."
        )


def _columns(pyarrow: Any, batch: Any, roles: Roles, before: int) -> dict[int, Column]:
    """The cells of a batch."""
    out: dict[int, Column] = {}
    for column in range(batch.num_columns):
        cells = batch.column(column)
        if cells.null_count:
            at = before + int(np.flatnonzero(cells.is_null().to_numpy(zero_copy_only=False))[0])
            raise DataError(
                f"{roles.source}: {roles.called(column)} is empty in row {at}. Drop or impute it."
            )
        if _is_text(pyarrow, cells.type):
            out[column] = [str(value) for value in cells.to_pylist()]
            continue
        values = cells.to_numpy(zero_copy_only=False).astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise DataError(
                f"{roles.source}: {roles.called(column)} is not finite in row "
                f"{before + int(bad[0])}: {values[bad[0]]}. Drop or impute it."
            )
        numbers = column not in roles.categories
        out[column] = values if numbers else [str(value) for value in cells.to_pylist()]
    return out
