"""The files of a folder, one by one: each must be what the manifest says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dualgap.datasets._errors import DataError
from dualgap.datasets.folders.manifest import Entry
from dualgap.designs.files import FileArray

HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def file_array(folder: Path, entry: Entry) -> FileArray:
    """An array whose file is as the manifest says."""
    path = folder / entry.file
    try:
        with path.open("rb") as file:
            begin = _check_header(path, file, entry)
            length = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise DataError(f"{path} is missing, and the manifest has it.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    array = FileArray(path, entry.dtype, entry.shape, begin)
    if length != begin + array.nbytes:
        raise DataError(
            f"{path} has {length} bytes; with shape {list(entry.shape)} and dtype "
            f"{entry.dtype.str} it has {begin + array.nbytes}."
        )
    return array


def _check_header(path: Path, file: BinaryIO, entry: Entry) -> int:
    """The byte at which the numbers begin, if the file says the same of them as the manifest."""
    try:
        version = np.lib.format.read_magic(file)
        shape, by_columns, dtype = HEADERS[version](file)
    except (ValueError, KeyError, SyntaxError, TypeError):
        raise DataError(f"{path} is no .npy file of numpy's, or its header is damaged.") from None
    for name, found, expected in (
        ("dtype", dtype.str, entry.dtype.str),
        ("shape", list(shape), list(entry.shape)),
        ("fortran_order", bool(by_columns) and len(shape) > 1, False),
    ):
        if found != expected:
            raise DataError(f"{path}: {name} is {found}, and the manifest says {expected}.")
    return file.tell()
