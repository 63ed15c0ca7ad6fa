"""Tables of numbers: CSV text and numpy's npz archives."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap._types import Array
from dualgap.datasets._errors import DataError, at_line, shown
from dualgap.datasets._streams import BROKEN, name_of, open_bytes

DELIMITERS = (",", ";", "\t")
Line = tuple[int, str]


def load_csv(path: str | Path, *, target: str | int | None = None) -> tuple[Array, Array]:
    """Read a table of numbers, separated by commas, semicolons or tabs.

    The first line is taken for a header if none of its cells is a number. Blank lines, and lines
    that begin with ``#``, are skipped.

    Parameters
    ----------
    path : str or Path
        The file, plain or compressed; ``"-"`` is standard input.
    target : str or int, optional
        The column that is the target: its name in the header, or its number (from 0; negative
        ones count from the end). The last one by default.

    Returns
    -------
    A, b : array of shape (n, d), array of shape (n,)
    """
    name = name_of(path)
    lines = _lines(path, name)
    if not lines:
        raise at_line(name, 1, "the file is empty; there is no row of data.")
    delimiter = max(DELIMITERS, key=lines[0][1].count)
    first = _cells(lines[0][1], delimiter)
    header = None
    if not any(_number(cell) is not None for cell in first):
        header, lines = first, lines[1:]
    if not lines:
        raise at_line(name, 1, "there is a header, and no row of data after it.")
    if len(first) < 2:
        raise at_line(
            name, lines[0][0], "one column; a target and at least one feature are needed."
        )
    table = _table(name, lines, delimiter, len(first))
    column = _column(name, target, header, len(first))
    return np.delete(table, column, axis=1), np.ascontiguousarray(table[:, column])


def load_arff(path: str | Path) -> tuple[Array, Array]:
    """Read the data part of an ARFF file of numbers as a table; the last column is the target."""
    name = name_of(path)
    lines = _lines(path, name)
    start = next((k for k, (_, text) in enumerate(lines) if text.lower() == "@data"), None)
    if start is None:
        raise DataError(f"{name} has no line @data; it is not an ARFF file.")
    rows = [(number, text) for number, text in lines[start + 1 :] if not text.startswith("%")]
    if not rows:
        raise DataError(f"{name} has no row after @data.")
    table = _table(name, rows, ",", rows[0][1].count(",") + 1)
    return np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])


def load_npz(path: str | Path) -> tuple[Any, Array]:
    """Read arrays ``A`` and ``b`` (or ``X`` and ``y``) from an npz archive; objects are refused.

    A sparse matrix is stored as `scipy.sparse.save_npz` does it: ``data``, ``indices``, ``indptr``
    and ``shape`` in place of ``A``.
    """
    try:
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds a single array")
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read as an npz archive: {error}") from None
    b = arrays.get("b", arrays.get("y"))
    if b is None:
        raise DataError(f"{path} has no array b (or y); it has {', '.join(arrays) or 'nothing'}.")
    A: Any = arrays.get("A", arrays.get("X"))
    if A is None and {"data", "indices", "indptr", "shape"} <= arrays.keys():
        try:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            A = sp.csr_array(parts, shape=tuple(arrays["shape"]))
            A.check_format(full_check=True)
        except (ValueError, TypeError, IndexError) as error:
            raise DataError(f"{path}: data, indices, indptr make no matrix: {error}") from None
    if A is None:
        raise DataError(f"{path} has no array A (or X); it has {', '.join(arrays)}.")
    return A, b


def _lines(path: str | Path, name: str) -> list[Line]:
    """The lines that are not blank or comments, with their numbers."""
    kept: list[Line] = []
    number = 0
    with open_bytes(path) as stream:
        try:
            for number, raw in enumerate(stream, start=1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if "\x00" in text:
                    raise UnicodeDecodeError("utf-8", raw, 0, 1, "zero byte")
                if text and not text.startswith("#"):
                    kept.append((number, text))
        except UnicodeDecodeError:
            raise at_line(name, number, "bytes that are no text; is this a binary file?") from None
        except BROKEN as error:
            raise at_line(name, number + 1, f"the data break off here: {error}.") from None
    return kept


def _cells(text: str, delimiter: str) -> list[str]:
    return [cell.strip().strip('"').strip() for cell in text.split(delimiter)]


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _table(name: str, lines: list[Line], delimiter: str, width: int) -> Array:
    """All cells as numbers; the first that is none, or not finite, is named."""
    try:
        table = np.loadtxt(
            (text for _, text in lines), delimiter=delimiter, ndmin=2, comments=None, quotechar='"'
        )
        if table.shape[1] == width and np.isfinite(table).all():
            return table
    except ValueError:
        pass
    return np.array([_row(name, line, delimiter, width) for line in lines])


def _row(name: str, line: Line, delimiter: str, width: int) -> list[float]:
    number, text = line
    cells = _cells(text, delimiter)
    if len(cells) != width:
        raise at_line(name, number, f"{len(cells)} columns; the first row has {width}.")
    values = []
    for column, cell in enumerate(cells, start=1):
        value = _number(cell)
        if value is None:
            what = f"{shown(cell.encode())} is not a number" if cell else "an empty cell"
            raise at_line(name, number, f"column {column}: {what}.")
        if not math.isfinite(value):
            raise at_line(
                name, number, f"column {column}: {cell} is not finite. Drop or impute it."
            )
        values.append(value)
    return values


def _column(name: str, target: str | int | None, header: list[str] | None, width: int) -> int:
    """The number of the target's column."""
    if target is None:
        return width - 1
    if header is not None and str(target) in header:
        return header.index(str(target))
    try:
        column = int(target)
    except ValueError:
        known = f"its columns are {', '.join(header)}" if header else "it has no header"
        raise DataError(f"target={target!r}: {name} has no such column; {known}.") from None
    if not -width <= column < width:
        raise DataError(f"target={target!r}: {name} has {width} columns, 0 to {width - 1}.")
    return column % width
