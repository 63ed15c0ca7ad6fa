"""Looking at what the verbs of a user's design return, and entering in the ledger what they read.

The package's own designs do so themselves, at the price of an addition. A design from elsewhere
need not think of it: where a verb has entered nothing, neither itself nor by a verb that it is made
of, it is taken to have read the data once. What it returns must have the form that it promises;
whether it is right, `dualgap.check_design` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from dualgap.designs.ledger import NORMS, PRODUCT, products


def enter_what_is_read(cls: type) -> None:
    """Wrap the verbs that this class defines."""
    for name, rows in ROWS_READ.items():
        verb = cls.__dict__.get(name)
        if callable(verb):
            setattr(cls, name, _counted(verb, rows))
    if callable(cls.__dict__.get("blocks")):
        setattr(cls, "blocks", _counted_blocks(cls.__dict__["blocks"]))  # noqa: B010 (for mypy)


def _all(design: Any, *_: Any) -> float:
    """The rows that a verb on the whole matrix reads."""
    return float(design.shape[0])


def _of_columns(design: Any, at: Any, *_: Any) -> float:
    """Some columns of all rows, as so many rows."""
    n, d = design.shape
    return float(n * min(1.0, np.size(at) / d))


def _of_rows(design: Any, rows: Any, *_: Any) -> float:
    """The rows that are marked."""
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
        before, passes = ledger.rows, ledger.passes
        out = verb(self, *args, **options)
        if ledger.rows == before:
            ledger.rows += rows(self, *args) if args or rows is _all else self.shape[0]
        if ledger.passes == passes:
            ledger.passes += _passes(self, verb.__name__, args)
        if verb.__name__ in ("matvec", "rmatvec") and args:
            side = self.shape[0 if verb.__name__ == "matvec" else 1]
            _check_form(self, verb.__name__, out, (side, *np.shape(args[0])[1:]))
        return out

    return counted


def _passes(design: Any, verb: str, args: tuple[Any, ...]) -> float:
    """What a verb counts in the paper's unit; copies have none."""
    if verb in ("matvec", "rmatvec"):
        return products(np.asarray(args[0])) if args else PRODUCT
    n, d = design.shape
    norms = ("row_norms_sq", "column_norms_sq", "absolute_product")
    return NORMS if verb in norms else float({"gram": d, "outer": n}.get(verb, 0))


def _check_form(design: Any, verb: str, out: Any, form: tuple[int, ...]) -> None:
    found = getattr(out, "shape", None)
    if found != form or getattr(out, "dtype", None) != np.float64:
        what = type(out).__name__ if found is None else f"{out.dtype} of shape {found}"
        raise ValueError(
            f"{type(design).__name__} of shape {design.shape}: {verb} gave {what}, and float64 of "
            f"shape {form} was expected. See dualgap.check_design."
        )


def _counted_blocks(blocks: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(blocks)
    def counted(self: Any, rows: int) -> Iterator[Any]:
        ledger, done = self.ledger, 0
        given = iter(blocks(self, rows))
        while True:
            before = ledger.rows
            try:
                at, block = next(given)
            except StopIteration:
                break
            if ledger.rows == before:
                ledger.rows += len(block)
            start, stop, step = at.indices(self.shape[0])
            if start != done or step != 1:
                break
            _check_form(self, f"the block at {start}:{stop}", block, (stop - start, self.shape[1]))
            done = stop
            yield at, block
        if done != self.shape[0]:
            raise ValueError(
                f"{type(self).__name__} of shape {self.shape}: its blocks are the rows 0 to {done} "
                "in order, and not all of them. See dualgap.check_design."
            )

    return counted
