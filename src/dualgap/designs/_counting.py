"""Entering in the ledger what the verbs of a user's design read.

The package's own designs do so themselves, at the price of an addition. A design from elsewhere
need not think of it: where a verb has entered nothing, neither itself nor by a verb that it is made
of, it is taken to have read the data once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np


def enter_what_is_read(cls: type) -> None:
    """Wrap the verbs that this class defines."""
    for name, rows in ROWS_READ.items():
        verb = cls.__dict__.get(name)
        if callable(verb):
            setattr(cls, name, _counted(verb, rows))
    if callable(cls.__dict__.get("blocks")):
        setattr(cls, "blocks", _counted_blocks(cls.__dict__["blocks"]))  # noqa: B010 (for mypy)


def _all(design: Any, *_: Any) -> float:
    return float(design.shape[0])


def _of_columns(design: Any, at: Any, *_: Any) -> float:
    n, d = design.shape
    return float(n * min(1.0, np.size(at) / d))


def _of_rows(design: Any, rows: Any, *_: Any) -> float:
    return float(np.count_nonzero(rows))


ROWS_READ: dict[str, Callable[..., float]] = {
    "matvec": _all,
    "rmatvec": _all,
    "row_norms_sq": _all,
    "column_norms_sq": _all,
    "absolute_product": _all,
    "gram": _all,
    "outer": _all,
    "columns": _of_columns,
    "take": _of_rows,
}
"""How many rows each verb reads, unless the verb itself has told the ledger."""


def _counted(verb: Callable[..., Any], rows: Callable[..., float]) -> Callable[..., Any]:
    @wraps(verb)
    def counted(self: Any, *args: Any, **options: Any) -> Any:
        ledger = self.ledger
        before = ledger.rows
        out = verb(self, *args, **options)
        if ledger.rows == before:
            ledger.rows += rows(self, *args) if args or rows is _all else self.shape[0]
        return out

    return counted


def _counted_blocks(blocks: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(blocks)
    def counted(self: Any, rows: int) -> Iterator[Any]:
        ledger = self.ledger
        given = iter(blocks(self, rows))
        while True:
            before = ledger.rows
            try:
                at, block = next(given)
            except StopIteration:
                return
            if ledger.rows == before:
                ledger.rows += len(block)
            yield at, block

    return counted
