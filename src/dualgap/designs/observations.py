"""A design together with what is known of its rows: targets, weights, offsets, and names.

Whatever takes ``A, b`` takes one of these in the place of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dualgap._types import Array
from dualgap.designs.contract import Design


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows and what belongs to them; ``A, b = observations`` takes them apart.

    Attributes
    ----------
    design : Design
        The rows.
    b : array of shape (n,) or None
        Targets, or codes of classes; None where there are none.
    weights : array of shape (n,) or None
        Weights of the rows.
    offset : array of shape (n,) or None
        What is added to predictions.
    columns : list of str or None
        The names of the columns.
    classes : list of str or None
        What the codes 0, 1, ... in b stand for.
    """

    design: Design
    b: Array | None
    weights: Array | None = None
    offset: Array | None = None
    columns: list[str] | None = None
    classes: list[str] | None = None

    def __iter__(self) -> Iterator[Any]:
        """The design, then b."""
        return iter((self.design, self.b))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the design."""
        return self.design.shape
