"""A design together with what is known of its rows: targets, weights, offsets, and names.

Whatever takes ``A, b`` takes one of these in the place of both. What lies in files is read when it
is asked for: ``data.b[:10]``, or all of it as ``np.asarray(data.b)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dualgap._types import Array
from dualgap.designs.contract import Design
from dualgap.designs.files import FileArray

RowNumbers = Array | FileArray | None
"""A number for each row, in memory or in a file."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows and what belongs to them; ``A, b = observations`` takes them apart.

    Attributes
    ----------
    design : Design
        The rows.
    b : array or FileArray of shape (n,), or None
        Targets, or codes of classes; None where there are none.
    weights : array or FileArray of shape (n,), or None
        Weights of the rows.
    offset : array or FileArray of shape (n,), or None
        What is added to predictions.
    columns : list of str or None
        The names of the columns.
    classes : list of str or None
        What the codes 0, 1, ... in b stand for.
    """

    design: Design
    b: RowNumbers
    weights: RowNumbers = None
    offset: RowNumbers = None
    columns: list[str] | None = None
    classes: list[str] | None = None

    def __iter__(self) -> Iterator[Any]:
        """The design, then b."""
        return iter((self.design, self.b))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the design."""
        return self.design.shape
