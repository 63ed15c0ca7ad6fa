"""CSV text into a folder."""

from __future__ import annotations

from dualgap.datasets._text import Text, cell_blocks, cells_of, number_blocks, number_in, numbers_of
from dualgap.datasets.conversion.encoding import Column, TableRows
from dualgap.datasets.conversion.roles import Roles, Wanted
from dualgap.datasets.folders import RowFiles
from dualgap.datasets.tables import read_head


def convert_csv(
    path: str, files: RowFiles, wanted: Wanted, header: bool | None, max_bytes: int | None
) -> None:
    """Write all rows, and complete the folder."""
    head = read_head(Text(path, max_bytes), header)
    name = head.text.name
    roles = Roles.of(name, wanted, head.width, head.names)
    rows = TableRows(files, roles)
    first = cells_of(head.first.text, head.delimiter)
    for column in roles.numbers:
        if column < len(first) and first[column] and number_in(first[column]) is None:
            raise roles.refuse_text(column, first[column])
    target = roles.vectors["b"]
    labels = bool(first[target]) and number_in(first[target]) is None
    if not labels and not roles.categories:
        for block in number_blocks(*head.rest):
            rows.append_numbers(block)
    else:
        as_text = {*roles.categories, *([target] if labels else [])}
        for numbers, cells in cell_blocks(*head.rest):
            columns: dict[int, Column] = {
                k: of if k in as_text else numbers_of(name, numbers, k + 1, of)
                for k, of in enumerate(cells)
            }
            rows.append(columns)
    rows.finish()
