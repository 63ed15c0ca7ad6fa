"""Lines of text, read piece by piece: what is kept of a table are its numbers."""

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

PIECE = 1 << 17
"""Bytes that are read, and turned into numbers, at a time."""
GROWTH = 1.25
"""Arrays grow by this factor, in place: the peak stays within it of what is kept."""

OF_TEXT = (
    "Correct it, or leave the column out; of a column of text `dualgap convert` makes columns of "
    "numbers with --category."
)
"""What can be done about a cell that is text."""
EMPTY = "an empty cell. Fill it in, or leave the row out."
"""What is said of an empty cell."""


class Line(NamedTuple):
    """A line that is neither blank nor a comment, and its number."""

    number: int
    text: str


class Text:
    """The lines of a file, of which no more than a piece is held.

    Parameters
    ----------
    path : str or Path
        The file; ``"-"`` is standard input.
    max_bytes : int, optional
        Bytes that a compressed one may hold.
    comments : str
        Lines that begin with one of these characters are skipped.
    """

    def __init__(self, path: str | Path, max_bytes: int | None, comments: str = "#") -> None:
        self.name, self.comments = name_of(path), comments
        self._pieces = self._read(path, max_bytes)
        self._lines: list[str] = []
        self._number = 0
        """Of the last line before these."""

    def line(self) -> Line | None:
        """The next line, or None at the end."""
        while True:
            for k, raw in enumerate(self._lines, start=1):
                text = raw.strip()
                if text and text[0] not in self.comments:
                    line = Line(self._number + k, text)
                    self._lines, self._number = self._lines[k:], line.number
                    return line
            if not self._turn():
                return None

    def rest(self) -> Iterator[tuple[int, list[str]]]:
        """What is left, by pieces: the number of the line before, and all lines as they are."""
        while self._lines or self._turn():
            yield self._number, self._lines
            self._number, self._lines = self._number + len(self._lines), []

    def kept(self, lines: list[str]) -> list[str]:
        """Those of the lines that are neither blank nor comments."""
        stripped = map(str.strip, lines)
        return [text for text in stripped if text and text[0] not in self.comments]

    def _turn(self) -> bool:
        """On to the next piece."""
        self._number += len(self._lines)
        self._lines = next(self._pieces, [])
        return bool(self._lines)

    def _read(self, path: str | Path, max_bytes: int | None) -> Iterator[list[str]]:
        with open_bytes(path, max_bytes) as stream:
            number, open_line = 0, [b""]
            while True:
                try:
                    piece = stream.read1(PIECE)  # type: ignore[attr-defined]
                except BROKEN as error:
                    problem = f"the data break off here: {error}."
                    raise at_line(self.name, number + 1, problem) from None
                cut = piece.rfind(b"\n") + 1
                open_line.append(piece[:cut] if cut else piece)
                if cut or not piece:
                    lines = self._decoded(b"".join(open_line), number)
                    number += len(lines)
                    open_line = [piece[cut:]]
                    if lines:
                        yield lines
                if not piece:
                    return

    def _decoded(self, content: bytes, number: int) -> list[str]:
        """Whole lines as text; ``number`` is that of the line before."""
        bad = content.find(b"\0")
        try:
            text = content.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError as error:
            bad = error.start if bad < 0 else min(bad, error.start)
        if bad >= 0:
            line = number + content.count(b"\n", 0, bad) + 1
            raise at_line(self.name, line, "bytes that are no text; is this a binary file?")
        return text.removesuffix("\n").split("\n") if text else []


def cells_of(text: str, delimiter: str) -> list[str]:
    """The cells of a line, without blanks and quotes around them."""
    try:
        row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error:  # an open quote, or more than 131 072 characters: no number
        row = text.split(delimiter)
    return [cell.strip() for cell in row]


def number_in(cell: str) -> float | None:
    """The number that a cell holds, if it holds one."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def numbers_in(first: Line, text: Text, delimiter: str, width: int) -> Array:
    """All cells of all lines, as an array of ``width`` columns.

    Parameters
    ----------
    first, text : Line, Text
        The first row, and the others.
    delimiter : str
        What stands between cells.
    width : int
        How many cells every line must have.
    """
    values, rows = np.empty((0, width)), 0
    for block in number_blocks(first, text, delimiter, width):
        if rows + len(block) > len(values):
            room = max(rows + len(block), int(GROWTH * len(values)))
            values.resize((room, width), refcheck=False)
        values[rows : rows + len(block)] = block
        rows += len(block)
    values.resize((rows, width), refcheck=False)
    return values


def number_blocks(first: Line, text: Text, delimiter: str, width: int) -> Iterator[Array]:
    """The same, piece by piece."""
    for before, lines in chain([(first.number - 1, [first.text])], text.rest()):
        yield _block(text, before, lines, delimiter, width)


def cell_blocks(
    first: Line, text: Text, delimiter: str, width: int
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """The same as text: the numbers of lines, and the cells of each column."""
    for before, lines in chain([(first.number - 1, [first.text])], text.rest()):
        numbers: list[int] = []
        rows: list[list[str]] = []
        for k, raw in enumerate(lines, start=1):
            for kept in text.kept([raw]):
                cells = cells_of(kept, delimiter)
                if len(cells) != width:
                    raise at_line(text.name, before + k, _other_width(len(cells), width))
                numbers.append(before + k)
                rows.append(cells)
        if rows:
            yield numbers, [list(column) for column in zip(*rows, strict=True)]


def numbers_of(name: str, numbers: list[int], column: int, cells: list[str]) -> Array:
    """The cells of a column as numbers; the first that is none, or not finite, is named.

    Parameters
    ----------
    name : str
        Of the file.
    numbers : list of int
        The lines of the cells.
    column : int
        From 1.
    cells : list of str
    """
    try:
        values = np.array([float(cell) for cell in cells])
        if np.isfinite(values).all() and not any("_" in cell for cell in cells):
            return values
    except ValueError:
        pass
    return np.array(
        [_number(name, line, column, c) for line, c in zip(numbers, cells, strict=True)]
    )


def _other_width(cells: int, width: int) -> str:
    return f"{cells} columns; the first row has {width}."


def _block(text: Text, before: int, lines: list[str], delimiter: str, width: int) -> Array:
    """Some lines as numbers; the first cell that is none, or not finite, is named."""
    kept = text.kept(lines)
    if not kept:
        return np.empty((0, width))
    try:
        block = np.loadtxt(kept, delimiter=delimiter, ndmin=2, comments=None, quotechar='"')
        if block.shape == (len(kept), width) and np.isfinite(block).all():
            return block
    except ValueError:
        pass
    numbered = (Line(before + k, raw) for k, raw in enumerate(lines, start=1) if text.kept([raw]))
    return np.array([_row(text.name, line, delimiter, width) for line in numbered])


def _row(name: str, line: Line, delimiter: str, width: int) -> list[float]:
    cells = cells_of(line.text.strip(), delimiter)
    if len(cells) != width:
        raise at_line(name, line.number, _other_width(len(cells), width))
    return [_number(name, line.number, column, cell) for column, cell in enumerate(cells, start=1)]


def _number(name: str, line: int, column: int, cell: str) -> float:
    value = number_in(cell)
    if value is None:
        what = f"{shown(cell.encode())} is not a number. {OF_TEXT}" if cell else EMPTY
        raise at_line(name, line, f"column {column}: {what}")
    if not math.isfinite(value):
        raise at_line(name, line, f"column {column}: {cell} is not finite. Drop or impute it.")
    return value
