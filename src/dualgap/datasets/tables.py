"""Tables of numbers: CSV and ARFF text, with the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dualgap import _validation as check
from dualgap._types import Array
from dualgap.datasets._errors import DataError, at_line, shown
from dualgap.datasets._text import Line, Text, cells_of, number_in, numbers_in

DELIMITERS = (",", ";", "\t")
TOO_FEW = "one column; a target and at least one feature are needed."


@dataclass(frozen=True, eq=False)
class Table:
    """All columns of a file, the target among them."""

    source: str
    values: Array
    names: list[str] | None
    """Of the columns, where the file has them."""

    def column(self, target: str | int | None) -> int:
        """The number of the target's column; the last one by default."""
        width = int(self.values.shape[1])
        if target is None:
            return width - 1
        return column_of(self.source, "target", target, width, self.names)

    def without(self, column: int) -> tuple[Array, list[str] | None]:
        """The other columns, and their names."""
        names = None if self.names is None else [*self.names[:column], *self.names[column + 1 :]]
        return np.delete(self.values, column, axis=1), names

    def take(self, columns: Sequence[int]) -> Array:
        """These columns, in this order."""
        return np.ascontiguousarray(self.values[:, list(columns)])


def column_of(
    source: str, option: str, wanted: str | int, width: int, names: list[str] | None
) -> int:
    """The number of the column that an option names, or numbers."""
    if names is not None and str(wanted) in names:
        return names.index(str(wanted))
    try:
        column = int(wanted)
    except ValueError:
        known = f"its columns are {', '.join(names)}" if names else "it has no header"
        raise DataError(f"{option}={wanted!r}: {source} has no such column; {known}.") from None
    if not -width <= column < width:
        raise DataError(f"{option}={wanted!r}: {source} has {width} columns, 0 to {width - 1}.")
    return column % width


def load_csv(
    path: str | Path,
    *,
    target: str | int | None = None,
    header: bool | None = None,
    max_bytes: int | None = None,
) -> tuple[Array, Array]:
    """Read a table of numbers, separated by commas, semicolons or tabs.

    Blank lines, and lines that begin with ``#``, are skipped.

    Parameters
    ----------
    path : str or Path
        The file, plain or compressed; ``"-"`` is standard input.
    target : str or int, optional
        The column that is the target: its name in the header, or its number (from 0; negative
        ones count from the end). The last one by default.
    header : bool, optional
        Whether the first line names the columns. By default it does if none of its cells is a
        number, but for cells that hold their own number (0, 1, 2, ...). Where all do, it is for
        you to say.
    max_bytes : int, optional
        Bytes that a compressed file may hold; by default 64 MiB, or 100 times its own size.

    Returns
    -------
    A, b : array of shape (n, d), array of shape (n,)
    """
    table = read_csv(path, header=header, max_bytes=max_bytes)
    column = table.column(target)
    return table.without(column)[0], np.ascontiguousarray(table.values[:, column])


def read_csv(
    path: str | Path,
    *,
    header: bool | None = None,
    max_bytes: int | None = None,
    least: int = 2,
) -> Table:
    """Read all columns, as in `load_csv`, of which there must be at least ``least``."""
    head = read_head(Text(path, max_bytes), header, least)
    return Table(head.text.name, numbers_in(*head.rest), head.names)


class Head(NamedTuple):
    """A CSV file of which nothing but its first lines was read."""

    text: Text
    first: Line
    """The first row."""
    delimiter: str
    width: int
    names: list[str] | None

    @property
    def rest(self) -> tuple[Line, Text, str, int]:
        """The rows, and how they are to be read."""
        return self.first, self.text, self.delimiter, self.width


def read_head(text: Text, header: bool | None, least: int = 2) -> Head:
    """Find out what a CSV file is like."""
    if header is not None:
        header = check.flag("header", header)
    name, first = text.name, text.line()
    if first is None:
        raise at_line(name, 1, "the file is empty; there is no row of data.")
    delimiter = max(DELIMITERS, key=first.text.count)
    cells = cells_of(first.text, delimiter)
    names = None
    if is_header(name, first, cells) if header is None else header:
        names = _distinct(name, first.number, cells)
        first = text.line()
        if first is None:
            raise at_line(name, 1, "there is a header, and no row of data after it.")
    if len(cells) < least:
        raise at_line(name, first.number, TOO_FEW)
    return Head(text, first, delimiter, len(cells), names)


def is_header(name: str, line: Line, cells: list[str]) -> bool:
    """Whether the first line names the columns; refused where only the user can know.

    Tables whose columns were never named are often written with their numbers for names. A line
    0,1,2 may be that or data, and either guess would lose or invent a row.
    """
    own = [cell == str(k) for k, cell in enumerate(cells)]
    if all(own):
        raise at_line(
            name,
            line.number,
            f"{shown(line.text.encode())} may be the numbers of the columns or the first row. Say "
            "header=True or header=False (--header or --no-header on the command line).",
        )
    numbers = [number_in(cell) is not None for cell in cells]
    named = any(cell and not number for cell, number in zip(cells, numbers, strict=True))
    return named and not any(n and not mine for n, mine in zip(numbers, own, strict=True))


def _distinct(name: str, number: int, names: list[str]) -> list[str]:
    seen: set[str] = set()
    for label in names:
        if label in seen:
            raise at_line(name, number, f"two columns are called {label!r}; rename one of them.")
        seen.add(label)
    return names


def load_arff(path: str | Path, *, max_bytes: int | None = None) -> tuple[Array, Array]:
    """Read the data part of an ARFF file of numbers as a table; the last column is the target."""
    table = read_arff(path, max_bytes=max_bytes)
    return table.without(table.values.shape[1] - 1)[0], np.ascontiguousarray(table.values[:, -1])


def read_arff(path: str | Path, *, max_bytes: int | None = None) -> Table:
    """Read all columns of the data part; its names are those that ``@attribute`` gives."""
    text = Text(path, max_bytes, comments="#%")
    name = text.name
    names: list[str] = []
    while (line := text.line()) is not None and line.text.lower() != "@data":
        word = line.text.split(maxsplit=1)
        if word[0].lower() == "@attribute" and len(word) == 2:
            names.append(_attribute(word[1]))
    if line is None:
        raise DataError(f"{name} has no line @data; it is not an ARFF file.")
    first = text.line()
    if first is None:
        raise DataError(f"{name} has no row after @data.")
    width = first.text.count(",") + 1
    if width < 2:
        raise at_line(name, first.number, TOO_FEW)
    known = _distinct(name, 1, names) if len(names) == width else None
    return Table(name, numbers_in(first, text, ",", width), known)


def _attribute(text: str) -> str:
    """The name in what follows ``@attribute``; it is quoted if it has blanks."""
    if text[0] in "'\"":
        return text[1:].partition(text[0])[0]
    return text.split(maxsplit=1)[0]
