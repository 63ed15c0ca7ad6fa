"""Text as numbers: codes are given as values are met, and put in alphabetical order in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgap._types import Array
from dualgap.datasets._errors import DataError
from dualgap.datasets.conversion.roles import Roles
from dualgap.datasets.folders import RowFiles

MOST_VALUES = 1_000_000
"""Different texts in one column; a column with more of them names its rows, and is no category."""
SWEPT_AT_ONCE = 1 << 20
"""Codes that are put in order at a time."""

Column = Array | list[str]
"""Some cells of a column: numbers, or text."""


@dataclass
class Codes:
    """The values of one column, by their codes."""

    known: dict[str, int] = field(default_factory=dict)

    def of(self, cells: list[str], roles: Roles, column: int, first: int) -> Places:
        """The codes of some cells; new values get those from ``first`` on."""
        known = self.known
        out = np.empty(len(cells), dtype=np.int64)
        for k, cell in enumerate(cells):
            code = known.get(cell)
            if code is None:
                if len(known) == MOST_VALUES:
                    raise DataError(
                        f"{roles.source}: {roles.called(column)} has more than {MOST_VALUES} "
                        "different values, too many to be categories."
                    )
                code = known[cell] = first
                first += 1
            out[k] = code
        return out

    @property
    def ordered(self) -> list[str]:
        """The values in alphabetical order."""
        return sorted(self.known)


Places = np.ndarray[Any, np.dtype[np.int64]]


class TableRows:
    """Rows of a table that are written as they come: dense, or sparse if there are categories.

    Parameters
    ----------
    files : RowFiles
    roles : Roles
    """

    def __init__(self, files: RowFiles, roles: Roles) -> None:
        self.files, self.roles = files, roles
        self.categories = {column: Codes() for column in roles.categories}
        self.labels: Codes | None = None
        self.codes = 0
        """How many values the categories have, all together."""

    def append_numbers(self, block: Array) -> None:
        """Rows of which all cells are numbers, and nothing is a category."""
        if len(block):
            self.files.append_dense(block[:, list(self.roles.numbers)])
            for name, column in self.roles.vectors.items():
                self._append_vector(name, column, block[:, column])

    def append(self, columns: dict[int, Column]) -> None:
        """Some rows, by columns; those of categories are text."""
        roles = self.roles
        for name, column in roles.vectors.items():
            self._append_vector(name, column, columns[column])
        rows = len(columns[roles.vectors["b"]])
        numbers = np.empty((rows, len(roles.numbers)))
        for k, column in enumerate(roles.numbers):
            cells = columns[column]
            if isinstance(cells, list):
                raise roles.refuse_text(column, cells[0])
            numbers[:, k] = cells
        if not roles.categories:
            self.files.append_dense(numbers)
            return
        codes = np.empty((rows, len(roles.categories)), dtype=np.int64)
        for k, column in enumerate(roles.categories):
            cells = columns[column]
            assert isinstance(cells, list)
            codes[:, k] = self.categories[column].of(cells, roles, column, self.codes)
            self.codes = sum(len(known.known) for known in self.categories.values())
        self._append_sparse(numbers, codes)

    def _append_vector(self, name: str, column: int, cells: Column) -> None:
        if isinstance(cells, list):
            if name != "b":
                raise DataError(
                    f"{self.roles.source}: {self.roles.called(column)} holds text, such as "
                    f"{cells[0][:40]!r}, and {name} are numbers."
                )
            self.labels = Codes() if self.labels is None else self.labels
            known = len(self.labels.known)
            cells = self.labels.of(cells, self.roles, column, known).astype(np.float64)
        if name == "weights" and cells.min() < 0.0:
            raise DataError(
                f"{self.roles.source}: {self.roles.called(column)} has the weight "
                f"{float(cells.min()):g}; weights must not be negative."
            )
        self.files.append_vector(name, cells)

    def _append_sparse(self, numbers: Array, codes: Places) -> None:
        """Rows of numbers, without zeros, and behind them a one for each category."""
        rows, kinds = codes.shape
        row, column = np.nonzero(numbers)
        counts = np.bincount(row, minlength=rows)
        ends = np.cumsum(counts + kinds)
        starts = ends - counts - kinds
        before = np.cumsum(counts) - counts
        data, indices = np.ones(int(ends[-1])), np.empty(int(ends[-1]), dtype=np.int32)
        at = starts[row] + np.arange(row.size) - before[row]
        data[at], indices[at] = numbers[row, column], column
        for k in range(kinds):
            indices[ends - kinds + k] = numbers.shape[1] + codes[:, k]
        self.files.append_sparse(data, indices, ends)

    def finish(self) -> None:
        """Put codes in order, and complete the folder."""
        roles, files = self.roles, self.files
        width, names = len(roles.numbers), None
        if roles.names is not None or roles.categories:
            names = [roles.name(column) for column in roles.numbers]
        kept: dict[str, list[str]] = {}
        final = np.empty(self.codes, dtype=np.int32)
        for column, codes in self.categories.items():
            kept[roles.name(column)] = codes.ordered
            for value in codes.ordered:
                final[codes.known[value]] = width
                width += 1
                assert names is not None
                names.append(f"{roles.name(column)}={value}")
        if roles.categories:
            _exchange(files, "indices", len(roles.numbers), final)
        classes = None
        if self.labels is not None:
            classes = self.labels.ordered
            rank = np.empty(len(classes))
            rank[[self.labels.known[value] for value in classes]] = np.arange(len(classes))
            _exchange(files, "b", 0, rank)
        files.finish(
            width,
            column_names=names,
            target_name=None if roles.names is None else roles.names[roles.vectors["b"]],
            classes=classes,
            categories=kept,
        )


def _exchange(files: RowFiles, name: str, first: int, final: np.ndarray[Any, Any]) -> None:
    """Numbers from ``first`` on are codes; in their place put what they stand for in the end."""
    file = files.files[name]
    values = file.reopen()
    for start in range(0, len(values), SWEPT_AT_ONCE):
        piece = values[start : start + SWEPT_AT_ONCE]
        at = np.flatnonzero(piece >= first)
        piece[at] = final[piece[at].astype(np.int64) - first]
    values.flush()
    file.resum()
