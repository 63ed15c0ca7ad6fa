"""Lines of text, streamed: what is kept of a table are its numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dualgap._types import Array
from dualgap.datasets._errors import at_line, shown
from dualgap.datasets._streams import BROKEN, name_of, open_bytes

CHUNK = 1 << 17
"""Characters that are turned into numbers at a time."""
GROWTH = 1.25
"""Arrays grow by this factor, in place: the peak stays within it of what is kept."""


class Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    number: int
    text: str


def lines_of(path: str | Path, max_bytes: int | None) -> Iterator[Line]:
    """The lines of a file, one by one, without those that begin with ``#``."""
    name, number = name_of(path), 0
    with open_bytes(path, max_bytes) as stream:
        try:
            for number, raw in enumerate(stream, start=1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if "\x00" in text:
                    raise UnicodeDecodeError("utf-8", raw, 0, 1, "zero byte")
                if text and not text.startswith("#"):
                    yield Line(number, text)
        except UnicodeDecodeError:
            raise at_line(name, number, "bytes that are no text; is this a binary file?") from None
        except BROKEN as error:
            raise at_line(name, number + 1, f"the data break off here: {error}.") from None


def cells_of(text: str, delimiter: str) -> list[str]:
    """The cells of a line, without blanks and quotes around them."""
    row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    return [cell.strip() for cell in row]


def number_in(cell: str) -> float | None:
    """The number that a cell holds, if it holds one."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def numbers_in(name: str, first: Line, rest: Iterator[Line], delimiter: str, width: int) -> Array:
    """All cells of all lines, as an array of ``width`` columns.

    Parameters
    ----------
    name : str
        What messages call the file.
    first, rest : Line, iterator of Line
        The rows.
    delimiter : str
        What stands between cells.
    width : int
        How many cells every line must have.
    """
    values, rows = np.empty((0, width)), 0
    for chunk in _chunks(chain([first], rest)):
        block = _block(name, chunk, delimiter, width)
        if rows + len(block) > len(values):
            room = max(rows + len(block), int(GROWTH * len(values)))
            values.resize((room, width), refcheck=False)
        values[rows : rows + len(block)] = block
        rows += len(block)
    values.resize((rows, width), refcheck=False)
    return values


def _chunks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    chunk: list[Line] = []
    held = 0
    for line in lines:
        chunk.append(line)
        held += len(line.text)
        if held >= CHUNK:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


def _block(name: str, lines: list[Line], delimiter: str, width: int) -> Array:
    """Some lines as numbers; the first cell that is none, or not finite, is named."""
    try:
        block = np.loadtxt(
            [line.text for line in lines],
            delimiter=delimiter,
            ndmin=2,
            comments=None,
            quotechar='"',
        )
        if block.shape == (len(lines), width) and np.isfinite(block).all():
            return block
    except ValueError:
        pass
    return np.array([_row(name, line, delimiter, width) for line in lines])


def _row(name: str, line: Line, delimiter: str, width: int) -> list[float]:
    cells = cells_of(line.text, delimiter)
    if len(cells) != width:
        raise at_line(name, line.number, f"{len(cells)} columns; the first row has {width}.")
    values = []
    for column, cell in enumerate(cells, start=1):
        value = number_in(cell)
        if value is None:
            what = f"{shown(cell.encode())} is not a number" if cell else "an empty cell"
            raise at_line(name, line.number, f"column {column}: {what}.")
        if not math.isfinite(value):
            raise at_line(
                name, line.number, f"column {column}: {cell} is not finite. Drop or impute it."
            )
        values.append(value)
    return values
